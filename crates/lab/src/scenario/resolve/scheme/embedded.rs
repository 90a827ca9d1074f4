//! The texts of the schemes that come with the program.

use crate::scenario::read::document::{self, Fields};
use std::sync::OnceLock;

/// A scheme that comes with the program: its name and its file, embedded.
pub(in crate::scenario) const BUILT_IN: &[(&str, &str)] = &[
    ("reps", include_str!("../../../../../../schemes/reps.toml")),
    ("ops", include_str!("../../../../../../schemes/ops.toml")),
    ("ecmp", include_str!("../../../../../../schemes/ecmp.toml")),
    ("plb", include_str!("../../../../../../schemes/plb.toml")),
    ("flowlet", include_str!("../../../../../../schemes/flowlet.toml")),
    ("bitmap", include_str!("../../../../../../schemes/bitmap.toml")),
    ("mprdma-lb", include_str!("../../../../../../schemes/mprdma-lb.toml")),
    ("mptcp", include_str!("../../../../../../schemes/mptcp.toml")),
    ("mptcp-one-window", include_str!("../../../../../../schemes/mptcp-one-window.toml")),
    ("adaptive-roce", include_str!("../../../../../../schemes/adaptive-roce.toml")),
    ("reps-carry", include_str!("../../../../../../schemes/reps-carry.toml")),
    ("reps-reuse", include_str!("../../../../../../schemes/reps-reuse.toml")),
    ("strack", include_str!("../../../../../../schemes/strack.toml")),
    ("strack-ops", include_str!("../../../../../../schemes/strack-ops.toml")),
    ("rocev2", include_str!("../../../../../../schemes/rocev2.toml")),
    ("rocev2-4qp", include_str!("../../../../../../schemes/rocev2-4qp.toml")),
    ("themis-spraying", include_str!("../../../../../../schemes/themis-spraying.toml")),
    ("sr-ar", include_str!("../../../../../../schemes/sr-ar.toml")),
    ("to-ar", include_str!("../../../../../../schemes/to-ar.toml")),
    ("sr-ecmp", include_str!("../../../../../../schemes/sr-ecmp.toml")),
    ("sr-spray", include_str!("../../../../../../schemes/sr-spray.toml")),
    ("conweave", include_str!("../../../../../../schemes/conweave.toml")),
    ("dcp", include_str!("../../../../../../schemes/dcp.toml")),
    ("dcp-dcqcn", include_str!("../../../../../../schemes/dcp-dcqcn.toml")),
    ("irn-ar", include_str!("../../../../../../schemes/irn-ar.toml")),
    ("irn-ar-dcqcn", include_str!("../../../../../../schemes/irn-ar-dcqcn.toml")),
    ("irn-ecmp", include_str!("../../../../../../schemes/irn-ecmp.toml")),
    ("irn-ecmp-dcqcn", include_str!("../../../../../../schemes/irn-ecmp-dcqcn.toml")),
    ("mp-rdma", include_str!("../../../../../../schemes/mp-rdma.toml")),
    ("pfc-ecmp", include_str!("../../../../../../schemes/pfc-ecmp.toml")),
    ("pfc-ecmp-dcqcn", include_str!("../../../../../../schemes/pfc-ecmp-dcqcn.toml")),
    ("hpcc", include_str!("../../../../../../schemes/hpcc.toml")),
    ("rack-tlp", include_str!("../../../../../../schemes/rack-tlp.toml")),
    ("dcqcn", include_str!("../../../../../../schemes/dcqcn.toml")),
    ("themis-longhaul", include_str!("../../../../../../schemes/themis-longhaul.toml")),
    ("pnp-only", include_str!("../../../../../../schemes/pnp-only.toml")),
    ("trp-only", include_str!("../../../../../../schemes/trp-only.toml")),
    ("annulus", include_str!("../../../../../../schemes/annulus.toml")),
    ("bicc", include_str!("../../../../../../schemes/bicc.toml")),
    ("eqds", include_str!("../../../../../../schemes/eqds.toml")),
    ("timeout", include_str!("../../../../../../schemes/timeout.toml")),
];

/// The parts of the scheme of that name as its file and those of its bases say them.
fn parts(name: &str) -> Fields {
    let (_, text) = BUILT_IN.iter().find(|(known, _)| *known == name).expect(TESTED);
    let own = document::parse(name, text).expect(TESTED);
    let base = own.get("base").map(|base| base.value());
    let mut parts = base.as_ref().and_then(toml::Value::as_str).map_or_else(Fields::new, parts);
    document::merge(&mut parts, &own);
    parts
}

/// The names of the schemes whose value at a dotted path is one that `is` holds of.
pub(in crate::scenario) fn having(path: &str, is: impl Fn(&toml::Value) -> bool) -> Vec<&'static str> {
    static PARTS: OnceLock<Vec<toml::Value>> = OnceLock::new();
    let whole = |fields: Fields| {
        toml::Value::Table(fields.iter().map(|(key, node)| (key.clone(), node.value())).collect())
    };
    let all = PARTS.get_or_init(|| BUILT_IN.iter().map(|(name, _)| whole(parts(name))).collect());
    let at =
        |whole: &toml::Value| path.split('.').try_fold(whole, |value, key| value.get(key)).is_some_and(&is);
    BUILT_IN.iter().zip(all).filter(|(_, whole)| at(whole)).map(|((name, _), _)| *name).collect()
}

const TESTED: &str = "the embedded scheme files are tested";
