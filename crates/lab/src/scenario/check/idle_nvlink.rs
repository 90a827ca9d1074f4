//! Warnings about NVLinks that a workload does not use because it has no `server` or that a topology of servers lacks,
//! about NVLink switches that can reduce but that the workload's algorithm does not use, and about collectives that use
//! NVLink alone.

use crate::scenario::check::domain_jobs;
use crate::scenario::read::source_map::Origin;
use crate::scenario::read::table::fault;
use anabranch_base::{Bytes, Diagnostic, HostId, Rate};
use anabranch_fabric::Topology;
use anabranch_workload::collective::{Algorithm, CollectiveSpec, Members, Operation};
use anabranch_workload::{Job, Message, TraceSpec, Workload, WorkloadSpec};

/// The rates of the NICs of servers with A100 and H100, each with the rate of a GPU's NVLinks in one direction.
const NVLINK_BESIDE: [(Rate, Rate); 2] =
    [(Rate::from_gbps(200), Rate::from_gbps(2_400)), (Rate::from_gbps(400), Rate::from_gbps(3_600))];
/// The rate of one direction of the NVLinks of a B200, beside faster NICs.
const NVLINK_OF_B200: Rate = Rate::from_gbps(7_200);

/// The first finding of each kind.
#[derive(Default)]
pub(in crate::scenario) struct IdleNvLink {
    links: Option<IdleLinks>,
    switches: Option<IdleSwitches>,
    /// Whether no collective so far sends packets, since all ranks are in one NVLink domain. None without collectives.
    without_packets: Option<bool>,
    /// The change with which such a collective sends packets.
    with_packets: String,
    /// The key that says which GPUs are its ranks.
    members: &'static str,
}

struct IdleLinks {
    /// The path of the table that lacks `server`.
    key: String,
    bytes: u64,
    rate: Rate,
    /// Whether the topology has NVLinks. Otherwise, `rate` is that of NVLinks that suit its NICs.
    given: bool,
}

/// The rate of NVLinks that are usual beside the NICs of `on`.
fn usual_nvlink(on: &Topology) -> Rate {
    let nic = Rate(on.links_of(HostId(0).into()).map(|link| on.ports[link as usize].rate.0).sum());
    let usual = NVLINK_BESIDE.iter().find(|(of_nic, _)| nic <= *of_nic);
    usual.map_or(NVLINK_OF_B200, |(_, nvlink)| *nvlink)
}

struct IdleSwitches {
    /// The path of the table with `nvls`.
    key: String,
    /// The algorithm of a collective; none for a trace, which may have several algorithms.
    algorithm: Option<Algorithm>,
}

fn reduces_in_switches(algorithm: Algorithm) -> bool {
    matches!(algorithm, Algorithm::AllreduceHierarchical | Algorithm::AllreduceNccl)
}

impl IdleSwitches {
    fn of_trace(key: &str, job: &TraceSpec) -> Option<IdleSwitches> {
        let is_idle = job.server.is_some_and(|server| server.nvls)
            && !job.algorithm.iter().any(|instead| reduces_in_switches(instead.algorithm));
        is_idle.then(|| IdleSwitches { key: format!("{key}.server"), algorithm: None })
    }

    fn of(spec: &WorkloadSpec) -> Option<IdleSwitches> {
        match spec {
            WorkloadSpec::Collective(job)
                if job.server.is_some_and(|server| server.nvls) && !reduces_in_switches(job.algorithm) =>
            {
                Some(IdleSwitches { key: "workload.server".to_owned(), algorithm: Some(job.algorithm) })
            }
            WorkloadSpec::Trace(job) => IdleSwitches::of_trace("workload", job),
            WorkloadSpec::Jobs { job } => {
                let mut each = job.iter().enumerate();
                each.find_map(|(number, job)| IdleSwitches::of_trace(&format!("workload.job.{number}"), job))
            }
            _ => None,
        }
    }
}

