//! `anabranch reproduce --live`: the runs of a figure on real packets, beside their simulations.

use crate::args::ReproduceArgs;
use crate::command::check::counted;
use crate::failure::Failure;
use crate::output::note;
use crate::real_packets::{Finished, Options, check_run, comparison, documents, run_all};
use anabranch_report::live_invalid;
use anabranch_sim::scenario::{Figure, RunPoint};
use serde_json::{Value, json};

pub struct OnRealPackets {
    finished: Finished,
    /// The number of runs that a testbed can carry.
    runs: usize,
    /// The reasons why the other runs are left out.
    refused: Vec<String>,
}

impl OnRealPackets {
    /// Runs a figure on real packets with its first seed. Runs that a testbed cannot carry are left out.
    ///
    /// # Errors
    /// The figure's runs cannot be listed.
    pub fn run(figure: &Figure, args: &ReproduceArgs) -> Result<OnRealPackets, Failure> {
        anabranch_live::remove_left_behind();
        let mut points = figure.scenario.as_ref().map_or(Ok(Vec::new()), |scenario| scenario.points())?;
        let first = points.first().map(|point| point.seed);
        points.retain(|point| Some(point.seed) == first);
        let mut refused = Vec::new();
        if points.is_empty() {
            refused.push("a model sends nothing".to_owned());
        }
        let mut can_run = |point: &RunPoint| {
            let checked = check_run(point);
            // The hint after the first line is left out, because it is about scenarios that the user writes.
            let why = checked.as_ref().err().map(Failure::to_string);
            refused.extend(why.and_then(|why| why.lines().next().map(str::to_owned)));
            checked.is_ok()
        };
        points.retain(|point| can_run(point));
        note(&format!("{}: {} on real packets", figure.id, counted(points.len(), "run")));
        let ReproduceArgs { dilation, sockets, .. } = *args;
        let options = Options { dilation, sockets, limit: None, record: None };
        Ok(OnRealPackets { finished: run_all(&points, &options), runs: points.len(), refused })
    }

    pub fn text(&self) -> String {
        let mut text = String::new();
        let set = &self.finished.set;
        if !set.runs.is_empty() {
            text = format!(
                "LIVE: real packets beside the simulation, all times divided by the dilation\n\n{}",
                comparison(set)
            );
            text.extend(live_invalid(set).into_iter().map(|line| line + "\n"));
        }
        for why in &self.refused {
            text.push_str(&format!("Not on real packets: {why}\n"));
        }
        text + "\n"
    }

    /// The content of [`text`](Self::text) as JSON.
    pub fn document(&self) -> Value {
        json!({ "runs": documents(&self.finished.set), "failed": self.finished.failed, "not_run": self.refused })
    }

    /// Checks that all runs on real packets have succeeded.
    ///
    /// # Errors
    /// A run failed, or the command was ended early.
    pub fn verdict(self) -> Result<(), Failure> {
        self.finished.verdict(self.runs)
    }
}
