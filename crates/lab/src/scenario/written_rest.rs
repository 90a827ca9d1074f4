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
    SwitchLoss,
    BitErrors,
}

const KINDS: &[(&str, Kind)] = &[
    ("link-down", Kind::LinkDown),
    ("switch-down", Kind::SwitchDown),
    ("rate", Kind::Rate),
    ("packet-loss", Kind::PacketLoss),
    ("switch-loss", Kind::SwitchLoss),
    ("bit-errors", Kind::BitErrors),
];

/// Reads one `[[fault]]`.
pub(super) fn fault(table: &Table) -> Result<FaultSpec, ScenarioError> {
    let kind = table.word("kind", KINDS)?;
    let own: &[&str] = match kind {
        Kind::LinkDown => &["links", "both_directions"],
        Kind::SwitchDown => &["switches"],
        Kind::Rate => &["links", "both_directions", "rate"],
        Kind::PacketLoss | Kind::SwitchLoss | Kind::BitErrors => &["links", "both_directions", "probability"],
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
        Kind::SwitchLoss => FaultKind::SwitchLoss {
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

const SERIES: &[(&str, Series)] = &[
    ("link-utilisation", Series::LinkUtilisation),
    ("queue-delay", Series::QueueDelay),
    ("queue-depth", Series::QueueDepth),
    ("arrival-rate", Series::ArrivalRate),
    ("drops", Series::Drops),
    ("pauses", Series::Pauses),
    ("pause-time", Series::PauseTime),
    ("pause-victims", Series::PauseVictims),
    ("set-aside", Series::SetAside),
    ("table-entries", Series::TableEntries),
    ("flow-throughput", Series::FlowThroughput),
    ("sender-rtt", Series::SenderRtt),
    ("sender-ecn", Series::SenderEcn),
];

/// What a series has points of.
enum PointsOf {
    /// Links, one an interval.
    Links,
    /// Switches, one an interval.
    Switches,
    /// Queue pairs, one an interval.
    Qps,
    /// Queue pairs, one an acknowledgement.
    Acks,
}

impl PointsOf {
    fn series(series: Series) -> PointsOf {
        match series {
            Series::LinkUtilisation
            | Series::QueueDepth
            | Series::QueueDelay
            | Series::ArrivalRate
            | Series::Drops
            | Series::Pauses
            | Series::PauseTime
            | Series::PauseVictims => PointsOf::Links,
            Series::SetAside | Series::TableEntries => PointsOf::Switches,
            Series::FlowThroughput => PointsOf::Qps,
            Series::SenderRtt | Series::SenderEcn => PointsOf::Acks,
        }
    }
}

/// Reads one `[[measure]]`.
pub(super) fn measure(table: &Table) -> Result<MeasureSpec, ScenarioError> {
    table.only(&["series", "every", "links", "switches", "qps", "above"])?;
    let series = table.word("series", SERIES)?;
    let word = SERIES.iter().find(|(_, known)| *known == series).map_or("", |(word, _)| word);
    let above = above(table, word, series)?;
    let nothing =
        MeasureSpec { series, every: Duration::ZERO, links: None, switches: None, qps: None, above };
    match PointsOf::series(series) {
        PointsOf::Links => {
            measured_on(table, word, "links")?;
            let links = Some(selector(table, "links")?);
            Ok(MeasureSpec { every: interval(table)?, links, ..nothing })
        }
        PointsOf::Switches => {
            measured_on(table, word, "switches")?;
            let switches = Some(selector(table, "switches")?);
            Ok(MeasureSpec { every: interval(table)?, switches, ..nothing })
        }
        PointsOf::Qps => {
            let qps = Some(qps(table, word)?);
            Ok(MeasureSpec { every: interval(table)?, qps, ..nothing })
        }
        PointsOf::Acks => {
            let qps = Some(qps(table, word)?);
            // The resolved form has a zero here: its points stand for no interval.
            let every: Duration = table.get("every")?.unwrap_or_default();
            if every != Duration::ZERO {
                let message = format!("{word:?} has a point for each acknowledgement, not for each interval");
                return Err(table.wrong("every", message, format!("series = {word:?} without every")));
            }
            Ok(MeasureSpec { every, qps, ..nothing })
        }
    }
}

/// That nothing but `key` says of what `word` is measured.
fn measured_on(table: &Table, word: &str, key: &str) -> Result<(), ScenarioError> {
    let what = |key: &str| if key == "qps" { "queue pairs" } else { key }.to_owned();
    for other in ["links", "switches", "qps"] {
        if other != key && table.node(other).is_some() {
            let message = format!("{word:?} is measured on {}, not on {}", what(key), what(other));
            let example = if key == "qps" { "\"all\"" } else { super::table::example(key) };
            return Err(table.wrong(other, message, format!("{key} = {example} instead of {other}")));
        }
    }
    Ok(())
}

fn interval(table: &Table) -> Result<Duration, ScenarioError> {
    let every = table.get("every")?.unwrap_or(Duration::from_us(20));
    table.above_zero("every", every)?;
    Ok(every)
}

fn above(table: &Table, word: &str, series: Series) -> Result<Option<Duration>, ScenarioError> {
    if series != Series::QueueDelay && table.node("above").is_some() {
        let message = format!("above is for \"queue-delay\" alone, not for {word:?}");
        return Err(table.wrong("above", message, format!("series = {word:?} without above")));
    }
    table.get("above").map_err(|e| ScenarioError { help: Some("above = \"8us\"".to_owned()), ..e })
}

/// The queue pairs of a series that is about them.
fn qps(table: &Table, word: &str) -> Result<String, ScenarioError> {
    const EXAMPLE: &str = "qps = \"all\", or some of them: qps = \"0-7\", qps = \"0,4,9-12\"";
    measured_on(table, word, "qps")?;
    let written: Option<String> =
        table.get("qps").map_err(|e| ScenarioError { help: Some(EXAMPLE.to_owned()), ..e })?;
    match written {
        None => Err(ScenarioError { help: Some(EXAMPLE.to_owned()), ..table.missing("qps") }),
        Some(qps) if qps.trim().is_empty() => {
            Err(table.wrong("qps", "qps is empty and selects nothing", EXAMPLE))
        }
        Some(qps) => Ok(qps),
    }
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
    if limits.max_time > Limits::MOST_TIME {
        let message = format!("max_time may be at most {} of simulated time", Limits::MOST_TIME);
        return Err(table.wrong("max_time", message, format!("max_time = \"{}\"", Limits::MOST_TIME)));
    }
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
