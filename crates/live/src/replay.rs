//! The replay of a record: each node receives the recorded inputs again, and must send the same bytes at the same
//! times.

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
    /// Number of frames and signals that nodes received, plus the number of times at which they handled events that
    /// they had scheduled themselves.
    pub inputs: u64,
    /// Number of frames and signals that nodes sent. All of them equal the recorded ones.
    pub outputs: u64,
}

/// Replays the record of a run in `folder`.
///
/// # Errors
/// A node sends other bytes or signals than in the record, the record cannot be read, or the run cannot be built.
pub fn replay(point: &RunPoint, built: &Built, folder: &Path) -> Result<Replayed, LiveError> {
    let processes = groups(&DrivenRun::new(point, built)?, &built.topology).len();
    let mut sum = Replayed { processes, ..Replayed::default() };
    for process in 0..processes {
        // The nodes of one process share what is known about messages. Different processes share nothing.
        let run = DrivenRun::new(point, built)?;
        let mut nodes = LiveNode::all(&run, &built.topology)?;
        let path = file_of(folder, process);
        let system = |error| LiveError::System { what: format!("{} cannot be read", path.display()), error };
        let lines = BufReader::new(File::open(&path).map_err(system)?).lines();
        let mut produced = VecDeque::new();
        for (line, text) in (1_u64..).zip(lines) {
            let text = text.map_err(system)?;
            let place = || format!("{}:{line}", path.display());
            let unreadable = |why: &dyn std::fmt::Display| {
                LiveError::Broken(format!("{}: this is no line of a record: {why}", place()))
            };
            let entry: Entry = serde_json::from_str(&text).map_err(|error| unreadable(&error))?;
            let count = nodes.len();
            let Some(node) = nodes.get_mut(entry.node as usize) else {
                return Err(unreadable(&format!("it names node {} of {count}", entry.node)));
            };
            match &entry.event {
                Event::Sent(_) | Event::Signalled(_) => {
                    let found = produced.pop_front();
                    if found.as_ref() != Some(&entry) {
                        return Err(departure(&place(), node, Some(&entry), found.as_ref()));
                    }
                    sum.outputs += 1;
                    continue;
                }
                _ if !produced.is_empty() => {
                    return Err(departure(&place(), node, None, produced.front()));
                }
                Event::Receive { time, port, frame } => {
                    let bytes = frame
                        .bytes()
                        .ok_or_else(|| unreadable(&"a frame has other than hexadecimal digits"))?;
                    node.receive(*time, *port, &bytes)
                        .map_err(|error| LiveError::Broken(format!("{}: {error}", place())))?;
                }
                Event::Run { until } => node.run_until(*until)?,
                Event::Handle(signal) => node.handle(signal)?,
            }
            sum.inputs += 1;
            let number = entry.node;
            node.take_frames(|frame| {
                produced.push_back(Entry { node: number, event: Event::Sent(SentRecord::of(&frame)) });
            })?;
            let signals = node.take_signals();
            produced.extend(signals.map(|signal| Entry { node: number, event: Event::Signalled(signal) }));
        }
        if let Some(entry) = produced.front() {
            let node = &nodes[entry.node as usize];
            return Err(departure(&path.display().to_string(), node, None, Some(entry)));
        }
    }
    Ok(sum)
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
