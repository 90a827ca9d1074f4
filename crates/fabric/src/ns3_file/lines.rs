//! The lines of a topology file, and the counts in its header.

use super::super::assemble::MAX_LINKS;
use super::super::error::TopologyError;
use super::units;
use anabranch_base::{Duration, Fix, Problem, Rate};
use std::collections::BTreeSet;

pub(super) struct File<'a> {
    name: &'a str,
    pub header: Header<'a>,
    /// The lines after the header, without empty lines.
    body: Vec<Line<'a>>,
}

/// The first line that is not empty.
pub(super) struct Header<'a> {
    pub line: usize,
    pub dialect: Dialect,
    pub nodes: u32,
    /// The number of switches, including NVSwitches.
    pub switches: u32,
    pub links: u32,
    pub server: Option<ServerCounts>,
    words: Vec<&'a str>,
}

/// The columns of SimAI's header that describe servers.
#[derive(Clone, Copy)]
pub(super) struct ServerCounts {
    pub gpus: u32,
    pub nvswitches: u32,
}

/// The family of simulators that reads a file, recognised by the columns of the file's first line.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Dialect {
    /// HPCC's simulator, its descendants, and ns3-rdma.
    Hpcc,
    /// ns3-datacenter (inet-tub). The header also has the number of ToRs and, in that simulator's version for Reverie,
    /// two port rates. These columns are ignored.
    Datacenter,
    /// SimAI. The last column is a word.
    SimAi,
}

impl Dialect {
    fn of_header(words: &[&str]) -> Option<Dialect> {
        match words {
            [_, _, _] => Some(Dialect::Hpcc),
            [_, _, _, _] => Some(Dialect::Datacenter),
            [_, _, _, _, _, last] if last.parse::<f64>().is_ok() => Some(Dialect::Datacenter),
            [_, _, _, _, _, _] => Some(Dialect::SimAi),
            _ => None,
        }
    }

    /// The columns of the numbers of nodes, switches and links. In SimAI's header, the column before the switches has
    /// the number of NVSwitches.
    fn columns(self) -> [usize; 3] {
        match self {
            Dialect::Hpcc => [0, 1, 2],
            Dialect::Datacenter => [0, 1, 3],
            Dialect::SimAi => [0, 3, 4],
        }
    }

    fn names(self) -> &'static str {
        match self {
            Dialect::Hpcc => "nodes switches links",
            Dialect::Datacenter => "nodes switches tors links",
            Dialect::SimAi => "nodes gpus_per_server nvswitches switches links gpu_type",
        }
    }
}

/// A cable of the file, with the file's node numbers.
pub(super) struct Link {
    pub line: usize,
    pub ends: [u32; 2],
    pub rate: Rate,
    pub latency: Duration,
    pub loss: f64,
}

/// The two nodes of a line that describes a cable, even if the rest of the line is malformed.
fn ends(words: &[&str]) -> Option<[u32; 2]> {
    match words {
        [a, b, _, ..] => Some([a.parse().ok()?, b.parse().ok()?]),
        _ => None,
    }
}

/// Whether a line describes a cable, possibly with a mistake: at least two of its first three words are valid.
fn is_like_cable(words: &[&str]) -> bool {
    let [a, b, rate, ..] = words else { return false };
    let valid = [a.parse::<u32>().is_ok(), b.parse::<u32>().is_ok(), units::rate(rate).is_ok()];
    valid.into_iter().filter(|valid| *valid).count() > 1
}

/// Whether a line is from a flow file: it has five to seven plain numbers, of which the first two are nodes.
fn is_flow(words: &[&str]) -> bool {
    let are_nodes = ends(words).is_some();
    are_nodes && (5..=7).contains(&words.len()) && words.iter().all(|word| word.parse::<f64>().is_ok())
}

fn numbers(words: &[&str]) -> Option<Vec<u32>> {
    words.iter().map(|word| word.parse().ok()).collect()
}

/// The number and the words of a line.
type Line<'a> = (usize, Vec<&'a str>);

