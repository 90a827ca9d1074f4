//! What other people bring, by the names under which scenarios choose it.

use crate::scenario::read::table::{Table, fault, list, nearest};
use crate::scenario::resolve::scheme::builtin;
use crate::scenario::resolve::scheme::file::Draft;
use anabranch_base::{
    AboveZero, Bytes, Duration, Kind, Parameter, ParameterValue, Parameters, Refused, Registered, Stream,
    WrongValue, is_misspelt,
};
use anabranch_base::{Code, Diagnostic, Fix};
use anabranch_engine::Scheme;
use anabranch_engine::{AnyRecorder, ObserverFactory, ObserverSpec, Recorder};
use anabranch_fabric::{Topology, TopologyBuilder, TopologyFactory, TopologySpec};
use anabranch_proto::cc::{CcFactory, CcWants, CongestionControl, RegisteredCc};
use anabranch_proto::lb::{Environment, LbFactory, LoadBalancer};
use anabranch_proto::program::{Program, ProgramFactory, ProgramFacts};
use anabranch_proto::transport::{Receiver, ReceiverParts, Sender, SenderParts, TransportFactory};
use anabranch_proto::{CcConfig, LbConfig, PathFacts, ProgramConfig, Span, TransportConfig};
use anabranch_workload::{Fabric, Workload, WorkloadBuilder, WorkloadFactory, WorkloadSpec};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Load balancers, congestion controls, transports, programs, topologies, workloads and schemes beside those that come
/// with the program, and observers.
///
/// Scenarios that are read with it ([`read_with`](crate::scenario::expand::scenario::read_with)) name them as they name ours: by `kind`, with
/// parameters beside it. Each registration declares its parameters; others are errors, as with ours. What a factory
/// draws comes from the stream that it is given, so that the same scenario and seed give the same results.
///
/// # Panics
/// A registration does where its name is taken, is no name, or declares a parameter twice.
#[derive(Clone, Default)]
pub struct Registry {
    lbs: Family<LbFactory>,
    ccs: Family<(CcWants, Arc<CcFactory>)>,
    transports: Family<TransportFactory>,
    programs: Family<ProgramFactory>,
    topologies: Family<TopologyFactory>,
    workloads: Family<WorkloadFactory>,
    observers: Family<ObserverFactory>,
    schemes: Vec<Draft>,
    /// The same on common ground.
    on_common: Vec<Scheme>,
}

/// A part of a scheme, and what it may be.
#[derive(Clone, Debug)]
pub struct PartListing {
    /// Its path in a scheme: `lb`; empty for the scheme itself.
    pub part: &'static str,
    /// The kinds that it may be, or the only one.
    pub kinds: Vec<KindListing>,
}

/// A kind that a part of a scheme may be, with its parameters.
#[derive(Clone, Debug)]
pub struct KindListing {
    /// The `kind`, of a part that has kinds.
    pub name: Option<String>,
    /// What it is.
    pub meaning: String,
    /// The declarations of its parameters.
    pub parameters: Vec<Parameter>,
}

/// By name: what is registered.
struct Family<F: ?Sized>(BTreeMap<String, Entry<F>>);

/// Its parameters, and what makes it.
struct Entry<F: ?Sized> {
    parameters: Arc<[Parameter]>,
    factory: Arc<F>,
}

/// Something that is registered.
#[derive(Clone, Copy, Debug)]
pub struct Listed<'r> {
    /// Of which family: `load balancer`, `topology`, `scheme`.
    pub family: &'static str,
    /// Its name in scenarios.
    pub name: &'r str,
    /// The parameters that it declares; of a scheme none.
    pub parameters: &'r [Parameter],
}

