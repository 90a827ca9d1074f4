//! Values of parts of schemes, as examples in hints.

pub(in crate::scenario) const PFC_EXAMPLE: &str =
    "{ buffer = \"256MB\", alpha = 0.125, resume = \"2packets\" }";

pub(in crate::scenario) const MIX_EXAMPLE: &str = "{ every = 10, lb = { kind = \"ecmp\" } }";

const TRANSPORT_EXAMPLE: &str = "{ kind = \"sack\", payload = \"4096B\", header = \"64B\", ack = \"64B\", ack_every = 1, rto = \"70us\" }";

const FABRIC_EXAMPLE: &str = "{ queue = \"1bdp\", control_queue = \"1bdp\", ecn_kmin = \"0.2bdp\", ecn_kmax = \"0.8bdp\", ecn_pmax = 1.0, trim = false }";

/// An example of the value of a part, or of a parameter that may be left out.
pub(in crate::scenario) fn example(path: &str) -> &'static str {
    match path {
        "transport" => TRANSPORT_EXAMPLE,
        "cc" => "{ kind = \"constant\", window = \"1bdp\" }",
        "lb" => "{ kind = \"ops\", evs = 65536 }",
        "fabric.pfc" => PFC_EXAMPLE,
        "mix" => MIX_EXAMPLE,
        "fabric.program" => "{ kind = \"flowlet\", gap = \"100us\" }",
        "fabric.program_at" => "\"tor:100%\"",
        "fabric.wrr" => "{ radix = 16 }",
        "fabric.wrr.radix" => "16",
        "fabric.wrr.weight" => "2.0",
        "fabric.pfc.alpha" => "0.125",
        "fabric.pfc.alpha_from" => "[{ rate = \"400Gbps\", alpha = 0.5 }]",
        "fabric.pfc.at" => "[{ switches = \"esw\", buffer = \"128MB\" }]",
        "fabric.pfc.buffer_rate" => "\"51.2Tbps\"",
        "fabric.pfc.headroom" => "\"120KB\"",
        "fabric.queue" | "fabric.pfc.threshold" => "\"1bdp\"",
        "fabric.routing_delay" => "\"10ms\"",
        "fabric.ecn_from" => "[{ rate = \"400Gbps\", kmin = \"800KB\", kmax = \"6400KB\" }]",
        _ => FABRIC_EXAMPLE,
    }
}
