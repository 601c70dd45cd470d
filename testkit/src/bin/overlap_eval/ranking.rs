//! How high a text's first true duplicate stands among all others of its set.

use std::collections::HashSet;

use covenant_team::overlap::{Among, Features, Index, Query, Standing};

use crate::data::Set;

/// A linked text, and the rank of its first duplicate.
pub(crate) struct Rank {
    at: usize,
    rank: usize,
}

/// The figures of some texts.
pub(crate) struct Figures {
    pub(crate) queries: usize,
    pub(crate) mrr: f64,
    pub(crate) at_1: f64,
    pub(crate) at_5: f64,
}

/// The rank of every linked text. Texts with the same title as it or as a duplicate of it are left out: links are incomplete.
pub(crate) fn of(set: &Set) -> Vec<Rank> {
    let mut index = Index::default();
    for (at, doc) in set.docs.iter().enumerate() {
        index.put(at, &Features::of(&doc.brief), Standing::Open);
    }
    let mut ranks = Vec::new();
    for (at, doc) in set.docs.iter().enumerate().filter(|(_, doc)| !doc.duplicates.is_empty()) {
        let group = doc.duplicates.iter().filter_map(|other| set.docs.get(*other)).chain([doc]);
        let titles: HashSet<&str> = group.map(|doc| doc.title_key.as_str()).collect();
        let among = Among { except: Some(&at), ..Among::all() };
        let found = index.ranked(&Query::of(&doc.brief), &among, set.docs.len());
        let mut rank = 1;
        let mut reached = false;
        for found in found {
            if doc.duplicates.contains(&found.id) {
                reached = true;
                break;
            }
            let left_out =
                set.docs.get(found.id).is_some_and(|other| titles.contains(other.title_key.as_str()));
            rank += usize::from(!left_out);
        }
        ranks.push(Rank { at, rank: if reached { rank } else { set.docs.len() } });
    }
    ranks
}

/// The figures of all, of the earlier half by date, and of the later.
pub(crate) fn halves(ranks: &[Rank], half: usize) -> [(&'static str, Figures); 3] {
    let figures = |chosen: &dyn Fn(&Rank) -> bool| {
        let chosen: Vec<_> = ranks.iter().filter(|rank| chosen(rank)).collect();
        let count = real(chosen.len().max(1));
        let share = |most: usize| real(chosen.iter().filter(|rank| rank.rank <= most).count()) / count;
        let mrr = chosen.iter().map(|rank| 1.0 / real(rank.rank)).sum::<f64>() / count;
        Figures { queries: chosen.len(), mrr, at_1: share(1), at_5: share(5) }
    };
    [
        ("all", figures(&|_| true)),
        ("earlier", figures(&|rank| rank.at < half)),
        ("later", figures(&|rank| rank.at >= half)),
    ]
}

fn real(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::MAX, f64::from)
}
