//! Whether the numbers of a scheme make sense.

use super::schemes::ParameterFault;
use super::{EcnStep, FabricSpec, PfcSpec, Scheme, WrrSpec};
use anabranch_base::{Bytes, Duration};
use anabranch_proto::cc::BaseRtt;
use anabranch_proto::program::{ThemisLonghaulConfig, ThemisSprayingConfig};
use anabranch_proto::{CcConfig, LbConfig, Pace, ProgramConfig, Size, Span, Threshold, TransportConfig};

/// Checks the numbers of a scheme.
pub(super) fn validate(scheme: &Scheme) -> Result<(), ParameterFault> {
    whole("qps", u64::from(scheme.qps), 1, 64)?;
    transport(&scheme.transport)?;
    congestion_control(&scheme.cc)?;
    match &scheme.lb {
        LbConfig::Ecmp {} => {}
        LbConfig::Ops { evs } => whole("lb.evs", u64::from(*evs), 1, 65_536)?,
        LbConfig::Reps(reps) => {
            whole("lb.evs", u64::from(reps.evs), 1, 65_536)?;
            whole("lb.buffer", u64::from(reps.buffer), 1, 32)?;
            whole("lb.explore_packets", u64::from(reps.explore_packets), 0, 255)?;
            span("lb.freezing_timeout", reps.freezing_timeout, "\"10ms\"")?;
            number("lb.failure_rtt", reps.failure_rtt, 0.0, f64::MAX, "1.65")?;
        }
        LbConfig::Strack(strack) => {
            whole("lb.max_paths", u64::from(strack.max_paths), 1, 256)?;
            whole("lb.min_paths", u64::from(strack.min_paths), 1, u64::from(strack.max_paths))?;
        }
        LbConfig::MpRdma(lb) => {
            whole("lb.paths", u64::from(lb.paths), 1, 65_536)?;
            number("lb.probe", lb.probe, 0.0, 1.0, "0.01")?;
            span("lb.probe_interval", lb.probe_interval, "\"1rtt\"")?;
        }
        // What its numbers may be, its declaration says.
        LbConfig::Registered(_) => {}
    }
    paced(scheme)?;
    telemetry(scheme)?;
    fabric(&scheme.fabric)?;
    match (&scheme.fabric.program, &scheme.fabric.program_at) {
        (Some(config), _) => program(config, scheme),
        (None, Some(at)) => Err(ParameterFault::words(
            "fabric.program_at",
            format!("fabric.program_at is {at:?}, but there is no fabric.program to be there"),
            "fabric.program beside it, or no program_at",
        )),
        (None, None) => Ok(()),
    }
}

/// MP-RDMA's sender knows windows alone.
fn paced(scheme: &Scheme) -> Result<(), ParameterFault> {
    if !matches!((&scheme.transport, &scheme.cc), (TransportConfig::MpRdma(_), CcConfig::Dcqcn(_))) {
        return Ok(());
    }
    let message = "cc.kind = \"dcqcn\" gives a rate, and transport.kind = \"mp-rdma\" sends what ACKs let go";
    let instead = "{ kind = \"mp-rdma\", initial_window = \"1bdp\", max_window = \"2bdp\" }";
    Err(ParameterFault::value("cc", message.to_owned(), instead))
}

/// Telemetry comes back with the ACKs of one transport.
fn telemetry(scheme: &Scheme) -> Result<(), ParameterFault> {
    if !scheme.cc.wants_telemetry() {
        return Ok(());
    }
    let kind = match &scheme.cc {
        CcConfig::Registered(registered) => registered.its.name(),
        _ => "hpcc",
    };
    if !matches!(scheme.transport, TransportConfig::GoBackN(_) | TransportConfig::Registered(_)) {
        return Err(ParameterFault::words(
            "cc",
            format!(
                "cc.kind = {kind:?} learns from the telemetry that ACKs bring, which only transport.kind = \
                 \"go-back-n\" hands to it"
            ),
            "cc for a scheme with that transport: hpcc, rocev2, pfc-ecmp, pfc-ecmp-dcqcn",
        ));
    }
    Ok(())
}

