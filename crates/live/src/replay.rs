//! The replay of a record: each node receives the recorded inputs again, and must send the recorded outputs.

use crate::error::LiveError;
use crate::node::LiveNode;
use crate::record::{Entry, Event, FrameRecord, SentRecord, file_of};
use crate::testbed::groups;
use anabranch_sim::scenario::RunPoint;
use anabranch_sim::{Built, DrivenRun};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind};
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
        let file = File::open(&path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => LiveError::Broken(format!(
                "{}: cannot be read: no such file or folder\n  help: record the run again with `anabranch testbed ... --record DIR`",
                path.display()
            )),
            _ => system(error),
        })?;
        let mut file = BufReader::new(file);
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
        None => ("nothing".to_owned(), String::new()),
        Some(Entry { node, event: Event::Sent(sent) }) => {
            let what = format!("node {node}: a frame by port {} that acts at {}: ", sent.port, sent.acts);
            (what, bytes_shown(&sent.frame))
        }
        Some(Entry { node, event }) => (format!("node {node}: {event:?}"), String::new()),
    };
    let [recorded, replayed] = [shown(recorded), shown(found)];
    let [of_record, of_replay] = around_difference([&recorded.1, &replayed.1]);
    LiveError::Broken(format!(
        "{place}: {} departs from the record at {}\n  recorded: {}{of_record}\n  replayed: {}{of_replay}",
        node.name(),
        node.driven().now(),
        recorded.0,
        replayed.0
    ))
}

fn bytes_shown(frame: &FrameRecord) -> String {
    let payload = frame.payload.map(|(message, offset, bytes)| {
        format!(" ({bytes} bytes from {offset} of message {message}) {}", frame.tail)
    });
    format!("{}{}", frame.head, payload.unwrap_or_default())
}

/// The most characters that are shown of the bytes of a frame.
const SHOWN: usize = 160;
/// The characters that are shown before the first difference of two frames.
const BEFORE: usize = 80;

/// The part of two texts that has their first difference, or the beginning of both if they are equal.
fn around_difference(texts: [&str; 2]) -> [String; 2] {
    let [one, other] = texts.map(|text| text.chars().collect::<Vec<char>>());
    let alike = one.iter().zip(&other).take_while(|(one, other)| one == other).count();
    let longest = one.len().max(other.len());
    let begin = if alike == longest || longest <= SHOWN { 0 } else { alike.saturating_sub(BEFORE) };
    [one, other].map(|text| {
        let end = text.len().min(begin + SHOWN);
        let part: String = text.get(begin..end).unwrap_or_default().iter().collect();
        let (before, after) = (if begin > 0 { "..." } else { "" }, if end < text.len() { "..." } else { "" });
        format!("{before}{part}{after}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_behind_a_long_beginning_is_shown() {
        let same = "0".repeat(500);
        let [one, other] = around_difference([&format!("{same}1{same}"), &format!("{same}2")]);
        assert_eq!(one, format!("...{}1{}...", "0".repeat(80), "0".repeat(79)));
        assert_eq!(other, format!("...{}2", "0".repeat(80)));
        assert_eq!(around_difference(["01", "02"]), ["01", "02"]);
        assert_eq!(around_difference([&same, &same]), [0, 1].map(|_| format!("{}...", "0".repeat(160))));
        assert_eq!(around_difference([&same, ""]), [format!("{}...", "0".repeat(160)), String::new()]);
    }
}