impl Registry {
    /// A registry of nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a load balancer. `factory` makes that of a new queue pair.
    #[must_use]
    pub fn load_balancer(
        mut self,
        name: impl Into<String>,
        parameters: impl IntoIterator<Item = Parameter>,
        factory: impl Fn(&Environment, &Parameters, Stream) -> Box<dyn LoadBalancer> + Send + Sync + 'static,
    ) -> Self {
        self.lbs.add(name.into(), LbConfig::KINDS, parameters, Arc::new(factory));
        self
    }

    /// Adds a congestion control. `factory` makes that of a new queue pair.
    #[must_use]
    pub fn congestion_control(
        self,
        name: impl Into<String>,
        parameters: impl IntoIterator<Item = Parameter>,
        factory: impl Fn(&PathFacts, &Parameters, Stream) -> Box<dyn CongestionControl> + Send + Sync + 'static,
    ) -> Self {
        self.congestion_control_wanting(CcWants::default(), name, parameters, factory)
    }

    /// Adds a congestion control that wants telemetry, or to know its own path.
    #[must_use]
    pub fn congestion_control_wanting(
        mut self,
        wants: CcWants,
        name: impl Into<String>,
        parameters: impl IntoIterator<Item = Parameter>,
        factory: impl Fn(&PathFacts, &Parameters, Stream) -> Box<dyn CongestionControl> + Send + Sync + 'static,
    ) -> Self {
        self.ccs.add(name.into(), CcConfig::KINDS, parameters, Arc::new((wants, Arc::new(factory))));
        self
    }

    /// Adds a transport. `sender` and `receiver` make the ends of a new queue pair. Beside the parameters here it has
    /// `payload` (4096B), `header` (64B), `ack` (64B) and `rto` (70us), which say how messages are cut into packets and
    /// how long a timeout is; one that is declared here takes the place of that.
    #[must_use]
    pub fn transport(
        mut self,
        name: impl Into<String>,
        parameters: impl IntoIterator<Item = Parameter>,
        sender: impl Fn(SenderParts, &Parameters) -> Box<dyn Sender> + Send + Sync + 'static,
        receiver: impl Fn(ReceiverParts, &Parameters) -> Box<dyn Receiver> + Send + Sync + 'static,
    ) -> Self {
        let mut parameters: Vec<Parameter> = parameters.into_iter().collect();
        for common in [
            Parameter::new("payload", Bytes(4_096), "payload of a full packet")
                .within(Bytes(1)..=Bytes(65_535)),
            Parameter::new("header", Bytes(64), "headers of a data packet").within(Bytes(1)..=Bytes(65_534)),
            Parameter::new("ack", Bytes(64), "size of an ACK").within(Bytes(1)..=Bytes(65_535)),
            Parameter::new("rto", Span::Time(Duration::from_us(70)), "retransmission timeout")
                .within::<Span>(AboveZero),
        ] {
            match parameters.iter().find(|parameter| parameter.name() == common.name()) {
                Some(own) => {
                    assert!(own.is_like(&common), "parameter {:?} must be {}", own.name(), common.what())
                }
                None => parameters.push(common),
            }
        }
        let factory = TransportFactory { sender: Box::new(sender), receiver: Box::new(receiver) };
        self.transports.add(name.into(), TransportConfig::KINDS, parameters, Arc::new(factory));
        self
    }

    /// Adds a program for switches. `factory` makes that of one switch.
    ///
    /// One that declares a parameter `paths`, a `u32`, has tables with so many entries, one for each path between two
    /// ToRs. A fabric with more paths is refused then, and where a ToR's choice of a port does not decide the path, the
    /// facts bring a [`path_map`](ProgramFacts::path_map), which asks for `fabric.routing = "ecmp-linear"`.
    #[must_use]
    pub fn program(
        mut self,
        name: impl Into<String>,
        parameters: impl IntoIterator<Item = Parameter>,
        factory: impl Fn(&ProgramFacts, &Parameters, Stream) -> Box<dyn Program> + Send + Sync + 'static,
    ) -> Self {
        self.programs.add(name.into(), ProgramConfig::KINDS, parameters, Arc::new(factory));
        self
    }

