//! Signing in by a provider of identities: bound by an invite, known from then on; and every way in which that must not work.

use std::thread;

use covenant_testkit::service::Answer;
use covenant_testkit::service::oidc::{Manner, SECRET, Signing};
use serde_json::{Value, json};

use super::browser::Browser;
use super::provider::Stage;
use super::{GOOD, homes, kinds, nothing_holds};
use crate::{home, unhurried};

fn who(browser: &mut Browser) -> Value {
    browser.get("/api/v1/session").json()["principal"].clone()
}

#[test]
fn who_was_invited_is_bound_to_an_identity_once_and_signs_in_by_it() {
    for home in homes() {
        let stage = Stage::set(&home);
        let port = stage.daemon.port();
        let link = stage.invite(&["ada"]);
        let mut ada = stage.browser();
        let host = stage.service.url("").replace("http://", "");
        assert!(ada.get(&link).body.contains(&format!("Continue with {host}")));
        let back = stage.to_provider(&mut ada, &link, "subject of ada");
        let arrived = ada.get(&back);
        assert_eq!(arrived.status, 200, "{arrived:?}");
        assert!(arrived.body.contains("content=\"0; url=/signin\""), "{arrived:?}");
        let cookies: Vec<&str> = arrived.headers("set-cookie").collect();
        let flow = format!("covenant_{port}_oidc=; Path=/auth/oidc; HttpOnly; SameSite=Lax; Max-Age=0");
        assert!(cookies.contains(&flow.as_str()) && arrived.signs_in(), "{cookies:?}");
        assert_eq!(who(&mut ada), "dev:ada");
        assert_eq!(stage.browser().get(&link).status, 409, "the invite was used");

        let word = ada.word();
        ada.post("/signout", &[("csrf", &word)]);
        assert!(ada.get("/signin").body.contains("href=\"/auth/oidc\""));
        assert_eq!(stage.signs_in(&mut ada, "subject of ada").status, 200);
        assert_eq!(who(&mut ada), "dev:ada");
        let password = stage.browser().post("/signin", &[("handle", "ada"), ("password", GOOD)]);
        assert_eq!(password.status, 403, "there is no other way in");

        // With the other kind of signature, and with a new key, at once.
        stage.behaves(Manner { signing: Signing::Rs256, ..Manner::default() });
        assert_eq!(stage.signs_in(&mut stage.browser(), "subject of ada").status, 200);
        stage.behaves(Manner { rotations: 1, ..Manner::default() });
        assert_eq!(stage.signs_in(&mut stage.browser(), "subject of ada").status, 200);

        stage.home.run(&["team", "remove", "ada"]).ok();
        assert_eq!(stage.signs_in(&mut stage.browser(), "subject of ada").status, 403);
        let kinds = kinds(stage.home);
        assert_eq!(kinds.iter().filter(|kind| *kind == "IdentityLinked").count(), 1, "{kinds:?}");
        let rows = stage.home.run(&["audit", "recent", "-n", "1000", "--json"]).ok().stdout;
        assert!(rows.contains("by a provider of identities") && rows.contains("\"SignInRefused\""), "{rows}");
        nothing_holds(stage.home, &rows, &[SECRET, "an access token"]);
    }
}

#[test]
fn a_stranger_is_told_of_invites_and_an_e_mail_address_binds_nobody() {
    let home = unhurried();
    let stage = Stage::set(&home);
    stage.bound("ada", "subject of ada");
    let mut stranger = stage.browser();
    // It has the same e-mail address, which the provider calls verified.
    let refused = stage.signs_in(&mut stranger, "subject of eve");
    assert_eq!((refused.status, refused.signs_in()), (403, false), "{refused:?}");
    assert!(refused.body.contains("You need an invite"), "{refused:?}");
    assert_eq!(stranger.get("/api/v1/session").status, 401);
}

