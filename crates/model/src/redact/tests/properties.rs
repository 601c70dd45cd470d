//! The search is equal to trying every form everywhere, and no form of a secret survives.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::Value;

use super::super::Redactor;
use super::super::forms::{self, Form};
use crate::token;

type Secrets = Vec<(String, String)>;

fn redactor(secrets: &Secrets) -> Arc<Redactor> {
    Arc::new(Redactor::new(secrets.iter().map(|(name, value)| (name.as_str(), value.as_str()))))
}

fn stands(form: &Form, text: &[u8]) -> bool {
    form.bytes.len() <= text.len()
        && (0..form.bytes.len()).all(|i| text[i] == form.bytes[i] || text[i] | form.folds[i] == form.bytes[i])
}

/// For each position the longest thing that begins there, and the label it gets: every form is tried everywhere.
fn places(secrets: &Secrets, text: &[u8]) -> Vec<(usize, usize, String)> {
    let known: Vec<(Vec<Form>, &str)> =
        secrets.iter().map(|(name, value)| (forms::of(value), name.as_str())).collect();
    let mut places = Vec::new();
    for start in 0..text.len() {
        let mut best: Option<(usize, &str)> = None;
        for (forms, name) in &known {
            for form in forms.iter().filter(|form| stands(form, &text[start..])) {
                if best.is_none_or(|(length, _)| form.bytes.len() > length) {
                    best = Some((form.bytes.len(), name));
                }
            }
        }
        let shape = text[start..].strip_prefix(b"cv_").and_then(|body| body.get(..token::BODY));
        if shape.is_some_and(|body| body.iter().all(|b| token::is_body_byte(*b)))
            && best.is_none_or(|(n, _)| n < 46)
        {
            best = Some((46, "TOKEN"));
        }
        places.extend(best.map(|(length, name)| (start, start + length, name.to_owned())));
    }
    places
}

fn plainly_redacted(secrets: &Secrets, text: &[u8]) -> Vec<u8> {
    let mut stretches: Vec<(usize, usize, String)> = Vec::new();
    for (start, end, name) in places(secrets, text) {
        match stretches.last_mut() {
            Some(last) if start < last.1 || (start == last.1 && name == last.2) => last.1 = last.1.max(end),
            _ => stretches.push((start, end, name)),
        }
    }
    let mut out = Vec::new();
    let mut done = 0;
    for (start, end, name) in stretches {
        out.extend_from_slice(&text[done..start]);
        out.extend_from_slice(format!("[REDACTED:{name}]").as_bytes());
        done = end;
    }
    out.extend_from_slice(&text[done..]);
    out
}

/// Values of few letters overlap each other and themselves; values of many have interesting forms.
fn value() -> impl Strategy<Value = String> {
    let values = prop_oneof![
        3 => "[ab]{6,10}",
        3 => "[aAfF0]{6,14}",
        3 => "[a-z0-9/+ %\\\\\"<é😀\u{1}]{6,24}",
        1 => "[ab\n]{6,40}",
        1 => "[a-c]{120,300}",
        1 => "[a-zé]{8,12}\n[a-z0-9/]{8,12}\n[a-z]{3}",
    ];
    values.prop_filter("white space is no secret", |value| !value.trim().is_empty())
}

fn secrets() -> impl Strategy<Value = Secrets> {
    let named =
        |values: Vec<String>| values.into_iter().enumerate().map(|(i, v)| (format!("S{i}"), v)).collect();
    vec(value(), 1..6).prop_map(named)
}

/// A piece of text: noise, a form of a secret whole or cut, in another case, or a token.
#[derive(Clone, Debug)]
enum Piece {
    Noise(Vec<u8>),
    Whole(Index, Index),
    Cut(Index, Index, Index),
    Shouted(Index, Index),
    Token(usize),
}

fn piece() -> impl Strategy<Value = Piece> {
    prop_oneof![
        vec(select(b"abAF0 \n\"\\%\xff\xc3c_v".as_slice()), 0..20).prop_map(Piece::Noise),
        any::<(Index, Index)>().prop_map(|(secret, form)| Piece::Whole(secret, form)),
        any::<(Index, Index, Index)>().prop_map(|(secret, form, cut)| Piece::Cut(secret, form, cut)),
        any::<(Index, Index)>().prop_map(|(secret, form)| Piece::Shouted(secret, form)),
        (40..50_usize).prop_map(Piece::Token),
    ]
}

fn composed(secrets: &Secrets, pieces: &[Piece]) -> Vec<u8> {
    let form = |secret: &Index, form: &Index| form.get(&forms::of(&secret.get(secrets).1)).bytes.clone();
    let text = pieces.iter().map(|piece| match piece {
        Piece::Noise(noise) => noise.clone(),
        Piece::Whole(secret, which) => form(secret, which),
        Piece::Cut(secret, which, cut) => {
            let form = form(secret, which);
            form[..cut.index(form.len())].to_vec()
        }
        Piece::Shouted(secret, which) => form(secret, which).to_ascii_uppercase(),
        Piece::Token(length) => format!("cv_{}", "aB3-_".repeat(10)).as_bytes()[..*length].to_vec(),
    });
    text.collect::<Vec<_>>().concat()
}

