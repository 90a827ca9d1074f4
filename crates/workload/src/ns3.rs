//! The flow files of the ns-3 RDMA simulators: a count, then one flow per line, with times in seconds.
//!
//! | Simulator | Columns of a flow |
//! |---|---|
//! | ConWeave | `src dst pg bytes start_s` |
//! | HPCC, ns3-datacenter | `src dst pg dport bytes start_s` |
//! | ns3-rdma | `source destination priority packets start_s end_s` |
//!
//! The columns for hosts have node numbers of the simulator's topology file. If the fabric does not come from such a
//! file, these columns have host numbers. Flows beyond the count are not read, as in the simulators.

mod columns;
#[cfg(test)]
mod tests;

use super::{Fabric, Start, Workload, WorkloadBuilder, WorkloadError, text};
use anabranch_base::{Duration, Fix, Problem};
use columns::Columns;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// The simulator that defines the columns of a flow file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlowFormat {
    /// HPCC, whose flows have a destination port.
    Hpcc,
    /// ConWeave, whose flows have no destination port.
    Conweave,
    /// ns3-rdma, whose flows have packets instead of bytes, and an end time.
    Ns3Rdma,
}

impl FlowFormat {
    /// All formats with their names in scenarios.
    pub const ALL: [(&'static str, FlowFormat); 3] =
        [("hpcc", FlowFormat::Hpcc), ("conweave", FlowFormat::Conweave), ("ns3-rdma", FlowFormat::Ns3Rdma)];

    fn columns(self) -> usize {
        if self == FlowFormat::Conweave { 5 } else { 6 }
    }

    /// The formats with six columns.
    const OF_SIX: [FlowFormat; 2] = [FlowFormat::Hpcc, FlowFormat::Ns3Rdma];

    fn of_six(separator: &str) -> String {
        FlowFormat::OF_SIX.map(FlowFormat::names).join(separator)
    }

    fn names(self) -> &'static str {
        match self {
            FlowFormat::Hpcc => "`src dst pg dport bytes start_s` (HPCC)",
            FlowFormat::Conweave => "`src dst pg bytes start_s` (ConWeave)",
            FlowFormat::Ns3Rdma => "`source destination priority packets start_s end_s` (ns3-rdma)",
        }
    }
}

/// Reads a flow file for a fabric. Each flow becomes one message on its own queue pair, in the order of the file. If
/// `format` is none, the format is derived from the columns. `origin` is the time in the file at which the run starts.
/// Priority groups and ports are checked but have no effect.
pub(super) fn parse(
    file: &str,
    text: &str,
    format: Option<FlowFormat>,
    origin: Duration,
    fabric: &Fabric,
) -> Result<Workload, WorkloadError> {
    let flows = FlowFile::read(file, text)?;
    match format {
        None => flows.workload(flows.detect_format()?, origin, fabric),
        Some(format) => {
            let read = flows.check_columns(format).and_then(|()| flows.workload(format, origin, fabric));
            read.map_err(|error| flows.with_detected_format(error, format))
        }
    }
}

/// Warnings, with their lines, about parts of a flow file that are not simulated.
pub(super) fn warnings(file: &str, text: &str, format: Option<FlowFormat>) -> Vec<WorkloadError> {
    let Ok(flows) = FlowFile::read(file, text) else { return Vec::new() };
    let mut warnings = Vec::new();
    if flows.unread > 0 {
        let noun = if flows.unread == 1 { "flow" } else { "flows" };
        let what = format!(
            "left out of {file}, as its simulator does: {} {noun} behind the {} that its first line counts",
            flows.unread,
            flows.counted.len()
        );
        warnings.push(WorkloadError::line(file, flows.count_line, what));
    }
    let format = format.map_or_else(|| flows.detect_format(), Ok);
    if let (Ok(FlowFormat::Ns3Rdma), Some((line, _))) = (format, flows.counted.first()) {
        let what = format!(
            "{file} has flows of ns3-rdma, which stop at their end time; here each sends all its packets, of {PACKET} B \
             (its default PACKET_PAYLOAD_SIZE): compare no flow that takes longer than to its end"
        );
        warnings.push(WorkloadError::line(file, *line, what));
    }
    warnings
}

/// The payload of a packet of ns3-rdma in bytes: `PACKET_PAYLOAD_SIZE` in its `third.cc` and its `config.txt`.
const PACKET: u64 = 1000;

const SET_FORMAT: &str = "; set format in [workload] to the one that is meant";

/// A flow, and the six-column formats that its numbers fit.
struct Fit {
    line: u32,
    columns: usize,
    hpcc: bool,
    rdma: bool,
}

impl Fit {
    fn of(line: u32, content: &str) -> Fit {
        let words: Vec<&str> = content.split_whitespace().collect();
        let six = words.len() == FlowFormat::Hpcc.columns();
        let (hpcc, rdma) = (six && columns::may_be_hpcc(&words), six && columns::may_be_rdma(&words));
        Fit { line, columns: words.len(), hpcc, rdma }
    }

