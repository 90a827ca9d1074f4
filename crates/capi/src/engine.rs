//! The engine in a thread of its own, which stands still at an instant while somebody else decides what is posted there.
//!
//! The engine calls its injector in the middle of a run. What decides here are functions of the caller's, which are to be
//! called in the caller's thread, and which may end a call and go on in another one, later, at the same instant. So the
//! injector waits for what they post, and they for what the engine says: one of the two threads runs at a time.

use crate::error::OnlineError;
use anabranch_base::Time;
use anabranch_sim::scenario::RunPoint;
use anabranch_sim::workload::Done;
use anabranch_sim::{Control, InjectedEnd, InjectedMessage, Injector, run_injected};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

/// An instant at which the engine stands still: all that the fabric does at it is done.
pub struct Instant {
    /// When.
    pub at: Time,
    /// The messages that ended at it.
    pub ends: Vec<InjectedEnd>,
    /// Whether every message is acknowledged.
    pub is_idle: bool,
}

/// What the engine is to do next.
pub struct Answer {
    /// What is posted at this instant, each with whether the instant of its acknowledgement is wanted.
    pub posts: Vec<(InjectedMessage, bool)>,
    /// Where to stand still next, if not before.
    pub due: Option<Time>,
}

/// An engine that stands still at an instant, or has failed.
pub struct Engine {
    instants: Receiver<Instant>,
    /// None when it is to end.
    answers: Option<Sender<Answer>>,
    control: Arc<Control>,
    /// Comes back with why the run ended. None: it has, and that was told.
    thread: Option<JoinHandle<String>>,
    failed: String,
}

impl Engine {
    /// Starts the engine of a run, which will stand still at time 0.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(point: RunPoint) -> Result<Engine, OnlineError> {
        let (to_caller, instants) = channel();
        let (answers, from_caller) = channel();
        let control = Arc::new(Control::default());
        let its_control = control.clone();
        let injector = Waiting { to_caller, from_caller, wanted: Vec::new(), left: 0, due: None };
        let simulate = move || match run_injected(&point, &its_control, Box::new(injector)) {
            Ok(_) => "the run is over".to_owned(),
            Err(error) => error.to_string(),
        };
        let thread = Builder::new().name("anabranch".to_owned()).spawn(simulate);
        let thread =
            thread.map_err(|error| OnlineError::Scenario(format!("the system gives no thread: {error}")))?;
        Ok(Engine { instants, answers: Some(answers), control, thread: Some(thread), failed: String::new() })
    }

    /// Waits until the engine stands still.
    ///
    /// # Errors
    /// Why it never will: the run cannot be built, or has failed. The same each time from then on.
    pub fn wait(&mut self) -> Result<Instant, OnlineError> {
        self.instants.recv().map_err(|_| {
            if let Some(thread) = self.thread.take() {
                self.failed = thread.join().unwrap_or_else(|panic| crate::what_panicked(&*panic));
            }
            OnlineError::Scenario(self.failed.clone())
        })
    }

    /// Lets the engine go on.
    pub fn go_on(&self, answer: Answer) {
        // One that has failed says so when it is waited for.
        self.answers.as_ref().map(|answers| answers.send(answer).ok());
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.control.cancel.store(true, Ordering::Relaxed);
        self.answers = None;
        // How it ends matters to nobody any more.
        self.thread.take().map(|thread| thread.join().ok());
    }
}

/// An injector that has the caller decide.
struct Waiting {
    to_caller: Sender<Instant>,
    from_caller: Receiver<Answer>,
    /// By message: whether the instant of its acknowledgement is.
    wanted: Vec<bool>,
    /// Messages that are not acknowledged.
    left: usize,
    due: Option<Time>,
}

impl Injector for Waiting {
    fn inject(&mut self, now: Time, ends: &[InjectedEnd], posts: &mut Vec<InjectedMessage>) -> Option<Time> {
        self.left -= ends.iter().filter(|end| end.on == Done::Acknowledged).count();
        let is_idle = self.left == 0;
        let is_wanted = |end: &InjectedEnd| end.on == Done::Delivered || self.wanted[end.message.index()];
        if !is_idle && self.due.is_none_or(|due| due > now) && !ends.iter().any(is_wanted) {
            return self.due;
        }
        // A caller that is gone has cancelled the run.
        self.to_caller.send(Instant { at: now, ends: ends.to_vec(), is_idle }).ok()?;
        let answer = self.from_caller.recv().ok()?;
        self.left += answer.posts.len();
        self.wanted.extend(answer.posts.iter().map(|(_, wanted)| wanted));
        posts.extend(answer.posts.iter().map(|(post, _)| post));
        self.due = answer.due;
        self.due
    }
}
