//! Whether the numbers of a scheme make sense.

use super::schemes::ParameterFault;
use super::{FabricSpec, PfcSpec, Scheme};
use anabranch_base::{Bytes, Duration};
use anabranch_proto::{CcConfig, LbConfig, Pace, Size, Span, TransportConfig};

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
    }
    fabric(&scheme.fabric)
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
            let above = match cc.min_rate {
                Pace::Rate(rate) => rate.0 > 0,
                Pace::Line(share) => share > 0.0,
            };
            above_zero("cc.min_rate", above, "\"100Mbps\"")?;
            size("cc.window", cc.window, "\"1000bdp\"")
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
        CcConfig::Constant { window } => size("cc.window", *window, "\"1bdp\""),
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
    ParameterFault {
        path: "transport.probe_rtt".to_owned(),
        message: "transport.probe_rtt is above transport.probe_after, so no probe could tell of a loss"
            .to_owned(),
        instead: format!("\"{after}\""),
    }
}

fn fabric(fabric: &FabricSpec) -> Result<(), ParameterFault> {
    match (fabric.queue, &fabric.pfc) {
        (Some(queue), None) => size("fabric.queue", queue, "\"1bdp\"")?,
        (None, Some(pfc)) => lossless(pfc, fabric.trim)?,
        (Some(_), Some(_)) => {
            return Err(ParameterFault {
                path: "fabric.queue".to_owned(),
                message: "fabric.queue and fabric.pfc exclude each other: a port drops what does not fit, or pauses"
                    .to_owned(),
                instead: "either queue or pfc: a [[scheme]] in full, or one whose base has what you want".to_owned(),
            });
        }
        (None, None) => {
            return Err(ParameterFault {
                path: "fabric".to_owned(),
                message: "fabric needs queue, or pfc for a lossless class".to_owned(),
                instead: "queue = \"1bdp\"".to_owned(),
            });
        }
    }
    size("fabric.control_queue", fabric.control_queue, "\"1bdp\"")?;
    number("fabric.ecn_pmax", fabric.ecn_pmax, 0.0, 1.0, "1.0")?;
    let above = match (fabric.ecn_kmin, fabric.ecn_kmax) {
        (Size::Bytes(kmin), Size::Bytes(kmax)) => kmin > kmax,
        (Size::Packets(kmin), Size::Packets(kmax)) | (Size::Bdp(kmin), Size::Bdp(kmax)) => kmin > kmax,
        // They cannot be compared before the fabric is known; a queue between them then marks always.
        _ => false,
    };
    if above {
        let (kmin, kmax) = (fabric.ecn_kmin, fabric.ecn_kmax);
        return Err(ParameterFault {
            path: "fabric.ecn_kmin".to_owned(),
            message: format!("fabric.ecn_kmin ({kmin}) is above fabric.ecn_kmax ({kmax})"),
            instead: format!("\"{kmax}\""),
        });
    }
    Ok(())
}

/// The fault of both thresholds or none.
pub(super) fn thresholds(how: &str) -> ParameterFault {
    ParameterFault {
        path: "fabric.pfc.alpha".to_owned(),
        message: format!("fabric.pfc.alpha (dynamic threshold) and fabric.pfc.threshold (static) {how}"),
        instead: "either alpha = 0.125 or threshold = \"1bdp\"".to_owned(),
    }
}

fn lossless(pfc: &PfcSpec, trim: bool) -> Result<(), ParameterFault> {
    above_zero("fabric.pfc.buffer", pfc.buffer > Bytes(0), "\"256MB\"")?;
    if let Some(rate) = pfc.buffer_rate {
        above_zero("fabric.pfc.buffer_rate", rate.0 > 0, "\"51.2Tbps\"")?;
    }
    match (pfc.alpha, pfc.threshold) {
        (Some(alpha), None) => number("fabric.pfc.alpha", alpha, 1.0 / 65_536.0, 65_536.0, "0.125")?,
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
        return Err(ParameterFault {
            path: "fabric.trim".to_owned(),
            message: "a lossless class has nothing to trim".to_owned(),
            instead: "false".to_owned(),
        });
    }
    Ok(())
}

fn whole(path: &str, value: u64, least: u64, most: u64) -> Result<(), ParameterFault> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    let size = matches!(path, "transport.payload" | "transport.header" | "transport.ack");
    let instead = value.clamp(least, most);
    Err(ParameterFault {
        path: path.to_owned(),
        message: format!("{path} must be {least} to {most}{}, not {value}", if size { " bytes" } else { "" }),
        instead: if size { format!("\"{instead}B\"") } else { instead.to_string() },
    })
}

fn number(path: &str, value: f64, least: f64, most: f64, example: &str) -> Result<(), ParameterFault> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    let range = if most == f64::MAX { format!("{least} or more") } else { format!("{least} to {most}") };
    let message = format!("{path} must be {range}, not {value}");
    Err(ParameterFault { path: path.to_owned(), message, instead: example.to_owned() })
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
        Span::Rtt(n) => n > 0.0,
    };
    above_zero(path, above, example)
}

/// A timer whose expiries are stepped through one by one.
fn timer(path: &str, span: Span) -> Result<(), ParameterFault> {
    let least = Duration::from_ns(100);
    match span {
        Span::Time(time) if time < least => Err(ParameterFault {
            path: path.to_owned(),
            message: format!("{path} must be at least {least}, not {time}"),
            instead: "\"55us\"".to_owned(),
        }),
        _ => self::span(path, span, "\"55us\""),
    }
}

fn above_zero(path: &str, above: bool, example: &str) -> Result<(), ParameterFault> {
    if above {
        return Ok(());
    }
    let message = format!("{path} must be above 0");
    Err(ParameterFault { path: path.to_owned(), message, instead: example.to_owned() })
}
