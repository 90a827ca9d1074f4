//! Warnings about switches that keep the setup's queues for trimming although `[set]` or `[sweep]` turns trimming off.
//! A scheme gets the values of its setup before `[set]` and `[sweep]` are applied.

use crate::scenario::read::document::{Item, Node};
use crate::scenario::read::source_map::Origin;
use crate::scenario::read::table::fault;
use crate::scenario::resolve::setup::Setup;
use anabranch_base::{Diagnostic, Fix};
use anabranch_engine::Scheme;
use std::collections::BTreeMap;

const TRIM: &str = "fabric.trim";

/// The findings so far: for each scheme, the parameters, each with its value and with the value for switches that drop.
#[derive(Default)]
pub(in crate::scenario) struct TrimmingQueues(BTreeMap<String, BTreeMap<String, (String, String)>>);

impl TrimmingQueues {
    /// Examines the switches of a scheme. `setup` is the name of the scenario's setup, such as "uet", or "uet, changed"
    /// for a setup that is based on "uet". If setups are swept, `setup` names several of them, and nothing is examined.
    pub(in crate::scenario) fn look(&mut self, setup: &str, scheme: &Scheme, origin: &Origin) {
        if scheme.fabric.trim || scheme.fabric.pfc.is_some() || !origin.is_set(&scheme.name, TRIM) {
            return;
        }
        let changes =
            |node: &Node| matches!(&node.item, Item::Table(setup) if setup.contains_key("dropping"));
        if origin.section("setup").is_some_and(changes) {
            return;
        }
        let Some(setup) = Setup::named(setup.trim_end_matches(", changed")) else { return };
        let fabric = toml::Table::try_from(&scheme.fabric).expect("a fabric is made of TOML's values");
        for (parameter, instead) in setup.of_dropping_switches() {
            let key = parameter.split_once('.').map_or("", |(_, key)| key);
            let Some(value) = fabric.get(key).map(ToString::to_string) else { continue };
            if value != instead && !origin.is_set(&scheme.name, &parameter) {
                let of_scheme = self.0.entry(scheme.name.clone()).or_default();
                of_scheme.insert(parameter, (value, instead));
            }
        }
    }

    pub(in crate::scenario) fn warnings(self, origin: &Origin) -> Vec<Diagnostic> {
        let warning = |(scheme, parameters): (String, BTreeMap<String, (String, String)>)| {
            let (at, trim) = origin.setting(&scheme, TRIM, &[]);
            let with = |line: &dyn Fn(&str, &str, &str) -> String| {
                let lines =
                    parameters.iter().map(|(parameter, (value, instead))| line(parameter, value, instead));
                lines.collect::<Vec<_>>().join(" and ")
            };
            let kept = with(&|parameter, value, _| format!("{parameter} = {value}"));
            let dropping = with(&|parameter, _, instead| format!("{parameter} = {instead}"));
            let message = format!(
                "scheme {scheme:?}: its switches do not trim, and have {kept}, which are the setup's values for \
                 switches that trim. For switches that drop it has {dropping}"
            );
            let named = |parameter: &str| trim.replace(TRIM, parameter);
            let help = match origin.is_swept(&scheme, TRIM) {
                true => {
                    let both = with(&|parameter, value, instead| {
                        format!("{} = [{value}, {instead}]", named(parameter))
                    });
                    format!("a [[sweep.zip]] with {trim} = [true, false] and {both}")
                }
                false => {
                    let lines = with(&|parameter, _, instead| format!("{} = {instead}", named(parameter)));
                    format!("{lines} below [set]")
                }
            };
            fault(&origin.file, at, message, Some(Fix::from(help)))
        };
        self.0.into_iter().map(warning).collect()
    }
}