fn program(program: &ProgramConfig, scheme: &Scheme) -> Result<(), ParameterFault> {
    match program {
        ProgramConfig::ThemisSpraying(config) => themis_spraying(config, scheme),
        ProgramConfig::Conweave(config) => {
            span("fabric.program.reply_extra", config.reply_extra, "\"4us\"")?;
            span("fabric.program.path_pause", config.path_pause, "\"16us\"")?;
            span("fabric.program.flush_extra", config.flush_extra, "\"16us\"")?;
            span("fabric.program.default_wait", config.default_wait, "\"200us\"")?;
            span("fabric.program.expiry", config.expiry, "\"300us\"")
        }
        ProgramConfig::ThemisLonghaul(config) => themis_longhaul(config),
        // No time between CNPs is one for each mark.
        ProgramConfig::Annulus(_) => Ok(()),
        ProgramConfig::Bicc(config) => {
            size("fabric.program.window", config.window, "\"100KB\"")?;
            span("fabric.program.release", config.release, "\"20ms\"")
        }
        ProgramConfig::Flowlet { gap } => span("fabric.program.gap", *gap, "\"100us\""),
        ProgramConfig::NackDrop { share } => number("fabric.program.share", *share, 0.0, 1.0, "0.5"),
        ProgramConfig::Registered(_) => Ok(()),
    }
}

fn themis_spraying(config: &ThemisSprayingConfig, scheme: &Scheme) -> Result<(), ParameterFault> {
    let most = u64::from(u32::MAX);
    whole("fabric.program.paths", u64::from(config.paths), 1, 65_536)?;
    whole("fabric.program.window", u64::from(config.window), 1, 65_536)?;
    whole("fabric.program.ooo_threshold", u64::from(config.ooo_threshold), 1, most)?;
    whole("fabric.program.avoidance_window", u64::from(config.avoidance_window), 1, most)?;
    let TransportConfig::RnicSr(nic) = &scheme.transport else {
        return Err(ParameterFault::words(
            "fabric.program",
            "the fabric.program themis-spraying needs transport.kind = \"rnic-sr\": its bitmap covers a window \
             in packets, which no other transport keeps, and it answers to its NACKs"
                .to_owned(),
            "fabric.program for a scheme with that transport: themis-spraying, sr-ar, sr-ecmp, sr-spray, conweave",
        ));
    };
    if nic.window_packets > config.window {
        let message = format!(
            "fabric.program.window is {}, and the transport's window (transport.window_packets) of {} packets is \
             larger than what such a bitmap covers",
            config.window, nic.window_packets
        );
        return Err(ParameterFault::value("fabric.program.window", message, nic.window_packets.to_string()));
    }
    if scheme.lb != (LbConfig::Ecmp {}) {
        let message =
            "the fabric.program themis-spraying names a packet's path by its PSN, so that lb.kind must be \
                       \"ecmp\", which leaves the entropy value alone"
                .to_owned();
        return Err(ParameterFault::value("lb", message, "{ kind = \"ecmp\" }"));
    }
    Ok(())
}

fn themis_longhaul(config: &ThemisLonghaulConfig) -> Result<(), ParameterFault> {
    let most = u64::from(u32::MAX);
    if let Some(pnp) = &config.pnp {
        // Its times may be 0.
        whole("fabric.program.pnp.entries", u64::from(pnp.entries), 1, most)?;
    }
    if let Some(trp) = &config.trp {
        whole("fabric.program.trp.alpha", u64::from(trp.alpha), 1, most)?;
        span("fabric.program.trp.beta", trp.beta, "\"500us\"")?;
        whole("fabric.program.trp.cache_slots", u64::from(trp.cache_slots), 1, 1 << 24)?;
        whole("fabric.program.trp.store_entries", u64::from(trp.store_entries), 1, 1 << 24)?;
        above_zero("fabric.program.trp.rate", trp.rate.0 > 0, "\"1600Gbps\"")?;
        above_zero("fabric.program.trp.dummy_bytes", trp.dummy_bytes > Bytes(0), "\"64B\"")?;
        if !trp.cache && !trp.store {
            let message = "fabric.program.trp: without cache and store no flow is known".to_owned();
            return Err(ParameterFault::value("fabric.program.trp.cache", message, "true"));
        }
    }
    if config.pnp.is_none() && config.trp.is_none() {
        let message =
            "the fabric.program themis-longhaul has neither pnp nor trp, so it does nothing".to_owned();
        return Err(ParameterFault::words("fabric.program", message, "one of its tables or both"));
    }
    Ok(())
}

