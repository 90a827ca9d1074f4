//! Warnings about rates of NVLink that have the number of a data sheet with the wrong unit.

use crate::scenario::read::source_map::Origin;
use crate::scenario::read::table::fault;
use crate::scenario::resolve::fabric_values::NVLINK_OF_DATA_SHEETS;
use anabranch_base::{Diagnostic, Fix, Rate};
use anabranch_fabric::TopologySpec;
use anabranch_workload::{ServerSpec, WorkloadSpec};
use std::collections::BTreeMap;

/// The bytes of one direction of an H100's NVLinks, 450 GB/s, read as bits.
const NVLINK_OF_ONE_DIRECTION: Rate = Rate::from_gbps(450);

/// The rates whose number is one of a data sheet, by the paths of their keys.
#[derive(Default)]
pub(in crate::scenario) struct NvLinkRates {
    found: BTreeMap<String, Rate>,
}

impl NvLinkRates {
    pub(in crate::scenario) fn look(&mut self, topology: &TopologySpec, workload: &WorkloadSpec) {
        let of_topology = topology.clos().and_then(|(_, spec)| spec.nvlink);
        self.add("topology.nvlink", of_topology);
        // A server without a rate of its own has the topology's rate.
        let own = |server: &Option<ServerSpec>| {
            server.map(|server| server.link).filter(|link| Some(*link) != of_topology)
        };
        match workload {
            WorkloadSpec::Collective(job) => self.add("workload.server.link", own(&job.server)),
            WorkloadSpec::Trace(job) => self.add("workload.server.link", own(&job.server)),
            WorkloadSpec::Jobs { job } => {
                for (number, job) in job.iter().enumerate() {
                    self.add(&format!("workload.job.{number}.server.link"), own(&job.server));
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, path: &str, rate: Option<Rate>) {
        let is_of_data_sheet =
            |rate: &Rate| NVLINK_OF_DATA_SHEETS.iter().any(|of| *rate == Rate::from_gbps(*of));
        let is_of_data_sheet = |rate: &Rate| is_of_data_sheet(rate) || *rate == NVLINK_OF_ONE_DIRECTION;
        if let Some(rate) = rate.filter(is_of_data_sheet) {
            self.found.insert(path.to_owned(), rate);
        }
    }

    /// A warning for each rate, with the rate of one direction in bits.
    pub(in crate::scenario) fn warnings(self, origin: &Origin) -> Vec<Diagnostic> {
        let warning = |(path, rate): (String, Rate)| {
            let key = path.rsplit('.').next().unwrap_or_default();
            let message = format!(
                "NVLink of {rate} has the number of a data sheet, which counts bytes in both directions; this key has \
                 the bits in one direction"
            );
            let of_one = rate == NVLINK_OF_ONE_DIRECTION;
            let message = if of_one {
                format!(
                    "NVLink of {rate} has the number of an H100's bytes in one direction; this key has the bits"
                )
            } else {
                message
            };
            let factor = if of_one { 8 } else { 4 };
            let rate = Rate(factor * rate.0);
            let fix = format!("{key} = \"{rate}\"; or as it is, if these are bits in one direction");
            fault(&origin.file, origin.place(&path), message, Some(Fix::text(fix)))
        };
        self.found.into_iter().map(warning).collect()
    }
}
