//! Reads `[[fault]]`, `[[measure]]` and `[limits]` as written.

use crate::scenario::keys;
use crate::scenario::keys::fault::{MOST_PER_HOUR, RECEIVE_BUFFER, SHORTEST_PERIOD};
use crate::scenario::keys::series::{PointsOf, SeriesKind};
use crate::scenario::read::table::Table;
use crate::scenario::schema::unknown_keys::only;
use anabranch_base::{Diagnostic, Duration, Fix, Rate};
use anabranch_engine::{FaultKind, FaultSpec, Limits, MeasureSpec, Series, Several};
use anabranch_fabric::{GroupBy, Selector};

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    LinkDown,
    LinkFlap,
    SwitchDown,
    Rate,
    PacketLoss,
    SwitchLoss,
    BitErrors,
    SlowReceiver,
    PauseStorm,
}

const KINDS: &[(&str, Kind)] = &[
    ("link-down", Kind::LinkDown),
    ("link-flap", Kind::LinkFlap),
    ("switch-down", Kind::SwitchDown),
    ("rate", Kind::Rate),
    ("packet-loss", Kind::PacketLoss),
    ("switch-loss", Kind::SwitchLoss),
    ("bit-errors", Kind::BitErrors),
    ("slow-receiver", Kind::SlowReceiver),
    ("pause-storm", Kind::PauseStorm),
];

/// Reads one `[[fault]]`. `link` is the rate of the fabric's links, if all links have the same rate.
pub(in crate::scenario) fn fault(table: &Table, link: Option<Rate>) -> Result<FaultSpec, Diagnostic> {
    let kind = table.word("kind", KINDS).map_err(|error| broken(table).unwrap_or(error))?;
    only_of_fault(
        table,
        &keys::of(KINDS.iter().find(|(_, known)| *known == kind).map_or("", |(word, _)| word)),
    )?;
    if kind == Kind::LinkFlap && table.node("per_hour").is_some() && table.node("period").is_none() {
        return Err(random_flaps(table));
    }
    let kind = match kind {
        Kind::SwitchDown => FaultKind::SwitchDown { switches: selectors(table, "switches")? },
        Kind::SlowReceiver => slow_receiver(table, link)?,
        Kind::PauseStorm => FaultKind::PauseStorm { hosts: selectors(table, "hosts")? },
        _ => links_fault(table, kind, link)?,
    };
    let at: Several<Duration> = table.get("at")?.unwrap_or_else(|| Duration::ZERO.into());
    if at.0.is_empty() {
        return Err(table.wrong(
            "at",
            "at is an empty list, so that nothing ever breaks",
            Fix::set("at", "\"100us\""),
        ));
    }
    let per_hour = per_hour(table, &at)?;
    let duration = duration(table, &at)?;
    Ok(FaultSpec { kind, at, duration, per_hour })
}

/// The error for a flapping link with a number of failures per hour in place of a period.
fn random_flaps(table: &Table) -> Diagnostic {
    let message = "a link of kind \"link-flap\" fails again after each period, and one of kind \"link-down\" per_hour times an hour";
    let time = table.node("down_for").or(table.node("duration")).map(|node| node.value());
    let fix = match (time, table.node("down_for").is_some()) {
        (Some(_), false) => Fix::set("kind", "\"link-down\""),
        (Some(time), true) => {
            Fix::text(format!("kind = \"link-down\", with duration = {time} in place of down_for"))
        }
        (None, _) => {
            Fix::text("kind = \"link-down\", and duration = \"50us\" for how long each failure lasts")
        }
    };
    table.wrong("kind", message, fix)
}