fn congestion_control(cc: &CcConfig) -> Result<(), ParameterFault> {
    match cc {
        CcConfig::Dctcp(cc) => {
            size("cc.initial_window", cc.initial_window, "\"1.5bdp\"")?;
            size("cc.max_window", cc.max_window, "\"1.5bdp\"")?;
            number("cc.decrease", cc.decrease, 0.0, 1.0, "0.25")?;
            number("cc.loss_decrease", cc.loss_decrease, 0.0, f64::MAX, "1.0")
        }
        CcConfig::Dcqcn(cc) => {
            number("cc.g", cc.g, 0.0, 1.0, "0.00390625")?;
            number("cc.initial_alpha", cc.initial_alpha, 0.0, 1.0, "1.0")?;
            timer("cc.alpha_timer", cc.alpha_timer)?;
            timer("cc.increase_timer", cc.increase_timer)?;
            whole("cc.fast_recovery", u64::from(cc.fast_recovery), 1, 1_000_000)?;
            above_zero("cc.min_rate", positive(cc.min_rate), "\"100Mbps\"")?;
            above_zero("cc.rate_ai", positive(cc.rate_ai), "\"0.05line\"")?;
            above_zero("cc.rate_hai", positive(cc.rate_hai), "\"0.1line\"")?;
            size("cc.window", cc.window, "\"1000bdp\"")
        }
        CcConfig::Hpcc(cc) => {
            number("cc.eta", cc.eta, 0.01, 1.0, "0.95")?;
            above_zero("cc.rate_ai", positive(cc.rate_ai), "\"0.0004line\"")?;
            match cc.base_rtt {
                BaseRtt::Path => Ok(()),
                BaseRtt::Fabric(rtt) => span("cc.base_rtt", rtt, "\"path\""),
            }
        }
        CcConfig::Strack(cc) => {
            size("cc.initial_window", cc.initial_window, "\"1bdp\"")?;
            size("cc.max_window", cc.max_window, "\"1bdp\"")?;
            span("cc.target_qdelay", cc.target_qdelay, "\"1rtt\"")?;
            span("cc.target_qhigh", cc.target_qhigh, "\"3rtt\"")?;
            number("cc.ewma", cc.ewma, 0.0, 1.0, "0.125")?;
            number("cc.beta", cc.beta, 0.0, f64::MAX, "5.0")?;
            number("cc.eta", cc.eta, 0.0, f64::MAX, "0.15")?;
            number("cc.alpha", cc.alpha, 0.0, f64::MAX, "4.0")?;
            number("cc.gamma", cc.gamma, 0.0, 1.0, "0.8")?;
            number("cc.max_decrease", cc.max_decrease, 0.0, 1.0, "0.5")
        }
        CcConfig::MpRdma(cc) => {
            size("cc.initial_window", cc.initial_window, "\"1bdp\"")?;
            size("cc.max_window", cc.max_window, "\"1.5bdp\"")
        }
        CcConfig::Constant { window } => size("cc.window", *window, "\"1bdp\""),
        CcConfig::Registered(_) => Ok(()),
    }
}

