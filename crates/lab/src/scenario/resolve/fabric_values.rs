//! Values that several kinds of `[topology]` have, and errors about topologies.

use crate::scenario::read::table::{Table, fault, or_example};
use crate::scenario::resolve::link_names;
use anabranch_base::{Diagnostic, Duration, Fix, Problem, Rate};
use anabranch_fabric::TopologyError;

/// The default of `link_latency` and `switch_latency` (REPS, section 4.1).
pub(super) const LATENCY: Duration = Duration::from_ns(500);

/// The error for a topology that cannot be built, at the key that the error names.
pub(in crate::scenario) fn refused(table: &Table, error: TopologyError) -> Diagnostic {
    match error {
        TopologyError::Shape { key, problem: Problem { message, fix } } => {
            // The key may be of the resolved form, `topology.tier[1].radix_down`, or of the short form.
            let path = key.replace('[', ".").replace(']', "");
            let path: Vec<&str> = path.split('.').skip(1).collect();
            let last = path.last().copied().unwrap_or("hosts");
            let help = fix.map(|fix| fix.of_key(last));
            let mut at = table.at;
            if let Some((first, rest)) = path.split_first()
                && let Some(node) = table.node(first)
            {
                at = node.place(rest);
            }
            fault(table.file, at, message, or_example(help, last))
        }
        TopologyError::File { file, line, problem } => Diagnostic::in_file(file, Some(line), problem),
        TopologyError::NoText { file } => {
            table.wrong("file", format!("{file} was not read"), "file = \"...\"")
        }
    }
}

/// The rate of a switch's links down divided by the rate of its uplinks: a number, or a ratio such as `4:1`.
pub(super) fn oversubscription(table: &Table, key: &str) -> Result<f64, Diagnostic> {
    let ratio = ratio(table, key)?;
    if ratio >= 1.0 {
        return Ok(ratio);
    }
    let instead = if ratio > 0.0 { (1.0 / ratio).round().max(1.0) } else { 1.0 };
    let message = format!("{key} must be 1 or more, not {ratio}");
    let fix = match instead > 1.0 {
        true => Fix::text(format!(
            "{key} = {instead} for fewer links up than down; more than down are not possible here"
        )),
        false => Fix::set(key, instead),
    };
    Err(table.wrong(key, message, fix))
}

/// The number or ratio at `key`; 1 without it.
pub(super) fn ratio(table: &Table, key: &str) -> Result<f64, Diagnostic> {
    let text = match table.node(key).map(|node| node.value()) {
        None => return Ok(1.0),
        Some(toml::Value::String(text)) => text,
        Some(_) => return table.need(key),
    };
    let of_two = text
        .split_once(':')
        .and_then(|(down, up)| Some(down.trim().parse::<f64>().ok()? / up.trim().parse::<f64>().ok()?));
    of_two.filter(|ratio| ratio.is_finite() && *ratio > 0.0).ok_or_else(|| {
        // The first number of a longer ratio, or a number in quotes, is most likely what the user meant.
        let first = text.split(':').next().and_then(|first| first.trim().parse::<f64>().ok());
        let first = first.filter(|first| *first >= 1.0).unwrap_or(2.0);
        let message = format!("{key} must be a number or a ratio such as \"2:1\", not {text:?}");
        table.wrong(key, message, Fix::set(key, first))
    })
}

/// The rate of a link at `key`, if it is given.
pub(super) fn rate(table: &Table, key: &str) -> Result<Option<Rate>, Diagnostic> {
    link_names::refused(table, key).map_or_else(|| rate_above_zero(table, key), Err)
}

fn rate_above_zero(table: &Table, key: &str) -> Result<Option<Rate>, Diagnostic> {
    let rate: Option<Rate> = table.get(key)?;
    if let Some(rate) = rate {
        table.above_zero(key, rate)?;
    }
    Ok(rate)
}

pub(super) fn nvlink_rate(table: &Table, key: &str) -> Result<Option<Rate>, Diagnostic> {
    let of_data_sheet = table.node(key).and_then(|node| match node.value() {
        toml::Value::Integer(number) => {
            let is_of_data_sheet = NVLINK_OF_DATA_SHEETS.iter().any(|of| i64::try_from(*of) == Ok(number));
            is_of_data_sheet.then(|| one_direction(&format!("{number}GB/s")))?
        }
        value => one_direction(value.as_str()?),
    });
    let Some(instead) = of_data_sheet else { return rate_above_zero(table, key) };
    let message = format!(
        "{key}: data sheets count both directions of NVLink, in bytes, and this is the rate of one, in bits"
    );
    let of_one = Rate(instead.0.saturating_mul(2));
    let is_of_gpu = |rate: &Rate| NVLINK_OF_DATA_SHEETS.iter().any(|of| *rate == Rate::from_gbps(4 * of));
    let fix = match [instead, of_one].into_iter().find(is_of_gpu) {
        Some(rate) => Fix::set(key, format!("\"{rate}\"")),
        None => Fix::text(format!(
            "{key} = \"{instead}\" if these are the bytes of both directions, \"{of_one}\" if of one"
        )),
    };
    Err(table.wrong(key, message, fix))
}

/// The total rate of a GPU's NVLinks, in GB/s and for both directions together, in the data sheets of V100, A100, H100
/// and B200.
pub(in crate::scenario) const NVLINK_OF_DATA_SHEETS: [u64; 4] = [300, 600, 900, 1800];

/// The rate of one direction of a GPU's NVLinks. `text` has the bytes per second of both directions together, such as
/// `900GB/s`.
fn one_direction(text: &str) -> Option<Rate> {
    let (number, unit) = [("GB/s", "Gbps"), ("GBps", "Gbps"), ("TB/s", "Tbps"), ("TBps", "Tbps")]
        .into_iter()
        .find_map(|(bytes, bits)| Some((text.trim().strip_suffix(bytes)?, bits)))?;
    // One direction has half of the bytes, and a byte has eight bits.
    format!("{}{unit}", 4.0 * number.trim().parse::<f64>().ok()?).parse().ok()
}