/// The mean number of failures per hour. Failures begin at random from the time `at` on, so `at` must be a single time,
/// and `until` is refused.
fn per_hour(table: &Table, at: &Several<Duration>) -> Result<Option<f64>, Diagnostic> {
    let Some(per_hour) = table.get::<f64>("per_hour")? else { return Ok(None) };
    if !(per_hour > 0.0 && per_hour <= MOST_PER_HOUR) {
        let message =
            format!("per_hour must be a number above 0 and at most {MOST_PER_HOUR:e}, not {per_hour}");
        return Err(table.wrong("per_hour", message, Fix::set("per_hour", "3600000.0")));
    }
    if at.0.len() > 1 {
        let message = "failures at a rate are random from one time on, but at has several";
        let first = at.0.first().copied().unwrap_or_default();
        return Err(table.wrong("at", message, Fix::set("at", format!("\"{first}\""))));
    }
    if table.node("until").is_some() {
        let message = "until ends one failure, and failures at a rate begin at random times";
        return Err(table.wrong("until", message, "duration = \"200us\" instead of until, for each of them"));
    }
    Ok(Some(per_hour))
}

/// Words in an unknown kind that suggest a component that is down.
const BROKEN: [&str; 7] = ["fail", "down", "dead", "crash", "kill", "cut", "outage"];
/// Words in an unknown kind that suggest a switch.
const SWITCHES: [&str; 7] = ["switch", "node", "spine", "leaf", "tor", "core", "router"];
/// Words in an unknown kind that suggest a part of a cluster, with the selector of its links.
const PARTS: [(&str, &str); 6] = [
    ("plane", "plane:0"),
    ("rail", "rail:0"),
    ("server", "server:0"),
    ("nic", "server:0/nic:0"),
    ("gpu", "server:0/nic:0"),
    ("port", "server:0/nic:0/port:0"),
];

/// The error for an unknown kind whose name suggests that a switch or a link is down; none for any other kind.
fn broken(table: &Table) -> Option<Diagnostic> {
    let written: String = table.get("kind").ok()??;
    let word = written.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|part| word.contains(part));
    if !has(&BROKEN) || KINDS.iter().any(|(kind, _)| *kind == written || word.replace('_', "-") == *kind) {
        return None;
    }
    let part = PARTS.iter().find(|(part, _)| word.contains(part));
    let is_flap = table.node("period").is_some();
    let help = match (has(&SWITCHES), table.node("switches"), table.node("links")) {
        (false, Some(node), None) if let Some((part, links)) = part => of_part(&node.value(), (part, links)),
        (true, Some(_), _) | (false, Some(_), None) => Fix::set("kind", "\"switch-down\""),
        (false, _, Some(_)) if is_flap => Fix::set("kind", "\"link-flap\""),
        (false, _, Some(_)) => Fix::set("kind", "\"link-down\""),
        (true, None, _) => instead(table, &SWITCHES, "switch-down", "switches", "spine:0"),
        (false, None, None) => match part {
            Some((part, links)) => instead(table, &[part], "link-down", "links", links),
            None => Fix::text(
                "kind = \"link-down\" with links = \"tor:0/up:0\", or \"switch-down\" with switches = \"spine:0\"",
            ),
        },
    };
    Some(table.wrong("kind", format!("unknown kind {written:?}"), help))
}

/// The hint for a part of a cluster that is down and is written as `switches`: its links are down. `links` is an example
/// of their names.
fn of_part(written: &toml::Value, (part, links): (&str, &str)) -> Fix {
    let is_of_links = |name: &&str| Selector::parse(name).is_ok_and(|selector| !selector.names_switches());
    match written.as_str().filter(is_of_links) {
        Some(name) => Fix::text(format!("kind = \"link-down\" with links = {name:?} instead of switches")),
        None => Fix::text(format!(
            "kind = \"link-down\" with the links of the {part}, such as links = {links:?}, instead of switches"
        )),
    }
}

/// The hint to write `kind` with `key`. The suggested value of `key` is the text of the first key whose name contains
/// one of `parts`. If there is no such text, it is made of the numbers of parts (`server = 1`, `nic = 2`), and if there
/// are no such numbers, it is `example`.
fn instead(table: &Table, parts: &[&str], kind: &str, key: &str, example: &str) -> Fix {
    let of_part = |name: &String| name != "kind" && parts.iter().any(|part| name.contains(part));
    let text = table.fields.iter().find(|(name, node)| of_part(name) && node.value().is_str());
    let number = |part: &str| {
        let node = table.node(part).or_else(|| table.node(&format!("{part}s")))?;
        node.value().as_integer().map(|number| format!("{part}:{number}"))
    };
    let numbers: Vec<String> =
        ["plane", "rail", "server", "nic", "port", "tor", "spine"].into_iter().filter_map(number).collect();
    let selector = match text.and_then(|(_, node)| node.value().as_str().map(str::to_owned)) {
        Some(text) => text,
        None if numbers.is_empty() => example.to_owned(),
        None => numbers.join("/"),
    };
    Fix::text(format!("kind = {kind:?} with {key} = {selector:?}"))
}

