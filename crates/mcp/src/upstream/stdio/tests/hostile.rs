//! Programs that write too much, do not read, or never stop.

use super::*;

#[tokio::test]
async fn an_answer_over_the_limit_fails_its_own_letter_at_once() {
    let wire = wire(
        r#"
head = hear()
tail = hear()
write('{"jsonrpc":"2.0","id":%d,"result":{"text":"' % head["id"])
for _ in range(30): write("x" * 100000)
other = hear()
write('"}}\n')
write('{"result":{"id":%d,"text":"%s"},"jsonrpc":"2.0","id":%d}\n' % (other["id"], "x" * 3000000, tail["id"]))
answer(other, "fine")
alone = hear()
write('[{"id":%d,"result":"%s"}]\n' % (alone["id"], "x" * 3000000))
last = hear()
write("x" * 3000000 + "\n")
answer(last, "not concerned")
stay()
"#,
    )
    .await;
    let too_large = "answered with more than 1048576 bytes";
    let (head, tail) = tokio::join!(
        async {
            let failed = asked(&wire, 1).await;
            (failed, asked(&wire, 3).await)
        },
        asked(&wire, 2)
    );
    assert_eq!(head, (too_large.to_owned(), r#""fine""#.to_owned()), "before the line has ended");
    assert_eq!(tail, too_large);
    assert_eq!(asked(&wire, 4).await, too_large, "nobody else waited");
    assert_eq!(asked(&wire, 5).await, r#""not concerned""#);
}

#[tokio::test]
async fn a_program_that_does_not_read_makes_letters_wait_and_nothing_grow() {
    let wire = wire("time.sleep(300)").await;
    let mut big = letter(0);
    big.body = vec![b' '; 100_000];
    let mut told = 0_usize;
    while timeout(std::time::Duration::from_millis(200), wire.tell(&big)).await.is_ok() {
        told += 1;
        assert!(told < 20, "the outbox grows without bound");
    }
    assert!(told >= 3, "{told}");
    let waits = timeout(std::time::Duration::from_millis(50), wire.ask(&letter(1))).await;
    assert!(waits.is_err(), "who asks waits, and may give up");
    timeout(LONG, wire.close()).await.expect("it is stopped all the same");
    assert_eq!(asked(&wire, 2).await, "was stopped");
}

#[tokio::test]
async fn who_waits_for_room_is_served_when_the_program_reads_again() {
    let wire = wire(
        r#"
time.sleep(0.3)
while True:
    request = hear()
    if "id" in request: answer(request, len(request.get("pad", "")))
"#,
    )
    .await;
    let ask = |id: u64| {
        let mut letter = letter(id);
        letter.body = format!(r#"{{"id":{id},"method":"m","pad":"{}"}}"#, "x".repeat(90_000)).into_bytes();
        let wire = Arc::clone(&wire);
        async move {
            match timeout(LONG, wire.ask(&letter)).await.unwrap().unwrap() {
                Answer::Result(raw) => raw.get().to_owned(),
                Answer::Error(failure) => failure.to_string(),
            }
        }
    };
    let answers = futures_util::future::join_all((1..=40).map(ask)).await;
    assert!(answers.iter().all(|answer| answer == "90000"), "{answers:?}");
}

#[tokio::test]
async fn a_flood_of_words_and_questions_delays_no_answer_for_long() {
    let ear = Arc::new(Noted::default());
    let script = r#"
request = hear()
line = json.dumps({"method": "ping", "id": "p", "jsonrpc": "2.0"}) + "\n"
for _ in range(200): write(line * 500)
answer(request, "after the flood")
while True:
    request = hear()
    if request["id"] != "p": answer(request, "again")
"#;
    let wire = StdioWire::new(program(script).await, Arc::clone(&ear) as Arc<dyn Ear>, LIMIT);
    assert_eq!(asked(&wire, 1).await, r#""after the flood""#);
    assert_eq!(asked(&wire, 2).await, r#""again""#);
}

#[tokio::test]
async fn an_answer_of_any_depth_passes_and_breaks_nothing() {
    let wire = wire(
        r#"
request = hear()
write('{"id":%d,"result":%s}\n' % (request["id"], "[" * 200000 + "]" * 200000))
write("[" * 500000 + "\n" + "{\"a\":" * 100000 + "\n")
answer(hear(), "again")
stay()
"#,
    )
    .await;
    assert_eq!(asked(&wire, 1).await.len(), 400_000);
    assert_eq!(asked(&wire, 2).await, r#""again""#);
}

#[tokio::test]
async fn a_program_that_never_stops_talking_is_stopped() {
    for line in [
        r#"{"jsonrpc":"2.0","method":"notifications/x"}"#,
        r#"{"jsonrpc":"2.0","id":7,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#,
        "hello",
        "[5]",
    ] {
        let script =
            format!("request = hear(); answer(request, 'yes')\nwhile True: write('{line}\\n' * 500)");
        let wire = wire(&script).await;
        assert_eq!(asked(&wire, 1).await, r#""yes""#);
        let reason = timeout(LONG, wire.lost()).await.expect("it is stopped");
        let told = "wrote more than 100000 messages that nobody asked for within 10 s, and is not listened to any longer";
        assert_eq!(&*reason, told, "{line}");
        assert_eq!(asked(&wire, 2).await, told);
        timeout(LONG, wire.close()).await.expect("the program is gone");
    }
}
