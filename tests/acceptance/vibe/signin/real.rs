//! A real browser, with a device for passkeys in it: the three ways in, from the invite to signing in again.

use std::sync::{Mutex, PoisonError};

use covenant_testkit::Chromium;
use covenant_testkit::service::oidc::{CLIENT, Provider, SECRET};
use covenant_testkit::{Home, Service};

use super::{GOOD, invite, kinds};
use crate::unhurried;

/// One at a time: each is as large as all the rest.
static TURN: Mutex<()> = Mutex::new(());

/// Runs that in a browser, if there is one.
fn in_a_browser(test: impl FnOnce(&Chromium)) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(chromium) = Chromium::start().unwrap() {
        test(&chromium);
    }
}

/// Opens a new invite at that host.
fn open_invite(chromium: &Chromium, home: &Home, host: &str, port: u16, handle: &str) {
    let link = invite(home, port, &[handle]);
    chromium.open(&format!("http://{host}:{port}{link}"));
    chromium.sees(&format!("You were invited as {handle}"));
}

fn sign_out(chromium: &Chromium) {
    chromium.press("Sign out");
    chromium.sees("The operator of this home signs in with");
}

#[test]
fn in_a_browser_an_invite_becomes_a_passkey_and_the_passkey_signs_in() {
    in_a_browser(|chromium| {
        let home = unhurried();
        let daemon = home.up();
        chromium.plug_in();
        open_invite(chromium, &home, "localhost", daemon.port(), "ada");
        chromium.press("Use a passkey instead");
        chromium.sees("You are signed in as dev:ada.");
        chromium.sees("never used");
        sign_out(chromium);
        chromium.press("Sign in with a passkey");
        chromium.sees("You are signed in as dev:ada.");
        chromium.sees("last used");
        chromium.press("Remove this passkey");
        chromium.sees("your only way to sign in");
        chromium.press("Back");
        // The device has one for this person already, and says so.
        chromium.press("Add a passkey");
        until_told(chromium);
        let kinds = kinds(&home);
        assert!(kinds.iter().any(|kind| kind == "PasskeyAdded"), "{kinds:?}");
    });
}

/// Waits until the script has said that something did not work.
fn until_told(chromium: &Chromium) {
    covenant_testkit::wait::until("an alert", || {
        (chromium.run("return document.querySelectorAll('form [role=alert]').length") == 1).then_some(())
    });
}

#[test]
fn in_a_browser_an_invite_becomes_a_password_and_the_password_signs_in() {
    in_a_browser(|chromium| {
        let home = unhurried();
        let daemon = home.up();
        open_invite(chromium, &home, "127.0.0.1", daemon.port(), "ada");
        chromium.fill("#password", GOOD);
        chromium.press("Set the password");
        chromium.sees("You are signed in as dev:ada.");
        sign_out(chromium);
        chromium.fill("#handle", "ada");
        chromium.fill("#password", "not the password");
        chromium.click("form[action='/signin'] button");
        chromium.sees("do not belong together");
        chromium.fill("#password", GOOD);
        chromium.click("form[action='/signin'] button");
        chromium.sees("You are signed in as dev:ada.");
    });
}

#[test]
fn in_a_browser_an_invite_becomes_an_identity_and_the_provider_signs_in() {
    in_a_browser(|chromium| {
        let service = Service::start(Provider::new().0);
        // Another site than ours, as a provider is: cookies that are for our own pages alone do not come along from there.
        let issuer = service.url("").replace("127.0.0.1", "localhost");
        let home = unhurried();
        home.write(
            "config.toml",
            &format!("[rate_limit]\nrate = 0\n[oidc]\nissuer = \"{issuer}\"\nclient_id = \"{CLIENT}\"\nclient_secret = \"{SECRET}\"\n"),
        );
        let daemon = home.up();
        open_invite(chromium, &home, "127.0.0.1", daemon.port(), "ada");
        chromium.press("Continue with localhost");
        chromium.fill("#subject", "subject-of-ada");
        chromium.click("#go");
        chromium.sees("You are signed in as dev:ada.");
        sign_out(chromium);
        chromium.press("Continue with localhost");
        chromium.fill("#subject", "subject-of-ada");
        chromium.click("#go");
        chromium.sees("You are signed in as dev:ada.");
        sign_out(chromium);
        chromium.press("Continue with localhost");
        chromium.fill("#subject", "subject-of-eve");
        chromium.click("#go");
        chromium.sees("You need an invite");
        assert!(chromium.url().contains("/auth/oidc/callback"), "{}", chromium.url());
    });
}
