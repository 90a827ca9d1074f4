//! The engine in the caller's thread. It pauses at an instant until the caller has decided which messages to post then.
//!
//! The engine asks its injector for messages in the middle of a run. Here the caller posts these messages, possibly by
//! several calls at one instant. The injector is therefore not ready until the caller has answered, and the run pauses
//! until then ([`PausableRun`]).

use crate::error::OnlineError;
use anabranch_base::Time;
use anabranch_sim::results::RunRow;
use anabranch_sim::scenario::RunPoint;
use anabranch_sim::workload::Done;
use anabranch_sim::{Built, InjectedEnd, InjectedMessage, Injector, PausablePoint, PausableRun};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An instant at which the engine pauses, after all events of hosts at that time.
pub struct Instant {
    pub at: Time,
    /// The deliveries and acknowledgements of messages at this instant.
    pub ends: Vec<InjectedEnd>,
    /// Whether every message is acknowledged.
    pub is_idle: bool,
}

/// The caller's instructions for an instant.
pub struct Answer {
    /// The posts at this instant. The flag tells whether the engine must pause when the message is acknowledged.
    pub posts: Vec<(InjectedMessage, bool)>,
    /// The time at which the engine pauses at the latest.
    pub due: Option<Time>,
}

/// An engine that is paused at an instant and waits for [`Engine::resume`], or that has failed.
pub struct Engine {
    /// The run. `None` after its end or a failure. The run refers to `point`, so this field is dropped first.
    run: Option<PausableRun<'static>>,
    point: PointInPlace,
    mailbox: Arc<Mutex<Mailbox>>,
    /// The totals at the time of a failure.
    last_totals: Option<RunRow>,
    failed: String,
}

impl Engine {
    /// Builds the engine of a run. Returns it with its first pause, which is at time 0.
    ///
    /// # Errors
    /// The run cannot be built, or fails before its first pause.
    pub fn start(point: RunPoint) -> Result<(Engine, Instant), OnlineError> {
        let wrong = |error: anabranch_sim::RunError| OnlineError::Scenario(error.to_string());
        let point = PointInPlace::new(PausablePoint::new(point).map_err(wrong)?);
        let mailbox: Arc<Mutex<Mailbox>> = Arc::default();
        // SAFETY: only the run uses the reference, and the run is dropped before `point`, both here and in `Engine`.
        let of = unsafe { point.reference() };
        let run =
            PausableRun::new(of, Box::new(CallerInjector { mailbox: mailbox.clone() })).map_err(wrong)?;
        let mut engine = Engine { run: Some(run), point, mailbox, last_totals: None, failed: String::new() };
        let first = engine.advance()?;
        Ok((engine, first))
    }

    pub fn fabric(&self) -> &Built {
        // SAFETY: the reference does not outlive `self`.
        unsafe { self.point.reference() }.fabric()
    }

    /// The totals until now, or until the run failed. None if it failed without results.
    pub fn totals(&self) -> Option<RunRow> {
        self.run.as_ref().and_then(PausableRun::totals).or_else(|| self.last_totals.clone())
    }

    /// Resumes the engine, and returns its next pause.
    ///
    /// # Errors
    /// The run has failed. Later calls return the same error.
    pub fn resume(&mut self, answer: Answer) -> Result<Instant, OnlineError> {
        lock(&self.mailbox).answer = Some(answer);
        self.advance()
    }

    fn advance(&mut self) -> Result<Instant, OnlineError> {
        if let Some(end) = self.run.as_mut().map(PausableRun::advance) {
            match end {
                None => {
                    let instant = lock(&self.mailbox).instant.take();
                    return instant
                        .ok_or_else(|| OnlineError::Scenario("the engine has not paused".to_owned()));
                }
                Some(Ok(_)) => self.failed = "the run is over".to_owned(),
                Some(Err(error)) => {
                    self.failed = error.to_string();
                    self.last_totals = error.into_failure().1.map(|partial| partial.run);
                }
            }
            self.run = None;
        }
        Err(OnlineError::Scenario(self.failed.clone()))
    }
}

/// A [`PausablePoint`] at a fixed address in memory. It is held by a raw pointer, because a `Box` would assert unique
/// access to the point, to which the run refers as well.
struct PointInPlace(NonNull<PausablePoint>);

impl PointInPlace {
    fn new(point: PausablePoint) -> Self {
        PointInPlace(NonNull::from(Box::leak(Box::new(point))))
    }

    /// A reference with any lifetime.
    ///
    /// # Safety
    /// The reference is not used after `self` has been dropped.
    unsafe fn reference<'a>(&self) -> &'a PausablePoint {
        // SAFETY: the point lives until `drop`, and nothing borrows it mutably.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for PointInPlace {
    fn drop(&mut self) {
        // SAFETY: the pointer comes from a box, and nothing refers to the point any more.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

#[derive(Default)]
struct Mailbox {
    instant: Option<Instant>,
    answer: Option<Answer>,
    /// For each message, whether the engine must pause at its acknowledgement.
    pause_at_ack: Vec<bool>,
    /// The number of messages that are not acknowledged yet.
    left: usize,
    due: Option<Time>,
}

struct CallerInjector {
    mailbox: Arc<Mutex<Mailbox>>,
}

impl Injector for CallerInjector {
    fn is_ready(&mut self, now: Time, ends: &[InjectedEnd]) -> bool {
        let mut mailbox = lock(&self.mailbox);
        if mailbox.answer.is_some() {
            return true;
        }
        mailbox.left -= ends.iter().filter(|end| end.on == Done::Acknowledged).count();
        let is_idle = mailbox.left == 0;
        let pauses =
            |end: &InjectedEnd| end.on == Done::Delivered || mailbox.pause_at_ack[end.message.index()];
        if !is_idle && mailbox.due.is_none_or(|due| due > now) && !ends.iter().any(pauses) {
            return true;
        }
        mailbox.instant = Some(Instant { at: now, ends: ends.to_vec(), is_idle });
        false
    }

    fn inject(&mut self, _: Time, _: &[InjectedEnd], posts: &mut Vec<InjectedMessage>) -> Option<Time> {
        let mut mailbox = lock(&self.mailbox);
        // If the caller gave no answer, the engine did not pause at this instant.
        if let Some(answer) = mailbox.answer.take() {
            mailbox.left += answer.posts.len();
            mailbox.pause_at_ack.extend(answer.posts.iter().map(|(_, pauses)| pauses));
            posts.extend(answer.posts.iter().map(|(post, _)| post));
            mailbox.due = answer.due;
        }
        mailbox.due
    }
}

fn lock(mailbox: &Mutex<Mailbox>) -> MutexGuard<'_, Mailbox> {
    mailbox.lock().unwrap_or_else(PoisonError::into_inner)
}
