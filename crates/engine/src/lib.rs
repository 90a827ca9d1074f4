//! The engine: a fabric, a workload and a scheme in, results out. No IO, no clock, and no scenario files.
//!
//! Start reading at [`run()`]; what it is given is a [`RunPoint`].

mod collect;
mod engine;
mod host;
mod ideal;
mod observer;
mod run;
mod spec;
mod switch;

#[doc(hidden)]
pub use engine::bench_scheduler;
pub use ideal::Ideal;
pub use observer::QpSelector;
pub use run::{Built, Control, RunError, RunResult, build, run};
pub use spec::{
    EcnStep, FabricSpec, FaultKind, FaultSpec, Limits, MeasureSpec, PfcSpec, RoutingMode, RunPoint, Scheme,
    Series, WrrSpec,
};
pub use switch::{Pfc, PfcError, ProgramError, Programs, WeightError, check_headrooms, weights};
