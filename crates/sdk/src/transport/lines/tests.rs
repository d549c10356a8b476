use super::*;
use bytes::Bytes;
use futures_util::FutureExt;
use std::future::poll_fn;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf, duplex, split};

type End = LineTransport<ReadHalf<DuplexStream>, WriteHalf<DuplexStream>>;

fn end(room: usize) -> (End, DuplexStream) {
    let (ours, theirs) = duplex(room);
    let (reader, writer) = split(ours);
    (LineTransport::new(reader, writer), theirs)
}

fn say(end: &mut End, text: &str) {
    end.send(Outgoing::from_server(Lane::Connection, text.as_bytes().to_vec()));
}

async fn flush(end: &mut End) {
    poll_fn(|cx| end.poll_flush(cx)).await.expect("written");
}

async fn hear(end: &mut End) -> Event {
    poll_fn(|cx| end.poll_recv(cx)).await
}

#[tokio::test]
async fn a_message_is_one_line_however_it_was_laid_out() {
    let (mut end, mut other) = end(1024);
    say(&mut end, "{\n\"a\":\n\"\\n\"\n}");
    say(&mut end, "{}");
    flush(&mut end).await;
    let mut read = vec![0; 64];
    let n = other.read(&mut read).await.unwrap();
    assert_eq!(&read[..n], b"{ \"a\": \"\\n\" }\n{}\n");
}

#[tokio::test]
async fn what_is_read_slowly_is_not_kept_once_it_is_read() {
    let (mut end, mut other) = end(64 << 10);
    let line = "x".repeat(100_000);
    let mut read = vec![0; 64 << 10];
    let mut total = 0;
    // The reader keeps up without ever emptying the queue.
    say(&mut end, &line);
    for _ in 0..200 {
        say(&mut end, &line);
        let mut left = line.len() + 1;
        total += left;
        while left > 0 {
            let _ = poll_fn(|cx| end.poll_flush(cx)).now_or_never();
            let most = left.min(read.len());
            left -= other.read(&mut read[..most]).await.unwrap();
        }
        assert!(end.queued() < 3 * line.len());
    }
    assert!(total > 20_000_000);
    assert!(end.output.capacity() < 8 << 20, "{} bytes are kept", end.output.capacity());
}

#[tokio::test]
async fn blank_lines_are_none_and_the_last_needs_no_end() {
    let (mut end, mut other) = end(1024);
    other.write_all(b"\n  \r\n{\"a\":1}\r\n{\"b\":2}").await.unwrap();
    drop(other);
    for expected in ["{\"a\":1}", "{\"b\":2}"] {
        match hear(&mut end).await {
            Event::Message { bytes, .. } => assert_eq!(bytes, Bytes::from(expected)),
            other => panic!("{other:?}"),
        }
    }
    assert!(matches!(hear(&mut end).await, Event::Closed(_)));
    assert!(matches!(hear(&mut end).await, Event::Closed(_)), "and stays closed");
}

#[tokio::test]
async fn f17_one_byte_order_mark_is_skipped() {
    let (mut end, mut other) = end(1024);
    // In pieces, and before a line that is none.
    other.write_all(b"\xEF").await.unwrap();
    assert!(hear(&mut end).now_or_never().is_none());
    other.write_all(b"\xBB\xBF\n{\"a\":1}\n\xEF\xBB\xBF{}\n").await.unwrap();
    for expected in ["{\"a\":1}", "\u{FEFF}{}"] {
        match hear(&mut end).await {
            Event::Message { bytes, .. } => assert_eq!(bytes, Bytes::from(expected)),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_line_beyond_the_limit_is_told_and_skipped() {
    let (end, mut other) = end(1024);
    let mut end = end.limit(10);
    other.write_all(b"0123456789abc\n0123456789\n").await.unwrap();
    assert!(matches!(hear(&mut end).await, Event::Oversize { limit: 10 }));
    assert!(matches!(hear(&mut end).await, Event::Message { bytes, .. } if bytes.len() == 10));
}

#[tokio::test]
async fn closing_writes_what_is_queued_and_then_ends_the_stream() {
    let (mut end, mut other) = end(8);
    say(&mut end, "a longer line than there is room for");
    let reading = tokio::spawn(async move {
        let mut all = String::new();
        other.read_to_string(&mut all).await.unwrap();
        all
    });
    poll_fn(|cx| end.poll_close(cx)).await;
    say(&mut end, "too late");
    flush(&mut end).await;
    assert_eq!(end.queued(), 0);
    assert_eq!(reading.await.unwrap(), "a longer line than there is room for\n");
}
