//! Warnings about queues, buffers, windows, timeouts and thresholds of a scheme that do not fit each other, and about
//! balancers with one entropy value.

mod trimming;

use self::trimming::TrimmingQueues;
use crate::scenario::check::pfc::round_up;
use crate::scenario::expand::resolved::Scenario;
use crate::scenario::read::source_map::Origin;
use crate::scenario::read::table::fault;
use anabranch_base::{Bytes, Diagnostic, ParameterType, Parameters};
use anabranch_engine::{Scheme, Unmarked, unmarked};
use anabranch_fabric::Topology;
use anabranch_proto::cc::Windows;
use anabranch_proto::{CcConfig, LbConfig, PathFacts, Size};
use std::collections::BTreeMap;

#[derive(Default)]
pub(in crate::scenario) struct IdleQueues {
    found: BTreeMap<(String, &'static str), QueueFinding>,
    /// The number of times that each scheme was examined.
    looked: BTreeMap<String, u32>,
    /// For each scheme whose queue is too short, a queue that is long enough for a packet and for the thresholds.
    enough: BTreeMap<String, Bytes>,
    trimming: TrimmingQueues,
}

struct QueueFinding {
    message: String,
    instead: String,
    times: u32,
}

impl IdleQueues {
    pub(in crate::scenario) fn look(
        &mut self,
        scenario: &Scenario,
        scheme: &Scheme,
        on: &Topology,
        facts: &PathFacts,
    ) {
        self.trimming.look(&scenario.setup, scheme, &scenario.origin);
        *self.looked.entry(scheme.name.clone()).or_default() += 1;
        let mut at = Look { scheme, on, facts, findings: Vec::new() };
        at.control_queue();
        at.windows();
        at.entropies();
        at.quick_adapt();
        match DataQueue::of(scheme, facts) {
            None => at.lossless_marking(),
            Some(queue) => {
                at.shared_buffer(&queue);
                if !queue.is_shared
                    && let Some(longer) = longer(scheme, on, facts, queue.holds)
                {
                    let known = self.enough.entry(scheme.name.clone()).or_insert(longer);
                    *known = longer.max(*known);
                }
                at.timeout(&queue);
                at.target_delay(&queue);
                at.thresholds(&queue);
            }
        }
        for (parameter, problem, instead) in at.findings {
            let message = format!("scheme {:?}: {parameter} {problem}", scheme.name);
            let new = QueueFinding { message, instead, times: 0 };
            self.found.entry((scheme.name.clone(), parameter)).or_insert(new).times += 1;
        }
    }

    pub(in crate::scenario) fn warnings(self, origin: &Origin) -> Vec<Diagnostic> {
        let IdleQueues { found, enough, looked, trimming } = self;
        // A searched range has values that fail on purpose. If the search is about the parameter of a finding, about
        // the queue or about the PFC buffer, the finding is therefore reported only if it is made at every point. A
        // finding about the queue itself is always reported.
        let asked = |scheme: &str, parameter: &str| {
            origin.is_asked(scheme, parameter)
                || ["fabric.queue", "fabric.pfc.buffer"].iter().any(|size| origin.is_asked(scheme, size))
        };
        let is_everywhere = |((scheme, parameter), found): &((String, &str), QueueFinding)| {
            !asked(scheme, parameter)
                || *parameter == "fabric.queue"
                || looked.get(scheme).is_none_or(|looked| found.times >= *looked)
        };
        let warning =
            |((scheme, parameter), QueueFinding { message, instead, .. }): ((String, &str), QueueFinding)| {
                let (at, written) = origin.setting(&scheme, parameter, &["fabric.queue"]);
                // If the queue is too short, no other value of the thresholds that depend on it would help.
                let of_queue = ["fabric.queue", "fabric.ecn_kmin", "fabric.ecn_kmax", "fabric.ecn_from"];
                let enough = enough.get(&scheme).filter(|_| of_queue.contains(&parameter));
                let longer = enough.and_then(|bytes| {
                    origin.beginning_with(&scheme, "fabric.queue", &format!("\"{bytes}\""))
                });
                let help = longer
                    .or_else(|| origin.beginning_with(&scheme, parameter, &instead))
                    .unwrap_or_else(|| format!("{written} = {instead} below [set]"));
                fault(&origin.file, at, message, Some(help.into()))
            };
        trimming
            .warnings(origin)
            .into_iter()
            .chain(found.into_iter().filter(is_everywhere).map(warning))
            .collect()
    }
}

/// The data queue of a switch port, if it has a limit.
struct DataQueue {
    /// `fabric.queue` as written.
    size: Size,
    /// The length that `fabric.queue` states. If the queues share a buffer, it is not a limit, but relative timeouts
    /// and thresholds refer to it.
    even: Bytes,
    /// The largest number of bytes that the queue may hold.
    holds: Bytes,
    is_shared: bool,
    limit: String,
}

impl DataQueue {
    fn of(scheme: &Scheme, facts: &PathFacts) -> Option<DataQueue> {
        let (fabric, size) = (&scheme.fabric, scheme.fabric.queue?);
        let (even, is_shared) = (size.on(&facts.of_port()), fabric.shared_buffer.0 > 0);
        let holds = fabric.longest_queue(facts).unwrap_or(even);
        let limit = match is_shared {
            true => {
                let most = holds.about();
                format!("of fabric.shared_buffer = \"{}\" it takes {most} at the most", fabric.shared_buffer)
            }
            false => format!("fabric.queue = \"{size}\", {holds}"),
        };
        Some(DataQueue { size, even, holds, is_shared, limit })
    }
}

struct Look<'a> {
    scheme: &'a Scheme,
    on: &'a Topology,
    facts: &'a PathFacts,
    findings: Vec<(&'static str, String, String)>,
}

impl Look<'_> {
    fn note(&mut self, parameter: &'static str, problem: impl Into<String>, instead: impl Into<String>) {
        self.findings.push((parameter, problem.into(), instead.into()));
    }