fn slow_receiver(table: &Table, link: Option<Rate>) -> Result<FaultKind, Diagnostic> {
    let hosts = selectors(table, "hosts")?;
    let rate: Rate = table.need("rate").map_err(|error| of_share(table, link, error))?;
    if rate.0 == 0 {
        let message = "a host that takes data at rate 0 takes none";
        return Err(table.wrong("rate", message, "kind = \"pause-storm\" without rate, or a rate above 0"));
    }
    let buffer = match table.get("buffer")? {
        Some(buffer) => table.above_zero("buffer", buffer).map(|()| buffer)?,
        None => RECEIVE_BUFFER,
    };
    Ok(FaultKind::SlowReceiver { hosts, rate, buffer })
}

/// Rejects keys that a fault of this kind does not have, and suggests the ones that the user probably meant.
fn only_of_fault(table: &Table, known: &[&str]) -> Result<(), Diagnostic> {
    if let (Some(node), true) = (table.node("links").or(table.node("switches")), known.contains(&"hosts")) {
        let key = if table.node("links").is_some() { "links" } else { "switches" };
        let message = format!("this kind of fault is about hosts, not about {key}");
        let value = node.value();
        let names_hosts = |name: &&str| {
            ["host:", "server:", "rail:", "host-links", "nic-links"].iter().any(|form| name.starts_with(form))
        };
        let help = match value.as_str().filter(names_hosts) {
            Some(name) => format!("hosts = {name:?} instead of {key}"),
            None => format!("hosts = \"host:0\" instead of {key}"),
        };
        return Err(table.wrong(key, message, help));
    }
    if let (Some(node), false) = (table.node("hosts"), known.contains(&"hosts")) {
        let key = if known.contains(&"links") { "links" } else { "switches" };
        let value = node.value();
        let help = match key {
            "links" => format!("links = {value} instead of hosts, or kind = \"slow-receiver\" with rate"),
            _ => "switches = \"tor:0\" instead of hosts".to_owned(),
        };
        return Err(table.wrong(
            "hosts",
            format!("this kind of fault is about {key}, not about hosts"),
            help,
        ));
    }
    if let (Some(node), false) = (table.node("links"), known.contains(&"links")) {
        let message = "this kind of fault is about switches, not about links";
        let value = node.value();
        // A text that is no selector may be another name of a switch, unless it has one of these characters.
        let is_switch = |name: &&str| match Selector::parse(name) {
            Ok(selector) => selector.names_switches(),
            Err(_) => !name.contains(['/', '-', '>']),
        };
        let a_switch = value.as_str().filter(is_switch);
        let help = match a_switch {
            Some(name) if !name.starts_with("host") => format!("switches = {name:?} instead of links"),
            _ => format!("kind = \"link-down\" with links = {value}, or switches = \"tor:0\""),
        };
        return Err(table.wrong("links", message, help));
    }
    if let (Some(node), false) = (table.node("switches"), known.contains(&"switches")) {
        let message = "this kind of fault is about links, not about switches";
        let value = node.value();
        let help = format!("kind = \"switch-down\" with switches = {value}, or links = \"tor:0/up\"");
        return Err(table.wrong("switches", message, help));
    }
    only(table, known)
}

