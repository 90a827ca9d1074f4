//! The built-in schemes.

use crate::scenario::read::document::{self, Item, Node};
use crate::scenario::read::table::{Table, fault, list, nearest};
use crate::scenario::resolve::scheme::embedded::BUILT_IN;
use crate::scenario::resolve::scheme::file::Draft;
use crate::scenario::resolve::setup::{COMMON, Setup};
use crate::scenario::schema::plugins::Plugins;
use anabranch_base::Diagnostic;
use anabranch_engine::Scheme;
use std::sync::OnceLock;

/// An entry in the output of `anabranch list schemes`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemeListing {
    /// The name in scenarios.
    pub name: &'static str,
    /// The title, one line.
    pub title: String,
    /// The features of the fabric that the scheme needs with every setup, in words; empty if it needs none.
    pub needs: String,
}

/// Every built-in scheme.
pub fn schemes() -> Vec<SchemeListing> {
    let listing = |(name, _): &(&'static str, &str)| {
        built_in(name).map(|draft| SchemeListing {
            name,
            title: draft.title.clone(),
            needs: draft.needs.clone(),
        })
    };
    BUILT_IN.iter().filter_map(listing).collect()
}

/// The built-in scheme with this name on the setup `common`.
///
/// # Errors
/// There is no such scheme. The error proposes what to write instead. The error has no file name, because only the
/// caller knows where the name was written.
pub fn scheme(name: &str) -> Result<Scheme, Diagnostic> {
    scheme_on(name, COMMON)
}

/// The built-in scheme with this name on a setup.
///
/// # Errors
/// There is no such scheme or no such setup, or the scheme does not fit the setup. The error proposes what to write
/// instead. The error has no file name, because only the caller knows where the name was written.
pub fn scheme_on(name: &str, setup: &str) -> Result<Scheme, Diagnostic> {
    let draft = built_in(name).ok_or_else(|| {
        let (message, help) = unknown(name, &[]);
        fault("", None, message, Some(help.into()))
    })?;
    let root = document::parse("", &format!("setup = {setup:?}"))?;
    let root = Node { at: None, item: Item::Table(root) };
    let plugins = Plugins::default();
    let setup = Setup::read(&Table::open("", "", &root)?, &plugins)?;
    draft.on(&setup, &plugins, "", None)
}

/// The built-in scheme with this name, as written. Each scheme is read at most once.
pub(in crate::scenario) fn built_in(name: &str) -> Option<&'static Draft> {
    static DRAFTS: [OnceLock<Draft>; BUILT_IN.len()] = [const { OnceLock::new() }; BUILT_IN.len()];
    let place = BUILT_IN.iter().position(|(known, _)| *known == name)?;
    Some(
        DRAFTS[place]
            .get_or_init(|| Draft::embedded(name, BUILT_IN[place].1, &|base| built_in(base).cloned())),
    )
}

/// The names of the built-in schemes. If `joined` is false, as in a fabric of one data centre, schemes that need
/// several data centres are left out.
pub(in crate::scenario) fn names(joined: bool) -> Vec<&'static str> {
    let fits = |(name, _): &(&'static str, &str)| {
        let at = scheme(name).ok().and_then(|scheme| scheme.fabric.program_at).unwrap_or_default();
        (joined || !at.starts_with("esw")).then_some(*name)
    };
    BUILT_IN.iter().filter_map(fits).collect()
}

pub(in crate::scenario) fn in_league(part: &str) -> Vec<&'static str> {
    let takes_part =
        |name: &&str| built_in(name).is_some_and(|draft| draft.league.iter().any(|of| of == part));
    BUILT_IN.iter().map(|(name, _)| *name).filter(takes_part).collect()
}

/// Whether a built-in scheme has this name elsewhere, or the names of several ones begin with it.
pub(in crate::scenario) fn is_named_otherwise(name: &str) -> bool {
    also_called(name).is_some() || is_family(name)
}

