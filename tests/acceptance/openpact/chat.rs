//! `chat_send`, against local servers that hold it to what Slack, Discord, Telegram, Matrix and webhooks document.

use covenant_testkit::Service;
use covenant_testkit::service::{Answer, Request, discord, matrix, slack, telegram, webhook};
use serde_json::{Value, json};

use super::talk::{Talk, configured};

const SLACK: &str = "xoxb-1111-slack-token-of-the-test";
const DISCORD: &str = "MTA-discord-token-of-the-test";
const TELEGRAM: &str = "123456:AA-telegram-token-of-the-test";
const MATRIX: &str = "syt_matrix_token_of_the_test";
const HOOK: &str = "/services/T000HOOK01/hook-secret-of-the-test?key=hook-key-of-the-test";
/// The same as it is written: some of it is a secret of its own, and some is not.
const WRITTEN: &str = "/services/T000HOOK01/${secret:HOOK}?key=hook-key-of-the-test";
const HOOK_TOKEN: &str = "hook-bearer-of-the-test";

/// All that must not be seen.
const SECRETS: &[&str] = &[
    SLACK,
    DISCORD,
    TELEGRAM,
    "AA-telegram-token-of-the-test",
    MATRIX,
    "T000HOOK01",
    "hook-secret-of-the-test",
    "hook-key-of-the-test",
    HOOK_TOKEN,
];

/// One of each.
struct Services {
    slack: Service,
    discord: Service,
    telegram: Service,
    matrix: Service,
    hook: Service,
}

impl Services {
    fn start() -> Self {
        let hook = webhook::Webhook { address: HOOK.to_owned(), token: Some(HOOK_TOKEN.to_owned()) };
        Self {
            slack: Service::start(slack::Slack { token: SLACK.to_owned() }),
            discord: Service::start(discord::Discord { token: DISCORD.to_owned() }),
            telegram: Service::start(telegram::Telegram { token: TELEGRAM.to_owned() }),
            matrix: Service::start(matrix::Matrix::new(MATRIX)),
            hook: Service::start(hook),
        }
    }

    /// The service of that name.
    fn named(&self, name: &str) -> &Service {
        match name {
            "team" => &self.slack,
            "guild" => &self.discord,
            "phone" => &self.telegram,
            "home" => &self.matrix,
            "hook" => &self.hook,
            other => panic!("{other}"),
        }
    }

    /// A home that is configured for them.
    fn home(&self) -> covenant_testkit::Home {
        let entry = |name: &str, provider: &str, token: &str, key: &str, url: &str| {
            format!(
                "[chat.{name}]\nprovider = \"{provider}\"\ntoken = \"${{secret:{token}}}\"\n{key} = \"{url}\"\n"
            )
        };
        let config = [
            entry("team", "slack", "SLACK_TOKEN", "base_url", &self.slack.url("/api")),
            entry("guild", "discord", "DISCORD_TOKEN", "base_url", &self.discord.url("")),
            entry("phone", "telegram", "TELEGRAM_TOKEN", "base_url", &self.telegram.url("")),
            entry("home", "matrix", "MATRIX_TOKEN", "base_url", &self.matrix.url("/")),
            entry("hook", "webhook", "HOOK_TOKEN", "url", &self.hook.url(WRITTEN)),
        ];
        let secrets = [
            ("SLACK_TOKEN", SLACK),
            ("DISCORD_TOKEN", DISCORD),
            ("TELEGRAM_TOKEN", TELEGRAM),
            ("MATRIX_TOKEN", MATRIX),
            ("HOOK_TOKEN", HOOK_TOKEN),
            ("HOOK", "hook-secret-of-the-test"),
        ];
        configured(&config.concat(), &secrets)
    }
}

fn message(provider: &str, target: &str, message: &str) -> Value {
    json!({"provider": provider, "target": target, "message": message})
}

/// The last that reached a service, and how much did.
fn last(service: &Service) -> (Request, usize) {
    let mut heard = service.heard();
    let count = heard.len();
    (heard.pop().unwrap(), count)
}

