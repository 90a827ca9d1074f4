//! The schemes that come with the program.

use crate::scenario::read::document::{self, Item, Node};
use crate::scenario::read::table::{Table, fault, list, nearest};
use crate::scenario::resolve::scheme::embedded::BUILT_IN;
use crate::scenario::resolve::scheme::file::Draft;
use crate::scenario::resolve::setup::{COMMON, Setup};
use crate::scenario::schema::plugins::Plugins;
use anabranch_base::Diagnostic;
use anabranch_engine::Scheme;
use std::sync::OnceLock;

/// A line of `anabranch list schemes`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemeListing {
    /// Its name in scenarios.
    pub name: &'static str,
    /// One line for people.
    pub title: String,
    /// Features of the fabric that it needs on every ground, in words; empty: none.
    pub needs: String,
}

/// Every scheme that comes with the program.
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

/// The scheme of that name on the setup `common`.
///
/// # Errors
/// No such scheme; the error names the nearest one. Its file is empty: the caller knows where the name stood.
pub fn scheme(name: &str) -> Result<Scheme, Diagnostic> {
    scheme_on(name, COMMON)
}

/// The scheme of that name on a setup.
///
/// # Errors
/// No such scheme, or no such setup; the error names the nearest one, and its file is empty.
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

/// The scheme of that name that comes with the program, as written; each is read once.
pub(in crate::scenario) fn built_in(name: &str) -> Option<&'static Draft> {
    static DRAFTS: [OnceLock<Draft>; BUILT_IN.len()] = [const { OnceLock::new() }; BUILT_IN.len()];
    let place = BUILT_IN.iter().position(|(known, _)| *known == name)?;
    Some(
        DRAFTS[place]
            .get_or_init(|| Draft::embedded(name, BUILT_IN[place].1, &|base| built_in(base).cloned())),
    )
}

/// The names of all schemes that come with the program; where no data centres are `joined`, without those that need some.
pub(in crate::scenario) fn names(joined: bool) -> Vec<&'static str> {
    let fits = |(name, _): &(&'static str, &str)| {
        let at = scheme(name).ok().and_then(|scheme| scheme.fabric.program_at).unwrap_or_default();
        (joined || !at.starts_with("esw")).then_some(*name)
    };
    BUILT_IN.iter().filter_map(fits).collect()
}

/// The names of the schemes that take part in a part of the league.
pub(in crate::scenario) fn in_league(part: &str) -> Vec<&'static str> {
    let takes_part =
        |name: &&str| built_in(name).is_some_and(|draft| draft.league.iter().any(|of| of == part));
    BUILT_IN.iter().map(|(name, _)| *name).filter(takes_part).collect()
}

/// The words of the error for an unknown scheme, in a scenario that also has schemes of its own.
pub(in crate::scenario) fn unknown(name: &str, own: &[&str]) -> (String, String) {
    let known: Vec<&str> = own.iter().copied().chain(BUILT_IN.iter().map(|(known, _)| *known)).collect();
    let family: Vec<&str> =
        known.iter().copied().filter(|known| known.starts_with(&format!("{name}-"))).collect();
    let help = match (family.as_slice(), nearest(name, &known)) {
        ([_, _, ..], _) => format!("one of {}", list(&family)),
        (_, Some(near)) => format!("{near:?}"),
        (_, None) => format!("one of {}", list(&known)),
    };
    (format!("unknown scheme {name:?}"), help)
}