#[test]
fn the_identity_of_another_changes_nothing_and_leaves_the_invite_good() {
    let home = unhurried();
    let stage = Stage::set(&home);
    let mut ada = stage.bound("ada", "subject of ada");
    let link = stage.invite(&["mia"]);
    let mut mia = stage.browser();
    let back = stage.to_provider(&mut mia, &link, "subject of ada");
    let refused = mia.get(&back);
    assert_eq!((refused.status, refused.signs_in()), (409, false), "{refused:?}");
    assert!(refused.told().contains("belongs to somebody else here"), "{refused:?}");
    assert_eq!((mia.get("/api/v1/session").status, who(&mut ada)), (401, json!("dev:ada")));
    assert_eq!(mia.post(&link, &[("password", GOOD)]).status, 303, "the invite is good still");
    assert_eq!(who(&mut mia), "dev:mia");

    // While one is at the provider's, another may use the invite up.
    let link = stage.invite(&["mia", "--again"]);
    let back = stage.to_provider(&mut mia, &link, "subject of mia");
    assert_eq!(stage.browser().post(&link, &[("password", GOOD)]).status, 303);
    assert_eq!(mia.get(&back).status, 409);
    assert_eq!(stage.signs_in(&mut stage.browser(), "subject of mia").status, 403);
    // No page of another site begins a sign-in with an invite.
    let code = stage.invite(&["mia", "--again"]).rsplit('/').next().unwrap().to_owned();
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    for origin in ["", "Origin: https://evil.example.org\r\n"] {
        let sent = mia.send("POST", "/auth/oidc", &format!("{form}{origin}"), &format!("invite={code}"));
        assert_eq!(sent.status, 403, "{origin}");
    }
    assert_eq!(mia.post("/auth/oidc", &[("invite", "nothing")]).status, 404);
}

#[test]
fn what_a_provider_says_is_believed_whole_or_not_at_all() {
    let home = unhurried();
    let stage = Stage::set(&home);
    stage.bound("ada", "subject of ada");
    let claims = |claims: Value| Manner { claims, ..Manner::default() };
    let signed = |signing| Manner { signing, ..Manner::default() };
    let table = [
        (claims(json!({"nonce": "another"})), "another sign-in"),
        (claims(json!({"nonce": null})), "another sign-in"),
        (claims(json!({"aud": "another"})), "meant for another"),
        (claims(json!({"aud": ["covenant", "another"]})), "meant for another"),
        (claims(json!({"azp": "another"})), "meant for another"),
        (claims(json!({"iss": "https://id.example.org"})), "issued by another"),
        (claims(json!({"exp": 1_000_000})), "has expired"),
        (claims(json!({"iat": 99_999_999_999_u64})), "of a time to come"),
        (claims(json!({"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"})), "do not belong together"),
        (claims(json!({"sub": null})), "cannot be read"),
        (claims(json!({"sub": ""})), "does not name anybody"),
        (signed(Signing::None), "neither with RS256 nor with ES256"),
        (signed(Signing::Hs256), "neither with RS256 nor with ES256"),
        (signed(Signing::Hidden), "a key that it does not show"),
        (signed(Signing::Forged), "not of its key"),
    ];
    for (manner, why) in table {
        let unknown = manner.signing == Signing::Hidden;
        stage.behaves(manner);
        stage.service.heard();
        let mut browser = stage.browser();
        let refused = stage.signs_in(&mut browser, "subject of ada");
        assert_eq!((refused.status, refused.signs_in()), (403, false), "{why}: {refused:?}");
        assert!(refused.told().contains(why), "{why}: {refused:?}");
        assert_eq!(browser.get("/api/v1/session").status, 401);
        let asked = stage.service.heard().iter().filter(|request| request.path == "/keys").count();
        assert_eq!(
            asked,
            usize::from(unknown),
            "{why}: its keys are known, and asked for once more where one is not"
        );
    }
    stage.behaves(Manner::default());
    assert_eq!(stage.signs_in(&mut stage.browser(), "subject of ada").status, 200);
    assert!(kinds(stage.home).iter().any(|kind| kind == "SignInRefused"));
}