fn transport(transport: &TransportConfig) -> Result<(), ParameterFault> {
    let framing = transport.framing();
    whole("transport.payload", framing.payload.0, 1, 65_535)?;
    // A packet's size on the wire must fit 16 bits.
    whole("transport.header", framing.header.0, 1, 65_535 - framing.payload.0.min(65_534))?;
    whole("transport.ack", framing.ack.0, 1, 65_535)?;
    span("transport.rto", transport.rto(), "\"70us\"")?;
    match transport {
        TransportConfig::Sack(sack) => whole("transport.ack_every", u64::from(sack.ack_every), 1, 65_535),
        TransportConfig::GoBackN(gbn) => {
            whole("transport.ack_every", u64::from(gbn.ack_every), 1, 65_535)?;
            span("transport.nack_interval", gbn.nack_interval, "\"500us\"")
        }
        TransportConfig::RnicSr(nic) => {
            whole("transport.ack_every", u64::from(nic.ack_every), 1, 65_535)?;
            whole("transport.window_packets", u64::from(nic.window_packets), 1, 65_535)
        }
        TransportConfig::Irn(irn) => {
            whole("transport.ack_every", u64::from(irn.ack_every), 1, 65_535)?;
            size("transport.window", irn.window, "\"1bdp\"")?;
            span("transport.rto_low", irn.rto_low, "\"100us\"")
        }
        TransportConfig::Dcp(dcp) => {
            whole("transport.counter_bits", u64::from(dcp.counter_bits), 1, 31)?;
            whole("transport.tracked_messages", u64::from(dcp.tracked_messages), 1, 65_535)?;
            whole("transport.batch", u64::from(dcp.batch), 1, 65_535)?;
            above_zero("transport.round_quota", dcp.round_quota > Bytes(0), "\"16KB\"")
        }
        TransportConfig::RackTlp(rack) => {
            whole("transport.ack_every", u64::from(rack.ack_every), 1, 65_535)?;
            size("transport.window", rack.window, "\"1bdp\"")
        }
        TransportConfig::MpRdma(mp_rdma) => {
            whole("transport.delta", u64::from(mp_rdma.delta), 1, 65_535)?;
            whole("transport.bitmap", u64::from(mp_rdma.bitmap), 1, 65_535)?;
            span("transport.restart_after", mp_rdma.restart_after, "\"3rtt\"")
        }
        TransportConfig::Registered(_) => Ok(()),
        TransportConfig::Strack(strack) => {
            above_zero("transport.sack_bytes", strack.sack_bytes > Bytes(0), "\"16KB\"")?;
            whole("transport.min_threshold", u64::from(strack.min_threshold), 1, 4_095)?;
            span("transport.probe_after", strack.probe_after, "\"3rtt\"")?;
            span("transport.probe_rtt", strack.probe_rtt, "\"3rtt\"")?;
            match (strack.probe_rtt, strack.probe_after) {
                (Span::Rtt(rtt), Span::Rtt(after)) if rtt > after => Err(late_probe(strack.probe_after)),
                (Span::Time(rtt), Span::Time(after)) if rtt > after => Err(late_probe(strack.probe_after)),
                _ => Ok(()),
            }
        }
    }
}

/// The next probe would go out before the answer that tells of a loss, and take its place.
fn late_probe(after: Span) -> ParameterFault {
    let message = "transport.probe_rtt is above transport.probe_after, so no probe could tell of a loss";
    ParameterFault::value("transport.probe_rtt", message.to_owned(), format!("\"{after}\""))
}

/// The fault of a queue that drops in a lossless class.
pub(super) fn queue_and_pfc() -> ParameterFault {
    ParameterFault::words(
        "fabric.queue",
        "fabric.queue and fabric.pfc exclude each other: a port drops what does not fit, or pauses"
            .to_owned(),
        "either queue or pfc",
    )
}

fn fabric(fabric: &FabricSpec) -> Result<(), ParameterFault> {
    match (fabric.queue, &fabric.pfc) {
        (Some(queue), None) => size("fabric.queue", queue, "\"1bdp\"")?,
        (None, Some(pfc)) => lossless(pfc, fabric.trim)?,
        (Some(_), Some(_)) => return Err(queue_and_pfc()),
        (None, None) => {
            let message = "fabric needs queue, or pfc for a lossless class".to_owned();
            return Err(ParameterFault::words("fabric", message, "queue = \"1bdp\" in fabric"));
        }
    }
    size("fabric.control_queue", fabric.control_queue, "\"1bdp\"")?;
    if let Some(wrr) = &fabric.wrr {
        control_weight(wrr)?;
    }
    if fabric.acks_with_data && fabric.pfc.is_some() {
        let message = "fabric.acks_with_data: a lossless class (fabric.pfc) counts data alone".to_owned();
        return Err(ParameterFault::value("fabric.acks_with_data", message, "false"));
    }
    number("fabric.ecn_pmax", fabric.ecn_pmax, 0.0, 1.0, "1.0")?;
    shares_of_the_queue(fabric)?;
    let (kmin, kmax) = (fabric.ecn_kmin, fabric.ecn_kmax);
    if is_above(kmin, kmax) {
        let message = format!("fabric.ecn_kmin ({kmin}) is above fabric.ecn_kmax ({kmax})");
        return Err(ParameterFault::value("fabric.ecn_kmin", message, format!("\"{kmax}\"")));
    }
    ecn_steps(&fabric.ecn_from)
}

