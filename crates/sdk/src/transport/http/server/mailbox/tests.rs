//! What a mailbox holds and gives.

use std::future::poll_fn;

use futures_util::FutureExt;

use super::*;

fn message(text: &'static str) -> Outgoing {
    Outgoing { bytes: Bytes::from_static(text.as_bytes()), sent: Sent::Notification, error: None }
}

fn last(text: &'static str) -> Outgoing {
    Outgoing { sent: Sent::Response, ..message(text) }
}

async fn next(reader: &mut Turn) -> Option<(u64, Outgoing)> {
    poll_fn(|cx| reader.poll_next(cx)).await
}

fn now(reader: &mut Turn) -> Option<(u64, String)> {
    let (number, message) = next(reader).now_or_never()??;
    Some((number, String::from_utf8(message.bytes.to_vec()).unwrap()))
}

#[test]
fn messages_come_in_order_and_end_with_the_last() {
    let mailbox = Mailbox::new(100);
    let mut reader = mailbox.read();
    mailbox.push(message("a"), true);
    mailbox.push(last("b"), false);
    mailbox.push(message("late"), false);
    assert_eq!(now(&mut reader), Some((1, "a".into())));
    assert_eq!(now(&mut reader), Some((2, "b".into())));
    assert!(mailbox.is_ended());
    assert!(next(&mut reader).now_or_never().unwrap().is_none());
}

#[test]
fn a_reader_sleeps_until_something_comes() {
    let mailbox = Mailbox::new(100);
    let mut reader = mailbox.read();
    let mut task = by_hand(async move { next(&mut reader).await.is_none() });
    assert!(task().is_none());
    mailbox.end();
    assert_eq!(task(), Some(true));
}

/// Polls a future by hand; panics when polled again without a wake-up.
fn by_hand<T>(future: impl Future<Output = T> + 'static) -> impl FnMut() -> Option<T> {
    struct Flag(std::sync::atomic::AtomicBool);
    impl std::task::Wake for Flag {
        fn wake(self: Arc<Self>) {
            self.0.store(true, std::sync::atomic::Ordering::SeqCst);
        }
    }
    let flag = Arc::new(Flag(true.into()));
    let mut future = Box::pin(future);
    move || {
        assert!(flag.0.swap(false, std::sync::atomic::Ordering::SeqCst), "not woken");
        let waker = Waker::from(Arc::clone(&flag));
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => Some(value),
            Poll::Pending => None,
        }
    }
}

#[test]
fn a_second_reader_takes_over() {
    let mailbox = Mailbox::new(100);
    let mut first = mailbox.read();
    let mut second = mailbox.read();
    mailbox.push(message("a"), true);
    assert!(next(&mut first).now_or_never().unwrap().is_none());
    assert_eq!(now(&mut second), Some((1, "a".into())));
    drop(first);
    assert!(mailbox.is_read(), "the first has no say any more");
    drop(second);
    assert!(!mailbox.is_read());
}

#[test]
fn a_change_that_waits_stands_for_equal_ones() {
    let change = |text| Outgoing { sent: Sent::Change, ..message(text) };
    let mailbox = Mailbox::new(4);
    let mut reader = mailbox.read();
    for _ in 0..1000 {
        mailbox.push(change("tools"), true);
        mailbox.push(change("prompts"), true);
    }
    assert_eq!(mailbox.len(), "toolsprompts".len());
    assert_eq!(now(&mut reader), Some((1, "tools".into())));
    // This one happened after the other was read.
    mailbox.push(change("tools"), true);
    assert_eq!(now(&mut reader), Some((2, "prompts".into())));
    assert_eq!(now(&mut reader), Some((3, "tools".into())));
}

#[test]
fn a_slow_reader_loses_only_what_it_can_do_without() {
    let mailbox = Mailbox::new(4);
    let mut reader = mailbox.read();
    mailbox.push(message("aaaa"), true);
    mailbox.push(message("progress"), true);
    mailbox.push(last("response"), false);
    assert_eq!(now(&mut reader), Some((1, "aaaa".into())));
    assert_eq!(now(&mut reader), Some((2, "response".into())));
}

#[test]
fn f23_of_what_nobody_reads_only_so_much_is_kept() {
    let mailbox = Mailbox::new(10);
    let reader = mailbox.read();
    mailbox.push(last("0123456789"), false);
    drop(reader);
    assert!(!mailbox.is_lost());
    let mut reader = mailbox.read();
    assert_eq!(now(&mut reader), Some((1, "0123456789".into())));

    let mailbox = Mailbox::new(10);
    let (old, reader) = (mailbox.read(), mailbox.read());
    mailbox.push(last("0123456789+"), false);
    drop(old);
    assert_eq!((mailbox.len(), mailbox.is_lost()), (11, false), "another one reads");
    drop(reader);
    assert_eq!((mailbox.len(), mailbox.is_lost()), (0, true));
}