/// PACT-33
#[test]
fn a_message_goes_out_by_every_provider() {
    let services = Services::start();
    let home = services.home();
    let mut talk = Talk::begin(&home);
    let text = "Fertig: \u{1F600} <!channel> & \"zwei\"\n@everyone";
    for (provider, target, member, requests) in [
        ("team", "channel:C1", "text", 1),
        ("team", "user:U1", "text", 1),
        ("team", "C1", "text", 1),
        ("guild", "channel:42", "content", 1),
        ("guild", "user:7", "content", 2),
        ("phone", "user:42", "text", 1),
        ("phone", "channel:-1001", "text", 1),
        ("phone", "@the_news", "text", 1),
        ("home", "channel:!room/1:example.org", "body", 1),
        ("home", "#all/of?us:example.org", "body", 2),
        ("hook", "channel:ops", "message", 1),
    ] {
        let said = talk.done("chat_send", message(provider, target, text));
        assert_eq!(said, format!("Message sent via {provider} to {target}"));
        let (request, count) = last(services.named(provider));
        assert_eq!(count, requests, "{provider} {target}");
        let sent = request.text(member).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
        assert_eq!(sent, text, "{provider} {target}");
    }
    talk.ends_without(SECRETS);
}

#[test]
fn a_person_on_matrix_has_one_room_however_often_they_are_written_to() {
    let services = Services::start();
    let home = services.home();
    let mut talk = Talk::begin(&home);
    for _ in 0..3 {
        talk.done("chat_send", message("home", "user:@ada:example.org", "hi"));
    }
    let heard = services.matrix.heard();
    let of = |end: &str| heard.iter().filter(|request| request.path.ends_with(end)).count();
    assert_eq!(of("/createRoom"), 1, "{heard:?}");
    let sent: Vec<&str> = heard
        .iter()
        .filter(|request| request.path.contains("/send/m.room.message/"))
        .map(|request| request.path.as_str())
        .collect();
    assert_eq!(sent.len(), 3);
    for (place, path) in sent.iter().enumerate() {
        assert!(path.starts_with("/_matrix/client/v3/rooms/!new1:example.org/"), "{path}");
        assert!(!sent[..place].contains(path), "each message has an id of its own");
    }
}

#[test]
fn whatever_a_service_answers_is_told_and_no_secret_with_it() {
    let services = Services::start();
    let home = services.home();
    let mut talk = Talk::begin(&home);
    let busy = "takes no more messages from us for now; this one was not sent: try again in 30 seconds";
    let unsure = "whether the message arrived is not known: look there before it is sent again";
    let echo = |secret: &str| Answer::html(400, &format!("what is {secret}?"));
    let cases: Vec<(&str, &str, Answer, String)> = vec![
        ("team", "C1", slack::fault("invalid_auth"), unaccepted("Slack", "team", "invalid_auth")),
        ("team", "C1", slack::fault("missing_scope"), "the token of [chat.team] lacks the scope `chat:write` (missing_scope): add it to the Slack app and install the app again".into()),
        ("team", "C1", slack::fault("is_archived"), "the Slack channel `C1` is archived (is_archived): name another".into()),
        ("team", "C1", slack::fault("limited 30"), format!("Slack {busy}")),
        ("team", "C1", slack::fault("broken"), format!("Slack failed (HTTP 503); {unsure}")),
        ("team", "C1", slack::fault("html"), format!("127.0.0.1 did not answer as the API of Slack does (HTTP 200, text/html): check the address in [chat.team]; {unsure}")),
        ("guild", "42", discord::fault("unauthorized"), unaccepted("Discord", "guild", "401: Unauthorized")),
        ("guild", "42", discord::fault("limited 29.5"), format!("Discord {busy}")),
        ("guild", "7", discord::fault("50007"), "Discord lets nobody write to `7` from here (50007): that user must share a server with the bot and allow direct messages".into()),
        ("guild", "42", discord::fault("html"), "127.0.0.1 did not answer as the API of Discord does (HTTP 403, text/html): check the address in [chat.guild]".into()),
        ("phone", "42", telegram::fault("401 Unauthorized"), unaccepted("Telegram", "phone", "Unauthorized")),
        ("phone", "42", telegram::fault("limited 30"), format!("Telegram {busy}")),
        ("phone", "42", telegram::fault("moved -1009"), "the Telegram group `42` has a new id, -1009: send to that one".into()),
        ("home", matrix::ROOM, matrix::fault("M_UNKNOWN_TOKEN"), unaccepted("Matrix", "home", "M_UNKNOWN_TOKEN")),
        ("home", matrix::ROOM, matrix::fault("limited 30000"), format!("Matrix {busy}")),
        ("home", matrix::ROOM, matrix::fault("M_TOO_LARGE"), "the message is too long for 127.0.0.1 (M_TOO_LARGE): shorten it".into()),
        ("hook", "ops", webhook::fault("limited 30"), format!("the webhook {busy}")),
        ("hook", "ops", webhook::fault("404"), "there is no webhook at the address of [chat.hook], at 127.0.0.1 (HTTP 404): make a new one and store its address".into()),
        ("hook", "ops", webhook::fault("moved http://127.0.0.1:1/elsewhere"), "127.0.0.1 redirects elsewhere (HTTP 302), and that is not followed: write the address it leads to in [chat.hook]".into()),
        ("hook", "ops", webhook::fault("500"), format!("the webhook failed (HTTP 500); {unsure}")),
        ("hook", "ops", echo(HOOK_TOKEN), "the webhook at 127.0.0.1 did not take the message (HTTP 400): what is [REDACTED:HOOK_TOKEN]?".into()),
    ];
    for (provider, target, answer, sentence) in cases {
        services.named(provider).will(answer);
        assert_eq!(talk.fails("chat_send", message(provider, target, "hi")), sentence);
        assert_eq!(services.named(provider).heard().len(), 1, "{sentence}");
    }
    for (provider, target, sentence) in [
        (
            "team",
            "C2",
            "the Slack app is not in `C2` (not_in_channel): invite it there, or give it the scope `chat:write.public`",
        ),
        (
            "team",
            "C9",
            "Slack knows no `C9`, or the app may not see it (channel_not_found): give the id of a channel (C…) or a member (U…), and invite the app to a private channel",
        ),
        (
            "guild",
            "43",
            "the Discord bot may not write in `43` (50013): give it the permissions View Channel and Send Messages",
        ),
        (
            "guild",
            "44",
            "the Discord bot has no access to `44` (50001): invite it to that server and channel",
        ),
        ("guild", "45", "Discord knows no channel `45` (10003): give the id of a channel"),
        ("guild", "user:8", "Discord knows no user `8` (10013): give the id of a user"),
        (
            "phone",
            "5",
            "Telegram knows no chat `5`, or the bot is not in it (Bad Request: chat not found): give the id of another",
        ),
        (
            "phone",
            "13",
            "the Telegram bot may not write to `13` (Forbidden: bot was blocked by the user): a person must have written to it first, and it must be a member of a group",
        ),
        (
            "home",
            "!other:example.org",
            "the Matrix account may not write to `!other:example.org` (M_FORBIDDEN: User @bot:example.org not in room): invite it there, and let it join",
        ),
        (
            "home",
            "#none:example.org",
            "the homeserver knows no `#none:example.org` (M_NOT_FOUND: Not found): check how it is written",
        ),
    ] {
        assert_eq!(talk.fails("chat_send", message(provider, target, "hi")), sentence);
    }
    talk.ends_without(SECRETS);
}