const ECN_FROM_EXAMPLE: &str = "[{ rate = \"400Gbps\", kmin = \"800KB\", kmax = \"6400KB\" }]";

fn ecn_steps(steps: &[EcnStep]) -> Result<(), ParameterFault> {
    let wrong = |message: String| {
        let message = format!("fabric.ecn_from: {message}");
        Err(ParameterFault::value("fabric.ecn_from", message, ECN_FROM_EXAMPLE))
    };
    for EcnStep { rate, kmin, kmax } in steps {
        if is_above(*kmin, *kmax) {
            return wrong(format!("at {rate}, kmin ({kmin}) is above kmax ({kmax})"));
        }
    }
    match steps.windows(2).find(|pair| pair[0].rate >= pair[1].rate) {
        Some(pair) => {
            wrong(format!("rates must rise from step to step, and {} follows {}", pair[1].rate, pair[0].rate))
        }
        None => Ok(()),
    }
}

/// Whether one size is above another. Those of different units cannot be compared before the fabric is known; a queue
/// between such thresholds then marks always.
fn is_above(one: Threshold, other: Threshold) -> bool {
    use Threshold::{Queue, Size as Of};
    match (one, other) {
        (Of(Size::Bytes(one)), Of(Size::Bytes(other))) => one > other,
        (Of(Size::Packets(one)), Of(Size::Packets(other)))
        | (Of(Size::Bdp(one)), Of(Size::Bdp(other)))
        | (Queue(one), Queue(other)) => one > other,
        _ => false,
    }
}

/// Refuses shares of a queue that a lossless class does not have.
fn shares_of_the_queue(fabric: &FabricSpec) -> Result<(), ParameterFault> {
    if fabric.queue.is_some() {
        return Ok(());
    }
    let own = [
        ("fabric.ecn_kmin", fabric.ecn_kmin, "\"0.2bdp\""),
        ("fabric.ecn_kmax", fabric.ecn_kmax, "\"0.8bdp\""),
    ];
    let share = own.into_iter().find(|(_, at, _)| matches!(at, Threshold::Queue(_)));
    if let Some((path, threshold, instead)) = share {
        let message = format!(
            "{path} ({threshold}) is a share of fabric.queue, which there is not: fabric.pfc shares a buffer"
        );
        return Err(ParameterFault::value(path, message, instead));
    }
    let steps = fabric.ecn_from.iter().flat_map(|step| [step.kmin, step.kmax]);
    match steps.into_iter().find(|at| matches!(at, Threshold::Queue(_))) {
        Some(threshold) => {
            let message = format!(
                "fabric.ecn_from: {threshold} is a share of fabric.queue, which there is not: fabric.pfc shares a buffer"
            );
            Err(ParameterFault::value("fabric.ecn_from", message, ECN_FROM_EXAMPLE))
        }
        None => Ok(()),
    }
}

fn control_weight(wrr: &WrrSpec) -> Result<(), ParameterFault> {
    if wrr.radix.is_some() && wrr.weight.is_some() {
        let message =
            "fabric.wrr.radix and fabric.wrr.weight exclude each other: the weight is computed or given";
        return Err(ParameterFault::value("fabric.wrr", message.to_owned(), "{ radix = 16 }"));
    }
    if let Some(radix) = wrr.radix {
        whole("fabric.wrr.radix", radix.into(), 2, 65_536)?;
    }
    match wrr.weight {
        // It is kept in 2^-16ths.
        Some(weight) => number("fabric.wrr.weight", weight, 1.0 / 65_536.0, 65_535.0, "2.0"),
        None => Ok(()),
    }
}

