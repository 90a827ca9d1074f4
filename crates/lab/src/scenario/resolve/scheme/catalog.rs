//! The schemes and components that scenarios can name: the built-in ones, and those that other programs register.

use crate::scenario::keys;
use crate::scenario::read::table::fault;
use crate::scenario::resolve::scheme::builtin;
use crate::scenario::resolve::scheme::file::{Bases, Draft};
use crate::scenario::schema::plugins::{Family, Listed, Plugins};
use anabranch_base::{
    AboveZero, Bytes, Diagnostic, Duration, KindDeclaration, Parameter, Parameters, Refused, Stream,
};
use anabranch_engine::{AnyRecorder, Recorder, Scheme};
use anabranch_fabric::{Topology, TopologyBuilder};
use anabranch_proto::cc::{CcWants, CongestionControl};
use anabranch_proto::lb::{Environment, LoadBalancer};
use anabranch_proto::program::{Program, ProgramFacts};
use anabranch_proto::transport::{Receiver, ReceiverParts, Sender, SenderParts, TransportFactory};
use anabranch_proto::{CcConfig, LbConfig, PathFacts, ProgramConfig, Span, TransportConfig};
use anabranch_workload::{Fabric, Workload, WorkloadBuilder};
use std::fmt;
use std::sync::Arc;

/// User-defined load balancers, congestion controls, transports, programs, topologies, workloads, schemes and
/// observers, in addition to the built-in ones.
///
/// Scenarios that are read with the registry ([`read_with`](crate::scenario::read_with)) select a scheme by its name,
/// and anything else by its `kind`, with parameters beside it. The registration declares these parameters. Any other
/// parameter is an error, except for the ones that every transport has. A factory must draw random numbers only from
/// the stream that it is given, so that the same scenario and seed give the same results.
///
/// # Panics
/// A registration of anything but a scheme panics in these cases:
/// - The name is already used, or is not valid.
/// - A parameter is declared twice, or its name is not valid or is `kind`.
/// - A transport declares one of the parameters that every transport has, but with another type.
#[derive(Clone, Default)]
pub struct Registry {
    pub(in crate::scenario) plugins: Plugins,
    schemes: Vec<Draft>,
    /// The registered schemes on the setup `common`.
    on_common: Vec<Scheme>,
}

/// A part of a scheme, with the kinds that it may have.
#[derive(Clone, Debug)]
pub struct PartListing {
    /// The path of the part in a scheme: `lb`; empty for the scheme itself.
    pub part: &'static str,
    /// The kinds of the part. A part without kinds has one entry.
    pub kinds: Vec<KindListing>,
}

/// A kind of a part of a scheme, with its parameters.
#[derive(Clone, Debug)]
pub struct KindListing {
    /// The name of the kind, if the part has kinds.
    pub name: Option<String>,
    /// The meaning, as lists print it.
    pub meaning: String,
    /// The declarations of the kind's parameters.
    pub parameters: Vec<Parameter>,
}

impl Registry {
    /// An empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a load balancer. `factory` makes the load balancer of a new queue pair.
    #[must_use]
    pub fn load_balancer(
        mut self,
        name: impl Into<String>,
        parameters: impl IntoIterator<Item = Parameter>,
        factory: impl Fn(&Environment, &Parameters, Stream) -> Box<dyn LoadBalancer> + Send + Sync + 'static,
    ) -> Self {
        self.plugins.lbs.add(name.into(), LbConfig::KINDS, parameters, Arc::new(factory));
        self
    }

    /// Adds a congestion control. `factory` makes the congestion control of a new queue pair.
    #[must_use]
    pub fn congestion_control(
        self,
        name: impl Into<String>,
        parameters: impl IntoIterator<Item = Parameter>,
        factory: impl Fn(&PathFacts, &Parameters, Stream) -> Box<dyn CongestionControl> + Send + Sync + 'static,
    ) -> Self {
        self.congestion_control_wanting(CcWants::default(), name, parameters, factory)
    }

    /// Adds a congestion control that needs telemetry, or the facts about its own path.
    #[must_use]
    pub fn congestion_control_wanting(
        mut self,
        wants: CcWants,
        name: impl Into<String>,
        parameters: impl IntoIterator<Item = Parameter>,
        factory: impl Fn(&PathFacts, &Parameters, Stream) -> Box<dyn CongestionControl> + Send + Sync + 'static,
    ) -> Self {
        self.plugins.ccs.add(name.into(), CcConfig::KINDS, parameters, Arc::new((wants, Arc::new(factory))));
        self
    }