impl IdleNvLink {
    /// Examines the workload of another point. `has_key` is whether `[topology]` can have `nvlink`.
    pub(in crate::scenario) fn look(
        &mut self,
        spec: &WorkloadSpec,
        workload: &Workload,
        on: &Topology,
        has_key: bool,
    ) {
        if self.switches.is_none() {
            self.switches = IdleSwitches::of(spec);
        }
        self.look_for_packets(spec, workload, on);
        let Some(servers) = &on.servers else { return };
        // Topologies from files have their NVLinks from there.
        if servers.nvlink.is_none() && !has_key {
            return;
        }
        let domain = |host: HostId| servers.server_of(host).map(|server| servers.domain_of(server));
        let within = |message: &&Message| {
            let ends = &workload.qps[message.qp.index()];
            domain(ends.src).is_some() && domain(ends.src) == domain(ends.dst)
        };
        let bytes = |messages: &[Message]| {
            messages.iter().filter(within).fold(0, |sum: u64, message| sum.saturating_add(message.bytes))
        };
        let all = match spec {
            WorkloadSpec::Collective(job) if job.server.is_none() => bytes(&workload.messages),
            WorkloadSpec::Trace(job) if job.server.is_none() => bytes(&workload.messages),
            _ => 0,
        };
        let of_job =
            |job: &Job| bytes(&workload.messages[job.messages.start as usize..job.messages.end as usize]);
        let idle = match spec {
            WorkloadSpec::Jobs { job: specs } => {
                let without = workload.jobs.iter().zip(specs).enumerate();
                let mut without = without.filter(|(_, (_, spec))| spec.server.is_none());
                without.find_map(|(number, (job, _))| {
                    Some((format!("workload.job.{number}"), of_job(job))).filter(|(_, bytes)| *bytes > 0)
                })
            }
            _ => Some(("workload".to_owned(), all)).filter(|(_, bytes)| *bytes > 0),
        };
        let given = servers.nvlink.map(|link| link.rate);
        let total = workload.messages.iter().fold(0, |sum: u64, message| sum.saturating_add(message.bytes));
        let is_much = |bytes: u64| given.is_some() || bytes >= total / 4;
        if let Some((key, bytes)) = idle.filter(|(_, bytes)| is_much(*bytes)) {
            let rate = given.unwrap_or_else(|| usual_nvlink(on));
            self.links.get_or_insert(IdleLinks { key, bytes, rate, given: given.is_some() });
        }
    }

    fn look_for_packets(&mut self, spec: &WorkloadSpec, workload: &Workload, on: &Topology) {
        let job = match spec {
            WorkloadSpec::Collective(job) if workload.messages.is_empty() => job.server,
            _ => None,
        };
        self.without_packets = Some(job.is_some() && self.without_packets.unwrap_or(true));
        let all = on.servers.as_ref();
        let total = all.map_or(0, |all| all.gpus());
        let of_domain: usize = all.map_or(0, |all| {
            let servers = (0..all.count()).filter(|server| all.domain_of(*server) == 0);
            servers.map(|server| all.gpus_of(server).len()).sum()
        });
        let in_groups =
            matches!(spec, WorkloadSpec::Collective(CollectiveSpec { members: Members::Groups { .. }, .. }));
        self.members = if in_groups { "groups" } else { "ranks" };
        self.with_packets = match job.and_then(|job| job.ranks) {
            Some(ranks) if in_groups => format!("groups of more ranks than the {ranks} of a server"),
            None if in_groups && 2 * of_domain <= total as usize => {
                format!("groups of GPUs of several domains, such as groups = [[0, {of_domain}]]")
            }
            Some(ranks) => format!("more ranks below [workload] than the {ranks} of a server"),
            None if 2 * of_domain <= total as usize => {
                format!(
                    "ranks = {}, the GPUs of two domains, or no ranks for all {total} GPUs",
                    2 * of_domain
                )
            }
            None if of_domain > all.map_or(0, |all| all.gpus_of(0).len()) => format!(
                "more servers below [topology], or a smaller nvlink_domain, which counts servers: its {of_domain} GPUs are all"
            ),
            None => "more servers below [topology]".to_owned(),
        };
        if workload.messages.is_empty()
            && let Some(hint) = domain_jobs::with_packets(spec, on)
        {
            self.with_packets = hint;
        }
    }

    fn packets_warning(&self, origin: &Origin) -> Option<Diagnostic> {
        self.without_packets.filter(|without| *without)?;
        let message = "all ranks are GPUs of one NVLink domain: no packet is sent, and every scheme takes the same time";
        let help = Some(self.with_packets.clone().into());
        Some(fault(&origin.file, origin.place(&format!("workload.{}", self.members)), message, help))
    }