fn links_fault(table: &Table, kind: Kind, link: Option<Rate>) -> Result<FaultKind, Diagnostic> {
    let links = selectors(table, "links")?;
    let both_directions = both_directions(table, &links)?;
    Ok(match kind {
        Kind::LinkDown | Kind::SwitchDown | Kind::SlowReceiver | Kind::PauseStorm => {
            FaultKind::LinkDown { links, both_directions }
        }
        Kind::LinkFlap => {
            let (period, down_for) = flap(table)?;
            FaultKind::LinkFlap { links, both_directions, period, down_for }
        }
        Kind::Rate => {
            let rate: Rate = table.need("rate").map_err(|error| of_share(table, link, error))?;
            if rate.0 == 0 {
                let message = "a link with rate 0 carries nothing";
                return Err(table.wrong("rate", message, "kind = \"link-down\", or a rate above 0"));
            }
            FaultKind::Rate { links, both_directions, rate }
        }
        Kind::PacketLoss => {
            FaultKind::PacketLoss { links, both_directions, probability: probability(table)? }
        }
        Kind::SwitchLoss => {
            FaultKind::SwitchLoss { links, both_directions, probability: probability(table)? }
        }
        Kind::BitErrors => FaultKind::BitErrors { links, both_directions, probability: probability(table)? },
    })
}

/// Changes the fix of `error` if the rate seems to be written as a share of the links' rate. If the links' rate is
/// known, the fix gives the resulting rate.
fn of_share(table: &Table, link: Option<Rate>, error: Diagnostic) -> Diagnostic {
    let written = table.node("rate").map(|node| node.value());
    // A number below 1 without a unit is most likely a share.
    let fraction =
        written.as_ref().and_then(toml::Value::as_float).filter(|share| (1e-6..1.0).contains(share));
    let share = written.as_ref().and_then(toml::Value::as_str).and_then(|text| {
        let percent = text.strip_suffix('%').map(|number| (number, 100.0));
        let (number, of) = percent.or_else(|| text.strip_suffix("line").map(|number| (number, 1.0)))?;
        number
            .trim()
            .parse::<f64>()
            .ok()
            .map(|number| number / of)
            .filter(|share| (1e-6..1e6).contains(share))
    });
    let Some(share) = share.or(fraction) else { return error };
    let help = match link {
        Some(link) => Fix::set("rate", format!("\"{}\"", Rate((link.0 as f64 * share).round() as u64))),
        None => format!("rate = \"...\" with {share} times the rate of the links that are meant").into(),
    };
    error.with_fix(help)
}

/// The value of `both_directions`. It must not be false if a name of links begins with `cable:`, because such a name
/// means both directions.
fn both_directions(table: &Table, links: &Several<String>) -> Result<Option<bool>, Diagnostic> {
    let both: Option<bool> = table.get("both_directions")?;
    let cable = links.0.iter().find(|name| name.trim().starts_with("cable:"));
    if let (Some(false), Some(cable)) = (both, cable) {
        let message = format!("{cable:?} names both directions, and both_directions = false one");
        let one = cable.trim().trim_start_matches("cable:");
        let help = format!("links = {one:?}, or without both_directions");
        return Err(table.wrong("both_directions", message, help));
    }
    Ok(both)
}

/// The period of a flapping link, and the time in each period for which the link is down.
fn flap(table: &Table) -> Result<(Duration, Duration), Diagnostic> {
    let period: Duration = table.need("period")?;
    let down_for: Duration = table.need("down_for")?;
    table.above_zero("down_for", down_for)?;
    if period < SHORTEST_PERIOD {
        let message = format!("period must be {SHORTEST_PERIOD} or more, not {period}");
        return Err(table.wrong("period", message, Fix::set("period", format!("\"{SHORTEST_PERIOD}\""))));
    }
    if down_for >= period {
        let message = format!(
            "down_for ({down_for}) is not below period ({period}), so that the links never come up again"
        );
        let help = format!(
            "down_for = \"{}\", or kind = \"link-down\" without period and down_for",
            Duration(period.0 / 2)
        );
        return Err(table.wrong("down_for", message, help));
    }
    Ok((period, down_for))
}

/// Words that users of other tools write for a fault that does not end.
const TO_THE_END: [&str; 6] = ["end", "job", "forever", "never", "always", "inf"];

