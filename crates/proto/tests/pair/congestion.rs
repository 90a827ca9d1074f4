//! Congestion controls with random parameters.

use crate::pair::schedule::{PACKET, us, window};
use anabranch_base::{Bytes, Duration, Rate};
use anabranch_proto::cc::ConstantConfig;
use anabranch_proto::cc::{
    AlphaDecay, CcConfig, DcqcnConfig, DctcpConfig, Increases, OnNack, StrackCcConfig,
};
use anabranch_proto::{Pace, PathFacts, Size, Span};
use proptest::prelude::*;

pub fn constant() -> impl Strategy<Value = CcConfig> {
    window().prop_map(|window| CcConfig::Constant(ConstantConfig { window: bytes(window) }))
}

pub fn dctcp() -> impl Strategy<Value = CcConfig> {
    window().prop_map(|window| {
        CcConfig::Dctcp(DctcpConfig {
            initial_window: bytes(window),
            max_window: bytes(window),
            decrease: 0.25,
            loss_decrease: 1.0,
        })
    })
}

/// DCQCN with its paper's parameters, or with timers that are short enough for a short run.
pub fn dcqcn() -> impl Strategy<Value = CcConfig> {
    let paper = window().prop_map(paper_dcqcn);
    let timers = (us(1..60), us(1..60), us(0..60), prop_oneof![Just(0), 1_000u64..100_000]);
    let other = (window(), timers, 0u32..6, 100u64..10_000, 0.001..0.5).prop_map(
        |(window, (alpha, increase, decrease, byte_counter), fast_recovery, min_mbps, g)| DcqcnConfig {
            g,
            alpha_timer: Span::Time(alpha),
            increase_timer: Span::Time(increase),
            byte_counter: Bytes(byte_counter),
            fast_recovery,
            min_rate: Pace::Rate(Rate(min_mbps * 1_000_000)),
            decrease_interval: Span::Time(decrease),
            ..paper_dcqcn(window)
        },
    );
    prop_oneof![paper, other].prop_map(CcConfig::Dcqcn)
}

/// STrack with random windows. The other parameters are those of its paper (Table 1).
pub fn strack() -> impl Strategy<Value = CcConfig> {
    (window(), 1u32..=100).prop_map(|(max_window, percent)| {
        CcConfig::Strack(StrackCcConfig {
            initial_window: bytes((max_window * u64::from(percent) / 100).max(1)),
            max_window: bytes(max_window),
            target_qdelay: Span::Rtt(1.0),
            target_qhigh: Span::Rtt(3.0),
            ewma: 0.125,
            beta: 5.0,
            eta: 0.15,
            alpha: 4.0,
            gamma: 0.8,
            max_decrease: 0.5,
        })
    })
}

/// The time of a packet at the lowest rate of a congestion control, or 0 if it has no lowest rate.
pub fn slowest_packet(cc: &CcConfig, facts: &PathFacts) -> Duration {
    match cc {
        CcConfig::Dcqcn(config) => config.min_rate.on(facts).min(facts.line_rate).time_for(PACKET),
        _ => Duration::ZERO,
    }
}

/// The parameters that the DCQCN paper recommends (section 5.2), and a window of `window` bytes. The paper specifies
/// neither the hyper increase nor the lowest rate.
fn paper_dcqcn(window: u64) -> DcqcnConfig {
    DcqcnConfig {
        g: 1.0 / 256.0,
        initial_alpha: 1.0,
        alpha_timer: Span::Time(Duration::from_us(55)),
        increase_timer: Span::Time(Duration::from_us(55)),
        byte_counter: Bytes(10_000_000),
        fast_recovery: 5,
        rate_ai: Pace::Rate(Rate(40_000_000)),
        rate_hai: Pace::Rate(Rate(400_000_000)),
        min_rate: Pace::Rate(Rate(100_000_000)),
        decrease_interval: Span::Time(Duration::ZERO),
        window: bytes(window),
        on_nack: OnNack::SlowStart,
        alpha_decay: AlphaDecay::Timer,
        increases: Increases::Dcqcn,
    }
}

fn bytes(bytes: u64) -> Size {
    Size::Bytes(Bytes(bytes))
}
