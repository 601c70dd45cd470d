//! What is found, what is left alone, and that text stays text and JSON stays JSON.

mod properties;

use std::borrow::Cow;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::Redactor;
use crate::token;

const KEY: &str = "s3cr3t/key+value?";

fn knows(value: &str) -> Redactor {
    Redactor::new([("KEY", value)])
}

#[test]
fn a_secret_is_replaced_in_every_form_it_is_written_in() {
    let redactor = knows("pä$s w/rd\"<1>");
    for form in [
        "pä$s w/rd\"<1>",
        "70c3a4247320772f7264223c313e",
        "70C3A4247320772F7264223C313E",
        "70c3A4247320772f7264223C313e",
        "p%C3%A4%24s%20w%2Frd%22%3C1%3E",
        "p%c3%a4%24s%20w%2frd%22%3c1%3e",
        "p%C3%A4%24s+w%2Frd%22%3C1%3E",
        "p%C3%A4$s%20w/rd%22%3C1%3E",
        r#"pä$s w/rd\"<1>"#,
        r#"pä$s w\/rd\"<1>"#,
        r#"p\u00e4$s w/rd\"<1>"#,
        r#"p\u00E4$s w\/rd\"<1>"#,
        r#"pä$s w/rd\"\u003c1\u003E"#,
        r#"pä$s w/rd\\\"<1>"#,
        r#"p\\u00E4$s w/rd\\\"<1>"#,
        r#"pä$s w\\\/rd\\\"<1>"#,
    ] {
        assert_eq!(redactor.redact(&format!("x {form} y")), "x [REDACTED:KEY] y", "{form}");
    }
}

#[test]
fn base64_is_found_at_every_alignment_in_both_alphabets() {
    let redactor = knows("??>>ÿÿ~~key");
    for lead in ["", "a", "ab", "abc", "abcd"] {
        let whole = format!("{lead}??>>ÿÿ~~keyzzz");
        for encoded in [STANDARD.encode(&whole), URL_SAFE_NO_PAD.encode(&whole)] {
            let redacted = redactor.redact(&encoded);
            assert!(redacted.contains("[REDACTED:KEY]"), "{encoded}");
            let left = encoded.len() + "[REDACTED:KEY]".len() - redacted.len();
            assert!(left >= 13 * 8 / 6 - 1, "only {left} characters of {encoded} are covered");
        }
    }
}

#[test]
fn base64_that_a_tool_wrapped_is_found_line_by_line() {
    let value = "correct horse battery staple ".repeat(7);
    for width in [64, 76] {
        let encoded = STANDARD.encode(&value);
        let wrapped: Vec<&str> =
            encoded.as_bytes().chunks(width).map(|l| str::from_utf8(l).unwrap()).collect();
        let redacted = knows(&value).redact(&wrapped.join("\n")).into_owned();
        assert!(redacted.lines().all(|line| line.starts_with("[REDACTED:KEY]")), "{redacted}");
    }
}

#[test]
fn each_long_line_of_a_secret_is_found_alone_but_not_the_frame_of_a_key_file() {
    let value =
        "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\nshort\nhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----\n";
    let one_line = value.replace('\n', "\\n");
    for redactor in [knows(value), knows(&one_line)] {
        assert_eq!(redactor.redact("> MIIEvQIBADANBgkq\r\n> short"), "> [REDACTED:KEY]\r\n> short");
        assert_eq!(redactor.redact(&STANDARD.encode("hkiG9w0BAQEFAASC")), "[REDACTED:KEY]w==");
        assert_eq!(redactor.redact("-----BEGIN PRIVATE KEY-----"), "-----BEGIN PRIVATE KEY-----");
    }
    assert_eq!(knows(value).redact(value), "[REDACTED:KEY]");
}

#[test]
fn white_space_around_a_value_does_not_hide_it() {
    assert_eq!(knows(" hunter2\n").redact("a hunter2, b"), "a [REDACTED:KEY], b");
    assert_eq!(knows("hunter2\n").redact("hunter2"), "[REDACTED:KEY]");
}

#[test]
fn values_that_would_black_out_ordinary_text_are_left_out() {
    assert_eq!(Redactor::new([("A", "short"), ("B", "        ")]).redact("short        "), "short        ");
}

#[test]
fn overlapping_secrets_leave_nothing_behind() {
    let redactor =
        Redactor::new([("ONE", "abcdef123"), ("TWO", "123456789"), ("IN", "cdef12"), ("SAME", "abcdef123")]);
    assert_eq!(redactor.redact("<abcdef123456789>"), "<[REDACTED:ONE]>");
    assert_eq!(redactor.redact("<123456789abcdef123>"), "<[REDACTED:TWO][REDACTED:ONE]>");
    assert_eq!(redactor.redact("<abcdef123abcdef123>"), "<[REDACTED:ONE]>");
    assert_eq!(redactor.redact("<xcdef12>"), "<x[REDACTED:IN]>");
}

