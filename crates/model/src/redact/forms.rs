//! The forms a secret may take when it is written down: itself, base64, hex, URL and JSON escapes, its long lines.
//!
//! Other disguises (reversed, encrypted, spelled out) are not looked for: whoever may run code on a secret can
//! always write it in a way nobody expects.

use base64::Engine as _;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use zeroize::Zeroize as _;

use crate::secret::SHORTEST;

/// Lines of a secret shorter than this are too ordinary to look for on their own.
const LONG_LINE: usize = 8;

/// Longer forms are looked for piece by piece, which bounds what a stream must hold back, and finds a part too.
const PIECE: usize = 128;

/// The widths at which common tools wrap base64.
const WRAPS: [usize; 2] = [64, 76];

/// The bit in which a capital letter differs from a small one.
pub(super) const CASE: u8 = 0x20;

/// One way to write a secret or a part of it.
///
/// A byte `b` of a text equals the byte at the same place here if `b | fold` does: hex digits of either case.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Form {
    pub(super) bytes: Vec<u8>,
    /// As long as `bytes`: [`CASE`] where the case of a letter does not count, else 0.
    pub(super) folds: Vec<u8>,
}

impl Form {
    fn exact(bytes: &[u8]) -> Self {
        Self { bytes: bytes.to_vec(), folds: vec![0; bytes.len()] }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.folds.resize(self.bytes.len(), 0);
    }

    fn push_hex(&mut self, byte: u8) {
        for nibble in [byte >> 4, byte & 15] {
            let (digit, fold) = if nibble < 10 { (b'0' + nibble, 0) } else { (b'a' + nibble - 10, CASE) };
            self.bytes.push(digit);
            self.folds.push(fold);
        }
    }

    /// The form itself, or pieces that cover it if it is long; always whole characters.
    fn pieces(self) -> Vec<Self> {
        if self.bytes.len() <= PIECE {
            return vec![self];
        }
        let mut pieces = Vec::new();
        let mut start = 0;
        while start + PIECE < self.bytes.len() {
            let end = self.boundary(start + PIECE);
            pieces.extend(self.part(start, end));
            start = end;
        }
        pieces.extend(self.part(self.boundary(self.bytes.len() - PIECE), self.bytes.len()));
        pieces
    }

    /// The last place up to `at` where a character begins.
    fn boundary(&self, at: usize) -> usize {
        let inside = |byte: &u8| byte & 0b1100_0000 == 0b1000_0000;
        (at.saturating_sub(3)..=at).rev().find(|&at| !self.bytes.get(at).is_some_and(inside)).unwrap_or(at)
    }

    fn part(&self, start: usize, end: usize) -> Option<Self> {
        Some(Self {
            bytes: self.bytes.get(start..end)?.to_vec(),
            folds: self.folds.get(start..end)?.to_vec(),
        })
    }
}

impl Drop for Form {
    fn drop(&mut self) {
        self.bytes.zeroize();
    }
}

/// All forms of a secret; none if it is too short to be told from ordinary text. Some may be equal.
pub(super) fn of(value: &str) -> Vec<Form> {
    let mut forms = Vec::new();
    for whole in [value, value.trim()] {
        if whole.chars().count() >= SHORTEST && !whole.trim().is_empty() {
            written(whole, &mut forms);
            wrapped(whole, &mut forms);
        }
    }
    for line in lines(value) {
        written(line, &mut forms);
    }
    forms.into_iter().flat_map(Form::pieces).collect()
}

/// The long lines of a secret that has several; also where line ends are spelled `\n`, as in one-line settings.
fn lines(value: &str) -> impl Iterator<Item = &str> {
    let several = value.contains(['\n', '\r']) || value.contains("\\n");
    let lines = value.split(['\n', '\r']).flat_map(|line| line.split("\\n")).map(str::trim);
    lines.filter(move |line| several && line.chars().count() >= LONG_LINE && !is_public(line))
}

/// Whether a line says nothing about its secret: the frame of a key file, or a ruler.
fn is_public(line: &str) -> bool {
    let armour = line.starts_with("-----BEGIN ") || line.starts_with("-----END ");
    let mut chars = line.chars();
    let first = chars.next();
    armour || chars.all(|c| Some(c) == first)
}

/// Every form of one text.
fn written(text: &str, forms: &mut Vec<Form>) {
    let bytes = text.as_bytes();
    forms.push(Form::exact(bytes));
    for alphabet in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
        forms.extend((0..3).map(|lead| Form::exact(base64(bytes, lead, alphabet).as_bytes())));
    }
    forms.push(hex(bytes));
    forms.extend(URL_STYLES.iter().map(|style| url(bytes, style)));
    for style in &JSON_STYLES {
        let once = json(text, style);
        // JSON within JSON: only what has something to escape is written in another way.
        forms.push(again(&once, style));
        forms.push(once);
    }
}

