//! A warning about schemes that send all packets of a connection by one of a NIC's ports.

use crate::scenario::read::source_map::Origin;
use crate::scenario::read::table::fault;
use anabranch_base::{Diagnostic, Fix};
use anabranch_engine::{PortChoice, Scheme};
use anabranch_fabric::Topology;

/// The largest number of schemes whose parameters the hint writes.
const MOST_WRITTEN: usize = 2;

#[derive(Default)]
pub(in crate::scenario) struct OnePort {
    schemes: Vec<String>,
    ports: u16,
}

impl OnePort {
    pub(in crate::scenario) fn look(&mut self, scheme: &Scheme, on: &Topology) {
        let is_meant = scheme.qps > 1 || scheme.fabric.port_choice() == PortChoice::QueuePair;
        if !on.has_several_ports() || is_meant || scheme.uses_all_ports() || scheme.mix.is_some() {
            return;
        }
        self.ports = self.ports.max(on.most_host_ports());
        if !self.schemes.contains(&scheme.name) {
            self.schemes.push(scheme.name.clone());
        }
    }

    pub(in crate::scenario) fn warnings(self, origin: &Origin) -> Vec<Diagnostic> {
        let OnePort { schemes, ports } = self;
        if schemes.is_empty() {
            return Vec::new();
        }
        let (send, their) = if schemes.len() == 1 { ("sends", "its") } else { ("send", "their") };
        let message = format!(
            "{} {send} all packets of a queue pair by one port of the NIC, and {their} connections have one queue pair: what \
             a NIC sends to another has 1/{ports} of its rate",
            schemes.join(", ")
        );
        let of_scheme = |name: &String| {
            format!("\"{name}.qps\" = {ports} and \"{name}.fabric.port_choice\" = \"queue-pair\"")
        };
        let written = schemes.iter().take(MOST_WRITTEN).map(of_scheme).collect::<Vec<_>>().join(", ");
        let rest = if schemes.len() > MOST_WRITTEN { ", likewise the others" } else { "" };
        let help = format!("{written} below [set]{rest}, unless one port is what is meant");
        vec![fault(&origin.file, origin.place("schemes"), message, Some(Fix::text(help)))]
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
            "s.toml:1:1: rocev2 sends all packets of a queue pair by one port of the NIC, and its connections have one queue pair: \
             what a NIC sends to another has 1/4 of its rate\n  write: \"rocev2.qps\" = 4 and \
             \"rocev2.fabric.port_choice\" = \"queue-pair\" below [set], unless one port is what is meant"
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
}
