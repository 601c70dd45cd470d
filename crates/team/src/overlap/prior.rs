//! How rare a word is before a team has written anything: a table of the words of software work, in order of frequency.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::kin::meaning;
use super::stem::stem;

/// Rarity in bits: a word of *n* bits is in one text of 2ⁿ.
pub(super) type Bits = u8;

/// What is in no table.
pub(super) const UNKNOWN: Bits = 12;

/// Words of grammar: in every second text, or nearly.
const GRAMMAR: &str = "a an the to of in on for and or is are be as at by with from that this it its was were been not no do does \
did has have had will would should can could may might must when if then than so we i you he she they there here but into \
out up about which while what how all any some such only also just more most other another these those our your their us them \
who whom whose where why because since until after before during over under between both each every few many much own same \
very too again once now still yet already even never always often etc via per one two being having doing let make sure get \
got go goes going come want wants need needs needed like e g ie eg s t re ve ll d m don doesn didn isn aren wasn won cannot able \
something anything nothing everything anywhere everywhere whole entire however instead without within whether either neither though although else off down through \
longer shorter less least better best later earlier required rather quite due \
see note please currently current done way thing things lot bit really actually well good first last next new old";

/// In every tenth text.
const COMMON: &str = "fix add test update error fail change use remove file code run work issue problem set support build call \
check version return value name line user type function method class create default configuration doc message log \
api data make case time read write try implement allow show start end list key option result example request \
open command output feature task bug project implementation report improve handle missing expected using based \
following possible different multiple single empty null true false ok id http https com org www github html md description status \
todo review summary context current behaviour behavior follow-on cause causes happen happens look looks seems instead";

/// In every thirtieth.
const USUAL: &str = "server client string object path directory system process service database table query field column row index \
src lib app pkg crate config cache page link button form view component module package library dependency import export release branch commit merge \
pull push request review document comment refactor cleanup warning exception stack trace debug print format parse load save store \
delete move copy rename replace convert size length count number limit max min timeout retry connection connect session token auth \
login password permission access role group host port url link address network local remote thread lock async await sync event \
queue job worker schedule state flag mode level property attribute parameter argument variable constant input response header body \
content text json xml yaml csv sql schema migration model interface abstract base method override extend generic type annotation \
security vulnerability certificate ssl tls encrypt hash signature memory cpu disk performance slow fast optimize latency \
upgrade java python rust go javascript typescript node react docker kubernetes linux windows mac script shell bash \
environment production staging deploy deployment ci pipeline workflow action step stage target source destination \
unit integration coverage assert mock fixture failure flaky pass skip suite case harness benchmark metric monitor alert \
dashboard chart documentation readme guide tutorial example sample template pattern rule policy filter sort order search match \
find group join select insert duplicate unique conflict invalid valid validate validation verify correct wrong broken break \
crash panic hang deadlock race leak null pointer overflow underflow boundary edge corner condition loop iteration recursion \
first second third next previous last start stop begin finish complete initial init shutdown restart reload refresh reset clear \
enable disable toggle hide display render layout style color font icon image screen window dialog menu tab modal tooltip \
message notification email channel topic publish subscribe consumer producer stream buffer batch chunk block node cluster \
replica shard partition leader follower backup restore snapshot archive storage bucket object upload download transfer \
tool agent plugin extension hook middleware handler controller router route endpoint resource repository entity domain \
account profile customer product item order payment invoice price admin member team workspace organization tenant";

