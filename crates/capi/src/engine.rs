//! The engine in a separate thread, which pauses at an instant while the caller decides which messages to post there.
//!
//! The engine calls its injector in the middle of a run. Here the caller's functions decide; they must run in the caller's
//! thread, and may return from a call and continue in a later one at the same instant. So the injector waits for their posts,
//! and they wait for the engine's next instant: only one of the two threads runs at a time.

use crate::error::OnlineError;
use anabranch_base::Time;
use anabranch_sim::scenario::RunPoint;
use anabranch_sim::workload::Done;
use anabranch_sim::{Control, InjectedEnd, InjectedMessage, Injector, run_injected};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

/// An instant at which the engine pauses, after all events of the fabric at that time.
pub struct Instant {
    /// The time.
    pub at: Time,
    /// The completions of messages at this instant.
    pub ends: Vec<InjectedEnd>,
    /// Whether every message is acknowledged.
    pub is_idle: bool,
}

/// The caller's instructions for an instant.
pub struct Answer {
    /// The posts at this instant, each with whether the engine must pause at its acknowledgement.
    pub posts: Vec<(InjectedMessage, bool)>,
    /// The time at which the engine pauses at the latest.
    pub due: Option<Time>,
}

/// An engine that pauses at an instant, or has failed.
pub struct Engine {
    instants: Receiver<Instant>,
    /// `None` when the engine must end.
    answers: Option<Sender<Answer>>,
    control: Arc<Control>,
    /// The thread, which returns the reason for the end of the run; `None` after that has been reported.
    thread: Option<JoinHandle<String>>,
    failed: String,
}

impl Engine {
    /// Starts the engine of a run, which will pause at time 0.
    ///
    /// # Errors
    /// A system that provides no thread.
    pub fn start(point: RunPoint) -> Result<Engine, OnlineError> {
        let (to_caller, instants) = channel();
        let (answers, from_caller) = channel();
        let control = Arc::new(Control::default());
        let engine_control = control.clone();
        let injector =
            CallerInjector { to_caller, from_caller, pause_at_ack: Vec::new(), left: 0, due: None };
        let simulate = move || match run_injected(&point, &engine_control, Box::new(injector)) {
            Ok(_) => "the run is over".to_owned(),
            Err(error) => error.to_string(),
        };
        let thread = Builder::new().name("anabranch".to_owned()).spawn(simulate);
        let thread =
            thread.map_err(|error| OnlineError::Scenario(format!("the system gives no thread: {error}")))?;
        Ok(Engine { instants, answers: Some(answers), control, thread: Some(thread), failed: String::new() })
    }

    /// Waits until the engine pauses.
    ///
    /// # Errors
    /// A run that cannot be built or has failed. Later calls return the same error.
    pub fn wait(&mut self) -> Result<Instant, OnlineError> {
        self.instants.recv().map_err(|_| {
            if let Some(thread) = self.thread.take() {
                self.failed = thread.join().unwrap_or_else(|panic| crate::panic_message(&*panic));
            }
            OnlineError::Scenario(self.failed.clone())
        })
    }

    /// Resumes the engine.
    pub fn resume(&self, answer: Answer) {
        // A failed engine reports it in `wait`.
        self.answers.as_ref().map(|answers| answers.send(answer).ok());
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.control.cancel.store(true, Ordering::Relaxed);
        self.answers = None;
        // Nobody needs the result any more.
        self.thread.take().map(|thread| thread.join().ok());
    }
}

/// An injector that leaves the decisions to the caller.
struct CallerInjector {
    to_caller: Sender<Instant>,
    from_caller: Receiver<Answer>,
    /// Whether the engine must pause at the acknowledgement of each message.
    pause_at_ack: Vec<bool>,
    /// The number of messages that are not acknowledged.
    left: usize,
    due: Option<Time>,
}

impl Injector for CallerInjector {
    fn inject(&mut self, now: Time, ends: &[InjectedEnd], posts: &mut Vec<InjectedMessage>) -> Option<Time> {
        self.left -= ends.iter().filter(|end| end.on == Done::Acknowledged).count();
        let is_idle = self.left == 0;
        let pauses = |end: &InjectedEnd| end.on == Done::Delivered || self.pause_at_ack[end.message.index()];
        if !is_idle && self.due.is_none_or(|due| due > now) && !ends.iter().any(pauses) {
            return self.due;
        }
        // A caller that has dropped its end has cancelled the run.
        self.to_caller.send(Instant { at: now, ends: ends.to_vec(), is_idle }).ok()?;
        let answer = self.from_caller.recv().ok()?;
        self.left += answer.posts.len();
        self.pause_at_ack.extend(answer.posts.iter().map(|(_, pauses)| pauses));
        posts.extend(answer.posts.iter().map(|(post, _)| post));
        self.due = answer.due;
        self.due
    }
}
