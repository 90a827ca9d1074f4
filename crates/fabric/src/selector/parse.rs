//! The text form of selectors.

use super::{Amount, Form, SwitchSet};
use crate::error_rate::ERROR_RATE;
use anabranch_base::Problem;

/// The list of forms in error messages.
const FORMS: &str = "links: tor:0/up, tor:0/up:3, spine:2/down:4, esw:0/up:0, host:5, tor-uplinks, \
     tor-uplinks:3%, tor-uplinks:4, esw-uplinks, host-links:3%, all, node:128->node:130, error-rate:0.001, and with cable: in front both directions of \
     each, cable:tor:0/up:3; switches: tor:3, spine:5%, \
     esw:0, switch:7";

pub(super) fn parse(text: &str) -> Result<Form, Problem> {
    let unknown = || Problem::from(format!("this is no form of selector; the forms are {FORMS}"));
    if text == "all" {
        return Ok(Form::All);
    }
    if let Some((from, to)) = text.split_once("->") {
        let node = |part: &str| -> Result<u32, Problem> {
            let number = part.trim().strip_prefix("node:").ok_or_else(unknown)?;
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
    if let Some((switch, side)) = text.split_once('/') {
        let (word, index) = switch.split_once(':').ok_or_else(unknown)?;
        let kind = parse_switch_set(word).ok_or_else(unknown)?;
        let (side, port) = match side.split_once(':') {
            Some((side, port)) => (side, Some(parse_index(port)?)),
            None => (side, None),
        };
        let up = match side {
            "up" => true,
            "down" => false,
            _ => return Err(unknown()),
        };
        return Ok(Form::Ports { switch: (kind, parse_index(index)?), up, port });
    }
    let (word, rest) = match text.split_once(':') {
        Some((word, rest)) => (word, Some(rest)),
        None => (text, None),
    };
    if word == "host-links" {
        return Ok(Form::HostLinks(parse_amount(rest)?));
    }
    if let Some(kind) = word.strip_suffix("-uplinks").and_then(parse_switch_set) {
        if kind == SwitchSet::Node {
            return Err(unknown());
        }
        return Ok(Form::Uplinks(kind, parse_amount(rest)?));
    }
    let rest = rest.ok_or_else(unknown)?;
    if word == "host" {
        return Ok(Form::Host(parse_index(rest)?));
    }
    let kind = parse_switch_set(word).ok_or_else(unknown)?;
    match rest.strip_suffix('%') {
        Some(_) if kind == SwitchSet::Node => Err(unknown()),
        Some(percent) => Ok(Form::Switches(kind, parse_percent(percent)?)),
        None => Ok(Form::Switch(kind, parse_index(rest)?)),
    }
}

fn parse_switch_set(word: &str) -> Option<SwitchSet> {
    Some(match word {
        "tor" => SwitchSet::Tor,
        "spine" => SwitchSet::Spine,
        "agg" => SwitchSet::Agg,
        "core" => SwitchSet::Core,
        "leaf" => SwitchSet::Leaf,
        "esw" => SwitchSet::Esw,
        "switch" => SwitchSet::Switch,
        "node" => SwitchSet::Node,
        _ => SwitchSet::Tier(word.strip_prefix("tier")?.parse().ok().filter(|tier| *tier > 0)?),
    })
}

fn parse_index(text: &str) -> Result<u32, Problem> {
    text.trim().parse().map_err(|_| format!("{text:?} is not a number from 0; the forms are {FORMS}").into())
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
