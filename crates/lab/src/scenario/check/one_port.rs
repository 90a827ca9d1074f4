//! Warnings about schemes that use the ports of a NIC badly.

use crate::scenario::read::source_map::Origin;
use crate::scenario::read::table::fault;
use anabranch_base::{Diagnostic, Fix};
use anabranch_engine::{PortChoice, Scheme};
use anabranch_fabric::Topology;
use anabranch_proto::{LbConfig, TransportConfig};

/// The largest number of schemes whose parameters the hint writes.
const MOST_WRITTEN: usize = 2;

/// The names of the schemes found, and the largest number of ports of a NIC.
#[derive(Default)]
pub(in crate::scenario) struct OnePort {
    /// Schemes whose load balancers do not choose among ports.
    fixed: Vec<String>,
    /// Schemes whose load balancers would choose among ports if the queue pair did not.
    pinned: Vec<String>,
    /// Schemes with go-back-N whose packets leave by every free port.
    overtaken: Vec<String>,
    ports: u16,
}

impl OnePort {
    pub(in crate::scenario) fn look(&mut self, scheme: &Scheme, on: &Topology) {
        if !on.has_several_ports() || scheme.mix.is_some() {
            return;
        }
        self.ports = self.ports.max(on.most_host_ports());
        let spreads = scheme.all_lbs().all(LbConfig::spreads_packets);
        let found = match scheme.fabric.port_choice() {
            PortChoice::Entropy if scheme.qps == 1 && !spreads => &mut self.fixed,
            PortChoice::QueuePair if scheme.qps >= u32::from(on.most_host_ports()) => return,
            PortChoice::QueuePair if spreads => &mut self.pinned,
            PortChoice::QueuePair => &mut self.fixed,
            // Adaptive routing and spraying reorder packets anyway.
            PortChoice::Packet if scheme.fabric.port_choice.is_some() => match scheme.transport {
                TransportConfig::GoBackN(_) => &mut self.overtaken,
                _ => return,
            },
            _ => return,
        };
        if !found.contains(&scheme.name) {
            found.push(scheme.name.clone());
        }
    }

    pub(in crate::scenario) fn warnings(self, origin: &Origin) -> Vec<Diagnostic> {
        let ports = self.ports;
        let qps = |name: &str| {
            format!("\"{name}.qps\" = {ports} and \"{name}.fabric.port_choice\" = \"queue-pair\"")
        };
        let entropy = |name: &str| format!("\"{name}.fabric.port_choice\" = \"entropy\"");
        let fixed = format!(
            "all packets of a queue pair by one port of the NIC, and a connection has fewer queue pairs than the NIC has \
             ports ({ports}): what a NIC sends to another has less than its rate"
        );
        let pinned = format!(
            "all packets of a queue pair by one port of the NIC: port_choice = \"queue-pair\" overrides the load balancer, \
             which would spread them over {ports} ports"
        );
        let overtaken =
            "the packets of a queue pair by all ports of the NIC, and go-back-n sends everything again \
                         from a packet on that another overtakes"
                .to_owned();
        let warning = |schemes: &[String], what: String, fix: &dyn Fn(&str) -> String, unless: &str| {
            let send = if schemes.len() == 1 { "sends" } else { "send" };
            let message = format!("{} {send} {what}", schemes.join(", "));
            let written =
                schemes.iter().take(MOST_WRITTEN).map(|name| fix(name)).collect::<Vec<_>>().join(", ");
            let rest = if schemes.len() > MOST_WRITTEN { ", likewise the others" } else { "" };
            let help = format!("{written} below [set]{rest}{unless}");
            let warning = fault(&origin.file, origin.place("schemes"), message, Some(Fix::text(help)));
            (!schemes.is_empty()).then_some(warning)
        };
        let found = [
            warning(&self.fixed, fixed, &qps, ", unless that is what is meant"),
            warning(&self.pinned, pinned, &entropy, ""),
            warning(&self.overtaken, overtaken, &qps, ""),
        ];
        found.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::scenario::expand::scenario::read;
    use crate::scenario::input::{NoFiles, Overrides};

    fn warnings(schemes: &str, ports: u32, set: &str) -> Vec<String> {
        let text = format!(
            "schemes = [{schemes}]\nseeds = [1]\n[topology]\nkind = \"rails\"\nservers = 4\nnics = 4\nlink = \"100Gbps\"\n\
             ports = {ports}\n[workload]\nkind = \"permutation\"\nbytes = \"1MB\"\n[set]\n{set}\n"
        );
        let scenario = read("s.toml", &text, &NoFiles, &Overrides::default()).unwrap();
        scenario.check().unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn one_queue_pair_on_several_planes_is_warned_of() {
        let [warning] = &warnings("\"rocev2\", \"reps\"", 4, "")[..] else { panic!("one warning") };
        assert_eq!(
            warning,
            "s.toml:1:1: rocev2 sends all packets of a queue pair by one port of the NIC, and a connection has fewer queue pairs \
             than the NIC has ports (4): what a NIC sends to another has less than its rate\n  write: \"rocev2.qps\" = 4 and \
             \"rocev2.fabric.port_choice\" = \"queue-pair\" below [set], unless that is what is meant"
        );
        assert_eq!(
            warnings("\"rocev2\"", 4, "\"rocev2.qps\" = 4\n\"rocev2.fabric.port_choice\" = \"queue-pair\""),
            [""; 0]
        );
        assert_eq!(warnings("\"rocev2\"", 1, ""), [""; 0]);
        assert_eq!(warnings("\"reps\", \"ops\", \"strack\", \"mp-rdma\", \"dcp\"", 4, ""), [""; 0]);
        let [warning] = &warnings("\"ecmp\", \"conweave\", \"rocev2\"", 2, "")[..] else {
            panic!("one warning")
        };
        assert!(warning.contains("ecmp, conweave, rocev2 send all packets"), "{warning}");
        assert!(warning.contains("below [set], likewise the others"), "{warning}");
    }

    #[test]
    fn a_choice_of_ports_that_costs_is_warned_of() {
        let of = |set: &str| warnings("\"rocev2\", \"reps\"", 2, set);
        let [fixed, spread] = &of("\"*.fabric.port_choice\" = \"queue-pair\"")[..] else {
            panic!("two warnings")
        };
        assert!(fixed.contains("rocev2 sends all packets of a queue pair by one port"), "{fixed}");
        assert!(
            spread.contains("reps sends all packets") && spread.contains("overrides the load balancer"),
            "{spread}"
        );
        assert!(spread.ends_with("write: \"reps.fabric.port_choice\" = \"entropy\" below [set]"), "{spread}");
        let mended = "\"rocev2.qps\" = 2\n\"rocev2.fabric.port_choice\" = \"queue-pair\"\n\
                      \"reps.fabric.port_choice\" = \"entropy\"";
        assert_eq!(of(mended), [""; 0]);
        let [overtaken] = &of("\"*.fabric.port_choice\" = \"packet\"")[..] else { panic!("one warning") };
        assert!(overtaken.contains("rocev2 sends the packets of a queue pair by all ports"), "{overtaken}");
    }
}
