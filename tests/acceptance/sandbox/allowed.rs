//! What a sandboxed program may reach: a name that the operator listed, by TLS on port 443, and the daemon.

use covenant_testkit::tls::Certificate;

use super::stage::Stage;
use super::{Who, as_everyone};
use crate::installed::there_or;

/// Fetches a page the way programs do that know nothing of the sandbox: by the proxy their environment names.
const FETCH: &str = "
import ssl, sys, urllib.request
context = ssl.create_default_context(cafile=sys.argv[1])
try:
    print(urllib.request.urlopen(sys.argv[2], context=context, timeout=20).read().decode())
except Exception as error:
    print('refused:', error)
";

/// A name in `[web] allow_hosts` is reached though it leads to this machine, by TLS on port 443 and in no other way; without
/// the entry it is not; and in `off` there is no way out at all.
#[test]
fn a_listed_name_is_reached_by_https_and_by_nothing_else() {
    let certificate = Certificate::new();
    let served = certificate.serve(("127.0.0.1", 443), "from the listed name");
    if !there_or("the right to listen on port 443", served.is_ok()) {
        return;
    }
    as_everyone(|who: Who| {
        let stage = Stage::new(who);
        let trusted = stage.path("package/roots.pem");
        std::fs::write(&trusted, &certificate.pem).unwrap();
        let fetch = |mode: &str, url: &str| {
            let words = ["python3", "-c", FETCH, trusted.to_str().unwrap(), url].map(str::to_owned);
            stage.run(&["--network", mode], &words).output().to_owned()
        };
        let https = "https://localhost/";
        let refused = fetch("outbound-https-only", https);
        assert!(refused.contains("refused:") && refused.contains("allow_hosts"), "{who:?}: {refused}");
        let config = stage.path("operator/home/config.toml");
        std::fs::write(config, "[web]\nallow_hosts = [\"localhost\"]\n").unwrap();
        assert_eq!(fetch("outbound-https-only", https).trim(), "from the listed name", "{who:?}");
        let plain = fetch("outbound-https-only", "http://localhost:443/");
        assert!(plain.contains("plain HTTP is not let out"), "{who:?}: {plain}");
        let other = fetch("outbound-https-only", "https://localhost:8443/");
        assert!(other.contains("only TLS on port 443"), "{who:?}: {other}");
        let off = fetch("off", https);
        assert!(off.contains("refused:") && !off.contains("from the listed name"), "{who:?}: {off}");
    });
}
