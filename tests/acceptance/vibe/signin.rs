//! People signing in in a browser: the operator by a link, others by an invite and what they choose on it; what their cookie
//! opens, and what ends it.

pub(super) mod browser;
mod oidc;
mod operator;
mod passkey;
mod provider;
mod real;
mod restored;

use std::thread;

use covenant_testkit::{Home, sqlite};
use serde_json::{Value, json};

use self::browser::Browser;
use crate::{home, unhurried};

/// A good password.
const GOOD: &str = "correct horse battery";

/// A home of either database, without limits.
fn homes() -> Vec<Home> {
    let server = covenant_testkit::postgres::database().unwrap().map(|url| {
        let home = home();
        home.write("config.toml", &format!("[rate_limit]\nrate = 0\n[database]\nurl = {}\n", json!(url)));
        home
    });
    std::iter::once(unhurried()).chain(server).collect()
}

/// The path of a link that a command printed or answered.
fn path(link: &str, port: u16) -> String {
    let path = link.trim().strip_prefix(&format!("http://127.0.0.1:{port}"));
    path.unwrap_or_else(|| panic!("{link}")).to_owned()
}

fn invite(home: &Home, port: u16, arguments: &[&str]) -> String {
    let invited = home.run(&[&["team", "invite"], arguments, &["--json"]].concat()).ok().json();
    path(invited["link"].as_str().unwrap(), port)
}

fn dashboard(home: &Home, port: u16) -> String {
    let shown = home.run(&["dashboard", "--no-open"]).ok();
    let (path, code) =
        path(&shown.stdout, port).split_once("?code=").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    assert_eq!((path.as_str(), code.len()), ("/signin", 46), "{shown:?}");
    assert!(!shown.stderr.contains(&code), "{shown:?}");
    code
}

/// A browser of somebody who accepted an invite.
fn joined(home: &Home, port: u16, handle: &str) -> Browser {
    let mut browser = Browser::new(port);
    let link = invite(home, port, &[handle]);
    assert_eq!(browser.post(&link, &[("password", GOOD)]).status, 303);
    browser
}