/// The base64 of the bytes after `lead` unknown ones: only the characters that do not depend on the neighbours.
fn base64(bytes: &[u8], lead: usize, alphabet: &GeneralPurpose) -> String {
    let mut padded = vec![0; lead];
    padded.extend_from_slice(bytes);
    let encoded = alphabet.encode(&padded);
    padded.zeroize();
    encoded.get((lead * 8).div_ceil(6)..(lead + bytes.len()) * 8 / 6).unwrap_or_default().to_owned()
}

/// The lines of the text's base64 where a tool wraps it.
fn wrapped(text: &str, forms: &mut Vec<Form>) {
    for alphabet in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
        let encoded = base64(text.as_bytes(), 0, alphabet);
        for width in WRAPS.into_iter().filter(|&width| encoded.len() > width) {
            let lines = encoded.as_bytes().chunks(width).filter(|line| line.len() >= LONG_LINE);
            forms.extend(lines.map(Form::exact));
        }
    }
}

fn hex(bytes: &[u8]) -> Form {
    let mut form = Form::default();
    for &byte in bytes {
        form.push_hex(byte);
    }
    form
}

/// Which characters besides letters and digits an URL encoder leaves alone, and what it makes of a space.
struct UrlStyle {
    keeps: &'static [u8],
    space: &'static [u8],
}

/// Encoders in use: RFC 3986 with `%20` and with `+`, HTML forms, the two of `ECMAScript`, paths, and the lenient sets
/// that browsers use for user names, paths and queries.
const URL_STYLES: [UrlStyle; 11] = [
    UrlStyle { keeps: b"-._~", space: b"%20" },
    UrlStyle { keeps: b"-._~", space: b"+" },
    UrlStyle { keeps: b"*-._", space: b"+" },
    UrlStyle { keeps: b"-_.!~*'()", space: b"%20" },
    UrlStyle { keeps: b"-_.!~*'();,/?:@&=+$#", space: b"%20" },
    UrlStyle { keeps: b"-._~/", space: b"%20" },
    UrlStyle { keeps: b"-._~$&+:=@", space: b"%20" },
    UrlStyle { keeps: b"-._~!$&'()*+,;=:@", space: b"%20" },
    UrlStyle { keeps: b"-._~!$%&'()*+,", space: b"%20" },
    UrlStyle { keeps: b"-._~!$%&'()*+,/:;=@[\\]|", space: b"%20" },
    UrlStyle { keeps: b"-._~!$%&'()*+,/:;=@[\\]|?^`{}", space: b"%20" },
];

fn url(bytes: &[u8], style: &UrlStyle) -> Form {
    let mut form = Form::default();
    for &byte in bytes {
        if byte == b' ' {
            form.push(style.space);
        } else if byte.is_ascii_alphanumeric() || style.keeps.contains(&byte) {
            form.push(&[byte]);
        } else {
            form.push(b"%");
            form.push_hex(byte);
        }
    }
    form
}

/// Which characters a JSON encoder escapes though it need not.
struct JsonStyle {
    slash: bool,
    ascii: bool,
    html: bool,
}

const JSON_STYLES: [JsonStyle; 8] = [
    JsonStyle { slash: false, ascii: false, html: false },
    JsonStyle { slash: true, ascii: false, html: false },
    JsonStyle { slash: false, ascii: true, html: false },
    JsonStyle { slash: true, ascii: true, html: false },
    JsonStyle { slash: false, ascii: false, html: true },
    JsonStyle { slash: true, ascii: false, html: true },
    JsonStyle { slash: false, ascii: true, html: true },
    JsonStyle { slash: true, ascii: true, html: true },
];

fn json(text: &str, style: &JsonStyle) -> Form {
    let mut form = Form::default();
    for c in text.chars() {
        match c {
            '"' => form.push(b"\\\""),
            '\\' => form.push(b"\\\\"),
            '\n' => form.push(b"\\n"),
            '\r' => form.push(b"\\r"),
            '\t' => form.push(b"\\t"),
            '\u{8}' => form.push(b"\\b"),
            '\u{c}' => form.push(b"\\f"),
            '/' if style.slash => form.push(b"\\/"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' if style.html => escape(c, &mut form),
            c if c < ' ' || (style.ascii && !c.is_ascii()) => escape(c, &mut form),
            c => form.push(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    form
}

/// What was escaped, escaped once more.
fn again(once: &Form, style: &JsonStyle) -> Form {
    let mut form = Form::default();
    for (&byte, &fold) in once.bytes.iter().zip(&once.folds) {
        if matches!(byte, b'"' | b'\\') || (byte == b'/' && style.slash) {
            form.push(b"\\");
        }
        form.bytes.push(byte);
        form.folds.push(fold);
    }
    form
}

/// `\u` and four hex digits, twice for a character beyond the first plane.
fn escape(c: char, form: &mut Form) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        form.push(b"\\u");
        unit.to_be_bytes().into_iter().for_each(|byte| form.push_hex(byte));
    }
}
