//! Files that are read, files that are refused with their place, and keys that are warned about.

use super::*;

fn parse(text: &str) -> Result<Loaded, ConfigError> {
    Config::parse(Path::new("config.toml"), text, &Overrides::default())
}

fn refused(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

#[test]
fn a_number_that_is_none_is_told_with_its_key_and_in_words() {
    let text =
        "[[mcp.servers]]\nname = \"a\"\n[limits]\noutput_bytes = \"a\"\n[[mcp.servers]]\nname = \"b\"\n";
    let told = refused(text);
    assert!(told.contains("`limits.output_bytes`") && told.contains("expected a whole number"), "{told}");
}

#[test]
fn an_empty_file_is_the_documented_defaults() {
    let loaded = parse("").unwrap();
    assert!(loaded.warnings.is_empty());
    assert_eq!(loaded.config, Config::default());
    assert_eq!(loaded.config.http.listen, "127.0.0.1:8421");
    assert_eq!(loaded.config.gate().burst, 20);
    assert_eq!(
        loaded.config.http.addresses().iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["127.0.0.1:8421", "[::1]:8421"]
    );
}

#[test]
fn malformed_files_are_refused_with_line_column_and_reason() {
    let syntax = refused("[http]\nlisten = \n");
    assert!(syntax.starts_with("config.toml, line 2, column 10"), "{syntax}");
    let kind = refused("[rate_limit]\nrate = 5\nburst = \"many\"\n");
    assert!(kind.starts_with("config.toml, line 3, column 9: `rate_limit.burst`: invalid type"), "{kind}");
    let word = refused("[logging]\nlevel = \"loud\"\n");
    assert!(word.starts_with("config.toml, line 2, column 9") && word.contains("debug"), "{word}");
    let twice = refused("[http]\nlisten = \"127.0.0.1:1\"\nlisten = \"127.0.0.1:2\"\n");
    assert!(twice.starts_with("config.toml, line 3"), "{twice}");
}

#[test]
fn bytes_that_are_not_utf8_are_refused_with_their_place() {
    let error = utf8(Path::new("config.toml"), b"[http]\nx = \"\xff\"".to_vec()).unwrap_err().to_string();
    assert!(error.starts_with("config.toml, line 2, column 6"), "{error}");
}

#[test]
fn each_section_refuses_what_makes_no_sense_and_names_the_key_and_its_place() {
    for (text, part) in [
        ("[http]\nlisten = \"here\"", "line 2, column 10: `http.listen` is `here`"),
        ("[http]\npublic_url = \"example.org\"", "`http.public_url` must be an origin"),
        ("[http]\ntls_cert = \"c.pem\"", "`http.tls_cert` is set and `http.tls_key` is not"),
        ("[http]\ntls_key = \"k.pem\"", "`http.tls_key` is set and `http.tls_cert` is not"),
        ("[http]\nsession_idle_secs = 59", "`http.session_idle_secs` must lie between 60 seconds and a year"),
        ("[http]\nsession_idle_secs = -1", "invalid value"),
        ("[http]\nmax_sessions = 0", "`http.max_sessions` must lie between 1 and 1000000"),
        ("[http]\nallowed_hosts = [\"a b\"]", "`http.allowed_hosts` holds `a b`"),
        ("[operator]\nconfirm = \"terminal\"", "`operator.confirm`"),
        ("[cluster]\ntrusted_keys = [\"abc\"]", "`cluster.trusted_keys` holds `abc…`"),
        ("[database]\nurl = \"mysql://x\"", "`database.url` must be"),
        ("[rate_limit]\nrate = -1", "`rate_limit.rate`"),
        ("[rate_limit]\nrate = nan", "`rate_limit.rate`"),
        ("[rate_limit]\nburst = 0", "`rate_limit.burst`"),
        ("[audit]\nsink = \"paper\"", "unknown variant `paper`"),
        ("[audit]\nanchor_url = \"http://example.org\"", "`audit.anchor_url` is http:// to another machine"),
        ("[secrets]\nfrom_env = [\"lower\"]", "`secrets.from_env`"),
        ("[limits]\nrequest_bytes = 1", "`limits.request_bytes`"),
        ("[approvals]\nexpire_secs = 0", "`approvals.expire_secs`"),
        ("[telemetry]\notlp_endpoint = \"here\"", "`telemetry.otlp_endpoint` is not a URL"),
        ("[telemetry]\notlp_headers = { Host = \"x\" }", "`telemetry.otlp_headers` holds `Host`"),
        ("[web]\nallow_hosts = [\"10.0.0.1\"]", "`web.allow_hosts` holds `10.0.0.1`, which is an address"),
        ("[web]\nallow_hosts = \"git.example.org\"", "`web.allow_hosts`: invalid type"),
        ("[sandbox]\nrequired = \"yes\"", "`sandbox.required`: invalid type"),
        ("[plugins]\ndirs = [\"\"]", "`plugins.dirs` holds an empty path"),
        ("[plugins]\ndirs = \"plugins\"", "`plugins.dirs`: invalid type"),
        ("[workspace]\npath = \"\"", "`workspace.path` is empty"),
        ("[agents]\nconcurrency = 0", "`agents.concurrency` must lie between 1 and 256"),
        ("[agents]\nconcurrency = 257", "`agents.concurrency` must lie between 1 and 256"),
        ("[agents]\nconcurrency = \"4\"", "`agents.concurrency`: invalid type"),
        ("[agents]\nenforce_budget = 1", "`agents.enforce_budget`: invalid type"),
        ("[workspace]\npath = [1]", "`workspace.path`: invalid type"),
    ] {
        let refused = refused(text);
        assert!(refused.contains(part) && refused.starts_with("config.toml, line 2"), "{refused}");
    }
}

#[test]
fn an_address_that_others_reach_needs_tls_or_a_proxy() {
    for address in ["0.0.0.0:8421", "[::]:8421", "192.168.1.2:80"] {
        let refused = refused(&format!("[http]\nlisten = \"{address}\""));
        assert!(refused.contains("behind_proxy") && refused.contains("tls_cert"), "{refused}");
        let tls = "tls_cert = \"c.pem\"\ntls_key = \"k.pem\"";
        assert!(parse(&format!("[http]\nlisten = \"{address}\"\n{tls}")).is_ok());
        assert!(parse(&format!("[http]\nlisten = \"{address}\"\nbehind_proxy = true")).is_ok());
    }
}

#[test]
fn unknown_keys_are_warned_about_by_path() {
    let text = "[http]\nlisen = \"x\"\n[htpp]\nx = 1\n[oidc]\nissuer = \"https://id.example.org\"\nclient_id = \"c\"\nclient_secret = \"${secret:S}\"\nx = 1\n[vault]\nx = 1\n[chat.team]\nprovider = \"slack\"\ntoken = \"${secret:T}\"\nx = 1\n[[calendars]]\nname = \"a\"\npath = \"a.ics\"\nx = 1\n";
    let warnings = parse(text).unwrap().warnings;
    assert_eq!(
        warnings,
        [
            "config.toml, line 2: `http.lisen` is not a known key; [http] has listen, tls_cert, tls_key, behind_proxy, public_url, allowed_hosts, session_idle_secs, max_sessions, remote_admin",
            "config.toml, line 3: [htpp] is not a known section",
            "config.toml, line 9: `oidc.x` is not a known key; [oidc] has issuer, client_id, client_secret",
            "config.toml, line 11: `vault.x` is not a known key; [vault] has path, git_sync",
            "config.toml, line 15: `chat.team.x` is not a known key; [chat.team] has provider, token, base_url, url",
            "config.toml, line 19: `calendars.x` is not a known key; [calendars] has name, url, path",
        ]
    );
}

#[test]
fn the_environment_and_the_command_line_win() {
    let overrides = Overrides {
        listen: Some("127.0.0.1:0".into()),
        behind_proxy: true,
        database_url: Some("sqlite:other.db".into()),
        log: Some("DEBUG".into()),
    };
    let text = "[http]\nlisten = \"127.0.0.1:1\"\n[logging]\nlevel = \"error\"";
    let config = Config::parse(Path::new("config.toml"), text, &overrides).unwrap().config;
    assert_eq!((config.http.listen.as_str(), config.http.behind_proxy), ("127.0.0.1:0", true));
    assert_eq!(
        (config.database.url.as_str(), config.logging.level),
        ("sqlite:other.db", logging::Level::Debug)
    );
}

#[test]
fn a_wrong_override_names_where_it_came_from() {
    let wrong = |overrides| Config::parse(Path::new("c"), "", &overrides).unwrap_err().to_string();
    let listen = wrong(Overrides { listen: Some("8421".into()), ..Overrides::default() });
    assert!(listen.contains("COVENANT_LISTEN"), "{listen}");
    let log = wrong(Overrides { log: Some("loud".into()), ..Overrides::default() });
    assert!(log.starts_with("COVENANT_LOG") && log.contains("debug or trace"), "{log}");
    let url = wrong(Overrides { database_url: Some("x".into()), ..Overrides::default() });
    assert!(url.starts_with("COVENANT_DATABASE_URL"), "{url}");
}

#[test]
fn effective_values_hide_passwords_and_read_back() {
    let text = "[database]\nurl = \"postgres://ada:hunter2hunter2@db/c\"\n[logging]\nlevel = \"debug\"";
    let config = parse(text).unwrap().config;
    let shown = format!("{} {}", config.effective(), config.effective_toml());
    assert!(!shown.contains("hunter2") && shown.contains("postgres://ada:[REDACTED]@db/c"), "{shown}");
    assert_eq!(parse(&config.effective_toml()).unwrap().config.logging, config.logging);
}

#[test]
fn credentials_of_the_anchor_are_shown_nowhere_and_a_change_of_them_is_a_change() {
    let with = |user: &str| {
        let text = format!(
            "[audit]\nanchor_url = \"https://{user}:hunter2hunter2@anchor.example/keep?key=hunter3\""
        );
        parse(&text).unwrap().config
    };
    let config = with("ada");
    let shown = format!("{} {} {config:?}", config.effective(), config.effective_toml());
    assert!(!shown.contains("hunter") && !shown.contains("ada"), "{shown}");
    assert_eq!(shown.matches("https://[REDACTED]@anchor.example/keep?[REDACTED]").count(), 3, "{shown}");
    assert_eq!(config.differences(&with("eve")), ["audit.anchor_url"]);
    assert!(parse(&config.effective_toml()).is_ok());
    let refused = refused("[audit]\nanchor_url = \"http://ada:hunter2hunter2@anchor.example/\"");
    assert!(!refused.contains("hunter"), "{refused}");
}

#[test]
fn differences_are_named_by_path() {
    let (one, two) = (
        parse("").unwrap().config,
        parse("[rate_limit]\nrate = 1\n[http]\nlisten = \"127.0.0.1:0\"").unwrap().config,
    );
    assert_eq!(one.differences(&two), ["http.listen", "rate_limit.rate"]);
    assert!(one.differences(&one.clone()).is_empty());
}