#[test]
fn of_two_secrets_that_are_written_alike_the_first_gives_the_name() {
    let (plain, hex) = (("PLAIN", "jklmno"), ("HEX", "6a6b6c6d6e6f"));
    assert_eq!(Redactor::new([plain, hex]).redact(hex.1), "[REDACTED:PLAIN]");
    assert_eq!(Redactor::new([hex, plain]).redact(hex.1), "[REDACTED:HEX]");
}

#[test]
fn a_long_secret_is_one_label_and_its_parts_are_found_too() {
    let value: String = (0..700).map(|n| char::from(b'a' + u8::try_from(n * n % 23).unwrap())).collect();
    let accented = value.replace('b', "é");
    for value in [value, accented] {
        let redactor = knows(&value);
        assert_eq!(redactor.redact(&format!("({value})")), "([REDACTED:KEY])");
        let hex = value.bytes().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().concat();
        assert_eq!(redactor.redact(&hex), "[REDACTED:KEY]");
        let cut: String = value.chars().take(400).collect();
        assert!(redactor.redact(&cut).starts_with("[REDACTED:KEY]"));
    }
}

#[test]
fn a_part_of_a_long_secret_ends_with_a_whole_character() {
    let letters = (0..8_u8).flat_map(|n| Sha256::digest([n])).map(|byte| char::from(byte | 0xC0));
    let value: String = ['a'].into_iter().chain(letters).collect();
    let cut: String = value.chars().take(100).collect();
    let left: String = value.chars().take(100).skip(64).collect();
    assert_eq!(knows(&value).redact(&cut), format!("[REDACTED:KEY]{left}"));
}

#[test]
fn our_own_tokens_are_known_by_their_shape() {
    let ours = token::from_random([7; 32]);
    let text = format!("Bearer {}.", ours.reveal());
    assert_eq!(Redactor::none().redact(&text), "Bearer [REDACTED:TOKEN].");
    let short = &ours.reveal()[..token::PREFIX.len() + token::BODY - 1];
    assert_eq!(Redactor::none().redact(short), short);
    let named = Redactor::new([("MINE", ours.reveal())]);
    assert_eq!(named.redact(&text), "Bearer [REDACTED:MINE].");
}

#[test]
fn clean_input_is_returned_as_it_is() {
    let redactor = knows(KEY);
    let text = r#"{"a":["clean",12345678,"no \" secret \u00e4"],"s3cr3t/key":null}"#;
    assert!(matches!(redactor.redact(text), Cow::Borrowed(same) if same == text));
    assert!(matches!(redactor.redact_json(text), Cow::Borrowed(same) if same == text));
    assert!(matches!(redactor.redact_bytes(b"\xff\xfe"), Cow::Borrowed(b"\xff\xfe")));
}

#[test]
fn bytes_that_are_no_text_are_kept_around_a_secret() {
    let redacted = knows(KEY).redact_bytes(b"\xff\xc3s3cr3t/key+value?\x80\0").into_owned();
    assert_eq!(redacted, b"\xff\xc3[REDACTED:KEY]\x80\0");
}