/// The switches that the first line of `body` lists, and the other lines. If the first line lists no switches, there
/// are none, and all lines are returned.
fn switches_and_cables<'b, 'a>(body: &'b [Line<'a>]) -> (Vec<u32>, &'b [Line<'a>]) {
    match body.split_first().and_then(|(first, rest)| Some((numbers(&first.1)?, rest))) {
        Some(found) => found,
        None => (Vec::new(), body),
    }
}

fn cables<'b>(lines: &'b [Line<'_>]) -> impl Iterator<Item = [u32; 2]> + 'b {
    lines.iter().filter_map(|(_, words)| ends(words))
}

impl<'a> File<'a> {
    /// Divides a file into lines and reads its header.
    ///
    /// # Errors
    /// The file is empty or a flow file, or its header is malformed or has impossible counts.
    pub(super) fn read(name: &'a str, text: &'a str) -> Result<File<'a>, TopologyError> {
        let mut lines = text
            .trim_start_matches('\u{feff}')
            .lines()
            .enumerate()
            .map(|(index, line)| (index + 1, line.split_whitespace().collect::<Vec<&str>>()))
            .filter(|(_, words)| !words.is_empty());
        let Some((line, words)) = lines.next() else {
            let problem = "the file is empty; line 1 is \"nodes switches links\"".to_owned();
            return Err(TopologyError::file(name, 1, problem));
        };
        let body: Vec<_> = lines.collect();
        if matches!(&words[..], [count] if count.parse::<u32>().is_ok())
            && body.first().is_some_and(|(_, words)| is_flow(words))
        {
            let problem = format!(
                "{name} is a flow file (a count, then a flow a line), and no topology file; it belongs below [workload], with \
                 kind = \"ns3-flows\""
            );
            return Err(TopologyError::file(name, line, problem));
        }
        let Some(dialect) = Dialect::of_header(&words) else {
            let message = format!(
                "this line has {} columns; it must have 3: {} (HPCC), 4: {} (ns3-datacenter), or 6: {} (SimAI)",
                words.len(),
                Dialect::Hpcc.names(),
                Dialect::Datacenter.names(),
                Dialect::SimAi.names()
            );
            let fix = corrected_header(Dialect::Hpcc, &["0", "0", "0"], &body);
            return Err(TopologyError::file(name, line, Problem { message, fix }));
        };
        let wrong = |message| {
            let fix = corrected_header(dialect, &words, &body);
            TopologyError::file(name, line, Problem { message, fix })
        };
        let number = |column: usize| -> Result<u32, TopologyError> {
            words[column].parse().map_err(|_| {
                let what = dialect.names().split(' ').nth(column).unwrap_or("a rate");
                wrong(format!("{:?} is not the number of {what}, a whole number from 0", words[column]))
            })
        };
        let [nodes, switches, links] = dialect.columns();
        let server = match dialect {
            Dialect::SimAi => Some(ServerCounts { gpus: number(1)?, nvswitches: number(2)? }),
            Dialect::Hpcc | Dialect::Datacenter => None,
        };
        let (nodes, links) = (number(nodes)?, number(links)?);
        let switches = number(switches)?.saturating_add(server.map_or(0, |server| server.nvswitches));
        if let Some(problem) = count_problem(nodes, switches, links) {
            return Err(wrong(problem));
        }
        Ok(File { name, header: Header { line, dialect, nodes, switches, links, server, words }, body })
    }

    /// The number of cables in the file, including those beyond the header's count.
    pub(super) fn cables(&self) -> usize {
        cables(switches_and_cables(&self.body).1).count()
    }

    /// For each node, whether it is a switch.
    ///
    /// # Errors
    /// The line of switches is missing, or it does not list as many different nodes as the header counts switches.
    pub(super) fn switches(&self) -> Result<Vec<bool>, TopologyError> {
        let Header { nodes, switches: count, line: header, .. } = self.header;
        let mut is_switch = vec![false; nodes as usize];
        if count == 0 {
            return Ok(is_switch);
        }
        let Some((line, words)) = self.body.first() else {
            return Err(self.in_header(format!("the next line must give the {count} switches' numbers")));
        };
        let likely = self.likely_switches();
        let ids = numbers(words);
        let instead = match likely.len() == count as usize {
            true => {
                let all: Vec<String> = likely.iter().map(u32::to_string).collect();
                let above = if ids.is_none() && ends(words).is_some() { " above it" } else { "" };
                Some(Fix::text(format_args!("{}{above}", all.join(" "))))
            }
            false => None,
        };
        let wrong = |message: String| Err(self.at(*line, Problem { message, fix: instead.clone() }));
        let Some(ids) = ids else {
            return wrong(format!("this line must give the numbers of the {count} switches"));
        };
        if ids.len() != count as usize {
            let message = format!(
                "the count of switches in line {header} is {count}, but line {line} gives {}",
                ids.len()
            );
            return match corrected_header(self.header.dialect, &self.header.words, &self.body) {
                Some(fit) if ids.iter().copied().collect::<BTreeSet<u32>>() == likely => {
                    Err(self.in_header(Problem { message, fix: Some(fit) }))
                }
                _ => wrong(format!("{message}; it must give every switch's number")),
            };
        }
        for id in ids {
            if id >= nodes {
                return wrong(self.no_node(id));
            }
            if std::mem::replace(&mut is_switch[id as usize], true) {
                return wrong(format!("switch {id} is given twice"));
            }
        }
        Ok(is_switch)
    }

    /// SimAI's NVSwitches, which come first in the line of switches.
    pub(super) fn nvswitches(&self) -> BTreeSet<u32> {
        let count = self.header.server.map_or(0, |server| server.nvswitches as usize);
        let ids = self.body.first().and_then(|(_, words)| numbers(words)).unwrap_or_default();
        ids.into_iter().take(count).collect()
    }

    pub(super) fn header_with(&self, column: usize, word: u32) -> Fix {
        let mut words: Vec<String> = self.header.words.iter().map(|word| (*word).to_owned()).collect();
        words[column] = word.to_string();
        Fix::text(words.join(" "))
    }

    /// The nodes with several cables. They are probably switches, because a host usually has a single cable.
    fn likely_switches(&self) -> BTreeSet<u32> {
        let mut once = BTreeSet::new();
        let ends = cables(switches_and_cables(&self.body).1).flatten();
        ends.filter(|node| *node < self.header.nodes && !once.insert(*node)).collect()
    }

    /// The cables, up to the number that the header gives.
    ///
    /// # Errors
    /// The file has fewer cables than the header gives, or a malformed one.
    pub(super) fn links(&self, is_switch: &[bool]) -> Result<Vec<Link>, TopologyError> {
        let Header { links: count, switches, .. } = self.header;
        let body = &self.body[usize::from(switches > 0).min(self.body.len())..];
        // ns3-rdma's cables have no error rate. In the other files of this dialect every cable has one.
        let mut all = body.iter().take(count as usize).filter(|(_, words)| ends(words).is_some());
        let width = match self.header.dialect == Dialect::Hpcc && all.all(|(_, words)| words.len() == 4) {
            true => 4,
            false => 5,
        };
        let mut links = Vec::new();
        for (number, (line, words)) in body.iter().enumerate().take(count as usize) {
            if !is_like_cable(words) && cables(&body[number..]).next().is_none() {
                break;
            }
            links.push(self.link(*line, words, width, is_switch.len() as u32)?);
        }
        if links.len() == count as usize {
            return Ok(links);
        }
        let found = links.len();
        let message = format!("line {} counts {count} links, but the file has {found}", self.header.line);
        let fix = corrected_header(self.header.dialect, &self.header.words, &self.body);
        Err(self.in_header(Problem { message, fix }))
    }

    fn link(&self, line: usize, words: &[&str], width: usize, nodes: u32) -> Result<Link, TopologyError> {
        let names = "node node rate latency error-rate";
        if words.len() != width {
            let problem = if words.len() == 4 {
                Problem::with_text(
                    format!("this line has no error rate ({names}), and others of the file have"),
                    format_args!("{} 0", words.join(" ")),
                )
            } else {
                format!("this line has {} columns; it must have {width}: {names}", words.len()).into()
            };
            return Err(self.at(line, problem));
        }
        let mut ends = [0; 2];
        for (end, word) in ends.iter_mut().zip(words) {
            *end = word.parse().map_err(|_| {
                self.at(line, format!("{word:?} is not a node's number, a whole number from 0"))
            })?;
            if *end >= nodes {
                return Err(self.at(line, self.no_node(*end)));
            }
        }
        let wrong = |column: usize, Problem { message, fix }: Problem| {
            let whole_line = |fix: Fix| {
                let word = fix.to_string();
                let mut words: Vec<&str> = words.to_vec();
                words[column] = &word;
                Fix::text(words.join(" "))
            };
            self.at(line, Problem { message, fix: fix.map(whole_line) })
        };
        let rate = units::rate(words[2]).map_err(|problem| wrong(2, problem))?;
        let latency = units::latency(words[3]).map_err(|problem| wrong(3, problem))?;
        let loss =
            words.get(4).map_or(Ok(0.0), |word| units::loss(word)).map_err(|problem| wrong(4, problem))?;
        Ok(Link { line, ends, rate, latency, loss })
    }

    fn no_node(&self, id: u32) -> String {
        let nodes = self.header.nodes;
        format!(
            "there is no node {id}: line {} counts {nodes}, numbered 0 to {}",
            self.header.line,
            nodes - 1
        )
    }

    /// The error for a line of switches that lacks a node with several links. If as many nodes have several links as
    /// the header counts switches, these nodes are probably the switches. Otherwise there is no error.
    pub(super) fn other_switches(&self, is_switch: &[bool], links: &[Link]) -> Option<TopologyError> {
        let mut once = BTreeSet::new();
        let ends = links.iter().flat_map(|link| link.ends);
        let likely: BTreeSet<u32> = ends.filter(|node| !once.insert(*node)).collect();
        let host = likely.iter().find(|node| !is_switch[**node as usize])?;
        let (line, _) = self.body.first().filter(|_| likely.len() == self.header.switches as usize)?;
        let all: Vec<String> = likely.iter().map(u32::to_string).collect();
        let problem = Problem::with_value(
            format!(
                "this line must give the numbers of the switches, and has not {host}, which has several links"
            ),
            all.join(" "),
        );
        Some(self.at(*line, problem))
    }

    pub(super) fn at(&self, line: usize, problem: impl Into<Problem>) -> TopologyError {
        TopologyError::file(self.name, line, problem)
    }

    pub(super) fn in_header(&self, problem: impl Into<Problem>) -> TopologyError {
        self.at(self.header.line, problem)
    }
}

