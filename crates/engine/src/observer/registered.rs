//! Registered observers, which scenarios name and whose records become curves of the run.

use super::Observer;
use super::foreign::{HookNodes, PerNode};
use anabranch_base::{
    Duration, LinkId, NodeId, Parameters, QpId, Refused, Registered, Time, catch_foreign, foreign,
};
use anabranch_fabric::Topology;
use anabranch_proto::Packet;
use anabranch_results::SeriesRow;
use anabranch_workload::Workload;
use std::any::Any;
use std::sync::Arc;

/// An observer that scenarios may name. Its records become curves in the results.
pub trait Recorder: Observer + 'static {
    /// The curves of the observer's records, up to the end of the run at `end`.
    fn curves(self, topology: &Topology, end: Time) -> Vec<Curve>;
}

/// A curve of a registered observer.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The name of the measured quantity with its unit at the end: `first_drop_us`. The results add the observer's name
    /// in front: `drops-by-link.first_drop_us`.
    pub series: String,
    /// The measured entity, such as a link or a node: `tor:0/up:3`.
    pub entity: String,
    /// The points, sorted by time.
    pub points: Vec<(Time, f64)>,
}

/// A function that builds an observer for a fabric and a workload, or refuses a parameter.
pub type ObserverFactory =
    dyn Fn(&Topology, &Workload, &Parameters) -> Result<AnyRecorder, Refused> + Send + Sync;

/// An observer that a scenario names.
pub type ObserverSpec = Registered<ObserverFactory>;

/// Any [`Recorder`].
pub struct AnyRecorder(Box<dyn ErasedRecorder>);

impl AnyRecorder {
    /// Wraps a recorder.
    pub fn new(recorder: impl Recorder) -> Self {
        AnyRecorder(Box::new(recorder))
    }

    /// Builds the observer that `spec` names.
    ///
    /// # Errors
    /// The factory refuses a parameter, or panics. The error for a panic names the parameter `kind`.
    pub fn build(spec: &ObserverSpec, topology: &Topology, workload: &Workload) -> Result<Self, Refused> {
        let made = catch_foreign(&part(spec), || spec.factory()(topology, workload, spec.parameters()));
        made.unwrap_or_else(|panicked| Err(Refused::new("kind", panicked.to_string())))
    }
}

fn part(spec: &ObserverSpec) -> String {
    format!("observer {:?}", spec.name())
}

/// The observers that a scenario names.
pub struct NamedObservers(Vec<(String, PerNode<AnyRecorder>)>);

impl NamedObservers {
    /// Builds the observers, whose hooks are called at the nodes of `hook_nodes`.
    ///
    /// # Errors
    /// An observer refuses its parameters. The error has the observer's name and the reason.
    pub fn new(
        specs: &[ObserverSpec],
        topology: &Topology,
        workload: &Workload,
        hook_nodes: &Arc<HookNodes>,
    ) -> Result<Self, (String, Refused)> {
        let make = |spec: &ObserverSpec| {
            let name = spec.name().to_owned();
            match AnyRecorder::build(spec, topology, workload) {
                Ok(made) => Ok((name, PerNode::new(&part(spec), made, hook_nodes.clone()))),
                Err(refused) => Err((name, refused)),
            }
        };
        let mut made: Vec<(String, PerNode<AnyRecorder>)> =
            specs.iter().map(make).collect::<Result<_, _>>()?;
        // The curves of the second observer of a kind are named `kind-2.…`.
        for slot in (0..made.len()).rev() {
            let before = made[..slot].iter().filter(|(name, _)| *name == made[slot].0).count();
            if before > 0 {
                made[slot].0 = format!("{}-{}", made[slot].0, before + 1);
            }
        }
        Ok(NamedObservers(made))
    }

    pub fn into_rows(self, topology: &Topology, end: Time) -> Vec<SeriesRow> {
        let mut rows = Vec::new();
        for (name, seen) in self.0 {
            let part = seen.part();
            let AnyRecorder(all) = seen.joined();
            for Curve { series, entity, points } in foreign(&part, || all.into_curves(topology, end)) {
                rows.extend(points.into_iter().map(|(time, value)| SeriesRow {
                    run: 0,
                    series: format!("{name}.{series}"),
                    entity: entity.clone(),
                    time_ps: time.0,
                    value,
                }));
            }
        }
        rows
    }
}