    fn only(&self) -> Option<FlowFormat> {
        match (self.hpcc, self.rdma) {
            (true, false) => Some(FlowFormat::Hpcc),
            (false, true) => Some(FlowFormat::Ns3Rdma),
            _ => None,
        }
    }
}

/// The lines of a flow file, before they are parsed.
struct FlowFile<'a> {
    file: &'a str,
    count_line: u32,
    /// The flows within the count of the first line. There is at least one.
    counted: Vec<(u32, &'a str)>,
    /// The number of flows beyond the count.
    unread: usize,
}

/// Whether a line is a flow, possibly with a mistake, rather than prose.
fn is_flow_like(content: &str) -> bool {
    let numbers = content.split_whitespace().filter(|word| word.parse::<f64>().is_ok());
    content.starts_with(|c: char| c.is_ascii_digit()) || numbers.count() > 2
}

impl<'a> FlowFile<'a> {
    fn read(file: &'a str, text: &'a str) -> Result<FlowFile<'a>, WorkloadError> {
        let mut lines = text::lines(text);
        let Some((count_line, first)) = lines.next() else {
            return Err(WorkloadError::file(file, "it is empty; the first line must be the number of flows"));
        };
        let mut all: Vec<(u32, &str)> = lines.collect();
        let flows = all.iter().filter(|(_, content)| is_flow_like(content)).count();
        // A malformed flow may begin with anything, so only the lines after the last flow count as prose.
        all.truncate(all.iter().rposition(|(_, content)| is_flow_like(content)).map_or(0, |last| last + 1));
        let fail = |what: Problem| WorkloadError::line(file, count_line, what);
        if all.iter().any(|(_, content)| columns::is_cable(content)) {
            let message = format!(
                "{file} is a topology file (`nodes switches links`, then a cable a line), and no flow file; it belongs \
                 below [topology], with kind = \"graph\""
            );
            return Err(fail(message.into()));
        }
        let count = text::whole_u32(first, "the first line is the number of flows; it").map_err(|what| {
            fail(match is_flow_like(first) && first.contains(' ') {
                true => Problem::with_text(what, format_args!("{} above it", flows + 1)),
                false => Problem::with_value(what, flows),
            })
        })?;
        let there = all.len();
        if there < count as usize {
            return Err(fail(match there {
                0 => format!("it counts {count} flows, but has none").into(),
                _ => Problem::with_value(format!("it counts {count} flows, but has {there}"), there),
            }));
        }
        if count == 0 {
            let message = "it counts no flows, and a workload needs at least one".to_owned();
            let fix = (there > 0).then(|| Fix::value(there));
            return Err(fail(Problem { message, fix }));
        }
        let behind = all.split_off(count as usize);
        let unread = behind.iter().filter(|(_, content)| columns::is_flow(content)).count();
        Ok(FlowFile { file, count_line, counted: all, unread })
    }

    fn workload(
        &self,
        format: FlowFormat,
        origin: Duration,
        fabric: &Fabric,
    ) -> Result<Workload, WorkloadError> {
        let mut builder = WorkloadBuilder::with_capacity(self.counted.len());
        for (line, content) in &self.counted {
            let flow = Columns { words: content.split_whitespace().collect(), format, fabric }
                .flow()
                .map_err(|what| WorkloadError::line(self.file, *line, what))?;
            let Some(start) = flow.start.0.checked_sub(origin.0) else {
                let first = self.earliest(format);
                let what = Problem::with_text(
                    format!("the flow starts at {} s, before the origin {origin}", flow.written_start),
                    format_args!("origin = \"{first}\" in [workload]"),
                );
                return Err(WorkloadError::line(self.file, *line, what));
            };
            let qp = builder.add_qp(flow.src, flow.dst);
            builder.add_message(qp, flow.bytes, Start::At(anabranch_base::Time(start)));
        }
        builder.build()
    }

    fn check_columns(&self, format: FlowFormat) -> Result<(), WorkloadError> {
        let counts = self.counted.iter().map(|(line, content)| (*line, content.split_whitespace().count()));
        match counts.into_iter().find(|(_, count)| *count != format.columns()) {
            None => Ok(()),
            Some((line, count)) => {
                let what = format!("expected {}, but there are {count} columns", format.names());
                Err(WorkloadError::line(self.file, line, what))
            }
        }
    }

