//! The text form of selectors.

use super::{Amount, Form, SetKind, SwitchSet};
use crate::error_rate::ERROR_RATE;
use anabranch_base::Problem;

/// Names of groups of servers, which have no selector.
const UNITS: [&str; 5] = ["su", "segment", "pod", "rack", "domain"];

/// The largest number of names that the hint about a range lists.
const MOST_NAMES: u32 = 64;

pub(super) fn parse(text: &str) -> Result<Form, Problem> {
    if let Some(names) = names_of_range(text) {
        return Err(Problem::with_text(
            "a selector has no ranges",
            format_args!("a list in [[fault]]: {names:?}"),
        ));
    }
    if text == "all" {
        return Ok(Form::All);
    }
    if let Some((from, to)) = text.split_once("->") {
        let node = |part: &str| -> Result<u32, Problem> {
            let number = part.trim().strip_prefix("node:").ok_or_else(unknown_form)?;
            parse_index(number)
        };
        return Ok(Form::Between(node(from)?, node(to)?));
    }
    if let Some(rate) = text.strip_prefix(ERROR_RATE) {
        return match rate.trim().parse::<f64>() {
            Ok(rate) if rate > 0.0 && rate <= 1.0 => Ok(Form::ErrorRate(rate)),
            _ => Err(Problem::with_text(
                format!("{rate:?} is no error rate"),
                "one above 0 and at most 1, as the file has it",
            )),
        };
    }
    if let Some(form) = parse_of_cluster(text) {
        return form;
    }
    if let Some((switch, side)) = text.split_once('/') {
        let (word, index) = switch.split_once(':').ok_or_else(unknown_form)?;
        let kind = parse_switch_set(word).ok_or_else(|| unnamed(text))?;
        let (side, port) = match side.split_once(':') {
            Some((side, port)) => (side, Some(port)),
            None => (side, None),
        };
        let up = match side {
            "up" => true,
            "down" => false,
            _ => return Err(unknown_form()),
        };
        let port = port.map(parse_index).transpose()?;
        return Ok(Form::Ports { switch: (kind, parse_index(index)?), up, port });
    }
    let (word, rest) = match text.split_once(':') {
        Some((word, rest)) => (word, Some(rest)),
        None => (text, None),
    };
    if let Some(kind) = word.strip_suffix("-uplinks").and_then(parse_switch_set) {
        if kind.kind == SetKind::Node {
            return Err(unknown_form());
        }
        return Ok(Form::Uplinks(kind, parse_amount(rest)?));
    }
    if UNITS.contains(&word) {
        return Err(Problem::with_text(
            format!("no selector names the parts of a {word} together"),
            "a list in [[fault]]: of its servers, [\"server:0\", \"server:1\"], or of its leaves, [\"tor:0\", \"tor:1\"]",
        ));
    }
    let rest = rest.ok_or_else(|| unnamed(text))?;
    let kind = parse_switch_set(word).ok_or_else(|| unnamed(text))?;
    match rest.strip_suffix('%') {
        Some(_) if kind.kind == SetKind::Node => Err(unknown_form()),
        Some(percent) => Ok(Form::Switches(kind, parse_percent(percent)?)),
        None => Ok(Form::Switch(kind, parse_index(rest)?)),
    }
}

/// The single names that a text with a range stands for: `server:0` and `server:1` for `server:0-1`.
fn names_of_range(text: &str) -> Option<Vec<String>> {
    let (before, range) = text.rsplit_once(':')?;
    let (from, to) = range.split_once('-')?;
    let (from, to): (u32, u32) = (from.trim().parse().ok()?, to.trim().parse().ok()?);
    (from < to && to - from < MOST_NAMES)
        .then(|| (from..=to).map(|index| format!("{before}:{index}")).collect())
}

/// Parses the forms of hosts, servers, rails and planes; `None` for a text of another form.
fn parse_of_cluster(text: &str) -> Option<Result<Form, Problem>> {
    let (word, rest) = match text.find([':', '/']) {
        Some(end) => (&text[..end], Some(&text[end + 1..])),
        None => (text, None),
    };
    let is_known = matches!(word, "host" | "server" | "rail" | "plane" | "host-links" | "nic-links");
    is_known.then(|| match (word, rest) {
        ("host-links" | "nic-links", rest) => parse_host_links(rest),
        (_, None) => Err(unknown_form()),
        ("rail", Some(rest)) if rest.contains('/') => Err(unknown_form()),
        ("rail", Some(rest)) => Ok(Form::Rail(parse_index(rest)?)),
        ("plane", Some(rest)) => parse_of_plane(rest),
        (_, Some(rest)) => {
            let mut parts = rest.split('/');
            let first = parse_index(parts.next().unwrap_or_default())?;
            let mut part = |word: &str| -> Result<Option<u32>, Problem> {
                let Some(part) = parts.next() else { return Ok(None) };
                let number = part.trim().strip_prefix(word).and_then(|part| part.strip_prefix(':'));
                parse_index(number.ok_or_else(|| unnamed(part))?).map(Some)
            };
            let form = match word {
                "host" => Form::Host(first, part("port")?),
                _ => Form::Server { server: first, nic: part("nic")?, port: part("port")? },
            };
            if parts.next().is_some() { Err(unknown_form()) } else { Ok(form) }
        }
    })
}

