//! Messages that are injected while the run goes on. Neither the calls of the injector nor the results depend on the
//! number of threads or on where the engine's synchronisation windows end.

use super::support::*;
use anabranch_base::{HostId, Purpose, Stream, stream};
use anabranch_sim::workload::Done;
use anabranch_sim::{
    Control, Duration, InjectedEnd, InjectedMessage, Injector, RunResult, Time, run_injected,
};
use std::sync::{Arc, Mutex};

/// The ends that were reported to the injector: the time, the message, and the kind of end.
type Log = Arc<Mutex<Vec<(Time, u32, Done)>>>;

/// A random injector. It posts a few messages at the beginning and at times that it chooses, and, for each end, some
/// messages at any host.
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
            posts.push(InjectedMessage { src: HostId(src), dst: HostId(dst), bytes });
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
        // It also posts messages when nothing has been in flight for a long time.
        (self.left > 0).then(|| now + Duration(1 + u64::from(self.random.below(300_000_000))))
    }
}

/// A scenario with faults on a link of an idle host, which make synchronisation windows end there.
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
        // The reported ends agree with the rows of the messages.
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

/// An injector that posts all its messages at the first call.
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
    let post = InjectedMessage { src: HostId(3), dst: HostId(9), bytes: 10 * PAYLOAD };
    let alone = run(vec![post]);
    assert_eq!(alone.flows[0].fct_ps, Some(alone.flows[0].ideal_fct_ps));
    assert_eq!(alone.run.sim_time_us, alone.run.fct_max_us);
}

#[test]
fn what_an_injector_may_not_post_is_its_fault() {
    let point = points(&text("reps", false), &[]).remove(0);
    let wrong = [(3, 3, 1), (3, 16, 1), (3, 4, 0)];
    for (src, dst, bytes) in wrong {
        let post = InjectedMessage { src: HostId(src), dst: HostId(dst), bytes };
        let error = run_injected(&point, &Control::default(), Box::new(Once(vec![post]))).unwrap_err();
        assert!(error.to_string().contains("the injector of scheme \"reps\" panicked: it posts"), "{error}");
    }
}
