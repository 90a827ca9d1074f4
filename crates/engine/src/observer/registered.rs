//! Observers that scenarios name: what they have seen becomes curves of the run.

use super::Observer;
use super::foreign::{Foreign, Places};
use anabranch_base::{
    Duration, LinkId, NodeId, Parameters, QpId, Refused, Registered, Time, catch_foreign, foreign,
};
use anabranch_fabric::Topology;
use anabranch_proto::Packet;
use anabranch_results::SeriesRow;
use anabranch_workload::Workload;
use std::any::Any;
use std::sync::Arc;

/// An observer that scenarios may name. What it has seen in a run stands among the run's curves.
pub trait Recorder: Observer + 'static {
    /// What it has seen until `end`, the end of the run.
    fn curves(self, topology: &Topology, end: Time) -> Vec<Curve>;
}

/// A curve as somebody else's observer gives it.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// What is measured, with its unit at the end: `first_drop_us`. Results have the observer's name before it:
    /// `drops-by-link.first_drop_us`.
    pub series: String,
    /// Where: `tor:0/up:3`.
    pub entity: String,
    /// Its points, by time.
    pub points: Vec<(Time, f64)>,
}

/// What makes an observer, of a fabric and what the hosts send, or says which of its parameters is wrong there.
pub type ObserverFactory =
    dyn Fn(&Topology, &Workload, &Parameters) -> Result<AnyRecorder, Refused> + Send + Sync;

/// An observer that a scenario names.
pub type ObserverSpec = Registered<ObserverFactory>;

/// Any observer that scenarios may name.
pub struct AnyRecorder(Box<dyn Erased>);

impl AnyRecorder {
    /// This one.
    pub fn new(recorder: impl Recorder) -> Self {
        AnyRecorder(Box::new(recorder))
    }

    /// Makes the one that `spec` names.
    ///
    /// # Errors
    /// What it refuses, or a panic as a fault of its `kind`.
    pub fn made(spec: &ObserverSpec, topology: &Topology, workload: &Workload) -> Result<Self, Refused> {
        let made = catch_foreign(&part(spec), || spec.factory()(topology, workload, spec.parameters()));
        made.unwrap_or_else(|panicked| Err(Refused::new("kind", panicked.to_string())))
    }
}

/// How messages call it.
fn part(spec: &ObserverSpec) -> String {
    format!("observer {:?}", spec.name())
}

/// The observers that a scenario names.
pub struct Named(Vec<(String, Foreign<AnyRecorder>)>);

impl Named {
    /// Makes them, by what `slots` tells of the fabric.
    ///
    /// # Errors
    /// The name of one that refuses its parameters, and why.
    pub fn new(
        specs: &[ObserverSpec],
        topology: &Topology,
        workload: &Workload,
        slots: &Arc<Places>,
    ) -> Result<Self, (String, Refused)> {
        let make = |spec: &ObserverSpec| {
            let name = spec.name().to_owned();
            match AnyRecorder::made(spec, topology, workload) {
                Ok(made) => Ok((name, Foreign::new(&part(spec), made, slots.clone()))),
                Err(refused) => Err((name, refused)),
            }
        };
        let mut made: Vec<(String, Foreign<AnyRecorder>)> =
            specs.iter().map(make).collect::<Result<_, _>>()?;
        // Of several of one kind the second one's curves are `kind-2.…`.
        for slot in (0..made.len()).rev() {
            let before = made[..slot].iter().filter(|(name, _)| *name == made[slot].0).count();
            if before > 0 {
                made[slot].0 = format!("{}-{}", made[slot].0, before + 1);
            }
        }
        Ok(Named(made))
    }

    /// The curves of all of them, in their order.
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

/// A recorder whose type is not known.
trait Erased: Observer {
    fn forked(&self) -> Box<dyn Erased>;
    fn join_one(&mut self, other: Box<dyn Erased>);
    fn into_curves(self: Box<Self>, topology: &Topology, end: Time) -> Vec<Curve>;
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

impl<R: Recorder> Erased for R {
    fn forked(&self) -> Box<dyn Erased> {
        Box::new(self.fork())
    }

    fn join_one(&mut self, other: Box<dyn Erased>) {
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

/// Hands each hook to `self.tell`, which takes what to tell an observer.
macro_rules! tells {
    () => {
        #[inline]
        fn transmitted(&mut self, link: LinkId, from: Time, until: Time, bytes: u16) {
            self.tell(|its| its.transmitted(link, from, until, bytes));
        }

        #[inline]
        fn sent(&mut self, link: LinkId, from: Time, until: Time, packet: &Packet) {
            self.tell(|its| its.sent(link, from, until, packet));
        }

        fn sent_pause(&mut self, link: LinkId, from: Time, until: Time, stop: bool) {
            self.tell(|its| its.sent_pause(link, from, until, stop));
        }

        #[inline]
        fn queued(&mut self, link: LinkId, now: Time, bytes: u32) {
            self.tell(|its| its.queued(link, now, bytes));
        }

        #[inline]
        fn offered(&mut self, link: LinkId, now: Time, bytes: u16) {
            self.tell(|its| its.offered(link, now, bytes));
        }

        #[inline]
        fn dropped(&mut self, link: LinkId, now: Time) {
            self.tell(|its| its.dropped(link, now));
        }

        fn paused(&mut self, link: LinkId, now: Time, on: bool) {
            self.tell(|its| its.paused(link, now, on));
        }

        #[inline]
        fn kept(&mut self, node: NodeId, now: Time, aside: u32, entries: u32) {
            self.tell(|its| its.kept(node, now, aside, entries));
        }

        #[inline]
        fn delivered(&mut self, qp: QpId, now: Time, packet: &Packet) {
            self.tell(|its| its.delivered(qp, now, packet));
        }

        #[inline]
        fn acknowledged(&mut self, qp: QpId, now: Time, rtt: Duration, marked: bool) {
            self.tell(|its| its.acknowledged(qp, now, rtt, marked));
        }
    };
}

impl AnyRecorder {
    #[inline]
    fn tell(&mut self, hook: impl FnOnce(&mut dyn Erased)) {
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

    tells!();

    fn held_up(&mut self, link: LinkId, now: Time, victims: u32) {
        self.0.held_up(link, now, victims);
    }

    fn wants_victims(&self, link: LinkId) -> bool {
        self.0.wants_victims(link)
    }

    fn recorded(&self) -> u64 {
        self.0.recorded()
    }
}

impl Named {
    #[inline]
    fn tell(&mut self, hook: impl Fn(&mut Foreign<AnyRecorder>)) {
        self.0.iter_mut().for_each(|(_, its)| hook(its));
    }
}

impl Observer for Named {
    fn fork(&self) -> Self {
        Named(self.0.iter().map(|(name, its)| (name.clone(), its.fork())).collect())
    }

    fn join(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|((_, mine), (_, its))| mine.join(its));
    }

    tells!();

    fn held_up(&mut self, link: LinkId, now: Time, victims: u32) {
        self.tell(|its| {
            if its.wants_victims(link) {
                its.held_up(link, now, victims);
            }
        });
    }

    fn wants_victims(&self, link: LinkId) -> bool {
        self.0.iter().any(|(_, its)| its.wants_victims(link))
    }

    fn recorded(&self) -> u64 {
        self.0.iter().map(|(_, its)| its.recorded()).sum()
    }
}
