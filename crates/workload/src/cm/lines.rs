//! The lines of a connection matrix.

use super::super::{Opens, WorkloadError, text};
use anabranch_base::{Duration, Problem, Time};

#[derive(Default)]
pub(super) struct Body {
    pub counts: Counts,
    pub connections: Vec<Connection>,
    pub triggers: Vec<Trigger>,
}

#[derive(Default)]
pub(super) struct Counts {
    nodes: Option<Count>,
    pub connections: Option<Count>,
    pub triggers: Option<Count>,
    failures: Option<Count>,
}

#[derive(Clone, Copy)]
pub(super) struct Count {
    pub value: u64,
    pub line: u32,
}

/// A connection line, with either `start` or `trigger`.
pub(super) struct Connection {
    pub line: u32,
    pub src: u32,
    pub dst: u32,
    pub id: Option<u64>,
    pub start: Option<Time>,
    pub trigger: Option<u64>,
    pub bytes: u64,
    pub send_done_trigger: Option<u64>,
    pub recv_done_trigger: Option<u64>,
    pub msg: bool,
}

pub(super) struct Trigger {
    pub line: u32,
    pub id: u64,
    pub opens: Opens,
}

const FIRST_WORDS: &[&str] =
    &["Nodes", "Connections", "Triggers", "Failures", "trigger", "failure", "SRC->DST"];
const OPTIONS: &[&str] =
    &["id", "start", "trigger", "size", "send_done_trigger", "recv_done_trigger", "prio", "msg", "addon"];
const TRIGGER_KINDS: &[&str] = &["oneshot", "multishot", "barrier"];

pub(super) fn read(file: &str, text: &str, start_unit: Duration, hosts: u32) -> Result<Body, WorkloadError> {
    let mut body = Body::default();
    for (line, content) in text::lines(text) {
        let reader = Reader { line, start_unit, hosts };
        reader.read(content, &mut body).map_err(|what| WorkloadError::line(file, line, what))?;
    }
    match body.counts.nodes {
        Some(_) => Ok(body),
        None => Err(WorkloadError::file(
            file,
            Problem::with_text(
                "it has no `Nodes` line",
                format_args!("`Nodes {hosts}` first, for as many hosts"),
            ),
        )),
    }
}

struct Reader {
    line: u32,
    start_unit: Duration,
    hosts: u32,
}

impl Reader {
    fn read(&self, content: &str, body: &mut Body) -> Result<(), Problem> {
        if let Some((src, rest)) = content.split_once("->") {
            let nodes = body.counts.nodes.ok_or_else(|| {
                Problem::with_text(
                    "a connection before the number of nodes",
                    format_args!("`Nodes {}` above it", self.hosts),
                )
            })?;
            let nodes = nodes.value;
            body.connections.push(self.connection(src.trim(), rest, nodes)?);
            return Ok(());
        }
        let words: Vec<&str> = content.split_whitespace().collect();
        let started = !body.connections.is_empty() || !body.triggers.is_empty();
        match words[0] {
            "Nodes" => self.count(&words, &mut body.counts.nodes, started)?,
            "Connections" => self.count(&words, &mut body.counts.connections, started)?,
            "Triggers" => self.count(&words, &mut body.counts.triggers, started)?,
            "Failures" => self.count(&words, &mut body.counts.failures, started)?,
            "trigger" => body.triggers.push(self.trigger(&words[1..])?),
            "failure" => return Err(no_failures()),
            word => {
                return Err(format!(
                    "{} is unknown; {}",
                    text::quote(word),
                    text::suggest(word, FIRST_WORDS)
                )
                .into());
            }
        }
        self.check_nodes(body)?;
        match body.counts.failures {
            Some(failures) if failures.value > 0 => Err(no_failures()),
            _ => Ok(()),
        }
    }

    fn count(&self, words: &[&str], count: &mut Option<Count>, started: bool) -> Result<(), Problem> {
        let &[key, value] = words else {
            return Err(format!("expected `{0} N`, such as `{0} 16`", words[0]).into());
        };
        if let Some(first) = count {
            return Err(format!("a second `{key}` line; the first is line {}", first.line).into());
        }
        if started {
            return Err(format!("`{key}` must stand before the first connection or trigger").into());
        }
        *count = Some(Count {
            value: text::whole(value, format_args!("the number after `{key}`"), MOST)?,
            line: self.line,
        });
        Ok(())
    }

    /// Checks that the fabric has enough hosts, since the nodes of the file are the first hosts of the fabric.
    fn check_nodes(&self, body: &Body) -> Result<(), Problem> {
        match body.counts.nodes {
            Some(nodes) if nodes.value == 0 => Err("`Nodes 0`: there must be at least 2 to send".into()),
            Some(nodes) if nodes.value > u64::from(self.hosts) => Err(format!(
                "the file is for {} nodes, but the fabric has {} hosts; take a fabric of at least {0} hosts",
                nodes.value, self.hosts
            )
            .into()),
            _ => Ok(()),
        }
    }

