//! Scenarios written by hand: two pieces of work, and what the second should hear of the first.

use super::*;
use crate::work::{Action, Brief};

/// What a check should say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Expected {
    /// Nothing, or a weak match: they have little to do with each other.
    Free,
    /// A match that is told and blocks nothing.
    Warn,
    /// A match that somebody has to decide about.
    Escalate,
}
use Expected::{Escalate, Free, Warn};

/// What a scenario is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The same work: must be told, always.
    Duplicate,
    /// The same work in other words: must be told, always.
    Paraphrase,
    /// One template, another thing.
    Trap,
    /// The opposite.
    Opposed,
    /// The same elsewhere.
    Component,
    /// Titles that say nothing.
    Vague,
    /// Other work in the same field.
    Other,
}
use Kind::{Component, Duplicate, Opposed, Other, Paraphrase, Trap, Vague};

type Side = (&'static str, &'static str);

/// Title and description of what is there, of what is checked, and what should come of it.
const TEXTS: &[(Kind, Expected, Side, Side)] = &[
    (
        Duplicate,
        Escalate,
        ("Add retry with exponential backoff to the HTTP client", ""),
        ("add retry with exponential backoff to the http client", ""),
    ),
    (Duplicate, Escalate, ("Add retry to HTTP client", ""), ("Add retries to the HTTP client", "")),
    (
        Duplicate,
        Escalate,
        ("Fix login redirect loop on Safari", ""),
        ("Login redirect loop on Safari: fix", ""),
    ),
    (
        Duplicate,
        Escalate,
        ("Migrate the session store to Redis", "Sessions are kept in memory and lost at every deploy."),
        ("Migrate session store to Redis", ""),
    ),
    (
        Duplicate,
        Escalate,
        ("Paginate GET /api/orders", "The list of orders is unbounded."),
        ("Add pagination to GET /api/orders", ""),
    ),
    (Duplicate, Escalate, ("TestCheckoutTotals is flaky on CI", ""), ("Flaky test: TestCheckoutTotals", "")),
    (
        Duplicate,
        Escalate,
        ("Panic in parse_header on empty input", "index out of bounds in parse_header"),
        ("parse_header panics when the input is empty", ""),
    ),
    (Duplicate, Escalate, ("Upgrade serde_json to 1.0.150", ""), ("Bump serde_json to 1.0.150", "")),
    (
        Duplicate,
        Escalate,
        ("Document the webhook signature scheme", ""),
        ("Docs: webhook signature scheme", ""),
    ),
    (
        Duplicate,
        Escalate,
        ("Remove the deprecated v1 invoice endpoints", ""),
        ("Delete deprecated v1 invoice endpoints", ""),
    ),
    (
        Duplicate,
        Escalate,
        ("Rate limit the password reset endpoint", ""),
        ("Rate-limit password reset endpoint", ""),
    ),
    (Duplicate, Escalate, ("Dark theme for the settings page", ""), ("Settings page: dark theme", "")),
    (Duplicate, Escalate, ("修复登录页面的崩溃", ""), ("修复登录页面崩溃", "")),
    (
        Duplicate,
        Escalate,
        ("CSV export drops the last row", ""),
        ("Last row is dropped by the CSV export", ""),
    ),
    (
        Duplicate,
        Escalate,
        ("Cache compiled templates in the renderer", ""),
        ("Cache the compiled templates of the renderer", ""),
    ),
    (
        Duplicate,
        Escalate,
        ("Memory leak in WebSocketHub after disconnect", ""),
        ("WebSocketHub leaks memory when clients disconnect", ""),
    ),
    (
        Duplicate,
        Escalate,
        ("Add OpenTelemetry tracing to the order worker", ""),
        ("Order worker: add OpenTelemetry tracing", "Spans for each job."),
    ),
    (
        Duplicate,
        Escalate,
        ("Tests for the discount calculator", ""),
        ("Write tests for the discount calculator", ""),
    ),
    (
        Paraphrase,
        Warn,
        ("Users are logged out after five minutes", "The session token expires too early."),
        ("Session token expires too early", "People have to sign in again and again."),
    ),
    (
        Paraphrase,
        Warn,
        ("Speed up the product search", "Searching products takes seconds."),
        ("Product search is slow", "Add an index on the products table."),
    ),
    (Paraphrase, Warn, ("Sign-in with GitHub", "OAuth with GitHub accounts."), ("GitHub OAuth login", "")),
    (
        Paraphrase,
        Warn,
        ("Emails are sent twice", "The mail worker picks up a job again after a restart."),
        ("Mail worker sends duplicates after restart", ""),
    ),
    (
        Paraphrase,
        Warn,
        ("Container image is 2 GB", "Use a slim base image and a multi-stage Dockerfile."),
        ("Shrink the Docker image with a multi-stage build", ""),
    ),
    (
        Paraphrase,
        Warn,
        ("Handle SIGTERM in the worker", "Jobs are cut off at deploy."),
        ("Graceful shutdown of the worker", "On SIGTERM finish the job, then exit."),
    ),
    (
        Paraphrase,
        Warn,
        ("Validate e-mail addresses at signup", ""),
        ("Registration accepts invalid email addresses", ""),
    ),
    (
        Paraphrase,
        Warn,
        ("Nightly backup of the database", "pg_dump into the bucket, with retention."),
        ("Schedule pg_dump and upload to the bucket", ""),
    ),
    (
        Paraphrase,
        Warn,
        ("Keyboard navigation in the date picker", ""),
        ("Date picker cannot be used with the keyboard", ""),
    ),
    (
        Paraphrase,
        Warn,
        ("Timezone bug in the weekly report", "Weeks begin on Sunday for users west of UTC."),
        ("Weekly report shows the wrong week for US timezones", ""),
    ),
    (
        Paraphrase,
        Warn,
        ("Deadlock between import and reindex", "Both take locks on documents in another order."),
        ("Import hangs while reindex runs", "Lock order of documents."),
    ),
    (
        Paraphrase,
        Warn,
        ("Let admins impersonate a customer", ""),
        ("Admin impersonation of customers for support", ""),
    ),
    (
        Paraphrase,
        Warn,
        ("Pull request previews", "A preview environment for each pull request."),
        ("Deploy every pull request to a preview environment", ""),
    ),
    (
        Paraphrase,
        Warn,
        ("Secrets appear in the request log", "The Authorization header is logged."),
        ("Redact Authorization header in request logging", ""),
    ),
    (Trap, Warn, ("Upgrade kafka to 3.4.0", ""), ("Upgrade kafka to 2.8.2", "")),
    (
        Trap,
        Warn,
        ("Pre-existing test failure: TestParseDates", ""),
        ("Pre-existing test failure: TestRenderTables", ""),
    ),
    (
        Trap,
        Warn,
        ("Backport ABC-1201 to the release branch", ""),
        ("Backport ABC-1307 to the release branch", ""),
    ),
    (
        Trap,
        Warn,
        ("Add unit tests for src/billing/tax.rs", ""),
        ("Add unit tests for src/billing/refund.rs", ""),
    ),
    (
        Trap,
        Warn,
        ("Port UserController to the new router", ""),
        ("Port OrderController to the new router", ""),
    ),
    (Trap, Warn, ("Document the option `--watch`", ""), ("Document the option `--quiet`", "")),
    (Trap, Warn, ("Release notes for 2.4.0", ""), ("Release notes for 2.5.0", "")),
    (
        Trap,
        Warn,
        ("Migrate table user_profiles to UUID keys", ""),
        ("Migrate table order_items to UUID keys", ""),
    ),
    (
        Trap,
        Warn,
        ("Translate the onboarding mails to French", ""),
        ("Translate the onboarding mails to German", ""),
    ),
    (Trap, Warn, ("Run CI on Ubuntu 22.04", ""), ("Run CI on Ubuntu 24.04", "")),
    (Trap, Warn, ("Batch 3 of the address import", ""), ("Batch 4 of the address import", "")),
    (Trap, Warn, ("Fix CVE-2024-1111 in libxml", ""), ("Fix CVE-2024-2222 in libxml", "")),
    (Trap, Free, ("Flaky test: checkout_total_is_rounded", ""), ("Flaky test: login_is_remembered", "")),
    (
        Trap,
        Warn,
        ("Replace moment by date-fns in the calendar view", ""),
        ("Replace moment by date-fns in the invoice view", ""),
    ),
    (Trap, Warn, ("Agent 3 batch 12 issue 4", ""), ("Agent 3 batch 11 issue 4", "")),
    (Trap, Warn, ("Add metrics to the payment service", ""), ("Add metrics to the shipping service", "")),
    (
        Opposed,
        Warn,
        ("Enable the response cache for the catalogue", ""),
        ("Disable the response cache for the catalogue", ""),
    ),
    (Opposed, Warn, ("Add the legacy import button", ""), ("Remove the legacy import button", "")),
    (Opposed, Warn, ("Implement CSV import for contacts", ""), ("Implement CSV export for contacts", "")),
    (
        Opposed,
        Warn,
        ("Increase the upload limit for attachments", ""),
        ("Decrease the upload limit for attachments", ""),
    ),
    (Opposed, Warn, ("Encrypt the audit archive", ""), ("Decrypt the audit archive", "")),
    (Opposed, Warn, ("Validate quotas on the server", ""), ("Validate quotas on the client", "")),
    (
        Opposed,
        Warn,
        ("Show deleted comments to moderators", ""),
        ("Hide deleted comments from moderators", ""),
    ),
    (Vague, Warn, ("Fix bug", ""), ("Fix bug", "")),
    (Vague, Warn, ("Update docs", ""), ("Update the docs", "")),
    (Vague, Warn, ("Fix tests", ""), ("Fix failing tests", "")),
    (Vague, Warn, ("Refactor code", ""), ("Code refactoring", "")),
    (Vague, Warn, ("Cleanup", ""), ("Clean up", "")),
    (Vague, Warn, ("WIP", "Nothing yet."), ("wip", "Trying something in the parser.")),
    (
        Other,
        Free,
        ("Add retry with backoff to the HTTP client", ""),
        ("Translate the invoice page to Spanish", ""),
    ),
    (Other, Free, ("Fix login redirect loop on Safari", ""), ("Fix rounding of VAT in the cart", "")),
    (Other, Free, ("Migrate the session store to Redis", ""), ("Draw the new logo", "")),
    (Other, Free, ("Paginate GET /api/orders", ""), ("Warn about expiring certificates", "")),
    (Other, Free, ("Order worker: add tracing", ""), ("Let people change the order of columns", "")),
    (Other, Free, ("Dark theme for the settings page", ""), ("Nightly backup of the database", "")),
    (Other, Free, ("🚀", ""), ("🐛", "")),
    (Other, Warn, ("Add pagination to the order list", ""), ("Sort the order list by date", "")),
    (
        Other,
        Warn,
        ("Retry failed webhooks", "Deliver again with backoff."),
        ("Show failed webhooks in the admin pages", ""),
    ),
];

