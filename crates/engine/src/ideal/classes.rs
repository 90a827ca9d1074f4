//! Ideal times of runs with several traffic classes, each of which has its own scheme.

use super::Ideal;
use crate::network::{Network, TrafficClass};
use anabranch_base::Duration;
use anabranch_workload::{Job, Workload};

/// The ideal times under the schemes of all traffic classes.
pub struct Ideals<'a> {
    first: &'a Ideal<'a>,
    others: Vec<Ideal<'a>>,
}

impl<'a> Ideals<'a> {
    /// The ideal times of a run whose first class has the ideal times `first`.
    pub fn new(network: &Network<'a>, first: &'a Ideal<'a>) -> Ideals<'a> {
        let of = |class: &TrafficClass<'_>| {
            let ideal = Ideal::new(network.topology, network.healthy.clone(), &class.scheme.transport);
            ideal.carried_by(class.scheme)
        };
        Ideals { first, others: network.classes.iter().map(of).collect() }
    }

    pub fn of(&self, class: u8) -> &Ideal<'a> {
        match usize::from(class).checked_sub(1) {
            None => self.first,
            Some(beyond) => &self.others[beyond],
        }
    }

    /// The ideal CCT of each job under the scheme of the job's class.
    pub fn ccts(&self, workload: &Workload, class_of: impl Fn(&Job) -> u8) -> Vec<Duration> {
        let mut ccts = self.first.ccts(workload);
        for (beyond, ideal) in self.others.iter().enumerate() {
            let of_class = workload.jobs.iter().map(|job| usize::from(class_of(job)) == beyond + 1);
            for ((cct, theirs), is_theirs) in ccts.iter_mut().zip(ideal.ccts(workload)).zip(of_class) {
                if is_theirs {
                    *cct = theirs;
                }
            }
        }
        ccts
    }
}
