//! The replay of a record: each node receives the recorded inputs again, and must send the recorded outputs.

use crate::error::LiveError;
use crate::node::LiveNode;
use crate::record::{Entry, Event, SentRecord, file_of};
use crate::testbed::groups;
use anabranch_sim::scenario::RunPoint;
use anabranch_sim::{Built, DrivenRun};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// The extent of a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Number of processes of the run.
    pub processes: usize,
    /// Number of inputs in the record: received frames, received signals, and times at which nodes handled their own
    /// events.
    pub inputs: u64,
    /// Number of frames and signals that nodes sent and that equal the recorded ones.
    pub outputs: u64,
}

/// Replays the record of a run in `folder`. If the run is `unfinished`, its files may be cut off at any byte. In this
/// case only complete lines are replayed, and outputs after the last complete line are not compared.
///
/// # Errors
/// A node sends other bytes or signals than in the record, the record cannot be read, or the run cannot be built.
pub fn replay(
    point: &RunPoint,
    built: &Built,
    folder: &Path,
    unfinished: bool,
) -> Result<Replayed, LiveError> {
    let processes = groups(&DrivenRun::new(point, built)?, &built.topology).len();
    let mut sum = Replayed { processes, ..Replayed::default() };
    for process in 0..processes {
        // The nodes of one process share the times of messages. Different processes share nothing.
        let run = DrivenRun::new(point, built)?;
        let nodes = LiveNode::all(&run, &built.topology)?;
        let path = file_of(folder, process);
        let mut again = Again { nodes, produced: VecDeque::new(), path: &path, sum: &mut sum };
        let system = |error| LiveError::System { what: format!("{} cannot be read", path.display()), error };
        let mut file = BufReader::new(File::open(&path).map_err(system)?);
        let mut text = String::new();
        for line in 1.. {
            text.clear();
            if file.read_line(&mut text).map_err(system)? == 0 || (unfinished && !text.ends_with('\n')) {
                break;
            }
            again.line(line, &text)?;
        }
        if let Some(entry) = again.produced.front().filter(|_| !unfinished) {
            let node = &again.nodes[entry.node as usize];
            return Err(departure(&path.display().to_string(), node, None, Some(entry)));
        }
    }
    Ok(sum)
}

/// The nodes of one process, which get their recorded inputs again.
struct Again<'r, 'p> {
    nodes: Vec<LiveNode<'r>>,
    /// The outputs of the nodes that the record must contain next.
    produced: VecDeque<Entry>,
    path: &'p Path,
    sum: &'p mut Replayed,
}

impl Again<'_, '_> {
    fn line(&mut self, line: u64, text: &str) -> Result<(), LiveError> {
        let place = format!("{}:{line}", self.path.display());
        let unreadable = |why: &dyn std::fmt::Display| {
            LiveError::Broken(format!("{place}: this is no line of a record: {why}"))
        };
        let entry: Entry = serde_json::from_str(text).map_err(|error| unreadable(&error))?;
        let count = self.nodes.len();
        let Some(node) = self.nodes.get_mut(entry.node as usize) else {
            return Err(unreadable(&format!("it names node {} of {count}", entry.node)));
        };
        match &entry.event {
            Event::Sent(_) | Event::Signalled(_) => {
                let found = self.produced.pop_front();
                if found.as_ref() != Some(&entry) {
                    return Err(departure(&place, node, Some(&entry), found.as_ref()));
                }
                self.sum.outputs += 1;
                return Ok(());
            }
            _ if !self.produced.is_empty() => {
                return Err(departure(&place, node, None, self.produced.front()));
            }
            Event::Receive { time, port, frame } => {
                let bytes =
                    frame.bytes().ok_or_else(|| unreadable(&"a frame has other than hexadecimal digits"))?;
                node.receive(*time, *port, &bytes)
                    .map_err(|error| LiveError::Broken(format!("{place}: {error}")))?;
            }
            Event::Run { until } => node.run_until(*until)?,
            Event::Handle(signal) => node.handle(signal)?,
        }
        self.sum.inputs += 1;
        let (number, produced) = (entry.node, &mut self.produced);
        node.take_frames(|frame| {
            produced.push_back(Entry { node: number, event: Event::Sent(SentRecord::of(&frame)) });
        })?;
        let signals = node.take_signals();
        produced.extend(signals.map(|signal| Entry { node: number, event: Event::Signalled(signal) }));
        Ok(())
    }
}

fn departure(place: &str, node: &LiveNode<'_>, recorded: Option<&Entry>, found: Option<&Entry>) -> LiveError {
    let shown = |entry: Option<&Entry>| match entry {
        None => "nothing".to_owned(),
        Some(Entry { node, event: Event::Sent(sent) }) => {
            let shown = sent.frame.head.get(..160).unwrap_or(&sent.frame.head);
            format!("node {node}: a frame by port {} that acts at {}: {shown}", sent.port, sent.acts)
        }
        Some(Entry { node, event }) => format!("node {node}: {event:?}"),
    };
    LiveError::Broken(format!(
        "{place}: {} departs from the record at {}\n  recorded: {}\n  replayed: {}",
        node.name(),
        node.driven().now(),
        shown(recorded),
        shown(found)
    ))
}
