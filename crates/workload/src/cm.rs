//! The `.cm` connection matrices of htsim (csg-htsim, uet-htsim, the REPS paper's fork).
//!
//! A file is count lines, then the body, one thing a line:
//!
//! ```text
//! Nodes N  |  Connections N  |  Triggers N  |  Failures N
//! SRC->DST [id N] (start F | trigger N) size BYTES [send_done_trigger N] [recv_done_trigger N] [prio N] [msg] [addon]
//! trigger id N (oneshot | multishot | barrier count K)
//! ```
//!
//! Blank lines, tabs and `#` comments may stand anywhere. `prio` and `addon` are read and have no effect. Lines
//! with one id and `msg` are messages of one connection. A `start` counts in a unit that the file does not say.

mod lines;

use super::{Done, Opens, Start, Workload, WorkloadBuilder, WorkloadError};
use anabranch_base::{Duration, HostId, MessageId, QpId};
use lines::{Body, Connection, Count, Trigger};
use std::collections::BTreeMap;

/// Reads a matrix for a fabric of `hosts` hosts; message ids follow the file's connection lines.
///
/// # Errors
/// [`WorkloadError`] with the line and what to write instead.
pub(super) fn parse(
    file: &str,
    text: &str,
    start_unit: Duration,
    hosts: u32,
) -> Result<Workload, WorkloadError> {
    if start_unit == Duration::ZERO {
        return Err(WorkloadError::key("start_unit", "a unit of time cannot be 0; write \"1ps\" or \"1us\""));
    }
    let body = lines::read(file, text, start_unit, hosts)?;
    check_counts(file, &body)?;
    Assembly::new(file, &body)?.build()
}

fn check_counts(file: &str, body: &Body) -> Result<(), WorkloadError> {
    check_count(file, "Connections", "connection", body.counts.connections, body.connections.len())?;
    check_count(file, "Triggers", "trigger", body.counts.triggers, body.triggers.len())?;
    if body.connections.is_empty() {
        return Err(WorkloadError::file(
            file,
            "it has no connections; write `Connections 1` and below it a line such as `0->1 start 0 size 1000`",
        ));
    }
    Ok(())
}

/// A count line must match what the body has, as in htsim, which ends with "Mismatch in connection count"
/// (`ConnectionMatrix::load`); one that counts nothing may be left out.
fn check_count(
    file: &str,
    key: &str,
    noun: &str,
    count: Option<Count>,
    found: usize,
) -> Result<(), WorkloadError> {
    let lines = if found == 1 { "line" } else { "lines" };
    match count {
        Some(count) if count.value != found as u64 => Err(WorkloadError::line(
            file,
            count.line,
            format!(
                "`{key} {}`, but the file has {found} {noun} {lines}; write `{key} {found}`",
                count.value
            ),
        )),
        None if found > 0 => Err(WorkloadError::file(
            file,
            format!(
                "it has {found} {noun} {lines} but no `{key}` line; write `{key} {found}` before the body"
            ),
        )),
        _ => Ok(()),
    }
}

/// What a trigger is tied to.
#[derive(Clone, Default)]
struct Ties {
    /// The messages that it starts, in the order of the file.
    starts: Vec<MessageId>,
    /// The ends of messages that fire it.
    fired_by: Vec<(MessageId, Done)>,
}

/// The matrix on its way to a workload.
struct Assembly<'a> {
    file: &'a str,
    body: &'a Body,
    /// Position of each trigger id in the body's triggers.
    trigger_of: BTreeMap<u64, usize>,
    ties: Vec<Ties>,
}

impl<'a> Assembly<'a> {
    fn new(file: &'a str, body: &'a Body) -> Result<Self, WorkloadError> {
        let mut trigger_of = BTreeMap::new();
        for (position, trigger) in body.triggers.iter().enumerate() {
            if let Some(first) = trigger_of.insert(trigger.id, position) {
                let first: &Trigger = &body.triggers[first];
                let what = format!(
                    "trigger {} is declared twice, first in line {}; remove one of the two and count the rest in `Triggers`",
                    trigger.id, first.line
                );
                return Err(WorkloadError::line(file, trigger.line, what));
            }
        }
        Ok(Assembly { file, body, trigger_of, ties: vec![Ties::default(); body.triggers.len()] })
    }