    pub(in crate::scenario) fn warnings(self, origin: &Origin) -> Vec<Diagnostic> {
        let without_packets = self.packets_warning(origin);
        let warning = |IdleLinks { key, bytes, rate, given }: IdleLinks| {
            let bytes = Bytes(bytes);
            if !given {
                let message = format!(
                    "ranks of one server send each other {bytes} over the network, since the topology has no NVLinks"
                );
                let help = format!(
                    "nvlink = \"{rate}\" below [topology] and server = {{}} below [{key}], unless the GPUs of a server have \
                     no NVLinks"
                );
                return fault(&origin.file, origin.place("topology"), message, Some(help.into()));
            }
            let message = format!(
                "GPUs of one NVLink domain send each other {bytes} over the network, although the topology has NVLinks of {rate}"
            );
            let help =
                format!("server = {{}} below [{key}]: ranks are then GPUs, and those of a domain use NVLink");
            fault(&origin.file, origin.place(&key), message, Some(help.into()))
        };
        let of_switches = |IdleSwitches { key, algorithm }: IdleSwitches| {
            let which = match algorithm {
                Some(algorithm) => format!("{} does not use", algorithm.name()),
                None => "no collective of the trace uses".to_owned(),
            };
            let message = format!("nvls = true has no effect: {which} the NVLink switch");
            let hierarchical = "algorithm = \"allreduce-hierarchical\"";
            let help = match algorithm.map(Algorithm::operation) {
                None => format!("{hierarchical} in an [[algorithm]] of the job, or [{key}] without nvls"),
                Some(Operation::AllReduce) => format!("{hierarchical}, or [{key}] without nvls"),
                Some(_) => format!("[{key}] without nvls, which only an AllReduce uses"),
            };
            fault(&origin.file, origin.place(&key), message, Some(help.into()))
        };
        let others = self.switches.map(of_switches).into_iter().chain(without_packets);
        self.links.map(warning).into_iter().chain(others).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::scenario::expand::scenario::read;
    use crate::scenario::input::{Files, NoFiles, Overrides};

    fn scenario_text(topology: &str, workload: &str) -> String {
        format!(
            "schemes = [\"reps\"]\nseeds = [1]\n[topology]\nkind = \"rails\"\nservers = 2\nlink = \"400Gbps\"\n{topology}\n[workload]\n{workload}\n"
        )
    }

    struct OneFile(String);

    impl Files for OneFile {
        fn read(&self, _: &str) -> Result<String, String> {
            Ok(self.0.clone())
        }
    }

    fn warnings(topology: &str, workload: &str) -> Vec<String> {
        let text = scenario_text(topology, workload);
        let scenario =
            read("s.toml", &text, &NoFiles, &Overrides::default()).unwrap_or_else(|e| panic!("{e}"));
        scenario.check().unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_job_that_sends_within_a_server_is_named() {
        let flow = |line: &str| {
            format!(
                "num_ranks 2\nrank 0 {{\nl1: send 1000000b to 1 tag 1\n}}\nrank 1 {{\nl1: recv 1000000b from 0 tag 1\n}}\n{line}"
            )
        };
        let job = |hosts: &str| {
            format!("[[workload.job]]\nformat = \"goal\"\nfile = \"two.goal\"\nrank_hosts = {hosts}\n")
        };
        let across_then_within = format!("kind = \"jobs\"\n{}{}", job("[0, 8]"), job("[1, 2]"));
        let text = scenario_text("nvlink = \"2.4Tbps\"", &across_then_within);
        let scenario = read("s.toml", &text, &OneFile(flow("")), &Overrides::default()).unwrap();
        let warnings: Vec<String> = scenario.check().unwrap().iter().map(ToString::to_string).collect();
        let [warning] = &warnings[..] else { panic!("{warnings:?}") };
        assert!(warning.contains("send each other 1MB over the network"), "{warning}");
        assert!(warning.contains("server = {} below [workload.job.1]"), "{warning}");
    }

    #[test]
    fn switches_that_reduce_for_no_collective_of_a_trace_are_warned_of() {
        let goal =
            "num_ranks 2\nrank 0 {\nl1: send 1000b to 1 tag 1\n}\nrank 1 {\nl1: recv 1000b from 0 tag 1\n}\n";
        let job = "format = \"goal\"\nfile = \"two.goal\"\nserver = { nvls = true }\n";
        for (workload, key) in [
            (format!("kind = \"trace\"\n{job}"), "workload.server"),
            (format!("kind = \"jobs\"\n[[workload.job]]\n{job}"), "workload.job.0.server"),
        ] {
            let text = scenario_text("nvlink = \"2.4Tbps\"", &workload);
            let scenario = read("s.toml", &text, &OneFile(goal.to_owned()), &Overrides::default()).unwrap();
            let warnings: Vec<String> = scenario.check().unwrap().iter().map(ToString::to_string).collect();
            let said = format!("or [{key}] without nvls");
            let is_it = |text: &&String| text.contains("nvls = true has no effect") && text.contains(&said);
            assert!(warnings.iter().any(|text| is_it(&text)), "{warnings:?}");
        }
    }

    #[test]
    fn ranks_of_one_server_that_send_no_packet_are_warned_of() {
        let tests = |ranks: &str| {
            format!(
                "kind = \"nccl-tests\"\noperation = \"all_reduce\"\nmin_bytes = \"1MiB\"\nmax_bytes = \"2MiB\"\n{ranks}\nserver = {{}}"
            )
        };
        let nvlink = "nvlink = \"2.4Tbps\"";
        let said = "all ranks are GPUs of one NVLink domain: no packet is sent, and every scheme takes the same time\n  write: ";
        let one =
            format!("s.toml:13:1: {said}ranks = 16, the GPUs of two domains, or no ranks for all 16 GPUs");
        assert_eq!(warnings(nvlink, &tests("ranks = 8")), [one]);
        for (topology, ranks) in [
            (nvlink, "ranks = 16"),
            (nvlink, ""),
            (nvlink, "ranks = 9"),
            ("nvlink = \"2.4Tbps\"\ngpus = 4\nnics = 4", "ranks = 8"),
        ] {
            assert_eq!(warnings(topology, &tests(ranks)), [""; 0], "{topology} {ranks}");
        }
        let domain = format!("{nvlink}\nnvlink_domain = 2");
        let [warning] = &warnings(&domain, &tests(""))[..] else { panic!("one warning") };
        assert!(
            warning.ends_with(
                "more servers below [topology], or a smaller nvlink_domain, which counts servers: its 16 GPUs are all"
            ),
            "{warning}"
        );
        let own = tests("ranks = 4").replace("{}", "{ ranks = 4, link = \"2.4Tbps\" }");
        let found = warnings("", &own);
        let said = "more ranks below [workload] than the 4 of a server";
        assert!(found.iter().any(|warning| warning.ends_with(said)), "{found:?}");
        let both = format!("{}\n[sweep]\n\"workload.ranks\" = [8, 16]", tests("ranks = 8"));
        assert_eq!(warnings(nvlink, &both), [""; 0]);
    }

    #[test]
    fn servers_without_nvlink_are_warned_of() {
        let ring = "kind = \"collective\"\nalgorithm = \"allreduce-ring\"\nbytes = \"16MB\"";
        let said = "s.toml:3:2: ranks of one server send each other 420MB over the network, since the topology has no NVLinks\n  \
                    write: nvlink = \"3600Gbps\" below [topology] and server = {} below [workload], unless the GPUs of a server \
                    have no NVLinks";
        assert_eq!(warnings("", ring), [said]);
        assert_eq!(warnings("nvlink = \"3600Gbps\"", &format!("{ring}\nserver = {{}}")), [""; 0]);
        let mostly_across = ring.replace("allreduce-ring", "alltoall");
        assert_eq!(warnings("", &mostly_across).len(), 1);
        let many = scenario_text("", &mostly_across).replace("servers = 2", "servers = 16");
        let scenario = read("s.toml", &many, &NoFiles, &Overrides::default()).unwrap();
        assert!(scenario.check().unwrap().is_empty(), "a sixteenth of the data stays in a server");
        assert_eq!(warnings("nics = 1", ring), [""; 0], "one NIC in a server");
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
        let across = "kind = \"permutation\"\nbytes = \"1MB\"";
        assert_eq!(warnings(nvlink, across), [""; 0], "no job");
    }
}
