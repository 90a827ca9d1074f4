//! The simulator as a library for other programs. Parsing and running do no IO and read no clock, and the parsers take
//! text instead of paths.
//!
//! [`scenario::read`] parses a text into a [`scenario::Scenario`], [`scenario::Scenario::points`] returns its runs, and
//! [`run()`] carries out one of them. A [`Registry`] adds algorithms, fabrics, workloads and observers of your own,
//! which scenarios name like the built-in ones. [`run_observed`] carries out a run with an [`Observer`] that the
//! scenario does not name. This is a complete load balancer:
//!
//! ```
//! use anabranch_sim::proto::lb::LoadBalancer;
//! use anabranch_sim::scenario::{NoFiles, Overrides, read_with};
//! use anabranch_sim::{Control, Parameter, Registry, Stream, Time, run};
//!
//! /// Round-robin over a few paths.
//! struct InTurn { paths: u16, next: u16 }
//!
//! impl LoadBalancer for InTurn {
//!     fn next_ev(&mut self, _now: Time, _window: u64) -> u16 {
//!         self.next = (self.next + 1) % self.paths;
//!         self.next
//!     }
//! }
//!
//! let paths = Parameter::new("paths", 64u16, "entropy values taken in turn").must("be above 0", |paths: &u16| *paths > 0);
//! let registry = Registry::new().load_balancer("in-turn", [paths], |_, parameters, mut random: Stream| {
//!     Box::new(InTurn { paths: parameters.get("paths"), next: random.next_u32() as u16 })
//! });
//! let text = r#"
//!     schemes = ["reps"]
//!     topology = { kind = "fat-tree", hosts = 16, hosts_per_tor = 4, link = "100Gbps" }
//!     workload = { kind = "permutation", bytes = "256KB" }
//!     scheme = [{ name = "in-turn", base = "reps", set = { lb = { kind = "in-turn", paths = 16 } } }]
//! "#;
//! let scenario = read_with(&registry, "in-turn.toml", text, &NoFiles, &Overrides::default())?;
//! for point in scenario.points()? {
//!     let result = run(&point, &Control::default())?;
//!     println!("{}: {:.1} us, digest {}", point.scheme.name, result.run.fct_max_us, result.run.digest);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! There are more examples in `examples/`: `own_balancer.rs`, `own_congestion_control.rs`, `own_transport.rs`,
//! `own_program.rs` (in switches), `own_topology.rs`, `own_workload.rs`, `own_observer.rs`. The command
//! `cargo run -p anabranch-sim --example own_balancer` runs one of them.

pub mod baseline;
mod gather;
mod sample;
mod session;
mod threads;

pub use anabranch_base::{self as base, Bytes, Duration, Rate, Stream, Time};
pub use anabranch_base::{Parameter, ParameterType, Parameters, Problem, Refused, ValueError, ValueFault};
pub use anabranch_engine::{Activity, Built, Control, RunError, RunResult, Span, build, run};
pub use anabranch_engine::{Curve, Observer, Recorder, run_observed};
pub use anabranch_engine::{DrivenNode, DrivenRun, FrameContent, NodeTotals, Outgoing, Signal, SignalKind};
pub use anabranch_engine::{InjectedEnd, InjectedMessage, Injector, QueuePair, run_injected};
pub use anabranch_engine::{PausablePoint, PausableRun};
pub use anabranch_fabric as topology;
pub use anabranch_lab::scenario::Registry;
pub use anabranch_lab::{model, scenario};
pub use anabranch_proto as proto;
pub use anabranch_results as results;
pub use anabranch_workload as workload;
pub use gather::{add, add_baseline};
pub use sample::sample;
pub use session::Session;
pub use threads::threads_of;
