//! What is counted: calls by tool and by how they ended, refusals by reason, and how long calls took. Numbers only: who
//! called, and with what, is the audit log's.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use covenant_model::audit::Decision;
use covenant_model::tool::ToolName;

use crate::gate::Gate;
use crate::refusal::Refusal;

/// How a call can end, in the order of its counters.
pub const OUTCOMES: [&str; 7] =
    ["ok", "error", "refused", "timed_out", "cancelled", "failed", "input_required"];

/// The codes of refusals, in the order of their counters.
const REASONS: [&str; 18] = [
    "unauthenticated",
    "rate_limited",
    "unknown_tool",
    "not_found",
    "not_granted",
    "invalid_arguments",
    "pending_approval",
    "approvals_full",
    "timed_out",
    "cancelled",
    "not_operator",
    "client_cannot",
    "approval_rejected",
    "too_deep",
    "not_in_manifest",
    "over_budget",
    "queue_full",
    "not_admin",
];

/// What a call is of, in the order of the histograms.
const KINDS: [&str; 7] = ["native", "script", "external", "agent", "resource", "prompt", "completion"];

/// The upper ends of the buckets in microseconds: from what a native tool takes to what a person waits for.
const BUCKETS: [u64; 17] = [
    100,
    250,
    500,
    1_000,
    2_500,
    5_000,
    10_000,
    25_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    5_000_000,
    10_000_000,
    60_000_000,
    300_000_000,
];

/// What a call is of: a kind of tool, or what is no tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind(usize);

impl Kind {
    pub(crate) const RESOURCE: Self = Self(4);
    pub(crate) const PROMPT: Self = Self(5);
    pub(crate) const COMPLETION: Self = Self(6);

    /// The kind of a tool that calls itself that; a word nobody knows counts as native.
    pub(crate) fn of_tool(word: &str) -> Self {
        Self(KINDS.iter().take(4).position(|known| *known == word).unwrap_or(0))
    }

    pub(crate) fn word(self) -> &'static str {
        KINDS.get(self.0).copied().unwrap_or_default()
    }
}

/// The calls of one tool, by how they ended.
#[derive(Debug, Default)]
pub(crate) struct Calls([AtomicU64; OUTCOMES.len()]);

impl Calls {
    pub(crate) fn count(&self, ended: Decision) {
        let place = match ended {
            Decision::Ok => 0,
            Decision::Error => 1,
            Decision::Refused => 2,
            Decision::TimedOut => 3,
            Decision::Cancelled => 4,
            Decision::InputRequired => 6,
            _ => 5,
        };
        add(&self.0, place, 1);
    }
}

/// How long calls of one kind took.
#[derive(Debug, Default)]
struct Times {
    buckets: [AtomicU64; BUCKETS.len() + 1],
    nanos: AtomicU64,
}

/// The counters that belong to no tool.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    refusals: [AtomicU64; REASONS.len()],
    times: [Times; KINDS.len()],
}

impl Meter {
    pub(crate) fn refused(&self, refusal: &Refusal) {
        add(&self.refusals, place(refusal), 1);
    }