fn streamed(redactor: &Arc<Redactor>, text: &[u8], cuts: &[Index]) -> Vec<u8> {
    let mut borders: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
    borders.extend([0, text.len()]);
    borders.sort_unstable();
    let (mut stream, mut out) = (redactor.stream(), Vec::new());
    borders.windows(2).for_each(|border| stream.push(&text[border[0]..border[1]], &mut out));
    stream.finish(&mut out);
    out
}

/// JSON strings with every character escaped or not, as the bits say.
fn spelled(text: &str, escaped: u64) -> String {
    let spell = |(index, c): (usize, char)| {
        let plain = serde_json::to_string(&c).unwrap();
        match escaped >> (index % 64) & 1 {
            0 => plain[1..plain.len() - 1].to_owned(),
            _ => c
                .encode_utf16(&mut [0; 2])
                .iter()
                .map(|unit| format!("\\u{unit:04X}"))
                .collect::<Vec<_>>()
                .concat(),
        }
    };
    text.chars().enumerate().map(spell).collect()
}

fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(members) => {
            members.iter().flat_map(|(k, v)| [vec![k.clone()], texts(v)].concat()).collect()
        }
        other => vec![other.to_string()],
    }
}

proptest! {
    #[test]
    fn the_search_is_equal_to_trying_every_form_everywhere_however_the_text_is_cut(
        secrets in secrets(), pieces in vec(piece(), 0..12), cuts in vec(any::<Index>(), 0..12),
    ) {
        let text = composed(&secrets, &pieces);
        let redactor = redactor(&secrets);
        let whole = redactor.redact_bytes(&text).into_owned();
        let plain = plainly_redacted(&secrets, &text);
        prop_assert_eq!(String::from_utf8_lossy(&whole), String::from_utf8_lossy(&plain));
        prop_assert_eq!(streamed(&redactor, &text, &cuts), whole);
    }

    #[test]
    fn no_form_of_a_secret_survives(secrets in secrets(), pieces in vec(piece(), 0..12)) {
        let redacted = redactor(&secrets).redact_bytes(&composed(&secrets, &pieces)).into_owned();
        prop_assert_eq!(places(&secrets, &redacted), vec![]);
    }

    #[test]
    fn what_encoders_make_of_a_secret_is_found(
        value in "[ -~éß😀]{6,30}".prop_filter("not white space only", |value| value.trim().len() > 5),
        lead in vec(0..4_u8, 0..7), tail in vec(0..4_u8, 0..7),
    ) {
        let redactor = Redactor::new([("KEY", value.as_str())]);
        let bytes = [&lead, value.as_bytes(), &tail].concat();
        let core = (lead.len() * 8).div_ceil(6)..(lead.len() + value.len()) * 8 / 6;
        for encoded in [STANDARD.encode(&bytes), URL_SAFE.encode(&bytes)] {
            let redacted = redactor.redact(&encoded);
            prop_assert!(!redacted.contains(&encoded[core.clone()]), "{encoded} {redacted}");
        }
        let json = serde_json::to_string(&value).unwrap();
        let hex = value.bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
        for text in [&json[1..json.len() - 1], &value, &hex, &hex.to_uppercase()] {
            prop_assert_eq!(redactor.redact(text), "[REDACTED:KEY]");
        }
    }

    #[test]
    fn json_stays_valid_and_no_secret_survives_in_it_however_it_is_spelled(
        secrets in secrets(), pieces in vec(vec(piece(), 0..4), 1..5), escaped in any::<u64>(),
    ) {
        let redactor = redactor(&secrets);
        let text = |pieces: &Vec<Piece>| String::from_utf8_lossy(&composed(&secrets, pieces)).into_owned();
        let texts_of: Vec<String> = pieces.iter().map(text).collect();
        let strings: Vec<String> = texts_of.iter().map(|text| spelled(text, escaped)).collect();
        let members: Vec<String> = strings.iter().map(|text| format!("\"{text}\": [\"{text}\", 1.5]")).collect();
        let json = format!("{{{}}}", members.join(", "));
        let redacted = redactor.redact_json(&json);
        let value: Value = serde_json::from_str(&redacted).unwrap();
        for text in texts(&value) {
            prop_assert_eq!(places(&secrets, text.as_bytes()), vec![], "{} in {}", text, redacted);
        }
        let mut value: Value = serde_json::from_str(&json).unwrap();
        redactor.redact_value(&mut value);
        for text in texts(&value) {
            prop_assert_eq!(places(&secrets, text.as_bytes()), vec![]);
        }
    }

    #[test]
    fn any_text_can_be_taken_for_json(text in "[\\[\\]{}:,\"\\\\ud8hunter2 \\PC]{0,60}", at in any::<Index>()) {
        let redactor = Redactor::new([("KEY", "hunter22")]);
        let middle = text.char_indices().map(|(index, _)| index).nth(at.index(text.chars().count() + 1));
        let (before, after) = text.split_at(middle.unwrap_or(text.len()));
        let redacted = redactor.redact_json(&format!("{before}hunter22{after}")).into_owned();
        prop_assert!(!redacted.contains("hunter22"));
        prop_assert_eq!(redactor.redact_json(&redacted), redacted.as_str());
    }
}
