//! The engine: it takes a fabric, a workload and a scheme, and returns results. It does no IO, reads no clock, and
//! knows no scenario files.
//!
//! Start reading at [`run()`], whose input is a [`RunPoint`].

mod backlog;
mod board;
mod collect;
mod context;
mod control;
mod driven;
mod egress;
mod empty_measures;
mod engine;
mod explain;
mod far_calendar;
mod fault_spec;
mod faults;
mod frame;
mod goodput;
mod host;
mod ideal;
mod injection;
mod injector;
mod job_parts;
mod link;
mod mail;
mod network;
mod node;
mod node_totals;
mod observer;
mod pausable;
mod pause;
mod points;
mod prefetch;
mod queue;
mod run;
mod run_error;
mod series;
mod shard;
mod span;
mod spec;
mod switch;
mod telemetry;
mod threads;

pub use collect::RunResult;
pub use control::Control;
pub use driven::{DrivenNode, DrivenRun, FrameContent, Outgoing, Signal, SignalKind};
pub use fault_spec::{FaultKind, FaultSpec, FaultTargets, Several};
pub use ideal::Ideal;
pub use injector::{InjectedEnd, InjectedMessage, Injector, QueuePair};
pub use link::{Unmarked, unmarked};
pub use mail::ArrivalOrder;
pub use network::ecmp_member;
pub use node_totals::NodeTotals;
pub use observer::{AnyRecorder, Curve, Observer, ObserverFactory, ObserverSpec, QpSelector, Recorder};
pub use pausable::{PausablePoint, PausableRun};
pub use queue::FullQueue;
pub use run::{Built, build, run, run_injected, run_observed};
pub use run_error::RunError;
pub use span::{Activity, Span};
pub use spec::{
    AlphaStep, ClassSpec, ClassTraffic, EcnStep, FabricSpec, Limits, MeasureSpec, MixSpec, PfcClass, PfcSpec,
    PortChoice, RoutingMode, RunPoint, Scheme, Series, WrrSpec,
};
pub use switch::{PfcError, PfcPlan, ProgramError, ProgramPlan, WeightError, check_headrooms, weights};