/// Work of which something is declared: action and component of each.
type Declared =
    (Kind, Expected, (Option<Action>, Option<&'static str>), (Option<Action>, Option<&'static str>));
const DECLARED: &[Declared] = &[
    (Duplicate, Escalate, (Some(Action::Fix), Some("server")), (Some(Action::Modify), Some("Server"))),
    (Duplicate, Escalate, (Some(Action::Create), None), (None, Some("client"))),
    (Opposed, Warn, (Some(Action::Create), None), (Some(Action::Remove), None)),
    (Opposed, Warn, (Some(Action::Fix), Some("server")), (Some(Action::Remove), Some("server"))),
    (Opposed, Warn, (Some(Action::Audit), None), (Some(Action::Create), None)),
    (Component, Warn, (None, Some("server")), (None, Some("client"))),
    (Component, Warn, (Some(Action::Create), Some("db")), (Some(Action::Create), Some("ui"))),
];

/// What else a small team has open.
const TEAM: [&str; 10] = [
    "Set up the staging environment",
    "Choose fonts for the landing page",
    "Measure how long the import takes",
    "Interview three customers about reports",
    "Write the privacy notice",
    "Renew the certificate of the mail server",
    "Sketch the architecture of the plugin system",
    "Count active workspaces per week",
    "Ask legal about the new terms",
    "Try the new linter on one module",
];

