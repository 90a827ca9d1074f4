//! Messages that are injected during the run. Neither the calls of the injector nor the results depend on the number of
//! threads or on where the engine's synchronisation windows end.

use super::support::*;
use anabranch_base::{HostId, Purpose, Stream, stream};
use anabranch_sim::workload::Done;
use anabranch_sim::{
    Control, Duration, InjectedEnd, InjectedMessage, Injector, PausablePoint, PausableRun, QueuePair,
    RunResult, Time, run, run_injected,
};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// The ends that were reported to the injector: the time, the message, and the kind of end.
type Log = Arc<Mutex<Vec<(Time, u32, Done)>>>;

/// A message on the queue pair that all messages from `src` to `dst` share.
fn message(src: u32, dst: u32, bytes: u64) -> InjectedMessage {
    InjectedMessage { src: HostId(src), dst: HostId(dst), queue_pair: QueuePair::Shared(0), bytes }
}

/// A random injector. It posts a few messages at the beginning and at times that it chooses, and some messages when
/// others end.
struct AtRandom {
    random: Stream,
    left: u32,
    heard: Log,
}

impl AtRandom {
    fn draw(&mut self, posts: &mut Vec<InjectedMessage>) {
        if self.left > 0 {
            self.left -= 1;
            let src = self.random.below(15);
            let dst = (src + 1 + self.random.below(14)) % 15;
            let bytes = u64::from(1 + self.random.below(120_000));
            posts.push(message(src, dst, bytes));
        }
    }
}

impl Injector for AtRandom {
    fn inject(&mut self, now: Time, ends: &[InjectedEnd], posts: &mut Vec<InjectedMessage>) -> Option<Time> {
        let heard = ends.iter().map(|end| (now, end.message.0, end.on));
        self.heard.lock().unwrap().extend(heard);
        let count = match ends.len() as u32 {
            0 => 5,
            ends => self.random.below(2 * ends + 1),
        };
        (0..count).for_each(|_| self.draw(posts));
        // The injector also requests a call within the next 300 us, so that it posts messages even if none is in
        // flight.
        (self.left > 0).then(|| now + Duration(1 + u64::from(self.random.below(300_000_000))))
    }
}

/// A scenario. With `cut`, it has faults on the link of an idle host, which make synchronisation windows end at the
/// times of the faults.
fn text(scheme: &str, cut: bool) -> String {
    let fault = |at: u32| {
        format!(
            "[[fault]]\nkind = \"link-down\"\nlinks = \"host:15\"\nat = \"{at}ns\"\nduration = \"77ns\"\n"
        )
    };
    let faults: String =
        if cut { (0..30).map(|number| fault(2_001 + 2_711 * number)).collect() } else { String::new() };
    let setup = paper(scheme);
    let workload = "[workload]\nkind = \"permutation\"\nbytes = \"1B\"\n";
    format!("schemes = [\"{scheme}\"]\nsetup = \"{setup}\"\n{LEAF_SPINE}{workload}{faults}")
}

fn run_on(threads: usize, scheme: &str, cut: bool) -> (RunResult, Vec<(Time, u32, Done)>) {
    let heard = Log::default();
    let random = stream(99, 0, Purpose::Registered);
    let injector = AtRandom { random, left: 150, heard: heard.clone() };
    let control = Control { threads, ..Control::default() };
    let point = points(&text(scheme, cut), &[]).remove(0);
    let result =
        run_injected(&point, &control, Box::new(injector)).unwrap_or_else(|e| panic!("{scheme}: {e}"));
    let heard = std::mem::take(&mut *heard.lock().unwrap());
    (result, heard)
}

#[test]
fn it_depends_neither_on_threads_nor_on_windows() {
    for scheme in ["reps", "rocev2", "rocev2-4qp", "dcp", "eqds", "hpcc", "themis-spraying", "conweave"] {
        let (result, heard) = run_on(1, scheme, false);
        assert_eq!(result.flows.len(), 150, "{scheme}");
        assert_eq!(result.run.flows_finished, 150, "{scheme}");
        assert_eq!(heard.len(), 300, "{scheme}");
        for (at, message, on) in &heard {
            let row = &result.flows[*message as usize];
            let time = if *on == Done::Delivered { row.delivery_ps } else { row.fct_ps };
            assert_eq!(Some(at.0), row.start_ps.zip(time).map(|(start, time)| start + time), "{scheme}");
        }
        for threads in [2, 3, 8] {
            let (other, also_heard) = run_on(threads, scheme, false);
            assert_eq!(other.run.digest, result.run.digest, "{scheme} on {threads} threads");
            assert_eq!(also_heard, heard, "{scheme} on {threads} threads");
        }
        let (other, also_heard) = run_on(1, scheme, true);
        assert_eq!(other.flows, result.flows, "{scheme} with windows cut");
        assert_eq!(also_heard, heard, "{scheme} with windows cut");
    }
}

/// An injector that is ready for one call each time `is_allowed` has been set.
struct WhenAllowed {
    injector: AtRandom,
    is_allowed: Arc<AtomicBool>,
}

impl Injector for WhenAllowed {
    fn is_ready(&mut self, _: Time, _: &[InjectedEnd]) -> bool {
        self.is_allowed.swap(false, Ordering::Relaxed)
    }

    fn inject(&mut self, now: Time, ends: &[InjectedEnd], posts: &mut Vec<InjectedMessage>) -> Option<Time> {
        self.injector.inject(now, ends, posts)
    }
}

fn paused_injector(heard: &Log, is_allowed: &Arc<AtomicBool>) -> Box<WhenAllowed> {
    let injector = AtRandom { random: stream(99, 0, Purpose::Registered), left: 150, heard: heard.clone() };
    Box::new(WhenAllowed { injector, is_allowed: is_allowed.clone() })
}

