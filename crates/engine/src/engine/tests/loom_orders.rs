//! Tests of all orders of the threads, and of every value that a read of an atomic may return (loom; `make loom`). Here
//! only the barrier orders the threads, whereas in a run the locks of the shards do too.

use crate::board::{Board, Completion, ReadyWork};
use crate::engine::barrier::Barrier;
use crate::threads::atomic::{AtomicU64, Ordering::Relaxed};
use anabranch_base::{HostId, MessageId, Time};
use anabranch_workload::{Done, Message, Opens, Start, Workload, WorkloadBuilder};
use loom::cell::UnsafeCell;
use loom::sync::Arc;

/// A value that is set between synchronisation windows and read by the threads in every window.
struct Rounds {
    barrier: Barrier,
    /// Plain memory. Loom reports an error if two accesses are unordered and at least one of them writes.
    window: UnsafeCell<u64>,
    work: [UnsafeCell<u64>; 2],
    between: AtomicU64,
}

impl Rounds {
    /// Takes part in `rounds` synchronisation windows as one of two threads.
    fn take_part(&self, thread: usize, rounds: u64) {
        for round in 1..=rounds {
            let waited = self.barrier.wait(|| {
                self.between.store(self.between.load(Relaxed) + 1, Relaxed);
                for work in &self.work {
                    work.with(|work| assert_eq!(unsafe { *work }, round - 1, "work of the window before"));
                }
                self.window.with_mut(|window| unsafe { *window = round });
            });
            waited.expect("no thread panics");
            self.window.with(|window| assert_eq!(unsafe { *window }, round, "the present window"));
            self.work[thread].with_mut(|work| unsafe { *work = round });
        }
    }
}

#[test]
fn loom_the_barrier_orders_windows_and_what_is_done_between_them() {
    loom::model(|| {
        let rounds = Arc::new(Rounds {
            barrier: Barrier::new(2),
            window: UnsafeCell::new(0),
            work: [UnsafeCell::new(0), UnsafeCell::new(0)],
            between: AtomicU64::new(0),
        });
        let other = {
            let rounds = rounds.clone();
            loom::thread::spawn(move || rounds.take_part(1, 2))
        };
        rounds.take_part(0, 2);
        other.join().unwrap();
        assert_eq!(rounds.between.load(Relaxed), 2, "once for each window");
    });
}

#[test]
fn loom_a_panic_ends_the_wait_of_the_other_thread() {
    loom::model(|| {
        let barrier = Arc::new(Barrier::new(2));
        let other = {
            let barrier = barrier.clone();
            loom::thread::spawn(move || {
                let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    let _guard = barrier.guard();
                    // `resume_unwind` skips the panic hook, which would print every one of these panics.
                    std::panic::resume_unwind(Box::new("a node panics"));
                }));
                assert!(panicked.is_err());
            })
        };
        assert!(barrier.wait(|| unreachable!("the other thread does not arrive")).is_err());
        other.join().unwrap();
    });
}

/// A message from host 0 to host 1, whose delivery starts an answer from host 1.
fn workload() -> Workload {
    let mut builder = WorkloadBuilder::new();
    let [there, back] = [(0, 1), (1, 0)].map(|(from, to)| builder.add_qp(HostId(from), HostId(to)));
    let first = builder.add_message(there, 1, Start::At(Time::ZERO));
    let answer = builder.add_message(back, 1, Start::ByGate);
    let gate = builder.add_gate(Opens::After(1), &[answer]);
    builder.activate(first, Done::Delivered, gate);
    builder.build().unwrap()
}

/// The part of host `number` in a run with one thread for host 0 and one for host 1, window by window. A message is
/// posted, delivered and acknowledged, its answer is posted, and a message is added.
fn host(number: u32, board: &Board<'_>, barrier: &Barrier) {
    let message = MessageId(0);
    let wait = |known: [bool; 3], messages: u32| {
        let waited = barrier.wait(|| {
            assert_eq!(board.times(message).map(|time| time.is_some()), known);
            assert_eq!(board.messages(), messages);
        });
        waited.expect("no thread panics");
    };
    let mut ready = ReadyWork::default();
    if number == 0 {
        board.post(message, Time(1));
    }
    wait([true, false, false], 2);
    if number == 1 {
        assert_eq!(board.end(message, Done::Delivered, Time(2), &mut ready), Completion::Complete);
        assert_eq!(ready.messages, [MessageId(1)]);
        board.post(MessageId(1), Time(2));
    }
    wait([true, true, false], 2);
    if number == 0 {
        assert_eq!(board.end(message, Done::Acknowledged, Time(3), &mut ready), Completion::Complete);
        let answer = *board.message(MessageId(1)).expect("a message of the workload");
        assert_eq!(board.add(Message { start: Start::At(Time(3)), ..answer }), MessageId(2));
    }
    wait([true, true, true], 3);
    assert_eq!(board.message(MessageId(2)).map(|message| message.bytes), Some(1));
    assert_eq!(board.last_end(), Time(3));
    assert_eq!(board.too_early(), None);
}

#[test]
fn loom_entries_of_the_board_are_seen_after_the_barrier() {
    loom::model(|| {
        // Threads of loom cannot borrow. A few bytes are therefore leaked for each order of the threads.
        let workload: &'static Workload = Box::leak(Box::new(workload()));
        let board = Arc::new(Board::new(workload, 1));
        let barrier = Arc::new(Barrier::new(2));
        let other = {
            let (board, barrier) = (board.clone(), barrier.clone());
            loom::thread::spawn(move || host(1, &board, &barrier))
        };
        host(0, &board, &barrier);
        other.join().unwrap();
    });
}
