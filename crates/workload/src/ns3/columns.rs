//! The columns of a flow. An error ends with the corrected line if the correction is probable.

use super::super::{Fabric, text};
use super::{FlowFormat, PACKET};
use anabranch_base::{Bytes, Duration, HostId, Problem, Rate, Time};

const SECOND: Duration = Duration(1_000_000_000_000);
const MOST_PORT: u64 = 65_535;

/// A line that has as many words as its format has columns.
pub(super) struct Columns<'a> {
    pub words: Vec<&'a str>,
    pub format: FlowFormat,
    pub fabric: &'a Fabric,
}

pub(super) struct Flow<'a> {
    pub src: HostId,
    pub dst: HostId,
    pub bytes: u64,
    pub start: Time,
    /// The start time as the file writes it.
    pub written_start: &'a str,
}

/// The number of the column with the start time, counted from 0.
fn start_column(format: FlowFormat) -> usize {
    if format == FlowFormat::Hpcc { 5 } else { 4 }
}

pub(super) fn start(content: &str, format: FlowFormat) -> Option<Time> {
    text::instant(content.split_whitespace().nth(start_column(format))?, "", SECOND).ok()
}

/// Whether the last three columns can be a destination port, bytes and a start time.
pub(super) fn may_be_hpcc(words: &[&str]) -> bool {
    let whole = |word: &str, most: u64| text::whole(word, "", most).ok();
    whole(words[3], MOST_PORT).is_some()
        && whole(words[4], u64::MAX).is_some_and(|bytes| bytes > 0)
        && text::instant(words[5], "", SECOND).is_ok()
}

/// Whether the last three columns can be packets, a start time and a later end time.
pub(super) fn may_be_rdma(words: &[&str]) -> bool {
    let instant = |word: &str| text::instant(word, "", SECOND).ok();
    text::whole(words[3], "", u64::MAX).is_ok_and(|packets| packets > 0)
        && instant(words[4]).is_some_and(|start| instant(words[5]).is_some_and(|end| end > start))
}

/// Whether a line can be read as a flow of any format, or as a flow of ns3-rdma with a seventh column.
pub(super) fn is_flow(content: &str) -> bool {
    let words: Vec<&str> = content.split_whitespace().collect();
    let whole = |words: &[&str]| words.iter().all(|word| text::whole(word, "", u64::MAX).is_ok());
    let is_instant = |word: &str| text::instant(word, "", SECOND).is_ok();
    match words.len() {
        5 | 7 => whole(&words[..4]) && words[4..].iter().all(|word| is_instant(word)),
        6 => may_be_hpcc(&words) && whole(&words[..3]) || may_be_rdma(&words) && whole(&words[..4]),
        _ => false,
    }
}

/// Whether a line is a cable of a topology file: two nodes, a rate and a latency. The rate or the latency has a unit.
pub(super) fn is_cable(content: &str) -> bool {
    let words: Vec<&str> = content.split_whitespace().collect();
    let [a, b, rate, latency, ..] = words[..] else { return false };
    [a, b].iter().all(|node| text::whole_u32(node, "").is_ok())
        && (rate.parse::<Rate>().is_ok() || latency.parse::<Duration>().is_ok())
}

