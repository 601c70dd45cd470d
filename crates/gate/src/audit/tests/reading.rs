//! Reading rows back.

use covenant_model::audit::Row;

use super::super::read::Filter;
use super::*;

fn seqs(rows: &[String]) -> Vec<u64> {
    rows.iter().map(|row| Row::read(row.as_bytes()).unwrap().seq).collect()
}

#[tokio::test]
async fn the_newest_rows_come_oldest_first_across_segments_and_blocks() {
    let mut home = Home::new();
    home.segment_bytes = 150_000;
    let log = home.open();
    for _ in 0..20 {
        log.append(&vec![row(); 100], &Redactor::none()).await.unwrap();
    }
    assert!(home.segments().len() > 2);
    for limit in [0, 1, 2, 199, 200, 201, 999, 2000, 5000] {
        let rows = read::recent(&home.dir, &Filter { limit, ..Filter::default() }).unwrap();
        let want: Vec<u64> = (2001 - u64::try_from(limit.min(2000)).unwrap()..=2000).collect();
        assert_eq!(seqs(&rows), want);
    }
    // Half a row that is being written is not shown.
    add_to(&home.segments().pop().unwrap(), b"{\"seq\":2001,\"ts\"");
    let rows = read::recent(&home.dir, &Filter { limit: 1, ..Filter::default() }).unwrap();
    assert_eq!(seqs(&rows), [2000]);
}

#[tokio::test]
async fn rows_are_chosen_by_age_and_by_agent() {
    let home = Home::new();
    let log = home.open();
    for turn in 0..10 {
        home.clock.advance(Duration::from_secs(1));
        let agent = if turn % 2 == 0 { "tool:even" } else { "tool:\"odd\"" };
        let event = Event { agent_id: agent, ..row() };
        log.append(&[event], &Redactor::none()).await.unwrap();
    }
    let young = Filter { limit: 100, since: Some(Timestamp::from_millis(1_700_000_007_000)), agent_id: None };
    assert_eq!(seqs(&read::recent(&home.dir, &young).unwrap()), [7, 8, 9, 10]);
    let odd = Filter { limit: 3, since: None, agent_id: Some("tool:\"odd\"".to_owned()) };
    assert_eq!(seqs(&read::recent(&home.dir, &odd).unwrap()), [6, 8, 10]);
    let never = Filter { limit: 3, since: None, agent_id: Some("tool:od".to_owned()) };
    assert!(read::recent(&home.dir, &never).unwrap().is_empty());
}

#[tokio::test]
async fn a_tail_goes_on_as_rows_come() {
    let mut home = Home::new();
    home.segment_bytes = 2000;
    let log = home.open();
    log.append(&[row(); 20], &Redactor::none()).await.unwrap();
    let mut tail = read::tail(&home.dir, 15);
    let mut more = || seqs(&std::iter::from_fn(|| tail.next()).map(Result::unwrap).collect::<Vec<_>>());
    assert_eq!(more(), (15..=20).collect::<Vec<_>>());
    assert!(more().is_empty());
    for seq in 21..=60 {
        log.append(&[row()], &Redactor::none()).await.unwrap();
        assert_eq!(more(), [seq]);
    }
    assert!(home.segments().len() > 3);
    assert_eq!(read::tail(&home.dir, 0).count(), 60);
    assert_eq!(read::tail(&home.dir, 33).count(), 28);
    assert_eq!(read::tail(&home.dir, 100).count(), 0);
}

#[tokio::test]
async fn a_row_deep_in_a_large_segment_is_found_without_reading_it_all() {
    let home = Home::new();
    let log = home.open();
    for _ in 0..30 {
        log.append(&vec![row(); 100], &Redactor::none()).await.unwrap();
    }
    for seq in [1, 2, 500, 1499, 2999, 3000] {
        let first = read::tail(&home.dir, seq).next().unwrap().unwrap();
        assert_eq!(seqs(&[first]), [seq]);
    }
    let segment = segment::list(&home.dir).unwrap().remove(0);
    assert!(segment.open_at(2999).unwrap().1 > 600_000);
    assert_eq!((segment.first_seq().unwrap(), segment.last_seq().unwrap()), (Some(1), Some(3000)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_tail_misses_nothing_while_segments_change_under_it() {
    let mut home = Home::new();
    home.segment_bytes = 1000;
    let log = home.open();
    let writer = tokio::spawn({
        let log = log.clone();
        async move {
            for _ in 0..500 {
                log.append(&[row()], &Redactor::none()).await.unwrap();
            }
        }
    });
    let mut tail = read::tail(&home.dir, 1);
    let mut seen = log.subscribe();
    let mut rows = Vec::new();
    while rows.len() < 500 {
        match tail.next() {
            Some(row) => rows.push(row.unwrap()),
            None => seen.changed().await.unwrap(),
        }
    }
    writer.await.unwrap();
    assert_eq!(seqs(&rows), (1..=500).collect::<Vec<_>>());
}

#[tokio::test]
async fn an_export_ends_with_the_last_checkpoint_and_needs_one() {
    let home = Home::new();
    let log = home.open();
    log.append(&[row()], &Redactor::none()).await.unwrap();
    assert!(read::export(&home.dir, Vec::new()).is_err());
    log.checkpoint().await.unwrap();
    log.append(&[row()], &Redactor::none()).await.unwrap();
    let mut out = Vec::new();
    assert_eq!(read::export(&home.dir, &mut out).unwrap(), 1);
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text.lines().count(), 2);
    assert!(text.lines().last().unwrap().starts_with("{\"checkpoint\""));
}

#[tokio::test]
async fn a_tail_that_saw_half_a_row_which_was_cut_back_goes_on_with_the_true_one() {
    let home = Home::new();
    let log = home.open();
    log.append(&[row()], &Redactor::none()).await.unwrap();
    let path = home.segments().pop().unwrap();
    let length = std::fs::metadata(&path).unwrap().len();
    let mut tail = read::tail(&home.dir, 1);
    add_to(&path, b"{\"seq\":2,\"ts\":\"half");
    assert_eq!(seqs(&[tail.next().unwrap().unwrap()]), [1]);
    assert!(tail.next().is_none());
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(length).unwrap();
    log.append(&[row()], &Redactor::none()).await.unwrap();
    assert_eq!(seqs(&[tail.next().unwrap().unwrap()]), [2]);
    // A line that stays damaged is left out.
    add_to(&path, b"{\"seq\":3,\"what\":\"is this\"}\n");
    assert!(tail.next().is_none());
}
