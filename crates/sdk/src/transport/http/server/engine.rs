//! Running the conversation of a session: where there is work, and nowhere while
//! there is none. An idle session has no task, no channel and no timer.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Wake, Waker};

use tokio::runtime::Handle;

use carrick_proto::peer::{AskKey, Lane};

use super::conversation::{Conversation, Frame, Said};

/// Frames that may wait for a conversation before their senders wait.
const INBOX: usize = 64;

/// Turns that a run takes in the place of whoever began it, which has work of its
/// own; what is left goes on in a task.
const BURST: usize = 64;

/// What a conversation says, and who keeps it alive.
pub(super) trait Listener: Send + Sync + 'static {
    fn engine(&self) -> &Engine;

    /// Where tasks run.
    fn runtime(&self) -> &Handle;

    /// Hears what comes next; gives back a request of the server's own that
    /// cannot reach the client.
    fn said(&self, said: Said) -> Option<AskKey>;
}

/// A conversation that is run by whoever has work for it.
#[derive(Default)]
pub(super) struct Engine {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    place: Place,
    inbox: VecDeque<(Lane, Frame)>,
    /// Senders that wait for room in the inbox.
    senders: Vec<Waker>,
}

#[derive(Default)]
enum Place {
    /// Nobody runs it; boxed, since it moves to whoever does.
    Resting(Box<Conversation>),
    /// Somebody does; `again` if there is more for them to do.
    Running { again: bool },
    #[default]
    Ended,
}

impl Engine {
    pub(super) fn new(conversation: Box<Conversation>) -> Self {
        let state = State { place: Place::Resting(conversation), ..State::default() };
        Self { state: Mutex::new(state) }
    }

    /// Hands in a frame, once there is room; then [`run`] is to be called. False
    /// when the conversation has ended.
    pub(super) async fn take(&self, lane: Lane, frame: Frame) -> bool {
        let mut frame = Some((lane, frame));
        std::future::poll_fn(|cx| self.poll_take(&mut frame, cx)).await
    }

    fn poll_take(&self, frame: &mut Option<(Lane, Frame)>, cx: &mut Context<'_>) -> Poll<bool> {
        let mut state = self.lock();
        if matches!(state.place, Place::Ended) {
            return Poll::Ready(false);
        }
        if state.inbox.len() >= INBOX {
            state.senders.push(cx.waker().clone());
            return Poll::Pending;
        }
        state.inbox.extend(frame.take());
        Poll::Ready(true)
    }

    /// Ends the conversation, and its handlers with it.
    pub(super) fn end(&self) {
        let ended = std::mem::take(&mut *self.lock());
        ended.senders.into_iter().for_each(Waker::wake);
        // What handlers do when they are dropped is done without the lock.
        drop(ended.place);
    }

    /// Whether a run has to be begun for what has come; whoever runs it already
    /// is told.
    fn is_run_needed(&self) -> bool {
        match &mut self.lock().place {
            Place::Resting(_) => true,
            Place::Running { again } => {
                *again = true;
                false
            }
            Place::Ended => false,
        }
    }

    /// Takes the conversation, if nobody has it.
    fn start(&self) -> Option<Box<Conversation>> {
        let mut state = self.lock();
        match std::mem::replace(&mut state.place, Place::Running { again: true }) {
            Place::Resting(conversation) => {
                state.place = Place::Running { again: false };
                Some(conversation)
            }
            Place::Running { .. } => None,
            Place::Ended => {
                state.place = Place::Ended;
                None
            }
        }
    }

    /// The same, but only if no frame waits.
    fn start_empty(&self) -> Option<Box<Conversation>> {
        let mut state = self.lock();
        if !state.inbox.is_empty() || !matches!(state.place, Place::Resting(_)) {
            return None;
        }
        match std::mem::replace(&mut state.place, Place::Running { again: false }) {
            Place::Resting(conversation) => Some(conversation),
            // Not so, as was seen above.
            place => {
                state.place = place;
                None
            }
        }
    }

    /// What the one who runs it does next.
    fn next(&self, conversation: Box<Conversation>) -> Next {
        let mut state = self.lock();
        let Place::Running { again } = &mut state.place else { return Next::Ended(conversation) };
        let again = std::mem::take(again);
        if let Some((lane, frame)) = state.inbox.pop_front() {
            if state.inbox.len() < INBOX {
                std::mem::take(&mut state.senders).into_iter().for_each(Waker::wake);
            }
            return Next::Take(conversation, lane, frame);
        }
        if again {
            return Next::Go(conversation);
        }
        state.place = Place::Resting(conversation);
        if state.inbox.capacity() > 0 {
            state.inbox = VecDeque::new();
        }
        Next::Rest
    }