impl<'a> Columns<'a> {
    pub(super) fn flow(&self) -> Result<Flow<'a>, Problem> {
        let (src, dst) = (self.host(0, "the source")?, self.host(1, "the destination")?);
        if src == dst {
            return Err(format!(
                "the flow goes from {} to itself; a destination must be another host",
                self.words[0]
            )
            .into());
        }
        text::whole(self.words[2], "the priority group", 7)
            .map_err(|what| self.instead(what, 2, Some("3".to_owned())))?;
        let bytes = match self.format {
            FlowFormat::Conweave => self.amount(3, "the flow's size in bytes")?,
            FlowFormat::Hpcc => {
                let port = text::whole(self.words[3], "the destination port", MOST_PORT);
                port.map_err(|what| self.instead(what, 3, Some("100".to_owned())))?;
                self.amount(4, "the flow's size in bytes")?
            }
            FlowFormat::Ns3Rdma => {
                let packets = self.amount(3, "the flow's number of packets")?;
                packets.checked_mul(PACKET).ok_or_else(|| format!("{packets} packets are too many"))?
            }
        };
        let column = start_column(self.format);
        let start = self.instant(column, "the start")?;
        if self.format == FlowFormat::Ns3Rdma && self.instant(5, "the end")? <= start {
            return Err(
                format!("the flow ends at {} s, and starts at {} s", self.words[5], self.words[4]).into()
            );
        }
        Ok(Flow { src, dst, bytes, start, written_start: self.words[column] })
    }

    fn host(&self, column: usize, what: &str) -> Result<HostId, Problem> {
        let node = text::whole_u32(self.words[column], what)?;
        let nodes = &self.fabric.file_nodes;
        if nodes.is_empty() {
            let last = self.fabric.hosts.saturating_sub(1);
            return match node <= last {
                true => Ok(HostId(node)),
                false => Err(format!("{what} {node} is not a host; the fabric has hosts 0 to {last}").into()),
            };
        }
        match nodes.get(node as usize) {
            Some(Some(host)) => Ok(*host),
            there => {
                let is = if there.is_some() { "a switch" } else { "no node" };
                let hosts = hosts_among(nodes);
                Err(format!("{what} {node} is {is} of the topology file; its hosts are nodes {hosts}").into())
            }
        }
    }

    fn amount(&self, column: usize, what: &str) -> Result<u64, Problem> {
        let word = self.words[column];
        let amount = text::whole(word, what, u64::MAX).map_err(|problem| {
            let size = word.parse::<Bytes>().ok().map(|bytes| bytes.0.to_string());
            let whole = word
                .parse::<f64>()
                .ok()
                .filter(|number| (1.0..1e15).contains(number) && number.fract() == 0.0);
            self.instead(problem, column, size.or(whole.map(|number| number.to_string())))
        })?;
        match amount {
            0 => Err(self.instead(format!("{what} is 0, and the least is 1"), column, Some("1".to_owned()))),
            amount => Ok(amount),
        }
    }

    fn instant(&self, column: usize, what: &str) -> Result<Time, Problem> {
        let word = self.words[column];
        let what = format!("{what} in seconds");
        text::instant(word, &what, SECOND).map_err(|problem| {
            let seconds = word.parse::<Duration>().ok().map(|time| {
                let decimal = format!("{}.{:012}", time.0 / SECOND.0, time.0 % SECOND.0);
                decimal.trim_end_matches('0').trim_end_matches('.').to_owned()
            });
            self.instead(problem, column, seconds)
        })
    }

    /// The problem, with a corrected line that has `word` in this column.
    fn instead(&self, message: String, column: usize, word: Option<String>) -> Problem {
        let Some(word) = word else { return message.into() };
        let mut words = self.words.clone();
        words[column] = &word;
        Problem::with_text(message, words.join(" "))
    }
}

/// The numbers of the hosts: `0 to 127`, or `1, 3, 5 to 6`.
fn hosts_among(nodes: &[Option<HostId>]) -> String {
    const NAMED: usize = 8;
    let numbers: Vec<usize> = (0..nodes.len()).filter(|node| nodes[*node].is_some()).collect();
    let mut runs: Vec<String> = Vec::new();
    for run in numbers.chunk_by(|a, b| a + 1 == *b) {
        runs.push(match (run[0], run[run.len() - 1]) {
            (first, last) if first == last => first.to_string(),
            (first, last) => format!("{first} to {last}"),
        });
    }
    let more = if runs.len() > NAMED { " and so on" } else { "" };
    runs.truncate(NAMED);
    format!("{}{more}", runs.join(", "))
}