#[test]
fn who_comes_back_is_who_went_once_in_the_same_browser() {
    let home = unhurried();
    let stage = Stage::set(&home);
    stage.bound("ada", "subject of ada");
    let refused = |browser: &mut Browser, path: &str, status: u16, why: &str| {
        let answer = browser.get(path);
        assert_eq!((answer.status, answer.signs_in()), (status, false), "{path} {answer:?}");
        assert!(answer.told().contains(why), "{path} {answer:?}");
        assert_eq!(browser.get("/api/v1/session").status, 401, "{path}");
    };
    let stray = "no such sign-in under way";

    let mut ada = stage.browser();
    let good = stage.to_provider_again(&mut ada, "subject of ada");
    let (code, first) = good.split_once("&state=").unwrap();
    refused(&mut stage.browser(), &good, 400, stray);
    let mut other = stage.browser();
    stage.to_provider_again(&mut other, "subject of eve");
    refused(&mut other, &good, 400, stray);
    // What another browser saw of it is of no use either: its way there ends with its first use.
    let mut thief = stage.browser();
    thief.robs(&ada);
    assert_eq!(ada.get(&good).status, 200);
    refused(&mut thief, &good, 400, stray);

    for (path, status, why) in [
        (format!("{code}&state=AAAA"), 400, stray),
        (code.to_owned(), 400, stray),
        ("/auth/oidc/callback".to_owned(), 400, stray),
        (format!("{code}&state=a&state=b"), 400, stray),
        ("/auth/oidc/callback?error=access_denied&state=STATE".to_owned(), 403, "access_denied"),
        ("/auth/oidc/callback?error=%3Cb%3E&state=STATE".to_owned(), 403, "an error without a name"),
        ("/auth/oidc/callback?error=access_denied".to_owned(), 400, stray),
        ("/auth/oidc/callback?state=STATE".to_owned(), 400, stray),
        (format!("/auth/oidc/callback?state=STATE&code={}", "x".repeat(5000)), 400, stray),
        (format!("{code}&state=STATE&iss=https%3A%2F%2Fevil.example.org"), 400, stray),
        // The code was used: with a sign-in of its own that is under way, too.
        (format!("{code}&state=STATE"), 403, "invalid_grant"),
        ("/auth/oidc/callback?code=made-up&state=STATE".to_owned(), 403, "invalid_grant"),
    ] {
        let mut browser = stage.browser();
        let own = stage.to_provider_again(&mut browser, "subject of ada");
        let (_, own) = own.split_once("&state=").unwrap();
        assert_ne!(own, first, "each has a state of its own");
        refused(&mut browser, &path.replace("STATE", own), status, why);
    }
    // A code of somebody else is bound to how they asked for it.
    let theirs = stage.to_provider_again(&mut stage.browser(), "subject of ada");
    let (theirs, _) = theirs.split_once("&state=").unwrap();
    let mut browser = stage.browser();
    let own = stage.to_provider_again(&mut browser, "subject of eve");
    let (_, own) = own.split_once("&state=").unwrap();
    refused(&mut browser, &format!("{theirs}&state={own}"), 403, "invalid_grant");
}

#[test]
fn a_provider_that_is_away_or_no_provider_harms_nobody() {
    let home = unhurried();
    let stage = Stage::set(&home);
    let mut browser = stage.browser();
    let huge = "x".repeat(50 * 1024 * 1024);
    let description = json!({"issuer": "https://another.example.org", "authorization_endpoint": "https://a.example.org/",
        "token_endpoint": "https://a.example.org/", "jwks_uri": "https://a.example.org/"});
    let table = [
        (Answer::html(200, "<html>hello</html>"), "it is not JSON"),
        (Answer::text(200, "application/json", &huge), "it has more than 262144 bytes"),
        (Answer::text(200, "application/json", &"[".repeat(100_000)), "nested more than 96 levels"),
        (Answer::json(200, json!({"issuer": 1})), "does not fit"),
        (Answer::json(200, description), "letter by letter"),
        (Answer::json(500, json!({})), "the status 500"),
        (
            Answer::empty(302).with("Location", &stage.service.url("/.well-known/openid-configuration")),
            "the status 302",
        ),
        (Answer::hang_up(), "could not be reached"),
        (Answer::never(), "did not answer within 10 seconds"),
    ];
    for (answer, why) in table {
        stage.service.will(answer);
        let refused = browser.get("/auth/oidc");
        assert_eq!((refused.status, refused.header("set-cookie")), (502, None), "{why}: {refused:?}");
        assert!(refused.told().contains(why), "{why}: {refused:?}");
    }

    // What is bad when somebody comes back signs nobody in, and leaves the invite good.
    let link = stage.invite(&["ada"]);
    for (answer, status, why) in [
        (Answer::html(200, "<html>hello</html>"), 502, "it is not JSON"),
        (Answer::text(200, "application/json", &huge), 502, "it has more than 262144 bytes"),
        (Answer::json(401, json!({"error": "invalid_client"})), 403, "invalid_client"),
        (Answer::json(503, json!({})), 502, "the status 503"),
        (Answer::json(200, json!({"access_token": "x"})), 502, "missing field `id_token`"),
        (Answer::json(200, json!({"id_token": "x"})), 403, "cannot be read"),
        (Answer::hang_up(), 502, "could not be reached"),
    ] {
        let back = stage.to_provider(&mut browser, &link, "subject of ada");
        stage.service.will(answer);
        let refused = browser.get(&back);
        assert_eq!((refused.status, refused.signs_in()), (status, false), "{why}: {refused:?}");
        assert!(refused.told().contains(why), "{why}: {refused:?}");
    }
    let back = stage.to_provider(&mut browser, &link, "subject of ada");
    assert_eq!(browser.get(&back).status, 200, "the invite is good still");
    let Stage { service, .. } = &stage;
    assert!(
        service.heard().iter().all(|request| !request.whole().contains(link.rsplit('/').next().unwrap()))
    );
}