    /// Adds a topology. `factory` puts hosts, switches and links into the builder.
    #[must_use]
    pub fn topology(
        mut self,
        name: impl Into<String>,
        parameters: impl IntoIterator<Item = Parameter>,
        factory: impl Fn(&mut TopologyBuilder, &Parameters) -> Result<(), Refused> + Send + Sync + 'static,
    ) -> Self {
        let ours = crate::scenario::resolve::topology::kinds();
        self.topologies.add(name.into(), &ours, parameters, Arc::new(factory));
        self
    }

    /// Adds a workload. `factory` puts queue pairs, messages and gates into the builder.
    #[must_use]
    pub fn workload(
        mut self,
        name: impl Into<String>,
        parameters: impl IntoIterator<Item = Parameter>,
        factory: impl Fn(&mut WorkloadBuilder, &Fabric, &Parameters, Stream) -> Result<(), Refused>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        let ours = crate::scenario::resolve::workload::kinds();
        self.workloads.add(name.into(), &ours, parameters, Arc::new(factory));
        self
    }

    /// Adds an observer, which a scenario chooses by an `[[observer]]` with its `kind`. `factory` makes that of a run; what
    /// it has seen is among the run's curves, under its name: `drops-by-link.drops`.
    #[must_use]
    pub fn observer<R: Recorder>(
        mut self,
        name: impl Into<String>,
        parameters: impl IntoIterator<Item = Parameter>,
        factory: impl Fn(&Topology, &Workload, &Parameters) -> Result<R, Refused> + Send + Sync + 'static,
    ) -> Self {
        let made = move |topology: &Topology, workload: &Workload, parameters: &Parameters| {
            factory(topology, workload, parameters).map(AnyRecorder::new)
        };
        self.observers.add(name.into(), &[], parameters, Arc::new(made));
        self
    }

    /// Adds a scheme from the text of its file, which has the form of those in `schemes/`; its parts may be what is
    /// registered so far. Scenarios name it as they name ours, and change its parameters likewise.
    ///
    /// # Errors
    /// The first fault in the file, or a name that is taken.
    pub fn scheme(mut self, file_name: &str, text: &str) -> Result<Self, Diagnostic> {
        let (draft, on_common) = Draft::of_file(file_name, text, &self)?;
        if self.find_scheme(&draft.name).is_some() {
            let message = format!("there is a scheme {:?} already", draft.name);
            return Err(fault(file_name, None, message, Some("another name".to_owned().into())));
        }
        self.schemes.push(draft);
        self.on_common.push(on_common);
        Ok(self)
    }

