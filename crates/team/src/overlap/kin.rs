//! Words that mean the same in a task, and words that mean the opposite.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::stem::stem;

/// A line is one meaning; its first word stands for all.
const SAME: &str = "
upgrade update bump uplift
remove delete drop decommission purge eliminate discard deletion removal
fix repair resolve correct mend bugfix hotfix
fail failure broken break breakage fails
error exception
add create implement introduce build make provide
flaky intermittent flake flakiness nondeterministic sporadic
doc docs documentation document docstring
login signin logon authenticate authentication auth
logout signout logoff
signup register registration
config configuration configure setting settings configurable preference
db database
dependency dependencies dep deps
slow performance perf slowness latency
fast speed faster optimize optimise optimization optimisation accelerate
timeout timing timed deadline
directory dir folder
repo repository
message msg
param parameter argument arg
env environment
init initialize initialise initialization initialisation bootstrap
migrate migration port move
rename renaming
crash panic segfault npe abort
hang stuck deadlock freeze
vulnerability vulnerable vulnerabilities
retry retries reattempt
test tests testing testcase
validate validation verify verification check
refactor restructure rework reorganize reorganise
cleanup clean tidy
log logging logger logs
typo misspelling spelling
throttle throttling ratelimit limiter
paginate pagination paging pages
serialize serialise serialization serialisation
parse parser parsing
notify notification alert
email mail e-mail
image picture photo
user account
password passphrase
frontend ui
allow permit
deny forbid reject refuse
invalid wrong incorrect bad
empty blank
missing absent lacks
duplicate duplicated dupe
support handle
cache caching memoize memoise
endpoint route
encrypt encryption
display show render
hide conceal
search find lookup
download fetch
schedule scheduler cron
concurrent concurrency parallel
race races
leak leaking leaks
memory ram
";

/// Each pair is opposed: a title with one of them and a title with the other are not about the same work.
const OPPOSED: &str = "
add remove
enable disable
upgrade downgrade
increase decrease
raise lower
grow shrink
display hide
allow deny
install uninstall
lock unlock
import export
upload download
encode decode
encrypt decrypt
compress decompress
serialize deserialize
subscribe unsubscribe
login logout
start stop
open close
push pull
mount unmount
merge split
client server
frontend backend
inbound outbound
ingress egress
request response
producer consumer
sender receiver
publisher subscriber
unit integration
staging production
android ios
linux windows
macos windows
linux macos
mysql postgresql
light dark
input output
encoder decoder
reader writer
read write
archive restore
backup restore
mobile desktop
";

/// The words of a line.
fn lines(table: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).filter(|line| !line.is_empty())
}

static MEANINGS: LazyLock<HashMap<String, String>> = LazyLock::new(|| {
    let mut meanings = HashMap::new();
    for line in lines(SAME) {
        let first = line.first().map(|word| stem(word)).unwrap_or_default();
        for word in line {
            meanings.entry(stem(word)).or_insert_with(|| first.clone());
        }
    }
    meanings
});

static OPPOSITES: LazyLock<HashMap<String, Vec<String>>> = LazyLock::new(|| {
    let mut opposites: HashMap<String, Vec<String>> = HashMap::new();
    for line in lines(OPPOSED) {
        if let [one, other] = line.as_slice() {
            let (one, other) = (meaning(&stem(one)).to_owned(), meaning(&stem(other)).to_owned());
            opposites.entry(one.clone()).or_default().push(other.clone());
            opposites.entry(other).or_default().push(one);
        }
    }
    opposites
});

/// The stem that stands for all that mean the same.
pub(super) fn meaning(stem: &str) -> &str {
    MEANINGS.get(stem).map_or(stem, String::as_str)
}

/// The meanings that are the opposite of one.
pub(super) fn opposites(meaning: &str) -> &'static [String] {
    OPPOSITES.get(meaning).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_has_one_meaning_and_that_is_its_own() {
        for line in lines(SAME) {
            let first = stem(line[0]);
            assert_eq!(
                meaning(&first),
                first,
                "the first word of a line must not stand in another: {line:?}"
            );
        }
        assert_eq!(meaning(&stem("bumps")), meaning(&stem("upgraded")));
        assert_eq!(meaning("kafka"), "kafka");
    }

    #[test]
    fn opposition_is_mutual() {
        for line in lines(OPPOSED) {
            assert_eq!(line.len(), 2, "{line:?}");
        }
        let add = meaning(&stem("implement")).to_owned();
        let remove = meaning(&stem("deletes")).to_owned();
        assert!(opposites(&add).contains(&remove));
        assert!(opposites(&remove).contains(&add));
        assert!(opposites("kafka").is_empty());
    }
}