#[test]
fn people_come_back_to_the_public_name_and_a_reload_changes_the_provider() {
    let home = home();
    let proxied = "[http]\nbehind_proxy = true\npublic_url = \"https://covenant.example.org\"\n";
    home.write("config.toml", proxied);
    let stage = Stage::set(&home);
    let mut browser = stage.browser().at("https://covenant.example.org");
    let sent = browser.get("/auth/oidc");
    let place = sent.header("location").unwrap();
    let back = "redirect_uri=https%3A%2F%2Fcovenant.example.org%2Fauth%2Foidc%2Fcallback&";
    assert!(place.contains(back) && place.contains("code_challenge_method=S256"), "{place}");
    assert!(sent.header("set-cookie").unwrap().ends_with("; SameSite=Lax; Max-Age=600; Secure"), "{sent:?}");
    assert!(!place.contains(SECRET) && !place.contains("client_secret"), "{place}");

    home.write("config.toml", proxied);
    let reloaded = home.run(&["reload", "--json"]).ok().json();
    assert_eq!(reloaded["applied"], json!(["oidc"]), "{reloaded}");
    assert_eq!(browser.get("/auth/oidc").status, 404);
}

#[test]
fn what_is_wrong_with_the_section_is_said_before_anybody_signs_in() {
    let home = home();
    let section = |issuer: &str| {
        format!(
            "[oidc]\nissuer = \"{issuer}\"\nclient_id = \"c\"\nclient_secret = \"${{secret:OIDC}}\"\nscope = \"x\"\n"
        )
    };
    home.write("config.toml", &section("http://id.example.org"));
    let refused = home.run(&["up"]).exits(2);
    assert!(
        refused.stderr.contains("oidc.issuer") && refused.stderr.contains("write https://"),
        "{refused:?}"
    );
    home.write("config.toml", &section("https://id.example.org"));
    let told = home.run(&["doctor", "--json"]).stdout;
    for part in [
        "nobody can sign in by id.example.org",
        "covenant secrets set OIDC",
        "`oidc.scope` is not a known key",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let daemon = home.up();
    let mut browser = Browser::new(daemon.port());
    let refused = browser.get("/auth/oidc");
    assert_eq!(refused.status, 503, "{refused:?}");
    assert!(refused.told().contains("covenant doctor") && !refused.body.contains("OIDC"), "{refused:?}");
    let shown = home.run(&["config", "show"]).ok().stdout;
    assert!(shown.contains("${secret:OIDC}") && shown.contains("https://id.example.org"), "{shown}");
    drop(daemon);
    home.write("config.toml", "");
    let daemon = home.up();
    let mut browser = Browser::new(daemon.port());
    assert_eq!(browser.get("/auth/oidc").status, 404);
    assert!(!browser.get("/signin").body.contains("Continue with"));
}

#[test]
fn whoever_comes_back_with_made_up_codes_keeps_nobody_out() {
    let home = unhurried();
    let stage = Stage::set(&home);
    let mut ada = stage.bound("ada", "subject of ada");
    let made_up = || {
        let mut browser = stage.browser();
        let sent = browser.get("/auth/oidc");
        let (_, rest) = sent.header("location").unwrap().split_once("&state=").unwrap();
        let shown = rest.split('&').next().unwrap().to_owned();
        browser.get(&format!("/auth/oidc/callback?code=made-up&state={shown}"))
    };
    // Each that failed keeps its place at the provider's for a second, and no longer.
    thread::scope(|scope| {
        let strangers: Vec<_> =
            (0..8).map(|_| scope.spawn(|| (0..3).map(|_| made_up().status).collect())).collect();
        let answer = stage.signs_in(&mut ada, "subject of ada");
        assert_eq!(answer.status, 200, "she waits for her turn, and has it: {answer:?}");
        for stranger in strangers {
            let statuses: Vec<u16> = stranger.join().unwrap();
            assert_eq!(statuses, [403, 403, 403]);
        }
    });
    assert_eq!(stage.signs_in(&mut stage.browser(), "subject of ada").status, 200);
}