    /// All that is registered, family by family and by name.
    pub fn list(&self) -> Vec<Listed<'_>> {
        let schemes = self.schemes.iter().map(|scheme| Listed {
            family: "scheme",
            name: &scheme.name,
            parameters: &[],
        });
        let all = [
            self.lbs.list("load balancer"),
            self.ccs.list("congestion control"),
            self.transports.list("transport"),
            self.programs.list("program"),
            self.topologies.list("topology"),
            self.workloads.list("workload"),
            self.observers.list("observer"),
            schemes.collect(),
        ];
        all.concat()
    }

    /// The schemes that were added, on common ground.
    pub fn schemes(&self) -> &[Scheme] {
        &self.on_common
    }

    /// What schemes are made of, with the declarations of all parameters: ours and what is registered.
    pub fn parts(&self) -> Vec<PartListing> {
        fn of<F: ?Sized>(part: &'static str, ours: Vec<Kind>, family: &Family<F>) -> PartListing {
            let ours = ours.into_iter().map(|Kind { name, meaning, parameters }| KindListing {
                name: Some(name.to_owned()),
                meaning,
                parameters: parameters.to_vec(),
            });
            let registered = family.0.iter().map(|(name, entry)| KindListing {
                name: Some(name.clone()),
                meaning: "Registered.".to_owned(),
                parameters: entry.parameters.to_vec(),
            });
            PartListing { part, kinds: ours.chain(registered).collect() }
        }
        let (fabric, scheme): (Vec<Parameter>, Vec<Parameter>) = Scheme::parameters()
            .iter()
            .cloned()
            .partition(|parameter| parameter.name().starts_with("fabric."));
        let one = |part, meaning: &str, parameters| PartListing {
            part,
            kinds: vec![KindListing { name: None, meaning: meaning.to_owned(), parameters }],
        };
        let fabric = fabric.into_iter().map(|parameter| parameter.within_table("fabric")).collect();
        vec![
            one("", "Beside its parts a scheme has this.", scheme),
            of("transport", TransportConfig::kinds(), &self.transports),
            of("cc", CcConfig::kinds(), &self.ccs),
            of("lb", LbConfig::kinds(), &self.lbs),
            one("fabric", "What the switches do for a scheme.", fabric),
            of("fabric.program", ProgramConfig::kinds(), &self.programs),
        ]
    }

    /// A scheme that was added, or comes with the program.
    pub(in crate::scenario) fn find_scheme(&self, name: &str) -> Option<Draft> {
        self.schemes.iter().find(|scheme| scheme.name == name).or_else(|| builtin::built_in(name)).cloned()
    }

    /// The parameters of a registered kind of a part of a scheme.
    pub(in crate::scenario) fn parameters(&self, part: &str, kind: &str) -> Option<Vec<String>> {
        match part {
            "lb" => self.lbs.parameters(kind),
            "cc" => self.ccs.parameters(kind),
            "transport" => self.transports.parameters(kind),
            "fabric" | "fabric.program" => self.programs.parameters(kind),
            _ => None,
        }
    }

    /// The names of the schemes that were added.
    pub(in crate::scenario) fn scheme_names(&self) -> impl Iterator<Item = &str> {
        self.schemes.iter().map(|scheme| scheme.name.as_str())
    }

    /// The kinds of a part of schemes that are registered.
    pub(in crate::scenario) fn kinds(&self, part: &str) -> Vec<&str> {
        match part {
            "lb" => self.lbs.names(),
            "cc" => self.ccs.names(),
            "transport" => self.transports.names(),
            "fabric" | "fabric.program" => self.programs.names(),
            _ => Vec::new(),
        }
    }

    /// Whether a part of that kind is registered.
    pub(in crate::scenario) fn has_kind(&self, part: &str, kind: &str) -> bool {
        self.kinds(part).contains(&kind)
    }

    /// Whether a registered part of that kind has a parameter of that name.
    pub(in crate::scenario) fn declares(&self, part: &str, kind: &str, parameter: &str) -> bool {
        self.parameters(part, kind).is_some_and(|known| known.iter().any(|known| known == parameter))
    }

    /// The load balancer that a table chooses, if it is registered.
    pub(in crate::scenario) fn lb(&self, values: &toml::Value) -> Result<Option<LbConfig>, Wrong> {
        Ok(self.lbs.read(values, &LbConfig::kinds)?.map(LbConfig::Registered))
    }

    /// The congestion control that a table chooses, if it is registered.
    pub(in crate::scenario) fn cc(&self, values: &toml::Value) -> Result<Option<CcConfig>, Wrong> {
        let Some(read) = self.ccs.read(values, &CcConfig::kinds)? else { return Ok(None) };
        let (wants, factory) = read.factory();
        let its = Registered::new(read.name(), read.parameters().clone(), factory.clone());
        Ok(Some(CcConfig::Registered(RegisteredCc { its, wants: *wants })))
    }

    /// The transport that a table chooses, if it is registered.
    pub(in crate::scenario) fn transport_of(
        &self,
        values: &toml::Value,
    ) -> Result<Option<TransportConfig>, Wrong> {
        Ok(self.transports.read(values, &TransportConfig::kinds)?.map(TransportConfig::Registered))
    }

    /// The program that a table chooses, if it is registered.
    pub(in crate::scenario) fn program_of(
        &self,
        values: &toml::Value,
    ) -> Result<Option<ProgramConfig>, Wrong> {
        Ok(self.programs.read(values, &ProgramConfig::kinds)?.map(ProgramConfig::Registered))
    }

    /// The topology that `[topology]` chooses, if it is registered.
    pub(in crate::scenario) fn topology_of(&self, table: &Table) -> Result<Option<TopologySpec>, Diagnostic> {
        let read = self.topologies.read(&table.value(), &Vec::new).map_err(|wrong| wrong.at(table))?;
        Ok(read.map(TopologySpec::Registered))
    }

    /// The workload that `[workload]` chooses, if it is registered.
    pub(in crate::scenario) fn workload_of(&self, table: &Table) -> Result<Option<WorkloadSpec>, Diagnostic> {
        let read = self.workloads.read(&table.value(), &Vec::new).map_err(|wrong| wrong.at(table))?;
        Ok(read.map(WorkloadSpec::Registered))
    }

    /// The observer that an `[[observer]]` chooses.
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

    /// An error about a kind of topology, with the registered ones.
    pub(in crate::scenario) fn with_topologies(&self, kind: Option<&str>, error: Diagnostic) -> Diagnostic {
        self.topologies.complete_help(kind, error)
    }

    /// An error about a kind of workload, with the registered ones.
    pub(in crate::scenario) fn with_workloads(&self, kind: Option<&str>, error: Diagnostic) -> Diagnostic {
        self.workloads.complete_help(kind, error)
    }

    /// What a deserialiser says about a part of a scheme, where it is about its kind: with the registered ones.
    pub(in crate::scenario) fn complete(&self, part: &str, problem: &str) -> String {
        let (ours, names): (&[&str], Vec<&str>) = match part {
            "lb" => (LbConfig::KINDS, self.kinds(part)),
            "cc" => (CcConfig::KINDS, self.kinds(part)),
            "transport" => (TransportConfig::KINDS, self.kinds(part)),
            "fabric" | "fabric.program" => (ProgramConfig::KINDS, self.kinds(part)),
            _ => (&[], Vec::new()),
        };
        let line = problem.lines().next().unwrap_or_default();
        if names.is_empty() || !line.starts_with("unknown variant") {
            return problem.to_owned();
        }
        let all = [ours, &names].concat();
        let near = line.split('`').nth(1).and_then(|written| nearest(written, &all));
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        format!("{line}, or of the registered {}{near}", names.join(", "))
    }
}

