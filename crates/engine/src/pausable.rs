//! Runs in the thread of their caller, which pause whenever their injector is not ready.

use crate::collect::{RunResult, run_row};
use crate::control::Control;
use crate::engine::{Engine, EngineInputs};
use crate::ideal::Ideal;
use crate::injection::Injection;
use crate::injector::Injector;
use crate::observer::NoObserver;
use crate::run::{Built, RunContext, build_fabric, check_scheme, engine_inputs, ideal, with_panic_context};
use crate::run_error::RunError;
use crate::spec::RunPoint;
use anabranch_results::RunRow;
use std::sync::Arc;

/// A point and its fabric, to which a [`PausableRun`] refers. The point's workload, measures and observers are ignored.
pub struct PausablePoint {
    point: RunPoint,
    fabric: Built,
}

impl PausablePoint {
    /// Builds the fabric of a point.
    ///
    /// # Errors
    /// A part of the point cannot be built.
    pub fn new(point: RunPoint) -> Result<Self, RunError> {
        let point = RunPoint { measures: Vec::new(), observers: Vec::new(), ..point };
        check_scheme(&point)?;
        Ok(PausablePoint { fabric: build_fabric(&point)?, point })
    }

    /// The fabric, with an empty workload.
    pub fn fabric(&self) -> &Built {
        &self.fabric
    }
}

/// A run in the thread of its caller. It pauses when its injector is not ready.
pub struct PausableRun<'a> {
    of: &'a PausablePoint,
    ideal: Arc<Ideal<'a>>,
    control: Control,
    /// The engine. None after the end of the run.
    engine: Option<Engine<'a, NoObserver>>,
}

impl<'a> PausableRun<'a> {
    /// A run before its first event.
    ///
    /// # Errors
    /// A part of the point cannot be built.
    pub fn new(of: &'a PausablePoint, injector: Box<dyn Injector>) -> Result<Self, RunError> {
        let PausablePoint { point, fabric } = of;
        let ideal = ideal(point, fabric);
        let engine = with_panic_context(point, || {
            let inputs = EngineInputs {
                injection: Some(Injection::new(injector, true)),
                ..engine_inputs(point, fabric, &point.limits, &ideal, false)?
            };
            Ok(Engine::new(inputs, NoObserver)?)
        })?;
        Ok(PausableRun { of, ideal, control: Control::default(), engine: Some(engine) })
    }

    /// Continues the run until its end, and returns the result. Returns none if the run pauses, because the injector is
    /// not ready.
    ///
    /// # Errors
    /// See [`run()`](crate::run()).
    ///
    /// # Panics
    /// The run has already ended.
    pub fn advance(&mut self) -> Option<Result<RunResult, RunError>> {
        let PausablePoint { point, fabric } = self.of;
        let Some(engine) = &mut self.engine else { panic!("the run is over") };
        let outcome = with_panic_context(point, || Ok(engine.run_here(&self.control)));
        let outcome = outcome.transpose()?;
        // The engine is taken out first, so that there is none after a panic either.
        let engine = self.engine.take()?;
        let run =
            RunContext { point, fabric, limits: &point.limits, ideal: &self.ideal, control: &self.control };
        let conclude =
            |outcome| with_panic_context(point, || run.conclude(engine, outcome, |_, _| Vec::new()));
        Some(outcome.and_then(conclude))
    }

    /// The totals until now. None after the end of the run.
    pub fn totals(&self) -> Option<RunRow> {
        self.engine
            .as_ref()
            .map(|engine| run_row(engine.network(), &engine.node_totals(), &self.of.point, &[]))
    }
}