    /// Adds a transport. `sender` and `receiver` make the two ends of a new queue pair. In addition to the parameters
    /// declared here, the transport has `payload` (4096B), `header` (64B), `ack` (64B) and `rto` (70us), which
    /// determine how messages are divided into packets and how long a timeout is. A declared parameter with one of
    /// these names replaces that parameter.
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
                    assert!(
                        own.has_type_of(&common),
                        "parameter {:?} must be {}",
                        own.name(),
                        common.type_name()
                    )
                }
                None => parameters.push(common),
            }
        }
        let factory = TransportFactory { sender: Box::new(sender), receiver: Box::new(receiver) };
        self.plugins.transports.add(name.into(), TransportConfig::KINDS, parameters, Arc::new(factory));
        self
    }

    /// Adds a program for switches. `factory` makes the program of one switch.
    ///
    /// If the program declares a parameter `paths` of type `u32`, the value is the number of entries in the program's
    /// tables, one for each path between two ToRs. A fabric with more paths is then rejected. If a ToR's choice of a
    /// port does not determine the path, the facts contain a [`path_map`](ProgramFacts::path_map), which requires
    /// `fabric.routing = "ecmp-linear"`.
    #[must_use]
    pub fn program(
        mut self,
        name: impl Into<String>,
        parameters: impl IntoIterator<Item = Parameter>,
        factory: impl Fn(&ProgramFacts, &Parameters, Stream) -> Box<dyn Program> + Send + Sync + 'static,
    ) -> Self {
        self.plugins.programs.add(name.into(), ProgramConfig::KINDS, parameters, Arc::new(factory));
        self
    }

    /// Adds a topology. `factory` adds hosts, switches and links to the builder.
    #[must_use]
    pub fn topology(
        mut self,
        name: impl Into<String>,
        parameters: impl IntoIterator<Item = Parameter>,
        factory: impl Fn(&mut TopologyBuilder, &Parameters) -> Result<(), Refused> + Send + Sync + 'static,
    ) -> Self {
        let ours: Vec<&str> = keys::kinds("[topology]").collect();
        self.plugins.topologies.add(name.into(), &ours, parameters, Arc::new(factory));
        self
    }

    /// Adds a workload. `factory` adds queue pairs, messages and gates to the builder.
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
        let ours: Vec<&str> = keys::kinds("[workload]").collect();
        self.plugins.workloads.add(name.into(), &ours, parameters, Arc::new(factory));
        self
    }

    /// Adds an observer, which a scenario selects by an `[[observer]]` with the observer's `kind`. `factory` makes the
    /// observer of a run. The observer's curves are among the curves of the run, with the observer's name as the
    /// prefix: `drops-by-link.drops`.
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
        self.plugins.observers.add(name.into(), &[], parameters, Arc::new(made));
        self
    }

    /// Adds a scheme from the text of its file, which has the format of the files in `schemes/`. The parts of the
    /// scheme may be parts that have already been registered. Scenarios use the scheme like a built-in one.
    ///
    /// # Errors
    /// The first error in the file, or a name that is already used.
    pub fn scheme(mut self, file_name: &str, text: &str) -> Result<Self, Diagnostic> {
        let (draft, on_common) = Draft::of_file(file_name, text, &self, &self.plugins)?;
        if self.find_scheme(&draft.name).is_some() {
            let message = format!("there is a scheme {:?} already", draft.name);
            return Err(fault(file_name, None, message, Some("another name".to_owned().into())));
        }
        self.schemes.push(draft);
        self.on_common.push(on_common);
        Ok(self)
    }

    /// Everything that is registered, grouped by family.
    pub fn list(&self) -> Vec<Listed<'_>> {
        let schemes = self.schemes.iter().map(|scheme| Listed {
            family: "scheme",
            name: &scheme.name,
            parameters: &[],
        });
        let all = [
            self.plugins.lbs.list("load balancer"),
            self.plugins.ccs.list("congestion control"),
            self.plugins.transports.list("transport"),
            self.plugins.programs.list("program"),
            self.plugins.topologies.list("topology"),
            self.plugins.workloads.list("workload"),
            self.plugins.observers.list("observer"),
            schemes.collect(),
        ];
        all.concat()
    }

    /// The registered schemes on the setup `common`.
    pub fn schemes(&self) -> &[Scheme] {
        &self.on_common
    }

    /// The parts of schemes, built-in and registered, with the declarations of all parameters.
    pub fn parts(&self) -> Vec<PartListing> {
        fn of<F: ?Sized>(part: &'static str, ours: Vec<KindDeclaration>, family: &Family<F>) -> PartListing {
            let ours = ours.into_iter().map(|KindDeclaration { name, meaning, parameters }| KindListing {
                name: Some(name.to_owned()),
                meaning,
                parameters: parameters.to_vec(),
            });
            let registered = family.kinds().map(|(name, parameters)| KindListing {
                name: Some(name.to_owned()),
                meaning: "Registered.".to_owned(),
                parameters: parameters.to_vec(),
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
        let fabric = fabric.into_iter().map(|parameter| parameter.without_table("fabric")).collect();
        vec![
            one("", "Beside its parts a scheme has this.", scheme),
            of("transport", TransportConfig::kinds(), &self.plugins.transports),
            of("cc", CcConfig::kinds(), &self.plugins.ccs),
            of("lb", LbConfig::kinds(), &self.plugins.lbs),
            one("fabric", "The behaviour of the switches.", fabric),
            of("fabric.program", ProgramConfig::kinds(), &self.plugins.programs),
        ]
    }

    /// The registered or built-in scheme with this name.
    pub(in crate::scenario) fn find_scheme(&self, name: &str) -> Option<Draft> {
        self.schemes.iter().find(|scheme| scheme.name == name).or_else(|| builtin::built_in(name)).cloned()
    }

    pub(in crate::scenario) fn scheme_names(&self) -> impl Iterator<Item = &str> {
        self.schemes.iter().map(|scheme| scheme.name.as_str())
    }
}

impl Bases for Registry {
    fn find(&self, name: &str) -> Option<Draft> {
        self.find_scheme(name)
    }

    fn unknown(&self, name: &str) -> (String, String) {
        builtin::unknown(name, &self.scheme_names().collect::<Vec<_>>())
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("load_balancers", &self.plugins.lbs.names())
            .field("congestion_controls", &self.plugins.ccs.names())
            .field("transports", &self.plugins.transports.names())
            .field("programs", &self.plugins.programs.names())
            .field("topologies", &self.plugins.topologies.names())
            .field("workloads", &self.plugins.workloads.names())
            .field("observers", &self.plugins.observers.names())
            .field("schemes", &self.scheme_names().collect::<Vec<_>>())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::de::DeserializeOwned;

    /// The kinds that a deserialiser accepts.
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