/// The fault of both thresholds or none.
pub(super) fn thresholds(how: &str) -> ParameterFault {
    ParameterFault::words(
        "fabric.pfc.alpha",
        format!("fabric.pfc.alpha (dynamic threshold) and fabric.pfc.threshold (static) {how}"),
        "either alpha = 0.125 or threshold = \"1bdp\"",
    )
}

fn lossless(pfc: &PfcSpec, trim: bool) -> Result<(), ParameterFault> {
    above_zero("fabric.pfc.buffer", pfc.buffer > Bytes(0), "\"256MB\"")?;
    if let Some(rate) = pfc.buffer_rate {
        above_zero("fabric.pfc.buffer_rate", rate.0 > 0, "\"51.2Tbps\"")?;
    }
    match (pfc.alpha, pfc.threshold) {
        // It is kept in 2^-16ths.
        (Some(alpha), None) if !(1.0 / 65_536.0..=65_536.0).contains(&alpha) => {
            let least = if alpha > 0.0 && alpha < 1.0 { "1/65536 or more" } else { "above 0" };
            let message = format!("fabric.pfc.alpha must be {least} and at most 65536, not {alpha}");
            return Err(ParameterFault::value("fabric.pfc.alpha", message, "0.125"));
        }
        (Some(_), None) => {}
        (None, Some(threshold)) => size("fabric.pfc.threshold", threshold, "\"1bdp\"")?,
        (alpha, _) => {
            return Err(thresholds(if alpha.is_some() { "exclude each other" } else { "are both missing" }));
        }
    }
    size("fabric.pfc.resume", pfc.resume, "\"2packets\"")?;
    if let Some(headroom) = pfc.headroom {
        size("fabric.pfc.headroom", headroom, "\"120KB\"")?;
    }
    if trim {
        let message = "a lossless class has nothing to trim".to_owned();
        return Err(ParameterFault::value("fabric.trim", message, "false"));
    }
    Ok(())
}

fn whole(path: &str, value: u64, least: u64, most: u64) -> Result<(), ParameterFault> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    let size = matches!(path, "transport.payload" | "transport.header" | "transport.ack");
    let instead = value.clamp(least, most);
    let unit = if size { " bytes" } else { "" };
    let message = format!("{path} must be {least} to {most}{unit}, not {value}");
    let instead = if size { format!("\"{instead}B\"") } else { instead.to_string() };
    Err(ParameterFault::value(path, message, instead))
}

fn number(path: &str, value: f64, least: f64, most: f64, example: &str) -> Result<(), ParameterFault> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    let range = if most == f64::MAX { format!("{least} or more") } else { format!("{least} to {most}") };
    let message = format!("{path} must be {range}, not {value}");
    Err(ParameterFault::value(path, message, example))
}

fn size(path: &str, size: Size, example: &str) -> Result<(), ParameterFault> {
    let above = match size {
        Size::Bytes(bytes) => bytes.0 > 0,
        Size::Packets(n) | Size::Bdp(n) => n > 0.0,
    };
    above_zero(path, above, example)
}

fn span(path: &str, span: Span, example: &str) -> Result<(), ParameterFault> {
    let above = match span {
        Span::Time(time) => time > Duration::ZERO,
        Span::Rtt(n) | Span::RttAndBytes(n, _) => n > 0.0,
    };
    above_zero(path, above, example)
}

/// A timer whose expiries are stepped through one by one.
fn timer(path: &str, span: Span) -> Result<(), ParameterFault> {
    let least = Duration::from_ns(100);
    match span {
        Span::Time(time) if time < least => {
            let message = format!("{path} must be at least {least}, not {time}");
            Err(ParameterFault::value(path, message, "\"55us\""))
        }
        _ => self::span(path, span, "\"55us\""),
    }
}

fn positive(pace: Pace) -> bool {
    match pace {
        Pace::Rate(rate) => rate.0 > 0,
        Pace::Line(share) => share > 0.0,
    }
}

fn above_zero(path: &str, above: bool, example: &str) -> Result<(), ParameterFault> {
    if above {
        return Ok(());
    }
    let message = format!("{path} must be above 0");
    Err(ParameterFault::value(path, message, example))
}