/// Title and scope of what is there and of what is checked: where only the scope says what is meant, and where it says nothing.
const SCOPED: &[(Kind, Expected, Side, Side)] = &[
    (
        Paraphrase,
        Warn,
        ("Uploads are unreliable", "retry failed multipart uploads to object storage with backoff"),
        ("Harden the storage client", "failed multipart uploads to object storage are retried, with backoff"),
    ),
    (
        Duplicate,
        Escalate,
        ("Retry failed uploads", "multipart uploads to object storage, with backoff"),
        ("Retry of failed uploads", "multipart uploads to object storage with backoff"),
    ),
    (
        Paraphrase,
        Warn,
        ("Keep users signed in", "refresh the session token before it expires"),
        ("Refresh session tokens before they expire", ""),
    ),
    // A weakness: a pasted log drowns what the titles say, where these are not one title.
    (
        Duplicate,
        Warn,
        ("Fix the parser crash on empty input", PASTED),
        ("Parser crashes on empty input", "return an error instead"),
    ),
    (
        Trap,
        Warn,
        ("Upgrade kafka to 3.4.0", "client and broker of the ingest service"),
        ("Upgrade kafka to 2.8.2", "client and broker of the ingest service"),
    ),
    (
        Other,
        Free,
        ("Retry failed uploads", "everything under src/upload"),
        ("Draw the chart of sales", "everything under src/chart"),
    ),
    // A weakness: what everybody writes into the scope is told, though the work is other work.
    (
        Other,
        Warn,
        ("Translate the invoice page to Polish", "frontend only, no changes of the API"),
        ("Cache thumbnails on disk", "frontend only, no changes of the API"),
    ),
];