    /// The error under the format that the scenario declares. If the flows fit another format, the error proposes that
    /// format.
    fn with_detected_format(&self, error: WorkloadError, declared: FlowFormat) -> WorkloadError {
        let likely = self.detect_format().ok().filter(|likely| *likely != declared);
        match (error, likely) {
            (WorkloadError::Line { file, line, what }, Some(likely)) => {
                let instead = FlowFormat::ALL.iter().find(|(_, format)| *format == likely);
                let (name, names) = (instead.map_or("", |(name, _)| name), likely.names());
                let what = Problem::with_text(
                    format!("{}; the flows look like {names}", what.message),
                    format_args!("format = \"{name}\" in [workload]"),
                );
                WorkloadError::Line { file, line, what }
            }
            (error, _) => error,
        }
    }

    /// The format that the columns of the flows fit. If some flow fits no format, this is the probable format.
    fn detect_format(&self) -> Result<FlowFormat, WorkloadError> {
        self.check_counts()?;
        let flows: Vec<Fit> = self.counted.iter().map(|(line, content)| Fit::of(*line, content)).collect();
        if flows[0].columns == FlowFormat::Conweave.columns() {
            return Ok(FlowFormat::Conweave);
        }
        let only = |format: FlowFormat| flows.iter().filter(move |fit| fit.only() == Some(format));
        let mut hpcc = only(FlowFormat::Hpcc).peekable();
        let mut rdma = only(FlowFormat::Ns3Rdma).peekable();
        let names = FlowFormat::OF_SIX.map(FlowFormat::names);
        let instead = "format = \"ns3-rdma\" or format = \"hpcc\" in [workload]";
        match (hpcc.peek().copied(), rdma.peek().copied()) {
            (Some(_), None) => Ok(FlowFormat::Hpcc),
            (None, Some(_)) => Ok(FlowFormat::Ns3Rdma),
            (Some(a), Some(b)) => {
                let (of_hpcc, of_rdma) = (hpcc.count(), rdma.count());
                let is_hpcc = of_hpcc > of_rdma || of_hpcc == of_rdma && a.line < b.line;
                let (odd, most, [names, others]) = match is_hpcc {
                    true => (b.line, a.line, [names[1], names[0]]),
                    false => (a.line, b.line, names),
                };
                let what =
                    format!("the 6 columns fit {names} alone, and those of line {most} {others} alone");
                Err(WorkloadError::line(self.file, odd, Problem::with_text(what, instead)))
            }
            (None, None) if flows.iter().all(|fit| fit.hpcc) => {
                let of_six = FlowFormat::of_six(" or ");
                let what = format!("the 6 columns are {of_six}, and all of these numbers fit both");
                Err(WorkloadError::line(self.file, flows[0].line, Problem::with_text(what, instead)))
            }
            // No flow fits exactly one of the two formats, and some flow fits neither, so the file has a mistake. The
            // fifth column of the first flow determines the probable format, since bytes have no decimal point and most
            // start times have one.
            (None, None) => {
                let fifth = self.counted[0].1.split_whitespace().nth(4).unwrap_or_default();
                Ok(if fifth.contains('.') { FlowFormat::Ns3Rdma } else { FlowFormat::Hpcc })
            }
        }
    }

    /// Checks that all flows have the same number of columns, and that a format has this number.
    fn check_counts(&self) -> Result<(), WorkloadError> {
        let counts: Vec<usize> =
            self.counted.iter().map(|(_, content)| content.split_whitespace().count()).collect();
        let with = |columns: usize| counts.iter().filter(|count| **count == columns).count();
        let usual = match with(5).cmp(&with(6)) {
            Ordering::Less => 6,
            Ordering::Greater => 5,
            Ordering::Equal => counts[0],
        };
        for ((line, content), count) in self.counted.iter().zip(counts) {
            let [five, six] = [FlowFormat::Conweave.names().to_owned(), FlowFormat::of_six(" or ")];
            let what = match count {
                5 | 6 if count == usual => continue,
                5 => format!(
                    "5 columns are those of {five}, but other flows have 6, as {six} have{SET_FORMAT}"
                )
                .into(),
                6 => {
                    format!("6 columns are those of {six}, but other flows have 5, as {five} has{SET_FORMAT}")
                        .into()
                }
                7 => Problem::with_text(
                    "7 columns are those of ns3-rdma with an initial rate in Gb/s behind the end (TIMELY), which is not \
                     simulated",
                    content.split_whitespace().take(6).collect::<Vec<_>>().join(" "),
                ),
                _ => {
                    let six = FlowFormat::of_six(", ");
                    format!("expected {six}, {five}, but there are {count} columns").into()
                }
            };
            return Err(WorkloadError::line(self.file, *line, what));
        }
        Ok(())
    }

    /// The earliest start time that can be read.
    fn earliest(&self, format: FlowFormat) -> Duration {
        let starts = self.counted.iter().filter_map(|(_, content)| columns::start(content, format));
        Duration(starts.map(|start| start.0).min().unwrap_or(0))
    }
}