    pub(crate) fn took(&self, kind: Kind, span: Duration) {
        let Some(times) = self.times.get(kind.0) else { return };
        let micros = u64::try_from(span.as_nanos().div_ceil(1000)).unwrap_or(u64::MAX);
        add(&times.buckets, BUCKETS.partition_point(|end| *end < micros), 1);
        times.nanos.fetch_add(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

fn add(counters: &[AtomicU64], place: usize, count: u64) {
    if let Some(counter) = counters.get(place) {
        counter.fetch_add(count, Ordering::Relaxed);
    }
}

/// Which counter a refusal has. No wildcard: a new refusal gets its word in `REASONS`.
fn place(refusal: &Refusal) -> usize {
    match refusal {
        Refusal::Unauthenticated => 0,
        Refusal::RateLimited { .. } => 1,
        Refusal::UnknownTool { .. } => 2,
        Refusal::NotFound { .. } => 3,
        Refusal::NotGranted { .. } => 4,
        Refusal::InvalidArguments { .. } => 5,
        Refusal::PendingApproval { .. } => 6,
        Refusal::ApprovalsFull { .. } => 7,
        Refusal::TimedOut { .. } => 8,
        Refusal::Cancelled { .. } => 9,
        Refusal::NotOperator { .. } => 10,
        Refusal::ClientCannot { .. } => 11,
        Refusal::ApprovalRejected { .. } => 12,
        Refusal::TooDeep { .. } => 13,
        Refusal::NotInManifest { .. } => 14,
        Refusal::OverBudget { .. } => 15,
        Refusal::QueueFull { .. } => 16,
        Refusal::NotAdmin { .. } => 17,
    }
}

/// What the counters show at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Readings {
    /// The calls of each tool there is, as [`OUTCOMES`] orders them.
    pub tools: Vec<(ToolName, [u64; OUTCOMES.len()])>,
    /// The refusals by their code.
    pub refusals: Vec<(&'static str, u64)>,
    /// How long calls took, for each kind of which there were any.
    pub times: Vec<Histogram>,
}

/// How long calls of one kind took.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    /// Of which kind.
    pub kind: &'static str,
    /// Seconds, and how many calls took at most that.
    pub buckets: Vec<(f64, u64)>,
    /// How many calls there were.
    pub count: u64,
    /// How long they took together, in seconds.
    pub sum: f64,
}

impl Times {
    fn read(&self, kind: &'static str) -> Histogram {
        let mut count = 0;
        let mut cumulative = self.buckets.iter().map(|bucket| {
            count += bucket.load(Ordering::Relaxed);
            count
        });
        let buckets =
            BUCKETS.iter().zip(&mut cumulative).map(|(end, count)| (seconds(*end), count)).collect();
        let rest = cumulative.last();
        let sum = Duration::from_nanos(self.nanos.load(Ordering::Relaxed)).as_secs_f64();
        Histogram { kind, buckets, count: rest.unwrap_or(0), sum }
    }
}

fn seconds(micros: u64) -> f64 {
    Duration::from_micros(micros).as_secs_f64()
}

impl Gate {
    /// What the counters show now.
    pub fn readings(&self) -> Readings {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let tools = self.tools.load();
        let tools =
            tools.entries().map(|entry| (entry.spec.name.clone(), entry.calls().0.each_ref().map(read)));
        let times = KINDS.iter().zip(&self.meter.times).map(|(kind, times)| times.read(kind));
        Readings {
            tools: tools.collect(),
            refusals: REASONS.into_iter().zip(self.meter.refusals.iter().map(read)).collect(),
            times: times.filter(|times| times.count > 0).collect(),
        }
    }

    /// Counts a refusal that was given outside the path of a call.
    pub fn count_refusal(&self, refusal: &Refusal) {
        self.meter.refused(refusal);
    }
}

#[cfg(test)]
mod tests {
    use covenant_model::id::ApprovalId;
    use covenant_model::principal::Principal;

    use super::*;

    #[test]
    fn every_refusal_is_counted_under_its_own_code() {
        let text = String::new;
        let principal = Principal::operator;
        let all = [
            Refusal::Unauthenticated,
            Refusal::RateLimited { wait: Duration::ZERO },
            Refusal::UnknownTool { name: text() },
            Refusal::NotFound { what: text() },
            Refusal::NotGranted { action: text(), principal: principal(), why: text() },
            Refusal::InvalidArguments { tool: text(), reason: text() },
            Refusal::PendingApproval { tool: text(), id: ApprovalId::from_random([0; 10]), page: None },
            Refusal::ApprovalsFull { principal: principal(), limit: 1 },
            Refusal::TimedOut { tool: text(), limit: Duration::ZERO },
            Refusal::Cancelled { tool: text() },
            Refusal::NotOperator { principal: principal() },
            Refusal::ClientCannot { tool: text(), kind: crate::inquiry::Kind::Roots },
            Refusal::ApprovalRejected { tool: text(), id: ApprovalId::from_random([0; 10]), reason: text() },
            Refusal::TooDeep { tool: text(), limit: 1 },
            Refusal::NotInManifest { action: text(), principal: principal() },
            Refusal::OverBudget { agent: text(), cap: 1, wait: Duration::ZERO },
            Refusal::QueueFull { limit: 1 },
            Refusal::NotAdmin { principal: principal(), why: "" },
        ];
        assert_eq!(all.each_ref().map(Refusal::code), REASONS);
        assert_eq!(all.each_ref().map(place), std::array::from_fn(|place| place));
    }

    #[test]
    fn a_call_falls_into_the_first_bucket_that_holds_it() {
        let meter = Meter::default();
        for micros in [0, 99, 100, 101, 300_000_000, 300_000_001] {
            meter.took(Kind::of_tool("native"), Duration::from_micros(micros));
        }
        meter.took(Kind::of_tool("native"), Duration::from_nanos(100_001));
        let times = meter.times[0].read("native");
        assert_eq!(times.buckets[0], (0.0001, 3), "a bucket holds its upper end, and not a nanosecond more");
        assert_eq!(times.buckets[1], (0.000_25, 5));
        assert_eq!(times.buckets.last(), Some(&(300.0, 6)));
        assert_eq!(times.count, 7);
        assert!((times.sum - 600.000_401).abs() < 1e-6, "{}", times.sum);
        assert!(BUCKETS.is_sorted());
    }

    #[test]
    fn kinds_have_the_words_of_their_places() {
        assert_eq!(Kind::RESOURCE.word(), "resource");
        assert_eq!(Kind::PROMPT.word(), "prompt");
        assert_eq!(Kind::COMPLETION.word(), "completion");
        for word in ["native", "script", "external", "agent"] {
            assert_eq!(Kind::of_tool(word).word(), word);
        }
        for odd in ["", "resource", "new"] {
            assert_eq!(Kind::of_tool(odd).word(), "native");
        }
    }
}
