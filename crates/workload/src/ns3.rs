//! The flow files of the ns-3 RDMA simulators: a count, then one flow per line, with times in seconds.
//!
//! | Simulator | Columns of a flow |
//! |---|---|
//! | ConWeave | `src dst pg bytes start_s` |
//! | HPCC, ns3-datacenter | `src dst pg dport bytes start_s` |
//! | ns3-rdma | `source destination priority packets start_s end_s` |
//!
//! Flows connect nodes of the simulator's topology file; on a fabric that is not from such a file a node is the host with
//! its number. Flows beyond the count are not read, as in the simulators.

mod columns;
#[cfg(test)]
mod tests;

use super::{Fabric, Start, Workload, WorkloadBuilder, WorkloadError, text};
use anabranch_base::{Duration, Fix, Problem};
use columns::Columns;
use serde::{Deserialize, Serialize};

/// The simulator whose columns the flows of a file have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlowFormat {
    /// HPCC, with the destination port.
    Hpcc,
    /// ConWeave, without the destination port.
    Conweave,
    /// ns3-rdma, with packets instead of bytes, and an end.
    Ns3Rdma,
}

impl FlowFormat {
    /// Every format with its name in scenarios.
    pub const ALL: [(&'static str, FlowFormat); 3] =
        [("hpcc", FlowFormat::Hpcc), ("conweave", FlowFormat::Conweave), ("ns3-rdma", FlowFormat::Ns3Rdma)];

    fn columns(self) -> usize {
        if self == FlowFormat::Conweave { 5 } else { 6 }
    }

    fn names(self) -> &'static str {
        match self {
            FlowFormat::Hpcc => "`src dst pg dport bytes start_s` (HPCC)",
            FlowFormat::Conweave => "`src dst pg bytes start_s` (ConWeave)",
            FlowFormat::Ns3Rdma => "`source destination priority packets start_s end_s` (ns3-rdma)",
        }
    }
}

/// Reads a flow file for a fabric; each flow becomes one message on its own queue pair, in the order of the file. Without
/// `format`, the format is derived from the columns. `origin` is the time in the file at which the run starts. Priority
/// groups and ports are checked but have no effect. Lines after the counted flows are ignored.
///
/// # Errors
/// [`WorkloadError::Line`] or [`WorkloadError::File`] with a replacement.
pub(super) fn parse(
    file: &str,
    text: &str,
    format: Option<FlowFormat>,
    origin: Duration,
    fabric: &Fabric,
) -> Result<Workload, WorkloadError> {
    let flows = FlowFile::read(file, text)?;
    let format = flows.format(format)?;
    let mut builder = WorkloadBuilder::with_capacity(flows.counted.len());
    for (line, content) in &flows.counted {
        let flow = Columns { words: content.split_whitespace().collect(), format, fabric }
            .flow()
            .map_err(|what| WorkloadError::line(file, *line, what))?;
        let Some(start) = flow.start.0.checked_sub(origin.0) else {
            let first = flows.earliest(format);
            let what = Problem::with_text(
                format!("the flow starts at {} s, before the origin {origin}", flow.written_start),
                format_args!("origin = \"{first}\" in [workload]"),
            );
            return Err(WorkloadError::line(file, *line, what));
        };
        let qp = builder.add_qp(flow.src, flow.dst);
        builder.add_message(qp, flow.bytes, Start::At(anabranch_base::Time(start)));
    }
    builder.build()
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
    if let (Ok(FlowFormat::Ns3Rdma), Some((line, _))) = (flows.format(format), flows.counted.first()) {
        let what = format!(
            "{file} has flows of ns3-rdma, which stop at their end time; here each sends all its packets, of {PACKET} B \
             (its default PACKET_PAYLOAD_SIZE): compare no flow that takes longer than to its end"
        );
        warnings.push(WorkloadError::line(file, *line, what));
    }
    warnings
}

/// The bytes of a packet of ns3-rdma: the `PACKET_PAYLOAD_SIZE` of `third.cc` and its `config.txt`.
const PACKET: u64 = 1000;

/// The lines of a flow file, before they are parsed.
struct FlowFile<'a> {
    file: &'a str,
    count_line: u32,
    /// The flows within the count of the first line, at least one.
    counted: Vec<(u32, &'a str)>,
    /// The number of flows beyond the count.
    unread: usize,
}

/// Whether a line is a flow, perhaps with a mistake, rather than prose.
fn is_flow(content: &str) -> bool {
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
        let flows = all.iter().filter(|(_, content)| is_flow(content)).count();
        // Only the lines after the last flow are prose, as a malformed flow may begin with anything.
        all.truncate(all.iter().rposition(|(_, content)| is_flow(content)).map_or(0, |last| last + 1));
        let fail = |what: Problem| WorkloadError::line(file, count_line, what);
        let count = text::whole_u32(first, "the first line is the number of flows; it").map_err(|what| {
            fail(match is_flow(first) && first.contains(' ') {
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
        let unread = behind.iter().filter(|(_, content)| is_flow(content)).count();
        Ok(FlowFile { file, count_line, counted: all, unread })
    }

    /// The format of the flows: `declared` by the scenario, or derived from the columns.
    fn format(&self, declared: Option<FlowFormat>) -> Result<FlowFormat, WorkloadError> {
        let all = |separator: &str| FlowFormat::ALL.map(|(_, format)| format.names()).join(separator);
        let mut first = None;
        let (mut may_be_hpcc, mut may_be_rdma) = (true, true);
        for (line, content) in &self.counted {
            let fail = |what: Problem| Err(WorkloadError::line(self.file, *line, what));
            let words: Vec<&str> = content.split_whitespace().collect();
            let found = words.len();
            let before = *first.get_or_insert(found);
            match (declared, found) {
                (Some(format), _) if found != format.columns() => {
                    return fail(
                        format!("expected {}, but there are {found} columns", format.names()).into(),
                    );
                }
                (None, 7) => {
                    return fail(Problem::with_text(
                        "7 columns are those of ns3-rdma with an initial rate in Gb/s behind the end (TIMELY), which is not simulated",
                        words[..6].join(" "),
                    ));
                }
                (None, _) if found != 5 && found != 6 => {
                    return fail(format!("expected {}, but there are {found} columns", all(", ")).into());
                }
                _ if found != before => {
                    return fail(
                        format!("expected {before} columns as in the flows before, but there are {found}")
                            .into(),
                    );
                }
                _ if found == 6 => {
                    may_be_hpcc &= columns::may_be_hpcc(&words);
                    may_be_rdma &= columns::may_be_rdma(&words);
                }
                _ => {}
            }
        }
        if let Some(format) = declared {
            return Ok(format);
        }
        let (line, content) = self.counted[0];
        match (first, may_be_hpcc, may_be_rdma) {
            (Some(5), _, _) => Ok(FlowFormat::Conweave),
            (_, true, true) => {
                let what = Problem::with_text(
                    format!(
                        "the 6 columns are {} or {}, and all of these numbers fit both",
                        FlowFormat::Hpcc.names(),
                        FlowFormat::Ns3Rdma.names()
                    ),
                    "format = \"ns3-rdma\" or format = \"hpcc\" in [workload]",
                );
                Err(WorkloadError::line(self.file, line, what))
            }
            (_, false, true) => Ok(FlowFormat::Ns3Rdma),
            (_, true, false) => Ok(FlowFormat::Hpcc),
            // A mistake. The fifth column decides: bytes have no decimal point, and starts mostly have one.
            (_, false, false) => {
                let fifth = content.split_whitespace().nth(4).unwrap_or_default();
                Ok(if fifth.contains('.') { FlowFormat::Ns3Rdma } else { FlowFormat::Hpcc })
            }
        }
    }

    /// The earliest start among the flows whose start can be read.
    fn earliest(&self, format: FlowFormat) -> Duration {
        let starts = self.counted.iter().filter_map(|(_, content)| columns::start(content, format));
        Duration(starts.map(|start| start.0).min().unwrap_or(0))
    }
}