/// Title and description of what is there and of what is checked: one title but for a small word, and of either agent its own
/// account of the work, with hardly a word in common.
const TOLD_TWICE: &[(Kind, Expected, Side, Side)] = &[
    (
        Duplicate,
        Escalate,
        (
            "Deduplicate webhook deliveries",
            "Merchants complain about double charges. The queue hands over an event again whenever a worker is slow.",
        ),
        (
            "Deduplicate the webhook deliveries",
            "Keep the id of each event for a day in Redis, and drop what was seen before. Needs a metric for drops.",
        ),
    ),
    (
        Duplicate,
        Escalate,
        (
            "Paginate the invoice export endpoint",
            "Large customers run into the gateway's time limit. A cursor over the creation date should do.",
        ),
        (
            "Add pagination to the invoice export endpoint",
            "Memory of the pod grows until it is killed, seen twice last week. Return a link to the following part.",
        ),
    ),
    (
        Duplicate,
        Escalate,
        (
            "Fix login redirect loop on Safari",
            "Support has eleven tickets. The cookie is dropped because of SameSite and the page asks again.",
        ),
        (
            "Login redirect loop on Safari",
            "Reproduced with an iPhone. After the password the browser bounces between two addresses until it gives up.",
        ),
    ),
    (
        Duplicate,
        Escalate,
        (
            "Migrate the session store to Redis",
            "Deploys sign everybody out. Keep the old one for reading during a week.",
        ),
        (
            "Migrate session store to Redis",
            "Sticky routing has to go before we can scale out. Mind the serialisation of roles.",
        ),
    ),
    (
        Trap,
        Warn,
        (
            "Upgrade kafka to 3.4.0",
            "The old client leaks threads. Needs the new broker protocol in staging first.",
        ),
        ("Upgrade the kafka to 2.8.2", "Security asked for it. Only a patch, nothing else should change."),
    ),
    (
        Other,
        Warn,
        (
            "Show the invoice currency on the billing page",
            "Customers outside of the euro zone cannot tell what they pay.",
        ),
        (
            "Show the invoice due date on the billing page",
            "Reminders go out although nobody knew when the money was wanted.",
        ),
    ),
];