/// Parses the text after `plane:`, such as `2` and `2/tor:0/up:3`.
fn parse_of_plane(text: &str) -> Result<Form, Problem> {
    let Some((plane, of_plane)) = text.split_once('/') else { return Ok(Form::Plane(parse_index(text)?)) };
    let plane = Some(parse_index(plane)?);
    let within = |set: SwitchSet| SwitchSet { plane, ..set };
    if of_plane.trim_start().starts_with("plane:") {
        return Err(unknown_form());
    }
    match parse(of_plane.trim())? {
        Form::Uplinks(set, amount) => Ok(Form::Uplinks(within(set), amount)),
        Form::Ports { switch: (set, index), up, port } => {
            Ok(Form::Ports { switch: (within(set), index), up, port })
        }
        Form::Switch(set, index) => Ok(Form::Switch(within(set), index)),
        Form::Switches(set, percent) => Ok(Form::Switches(within(set), percent)),
        _ => Err(unknown_form()),
    }
}

/// Parses the text after `host-links:` or `nic-links:`, such as `3%`, `plane:1` and `plane:1:3%`.
fn parse_host_links(text: Option<&str>) -> Result<Form, Problem> {
    let Some(of_plane) = text.and_then(|text| text.trim().strip_prefix("plane:")) else {
        return Ok(Form::HostLinks { plane: None, amount: parse_amount(text)? });
    };
    let (plane, amount) = match of_plane.split_once(':') {
        Some((plane, amount)) => (plane, Some(amount)),
        None => (of_plane, None),
    };
    Ok(Form::HostLinks { plane: Some(parse_index(plane)?), amount: parse_amount(amount)? })
}

/// The error for a text of no known form. It has a hint if the text names NVLink or a GPU.
fn unnamed(text: &str) -> Problem {
    match text.trim().to_ascii_lowercase() {
        text if text.starts_with("nvswitch") || text.starts_with("nvlink") => {
            "NVLink and its switches are no part of the network: they have no names and no faults".into()
        }
        text if text.starts_with("gpu") => {
            "a GPU is named by its NIC, whose ports are links: server:0/nic:3".into()
        }
        _ => unknown_form(),
    }
}

fn unknown_form() -> Problem {
    "this is no form of selector".into()
}

fn parse_switch_set(word: &str) -> Option<SwitchSet> {
    let kind = match word {
        "tor" => SetKind::Tor,
        "spine" => SetKind::Spine,
        "agg" => SetKind::Agg,
        "core" => SetKind::Core,
        "leaf" => SetKind::Leaf,
        "esw" => SetKind::Esw,
        "switch" => SetKind::Switch,
        "node" => SetKind::Node,
        _ => SetKind::Tier(word.strip_prefix("tier")?.parse().ok().filter(|tier| *tier > 0)?),
    };
    Some(SwitchSet { kind, plane: None })
}

fn parse_index(text: &str) -> Result<u32, Problem> {
    text.trim().parse().map_err(|_| format!("{text:?} is not a number from 0").into())
}

fn parse_amount(text: Option<&str>) -> Result<Amount, Problem> {
    let Some(text) = text else { return Ok(Amount::All) };
    if let Some(percent) = text.strip_suffix('%') {
        let percent = parse_percent(percent)?;
        return Ok(if percent < 100.0 { Amount::Percent(percent) } else { Amount::All });
    }
    match text.trim().parse() {
        Ok(0) => Err(Problem::with_text("0 links are no selection", "at least 1")),
        Ok(count) => Ok(Amount::Count(count)),
        Err(_) => Err(format!("{text:?} is neither a number of links nor a share such as 3%").into()),
    }
}

fn parse_percent(text: &str) -> Result<f64, Problem> {
    match text.trim().parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent <= 100.0 => Ok(percent),
        _ => Err(Problem::with_text(format!("{text:?} % is no share"), "one above 0% and at most 100%")),
    }
}