fn kinds(home: &Home) -> Vec<String> {
    let rows = home.run(&["audit", "recent", "-n", "1000", "--json"]).ok().json_lines();
    rows.iter().map(|row| row["kind"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_operator_signs_in_by_a_link_that_is_good_once() {
    for home in homes() {
        let daemon = home.up();
        let port = daemon.port();
        let mut browser = Browser::new(port);
        let code = dashboard(&home, port);
        for _ in 0..2 {
            let page = browser.get(&format!("/signin?code={code}"));
            assert_eq!(page.status, 200, "looking uses nothing up");
            assert!(page.body.contains(&format!("name=\"code\" value=\"{code}\"")), "{page:?}");
            assert!(page.header("set-cookie").is_none(), "{page:?}");
        }
        assert_eq!(browser.get("/api/v1/session").status, 401);
        let done = browser.post("/auth/link", &[("code", &code)]);
        assert_eq!((done.status, done.header("location")), (303, Some("/signin")), "{done:?}");
        let cookie = done.header("set-cookie").unwrap().to_owned();
        let rest = cookie.strip_prefix(&format!("covenant_{port}=cv_")).unwrap();
        assert_eq!(&rest[43..], "; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200", "{cookie}");
        let session = browser.get("/api/v1/session").json();
        assert_eq!((&session["principal"], &session["handle"]), (&json!("user@local"), &json!("local")));
        assert_eq!((&session["workspace"], &session["role"]), (&json!("local"), &json!("admin")));
        assert!(browser.get("/signin").body.contains("You are signed in as user@local."));
        assert_eq!(browser.get("/api/v1/clients").status, 200, "what is the operator's is theirs");

        let mut second = Browser::new(port);
        let again = second.post("/auth/link", &[("code", &code)]);
        assert_eq!(again.status, 409);
        assert!(again.header("set-cookie").is_none() && again.body.contains("was used already"), "{again:?}");
        let nothing = second.post("/auth/link", &[("code", &format!("cv_{}", "A".repeat(43)))]);
        assert_eq!(nothing.status, 404);
        assert_eq!(second.post("/auth/link", &[]).status, 404);
        assert_eq!(second.get("/signin?code=%3Cscript%3E").status, 404);
        let rows = home.run(&["audit", "recent", "-n", "1000", "--json"]).ok().stdout;
        assert!(rows.contains("\"SignedIn\"") && rows.contains("\"SignInRefused\""), "{rows}");
        let secret = &rest[..43];
        nothing_holds(&home, &rows, &[&code[3..], secret]);
    }
}

/// Neither a file of the home nor a row has one of these.
fn nothing_holds(home: &Home, rows: &str, secrets: &[&str]) {
    let mut held = rows.as_bytes().to_vec();
    for name in ["covenant.db", "covenant.db-wal", "logs/covenant.log"] {
        held.extend(std::fs::read(home.path().join(name)).unwrap_or_default());
    }
    for secret in secrets {
        assert!(!held.windows(secret.len()).any(|window| window == secret.as_bytes()), "{secret}");
    }
}

#[test]
fn links_end_with_their_time_and_with_newer_ones() {
    let home = unhurried();
    let daemon = home.up();
    let mut browser = Browser::new(daemon.port());
    let code = dashboard(&home, daemon.port());
    let first = invite(&home, daemon.port(), &["ada"]);
    let rows = home.run(&["dashboard", "--json"]).ok().json();
    assert_eq!(rows.as_object().unwrap().keys().collect::<Vec<_>>(), ["expires_at", "link"]);
    sqlite::execute(&home.path().join("covenant.db"), "UPDATE signin_codes SET expires_at = 1000");
    assert_eq!(browser.post("/auth/link", &[("code", &code)]).status, 410);
    assert_eq!(browser.get(&first).status, 410);
    assert_eq!(browser.post(&first, &[("password", GOOD)]).status, 410);

    let second = invite(&home, daemon.port(), &["ada", "--again"]);
    let third = invite(&home, daemon.port(), &["ada", "--again"]);
    assert_eq!((browser.get(&second).status, browser.get(&third).status), (404, 200));
    assert_eq!(browser.post(&second, &[("password", GOOD)]).status, 404);
    assert_eq!(browser.get("/invite/nothing").status, 404);
    home.run(&["team", "invite", "nobody", "--again"]).exits(2);
    home.run(&["team", "invite", "ada"]).exits(2);
    home.run(&["team", "invite", "ada", "--again", "--role", "admin"]).exits(2);
    home.run(&["team", "remove", "ada"]).ok();
    assert_eq!(browser.post(&third, &[("password", GOOD)]).status, 404);
}

#[test]
fn of_two_who_accept_one_invite_one_is_in_time() {
    for home in homes() {
        let daemon = home.up();
        let port = daemon.port();
        let link = invite(&home, port, &["ada"]);
        let page = Browser::new(port).get(&link);
        assert!(
            page.body.contains("You were invited as ada") && page.body.contains("type=\"password\""),
            "{page:?}"
        );
        assert_eq!(Browser::new(port).post(&link, &[("password", "elevenchars")]).status, 422);
        assert_eq!(Browser::new(port).post(&link, &[("password", &"x".repeat(257))]).status, 422);
        let tried: Vec<(String, u16, Value)> = thread::scope(|scope| {
            let tries = [0, 1, 2, 3].map(|number| {
                let link = &link;
                scope.spawn(move || {
                    let (mut browser, own) = (Browser::new(port), format!("{GOOD} {number}"));
                    let answer = browser.post(link, &[("password", &own)]);
                    if answer.status == 409 {
                        assert!(answer.body.contains("Somebody has used this invite already."), "{answer:?}");
                    }
                    (own, answer.status, browser.get("/api/v1/session").json())
                })
            });
            tries.into_iter().map(|tried| tried.join().unwrap()).collect()
        });
        let (won, lost): (Vec<_>, Vec<_>) = tried.into_iter().partition(|(_, status, _)| *status == 303);
        assert_eq!((won.len(), lost.len()), (1, 3), "{lost:?}");
        assert!(
            lost.iter().all(|(_, status, session)| *status == 409 && session["error"].is_object()),
            "{lost:?}"
        );
        assert_eq!((&won[0].2["principal"], &won[0].2["role"]), (&json!("dev:ada"), &json!("member")));
        let sign_in = |password: &str| {
            Browser::new(port).post("/signin", &[("handle", "ada"), ("password", password)]).status
        };
        assert_eq!((sign_in(&won[0].0), sign_in(&lost[0].0)), (303, 403), "the password is the winner's");
        let kinds = kinds(&home);
        assert_eq!(kinds.iter().filter(|kind| *kind == "PasswordSet").count(), 1, "{kinds:?}");
    }
}

#[test]
fn a_wrong_password_is_told_like_a_wrong_handle_and_five_close_the_door() {
    let home = unhurried();
    let daemon = home.up();
    let port = daemon.port();
    let mut ada = joined(&home, port, "ada");
    joined(&home, port, "mia");
    home.run(&["team", "invite", "eve"]).ok();
    let sign_in = |handle: &str, password: &str| {
        Browser::new(port).post("/signin", &[("handle", handle), ("password", password)])
    };
    // Who is right in between begins anew.
    for _ in 0..2 {
        for _ in 0..4 {
            assert_eq!(sign_in("ada", "not the password").status, 403);
        }
        assert_eq!(sign_in("@ada", GOOD).status, 303);
    }
    // There is a password and it is another, there is none, nobody has that handle, nobody can have it.
    let wrong = sign_in("ada", "not the password");
    assert!(wrong.told().contains("do not belong together"), "{wrong:?}");
    for handle in ["eve", "nobody", "local", "No Handle <b>"] {
        let answer = sign_in(handle, GOOD);
        assert_eq!((answer.status, answer.told()), (403, wrong.told()), "{handle}");
        assert!(!answer.body.contains("<b>") && answer.header("set-cookie").is_none(), "{answer:?}");
    }
    for _ in 0..4 {
        assert_eq!(sign_in("ada", "not the password").status, 403);
    }
    let locked = sign_in("ada", GOOD);
    assert_eq!(locked.status, 429, "{locked:?}");
    let seconds: u64 = locked.header("retry-after").unwrap().parse().unwrap();
    assert!((600..=900).contains(&seconds), "{seconds}");
    assert!(locked.header("set-cookie").is_none() && locked.body.contains("tried too often"), "{locked:?}");
    assert_eq!(sign_in("mia", GOOD).status, 303, "others sign in");
    assert_eq!(ada.get("/api/v1/session").status, 200, "and who is signed in stays so");
    let rows = home.run(&["audit", "recent", "-n", "1000", "--json"]).ok().stdout;
    assert!(rows.contains("\"SignInRefused\""), "{rows}");
    nothing_holds(&home, &rows, &[GOOD, "not the password", "No Handle"]);
    // Another link is there for whoever forgot it: what they tried before keeps them out no longer.
    let link = invite(&home, port, &["ada", "--again"]);
    assert_eq!(Browser::new(port).post(&link, &[("password", "another good password")]).status, 303);
    assert_eq!(sign_in("ada", GOOD).status, 403);
    assert_eq!(sign_in("ada", "another good password").status, 303);
}

#[test]
fn what_changes_something_needs_our_origin_and_the_word_of_the_session() {
    let home = unhurried();
    let daemon = home.up();
    let port = daemon.port();
    home.run(&["team", "init", "acme"]).ok();
    let mut ada = joined(&home, port, "ada");
    let session = ada.get("/api/v1/session").json();
    assert_eq!((&session["workspace"], &session["handle"]), (&json!("acme"), &json!("ada")));
    let word = session["csrf"].as_str().unwrap().to_owned();
    let ours = format!("Origin: http://127.0.0.1:{port}\r\n");
    let said = format!("X-Covenant-CSRF: {word}\r\n");
    let make =
        |browser: &mut Browser, headers: &str| browser.send("POST", "/api/v1/tokens", headers, "{}").status;
    assert_eq!(make(&mut ada, &format!("{ours}{said}")), 201, "she makes a token of her own");
    for (headers, why) in [
        (String::new(), "neither"),
        (ours.clone(), "no word"),
        (said.clone(), "no origin"),
        (format!("{ours}X-Covenant-CSRF: {}\r\n", "x".repeat(43)), "another word"),
        (format!("{ours}{said}{said}"), "twice"),
        (format!("Origin: http://evil.example.org\r\n{said}"), "another's page"),
        (format!("Origin: http://127.0.0.1:{}\r\n{said}", port ^ 1), "a page of another port"),
        (format!("Origin: http://localhost:{port}\r\n{said}"), "a page of another name of this machine"),
        (format!("Origin: null\r\n{said}"), "nobody's page"),
    ] {
        assert_eq!(make(&mut ada, &headers), 403, "{why}");
    }
    let mut mia = joined(&home, port, "mia");
    assert_eq!(make(&mut mia, &format!("{ours}{said}")), 403, "the word of another session");
    let tokens = home.run(&["tokens", "list", "--json"]).ok().json();
    assert_eq!(tokens.as_array().unwrap().len(), 1, "{tokens}");

    // Forms, too.
    let refused = |path: &str, body: &str, headers: &str| {
        let form = format!("Content-Type: application/x-www-form-urlencoded\r\n{headers}");
        let answer = Browser::new(port).send("POST", path, &form, body);
        assert!(answer.header("set-cookie").is_none());
        answer.status
    };
    let good = "handle=ada&password=correct+horse+battery";
    assert_eq!(refused("/signin", good, ""), 403);
    assert_eq!(refused("/signin", good, "Origin: https://evil.example.org\r\n"), 403);
    assert_eq!(refused("/signin", good, &format!("Origin: http://localhost:{port}\r\n")), 403);
    assert_eq!(refused("/signin", &format!("{good}&handle=mia"), &ours), 422);
    assert_eq!(refused("/signin", &"x".repeat(10_000), &ours), 413);
    let plain =
        Browser::new(port).send("POST", "/signin", &format!("{ours}Content-Type: text/plain\r\n"), good);
    assert_eq!(plain.status, 422);
    assert_eq!(ada.post("/signout", &[("csrf", "x")]).status, 403);
    assert_eq!(ada.get("/api/v1/session").status, 200);
}

#[test]
fn a_cookie_opens_what_its_person_may_and_never_mcp() {
    let home = unhurried();
    let daemon = home.up();
    let port = daemon.port();
    let mut mia = joined(&home, port, "mia");
    assert_eq!(mia.get("/api/v1/team/members").status, 200);
    assert_eq!(mia.get("/api/v1/capabilities").status, 403, "administration is the operator's");
    let word = mia.word();
    let ours = format!("Origin: http://127.0.0.1:{port}\r\nX-Covenant-CSRF: {word}\r\n");
    assert_eq!(mia.send("POST", "/api/v1/team/members", &ours, r#"{"handle":"spy"}"#).status, 403);
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let json = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";
    let mcp = mia.send("POST", "/mcp", &format!("{ours}{json}"), ping);
    assert_eq!(mcp.status, 401, "{mcp:?}");
    let call = r#"{"tool":"covibe_team","arguments":{"operation":"feedback"}}"#;
    assert_eq!(mia.send("POST", "/api/mcp", &format!("{ours}{json}"), call).status, 401);
    let shown = mia.send("GET", "/api/v1/session", "Authorization: Bearer cv_x\r\n", "");
    assert_eq!(shown.status, 401, "whoever shows a token is who that names");
}

#[test]
fn a_session_ends_by_signing_out_by_a_new_password_by_removal_and_in_time() {
    for home in homes() {
        let daemon = home.up();
        let port = daemon.port();
        let mut first = joined(&home, port, "ada");
        let mut second = Browser::new(port);
        assert_eq!(second.post("/signin", &[("handle", "ada"), ("password", GOOD)]).status, 303);
        let word = second.word();
        let out = second.post("/signout", &[("csrf", &word)]);
        assert_eq!(out.status, 303);
        assert!(out.header("set-cookie").unwrap().contains("Max-Age=0"), "{out:?}");
        let open = |browser: &mut Browser| browser.get("/api/v1/session").status == 200;
        assert!(!open(&mut second) && open(&mut first), "each has a session of its own");

        let link = invite(&home, port, &["ada", "--again"]);
        assert!(open(&mut first), "an invite alone ends nothing");
        assert_eq!(second.post(&link, &[("password", "another good one")]).status, 303);
        assert!(!open(&mut first) && open(&mut second));
        assert_eq!(first.post("/signin", &[("handle", "ada"), ("password", GOOD)]).status, 403);

        home.run(&["team", "remove", "ada"]).ok();
        assert!(!open(&mut second));
        let gone = first.post("/signin", &[("handle", "ada"), ("password", "another good one")]);
        assert_eq!(gone.status, 403);
        home.run(&["team", "invite", "ada"]).ok();
        assert!(!open(&mut second), "and coming back opens nothing");
        let kinds = kinds(&home);
        for kind in ["SignedIn", "SignedOut", "PasswordSet", "SignInRefused"] {
            assert!(kinds.iter().any(|it| it == kind), "{kind}: {kinds:?}");
        }
    }
}

#[test]
fn who_chooses_anew_how_they_sign_in_ends_their_own_tokens_and_not_those_of_their_agents() {
    for home in homes() {
        let daemon = home.up();
        let port = daemon.port();
        joined(&home, port, "ada");
        joined(&home, port, "mia");
        let token = |arguments: &[&str]| {
            let made = home.run(&[&["tokens", "create", "--json"], arguments].concat()).ok().json();
            made["token"].as_str().unwrap().to_owned()
        };
        let own = token(&["--for", "ada"]);
        let agents = token(&["--for", "ada", "--agent-type", "codex"]);
        let another = token(&["--for", "mia"]);
        let status = |token: &str| {
            let shown = format!("Authorization: Bearer {token}\r\n");
            Browser::new(port).send("GET", "/api/v1/session", &shown, "").status
        };
        let link = invite(&home, port, &["ada", "--again"]);
        assert_eq!(Browser::new(port).post(&link, &[("password", "short")]).status, 422);
        assert_eq!(status(&own), 200, "an invite that is not used ends nothing");
        assert_eq!(Browser::new(port).post(&link, &[("password", "another good one")]).status, 303);
        assert_eq!((status(&own), status(&agents), status(&another)), (401, 200, 200));
    }
}

#[test]
fn sessions_outlive_the_daemon_and_not_their_time() {
    let home = unhurried();
    home.write("config.toml", "[rate_limit]\nrate = 0\n[http]\nlisten = \"127.0.0.1:0\"\n");
    let daemon = home.up();
    let mut ada = joined(&home, daemon.port(), "ada");
    drop(daemon);
    let daemon = home.up();
    ada.moved(daemon.port());
    assert_eq!(ada.get("/api/v1/session").status, 200);
    let file = home.path().join("covenant.db");
    let week = 7 * 86_400_000 + 1000;
    sqlite::execute(&file, &format!("UPDATE web_sessions SET used_at = used_at - {week}"));
    assert_eq!(ada.get("/api/v1/session").status, 401, "nobody used it for a week");
    sqlite::execute(&file, &format!("UPDATE web_sessions SET used_at = used_at + {week}"));
    assert_eq!(ada.get("/api/v1/session").status, 200);
    sqlite::execute(&file, "UPDATE web_sessions SET expires_at = 1000");
    assert_eq!(ada.get("/api/v1/session").status, 401);
}

#[test]
fn behind_a_proxy_the_cookie_is_for_encrypted_connections_and_links_have_the_public_name() {
    let home = home();
    let proxied = "[rate_limit]\nrate = 0\n[http]\nbehind_proxy = true\npublic_url = \"https://covenant.example.org\"\n";
    home.write("config.toml", proxied);
    let daemon = home.up();
    let invited = home.run(&["team", "invite", "ada", "--json"]).ok().json();
    let link = invited["link"].as_str().unwrap().strip_prefix("https://covenant.example.org").unwrap();
    let mut ada = Browser::new(daemon.port()).at("https://covenant.example.org");
    let done = ada.post(link, &[("password", GOOD)]);
    assert_eq!(done.status, 303, "{done:?}");
    let cookie = done.header("set-cookie").unwrap();
    assert!(cookie.starts_with(&format!("__Host-covenant_{}=cv_", daemon.port())), "{cookie}");
    assert!(cookie.ends_with("; Secure") && !cookie.contains("Domain"), "{cookie}");
    assert_eq!(ada.get("/api/v1/session").status, 200);
    let mut local = Browser::new(daemon.port());
    let foreign = local.post("/signin", &[("handle", "ada"), ("password", GOOD)]);
    assert_eq!(foreign.status, 403, "no page of localhost is ours there");
}

#[test]
fn the_pages_do_nothing_but_what_their_forms_say() {
    let home = unhurried();
    let daemon = home.up();
    let mut browser = Browser::new(daemon.port());
    let link = invite(&home, daemon.port(), &["ada"]);
    let code = dashboard(&home, daemon.port());
    for path in ["/signin", &link, &format!("/signin?code={code}"), "/invite/x"] {
        let page = browser.get(path);
        let policy = page.header("content-security-policy").unwrap();
        for part in
            ["default-src 'none'", "form-action 'self'", "frame-ancestors 'none'", "style-src 'sha256-"]
        {
            assert!(policy.contains(part), "{policy}");
        }
        assert_eq!(page.header("cache-control"), Some("no-store"));
        assert_eq!(page.header("referrer-policy"), Some("same-origin"), "forms need their origin");
        for forbidden in ["<script", "src=", "http://", "https://", " on", "style=\""] {
            let tags = page.body.split('<').filter_map(|part| part.split('>').next());
            assert!(
                !tags.map(|tag| format!("<{tag}")).any(|tag| tag.contains(forbidden)),
                "{path} {forbidden}"
            );
        }
        let fields = page.body.matches("<input id=").count();
        assert_eq!(page.body.matches("<label for=").count(), fields, "{path}: every field has a label");
    }
}
