//! Random streams. Each entity and purpose has its own stream, so that an additional draw in one place changes no
//! draw elsewhere.

use rand_core::Rng;
use rand_pcg::Pcg32;

/// The purpose of a random stream. The numbers affect the results, so a number must not be reused or changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// The choices of a queue pair's load balancer.
    LoadBalancer = 1,
    /// ECN marking between Kmin and Kmax at a port.
    EcnMarking = 2,
    /// Losses and bit errors on a link, and the deliberate losses of a live transfer.
    LinkLoss = 3,
    /// The ECMP salt of a switch, and the base paths of Themis-spraying.
    EcmpSalt = 4,
    /// The pairs of sender and receiver in a workload, the random placement of jobs, and the seeds of further traffic
    /// classes.
    WorkloadPairs = 5,
    /// The start times of messages, and of the ranks of a collective.
    WorkloadArrivals = 6,
    /// The sizes of messages.
    WorkloadSizes = 7,
    /// The links or switches that a selector draws for a fault, a measure or a capture.
    FaultSelection = 8,
    /// An abstract model without packets, such as balls into bins.
    Model = 9,
    /// A switch's choices among equal-cost ports.
    PortChoice = 10,
    /// The draws of a program in a switch, and the selection of the switches that run a program.
    Program = 11,
    /// The start times of incasts beside background traffic.
    IncastArrivals = 12,
    /// The receiver and senders of an incast beside background traffic.
    IncastHosts = 13,
    /// The start time of the first micro-batch of a stage, in a pipeline beside background traffic.
    PipelinePhases = 14,
    /// A user-defined congestion control.
    CongestionControl = 15,
    /// A user-defined transport, with one stream for each end of a queue pair, and the receivers of the transport
    /// `mrc`.
    Transport = 16,
    /// A user-defined workload or another user-defined component.
    Registered = 17,
    /// The sample of a campaign's runs that are simulated.
    Sample = 18,
    /// The packet that a full queue drops or trims.
    FullQueue = 19,
    /// The order in which a node handles packets that arrive at the same time.
    ArrivalOrder = 20,
    /// The delay of the first packet after a NIC was idle.
    NicJitter = 21,
    /// The phase of a host's timer ticks.
    TimerTicks = 22,
    /// The random delay of a timeout.
    TimerJitter = 23,
    /// The frequency error of a device's clock.
    Clock = 24,
    /// The times at which a cable or a switch with a failure rate fails.
    FaultTimes = 25,
    /// The lengths of the periods after which a host adapts the rate of its pulls.
    PullPeriods = 26,
}

/// A random stream with a stable definition (PCG-XSH-RR 64/32, seeded through SplitMix64).
#[derive(Clone, Debug)]
pub struct Stream(Pcg32);

/// The random stream of `entity` for `purpose` in a run with this `seed`.
pub fn stream(seed: u64, entity: u64, purpose: Purpose) -> Stream {
    let a = split_mix(seed ^ split_mix(entity ^ split_mix(purpose as u64)));
    Stream(Pcg32::new(a, split_mix(a)))
}

/// 64 uniform bits for `entity` and `purpose` in a run with this `seed`, at a position such as a time.
///
/// Unlike the next draw of a stream, the bits depend on the arguments alone, not on the number or order of calls.
#[inline]
pub fn draw_at(seed: u64, entity: u64, purpose: Purpose, position: u64) -> u64 {
    split_mix(position ^ split_mix(seed ^ split_mix(entity ^ split_mix(purpose as u64))))
}

/// Maps 64 uniform bits to a uniform integer in `0..=most`.
#[inline]
pub fn scaled(bits: u64, most: u64) -> u64 {
    ((u128::from(bits) * (u128::from(most) + 1)) >> 64) as u64
}

/// One step of SplitMix64, which spreads small integers over 64 bits.
#[inline]
fn split_mix(x: u64) -> u64 {
    let mut z = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Stream {
    /// 32 uniform bits.
    #[inline]
    pub fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// 64 uniform bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A uniform integer in `0..bound` by the multiply-shift method (bias below `bound / 2^32`).
    ///
    /// # Panics
    /// The bound is 0.
    #[inline]
    pub fn below(&mut self, bound: u32) -> u32 {
        assert!(bound > 0, "a draw from an empty range");
        ((u64::from(self.next_u32()) * u64::from(bound)) >> 32) as u32
    }

    /// A uniform integer in `0..=most` by the multiply-shift method (bias at most `most / 2^64`).
    #[inline]
    pub fn up_to(&mut self, most: u64) -> u64 {
        scaled(self.next_u64(), most)
    }

    /// A uniform number in [0, 1) with 53 bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Shuffles `items` uniformly (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u32 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_have_a_stable_definition() {
        let mut s = stream(1, 2, Purpose::LoadBalancer);
        let drawn: Vec<u32> = (0..4).map(|_| s.next_u32()).collect();
        assert_eq!(drawn, STABLE, "a changed generator changes every published result");
    }

    const STABLE: [u32; 4] = [2_206_116_659, 2_610_398_442, 353_272_049, 3_306_643_398];

    #[test]
    fn entities_and_purposes_do_not_share_draws() {
        let first = |e, p| stream(7, e, p).next_u64();
        assert_ne!(first(1, Purpose::EcnMarking), first(2, Purpose::EcnMarking));
        assert_ne!(first(1, Purpose::EcnMarking), first(1, Purpose::LinkLoss));
    }

    #[test]
    fn first_draws_are_uniform() {
        let first = |seed, entity| stream(seed, entity, Purpose::Clock).up_to(9);
        let at = |seed, position| scaled(draw_at(seed, 5, Purpose::TimerJitter, position), 9);
        for draw in [&first as &dyn Fn(u64, u64) -> u64, &at] {
            let mut counts = [0_u32; 10];
            for seed in 0..200 {
                (0..200).for_each(|entity| counts[draw(seed, entity) as usize] += 1);
            }
            // The limit of 300 is five standard deviations of a count with mean 4,000, a tenth of 40,000 draws.
            assert!(counts.iter().all(|count| count.abs_diff(4_000) < 300), "{counts:?}");
        }
        let mut s = stream(1, 1, Purpose::Model);
        assert!((0..1_000).all(|_| s.up_to(0) == 0 && s.up_to(u64::MAX - 1) < u64::MAX));
    }

    #[test]
    fn below_is_close_to_uniform() {
        let mut s = stream(3, 0, Purpose::Model);
        let mut counts = [0u32; 8];
        for _ in 0..80_000 {
            counts[s.below(8) as usize] += 1;
        }
        assert!(counts.iter().all(|&c| (9_500..10_500).contains(&c)), "{counts:?}");
    }
}