    fn control_queue(&mut self) {
        let transport = &self.scheme.transport;
        // If ACKs wait with data, only the headers of trimmed packets use this queue.
        let (what, size) = match self.scheme.fabric.acks_with_data {
            true => ("a trimmed packet's header", transport.trimmed_bytes()),
            false => ("an ACK", transport.framing().ack),
        };
        let control = self.scheme.fabric.control_queue;
        if control.on(&self.facts.of_port()) < size {
            let problem = format!(
                "= \"{control}\" does not hold {what} of {size}: each one that does not find its link idle is dropped"
            );
            self.note("fabric.control_queue", problem, "\"1bdp\"");
        }
    }

    fn windows(&mut self) {
        for (parameter, window) in windows(self.scheme) {
            if window.on(self.facts) < self.facts.packet {
                let problem = format!(
                    "= \"{window}\" is smaller than a packet of {}: one packet per round trip is sent all the same",
                    self.facts.packet
                );
                self.note(parameter, problem, "\"1bdp\"");
            }
        }
    }

    /// Checks that a balancer has several entropy values. ECMP is exempt, because it uses one path on purpose.
    fn entropies(&mut self) {
        let lb = toml::Value::try_from(&self.scheme.lb).ok();
        if lb.and_then(|lb| lb.get("evs")?.as_integer()) == Some(1) {
            let problem = "= 1: there is one entropy value, and all packets of all queue pairs have it";
            self.note("lb.evs", problem, "65536");
        }
    }

    fn lossless_marking(&mut self) {
        let (scheme, kmin) = (self.scheme, self.scheme.fabric.ecn_kmin.on(&self.facts.of_port(), None));
        if let Some(pfc) = &scheme.fabric.pfc
            && reacts_to_ecn(scheme)
            && scheme.fabric.ecn_from.is_empty()
            && kmin >= pfc.buffer
        {
            let problem = format!(
                "({kmin}) is not below the whole buffer of a switch (fabric.pfc.buffer = \"{}\"): nothing is ever marked",
                pfc.buffer
            );
            self.note("fabric.ecn_kmin", problem, format!("\"{}\"", round_up(Bytes(pfc.buffer.0 / 5))));
        }
    }

    fn shared_buffer(&mut self, queue: &DataQueue) {
        let alpha = self.scheme.fabric.shared_alpha;
        if !queue.is_shared && alpha != 1.0 {
            let problem = format!(
                "= \"0B\": each queue has a limit of its own, and fabric.shared_alpha = {alpha} nothing to share"
            );
            self.note("fabric.shared_buffer", problem, "\"32MB\"");
        }
    }