/// Whether the names of several built-in schemes begin with `name` and a hyphen.
fn is_family(name: &str) -> bool {
    let prefix = format!("{name}-");
    BUILT_IN.iter().filter(|(known, _)| known.starts_with(&prefix)).count() > 1
}

/// Products whose algorithms are not published, with what comes nearest to them.
const PRODUCTS: [(&str, &str); 6] = [
    ("infiniband", OF_INFINIBAND),
    ("ib", OF_INFINIBAND),
    ("quantum", OF_INFINIBAND),
    (
        "spectrumx",
        "\"adaptive-roce\": each switch chooses the shortest queue per packet, and NICs take packets in any order",
    ),
    ("efa", OF_SRD),
    ("srd", OF_SRD),
];

const OF_INFINIBAND: &str = "\"pfc-ecmp\" for static routes, or \"adaptive-roce\" for adaptive routing";
const OF_SRD: &str = "\"ops\" or \"uet-nscc\": packets are spread over all paths, as SRD does";

/// Other names, in small letters without separators, each with the scheme that is meant.
const OTHER_NAMES: [(&str, &str); 17] = [
    ("uec", "uet-nscc"),
    ("ultraethernet", "uet-nscc"),
    ("ultraethernettransport", "uet-nscc"),
    ("nscc", "uet-nscc"),
    ("rccc", "uet-rccc"),
    ("spray", "ops"),
    ("spraying", "ops"),
    ("packetspray", "ops"),
    ("packetspraying", "ops"),
    ("randomspraying", "ops"),
    ("ar", "adaptive-roce"),
    ("adaptiverouting", "adaptive-roce"),
    ("letflow", "flowlet"),
    ("mprdma", "mp-rdma"),
    ("ecmp+dcqcn", "pfc-ecmp-dcqcn"),
    ("roce+dcqcn", "rocev2"),
    ("ecmpdcqcn", "pfc-ecmp-dcqcn"),
];

/// Protocols of other papers, which resemble the names of schemes by accident.
const NOT_SIMULATED: [&str; 9] =
    ["tcp", "timely", "swift", "falcon", "drill", "conga", "hula", "ndp", "homa"];

fn plain(name: &str) -> String {
    name.to_lowercase().replace(['-', '_', ' '], "")
}

/// The scheme that has this name elsewhere.
fn also_called(name: &str) -> Option<&'static str> {
    let plain = plain(name);
    OTHER_NAMES.iter().find(|(other, _)| *other == plain).map(|(_, scheme)| *scheme)
}

/// The problem and the fix for an unknown scheme, in a scenario whose own schemes are `own`.
pub(in crate::scenario) fn unknown(name: &str, own: &[&str]) -> (String, String) {
    let known: Vec<&str> = own.iter().copied().chain(BUILT_IN.iter().map(|(known, _)| *known)).collect();
    if let Some(scheme) = also_called(name) {
        return (format!("unknown scheme {name:?}"), format!("{scheme:?}"));
    }
    if NOT_SIMULATED.contains(&plain(name).as_str()) {
        return (format!("{name:?} is not simulated"), format!("one of {}", list(&known)));
    }
    let prefix = format!("{}-", name.to_lowercase());
    let is_known = known.iter().any(|known| known.eq_ignore_ascii_case(name));
    let family: Vec<&str> =
        known.iter().copied().filter(|known| !is_known && known.starts_with(&prefix)).collect();
    let help = match (family.as_slice(), nearest(name, &known)) {
        ([_, _, ..], _) => format!("one of {}", list(&family)),
        (_, Some(near)) => format!("{near:?}"),
        (_, None) => format!("one of {}", list(&known)),
    };
    let product = plain(name);
    let is_product = |(known, _): &&(&str, &str)| product.starts_with(*known);
    let message = match PRODUCTS.iter().find(is_product) {
        Some((_, nearest)) => return (format!("{name:?} is a product and no scheme"), (*nearest).to_owned()),
        None => format!("unknown scheme {name:?}"),
    };
    (message, help)
}
