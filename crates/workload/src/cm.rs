//! The `.cm` connection matrices of htsim (csg-htsim, uet-htsim, and the REPS paper's fork).
//!
//! A file has lines with counts, followed by connections and triggers, one per line:
//!
//! ```text
//! Nodes N  |  Connections N  |  Triggers N  |  Failures N
//! SRC->DST [id N] (start F | trigger N) size BYTES [send_done_trigger N] [recv_done_trigger N] [prio N] [msg] [addon]
//! trigger id N (oneshot | multishot | barrier count K)
//! ```
//!
//! Blank lines, tabs and `#` comments are allowed everywhere. `prio` and `addon` are read but have no effect. A line
//! with `msg` and the id of an earlier line is a further message of that line's connection. The file does not state
//! the unit of `start`.

mod lines;

use super::{Done, Opens, Start, Workload, WorkloadBuilder, WorkloadError};
use anabranch_base::{Duration, HostId, MessageId, Problem, QpId};
use lines::{Body, Connection, Count, Trigger};
use std::collections::BTreeMap;

/// Reads a matrix for a fabric of `hosts` hosts. Message ids follow the order of the connection lines.
///
/// # Errors
/// `start_unit` is 0, or the file is malformed, contradicts itself, has no connections, or is for more hosts than the
/// fabric has.
pub(super) fn parse(
    file: &str,
    text: &str,
    start_unit: Duration,
    hosts: u32,
) -> Result<Workload, WorkloadError> {
    if start_unit == Duration::ZERO {
        return Err(WorkloadError::key(
            "start_unit",
            Problem::with_text("a unit of time cannot be 0", "\"1ps\" or \"1us\""),
        ));
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
            Problem::with_text(
                "it has no connections",
                "`Connections 1` and below it a line such as `0->1 start 0 size 1000`",
            ),
        ));
    }
    Ok(())
}

/// Checks a count line against the number of lines that it counts. htsim has the same check, and its error is
/// "Mismatch in connection count" (`ConnectionMatrix::load`). The count line is optional if there is nothing to count.
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
            Problem::with_text(
                format!("`{key} {}`, but the file has {found} {noun} {lines}", count.value),
                format_args!("`{key} {found}`"),
            ),
        )),
        None if found > 0 => Err(WorkloadError::file(
            file,
            Problem::with_text(
                format!("it has {found} {noun} {lines} but no `{key}` line"),
                format_args!("`{key} {found}` before the body"),
            ),
        )),
        _ => Ok(()),
    }
}

#[derive(Clone, Default)]
struct TriggerUses {
    /// The messages that the trigger starts, in the order of the file.
    starts: Vec<MessageId>,
    /// The messages that activate the trigger when they are delivered or acknowledged.
    fired_by: Vec<(MessageId, Done)>,
}

struct Assembly<'a> {
    file: &'a str,
    body: &'a Body,
    /// The position of each trigger id in the list of triggers.
    trigger_of: BTreeMap<u64, usize>,
    uses: Vec<TriggerUses>,
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
        Ok(Assembly { file, body, trigger_of, uses: vec![TriggerUses::default(); body.triggers.len()] })
    }

    fn build(mut self) -> Result<Workload, WorkloadError> {
        let mut builder = WorkloadBuilder::with_capacity(self.body.connections.len());
        self.add_messages(&mut builder)?;
        for (trigger, uses) in self.body.triggers.iter().zip(&self.uses) {
            check_trigger(trigger, uses)
                .map_err(|what| WorkloadError::line(self.file, trigger.line, what))?;
            let gate = builder.add_gate(trigger.opens, &uses.starts);
            for (message, done) in &uses.fired_by {
                builder.activate(*message, *done, gate);
            }
        }
        builder.build().map_err(|error| self.with_line(error))
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
                self.uses(connection, id)?.starts.push(message);
            }
            if let Some(id) = connection.send_done_trigger {
                self.uses(connection, id)?.fired_by.push((message, Done::Acknowledged));
            }
            if let Some(id) = connection.recv_done_trigger {
                self.uses(connection, id)?.fired_by.push((message, Done::Delivered));
            }
        }
        Ok(())
    }

    fn uses(&mut self, user: &Connection, id: u64) -> Result<&mut TriggerUses, WorkloadError> {
        match self.trigger_of.get(&id) {
            Some(position) => Ok(&mut self.uses[*position]),
            None => {
                let what = format!(
                    "trigger {id} is not declared; add a line `trigger id {id} oneshot` and count it in `Triggers`"
                );
                Err(WorkloadError::line(self.file, user.line, what))
            }
        }
    }

    /// Turns a [`WorkloadError::NeverStart`] into an error with the connection line of the first message that never
    /// starts.
    fn with_line(&self, error: WorkloadError) -> WorkloadError {
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

fn check_same_connection(first: &Connection, further: &Connection) -> Result<(), Problem> {
    let id = first.id.unwrap_or_default();
    if !further.msg {
        return Err(Problem::with_text(
            format!("id {id} is used in line {} already", first.line),
            "another id, or `msg` for a further message on that connection",
        ));
    }
    if (first.src, first.dst) != (further.src, further.dst) {
        return Err(Problem::with_text(
            format!(
                "messages with id {id} go {}->{} (line {}), but this one goes {}->{}",
                first.src, first.dst, first.line, further.src, further.dst
            ),
            "another id",
        ));
    }
    Ok(())
}

fn check_trigger(trigger: &Trigger, uses: &TriggerUses) -> Result<(), Problem> {
    let id = trigger.id;
    let (starts, fired) = (uses.starts.len() as u64, uses.fired_by.len() as u64);
    if fired == 0 {
        return Err(format!(
            "nothing fires trigger {id}; add `send_done_trigger {id}` or `recv_done_trigger {id}` to a connection"
        ).into());
    }
    if starts == 0 {
        return Err(format!(
            "trigger {id} starts nothing; add `trigger {id}` to a connection in place of `start`"
        )
        .into());
    }
    match trigger.opens {
        Opens::After(count) if u64::from(count) > fired => Err(Problem::with_text(
            format!("trigger {id} waits for {count} activations, but only {fired} can happen"),
            format_args!("`count {fired}`"),
        )),
        Opens::Each if starts > fired => Err(format!(
            "multishot trigger {id} starts {starts} connections one at a time, but only {fired} activations can happen"
        ).into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
