//! Warnings about NVLink that a workload does not use: the links if the workload has no `server`, and the switches
//! that reduce if its algorithm does not use them.

use crate::scenario::read::source_map::Origin;
use crate::scenario::read::table::fault;
use anabranch_base::{Diagnostic, HostId};
use anabranch_fabric::Topology;
use anabranch_workload::collective::Algorithm;
use anabranch_workload::{Workload, WorkloadSpec};

/// The first workload with messages within an NVLink domain over the network although a job has no `server`, and the
/// first algorithm that does not use the switches that reduce.
#[derive(Default)]
pub(in crate::scenario) struct IdleNvLink {
    links: Option<IdleLinks>,
    switches: Option<Algorithm>,
}

struct IdleLinks {
    /// The key of the table that lacks `server`.
    key: String,
    bytes: u64,
    rate: String,
}

impl IdleNvLink {
    pub(in crate::scenario) fn look(&mut self, spec: &WorkloadSpec, workload: &Workload, on: &Topology) {
        if let WorkloadSpec::Collective(job) = spec
            && job.server.is_some_and(|server| server.nvls)
            && !matches!(job.algorithm, Algorithm::AllreduceHierarchical | Algorithm::AllreduceNccl)
        {
            self.switches.get_or_insert(job.algorithm);
        }
        let Some((servers, nvlink)) = on.servers.as_ref().and_then(|all| all.nvlink.map(|link| (all, link)))
        else {
            return;
        };
        let key = match spec {
            WorkloadSpec::Collective(job) if job.server.is_none() => "workload".to_owned(),
            WorkloadSpec::Trace(job) if job.server.is_none() => "workload".to_owned(),
            WorkloadSpec::Jobs { job } => match job.iter().position(|job| job.server.is_none()) {
                Some(number) => format!("workload.job.{number}"),
                None => return,
            },
            _ => return,
        };
        let domain = |host: HostId| servers.server_of(host).map(|server| servers.domain_of(server));
        let is_within = |src: HostId, dst: HostId| domain(src).is_some() && domain(src) == domain(dst);
        let within = workload.messages.iter().filter(|message| {
            let ends = &workload.qps[message.qp.index()];
            is_within(ends.src, ends.dst)
        });
        let bytes = within.fold(0, |sum: u64, message| sum.saturating_add(message.bytes));
        if bytes > 0 {
            self.links.get_or_insert(IdleLinks { key, bytes, rate: nvlink.rate.to_string() });
        }
    }

    /// The warnings, each with the setting with which the links or the switches are used.
    pub(in crate::scenario) fn warnings(self, origin: &Origin) -> Vec<Diagnostic> {
        let warning = |IdleLinks { key, bytes, rate }: IdleLinks| {
            let message = format!(
                "GPUs of one NVLink domain send each other {} over the network, although the topology has NVLinks of {rate}",
                anabranch_base::Bytes(bytes)
            );
            let help =
                format!("server = {{}} below [{key}]: ranks are then GPUs, and those of a domain use NVLink");
            fault(&origin.file, origin.place(&key), message, Some(help.into()))
        };
        let of_switches = |algorithm: Algorithm| {
            let message =
                format!("nvls = true has no effect: {} does not use the NVLink switch", algorithm.name());
            let help = "algorithm = \"allreduce-hierarchical\", or [workload.server] without nvls";
            fault(&origin.file, origin.place("workload.server"), message, Some(help.into()))
        };
        self.links.map(warning).into_iter().chain(self.switches.map(of_switches)).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::scenario::expand::scenario::read;
    use crate::scenario::input::{NoFiles, Overrides};

    fn warnings(topology: &str, workload: &str) -> Vec<String> {
        let text = format!(
            "schemes = [\"reps\"]\nseeds = [1]\n[topology]\nkind = \"rails\"\nservers = 2\nlink = \"400Gbps\"\n{topology}\n[workload]\n{workload}\n"
        );
        let scenario =
            read("s.toml", &text, &NoFiles, &Overrides::default()).unwrap_or_else(|e| panic!("{e}"));
        scenario.check().unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn ranks_of_one_server_that_send_over_the_network_are_warned_of() {
        let ring = "kind = \"collective\"\nalgorithm = \"allreduce-ring\"\nbytes = \"16MB\"";
        let nvlink = "nvlink = \"2.4Tbps\"";
        assert_eq!(
            warnings(nvlink, ring),
            [
                "s.toml:8:2: GPUs of one NVLink domain send each other 420MB over the network, although the topology has \
                 NVLinks of 2400Gbps\n  write: server = {} below [workload]: ranks are then GPUs, and those of a domain \
                 use NVLink"
            ]
        );
        assert_eq!(warnings(nvlink, &format!("{ring}\nserver = {{}}")), [""; 0]);
        let nvls = format!("{ring}\nserver = {{ nvls = true }}");
        let [warning] = &warnings(nvlink, &nvls)[..] else { panic!("one warning") };
        assert!(warning.contains("nvls = true has no effect: allreduce-ring"), "{warning}");
        assert_eq!(warnings(nvlink, &nvls.replace("-ring", "-hierarchical")), [""; 0]);
        assert_eq!(warnings("", ring), [""; 0], "no NVLink");
        let across = "kind = \"permutation\"\nbytes = \"1MB\"";
        assert_eq!(warnings(nvlink, across), [""; 0], "no job");
    }
}