    /// Checks that a timeout is long enough for a packet behind a full queue and for its ACK. A timeout that does not
    /// exceed the base RTT has a separate warning.
    fn timeout(&mut self, queue: &DataQueue) {
        let (rto, facts) = (self.scheme.transport.rto(), self.facts);
        let full = facts.base_rtt + facts.port_rate.time_for(queue.holds.0);
        if rto.on(facts) > facts.base_rtt && rto.on(facts) < full {
            let problem = format!(
                "= \"{rto}\" is over before a packet behind a full queue ({}) and its ACK are \
                 through, which takes {}: it is sent again while it waits",
                queue.limit,
                full.rounded_up(3)
            );
            // The suggested timeout covers five queues of the largest length, as a multiple of `fabric.queue`.
            let queues = 5 * queue.holds.0.div_ceil(queue.even.0.max(1)).max(1);
            self.note("transport.rto", problem, format!("\"2rtt+{queues}queue\""));
        }
    }

    /// Finds NSCC without trimming and without a `qa_threshold`, although UET 1.0.3 has a value for this case.
    fn quick_adapt(&mut self) {
        if let CcConfig::Nscc(nscc) = &self.scheme.cc
            && !self.scheme.fabric.trim
            && nscc.qa_threshold.is_none()
        {
            let problem = format!(
                "is not set, so that only a loss adapts the window quickly, and switches do not trim. UET 1.0.3 then has \
                 four times the target, and a target of a base RTT (cc.target = \"{}\")",
                nscc.target
            );
            self.note("cc.qa_threshold", problem, "\"4rtt\"");
        }
    }

    fn target_delay(&mut self, DataQueue { holds, limit, .. }: &DataQueue) {
        if let Some((parameter, target)) = self.scheme.cc.target_delay()
            && let Some(slowest) = self.on.ports.iter().map(|port| port.rate).min()
            && target.on(self.facts) > slowest.time_for(MOST_QUEUES.saturating_mul(holds.0))
        {
            let problem = format!(
                "= \"{target}\" is longer than {MOST_QUEUES} full queues ({limit}) take at {slowest}: no packet waits so long"
            );
            self.note(parameter, problem, "\"1queue\"");
        }
    }

    fn thresholds(&mut self, queue: &DataQueue) {
        let reacts = reacts_to_ecn(self.scheme);
        if queue.holds < self.facts.packet {
            self.no_packet(queue);
        } else if let Some(found) = unmarked(&self.scheme.fabric, self.on, self.facts).filter(|_| reacts) {
            self.never_marked(queue, &found);
        } else if reacts && self.scheme.fabric.ecn_from.is_empty() {
            self.kmax(queue);
        }
    }

    fn no_packet(&mut self, queue: &DataQueue) {
        let fate = if self.scheme.fabric.trim { "trimmed" } else { "dropped" };
        let (parameter, written, enough) = match queue.is_shared {
            true => ("fabric.shared_buffer", self.scheme.fabric.shared_buffer.to_string(), "\"32MB\""),
            false => ("fabric.queue", queue.size.to_string(), "\"100packets\""),
        };
        let problem = format!(
            "= \"{written}\" does not hold a packet of {} in a queue: every full packet that does not find its link idle is {fate}",
            self.facts.packet
        );
        self.note(parameter, problem, enough);
    }

    fn never_marked(&mut self, queue: &DataQueue, &Unmarked { parameter, kmin, rate }: &Unmarked) {
        let DataQueue { size, holds, is_shared, limit, .. } = queue;
        let (packet, fifth) = (self.facts.packet, round_up(Bytes(holds.0 / 5)));
        if fifth.0 + packet.0 >= holds.0 && !is_shared {
            let problem = format!(
                "= \"{size}\" holds {} full packet(s) of {packet}: no threshold ({parameter} is {kmin}) is of use below that, \
                 nothing is ever marked",
                holds.0 / packet.0
            );
            return self.note("fabric.queue", problem, "\"100packets\"");
        }
        let problem = format!(
            "({kmin} on links of {rate}) is not below what waits behind a packet in a full queue \
             ({limit}): nothing is ever marked"
        );
        let instead = match parameter {
            "fabric.ecn_from" => {
                let most = round_up(Bytes(holds.0 / 5 * 4));
                format!("[{{ rate = \"{rate}\", kmin = \"{fifth}\", kmax = \"{most}\" }}]")
            }
            _ => format!("\"{fifth}\""),
        };
        self.note(parameter, problem, instead);
    }

