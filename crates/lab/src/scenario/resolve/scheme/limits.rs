//! Checks that the parameters of a scheme make sense together. The range of each single parameter is in its
//! declaration.

use crate::scenario::diagnostic::{ParameterFault, ParameterFix};
use anabranch_base::OutOfRange;
use anabranch_engine::{EcnStep, FabricSpec, FullQueue, PfcSpec, Scheme, WrrSpec};
use anabranch_proto::program::SchemeParts;
use anabranch_proto::transport::Inherits;
use anabranch_proto::{CcConfig, LbConfig, Threshold};

pub(in crate::scenario) fn validate(scheme: &Scheme) -> Result<(), ParameterFault> {
    scheme.check().map_err(out_of_range)?;
    let lbs = lbs(scheme);
    scheme.transport.check_together()?;
    lbs.iter().try_for_each(|(part, lb)| lb.check_together(part))?;
    paced(scheme)?;
    scheme.cc.check_together()?;
    telemetry(scheme)?;
    inherits(scheme)?;
    fabric(&scheme.fabric)?;
    match (&scheme.fabric.program, &scheme.fabric.program_at) {
        (Some(program), _) => {
            let parts = SchemeParts { transport: &scheme.transport, lbs: &lbs, trim: scheme.fabric.trim };
            Ok(program.check_beside(&parts)?)
        }
        (None, Some(at)) => Err(ParameterFault::words(
            "fabric.program_at",
            format!("fabric.program_at is {at:?}, but there is no fabric.program to be there"),
            "fabric.program beside it, or no program_at",
        )
        .involving(&["fabric.program"])),
        (None, None) => Ok(()),
    }
}

/// The load balancers in use, each with the path of its table.
fn lbs(scheme: &Scheme) -> Vec<(&'static str, &LbConfig)> {
    let mix = scheme.mix.as_ref().map(|mix| ("mix.lb", &mix.lb));
    std::iter::once(("lb", &scheme.lb)).chain(mix).collect()
}

fn out_of_range(OutOfRange { parameter, problem }: OutOfRange) -> ParameterFault {
    let message = format!("{parameter} {}", problem.message);
    match problem.fix {
        Some(instead) => ParameterFault::value(&parameter, message, instead.to_string()),
        None => ParameterFault::words(&parameter, message, "another value"),
    }
}

/// Rejects a congestion control that controls only a rate, if the transport has no pacer.
fn paced(scheme: &Scheme) -> Result<(), ParameterFault> {
    if scheme.transport.paces() || !scheme.cc.has_only_rate() {
        return Ok(());
    }
    let message = format!(
        "cc.kind = {:?} sets a rate, but transport.kind = {:?} is ACK-clocked and has no pacer",
        scheme.cc.kind().unwrap_or_default(),
        scheme.transport.kind().unwrap_or_default()
    );
    let instead = "{ kind = \"mp-rdma\", initial_window = \"1bdp\", max_window = \"2bdp\" }";
    Err(ParameterFault::value("cc", message, instead).involving(&["transport.kind"]))
}

/// Rejects a transport whose connections inherit a window, if the congestion control cannot start with such a window.
fn inherits(scheme: &Scheme) -> Result<(), ParameterFault> {
    if scheme.cc.resumes_window() || scheme.transport.inherits() == Inherits::Nothing {
        return Ok(());
    }
    let message = "transport.inherits is about a window that adapts, which of the congestion controls under \
                   transport.kind = \"sack\" only cc.kind = \"dctcp\" leaves to the next connection";
    let fault = ParameterFault::value("transport.inherits", message.to_owned(), "\"nothing\"");
    Err(fault.involving(&["transport.kind", "cc.kind"]))
}

fn telemetry(scheme: &Scheme) -> Result<(), ParameterFault> {
    if !scheme.cc.wants_telemetry() {
        return Ok(());
    }
    let kind = match &scheme.cc {
        CcConfig::Registered(cc) => cc.registered.name(),
        built_in => built_in.kind().unwrap_or_default(),
    };
    if !scheme.transport.forwards_telemetry() {
        return Err(ParameterFault::words(
            "cc",
            format!(
                "cc.kind = {kind:?} learns from the telemetry that ACKs bring, which only transport.kind = \
                 \"go-back-n\" hands to it"
            ),
            "cc for a scheme with that transport: hpcc, rocev2, pfc-ecmp, pfc-ecmp-dcqcn",
        )
        .involving(&["transport.kind"]));
    }
    Ok(())
}

pub(in crate::scenario) fn queue_and_pfc() -> ParameterFault {
    ParameterFault::words(
        "fabric.queue",
        "fabric.queue and fabric.pfc exclude each other: a switch either drops what does not fit, or uses PFC"
            .to_owned(),
        "either queue or pfc",
    )
    .involving(&["fabric.pfc"])
}

