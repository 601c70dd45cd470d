//! Lines in pieces, lines without end, and what is held of them.

use proptest::prelude::*;

use super::*;

/// Feeds the chunks, and takes all lines after each.
fn lines(limit: usize, chunks: &[&[u8]]) -> (Vec<Result<Vec<u8>, ()>>, usize) {
    let mut lines = Lines::new(limit);
    let mut out = Vec::new();
    let mut most = 0;
    let keep = |line: Line<'_>| match line {
        Line::Whole(line) => Ok(line.to_vec()),
        Line::TooLong => Err(()),
    };
    let mut cx = Context::from_waker(std::task::Waker::noop());
    for chunk in chunks {
        let mut reader = *chunk;
        while !reader.is_empty() {
            assert!(lines.poll_fill(&mut cx, Pin::new(&mut reader)).is_ready());
            while let Some(line) = lines.take() {
                out.push(keep(line));
            }
            most = most.max(lines.room.len());
        }
    }
    out.extend(lines.rest().map(keep));
    (out, most)
}

fn whole(lines: &[&str]) -> Vec<Result<Vec<u8>, ()>> {
    lines.iter().map(|line| Ok(line.as_bytes().to_vec())).collect()
}

#[test]
fn lines_come_out_whole_however_they_went_in() {
    let chunks: [&[u8]; 5] = [b"on", b"e\ntwo\r\n\n \t\r\nthr", b"ee", b"\nla", b"st"];
    assert_eq!(lines(100, &chunks).0, whole(&["one", "two", "three", "last"]));
}

#[test]
fn a_line_over_the_limit_is_reported_once_and_the_next_is_served() {
    let long = [b'x'; 50];
    let chunks: [&[u8]; 5] = [b"a\n", &long, &long, b"xx\nb\n", b"12345678901\nc"];
    let mut expected = whole(&["a", "b", "c"]);
    expected.insert(1, Err(()));
    expected.insert(3, Err(()));
    assert_eq!(lines(10, &chunks).0, expected);
}

#[test]
fn a_line_that_never_ends_is_not_held() {
    let chunk = vec![b'x'; 256 * 1024];
    let chunks = vec![chunk.as_slice(); 64];
    let (out, most) = lines(1024 * 1024, &chunks);
    assert_eq!(out, [Err(())]);
    assert!(most <= 1024 * 1024 + READ, "{most}");
}

#[test]
fn the_ends_of_a_line_that_is_too_long_are_kept_however_it_came() {
    let mut line = b"the head ".to_vec();
    line.extend(vec![b'x'; 2000]);
    line.extend(b" the tail");
    for size in [1, 7, 64, 300, 5000] {
        let mut lines = Lines::keeping_ends(1000);
        let mut cx = Context::from_waker(std::task::Waker::noop());
        let mut reports = Vec::new();
        let whole = [line.as_slice(), b"\nnext\n"].concat();
        for mut chunk in whole.chunks(size) {
            assert!(lines.poll_fill(&mut cx, Pin::new(&mut chunk)).is_ready());
            while let Some(Line::TooLong) = lines.take() {
                reports.push(lines.overlong().unwrap().ended);
            }
        }
        assert!(matches!(reports.as_slice(), [false, true] | [true]), "{size}: {reports:?}");
        let overlong = lines.overlong().unwrap();
        assert_eq!((overlong.head.len(), overlong.tail.len()), (256, 256), "{size}");
        assert!(overlong.head.starts_with(b"the head ") && overlong.tail.ends_with(b" the tail"));
    }
}

#[test]
fn a_quiet_connection_gives_its_room_back() {
    let mut long = vec![b'x'; 1024 * 1024];
    long.push(b'\n');
    let mut lines = Lines::new(4 * 1024 * 1024);
    let mut cx = Context::from_waker(std::task::Waker::noop());
    let mut reader = long.as_slice();
    while !reader.is_empty() {
        assert!(lines.poll_fill(&mut cx, Pin::new(&mut reader)).is_ready());
    }
    assert!(matches!(lines.take(), Some(Line::Whole(line)) if line.len() == 1024 * 1024));
    assert!(lines.poll_fill(&mut cx, Pin::new(&mut b"a\n".as_slice())).is_ready());
    assert!(lines.room.capacity() <= READ);
}

proptest! {
    #[test]
    fn any_split_of_any_bytes_gives_the_same_lines(
        bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), any::<u8>()], 0..400),
        cuts in proptest::collection::vec(0_usize..400, 0..6),
        limit in 1_usize..60,
    ) {
        let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let chunks: Vec<_> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        prop_assert_eq!(lines(limit, &chunks).0, lines(limit, &[&bytes]).0);
    }
}
