//! The messages of one lane on their way to its client.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;

use carrick_proto::peer::Sent;

/// One message for the client.
#[derive(Debug, Clone)]
pub(super) struct Outgoing {
    pub(super) bytes: Bytes,
    /// What it is.
    pub(super) sent: Sent,
    /// The code, of an error response.
    pub(super) error: Option<i64>,
}

impl Outgoing {
    /// Whether it is the response that the exchange waits for; nothing comes
    /// after it.
    pub(super) fn is_last(&self) -> bool {
        self.sent == Sent::Response
    }
}

/// Where the server puts what it says on one lane, and one reader takes it.
///
/// It keeps what was read, as long as that fits into its bound, so that a
/// client whose connection broke can ask for it again. Messages are numbered
/// from 1; number 0 is the start of the lane.
#[derive(Debug)]
pub(super) struct Mailbox {
    state: Mutex<State>,
    max_bytes: usize,
}

#[derive(Debug)]
struct State {
    kept: VecDeque<Outgoing>,
    /// Number of the first message in `kept`.
    first: u64,
    /// Number of the next message to read.
    next: u64,
    kept_bytes: usize,
    unread_bytes: usize,
    dropped: u64,
    ended: bool,
    /// Which of the readers so far may read.
    reader: u64,
    /// Whether that one is still there.
    is_read: bool,
    /// Which reader was told to come back, and after how long.
    paused: Option<(u64, Option<Duration>)>,
    waker: Option<Waker>,
}

/// Room for changes beyond the bound of the rest: more than a session can
/// subscribe to at a time, so that none of them is ever lost.
const CHANGES: usize = 4 << 20;

/// The numbers asked for are not kept any more.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Gone;

impl Mailbox {
    /// A mailbox that holds up to `max_bytes` of unread messages, and of read
    /// ones in what is left of that.
    pub(super) fn new(max_bytes: usize) -> Arc<Self> {
        let state = State {
            kept: VecDeque::new(),
            first: 1,
            next: 1,
            kept_bytes: 0,
            unread_bytes: 0,
            dropped: 0,
            ended: false,
            reader: 0,
            is_read: false,
            paused: None,
            waker: None,
        };
        Arc::new(Self { state: Mutex::new(state), max_bytes })
    }

    /// Adds a message. One that the client can do without (`expendable`) is
    /// dropped, and counted, while the client reads too slowly. A change that
    /// waits already is not added again.
    pub(super) fn push(&self, message: Outgoing, expendable: bool) {
        let mut state = self.lock();
        let len = message.bytes.len();
        if state.ended || (message.sent == Sent::Change && state.waits(&message)) {
            return;
        }
        let room = match message.sent {
            Sent::Change => self.max_bytes + CHANGES,
            _ => self.max_bytes,
        };
        if expendable && state.unread_bytes + len > room {
            state.dropped += 1;
            tracing::warn!(
                count = state.dropped,
                "a message was dropped: its client reads too slowly"
            );
            return;
        }
        state.ended = message.is_last();
        state.kept_bytes += len;
        state.unread_bytes += len;
        state.kept.push_back(message);
        while state.kept_bytes > self.max_bytes && state.first < state.next {
            state.forget_first();
        }
        state.wake();
    }

    /// Ends the lane without a response.
    pub(super) fn end(&self) {
        let mut state = self.lock();
        state.ended = true;
        state.wake();
    }

    /// Ends what the present reader sees, when there is one; the next goes on
    /// from there.
    pub(super) fn pause(&self, retry: Option<Duration>) {
        let mut state = self.lock();
        state.paused = Some((state.reader, retry));
        state.reader += 1;
        state.is_read = false;
        state.wake();
    }

    /// Whether nothing will be added.
    pub(super) fn is_ended(&self) -> bool {
        self.lock().ended
    }

    /// Whether somebody reads.
    pub(super) fn is_read(&self) -> bool {
        self.lock().is_read
    }

    /// Bytes held.
    pub(super) fn len(&self) -> usize {
        self.lock().kept_bytes
    }