/// The duration of a fault, from the key `duration` or from the end of the fault, `until`.
fn duration(table: &Table, at: &Several<Duration>) -> Result<Option<Duration>, Diagnostic> {
    for key in ["until", "duration"] {
        let written = table.node(key).map(|node| node.value());
        let text = written.as_ref().and_then(toml::Value::as_str).unwrap_or_default().to_lowercase();
        if TO_THE_END.iter().any(|word| text.contains(word)) {
            let message = format!("{key} must be a time, not {text:?}");
            let help = format!("the fault without {key}: it lasts to the end of the run then");
            return Err(table.wrong(key, message, help));
        }
    }
    let (duration, until): (Option<Duration>, Option<Duration>) =
        (table.get("duration")?, table.get("until")?);
    let several = at.0.len() > 1;
    match (duration, until, at.0.first()) {
        (Some(_), Some(_), _) => {
            let message = "duration and until both say when the fault ends";
            Err(table.wrong("until", message, "one of them"))
        }
        (None, Some(_), _) if several => {
            let message = "until is one time, but at has several";
            Err(table.wrong("until", message, "duration = \"200us\" instead of until, for each of them"))
        }
        (None, None, _) if several => {
            let message = "at has several times, but without a duration the first fault never ends";
            Err(table.wrong("at", message, "duration = \"200us\" beside it, for each of them"))
        }
        (None, Some(until), Some(&at)) if until <= at => {
            let message = format!("until ({until}) is not after at ({at}), so that nothing ever breaks");
            Err(table.wrong(
                "until",
                message,
                Fix::set("until", format!("\"{}\"", at + Duration::from_us(200))),
            ))
        }
        (None, Some(until), Some(&at)) => Ok(Some(Duration(until.0 - at.0))),
        (Some(duration), ..) => {
            table.above_zero("duration", duration)?;
            Ok(Some(duration))
        }
        (None, ..) => Ok(None),
    }
}

pub(in crate::scenario) fn measure(table: &Table) -> Result<MeasureSpec, Diagnostic> {
    only(table, &keys::of("measure"))?;
    let SeriesKind { name: word, series, points, .. } =
        table.word_or_alias("series", &SeriesKind::BY_NAME, &SeriesKind::ALIASES)?;
    let above = above(table, word, series)?;
    let nothing = MeasureSpec {
        series,
        every: Duration::ZERO,
        links: None,
        by: None,
        switches: None,
        qps: None,
        above,
    };
    if points != PointsOf::Links && table.node("by").is_some() {
        let message = format!("by is for series of links alone, not for {word:?}");
        return Err(table.wrong("by", message, format!("series = {word:?} without by")));
    }
    match points {
        PointsOf::Links => {
            measured_on(table, word, "links")?;
            let links = Some(selector(table, "links")?);
            Ok(MeasureSpec { every: interval(table)?, links, by: by(table)?, ..nothing })
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
            // The resolved form has a zero here, because the points of this series do not belong to intervals.
            let every: Duration = table.get("every")?.unwrap_or_default();
            if every != Duration::ZERO {
                let message = format!("{word:?} has a point for each acknowledgement, not for each interval");
                return Err(table.wrong("every", message, format!("series = {word:?} without every")));
            }
            Ok(MeasureSpec { every, qps, ..nothing })
        }
    }
}

fn by(table: &Table) -> Result<Option<GroupBy>, Diagnostic> {
    if table.node("by").is_none() {
        return Ok(None);
    }
    let by = table.word("by", &[("plane", GroupBy::Plane), ("rail", GroupBy::Rail)])?;
    if table.node("above").is_some() {
        let message = "a curve of several links leaves out no points";
        return Err(table.wrong("above", message, "by without above, or above without by"));
    }
    Ok(Some(by))
}

/// Checks that no key but `key` names links, switches or queue pairs. `word` is the name of the series.
fn measured_on(table: &Table, word: &str, key: &str) -> Result<(), Diagnostic> {
    let what = |key: &str| if key == "qps" { "queue pairs" } else { key }.to_owned();
    for other in ["links", "switches", "qps"] {
        if other != key && table.node(other).is_some() {
            let message = format!("{word:?} is measured on {}, not on {}", what(key), what(other));
            let example = if key == "qps" { "\"all\"" } else { table.example(key) };
            return Err(table.wrong(other, message, format!("{key} = {example} instead of {other}")));
        }
    }
    Ok(())
}