    fn build(mut self) -> Result<Workload, WorkloadError> {
        let mut builder = WorkloadBuilder::with_capacity(self.body.connections.len());
        self.add_messages(&mut builder)?;
        for (trigger, ties) in self.body.triggers.iter().zip(&self.ties) {
            check_trigger(trigger, ties)
                .map_err(|what| WorkloadError::line(self.file, trigger.line, what))?;
            let gate = builder.add_gate(trigger.opens, &ties.starts);
            for (message, done) in &ties.fired_by {
                builder.activate(*message, *done, gate);
            }
        }
        builder.build().map_err(|error| self.in_lines(error))
    }

    fn add_messages(&mut self, builder: &mut WorkloadBuilder) -> Result<(), WorkloadError> {
        let body = self.body;
        let mut by_id: BTreeMap<u64, (&Connection, QpId)> = BTreeMap::new();
        for connection in &body.connections {
            let qp = match connection.id.and_then(|id| by_id.get(&id)) {
                Some((first, qp)) => {
                    check_same_connection(first, connection)
                        .map_err(|what| WorkloadError::line(self.file, connection.line, what))?;
                    *qp
                }
                None => builder.add_qp(HostId(connection.src), HostId(connection.dst)),
            };
            if let Some(id) = connection.id {
                by_id.entry(id).or_insert((connection, qp));
            }
            let start = connection.start.map_or(Start::ByGate, Start::At);
            let message = builder.add_message(qp, connection.bytes, start);
            if let Some(id) = connection.trigger {
                self.ties(connection, id)?.starts.push(message);
            }
            if let Some(id) = connection.send_done_trigger {
                self.ties(connection, id)?.fired_by.push((message, Done::Acknowledged));
            }
            if let Some(id) = connection.recv_done_trigger {
                self.ties(connection, id)?.fired_by.push((message, Done::Delivered));
            }
        }
        Ok(())
    }

    fn ties(&mut self, user: &Connection, id: u64) -> Result<&mut Ties, WorkloadError> {
        match self.trigger_of.get(&id) {
            Some(position) => Ok(&mut self.ties[*position]),
            None => {
                let what = format!(
                    "trigger {id} is not declared; add a line `trigger id {id} oneshot` and count it in `Triggers`"
                );
                Err(WorkloadError::line(self.file, user.line, what))
            }
        }
    }

    /// Messages are connection lines here, so an error can name the line.
    fn in_lines(&self, error: WorkloadError) -> WorkloadError {
        let WorkloadError::NeverStart { messages } = &error else { return error };
        let Some(first) = messages.first().map(|m| &self.body.connections[m.index()]) else { return error };
        let others = match messages.len() - 1 {
            0 => String::new(),
            1 => " (nor does 1 other)".to_owned(),
            others => format!(" (nor do {others} others)"),
        };
        let trigger = first.trigger.unwrap_or_default();
        let what = format!(
            "this connection never starts{others}: trigger {trigger} waits, directly or through others, for \
             connections that wait for it; give one of them a `start`, and take out triggers that then start nothing"
        );
        WorkloadError::line(self.file, first.line, what)
    }
}

fn check_same_connection(first: &Connection, further: &Connection) -> Result<(), String> {
    let id = first.id.unwrap_or_default();
    if !further.msg {
        return Err(format!(
            "id {id} is used in line {} already; write another id, or `msg` for a further message on that connection",
            first.line
        ));
    }
    if (first.src, first.dst) != (further.src, further.dst) {
        return Err(format!(
            "messages with id {id} go {}->{} (line {}), but this one goes {}->{}; write another id",
            first.src, first.dst, first.line, further.src, further.dst
        ));
    }
    Ok(())
}

fn check_trigger(trigger: &Trigger, ties: &Ties) -> Result<(), String> {
    let id = trigger.id;
    let (starts, fired) = (ties.starts.len() as u64, ties.fired_by.len() as u64);
    if fired == 0 {
        return Err(format!(
            "nothing fires trigger {id}; add `send_done_trigger {id}` or `recv_done_trigger {id}` to a connection"
        ));
    }
    if starts == 0 {
        return Err(format!(
            "trigger {id} starts nothing; add `trigger {id}` to a connection in place of `start`"
        ));
    }
    match trigger.opens {
        Opens::After(count) if u64::from(count) > fired => Err(format!(
            "trigger {id} waits for {count} activations, but only {fired} can happen; write `count {fired}`"
        )),
        Opens::Each if starts > fired => Err(format!(
            "multishot trigger {id} starts {starts} connections one at a time, but only {fired} activations can happen"
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
