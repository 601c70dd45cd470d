//! Signing in by a passkey: chosen by an invite, added, listed, removed and used; and every way in which that must not work.

use covenant_testkit::Home;
use covenant_testkit::passkey::{Device, Fields};
use serde_json::{Value, json};

use super::browser::{Answer, Browser};
use super::{GOOD, homes, invite, kinds};
use crate::{home, unhurried};

/// A browser at the name of this machine: passkeys are bound to names.
fn browser(port: u16) -> Browser {
    Browser::new(port).at(&format!("http://localhost:{port}"))
}

fn device(port: u16) -> Device {
    Device::new(&format!("http://localhost:{port}"))
}

#[track_caller]
fn asks(browser: &mut Browser, fields: &[(&str, &str)]) -> Value {
    let answer = browser.post("/auth/passkey/challenge", fields);
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

fn sends(browser: &mut Browser, path: &str, more: &[(&str, &str)], fields: &Fields) -> Answer {
    let fields = fields.iter().map(|(name, value)| (*name, value.as_str()));
    browser.post(path, &fields.chain(more.iter().copied()).collect::<Vec<_>>())
}

/// Signs in with that device.
fn signs_in(browser: &mut Browser, device: &mut Device) -> Answer {
    let asked = asks(browser, &[]);
    sends(browser, "/auth/passkey", &[], &device.sign(&asked))
}

/// A browser and a device of somebody who chose a passkey on their invite.
fn joined(home: &Home, port: u16, handle: &str) -> (Browser, Device) {
    let link = invite(home, port, &[handle]);
    let code = link.rsplit('/').next().unwrap();
    let (mut browser, mut device) = (browser(port), device(port));
    let asked = asks(&mut browser, &[("invite", code)]);
    let made = sends(&mut browser, "/auth/passkey/new", &[("invite", code)], &device.make(&asked));
    assert_eq!((made.status, made.signs_in()), (303, true), "{made:?}");
    (browser, device)
}

fn who(browser: &mut Browser) -> Value {
    browser.get("/api/v1/session").json()["principal"].clone()
}

#[test]
fn who_was_invited_chooses_a_passkey_once_and_signs_in_by_it() {
    for home in homes() {
        let daemon = home.up();
        let port = daemon.port();
        let link = invite(&home, port, &["ada"]);
        let code = link.rsplit('/').next().unwrap();
        let (mut ada, mut own) = (browser(port), device(port));
        let page = ada.get(&link);
        assert!(
            page.body.contains("Use a passkey instead") && page.body.contains("type=\"password\""),
            "{page:?}"
        );
        let asked = asks(&mut ada, &[("invite", code)]);
        let place = (&asked["rp_id"], &asked["origin"], &asked["user"]["name"]);
        assert_eq!(place, (&json!("localhost"), &json!(format!("http://localhost:{port}")), &json!("ada")));
        let made = own.make(&asked);
        let done = sends(&mut ada, "/auth/passkey/new", &[("invite", code)], &made);
        assert_eq!((done.status, done.header("location")), (303, Some("/signin")), "{done:?}");
        assert_eq!(who(&mut ada), "dev:ada");
        assert_eq!(browser(port).post(&link, &[("password", GOOD)]).status, 409, "the invite was used");

        let word = ada.word();
        ada.post("/signout", &[("csrf", &word)]);
        assert!(ada.get("/signin").body.contains("Sign in with a passkey"));
        assert_eq!(signs_in(&mut ada, &mut own).status, 303);
        assert_eq!(who(&mut ada), "dev:ada");
        home.run(&["team", "remove", "ada"]).ok();
        let gone = signs_in(&mut browser(port), &mut own);
        assert_eq!((gone.status, gone.signs_in()), (403, false), "{gone:?}");
        let rows = home.run(&["audit", "recent", "-n", "1000", "--json"]).ok().stdout;
        assert!(rows.contains("\"PasskeyAdded\"") && rows.contains("by a passkey"), "{rows}");
    }
}

#[test]
fn somebody_adds_lists_and_removes_their_passkeys_and_keeps_a_way_in() {
    let home = unhurried();
    let daemon = home.up();
    let port = daemon.port();
    let (mut ada, first) = joined(&home, port, "ada");
    let word = ada.word();
    let csrf = [("csrf", word.as_str())];
    let asked = asks(&mut ada, &csrf);
    assert_eq!(asked["known"].as_array().unwrap().len(), 1, "{asked}");
    let mut second = device(port);
    let made = second.make(&asked);
    assert_eq!(sends(&mut ada, "/auth/passkey/new", &csrf, &made).status, 303);
    let again = asks(&mut ada, &csrf);
    let taken = sends(&mut ada, "/auth/passkey/new", &csrf, &second.make(&again));
    assert_eq!(taken.status, 422);
    assert!(taken.told().contains("known here already"), "{taken:?}");
    assert_eq!(signs_in(&mut browser(port), &mut second).status, 303);

    let page = ada.get("/signin").body;
    assert_eq!(
        (page.matches("Remove this passkey").count(), page.matches("last used 2").count()),
        (2, 1),
        "{page}"
    );
    let ids: Vec<String> = page
        .split("name=\"id\" value=\"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap().to_owned())
        .collect();
    let remove = |browser: &mut Browser, word: &str, id: &str| {
        browser.post("/auth/passkey/remove", &[("csrf", word), ("id", id)])
    };
    let (mut mia, _) = joined(&home, port, "mia");
    let others = mia.word();
    assert_eq!(remove(&mut mia, &others, &ids[0]).status, 404, "not hers");
    assert_eq!(remove(&mut mia, &word, &ids[0]).status, 403, "the word of another session");
    assert_eq!(remove(&mut browser(port), &word, &ids[0]).status, 403, "nobody");
    assert_eq!(remove(&mut ada, &word, &ids[0]).status, 303);
    let last = remove(&mut ada, &word, &ids[1]);
    assert_eq!(last.status, 409);
    assert!(last.told().contains("your only way to sign in"), "{last:?}");
    let mut first = first;
    assert_eq!(signs_in(&mut browser(port), &mut first).status, 403, "it is no more");
    assert_eq!(signs_in(&mut browser(port), &mut second).status, 303);
    let kinds = kinds(&home);
    let count = |wanted: &str| kinds.iter().filter(|kind| *kind == wanted).count();
    assert_eq!((count("PasskeyAdded"), count("PasskeyRemoved")), (3, 1), "{kinds:?}");

    // An invite replaces all of them.
    let link = invite(&home, port, &["ada", "--again"]);
    assert_eq!(ada.post(&link, &[("password", GOOD)]).status, 303);
    assert_eq!(signs_in(&mut browser(port), &mut second).status, 403);
}

#[test]
fn a_passkey_is_taken_only_as_the_device_of_its_owner_gives_it_here_and_now() {
    let home = unhurried();
    let daemon = home.up();
    let port = daemon.port();
    let (_, mut ada) = joined(&home, port, "ada");
    let (_, mia) = joined(&home, port, "mia");
    let refused = |answer: &Answer, why: &str| {
        assert_eq!((answer.status, answer.signs_in()), (403, false), "{why}: {answer:?}");
        assert!(answer.told().contains(why), "{why}: {answer:?}");
    };
    let tries = |cheat: &mut dyn FnMut(&mut Device), why: &str| {
        let mut browser = browser(port);
        let kept =
            (ada.flags, ada.origin.clone(), ada.name.clone(), ada.user.clone(), ada.counter, ada.id.clone());
        cheat(&mut ada);
        refused(&signs_in(&mut browser, &mut ada), why);
        (ada.flags, ada.origin, ada.name, ada.user, ada.counter, ada.id) = kept;
        ada.counter += 1;
        assert_eq!(signs_in(&mut browser, &mut ada).status, 303, "{why}");
    };
    let mut tries = tries;
    tries(&mut |device| device.origin = "https://evil.example.org".to_owned(), "a page of another place");
    tries(&mut |device| device.origin = format!("http://localhost:{}", port ^ 1), "a page of another place");
    tries(&mut |device| device.name = "evil.example.org".to_owned(), "for another place");
    tries(&mut |device| device.flags = 1, "did not make sure that it is you");
    tries(&mut |device| device.flags = 4, "Nobody touched the device");
    tries(&mut |device| device.user = mia.user.clone(), "is somebody else");
    tries(&mut |device| device.user = String::new(), "is somebody else");
    tries(&mut |device| device.counter = 0, "may have been copied");
    tries(&mut |device| device.id = vec![9; 20], "Nobody here has that passkey");
    tries(&mut |device| device.id = mia.id.clone(), "is somebody else");
    tries(
        &mut |device| {
            device.id.clone_from(&mia.id);
            device.user.clone_from(&mia.user);
        },
        "is not of its key",
    );

    let mut browser = browser(port);
    let asked = asks(&mut browser, &[]);
    let answer = ada.sign(&asked);
    assert_eq!(sends(&mut browser, "/auth/passkey", &[], &answer).status, 303);
    refused(&sends(&mut browser, "/auth/passkey", &[], &answer), "answered already");
    let code = invite(&home, port, &["eve"]).rsplit('/').next().unwrap().to_owned();
    let asked = asks(&mut browser, &[("invite", &code)]);
    refused(&sends(&mut browser, "/auth/passkey", &[], &ada.sign(&asked)), "never asked here");
    refused(&browser.post("/auth/passkey", &[]), "cannot be read");
    for foreign in ["", "Origin: https://evil.example.org\r\n"] {
        let form = format!("Content-Type: application/x-www-form-urlencoded\r\n{foreign}");
        assert_eq!(browser.send("POST", "/auth/passkey/challenge", &form, "").status, 403);
        assert_eq!(browser.send("POST", "/auth/passkey", &form, "").status, 403);
    }
}

#[test]
fn that_there_are_two_of_a_passkey_is_written_down_whatever_else_is_refused() {
    let home = unhurried();
    let daemon = home.up();
    let port = daemon.port();
    let (_, mut own) = joined(&home, port, "ada");
    own.counter = 10;
    assert_eq!(signs_in(&mut browser(port), &mut own).status, 303);
    // Of refusals in general one a minute is written down: this is that one.
    assert_eq!(browser(port).post("/auth/passkey", &[]).status, 403);
    for _ in 0..2 {
        own.counter = 1;
        assert_eq!(signs_in(&mut browser(port), &mut own).status, 403);
    }
    let rows = home.run(&["audit", "recent", "-n", "1000", "--json"]).ok().json_lines();
    let told = rows.iter().filter(|row| row["reason"] == "a passkey counted back");
    let whose: Vec<&Value> = told.map(|row| &row["agent_id"]).collect();
    assert_eq!(whose, [&json!("dev:ada"), &json!("dev:ada")], "{rows:?}");
}

#[test]
fn a_bad_new_passkey_leaves_the_invite_good_and_five_bad_tries_close_the_door() {
    let home = unhurried();
    let daemon = home.up();
    let port = daemon.port();
    let (_, mut mia) = joined(&home, port, "mia");
    let link = invite(&home, port, &["ada"]);
    let code = link.rsplit('/').next().unwrap();
    let mut ada = browser(port);
    let invited = [("invite", code)];
    // A map whose `fmt` is a list of a list of a list, and so on.
    let deep = format!("oWNmbXSB{}", "gYGB".repeat(1000));
    for (cheat, why) in [
        ((|device| device.flags = 1) as fn(&mut Device), "did not make sure that it is you"),
        (|device| device.name = "evil.example.org".to_owned(), "for another place"),
        (|device| device.origin = "https://evil.example.org".to_owned(), "a page of another place"),
    ] {
        let mut own = device(port);
        cheat(&mut own);
        let asked = asks(&mut ada, &invited);
        let refused = sends(&mut ada, "/auth/passkey/new", &invited, &own.make(&asked));
        assert_eq!((refused.status, refused.signs_in()), (422, false), "{why}: {refused:?}");
        assert!(refused.told().contains(why), "{why}: {refused:?}");
    }
    for (attestation, why) in
        [("o2", "ends before it is whole"), (deep.as_str(), "nested too deep"), ("", "ends before")]
    {
        let asked = asks(&mut ada, &invited);
        let mut made = device(port).make(&asked);
        made[1].1 = attestation.to_owned();
        let refused = sends(&mut ada, "/auth/passkey/new", &invited, &made);
        assert_eq!((refused.status, refused.told().contains(why)), (422, true), "{why}: {refused:?}");
    }
    // The passkey of somebody else.
    let asked = asks(&mut ada, &invited);
    let taken = sends(&mut ada, "/auth/passkey/new", &invited, &mia.make(&asked));
    assert_eq!((taken.status, taken.signs_in()), (409, false), "{taken:?}");
    mia.user = asks(&mut browser(port), &invited)["user"]["id"].as_str().unwrap().to_owned();
    let asked = asks(&mut ada, &invited);
    let mut own = device(port);
    assert_eq!(
        sends(&mut ada, "/auth/passkey/new", &invited, &own.make(&asked)).status,
        303,
        "it is good still"
    );
    assert_eq!(ada.post("/auth/passkey/challenge", &invited).status, 422, "and now used");

    assert_eq!(who(&mut ada), "dev:ada");
}

#[test]
fn whoever_fails_for_somebody_does_not_keep_their_passkey_out() {
    let home = unhurried();
    let daemon = home.up();
    let port = daemon.port();
    let (_, mut own) = joined(&home, port, "ada");
    let guess = || browser(port).post("/signin", &[("handle", "ada"), ("password", GOOD)]).status;
    own.flags = 1;
    for _ in 0..6 {
        assert_eq!(signs_in(&mut browser(port), &mut own).status, 403);
    }
    assert_eq!(guess(), 403, "nor do passkeys count as passwords");
    for _ in 0..4 {
        guess();
    }
    assert_eq!(guess(), 429);
    own.flags = 5;
    assert_eq!(signs_in(&mut browser(port), &mut own).status, 303);
}

#[test]
fn passkeys_need_a_name_and_their_pages_run_one_script_of_ours() {
    let home = unhurried();
    let daemon = home.up();
    let port = daemon.port();
    let link = invite(&home, port, &["ada"]);
    let mut numbered = Browser::new(port);
    for path in ["/signin", &link] {
        let page = numbered.get(path);
        assert!(page.body.contains(&format!("open http://localhost:{port}{path}")), "{page:?}");
        assert!(!page.body.contains("<script"), "{page:?}");
    }
    assert_eq!(numbered.post("/auth/passkey/challenge", &[]).status, 422);
    let mut named = browser(port);
    for path in ["/signin", &link] {
        let page = named.get(path);
        let policy = page.header("content-security-policy").unwrap();
        for part in ["default-src 'none'", "script-src 'self'", "connect-src 'self'", "form-action 'self'"] {
            assert!(policy.contains(part) && !policy.contains("unsafe"), "{policy}");
        }
        assert_eq!(page.body.matches("<script").count(), 1, "{page:?}");
        assert!(page.body.contains("<script src=\"/auth/passkey/script.js\" defer></script>"), "{page:?}");
        assert!(
            page.body.contains("data-passkey hidden>"),
            "without the script there is no such form: {page:?}"
        );
    }
    let script = named.get("/auth/passkey/script.js");
    assert_eq!(script.header("content-type"), Some("text/javascript; charset=utf-8"), "{script:?}");
    assert_eq!(script.header("x-content-type-options"), Some("nosniff"), "{script:?}");

    let public = home_with_public_url();
    let daemon = public.up();
    let mut inside = Browser::new(daemon.port()).at("https://covenant.example.org");
    let asked = asks(&mut inside, &[]);
    assert_eq!(
        (&asked["rp_id"], &asked["origin"]),
        (&json!("covenant.example.org"), &json!("https://covenant.example.org"))
    );
}

fn home_with_public_url() -> Home {
    let home = home();
    home.write("config.toml", "[http]\nbehind_proxy = true\npublic_url = \"https://covenant.example.org\"\n");
    home
}