fn interval(table: &Table) -> Result<Duration, Diagnostic> {
    let every = table.get("every")?.unwrap_or(Duration::from_us(20));
    table.above_zero("every", every)?;
    Ok(every)
}

fn above(table: &Table, word: &str, series: Series) -> Result<Option<Duration>, Diagnostic> {
    if series != Series::QueueDelay && table.node("above").is_some() {
        let message = format!("above is for \"queue-delay\" alone, not for {word:?}");
        return Err(table.wrong("above", message, format!("series = {word:?} without above")));
    }
    table.get("above").map_err(|e| e.with_fix(Fix::set("above", "\"8us\"")))
}

fn qps(table: &Table, word: &str) -> Result<String, Diagnostic> {
    const EXAMPLE: &str = "qps = \"all\", or some of them: qps = \"0-7\", qps = \"0,4,9-12\"";
    measured_on(table, word, "qps")?;
    let written: Option<String> = table.get("qps").map_err(|e| e.with_fix(EXAMPLE.into()))?;
    match written {
        None => Err(table.missing("qps").with_fix(EXAMPLE.into())),
        Some(qps) if qps.trim().is_empty() => {
            Err(table.wrong("qps", "qps is empty and selects nothing", EXAMPLE))
        }
        Some(qps) => Ok(qps),
    }
}

pub(in crate::scenario) fn limits(table: Option<&Table>) -> Result<Limits, Diagnostic> {
    let default = Limits::default();
    let Some(table) = table else { return Ok(default) };
    only(table, &keys::of("limits"))?;
    let limits = Limits {
        max_time: table.get("max_time")?.unwrap_or(default.max_time),
        stall: table.get("stall")?.unwrap_or(default.stall),
        max_events: table.get("max_events")?.unwrap_or(default.max_events),
        max_packets: table.get("max_packets")?.unwrap_or(default.max_packets),
    };
    table.above_zero("max_time", limits.max_time)?;
    if limits.max_time > Limits::MAX_TIME {
        let message = format!("max_time may be at most {} of simulated time", Limits::MAX_TIME);
        return Err(table.wrong(
            "max_time",
            message,
            Fix::set("max_time", format!("\"{}\"", Limits::MAX_TIME)),
        ));
    }
    table.above_zero("stall", limits.stall)?;
    table.within("max_events", limits.max_events, 1, u64::MAX)?;
    table.within("max_packets", limits.max_packets, 1, u64::MAX)?;
    Ok(limits)
}

fn selectors(table: &Table, key: &str) -> Result<Several<String>, Diagnostic> {
    let selectors: Several<String> = table.need(key)?;
    if selectors.0.is_empty() || selectors.0.iter().any(|selector| selector.trim().is_empty()) {
        let message = format!("{key} is empty and selects nothing");
        return Err(table.wrong(key, message, Fix::set(key, table.example(key))));
    }
    Ok(selectors)
}

fn selector(table: &Table, key: &str) -> Result<String, Diagnostic> {
    if let Some(several) = table.get::<Vec<String>>(key).ok().flatten() {
        let message = format!("{key}: a measure has one name, not a list");
        let name =
            several.first().map_or_else(|| table.example(key).to_owned(), |first| format!("{first:?}"));
        return Err(table.wrong(
            key,
            message,
            match several.len() {
                ..2 => Fix::set(key, name),
                _ => Fix::text(format!("{key} = {name}, and another [[measure]] for each other name")),
            },
        ));
    }
    let selector: String = table.need(key)?;
    if selector.trim().is_empty() {
        let message = format!("{key} is empty and selects nothing");
        return Err(table.wrong(key, message, Fix::set(key, table.example(key))));
    }
    Ok(selector)
}

fn probability(table: &Table) -> Result<f64, Diagnostic> {
    let probability: f64 = table.need("probability")?;
    if !(0.0..=1.0).contains(&probability) {
        let message = format!("probability must be between 0 and 1, not {probability}");
        let share = probability / 100.0;
        let instead = if (0.0..=1.0).contains(&share) { share } else { 0.01 };
        return Err(table.wrong("probability", message, Fix::set("probability", instead)));
    }
    Ok(probability)
}