trait ErasedRecorder: Observer {
    fn forked(&self) -> Box<dyn ErasedRecorder>;
    fn join_one(&mut self, other: Box<dyn ErasedRecorder>);
    fn into_curves(self: Box<Self>, topology: &Topology, end: Time) -> Vec<Curve>;
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

impl<R: Recorder> ErasedRecorder for R {
    fn forked(&self) -> Box<dyn ErasedRecorder> {
        Box::new(self.fork())
    }

    fn join_one(&mut self, other: Box<dyn ErasedRecorder>) {
        let other = other.into_any().downcast::<R>();
        self.join(*other.expect("forks of one observer have its type"));
    }

    fn into_curves(self: Box<Self>, topology: &Topology, end: Time) -> Vec<Curve> {
        self.curves(topology, end)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// Implements the hooks other than `held_up`. Each hook calls `self.call` with a closure that calls this hook of an
/// observer.
macro_rules! forward_hooks {
    () => {
        #[inline]
        fn transmitted(&mut self, link: LinkId, from: Time, until: Time, bytes: u16) {
            self.call(|its| its.transmitted(link, from, until, bytes));
        }

        #[inline]
        fn sent(&mut self, link: LinkId, from: Time, until: Time, packet: &Packet) {
            self.call(|its| its.sent(link, from, until, packet));
        }

        fn sent_pause(&mut self, link: LinkId, from: Time, until: Time, stop: bool) {
            self.call(|its| its.sent_pause(link, from, until, stop));
        }

        #[inline]
        fn queued(&mut self, link: LinkId, now: Time, bytes: u32) {
            self.call(|its| its.queued(link, now, bytes));
        }

        #[inline]
        fn offered(&mut self, link: LinkId, now: Time, bytes: u16) {
            self.call(|its| its.offered(link, now, bytes));
        }

        #[inline]
        fn dropped(&mut self, link: LinkId, now: Time) {
            self.call(|its| its.dropped(link, now));
        }

        fn refused_by_host(&mut self, link: LinkId, now: Time) {
            self.call(|its| its.refused_by_host(link, now));
        }

        fn paused(&mut self, link: LinkId, class: u8, now: Time, on: bool) {
            self.call(|its| its.paused(link, class, now, on));
        }

        #[inline]
        fn kept(&mut self, node: NodeId, now: Time, aside: u32, entries: u32) {
            self.call(|its| its.kept(node, now, aside, entries));
        }

        #[inline]
        fn delivered(&mut self, qp: QpId, now: Time, packet: &Packet) {
            self.call(|its| its.delivered(qp, now, packet));
        }

        #[inline]
        fn acknowledged(&mut self, qp: QpId, now: Time, rtt: Duration, marked: bool) {
            self.call(|its| its.acknowledged(qp, now, rtt, marked));
        }
    };
}

impl AnyRecorder {
    #[inline]
    fn call(&mut self, hook: impl FnOnce(&mut dyn ErasedRecorder)) {
        hook(&mut *self.0);
    }
}

impl Observer for AnyRecorder {
    fn fork(&self) -> Self {
        AnyRecorder(self.0.forked())
    }

    fn join(&mut self, other: Self) {
        self.0.join_one(other.0);
    }

    forward_hooks!();

    fn held_up(&mut self, link: LinkId, now: Time, victims: u32) {
        self.0.held_up(link, now, victims);
    }

    fn wants_victims(&self, link: LinkId) -> bool {
        self.0.wants_victims(link)
    }

    fn wants_node_order(&self) -> bool {
        self.0.wants_node_order()
    }

    fn recorded(&self) -> u64 {
        self.0.recorded()
    }
}

impl NamedObservers {
    #[inline]
    fn call(&mut self, hook: impl Fn(&mut PerNode<AnyRecorder>)) {
        self.0.iter_mut().for_each(|(_, its)| hook(its));
    }
}

impl Observer for NamedObservers {
    fn fork(&self) -> Self {
        NamedObservers(self.0.iter().map(|(name, its)| (name.clone(), its.fork())).collect())
    }

    fn join(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|((_, mine), (_, its))| mine.join(its));
    }

    forward_hooks!();

    fn held_up(&mut self, link: LinkId, now: Time, victims: u32) {
        self.call(|its| {
            if its.wants_victims(link) {
                its.held_up(link, now, victims);
            }
        });
    }

    fn wants_victims(&self, link: LinkId) -> bool {
        self.0.iter().any(|(_, its)| its.wants_victims(link))
    }

    fn wants_node_order(&self) -> bool {
        self.0.iter().any(|(_, its)| its.wants_node_order())
    }

    fn recorded(&self) -> u64 {
        self.0.iter().map(|(_, its)| its.recorded()).sum()
    }
}
