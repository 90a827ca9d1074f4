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

/// Whether the names of several built-in schemes begin with `name` and a hyphen.
pub(in crate::scenario) fn is_family(name: &str) -> bool {
    let prefix = format!("{name}-");
    BUILT_IN.iter().filter(|(known, _)| known.starts_with(&prefix)).count() > 1
}

/// Products whose algorithms are not published, with what comes nearest to them.
const PRODUCTS: [(&str, &str); 3] = [
    ("infiniband", "\"pfc-ecmp\" for static routes, or \"adaptive-roce\" for adaptive routing"),
    (
        "spectrum-x",
        "\"adaptive-roce\": each switch chooses the shortest queue per packet, and NICs take packets in any order",
    ),
    ("efa", "\"ops\" or \"uet-nscc\": packets are spread over all paths, as SRD does"),
];

/// The problem and the fix for an unknown scheme, in a scenario whose own schemes are `own`.
pub(in crate::scenario) fn unknown(name: &str, own: &[&str]) -> (String, String) {
    let known: Vec<&str> = own.iter().copied().chain(BUILT_IN.iter().map(|(known, _)| *known)).collect();
    let family: Vec<&str> =
        known.iter().copied().filter(|known| known.starts_with(&format!("{name}-"))).collect();
    let help = match (family.as_slice(), nearest(name, &known)) {
        ([_, _, ..], _) => format!("one of {}", list(&family)),
        (_, Some(near)) => format!("{near:?}"),
        (_, None) => format!("one of {}", list(&known)),
    };
    let message = match PRODUCTS.iter().find(|(product, _)| name.to_lowercase().starts_with(product)) {
        Some((_, nearest)) => return (format!("{name:?} is a product and no scheme"), (*nearest).to_owned()),
        None => format!("unknown scheme {name:?}"),
    };
    (message, help)
}
