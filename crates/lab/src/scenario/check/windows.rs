//! Warnings about congestion windows and ACK intervals with which a single connection does not fill the longest path.

use crate::scenario::read::source_map::Origin;
use crate::scenario::read::table::fault;
use crate::scenario::resolve::scheme::window::in_flight;
use anabranch_base::Diagnostic;
use anabranch_engine::Scheme;
use anabranch_proto::PathFacts;
use anabranch_proto::cc::Windows;
use anabranch_workload::Workload;
use std::collections::BTreeMap;

/// The windows found so far, by scheme and parameter: the share of the line rate that they permit, the problem, and
/// the value to set instead.
#[derive(Default)]
pub(in crate::scenario) struct ShortWindows(BTreeMap<(String, String), (f64, String, String)>);

/// The share of its line rate from which a connection counts as fast enough.
const NEARLY: f64 = 0.98;

impl ShortWindows {
    /// Examines the largest window of a scheme on a fabric, if `workload` has messages that are longer than the windows
    /// of a connection's queue pairs together.
    pub(in crate::scenario) fn look(&mut self, scheme: &Scheme, facts: &PathFacts, workload: &Workload) {
        if scheme.cc.windows() == Windows::Own {
            return;
        }
        let [_, window] = in_flight(scheme, facts);
        let packet = facts.packet.0.max(1);
        let longest = workload.messages.iter().map(|message| message.bytes).max().unwrap_or(0);
        let packets =
            longest.div_ceil(u64::from(scheme.qps).max(1) * scheme.transport.framing().payload.0.max(1));
        let holds = scheme.transport.packets_in_window(window.bytes, packet);
        if packets <= holds {
            return;
        }
        // An ACK arrives a round trip after the sender began to send its packet. With one ACK for `every` packets, the
        // first of these packets waits for the last one. The last packet of a window may be acknowledged earlier. If
        // the window is not a multiple of `every`, ACKs may therefore be more frequent than assumed here.
        let acks = scheme.transport.ack_interval(window.bytes);
        let every = u64::from(acks.packets).min(holds);
        let path = facts.bdp.0 as f64 / packet as f64;
        let needed = path + (every - 1) as f64;
        let share = (holds * u64::from(scheme.qps)) as f64 / needed;
        if share >= NEARLY {
            return;
        }
        let fits = holds as f64 >= NEARLY * path;
        let (who, come) = match scheme.qps {
            1 => ("a queue pair".to_owned(), "comes"),
            qps => (format!("the {qps} queue pairs of a connection"), "come"),
        };
        let (parameter, problem, instead) = match fits {
            true => {
                let problem = format!(
                    ": ACKs for every {every} packets come late for a window of {holds}: alone on it, {who} can fall to"
                );
                (acks.parameter.to_owned(), problem, acks.every_packet.to_owned())
            }
            false => {
                let least = path.ceil() as u64;
                let bdps = scheme.transport.busy_window_bdps();
                let (written, instead) = match window.of.ends_with("window_packets") {
                    true => (holds.to_string(), least.to_string()),
                    false => (format!("\"{}\"", window.written), format!("\"{bdps}bdp\"")),
                };
                let problem = format!(
                    " = {written} is a window of {holds} packet(s), and the longest path holds {least}: alone on it, {who} {come} to"
                );
                (window.of, problem, instead)
            }
        };
        let found = self.0.entry((scheme.name.clone(), parameter)).or_insert((
            share,
            problem.clone(),
            instead.clone(),
        ));
        if share < found.0 {
            *found = (share, problem, instead);
        }
    }

    pub(in crate::scenario) fn warnings(self, origin: &Origin) -> Vec<Diagnostic> {
        let warning =
            |((scheme, parameter), (share, problem, instead)): ((String, String), (f64, String, String))| {
                let message = format!(
                    "scheme {scheme:?}: {parameter}{problem} {:.0} % of its line rate",
                    share * 100.0
                );
                let (at, written) = origin.setting(&scheme, &parameter, &[]);
                let help = origin
                    .beginning_with(&scheme, &parameter, &instead)
                    .unwrap_or_else(|| format!("{written} = {instead} below [set]"));
                fault(&origin.file, at, message, Some(help.into()))
            };
        self.0.into_iter().map(warning).collect()
    }
}
