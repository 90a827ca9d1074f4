//! ns-3 topology files: in an accepted one, both ends of every cable agree, and routes can be computed.
#![no_main]

use anabranch_base::Duration;
use anabranch_fabric::{Routing, parse_ns3};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(topology) = parse_ns3("fuzz.txt", text, Duration::from_ns(300)) else { return };
    for port in &topology.ports {
        let back = &topology.ports[topology.link(port.peer, port.peer_port).index()];
        assert_eq!((back.rate, back.latency), (port.rate, port.latency));
    }
    let _ = Routing::new(&topology, &|_| true);
});