#[test]
fn json_is_decoded_before_it_is_compared_and_stays_valid() {
    let redactor =
        Redactor::new([("KEY", KEY), ("PIN", "12345678"), ("TWO", "line one\nend"), ("FACE", "secret😀")]);
    for (json, redacted) in [
        (r#"{"s3cr3t/key+value?":1}"#, r#"{"[REDACTED:KEY]":1}"#),
        (r#"["\n\u0073\u0033cr3t\/key+value?\n"]"#, r#"["\n[REDACTED:KEY]\n"]"#),
        (
            r#"[1, 12345678 ,-12345678.5,"12345678"]"#,
            r#"[1, "[REDACTED:PIN]" ,"[REDACTED:PIN]","[REDACTED:PIN]"]"#,
        ),
        (r#"{"a":12345678}"#, r#"{"a":"[REDACTED:PIN]"}"#),
        (r#""line one\nend""#, r#""[REDACTED:TWO]""#),
        (r#""line one\u000aend\t""#, r#""[REDACTED:TWO]\t""#),
        (r#""\"secret\uD83D\ude00\"""#, r#""\"[REDACTED:FACE]\"""#),
        (r#""{\"k\":\"line one\\nend\"}""#, r#""{\"k\":\"[REDACTED:TWO]\"}""#),
    ] {
        assert_eq!(redactor.redact_json(json), redacted);
    }
}

#[test]
fn a_secret_is_found_in_json_within_json_within_json() {
    let secret = "a\"b\\c\nd/é";
    let mut text = json!({"k": format!("<{secret}>")});
    for _ in 0..3 {
        let redacted = knows(secret).redact_json(&text.to_string()).into_owned();
        assert!(redacted.contains("<[REDACTED:KEY]>"), "{redacted}");
        text = json!({"k": text.to_string()});
    }
}

#[test]
fn a_secret_that_is_json_itself_is_found_across_values() {
    let redactor = knows(r#"{"user":"bob","pin":4711}"#);
    let json = r#"{"a":{"user":"bob","pin":4711},"b":["bob",4711]}"#;
    let redacted =
        r#"{"a":{"[REDACTED:KEY]":"[REDACTED:KEY]","[REDACTED:KEY]":"[REDACTED:KEY]"},"b":["bob",4711]}"#;
    assert_eq!(redactor.redact_json(json), redacted);
}

#[test]
fn an_escape_is_replaced_as_a_whole() {
    assert_eq!(knows("nabcdefg").redact_json(r#"["x\nabcdefg"]"#), r#"["x[REDACTED:KEY]"]"#);
    assert_eq!(knows("abcdef\\").redact_json(r#"["abcdef\\n"]"#), r#"["[REDACTED:KEY]n"]"#);
    assert_eq!(knows("abcdef\\").redact_json(r#"["abcdef\n"]"#), r#"["[REDACTED:KEY]"]"#);
}

#[test]
fn a_text_that_is_not_json_is_redacted_all_the_same() {
    let redactor = knows("hunter22");
    assert_eq!(redactor.redact_json("it is hunter22!"), r#"it is "[REDACTED:KEY]""#);
    assert_eq!(redactor.redact_json(r#"["hunter22"#), r#"["[REDACTED:KEY]"#);
    for text in ["\"", "\\", "\"\\", "\"\\u", "\"\\ud8", "\"\\ud800\\u00", "\\\"hunter22", "{\"hunter22\\"] {
        assert!(!redactor.redact_json(text).contains("hunter22"), "{text}");
    }
}

#[test]
fn values_are_redacted_in_names_texts_and_numbers() {
    let redactor = Redactor::new([("KEY", "hunter22"), ("OLD", "hunter33"), ("PIN", "12345678")]);
    let mut value = json!({
        "hunter22": 1, "hunter33": {"hunter22": [12_345_678, "a hunter22", 0.5, null, true]},
        "[REDACTED:KEY]": "kept",
    });
    redactor.redact_value(&mut value);
    let redacted = json!({
        "[REDACTED:KEY]": "kept", "[REDACTED:KEY]_": 1,
        "[REDACTED:OLD]": {"[REDACTED:KEY]": ["[REDACTED:PIN]", "a [REDACTED:KEY]", 0.5, null, true]},
    });
    assert_eq!(value, redacted);
}

#[test]
fn a_stream_finds_a_secret_that_arrives_byte_by_byte_and_holds_little_back() {
    let redactor = Arc::new(knows(KEY));
    let mut stream = redactor.stream();
    let mut out = Vec::new();
    let text = format!("{}{KEY}{}", "a".repeat(1000), "b".repeat(1000));
    for (index, byte) in text.bytes().enumerate() {
        stream.push(&[byte], &mut out);
        assert!(index < out.len() + KEY.len() + stream.bound());
    }
    stream.finish(&mut out);
    assert_eq!(String::from_utf8(out).unwrap(), redactor.redact(&text));
}

#[test]
fn a_part_is_redacted_as_if_all_of_it_were_seen() {
    let redactor = knows("hunter22");
    let text = "a hunter22hunter22 b hunter22";
    let hidden = |part| String::from_utf8(redactor.redact_part(text.as_bytes(), part)).unwrap();
    assert_eq!(hidden(0..text.len()), redactor.redact(text));
    for (part, left) in [
        (0..5, "a [REDACTED:KEY]"),
        (5..20, "[REDACTED:KEY] b"),
        (9..11, "[REDACTED:KEY]"),
        (18..21, " b "),
        (18..28, " b [REDACTED:KEY]"),
        (3..3, ""),
        (20..99, " [REDACTED:KEY]"),
    ] {
        assert_eq!(hidden(part.clone()), left, "{part:?}");
    }
}

#[test]
fn a_redactor_does_not_show_what_it_knows() {
    let redactor = Redactor::new([("bad name\"", KEY)]);
    assert!(!format!("{redactor:?}").contains("s3cr3t"));
    assert_eq!(redactor.redact(KEY), "[REDACTED:bad_name_]");
}

#[test]
fn two_hundred_secrets_fit_in_three_mebibytes() {
    let values: Vec<String> = (0..200_u8).map(|n| STANDARD.encode(Sha256::digest([n]))).collect();
    let redactor = Redactor::new(values.iter().map(|value| ("KEY", value.as_str())));
    assert!(redactor.forms() >= 1000, "{}", redactor.forms());
    assert!(redactor.memory() <= 3 << 20, "{}", redactor.memory());
}