    /// Starts to read where the last reader stopped, or after the message with
    /// this number. Another reader sees the end.
    pub(super) fn read(self: &Arc<Self>, after: Option<u64>) -> Result<Reader, Gone> {
        let mut state = self.lock();
        if let Some(after) = after {
            let end = state.first + state.kept.len() as u64;
            if after + 1 < state.first || after >= end {
                return Err(Gone);
            }
            state.next = after + 1;
            let skip = usize::try_from(state.next - state.first).unwrap_or(usize::MAX);
            state.unread_bytes = state.kept.iter().skip(skip).map(|m| m.bytes.len()).sum();
        }
        state.reader += 1;
        state.is_read = true;
        state.wake();
        Ok(Reader { mailbox: Arc::clone(self), turn: state.reader })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code that holds the lock can leave the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn unread(&self) -> u64 {
        self.first + self.kept.len() as u64 - self.next
    }

    /// Whether an equal message has not been read yet.
    fn waits(&self, message: &Outgoing) -> bool {
        let read = usize::try_from(self.next - self.first).unwrap_or(usize::MAX);
        self.kept.iter().skip(read).any(|unread| unread.bytes == message.bytes)
    }

    fn forget_first(&mut self) {
        if let Some(message) = self.kept.pop_front() {
            self.first += 1;
            self.kept_bytes -= message.bytes.len();
        }
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

/// The one that may read a mailbox now.
#[derive(Debug)]
pub(super) struct Reader {
    mailbox: Arc<Mailbox>,
    turn: u64,
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut state = self.mailbox.lock();
        state.is_read &= state.reader != self.turn;
    }
}

impl Reader {
    /// The number of the last message read.
    pub(super) fn position(&self) -> u64 {
        self.mailbox.lock().next - 1
    }

    /// Whether it was told to come back later, and after how long.
    pub(super) fn paused(&self) -> Option<Option<Duration>> {
        let paused = self.mailbox.lock().paused;
        paused.filter(|(turn, _)| *turn == self.turn).map(|(_, retry)| retry)
    }

    /// The next message and its number; `None` at the end of the lane, when it
    /// was paused, or when another reader has taken over.
    pub(super) async fn next(&mut self) -> Option<(u64, Outgoing)> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<(u64, Outgoing)>> {
        let mut state = self.mailbox.lock();
        if state.reader != self.turn {
            return Poll::Ready(None);
        }
        if state.unread() == 0 {
            if state.ended {
                return Poll::Ready(None);
            }
            state.waker = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let number = state.next;
        let at = usize::try_from(number - state.first).unwrap_or(usize::MAX);
        let Some(message) = state.kept.get(at).cloned() else {
            return Poll::Ready(None);
        };
        state.next += 1;
        state.unread_bytes -= message.bytes.len();
        Poll::Ready(Some((number, message)))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn message(text: &'static str) -> Outgoing {
        Outgoing {
            bytes: Bytes::from_static(text.as_bytes()),
            sent: Sent::Notification,
            error: None,
        }
    }

    fn last(text: &'static str) -> Outgoing {
        Outgoing { sent: Sent::Response, ..message(text) }
    }

    fn now(reader: &mut Reader) -> Option<(u64, String)> {
        let (number, message) = reader.next().now_or_never()??;
        Some((number, String::from_utf8(message.bytes.to_vec()).unwrap()))
    }

    #[test]
    fn messages_come_in_order_and_end_with_the_last() {
        let mailbox = Mailbox::new(100);
        let mut reader = mailbox.read(None).unwrap();
        mailbox.push(message("a"), true);
        mailbox.push(last("b"), false);
        mailbox.push(message("late"), false);
        assert_eq!(now(&mut reader), Some((1, "a".into())));
        assert_eq!(now(&mut reader), Some((2, "b".into())));
        assert!(mailbox.is_ended());
        assert!(reader.next().now_or_never().unwrap().is_none());
    }

    #[test]
    fn a_reader_sleeps_until_something_comes() {
        let mailbox = Mailbox::new(100);
        let mut reader = mailbox.read(None).unwrap();
        let mut task = by_hand(async move { reader.next().await.is_none() });
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
    fn d047_what_was_sent_can_be_read_again_by_number() {
        let mailbox = Mailbox::new(100);
        let mut reader = mailbox.read(None).unwrap();
        mailbox.push(message("a"), true);
        mailbox.push(message("b"), true);
        assert_eq!(now(&mut reader).unwrap().0, 1);
        assert_eq!(now(&mut reader).unwrap().0, 2);
        drop(reader);
        mailbox.push(last("c"), false);
        let mut again = mailbox.read(Some(1)).unwrap();
        assert_eq!(now(&mut again), Some((2, "b".into())));
        assert_eq!(now(&mut again), Some((3, "c".into())));
        let mut from_start = mailbox.read(Some(0)).unwrap();
        assert_eq!(now(&mut from_start), Some((1, "a".into())));
        assert_eq!(mailbox.read(Some(4)).unwrap_err(), Gone);
    }

    #[test]
    fn a_second_reader_takes_over() {
        let mailbox = Mailbox::new(100);
        let mut first = mailbox.read(None).unwrap();
        let mut second = mailbox.read(None).unwrap();
        mailbox.push(message("a"), true);
        assert!(first.next().now_or_never().unwrap().is_none());
        assert_eq!(now(&mut second), Some((1, "a".into())));
        drop(first);
        assert!(mailbox.is_read(), "the first has no say any more");
        drop(second);
        assert!(!mailbox.is_read());
    }

    #[test]
    fn the_oldest_read_message_makes_room_and_is_then_gone() {
        let mailbox = Mailbox::new(4);
        let mut reader = mailbox.read(None).unwrap();
        mailbox.push(message("aa"), true);
        mailbox.push(message("bb"), true);
        assert_eq!(now(&mut reader).unwrap().0, 1);
        mailbox.push(message("cc"), false);
        assert_eq!(mailbox.len(), 4);
        assert_eq!(mailbox.read(Some(0)).unwrap_err(), Gone);
        assert!(mailbox.read(Some(1)).is_ok());
    }

    #[test]
    fn a_change_that_waits_stands_for_equal_ones() {
        let change = |text| Outgoing { sent: Sent::Change, ..message(text) };
        let mailbox = Mailbox::new(4);
        let mut reader = mailbox.read(None).unwrap();
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
        let mut reader = mailbox.read(None).unwrap();
        mailbox.push(message("aaaa"), true);
        mailbox.push(message("progress"), true);
        mailbox.push(last("response"), false);
        assert_eq!(mailbox.lock().dropped, 1);
        assert_eq!(now(&mut reader), Some((1, "aaaa".into())));
        assert_eq!(now(&mut reader), Some((2, "response".into())));
    }
}