fn unaccepted(service: &str, name: &str, reason: &str) -> String {
    format!(
        "{service} does not accept the token of [chat.{name}] ({reason}): it is wrong, expired or revoked; get a new one \
         and store it with `covenant secrets set NAME`, NAME being the secret that `token` in [chat.{name}] takes"
    )
}

#[test]
fn a_message_is_sent_again_only_where_the_service_asks_for_it() {
    let services = Services::start();
    let home = services.home();
    let mut talk = Talk::begin(&home);
    let targets = [("team", "C1"), ("guild", "42"), ("phone", "42"), ("home", matrix::ROOM), ("hook", "ops")];
    let shortly = [
        slack::fault("limited 0"),
        discord::fault("limited 0.02"),
        telegram::fault("limited 0"),
        matrix::fault("limited 20"),
        webhook::fault("limited 0"),
    ];
    for ((provider, target), limited) in targets.into_iter().zip(shortly) {
        services.named(provider).will(limited);
        talk.done("chat_send", message(provider, target, "hi"));
        let heard = services.named(provider).heard();
        let [first, second] = heard.as_slice() else { panic!("{heard:?}") };
        assert_eq!((&first.path, &first.body), (&second.path, &second.body));
    }
    for (provider, target) in targets {
        services.named(provider).will(Answer::hang_up());
        let said = talk.fails("chat_send", message(provider, target, "hi"));
        assert!(said.starts_with("no answer: 127.0.0.1"), "{said}");
        assert!(
            said.ends_with("; whether the message arrived is not known: look there before it is sent again"),
            "{said}"
        );
        assert_eq!(services.named(provider).heard().len(), 1, "{provider}");
    }
    talk.ends_without(SECRETS);
}