    fn connection(&self, src: &str, rest: &str, nodes: u64) -> Result<Connection, Problem> {
        let mut words = rest.split_whitespace();
        let (src, dst) = (
            node(src, "the source", nodes)?,
            node(words.next().unwrap_or_default(), "the destination", nodes)?,
        );
        if src == dst {
            return Err(Problem::with_text(
                format!("the connection goes from node {src} to itself"),
                "another destination",
            ));
        }
        let mut options = Options::default();
        while let Some(key) = words.next() {
            options.read(key, &mut words, self.start_unit)?;
        }
        match (options.start, options.trigger) {
            (Some(_), Some(_)) => return Err("both `start` and `trigger`; remove one of the two".into()),
            (None, None) => {
                return Err(Problem::with_text(
                    "neither `start` nor `trigger`",
                    "`start 0` behind it, or `trigger N`",
                ));
            }
            _ => (),
        }
        if options.msg.is_some() && options.id.is_none() {
            return Err(Problem::with_text(
                "`msg` without an `id`",
                "`id 1`, or another number of the connection that carries the message",
            ));
        }
        Ok(Connection {
            line: self.line,
            src,
            dst,
            id: options.id,
            start: options.start,
            trigger: options.trigger,
            bytes: options
                .size
                .ok_or(Problem::with_text("no `size`", "`size 2000000` behind it, or other bytes"))?,
            send_done_trigger: options.send_done_trigger,
            recv_done_trigger: options.recv_done_trigger,
            msg: options.msg.is_some(),
        })
    }

    /// Reads the words after `trigger`.
    fn trigger(&self, words: &[&str]) -> Result<Trigger, Problem> {
        let form = "`trigger id N oneshot`, `trigger id N multishot` or `trigger id N barrier count K`";
        let &["id", id, kind, ref rest @ ..] = words else {
            return Err(format!("expected {form}").into());
        };
        let id = text::whole(id, "the trigger's id", MOST)?;
        let opens = match (kind, rest) {
            ("oneshot", []) => Opens::After(1),
            ("multishot", []) => Opens::Each,
            ("barrier", ["count", count]) => match text::whole_u32(count, "the barrier's count")? {
                0 => return Err("the barrier's count must be at least 1".into()),
                count => Opens::After(count),
            },
            ("barrier", []) => {
                return Err(Problem::with_text(
                    "a barrier needs its count",
                    "`barrier count 2`, or another number of activations",
                ));
            }
            ("oneshot" | "multishot", ["count", _]) => {
                return Err(Problem::with_text(
                    format!("a {kind} has no count"),
                    format_args!("`{kind}` alone, or `barrier` in its place"),
                ));
            }
            (kind, _) if TRIGGER_KINDS.contains(&kind) => {
                return Err(format!("expected {form}, but {} follows", text::quote(&rest.join(" "))).into());
            }
            (kind, _) => {
                let hint = text::suggest(kind, TRIGGER_KINDS);
                return Err(format!("{} is no kind of trigger; {hint}", text::quote(kind)).into());
            }
        };
        Ok(Trigger { line: self.line, id, opens })
    }
}

fn no_failures() -> Problem {
    Problem::with_text(
        "failures in a connection matrix are not read",
        "them as [[fault]] in the scenario, remove the `failure` lines and set `Failures 0`",
    )
}

/// The largest id or count. Ids and counts have 32 bits, as in htsim.
const MOST: u64 = u32::MAX as u64;

fn node(word: &str, what: &str, nodes: u64) -> Result<u32, Problem> {
    let number = text::whole_u32(word, format_args!("{what} of a connection `SRC->DST`"))?;
    if u64::from(number) >= nodes {
        return Err(format!(
            "{what} {number} is no node; `Nodes {nodes}` has nodes 0 to {}",
            nodes.saturating_sub(1)
        )
        .into());
    }
    Ok(number)
}

/// The options of a connection line. Each may be present at most once.
#[derive(Default)]
struct Options {
    id: Option<u64>,
    start: Option<Time>,
    trigger: Option<u64>,
    size: Option<u64>,
    send_done_trigger: Option<u64>,
    recv_done_trigger: Option<u64>,
    prio: Option<u64>,
    msg: Option<()>,
    addon: Option<()>,
}

impl Options {
    fn read<'a>(
        &mut self,
        key: &str,
        words: &mut impl Iterator<Item = &'a str>,
        start_unit: Duration,
    ) -> Result<(), Problem> {
        let mut number = || match words.next() {
            Some(word) => text::whole(word, format_args!("the number after `{key}`"), MOST),
            None => Err(format!("`{key}` needs a number after it")),
        };
        match key {
            "id" => once(key, &mut self.id, number()?),
            "trigger" => once(key, &mut self.trigger, number()?),
            "send_done_trigger" => once(key, &mut self.send_done_trigger, number()?),
            "recv_done_trigger" => once(key, &mut self.recv_done_trigger, number()?),
            "prio" => once(key, &mut self.prio, number()?),
            "size" => {
                let word = words.next().ok_or("`size` needs a number of bytes after it")?;
                match text::whole_bytes(word, "the size, in bytes,", i64::MAX as u64)? {
                    0 => Err(Problem::with_text("the size must be at least 1 byte, but it is 0", "`size 1`")),
                    bytes => once(key, &mut self.size, bytes),
                }
            }
            "start" => {
                let word = words.next().ok_or("`start` needs a time after it, such as `start 0`")?;
                let start = text::instant(word, "the start", start_unit)
                    .map_err(|what| text::without_unit(what, word, start_unit))?;
                once(key, &mut self.start, start)
            }
            "msg" => once(key, &mut self.msg, ()),
            "addon" => once(key, &mut self.addon, ()),
            _ => Err(format!(
                "{} is no option of a connection; {}",
                text::quote(key),
                text::suggest(key, OPTIONS)
            )
            .into()),
        }
    }
}

fn once<T>(key: &str, slot: &mut Option<T>, value: T) -> Result<(), Problem> {
    match slot.replace(value) {
        Some(_) => Err(format!("`{key}` twice in one line; remove one of the two").into()),
        None => Ok(()),
    }
}
