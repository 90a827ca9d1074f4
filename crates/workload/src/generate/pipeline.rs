//! Pipeline parallelism across data centres in addition to a background, as in figure 14 of Themis-longhaul (section
//! VII-B). The paper states only the load of the pipeline.

use super::{Fabric, share_in_all};
use crate::PipelineSpec;
use crate::{Start, WorkloadBuilder, WorkloadError};
use anabranch_base::{Duration, HostId, Problem, Purpose, Time, stream};

/// A pipeline in which each host is a stage. The next stage is the host at the same position in the next data centre,
/// and the first data centre follows the last. A stage sends the activations of a micro-batch to the next stage at
/// fixed intervals. The phases of different hosts are independent.
///
/// Assumptions: a micro-batch is one message, and the intervals do not depend on the completion of earlier messages, so
/// that all schemes have the same load. Either each message has its own queue pair, like the flows of the paper's
/// simulator, or a stage keeps one queue pair for all its messages, like a training job.
pub(super) struct Pipeline<'a> {
    pub spec: &'a PipelineSpec,
    pub fabric: &'a Fabric,
    pub duration: Duration,
}

impl Pipeline<'_> {
    /// The expected number of messages, if `hosts` hosts take part in the background and the sum of all other loads is
    /// `beside`.
    ///
    /// # Errors
    /// There is only one data centre, some hosts do not take part in the background, the load is out of range, or the
    /// length of a message is 0.
    pub(super) fn expected(&self, hosts: u32, beside: f64) -> Result<f64, WorkloadError> {
        if self.fabric.dcs < 2 {
            let what = Problem::with_text(
                "a pipeline leads from data centre to data centre, and this fabric is one",
                "[topology] kind = \"cross-dc\", or a workload without pipeline",
            );
            return Err(WorkloadError::key("pipeline", what));
        }
        if hosts != self.fabric.hosts {
            let all = self.fabric.hosts;
            let message = format!("every host is a stage of the pipeline, so {hosts} of {all} are too few");
            let what = Problem::with_value(message, all);
            return Err(WorkloadError::key("hosts", what));
        }
        share_in_all("pipeline.load", self.spec.load, "the others'", beside)?;
        if self.spec.bytes.0 == 0 {
            return Err(WorkloadError::key("pipeline.bytes", "a message must have at least 1B"));
        }
        Ok(f64::from(hosts) * self.duration.0 as f64 / self.interval_ps())
    }

    /// The time from one micro-batch of a stage to the next one, in picoseconds.
    fn interval_ps(&self) -> f64 {
        8.0 * self.spec.bytes.0 as f64 / (self.spec.load * self.fabric.host_rate.0 as f64) * 1e12
    }

    /// Adds the messages in the order of their start times.
    ///
    /// # Errors
    /// No message falls into the duration.
    pub(super) fn add(&self, seed: u64, builder: &mut WorkloadBuilder) -> Result<(), WorkloadError> {
        let interval = self.interval_ps();
        let mut starts: Vec<(Time, u32)> = Vec::new();
        for host in 0..self.fabric.hosts {
            let phase = stream(seed, u64::from(host), Purpose::PipelinePhases).unit();
            let times = (0_u32..).map(|batch| Time(((phase + f64::from(batch)) * interval) as u64));
            starts.extend(times.take_while(|time| time.0 < self.duration.0).map(|time| (time, host)));
        }
        if starts.is_empty() {
            let what = Problem::with_text(
                format!(
                    "no micro-batch starts in {}: a host starts one every {:.1} us",
                    self.duration,
                    interval / 1e6
                ),
                "a longer duration",
            );
            return Err(WorkloadError::key("duration", what));
        }
        starts.sort_unstable();
        let of_dc = self.fabric.hosts / self.fabric.dcs;
        let mut stages = vec![None; self.fabric.hosts as usize];
        for (start, host) in starts {
            let next = (host + of_dc) % self.fabric.hosts;
            let open = stages[host as usize].filter(|_| self.spec.persistent);
            let qp = open.unwrap_or_else(|| builder.add_qp(HostId(host), HostId(next)));
            stages[host as usize] = Some(qp);
            builder.add_message(qp, self.spec.bytes.0, Start::At(start));
        }
        Ok(())
    }
}