/// What agents put where a sentence was meant to be.
const PASTED: &str = "thread 'main' panicked at src/lexer/cursor.rs:214:37: index out of bounds: the len is 0 but the index is 0 \
    stack backtrace: 0: rust_begin_unwind at /rustc/9fc6b431/library/std/src/panicking.rs:665:5 1: core::panicking::panic_fmt \
    at /rustc/9fc6b431/library/core/src/panicking.rs:74:14 2: core::panicking::panic_bounds_check 3: lexer::cursor::Cursor::peek \
    at ./src/lexer/cursor.rs:214:37 4: syntax::parse::Parser::next_statement at ./src/parse/statement.rs:88:19 5: \
    syntax::parse::parse_file at ./src/parse.rs:41:9 6: tool::main at ./src/main.rs:17:5 note: some details are omitted, run with \
    RUST_BACKTRACE=full for a verbose backtrace. error: test failed, to rerun pass --package syntax --lib process didn't exit \
    successfully (exit status: 101) ##[error]Process completed with exit code 101. Post job cleanup. git version 2.47.0 \
    Removing SSH command configuration core.sshCommand submodule foreach --recursive sh -c git config --local --name-only";

fn brief(title: &str, description: &str) -> Brief {
    Brief { title: title.to_owned(), description: description.to_owned(), ..Brief::default() }
}

fn outcome(there: &Brief, checked: &Brief) -> (Expected, String) {
    let mut index = Index::default();
    for (at, title) in (1..).zip(TEAM) {
        index.put(at, &Features::of(&brief(title, "")), Standing::Open);
    }
    index.put(0, &Features::of(there), Standing::Open);
    let found = index.ranked(&Query::of(checked), &Among::all(), 20).into_iter().find(|found| found.id == 0);
    let Some(found) = found else { return (Free, "nothing in common".to_owned()) };
    let outcome = if is_escalatable(&found) {
        Escalate
    } else if found.is_warned() {
        Warn
    } else {
        Free
    };
    (outcome, format!("{:.3}, {}", found.score, found.reason))
}

fn scenarios() -> Vec<(Kind, Expected, Brief, Brief)> {
    let texts = TEXTS.iter().map(|(kind, expected, there, checked)| {
        (*kind, *expected, brief(there.0, there.1), brief(checked.0, checked.1))
    });
    let declared = DECLARED.iter().map(|(kind, expected, there, checked)| {
        let with = |(action, component): (Option<Action>, Option<&str>)| Brief {
            action,
            component: component.map(str::to_owned),
            ..brief("Retry of failed uploads with a visible progress", "")
        };
        (*kind, *expected, with(*there), with(*checked))
    });
    let scoped = SCOPED.iter().map(|(kind, expected, there, checked)| {
        let with = |(title, scope): Side| Brief { scope: scope.to_owned(), ..brief(title, "") };
        (*kind, *expected, with(*there), with(*checked))
    });
    let told_twice = TOLD_TWICE.iter().map(|(kind, expected, there, checked)| {
        (*kind, *expected, brief(there.0, there.1), brief(checked.0, checked.1))
    });
    texts.chain(declared).chain(scoped).chain(told_twice).collect()
}

#[test]
fn the_battery_comes_out_as_expected() {
    let scenarios = scenarios();
    assert!(scenarios.len() >= 60);
    let (mut wrong, mut escalated, mut rightly, mut duplicates, mut told) = (Vec::new(), 0, 0, 0, 0);
    for (kind, expected, there, checked) in &scenarios {
        let (outcome, why) = outcome(there, checked);
        let same = matches!(kind, Duplicate | Paraphrase);
        duplicates += usize::from(same);
        told += usize::from(same && outcome >= Warn);
        escalated += usize::from(outcome == Escalate);
        rightly += usize::from(outcome == Escalate && same);
        // Whoever says the same in other words may well be asked to decide.
        let fine = outcome == *expected || (*kind == Paraphrase && outcome == Escalate);
        if !fine {
            wrong.push(format!(
                "{kind:?}: {outcome:?} and not {expected:?} ({why}): {} / {}",
                there.title, checked.title
            ));
        }
    }
    let summary =
        format!("{told} of {duplicates} duplicates told; {rightly} of {escalated} escalations right");
    assert!(
        wrong.is_empty(),
        "{summary}; {} of {} scenarios are wrong:\n{}",
        wrong.len(),
        scenarios.len(),
        wrong.join("\n")
    );
    assert_eq!((told, rightly), (duplicates, escalated), "{summary}");
}