impl<F: ?Sized> Family<F> {
    fn add(
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

    fn names(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }

    fn parameters(&self, name: &str) -> Option<Vec<String>> {
        Some(self.0.get(name)?.parameters.iter().map(|parameter| parameter.name().to_owned()).collect())
    }

    /// What a table chooses by its kind, if it is registered. The parameters of one of ours are checked too.
    fn read(
        &self,
        values: &toml::Value,
        ours: &dyn Fn() -> Vec<Kind>,
    ) -> Result<Option<Registered<F>>, Wrong> {
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

    fn list(&self, family: &'static str) -> Vec<Listed<'_>> {
        let listed = self.0.iter();
        listed.map(|(name, entry)| Listed { family, name, parameters: &entry.parameters }).collect()
    }

    /// The error for a `kind` that is missing or unknown, with the registered ones.
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

/// All parameters of `name`, which declares them, from a table that has some.
pub(in crate::scenario) fn read(
    name: &str,
    declared: &[Parameter],
    values: &toml::Table,
) -> Result<Parameters, Wrong> {
    let mut found = Found::default();
    found.look(declared, "", values)?;
    let known: Vec<&str> = declared.iter().map(Parameter::name).collect();
    if let Some((key, value)) = found.values.iter().find(|(key, _)| !known.contains(&key.as_str())) {
        let help = match nearest(key, &known) {
            Some(near) => {
                let its = declared.iter().find(|its| its.name() == near);
                let is_its = |its: &Parameter| judged(its, value).is_ok();
                let goes_over = is_misspelt(key, near) && its.is_some_and(is_its);
                let value = goes_over.then(|| value.to_string());
                Fix::Rename { written: near.to_owned(), name: near.to_owned(), value }
            }
            None if known.is_empty() => Fix::text(format!("no parameter: {name:?} has none")),
            None => Fix::text(format!("one of {}", known.join(", "))),
        };
        let message = format!("{name:?} has no parameter {key:?}");
        return Err(Wrong { key: Some(key.clone()), message, help, value: None, cure: Vec::new() });
    }
    let is_missing = |parameter: &&Parameter| {
        let table = parameter.name().rsplit_once('.').map_or("", |(table, _)| table);
        parameter.is_needed()
            && found.tables.iter().any(|found| found == table)
            && found.values.iter().all(|(key, _)| key != parameter.name())
    };
    let missing: Vec<&Parameter> = declared.iter().filter(is_missing).collect();
    if let Some(first) = missing.first() {
        let example = first.its_example().map(ParameterValue::to_string);
        let example = example.unwrap_or_else(|| first.what().to_owned());
        let message = format!("{name:?} has no {:?}, which must be said", first.name());
        let help = Fix::set(first.name(), format!("{example}  # {}", first.meaning()));
        let missing = missing.iter().filter_map(|of| Some((of.name().to_owned(), of.its_example()?.clone())));
        return Err(Wrong { key: None, message, help, value: None, cure: missing.collect() });
    }
    let mut parameters = Parameters::default();
    for parameter in declared {
        let (its, meaning) = (parameter.name(), parameter.meaning());
        let value = match (found.values.iter().find(|(key, _)| key == its), parameter.default()) {
            (None, Some(default)) => default.clone(),
            (None, None) => continue,
            (Some((_, value)), _) => {
                judged(parameter, value).map_err(|WrongValue { problem, instead }| {
                    let cure = instead.iter().map(|value| (its.to_owned(), value.clone())).collect();
                    let instead =
                        instead.map_or_else(|| parameter.what().to_owned(), |value| value.to_string());
                    let message = said_of(its, &problem);
                    let value = format!("{instead}  # {meaning}");
                    let help = Fix::set(its, &value);
                    Wrong { key: Some(its.to_owned()), message, help, value: Some(value), cure }
                })?
            }
        };
        parameters.set(its, value);
    }
    Ok(parameters)
}

/// What stands in a table and in the tables within.
#[derive(Default)]
struct Found<'a> {
    /// By their names, with those of their tables before them.
    values: Vec<(String, &'a toml::Value)>,
    /// The tables that are there.
    tables: Vec<String>,
}

impl<'a> Found<'a> {
    fn look(&mut self, declared: &[Parameter], at: &str, values: &'a toml::Table) -> Result<(), Wrong> {
        self.tables.push(at.to_owned());
        for (key, value) in values.iter().filter(|(key, _)| !at.is_empty() || *key != "kind") {
            let name = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
            let has = |after: &str| {
                declared.iter().any(|parameter| parameter.name().starts_with(&format!("{name}{after}")))
            };
            match value {
                // The deserialiser looks into lists.
                _ if has("[].") => {}
                toml::Value::Table(within) if has(".") => self.look(declared, &name, within)?,
                _ if has(".") => {
                    let message = format!("{name} must be a table, not {value}");
                    let names =
                        declared.iter().filter(|parameter| parameter.name().starts_with(&format!("{name}.")));
                    let names: Vec<&str> = names.map(Parameter::name).collect();
                    let help = Fix::text(format!("a table {name} with {}", names.join(", ")));
                    return Err(Wrong { key: Some(name), message, help, value: None, cure: Vec::new() });
                }
                _ => self.values.push((name, value)),
            }
        }
        Ok(())
    }
}

/// What is wrong with a parameter, as a sentence.
pub(in crate::scenario) fn said_of(parameter: &str, problem: &str) -> String {
    let between = if problem.starts_with("must ") { " " } else { ": " };
    format!("{parameter}{between}{problem}")
}

/// A value as its parameter keeps it.
pub(in crate::scenario) fn judged(
    parameter: &Parameter,
    value: &toml::Value,
) -> Result<ParameterValue, WrongValue> {
    let value = match value {
        toml::Value::Boolean(truth) => ParameterValue::Truth(*truth),
        toml::Value::Integer(number) => ParameterValue::Whole(*number),
        toml::Value::Float(number) => ParameterValue::Number(*number),
        toml::Value::String(text) => ParameterValue::Text(text.clone()),
        other => {
            let problem = format!("must be {}, not {other}", parameter.what());
            return Err(WrongValue { problem, instead: parameter.its_example().cloned() });
        }
    };
    parameter.judge(&value)
}

/// What is wrong with the parameters of something registered.
#[derive(Debug)]
pub(in crate::scenario) struct Wrong {
    /// The parameter, where it stands there.
    pub key: Option<String>,
    pub message: String,
    pub help: Fix,
    /// Another value of the parameter, where that helps.
    pub value: Option<String>,
    /// What to set in the table, with values that are right.
    pub cure: Vec<(String, ParameterValue)>,
}

impl Wrong {
    /// The message for a part of a scheme.
    pub(in crate::scenario) fn of(&self, part: &str) -> String {
        match self.value {
            Some(_) => format!("{part}.{}", self.message),
            None => format!("{part}: {}", self.message),
        }
    }

    /// At the parameter, or at the whole of its table.
    pub(in crate::scenario) fn at(self, table: &Table) -> Diagnostic {
        table.wrong(self.key.as_deref().unwrap_or("kind"), self.message, self.help)
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

/// The names in it.
impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("load_balancers", &self.lbs.names())
            .field("congestion_controls", &self.ccs.names())
            .field("transports", &self.transports.names())
            .field("programs", &self.programs.names())
            .field("topologies", &self.topologies.names())
            .field("workloads", &self.workloads.names())
            .field("observers", &self.observers.names())
            .field("schemes", &self.scheme_names().collect::<Vec<_>>())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::de::DeserializeOwned;

    /// The kinds that a deserialiser knows.
    fn kinds<T: DeserializeOwned + fmt::Debug>() -> Vec<String> {
        let error = toml::from_str::<T>("kind = \"?\"").unwrap_err();
        let (_, listed) = error.message().split_once("expected one of ").unwrap();
        listed.split(", ").map(|kind| kind.trim_matches('`').to_owned()).collect()
    }

    #[test]
    fn the_kinds_of_ours_are_all_here() {
        assert_eq!(kinds::<LbConfig>(), LbConfig::KINDS);
        assert_eq!(kinds::<CcConfig>(), CcConfig::KINDS);
        assert_eq!(kinds::<TransportConfig>(), TransportConfig::KINDS);
        assert_eq!(kinds::<ProgramConfig>(), ProgramConfig::KINDS);
    }

    #[test]
    fn a_name_is_taken_once_and_a_parameter_too() {
        let refused = |name: &'static str, parameters: Vec<Parameter>| {
            let register = move || Registry::new().workload(name, parameters, |_, _, _, _| Ok(()));
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(register)).is_err()
        };
        assert!(!refused("mine", Vec::new()));
        assert!(refused("incast", Vec::new()) && refused("my own", Vec::new()) && refused("", Vec::new()));
        let bytes = || Parameter::new("bytes", Bytes(1), "length");
        assert!(refused("mine", vec![bytes(), bytes()]));
        assert!(refused("mine", vec![Parameter::new("kind", 1u32, "of what kind")]));
    }
}
