//! Parts that programs register, by the names with which scenarios select them.

use crate::scenario::read::table::{Table, list, nearest};
use crate::scenario::schema::declared_table::{ParameterError, read};
use crate::scenario::schema::parameters::{keys_of, kinds_of};
use anabranch_base::{Code, Diagnostic, KindDeclaration, Parameter, Registered};
use anabranch_engine::{ObserverFactory, ObserverSpec};
use anabranch_fabric::{TopologyFactory, TopologySpec};
use anabranch_proto::cc::{CcFactory, CcWants, RegisteredCc};
use anabranch_proto::lb::LbFactory;
use anabranch_proto::program::ProgramFactory;
use anabranch_proto::transport::TransportFactory;
use anabranch_proto::{CcConfig, LbConfig, ProgramConfig, TransportConfig};
use anabranch_workload::{WorkloadFactory, WorkloadSpec};
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Clone, Default)]
pub(in crate::scenario) struct Plugins {
    pub(in crate::scenario) lbs: Family<LbFactory>,
    pub(in crate::scenario) ccs: Family<(CcWants, Arc<CcFactory>)>,
    pub(in crate::scenario) transports: Family<TransportFactory>,
    pub(in crate::scenario) programs: Family<ProgramFactory>,
    pub(in crate::scenario) topologies: Family<TopologyFactory>,
    pub(in crate::scenario) workloads: Family<WorkloadFactory>,
    pub(in crate::scenario) observers: Family<ObserverFactory>,
}

pub(in crate::scenario) struct Family<F: ?Sized>(BTreeMap<String, Entry<F>>);

struct Entry<F: ?Sized> {
    parameters: Arc<[Parameter]>,
    factory: Arc<F>,
}

/// A registered part or scheme, as [`Registry::list`](crate::scenario::Registry::list) returns it.
#[derive(Clone, Copy, Debug)]
pub struct Listed<'r> {
    /// The family, such as `load balancer`, `topology` or `scheme`.
    pub family: &'static str,
    /// The name in scenarios.
    pub name: &'r str,
    /// The parameters that the part declares; empty for a scheme.
    pub parameters: &'r [Parameter],
}

impl Plugins {
    /// The parameters of a registered kind of a scheme's part; none if the kind is not registered.
    pub(in crate::scenario) fn parameters(&self, part: &str, kind: &str) -> Option<Vec<String>> {
        match part {
            "lb" => self.lbs.parameters(kind),
            "cc" => self.ccs.parameters(kind),
            "transport" => self.transports.parameters(kind),
            "fabric" | "fabric.program" => self.programs.parameters(kind),
            _ => None,
        }
    }

    pub(in crate::scenario) fn kinds(&self, part: &str) -> Vec<&str> {
        match part {
            "lb" => self.lbs.names(),
            "cc" => self.ccs.names(),
            "transport" => self.transports.names(),
            "fabric" | "fabric.program" => self.programs.names(),
            _ => Vec::new(),
        }
    }

    pub(in crate::scenario) fn all_kinds(&self, part: &str) -> Vec<String> {
        let ours = kinds_of(part).into_iter().map(|kind| kind.name.to_owned());
        ours.chain(self.kinds(part).into_iter().map(str::to_owned)).collect()
    }

    /// The keys of a kind of a scheme's part, without `kind`.
    pub(in crate::scenario) fn keys(&self, part: &str, kind: &str) -> Vec<String> {
        let ours = || kinds_of(part).into_iter().find(|ours| ours.name == kind);
        let ours = || ours().map_or_else(Vec::new, |ours| keys_of(ours.parameters));
        self.parameters(part, kind).unwrap_or_else(|| ours().into_iter().map(str::to_owned).collect())
    }

    pub(in crate::scenario) fn has_kind(&self, part: &str, kind: &str) -> bool {
        self.kinds(part).contains(&kind)
    }

    pub(in crate::scenario) fn declares(&self, part: &str, kind: &str, parameter: &str) -> bool {
        self.parameters(part, kind).is_some_and(|known| known.iter().any(|known| known == parameter))
    }

    pub(in crate::scenario) fn lb(&self, values: &toml::Value) -> Result<Option<LbConfig>, ParameterError> {
        Ok(self.lbs.read(values, &LbConfig::kinds)?.map(LbConfig::Registered))
    }

    pub(in crate::scenario) fn cc(&self, values: &toml::Value) -> Result<Option<CcConfig>, ParameterError> {
        let Some(read) = self.ccs.read(values, &CcConfig::kinds)? else { return Ok(None) };
        let (wants, factory) = read.factory();
        let its = Registered::new(read.name(), read.parameters().clone(), factory.clone());
        Ok(Some(CcConfig::Registered(RegisteredCc { registered: its, wants: *wants })))
    }

    pub(in crate::scenario) fn transport_of(
        &self,
        values: &toml::Value,
    ) -> Result<Option<TransportConfig>, ParameterError> {
        Ok(self.transports.read(values, &TransportConfig::kinds)?.map(TransportConfig::Registered))
    }

    pub(in crate::scenario) fn program_of(
        &self,
        values: &toml::Value,
    ) -> Result<Option<ProgramConfig>, ParameterError> {
        Ok(self.programs.read(values, &ProgramConfig::kinds)?.map(ProgramConfig::Registered))
    }