fn fabric(fabric: &FabricSpec) -> Result<(), ParameterFault> {
    match (fabric.queue, &fabric.pfc) {
        (Some(_), None) => {}
        (None, Some(pfc)) => lossless(pfc, fabric.trim)?,
        (Some(_), Some(_)) => return Err(queue_and_pfc()),
        (None, None) => {
            let message = "fabric needs queue, or pfc for a lossless class".to_owned();
            return Err(ParameterFault::words("fabric", message, "queue = \"1bdp\" in fabric"));
        }
    }
    if let Some(wrr) = &fabric.wrr {
        control_weight(wrr)?;
    }
    if fabric.shared_buffer.0 > 0 && fabric.pfc.is_some() {
        let message =
            "fabric.shared_buffer is for queues that drop, and fabric.pfc has a buffer of its own".to_owned();
        let instead = ParameterFix::Parameter("fabric.pfc.buffer".to_owned());
        let fault = ParameterFault::new("fabric.shared_buffer", message, instead);
        return Err(fault.involving(&["fabric.pfc"]));
    }
    if fabric.full_queue != FullQueue::Arriving && fabric.pfc.is_some() {
        let message =
            "fabric.full_queue is for queues that drop or trim, and fabric.pfc loses nothing".to_owned();
        let fault = ParameterFault::value("fabric.full_queue", message, "\"arriving\"");
        return Err(fault.involving(&["fabric.pfc"]));
    }
    if fabric.acks_with_data && fabric.pfc.is_some() {
        let message = "fabric.acks_with_data does not work with fabric.pfc: ACKs, NACKs and CNPs are not in \
            the lossless class here"
            .to_owned();
        let fault = ParameterFault::value("fabric.acks_with_data", message, "false");
        return Err(fault.involving(&["fabric.pfc"]));
    }
    shares_of_the_queue(fabric)?;
    let (kmin, kmax) = (fabric.ecn_kmin, fabric.ecn_kmax);
    if kmin > kmax {
        let message = format!("fabric.ecn_kmin ({kmin}) is above fabric.ecn_kmax ({kmax})");
        let fault = ParameterFault::value("fabric.ecn_kmin", message, format!("\"{kmax}\""));
        return Err(fault.involving(&["fabric.ecn_kmax"]));
    }
    fabric.pfc.as_ref().map_or(Ok(()), alpha_steps)?;
    ecn_steps(&fabric.ecn_from)
}

const ECN_FROM_EXAMPLE: &str = "[{ rate = \"400Gbps\", kmin = \"800KB\", kmax = \"6400KB\" }]";

const ALPHA_FROM_EXAMPLE: &str = "[{ rate = \"400Gbps\", alpha = 0.5 }]";

fn alpha_steps(pfc: &PfcSpec) -> Result<(), ParameterFault> {
    let path = "fabric.pfc.alpha_from";
    let wrong =
        |message: String| Err(ParameterFault::value(path, format!("{path}: {message}"), ALPHA_FROM_EXAMPLE));
    if let (Some(threshold), [_, ..]) = (pfc.threshold, &*pfc.alpha_from) {
        let message = format!("{path} and fabric.pfc.threshold ({threshold}) exclude each other");
        return Err(ParameterFault::words(path, message, "one of them").involving(&["fabric.pfc.threshold"]));
    }
    match pfc.alpha_from.windows(2).find(|pair| pair[0].rate >= pair[1].rate) {
        Some(pair) => {
            wrong(format!("rates must rise from step to step, and {} follows {}", pair[1].rate, pair[0].rate))
        }
        None => Ok(()),
    }
}

fn ecn_steps(steps: &[EcnStep]) -> Result<(), ParameterFault> {
    let wrong = |message: String| {
        let message = format!("fabric.ecn_from: {message}");
        Err(ParameterFault::value("fabric.ecn_from", message, ECN_FROM_EXAMPLE))
    };
    for EcnStep { rate, kmin, kmax } in steps {
        if kmin > kmax {
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

/// Rejects thresholds that are shares of `fabric.queue` if there is no `fabric.queue`, as with a lossless class.
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
            "{path} ({threshold}) is a share of fabric.queue, but with fabric.pfc there is no fabric.queue: \
             the ports share a buffer"
        );
        return Err(ParameterFault::value(path, message, instead).involving(&["fabric.queue", "fabric.pfc"]));
    }
    let steps = fabric.ecn_from.iter().flat_map(|step| [step.kmin, step.kmax]);
    match steps.into_iter().find(|at| matches!(at, Threshold::Queue(_))) {
        Some(threshold) => {
            let message = format!(
                "fabric.ecn_from: {threshold} is a share of fabric.queue, but with fabric.pfc there is no \
                 fabric.queue: the ports share a buffer"
            );
            let fault = ParameterFault::value("fabric.ecn_from", message, ECN_FROM_EXAMPLE);
            Err(fault.involving(&["fabric.queue", "fabric.pfc"]))
        }
        None => Ok(()),
    }
}

fn control_weight(wrr: &WrrSpec) -> Result<(), ParameterFault> {
    if wrr.radix.is_some() && wrr.weight.is_some() {
        let message =
            "fabric.wrr.radix and fabric.wrr.weight exclude each other: the weight is computed or given";
        let fault = ParameterFault::value("fabric.wrr", message.to_owned(), "{ radix = 16 }");
        return Err(fault.involving(&["fabric.wrr.radix", "fabric.wrr.weight"]));
    }
    Ok(())
}

/// The error for a lossless class with both thresholds or with neither.
pub(in crate::scenario) fn thresholds(how: &str) -> ParameterFault {
    ParameterFault::words(
        "fabric.pfc.alpha",
        format!("fabric.pfc.alpha (dynamic threshold) and fabric.pfc.threshold (static) {how}"),
        "either alpha = 0.125 or threshold = \"1bdp\"",
    )
    .involving(&["fabric.pfc.threshold"])
}

fn lossless(pfc: &PfcSpec, trim: bool) -> Result<(), ParameterFault> {
    match (pfc.alpha, pfc.threshold) {
        (Some(_), None) | (None, Some(_)) => {}
        (alpha, _) => {
            return Err(thresholds(if alpha.is_some() { "exclude each other" } else { "are both missing" }));
        }
    }
    if trim {
        let message = "a lossless class has nothing to trim".to_owned();
        return Err(ParameterFault::value("fabric.trim", message, "false"));
    }
    Ok(())
}
