//! Titles and scopes as people write them: one word, any script, emoji, code, a log that was pasted.

use serde_json::{Value, json};

use super::desk::{on_both, word};

fn task(operation: &str, title: &str) -> Value {
    json!({"operation": operation, "title": title, "task_type": "bug"})
}

/// Whether a title says enough for somebody to be asked about the same again.
const TITLES: [(&str, bool); 9] = [
    ("Kubernetes", false),
    ("修复移动设备上登录页面的崩溃", true),
    ("إصلاح تعطل صفحة تسجيل الدخول على الهاتف", true),
    ("बिल डाउनलोड करते समय आने वाली त्रुटि ठीक करें", true),
    ("Исправить расчёт скидки в корзине покупателя", true),
    ("請求書のPDF出力で文字化けを直す", true),
    ("🚀🔥🐛", true),
    ("if (a?.b !== null) { return await fetch(`/api/${id}`, { headers }); }", true),
    ("`cargo test -p uploader -- --ignored` hangs at 97%", true),
];

#[test]
fn a_title_of_any_script_starts_and_is_found_by_whoever_means_the_same() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        for (title, says_enough) in TITLES {
            let (theirs, _) = desk.started(&ada, title);
            assert_eq!(desk.row("tasks", &theirs)["title"], title);
            let told = desk.call(&bob, "covibe_task", task("check", title));
            let found = told["data"]["matches"].as_array().unwrap();
            assert_eq!(word(&found[0], "id"), theirs, "{title}: {told}");
            assert_eq!(found.len(), 1, "of the other titles none is like it: {told}");
            assert_eq!(told["data"]["requires_verdict"], says_enough, "{title}: {told}");
            let start = desk.watched(&bob, "covibe_task", task("start", title));
            let (status, begun) = if says_enough { ("blocked", 0) } else { ("ok", 1) };
            assert_eq!((start.status(), start.of("tasks").len()), (status, begun), "{title}: {start:?}");
        }
    });
}

#[test]
fn a_pasted_log_is_a_scope_as_long_as_it_has_room() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        let line = |number: usize| {
            format!(
                "2026-03-01T12:00:{:02}Z\tERROR [worker-{number}] upload.rs:{number} \u{1b}[31mtimeout\u{1b}[0m after 30s \"é\"\r\n",
                number % 60
            )
        };
        let mut log: String = (0..)
            .map(line)
            .scan(0, |length, line| {
                *length += line.chars().count();
                (*length <= 8000).then_some(line)
            })
            .collect();
        log.push_str(&"=".repeat(8000 - log.chars().count()));
        let title = "Uploads time out on the second worker";
        let scoped = |operation: &str, scope: &str| {
            let mut call = task(operation, title);
            call["scope"] = json!(scope);
            call
        };
        for operation in ["check", "plan", "start"] {
            for (field, bad, most) in [
                ("scope", format!("{log}x"), "8000"),
                ("scope", log.repeat(100), "8000"),
                ("title", "a pasted title ".repeat(667), "300"),
            ] {
                let mut call = task(operation, title);
                call[field] = json!(bad);
                let (told, _) = desk.refused(&ada, "covibe_task", call);
                let message = told["message"].as_str().unwrap();
                assert!(message.contains(field) && message.contains(most), "{told}");
                assert!(message.len() < 300, "what is too long is not told again: {told}");
            }
        }
        desk.done(&ada, "covibe_task", scoped("check", &log));
        let left = desk.watched(&ada, "covibe_task", scoped("start", &log));
        let kept = left.one("tasks");
        assert_eq!((left.status(), kept["scope"].as_str()), ("ok", Some(log.trim())), "{left:?}");
        let told = desk.call(&bob, "covibe_task", scoped("check", &log));
        assert_eq!(told["data"]["candidates"][0]["id"], kept["id"], "{told}");
    });
}