    /// Puts it back with work to do.
    fn put_back(&self, conversation: Box<Conversation>) {
        let mut state = self.lock();
        if matches!(state.place, Place::Running { .. }) {
            state.place = Place::Resting(conversation);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code that holds the lock can leave the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum Next {
    Take(Box<Conversation>, Lane, Frame),
    Go(Box<Conversation>),
    Rest,
    Ended(#[expect(dead_code, reason = "dropped where no lock is held")] Box<Conversation>),
}

/// Hears what a conversation says before its [`Listener`] does: whoever waits for an
/// answer, and may have it without a detour.
pub(super) trait Catch {
    /// Keeps what it waits for, and gives back all else.
    fn said(&mut self, said: Said) -> Option<Said>;

    /// There is no more for now; from here on others may run the conversation.
    fn rest(&mut self);
}

/// Nobody who waits.
struct Nobody;

impl Catch for Nobody {
    fn said(&mut self, said: Said) -> Option<Said> {
        Some(said)
    }

    fn rest(&mut self) {}
}

/// Runs the conversation for as long as there is something to do at once, unless
/// somebody else does; they will see what there is.
pub(super) fn run(listener: &dyn Listener, waker: &Waker) {
    if let Some(conversation) = listener.engine().start() {
        go_on(listener, waker, conversation, &mut Nobody);
    }
}

/// Takes a frame and runs the conversation, when nobody else does and nothing
/// waits. Otherwise the frame comes back.
pub(super) fn run_with(
    listener: &dyn Listener,
    waker: &Waker,
    (lane, frame): (Lane, Frame),
    catch: &mut impl Catch,
) -> Option<Frame> {
    let Some(mut conversation) = listener.engine().start_empty() else { return Some(frame) };
    let panicking = EndOnPanic(listener.engine());
    conversation.take(lane, frame);
    std::mem::forget(panicking);
    go_on(listener, waker, conversation, catch);
    None
}

/// Gives back the memory that only work needs, when nobody runs the conversation.
///
/// The engine is not locked meanwhile: handlers that say something lock what they
/// say it to first, and then the engine, to wake it.
pub(super) fn shrink(listener: &dyn Listener, waker: &Waker) {
    if let Some(mut conversation) = listener.engine().start_empty() {
        conversation.shrink();
        // Whoever has come meanwhile has left the rest to this.
        go_on(listener, waker, conversation, &mut Nobody);
    }
}

fn go_on(
    listener: &dyn Listener,
    waker: &Waker,
    mut conversation: Box<Conversation>,
    catch: &mut dyn Catch,
) {
    let engine = listener.engine();
    let panicking = EndOnPanic(engine);
    let mut cx = Context::from_waker(waker);
    for _ in 0..BURST {
        while let Poll::Ready(said) = conversation.poll_next(&mut cx) {
            if let Some(said) = catch.said(said)
                && let Some(ask) = listener.said(said)
            {
                conversation.unreachable(ask, "it has no stream open for it");
            }
        }
        catch.rest();
        conversation.rest();
        conversation = match engine.next(conversation) {
            Next::Take(mut conversation, lane, frame) => {
                conversation.take(lane, frame);
                conversation
            }
            Next::Go(conversation) => conversation,
            Next::Rest | Next::Ended(_) => return std::mem::forget(panicking),
        };
    }
    engine.put_back(conversation);
    std::mem::forget(panicking);
    waker.wake_by_ref();
}

/// A conversation that panics is over; otherwise everybody would wait for it.
struct EndOnPanic<'a>(&'a Engine);

impl Drop for EndOnPanic<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Wakes a conversation by running it in a task.
struct Rouse<L>(Weak<L>);

/// The waker of a conversation, which does not keep it alive.
pub(super) fn waker<L: Listener>(listener: Weak<L>) -> Waker {
    Waker::from(Arc::new(Rouse(listener)))
}

impl<L: Listener> Wake for Rouse<L> {
    fn wake(self: Arc<Self>) {
        let Some(listener) = self.0.upgrade() else { return };
        if !listener.engine().is_run_needed() {
            return;
        }
        let runtime = listener.runtime().clone();
        // The task does not keep the listener: it may end before it is run.
        drop(listener);
        runtime.spawn(async move {
            if let Some(listener) = self.0.upgrade() {
                run(&*listener, &Waker::from(Arc::clone(&self)));
            }
        });
    }
}