#[test]
fn hostile_arguments_of_chat_send_are_answered_one_by_one() {
    let services = Services::start();
    let home = services.home();
    let mut talk = Talk::begin(&home);
    let active = "guild, home, hook, phone, team";
    let nobody = "`target` names nobody: write `channel:ID`, `user:ID` or an id";
    let blanks =
        "`target` has blanks or control characters, and no id has: write `channel:ID`, `user:ID` or an id";
    let discord = |id: &str| {
        format!(
            "`{id}` is no Discord id: an id is a number, such as 1024555555555555555 (Copy Channel ID, with developer mode on)"
        )
    };
    let too_long = |count: &str, service: &str, limit: usize| {
        format!("the message has {count} and {service} takes at most {limit}: shorten it or send it in parts")
    };
    let cases: Vec<(&str, &str, String, String)> = vec![
        ("slack", "C1", "hi".into(), format!("provider \"slack\" is not active (available: {active})")),
        ("Team", "C1", "hi".into(), format!("provider \"Team\" is not active (available: {active})")),
        ("te\u{0}am\n", "C1", "hi".into(), format!("provider \"te\\0am\\n\" is not active (available: {active})")),
        ("team", "channel:", "hi".into(), nobody.into()),
        ("team", "user:", "hi".into(), nobody.into()),
        ("team", "C1\r\nHost: evil", "hi".into(), blanks.into()),
        ("team", "C1", " \n ".into(), "`message` is empty: write what it should say".into()),
        ("guild", "../../users/@me", "hi".into(), discord("../../users/@me")),
        ("guild", "42/messages", "hi".into(), discord("42/messages")),
        ("phone", "user:@ada", "hi".into(), "`@ada` is no id of a Telegram user: it is a number, and the user must have written to the bot first".into()),
        ("phone", "../getUpdates", "hi".into(), "`../getUpdates` is no Telegram chat: write its number, such as -1001234567890, or its @name".into()),
        ("home", "../../admin", "hi".into(), "`../../admin` is no Matrix address: write a room as `channel:!id:server` or `channel:#alias:server`, a person as `user:@name:server`".into()),
        ("guild", "42", "x".repeat(2001), too_long("2001 characters", "Discord", 2000)),
        ("phone", "42", "x".repeat(4097), too_long("4097 characters", "Telegram", 4096)),
        ("team", "C1", "x".repeat(40_001), too_long("40001 characters (`&`, `<` and `>` count as 4 or 5)", "Slack", 40_000)),
        ("home", "!r:x", "x".repeat(60_000), too_long("60046 bytes as an event", "Matrix", 60_000)),
    ];
    for (provider, target, text, sentence) in cases {
        assert_eq!(talk.fails("chat_send", message(provider, target, &text)), sentence);
    }
    for (arguments, reason) in [
        (
            json!({}),
            "arguments: \"provider\" is a required property; arguments: \"target\" is a required property; arguments: \"message\" is a required property",
        ),
        (message("", "C1", "hi"), "`/provider`: value is shorter than 1 character"),
        (message("team", "", "hi"), "`/target`: value is shorter than 1 character"),
        (message("team", "C1", ""), "`/message`: value is shorter than 1 character"),
        (message("team", "C1", &"x".repeat(100_001)), "`/message`: value is longer than 100000 characters"),
        (message("team", &"x".repeat(301), "hi"), "`/target`: value is longer than 300 characters"),
        (
            json!({"provider": "team", "target": 5, "message": "hi"}),
            "`/target`: value is not of type \"string\"",
        ),
        (
            json!({"provider": "team", "target": "C1", "message": ["hi"]}),
            "`/message`: value is not of type \"string\"",
        ),
    ] {
        assert_eq!(
            talk.refused("chat_send", arguments),
            format!("invalid arguments for `chat_send`: {reason}")
        );
    }
    let more = json!({"provider": "team", "target": "C1", "message": "hi", "blocks": []});
    assert!(talk.refused("chat_send", more).contains("dditional properties"));
    for service in ["team", "guild", "phone", "home", "hook"] {
        assert!(services.named(service).heard().is_empty(), "nothing of this was sent to {service}");
    }
    talk.ends_without(SECRETS);
}

#[test]
fn the_whole_address_of_a_webhook_may_be_a_secret() {
    let hook = webhook::Webhook { address: HOOK.to_owned(), token: None };
    let service = Service::start(hook);
    let config = "[chat.hook]\nprovider = \"webhook\"\nurl = \"${secret:HOOK_URL}\"\n";
    let home = configured(config, &[("HOOK_URL", &service.url(HOOK))]);
    let mut talk = Talk::begin(&home);
    assert_eq!(talk.done("chat_send", message("hook", "ops", "hi")), "Message sent via hook to ops");
    service.will(webhook::fault(&format!("400 there is no {HOOK}")));
    talk.fails("chat_send", message("hook", "ops", "hi"));
    talk.ends_without(SECRETS);
}

#[test]
fn without_a_section_there_is_no_chat() {
    let home = configured("", &[]);
    let mut talk = Talk::begin(&home);
    let tools = talk.tools();
    for tool in ["chat_send", "github_list_issues", "github_create_issue"] {
        assert!(!tools.iter().any(|name| name == tool), "{tools:?}");
    }
}