    pub(in crate::scenario) fn topology_of(&self, table: &Table) -> Result<Option<TopologySpec>, Diagnostic> {
        let read = self.topologies.read(&table.value(), &Vec::new).map_err(|wrong| wrong.at(table))?;
        Ok(read.map(TopologySpec::Registered))
    }

    pub(in crate::scenario) fn workload_of(&self, table: &Table) -> Result<Option<WorkloadSpec>, Diagnostic> {
        let read = self.workloads.read(&table.value(), &Vec::new).map_err(|wrong| wrong.at(table))?;
        Ok(read.map(WorkloadSpec::Registered))
    }

    pub(in crate::scenario) fn observer_of(&self, table: &Table) -> Result<ObserverSpec, Diagnostic> {
        if let Some(read) = self.observers.read(&table.value(), &Vec::new).map_err(|wrong| wrong.at(table))? {
            return Ok(read);
        }
        let names = self.observers.names();
        if names.is_empty() {
            let message = "no observer is registered: a program of your own brings them (Registry::observer)";
            let help = "[[measure]] with series = \"queue-depth\" or another of those that come with anabranch, in place of \
                        [[observer]]";
            return Err(table.wrong("kind", message, help));
        }
        let kinds: Vec<(&str, ())> = names.into_iter().map(|name| (name, ())).collect();
        let unknown = table.word("kind", &kinds);
        Err(unknown.expect_err("a kind that is registered was read"))
    }

    pub(in crate::scenario) fn with_topologies(&self, kind: Option<&str>, error: Diagnostic) -> Diagnostic {
        self.topologies.complete_help(kind, error)
    }

    pub(in crate::scenario) fn with_workloads(&self, kind: Option<&str>, error: Diagnostic) -> Diagnostic {
        self.workloads.complete_help(kind, error)
    }
}

impl<F: ?Sized> Family<F> {
    pub(in crate::scenario) fn kinds(&self) -> impl Iterator<Item = (&str, &[Parameter])> {
        self.0.iter().map(|(name, entry)| (name.as_str(), &*entry.parameters))
    }

    pub(in crate::scenario) fn add(
        &mut self,
        name: String,
        ours: &[&str],
        parameters: impl IntoIterator<Item = Parameter>,
        factory: Arc<F>,
    ) {
        let fine = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        assert!(
            !name.is_empty() && name.chars().all(fine),
            "{name:?} is no name: letters, digits, - and _ make one"
        );
        assert!(!ours.contains(&name.as_str()), "{name:?} is the name of one of ours");
        let parameters: Arc<[Parameter]> = parameters.into_iter().collect();
        for (place, parameter) in parameters.iter().enumerate() {
            let its = parameter.name();
            assert!(
                !its.is_empty() && its.chars().all(fine) && its != "kind",
                "{name:?} has a parameter {its:?}"
            );
            let twice = parameters[..place].iter().any(|other| other.name() == its);
            assert!(!twice, "{name:?} declares its parameter {its:?} twice");
        }
        let before = self.0.insert(name.clone(), Entry { parameters, factory });
        assert!(before.is_none(), "{name:?} is registered twice");
    }

    pub(in crate::scenario) fn names(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }

    fn parameters(&self, name: &str) -> Option<Vec<String>> {
        Some(self.0.get(name)?.parameters.iter().map(|parameter| parameter.name().to_owned()).collect())
    }

    /// The registered part that a table selects by its kind; none if the kind is not registered. The parameters of a
    /// built-in kind are checked too.
    fn read(
        &self,
        values: &toml::Value,
        ours: &dyn Fn() -> Vec<KindDeclaration>,
    ) -> Result<Option<Registered<F>>, ParameterError> {
        let Some(values) = values.as_table() else { return Ok(None) };
        let Some(kind) = values.get("kind").and_then(toml::Value::as_str) else { return Ok(None) };
        let Some((name, entry)) = self.0.get_key_value(kind) else {
            return match ours().iter().find(|ours| ours.name == kind) {
                Some(ours) => read(ours.name, ours.parameters, values).map(|_| None),
                None => Ok(None),
            };
        };
        let parameters = read(name, &entry.parameters, values)?;
        Ok(Some(Registered::new(name, parameters, entry.factory.clone())))
    }

    pub(in crate::scenario) fn list(&self, family: &'static str) -> Vec<Listed<'_>> {
        let listed = self.0.iter();
        listed.map(|(name, entry)| Listed { family, name, parameters: &entry.parameters }).collect()
    }

    /// Adds the registered kinds to the error for a `kind` that is missing or unknown.
    fn complete_help(&self, kind: Option<&str>, error: Diagnostic) -> Diagnostic {
        if self.0.is_empty() || !matches!(error.code, Code::UnknownName | Code::MissingKey) {
            return error;
        }
        let names = self.names();
        let help = error.help().unwrap_or_default();
        let help = match kind.and_then(|kind| nearest(kind, &names)) {
            Some(near) => format!("kind = {near:?}, or {help}; registered are {}", list(&names)),
            None => format!("{help}, or of the registered {}", list(&names)),
        };
        error.with_fix(help.into())
    }
}

impl<F: ?Sized> Clone for Family<F> {
    fn clone(&self) -> Self {
        Family(self.0.clone())
    }
}

impl<F: ?Sized> Default for Family<F> {
    fn default() -> Self {
        Family(BTreeMap::new())
    }
}

impl<F: ?Sized> Clone for Entry<F> {
    fn clone(&self) -> Self {
        Entry { parameters: self.parameters.clone(), factory: self.factory.clone() }
    }
}