    fn kmax(&mut self, DataQueue { holds, limit, .. }: &DataQueue) {
        let fabric = &self.scheme.fabric;
        let [kmin, kmax] =
            [fabric.ecn_kmin, fabric.ecn_kmax].map(|size| size.on(&self.facts.of_port(), Some(*holds)));
        if kmax <= *holds {
            return;
        }
        let reached = holds.0.saturating_sub(kmin.0) as f64 / (kmax.0 - kmin.0) as f64;
        let problem = format!(
            "({kmax}) is above what a queue holds ({limit}): no packet is marked with \
             a probability above {:.2}, and fabric.ecn_pmax is {}",
            reached * fabric.ecn_pmax,
            fabric.ecn_pmax
        );
        let most = round_up(Bytes(holds.0 / 5 * 4));
        self.note("fabric.ecn_kmax", problem, format!("\"{}\"", if most > kmin { most } else { *holds }));
    }
}

/// A queue that is long enough for a packet and for the thresholds of its scheme. None if `holds` bytes are long
/// enough, or if every length that is tried is too short.
fn longer(scheme: &Scheme, on: &Topology, facts: &PathFacts, holds: Bytes) -> Option<Bytes> {
    let does = |bytes: Bytes| {
        let mut fabric = scheme.fabric.clone();
        fabric.queue = Some(Size::Bytes(bytes));
        let facts = PathFacts { queue: bytes, ..*facts };
        let reached = !reacts_to_ecn(scheme)
            || (unmarked(&fabric, on, &facts).is_none()
                && (!fabric.ecn_from.is_empty()
                    || fabric.ecn_kmax.on(&facts.of_port(), Some(bytes)) <= bytes));
        bytes >= facts.packet && reached
    };
    if does(holds) {
        return None;
    }
    let mut tried = (1..=MOST_DOUBLED).map(|times| round_up(Bytes(facts.packet.0 << times)));
    tried.find(|bytes| *bytes > holds && does(*bytes))
}

/// The number of queues in which the check assumes that a packet may wait, one after another.
const MOST_QUEUES: u64 = 8;

const MOST_DOUBLED: u32 = 30;

fn windows(scheme: &Scheme) -> Vec<(&'static str, Size)> {
    match scheme.cc.windows() {
        Windows::Constant(window) => vec![("cc.window", window)],
        Windows::Adaptive { initial, max } => vec![("cc.initial_window", initial), ("cc.max_window", max)],
        Windows::Own => match &scheme.cc {
            CcConfig::Registered(its) => own_windows(its.registered.parameters()),
            _ => Vec::new(),
        },
    }
}

/// The windows among the parameters of a user-defined congestion control.
fn own_windows(parameters: &Parameters) -> Vec<(&'static str, Size)> {
    let window = |key: &'static str| {
        let (_, value) = parameters.iter().find(|(name, _)| key.strip_prefix("cc.") == Some(*name))?;
        Some((key, Size::read(value).ok()?))
    };
    ["cc.window", "cc.initial_window", "cc.max_window"].into_iter().filter_map(window).collect()
}

/// Whether any part of a scheme reacts to ECN marks, and switches mark with a probability above 0.
pub(in crate::scenario) fn reacts_to_ecn(scheme: &Scheme) -> bool {
    let reacts = scheme.cc.reacts_to_ecn()
        || scheme.all_lbs().any(LbConfig::reacts_to_ecn)
        || scheme.fabric.program.is_some();
    reacts && scheme.fabric.ecn_pmax > 0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::resolve::scheme::builtin::scheme;
    use anabranch_base::Bytes;
    use anabranch_proto::cc::ConstantConfig;

    /// A constant window does not react to marks, so only the balancer can.
    #[test]
    fn marks_count_where_something_reacts_to_them() {
        let reacts = |name: &str| {
            let scheme = scheme(name).unwrap();
            let window = ConstantConfig { window: Size::Bytes(Bytes(1_000_000)) };
            let deaf = Scheme { cc: CcConfig::Constant(window), ..scheme.clone() };
            (reacts_to_ecn(&scheme), reacts_to_ecn(&deaf))
        };
        for sprays in ["ops", "ecmp", "mprdma-lb", "mptcp-one-window"] {
            assert_eq!(reacts(sprays), (true, false), "{sprays}");
        }
        for balances in ["reps", "strack", "plb", "bitmap"] {
            assert_eq!(reacts(balances), (true, true), "{balances}");
        }
        assert!(!reacts_to_ecn(&scheme("hpcc").unwrap()));
        let unmarked = scheme("reps").unwrap();
        let fabric = anabranch_engine::FabricSpec { ecn_pmax: 0.0, ..unmarked.fabric.clone() };
        assert!(!reacts_to_ecn(&Scheme { fabric, ..unmarked }));
    }
}
