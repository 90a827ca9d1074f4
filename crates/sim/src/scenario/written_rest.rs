//! `[[fault]]`, `[[measure]]` and `[limits]` as written.

use super::table::Table;
use super::{FaultKind, FaultSpec, Limits, MeasureSpec, ScenarioError, Series};
use anabranch_base::{Duration, Rate};

#[derive(Clone, Copy)]
enum Kind {
    LinkDown,
    SwitchDown,
    Rate,
    PacketLoss,
    BitErrors,
}

const KINDS: &[(&str, Kind)] = &[
    ("link-down", Kind::LinkDown),
    ("switch-down", Kind::SwitchDown),
    ("rate", Kind::Rate),
    ("packet-loss", Kind::PacketLoss),
    ("bit-errors", Kind::BitErrors),
];

/// Reads one `[[fault]]`.
pub(super) fn fault(table: &Table) -> Result<FaultSpec, ScenarioError> {
    let kind = table.word("kind", KINDS)?;
    let own: &[&str] = match kind {
        Kind::LinkDown => &["links", "both_directions"],
        Kind::SwitchDown => &["switches"],
        Kind::Rate => &["links", "both_directions", "rate"],
        Kind::PacketLoss | Kind::BitErrors => &["links", "both_directions", "probability"],
    };
    table.only(&[&["kind", "at", "duration"], own].concat())?;
    let both = || Ok(table.get("both_directions")?.unwrap_or(true));
    let kind = match kind {
        Kind::LinkDown => FaultKind::LinkDown { links: selector(table, "links")?, both_directions: both()? },
        Kind::SwitchDown => FaultKind::SwitchDown { switches: selector(table, "switches")? },
        Kind::Rate => {
            let rate: Rate = table.need("rate")?;
            if rate.0 == 0 {
                let message = "a link with rate 0 carries nothing";
                return Err(table.wrong("rate", message, "kind = \"link-down\", or a rate above 0"));
            }
            FaultKind::Rate { links: selector(table, "links")?, both_directions: both()?, rate }
        }
        Kind::PacketLoss => FaultKind::PacketLoss {
            links: selector(table, "links")?,
            both_directions: both()?,
            probability: probability(table)?,
        },
        Kind::BitErrors => FaultKind::BitErrors {
            links: selector(table, "links")?,
            both_directions: both()?,
            probability: probability(table)?,
        },
    };
    let duration: Option<Duration> = table.get("duration")?;
    if let Some(duration) = duration {
        table.above_zero("duration", duration)?;
    }
    Ok(FaultSpec { kind, at: table.get("at")?.unwrap_or_default(), duration })
}

/// Reads one `[[measure]]`.
pub(super) fn measure(table: &Table) -> Result<MeasureSpec, ScenarioError> {
    table.only(&["series", "every", "links"])?;
    let series = table.word(
        "series",
        &[("link-utilisation", Series::LinkUtilisation), ("queue-depth", Series::QueueDepth)],
    )?;
    let every = table.get("every")?.unwrap_or(Duration::from_us(20));
    table.above_zero("every", every)?;
    Ok(MeasureSpec { series, every, links: selector(table, "links")? })
}

/// Reads `[limits]`.
pub(super) fn limits(table: Option<&Table>) -> Result<Limits, ScenarioError> {
    let default = Limits::default();
    let Some(table) = table else { return Ok(default) };
    table.only(&["max_time", "stall", "max_events", "max_packets"])?;
    let limits = Limits {
        max_time: table.get("max_time")?.unwrap_or(default.max_time),
        stall: table.get("stall")?.unwrap_or(default.stall),
        max_events: table.get("max_events")?.unwrap_or(default.max_events),
        max_packets: table.get("max_packets")?.unwrap_or(default.max_packets),
    };
    table.above_zero("max_time", limits.max_time)?;
    table.above_zero("stall", limits.stall)?;
    table.within("max_events", limits.max_events, 1, u64::MAX)?;
    table.within("max_packets", limits.max_packets, 1, u64::MAX)?;
    Ok(limits)
}

fn selector(table: &Table, key: &str) -> Result<String, ScenarioError> {
    let selector: String = table.need(key)?;
    if selector.trim().is_empty() {
        let message = format!("{key} is empty and selects nothing");
        return Err(table.wrong(key, message, format!("{key} = {}", super::table::example(key))));
    }
    Ok(selector)
}

fn probability(table: &Table) -> Result<f64, ScenarioError> {
    let probability: f64 = table.need("probability")?;
    if !(0.0..=1.0).contains(&probability) {
        let message = format!("probability must be between 0 and 1, not {probability}");
        let share = probability / 100.0;
        let instead = if (0.0..=1.0).contains(&share) { share } else { 0.01 };
        return Err(table.wrong("probability", message, format!("probability = {instead}")));
    }
    Ok(probability)
}
