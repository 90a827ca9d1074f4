//! Incasts at random times in addition to a background, as in the figures of DCP (section 6.3).

use crate::IncastsSpec;
use crate::{Start, WorkloadBuilder, WorkloadError};
use anabranch_base::{Duration, HostId, Problem, Purpose, Rate, Time, stream};

/// Incasts among the first `hosts` hosts. They arrive as a Poisson process. Each incast has a random receiver and
/// random senders, and all its senders start at the same time.
pub(super) struct Incasts<'a> {
    pub spec: &'a IncastsSpec,
    pub hosts: u32,
    pub host_rate: Rate,
    pub duration: Duration,
}

impl Incasts<'_> {
    /// The expected number of messages in all incasts together.
    ///
    /// # Errors
    /// The degree or the length of a message is out of range.
    pub(super) fn expected(&self) -> Result<f64, WorkloadError> {
        let (degree, hosts) = (self.spec.degree, self.hosts);
        if degree == 0 || degree >= hosts {
            let what = format!("write 1 to {} (the hosts without the receiver), not {degree}", hosts - 1);
            return Err(WorkloadError::key("incast.degree", what));
        }
        if self.spec.bytes.0 == 0 {
            return Err(WorkloadError::key("incast.bytes", "a message must have at least 1B"));
        }
        Ok(f64::from(degree) * self.duration.0 as f64 / self.mean_gap_ps())
    }

    /// The mean time from one incast to the next, in picoseconds. The load is the mean bit rate of all incasts, divided
    /// by the sum of the line rates of the hosts that take part.
    fn mean_gap_ps(&self) -> f64 {
        let bits = 8.0 * f64::from(self.spec.degree) * self.spec.bytes.0 as f64;
        bits / (self.spec.load * f64::from(self.hosts) * self.host_rate.0 as f64) * 1e12
    }

    /// Adds the incasts. Each message has its own queue pair.
    ///
    /// # Errors
    /// No incast falls into the duration.
    pub(super) fn add(&self, seed: u64, builder: &mut WorkloadBuilder) -> Result<(), WorkloadError> {
        let mean_gap = self.mean_gap_ps();
        let mut gaps = stream(seed, 0, Purpose::IncastArrivals);
        let mut start = Time::ZERO;
        for incast in 0_u64.. {
            // 1 - unit is in (0, 1], so the logarithm is finite.
            start += Duration((-libm::log(1.0 - gaps.unit()) * mean_gap) as u64);
            if start.0 >= self.duration.0 {
                if incast == 0 {
                    return Err(self.none(mean_gap));
                }
                break;
            }
            let (receiver, senders) = self.ends(seed, incast);
            for sender in senders {
                let qp = builder.add_qp(HostId(sender), HostId(receiver));
                builder.add_message(qp, self.spec.bytes.0, Start::At(start));
            }
        }
        Ok(())
    }

    /// The receiver of an incast, and its senders in order.
    fn ends(&self, seed: u64, incast: u64) -> (u32, Vec<u32>) {
        let mut random = stream(seed, incast, Purpose::IncastHosts);
        let receiver = random.below(self.hosts);
        let mut others: Vec<u32> = (0..self.hosts).filter(|host| *host != receiver).collect();
        // The first steps of a shuffle draw the senders.
        for place in 0..self.spec.degree {
            let from = place + random.below(self.hosts - 1 - place);
            others.swap(place as usize, from as usize);
        }
        others.truncate(self.spec.degree as usize);
        others.sort_unstable();
        (receiver, others)
    }

    fn none(&self, mean_gap_ps: f64) -> WorkloadError {
        let what = Problem::with_text(
            format!(
                "no incast starts in {}: one starts every {:.1} us on average",
                self.duration,
                mean_gap_ps / 1e6
            ),
            "a longer duration",
        );
        WorkloadError::key("duration", what)
    }
}