/// In every hundredth.
const SPECIAL: &str = "abort accept accumulate acquire adapter adjust advance aggregate algorithm alias align allocate alternative \
ambiguous analysis analyze anchor announce anonymous api append apply approach approve arbitrary architecture assign associate \
assume atomic attach attempt audit automatic available avoid aware backend background backoff backport backward balance bandwidth \
banner barrier basic behind binary bind blank blob boot bottleneck bound bounded breadcrumb broadcast browser budget bundle bypass byte \
calculate calendar callback cancel candidate capability capacity capture cascade category chain character charset checkpoint checksum \
child choose circular clarify clean click clock clone close cloud codec collapse collect collection collision combine compare \
compatibility compile compiler complex compress compression compute concurrent confirm confuse consistent console consolidate \
constraint construct constructor consume contain container continue contract contribute control cookie coordinate core correlation \
corrupt cost cover crawl credential cron cross currency cursor custom cycle daemon dark date daylight dead deadline decimal decision \
declare decode decouple decrease deduplicate deep define delay delegate delimiter deliver demo deny depend deprecate depth derive \
deserialize design detach detail detect determine device diagnostic dictionary diff digest dimension disconnect discover dispatch \
distribute document domain double draft drag drain drift drive driver drop dry dump dynamic eager edit editor effect efficient element \
embed emit encode encoding enforce engine enhance ensure entry enum enumerate escape estimate evaluate evict exact exclude execute \
executor exit expand expire explain explicit expose expression external extract factory fallback fault favor federation fetch fire \
flow flush focus footer force foreign fork forward fragment frame framework freeze frontend full garbage gateway gather \
generate global grace graceful grant granular graph grid guard handshake hardcode hardware heartbeat heap helper hidden hierarchy \
highlight history home hot hover idempotent identical identifier identity idle ignore immutable impact implicit include incomplete \
inconsistent incorrect increase increment indent infer infinite inherit inject inline inner insecure inspect install instance instruct \
instrument integer integrate intercept intermittent internal interrupt interval introduce invalidate inventory investigate invite \
invoke isolate jar join journal jump junit keep keyboard keyword kill label lambda language large late launch layer lazy leaf lease left \
legacy lifecycle light link lint listen listener literal live locale locate locator long lookup low macro mail main maintain maintenance \
manage manager manifest manual map mark markdown mask master maven measure mechanism media menu metadata migrate minimal minor mirror mobile \
mount multi mutable mutex namespace native navigate navigation negative nest noise noisy normalize notify numeric obsolete obtain occur offline offset omit \
online operate operation operator optional orchestrate origin original orphan outdated overhead overlap overwrite owner pad paginate \
parallel parent partial patch pause peer pending period permit persist phase physical pick ping pin placeholder plain plan platform \
poll pool popup position post precision prefer prefix prepare present preserve prevent preview primary principal priority private \
privilege probe profile program progress promise promote prompt propagate propose protect protocol prototype provide provider provision \
proxy prune public purge quality quarantine quick quota quote raise random range rate raw reach react ready real reason receive recent \
recommend reconcile reconnect record recover recovery recursive redirect reduce redundant refer reference reflect regex region register registry \
regression reject relate relation relative relay release reliable relocate rely remind render repair repeat report represent reproduce require \
requirement reserve resilient resize resolve resolver responsive rest restrict retain retention retrieve reuse revert revise revoke \
rewrite right robust rollback rollout root rotate rotation round runner runtime safe sandbox sanitize scalable scale scan scope score \
scroll seal section secure seed segment self semantic send sensitive separate sequence serial serialize setup severity shade shadow \
shape share shared shell shift ship short signal silent similar simple simplify simulate singleton site slash sleep slice slot small \
smoke snippet socket soft software solve space span spawn special specific specify spec spinner split spring stable stale standard static \
statistics step stick stub submit subsystem success suffix suggest suppress surface suspend swap switch symbol symlink syntax tail tag \
telemetry temp temporary terminal terminate terminology theme throttle throughput throw tick ticket timer timestamp timezone title toast \
token toolbar top topology total touch track transaction transform transient transition translate translation transport traverse tree \
trigger trim truncate trust tune tuple typo unable unavailable unbounded undefined undo unexpected unhandled uniform unify uninstall \
union unknown unlock unnecessary unreachable unsafe unsupported unused upload upstream usage utility variant vendor verbose version \
virtual visible visit volume wait wake walk watch weak web webhook websocket whitelist wide widget wild wildcard wire wizard wrap \
wrapper write zero zip zone";

/// The rarity of a stem, of one that stands for others, and of the first letters of words.
struct Table {
    stems: HashMap<String, Bits>,
    starts: HashMap<String, Bits>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut table = Table { stems: HashMap::new(), starts: HashMap::new() };
    for (words, bits) in [(GRAMMAR, 2), (COMMON, 4), (USUAL, 6), (SPECIAL, 8)] {
        for word in words.split_whitespace() {
            table.stems.entry(meaning(&stem(word)).to_owned()).or_insert(bits);
            if let Some(start) = start(word) {
                table.starts.entry(start).or_insert(bits);
            }
        }
    }
    table
});

/// The first letters of a longer word: what its other forms, and its misspellings, begin with.
pub(super) fn start(word: &str) -> Option<String> {
    let long = word.chars().nth(5).is_some() && word.chars().all(char::is_alphabetic);
    long.then(|| word.chars().take(4).collect())
}

/// How rare a meaning is.
pub(super) fn of_meaning(meaning: &str) -> Bits {
    TABLE.stems.get(meaning).copied().unwrap_or(UNKNOWN)
}

/// How rare it is that a longer word begins so.
pub(super) fn of_start(start: &str) -> Bits {
    // Many words begin alike, so a beginning that no word of the table has is not as rare as a word.
    TABLE.starts.get(start).copied().unwrap_or(UNKNOWN - 2)
}

/// How rare a number is: the small ones are everywhere.
pub(super) fn of_number(digits: usize) -> Bits {
    match digits {
        0 | 1 => 5,
        2 => 7,
        3 => 9,
        _ => 11,
    }
}

/// How rare a pair of signs is. Those of grammar are written with one alphabet of Japanese.
pub(super) fn of_glyph(glyph: &str) -> Bits {
    let grammar = glyph.chars().all(|sign| ('\u{3040}'..='\u{309f}').contains(&sign));
    if grammar { 5 } else { 10 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_words_are_less_rare_than_special_ones() {
        let bits = |word: &str| of_meaning(meaning(&stem(word)));
        assert!(
            bits("the") < bits("tests")
                && bits("tests") < bits("servers")
                && bits("servers") < bits("backoff")
        );
        assert!(bits("backoff") < bits("zookeeper"));
        assert_eq!(start("retry"), None);
        assert_eq!(start("retrying").as_deref(), Some("retr"));
        assert!(of_start("vers") < of_start("zook"));
    }
}