#[test]
fn a_run_that_pauses_at_each_call_of_its_injector_has_the_same_result() {
    for (scheme, cut) in
        [("reps", true), ("rocev2", false), ("dcp", true), ("eqds", false), ("conweave", false)]
    {
        let (result, whole) = run_on(1, scheme, cut);
        let (heard, is_allowed) = (Log::default(), Arc::default());
        let point = PausablePoint::new(points(&text(scheme, cut), &[]).remove(0)).unwrap();
        let mut paused = PausableRun::new(&point, paused_injector(&heard, &is_allowed)).unwrap();
        let (mut pauses, mut finished) = (0, 0);
        let end = loop {
            match paused.advance() {
                Some(end) => break end.unwrap_or_else(|e| panic!("{scheme}: {e}")),
                // The run is continued without permission, and must pause again at the same instant.
                None if pauses % 3 == 1 => pauses += 1,
                None => {
                    pauses += 1;
                    is_allowed.store(true, Ordering::Relaxed);
                    let totals = paused.totals().unwrap();
                    assert!(totals.flows_finished >= finished, "{scheme}");
                    finished = totals.flows_finished;
                }
            }
        };
        assert!(pauses > 200 && finished > 100, "{scheme}: {pauses}, {finished}");
        assert_eq!(end.flows, result.flows, "{scheme}");
        assert_eq!(end.run.digest, result.run.digest, "{scheme}");
        assert_eq!(*heard.lock().unwrap(), whole, "{scheme}");
        assert!(paused.totals().is_none());
    }
}

#[test]
fn an_injector_must_be_ready_in_a_run_that_cannot_pause() {
    let point = points(&text("reps", false), &[]).remove(0);
    let injector = paused_injector(&Log::default(), &Arc::default());
    let error = run_injected(&point, &Control::default(), injector).unwrap_err().to_string();
    assert!(error.contains("the injector of scheme \"reps\" panicked: it is not ready at"), "{error}");
}

/// Messages that each have an injected queue pair of their own are as fast as messages of a workload with one queue
/// pair each.
#[test]
fn queue_pairs_are_shared_by_number_or_of_one_message() {
    for scheme in ["rocev2", "rocev2-4qp", "conweave", "reps"] {
        let point = points(&text(scheme, false), &[]).remove(0);
        let run = |queue_pairs: [QueuePair; 3]| {
            let posts =
                queue_pairs.map(|queue_pair| InjectedMessage { queue_pair, ..message(3, 9, 50 * PAYLOAD) });
            let end = run_injected(&point, &Control::default(), Box::new(Once(posts.to_vec()))).unwrap();
            (end.flows.iter().map(|row| row.qp).collect::<Vec<_>>(), end.run.fct_max_us, end.run.fct_p50_us)
        };
        let shared = QueuePair::Shared;
        let (one, alone, _) = run([shared(0); 3]);
        assert_eq!(one, [0, 0, 0], "{scheme}");
        let (numbered, ..) = run([shared(7), shared(0), shared(7)]);
        assert_eq!(numbered, [0, 1, 0], "{scheme}");
        let (own, longest, middle) = run([QueuePair::Own; 3]);
        assert_eq!(own, [0, 1, 2], "{scheme}");
        // Queue pairs take turns, so that the middle message ends late. On one queue pair, messages are sent one after
        // the other.
        assert!(middle > 0.8 * longest, "{scheme}: {middle} of {longest}");
        assert!((longest / alone - 1.0).abs() < 0.2, "{scheme}: {longest}, {alone}");
        let of_workload = own_queue_pairs(scheme);
        assert_eq!(of_workload, longest, "{scheme}");
    }
}

/// The longest FCT of three equal messages of a workload, each on its own queue pair.
fn own_queue_pairs(scheme: &str) -> f64 {
    let setup = paper(scheme);
    let message = format!("[[workload.message]]\nfrom = 3\nto = 9\nbytes = \"{}B\"\n", 50 * PAYLOAD);
    let workload = format!("[workload]\nkind = \"messages\"\n{}", message.repeat(3));
    let text = format!("schemes = [\"{scheme}\"]\nsetup = \"{setup}\"\n{LEAF_SPINE}{workload}");
    run(&points(&text, &[])[0], &Control::default()).unwrap().run.fct_max_us
}

struct Once(Vec<InjectedMessage>);

impl Injector for Once {
    fn inject(&mut self, _: Time, _: &[InjectedEnd], posts: &mut Vec<InjectedMessage>) -> Option<Time> {
        posts.append(&mut self.0);
        None
    }
}

#[test]
fn a_run_ends_when_nothing_is_left_that_could_happen() {
    let point = points(&text("reps", false), &[]).remove(0);
    let run = |posts| run_injected(&point, &Control::default(), Box::new(Once(posts))).unwrap();
    assert_eq!(run(Vec::new()).run.sim_time_us, 0.0);
    let post = message(3, 9, 10 * PAYLOAD);
    let alone = run(vec![post]);
    assert_eq!(alone.flows[0].fct_ps, Some(alone.flows[0].ideal_fct_ps));
    assert_eq!(alone.run.sim_time_us, alone.run.fct_max_us);
}

#[test]
fn what_an_injector_may_not_post_is_its_fault() {
    let point = points(&text("reps", false), &[]).remove(0);
    let wrong = [(3, 3, 1), (3, 16, 1), (3, 4, 0)];
    for (src, dst, bytes) in wrong {
        let post = message(src, dst, bytes);
        let error = run_injected(&point, &Control::default(), Box::new(Once(vec![post]))).unwrap_err();
        assert!(error.to_string().contains("the injector of scheme \"reps\" panicked: it posts"), "{error}");
    }
}
