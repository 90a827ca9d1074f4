//! Rejects denied paths of `mrc` that may leave a queue pair without an entropy value.

use crate::scenario::read::source_map::Origin;
use crate::scenario::read::table::fault;
use anabranch_base::{Diagnostic, Fix, HostId};
use anabranch_engine::Scheme;
use anabranch_fabric::Topology;
use anabranch_proto::LbConfig;
use std::collections::BTreeSet;

pub(super) fn check(scheme: &Scheme, on: &Topology, origin: &Origin) -> Result<(), Diagnostic> {
    let mix = scheme.mix.as_ref().map(|mix| ("mix.lb.denied", &mix.lb));
    for (parameter, lb) in [("lb.denied", &scheme.lb)].into_iter().chain(mix) {
        let LbConfig::Mrc(config) = lb else { continue };
        let ports: BTreeSet<u16> = (0..on.hosts).map(|host| on.host_ports(HostId(host))).collect();
        if let Some(&ports) = ports.iter().find(|&&ports| config.may_deny_all(ports)) {
            let planes =
                if ports == 1 { "the plane".to_owned() } else { format!("each of the {ports} planes") };
            let message = format!(
                "scheme {:?}: {parameter} may leave a queue pair without an entropy value: in {planes} it denies as many \
                 successive paths as a queue pair has",
                scheme.name
            );
            let (at, written) = origin.setting(&scheme.name, parameter, &[]);
            return Err(fault(&origin.file, at, message, Some(Fix::set(written, "[]"))));
        }
    }
    Ok(())
}
