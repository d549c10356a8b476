use proptest::prelude::*;

use super::*;

/// All lines of a stream that is read in pieces of these lengths.
async fn read(stream: &[u8], limit: usize, pieces: &[usize]) -> Vec<Result<Bytes, LineTooLong>> {
    let mut lines = Lines::new(limit);
    let mut found = Vec::new();
    let mut pieces = pieces.iter().copied().cycle();
    let mut rest = stream;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(pieces.next().unwrap_or(rest.len()).min(rest.len()));
        rest = after;
        let mut piece = piece;
        while lines.fill(&mut piece).await.unwrap() > 0 {
            while let Some(line) = lines.next_line().transpose() {
                found.push(line);
            }
        }
    }
    found.extend(lines.unfinished().map(Ok));
    found
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

#[tokio::test]
async fn line_ends_are_not_part_of_lines() {
    let lines = read(b"a\r\n\r\n\nb\rc\nlast", 9, &[]).await;
    let expected = ["a", "", "", "b\rc", "last"].map(|line| Ok(Bytes::from(line)));
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn d071_long_lines_pass() {
    for length in [65_537, 5 * 1024 * 1024] {
        let mut stream = vec![b'x'; length];
        stream.extend_from_slice(b"\nnext\n");
        let found = read(&stream, DEFAULT_LINE_LIMIT, &[65_536]).await;
        let lengths: Vec<_> = found.iter().map(|line| line.as_ref().unwrap().len()).collect();
        assert_eq!(lengths, [length, 4]);
    }
}

#[tokio::test]
async fn a_line_above_the_limit_is_refused_once_and_the_next_one_read() {
    for pieces in [1, 2, 3, 1000] {
        let found = read(b"1234\r\n12345\n\n123456789\r\nab\n1234567", 4, &[pieces]).await;
        let refused = || Err(LineTooLong { limit: 4 });
        let expected =
            [Ok("1234".into()), refused(), Ok("".into()), refused(), Ok("ab".into()), refused()];
        assert_eq!(found, expected, "{pieces}");
    }
    let error = LineTooLong { limit: 4 }.to_string();
    assert_eq!(error, "a line is longer than the limit of 4 bytes");
}

#[tokio::test]
async fn f17_one_byte_order_mark_is_skipped() {
    for pieces in [1, 2, 3, 4, 1000] {
        let found = read(b"\xEF\xBB\xBF{}\r\n\xEF\xBB\xBF{}\n", 5, &[pieces]).await;
        assert_eq!(found, [Ok("{}".into()), Ok("\u{FEFF}{}".into())], "{pieces}");
        let twice = read(b"\xEF\xBB\xBF\xEF\xBB\xBF{}\n", 9, &[pieces]).await;
        assert_eq!(twice, [Ok("\u{FEFF}{}".into())], "{pieces}");
        // It counts for nothing in the limit, and a part of it is no mark.
        let alone = read(b"\xEF\xBB\xBF", 0, &[pieces]).await;
        assert_eq!(alone, [], "{pieces}");
        for part in [&b"\xEF"[..], b"\xEF\xBB", b"\xEF\xBBa", b"a\xEF\xBB\xBF"] {
            let found = read(part, 9, &[pieces]).await;
            assert_eq!(found, [Ok(Bytes::copy_from_slice(part))], "{pieces}");
            let found = read(&[part, b"\n"].concat(), 9, &[pieces]).await;
            assert_eq!(found, [Ok(Bytes::copy_from_slice(part))], "{pieces}");
        }
    }
}

#[tokio::test]
async fn an_unfinished_line_is_searched_once() {
    let mut lines = Lines::default();
    for _ in 0..10 {
        lines.fill(&mut &b"no end"[..]).await.unwrap();
        assert_eq!(lines.next_line(), Ok(None));
        assert_eq!(lines.searched, lines.buffer.len());
    }
    lines.fill(&mut &b"\n"[..]).await.unwrap();
    assert_eq!(lines.next_line().unwrap().unwrap().len(), 60);
}

#[tokio::test]
async fn the_memory_of_a_long_line_is_not_kept() {
    let mut lines = Lines::default();
    let mut stream = &[vec![b'x'; 5 << 20], b"\nnext".to_vec()].concat()[..];
    while lines.fill(&mut stream).await.unwrap() > 0 {}
    assert_eq!(lines.next_line().unwrap().unwrap().len(), 5 << 20);
    lines.buffer.reserve(READ);
    assert!(lines.buffer.capacity() <= KEEP, "{}", lines.buffer.capacity());
    assert_eq!(lines.unfinished().unwrap(), "next");
}

#[test]
fn pieces_make_no_difference() {
    let stream = prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), Just(b'a')], 0..200);
    let pieces = prop::collection::vec(1_usize..20, 1..10);
    proptest!(|(stream in stream, pieces in pieces, limit in 0_usize..12)| {
        let whole = run(read(&stream, limit, &[]));
        prop_assert_eq!(run(read(&stream, limit, &pieces)), whole);
    });
}