/// The header that fits the lines after it; `None` if the present header already fits, or if no header fits.
fn corrected_header(dialect: Dialect, words: &[&str], body: &[Line<'_>]) -> Option<Fix> {
    let (switches, lines) = switches_and_cables(body);
    let nodes = cables(lines).flatten().chain(switches.iter().copied()).max()?.checked_add(1)?;
    let (switches, links) = (switches.len(), cables(lines).count());
    if count_problem(nodes, u32::try_from(switches).ok()?, u32::try_from(links).ok()?).is_some() {
        return None;
    }
    let nvswitches = match dialect {
        Dialect::SimAi => words[2].parse().ok()?,
        _ => 0,
    };
    let fit = header_with_counts(dialect, words, [nodes as usize, switches.checked_sub(nvswitches)?, links]);
    (fit != words.join(" ")).then(|| Fix::text(fit))
}

fn header_with_counts(dialect: Dialect, words: &[&str], counts: [usize; 3]) -> String {
    let mut words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    for (column, count) in dialect.columns().into_iter().zip(counts) {
        words[column] = count.to_string();
    }
    words.join(" ")
}

/// The reason why no graph can have these counts; `None` if a graph can have them.
fn count_problem(nodes: u32, switches: u32, links: u32) -> Option<String> {
    let hosts = nodes.saturating_sub(switches);
    if switches > nodes {
        Some(format!("{switches} switches among {nodes} nodes are not possible"))
    } else if hosts < 2 {
        Some(format!("{nodes} nodes less {switches} switches leave {hosts} hosts; there must be at least 2"))
    } else if u64::from(links) * 2 > MAX_LINKS {
        Some(format!("{links} links are too many; the most that is simulated is {}", MAX_LINKS / 2))
    } else if u64::from(links) + 1 < u64::from(nodes) {
        Some(format!("{links} links are too few to join {nodes} nodes; at least {} are needed", nodes - 1))
    } else {
        None
    }
}
