//! Selectors of queue pairs in scenarios: `all`, `3`, `0-7`, `0,4,9-12`.

use anabranch_base::{Problem, QpId};
use anabranch_fabric::SelectorError;
use std::ops::RangeInclusive;

/// Queue pairs of a workload, as a scenario selects them.
#[derive(Clone, Debug, PartialEq)]
pub struct QpSelector {
    text: String,
    /// The ranges; empty for all queue pairs.
    ranges: Vec<RangeInclusive<u64>>,
}

impl QpSelector {
    /// Reads `all`, or a list of numbers and ranges with commas between them.
    ///
    /// # Errors
    /// A part of the list is neither a number nor a range, or a range ends before it starts.
    pub fn parse(text: &str) -> Result<QpSelector, SelectorError> {
        let fail = |problem: Problem| SelectorError { selector: text.to_owned(), problem };
        let selector = |ranges| QpSelector { text: text.to_owned(), ranges };
        if text.trim() == "all" {
            return Ok(selector(Vec::new()));
        }
        text.split(',').map(|part| range(part.trim())).collect::<Result<_, _>>().map(selector).map_err(fail)
    }

    /// The selected queue pairs of a workload with `count` queue pairs, without repetition, in the order of their
    /// numbers.
    ///
    /// # Errors
    /// The workload has no queue pairs, or a selected number is `count` or more.
    pub fn qps(&self, count: usize) -> Result<Vec<QpId>, SelectorError> {
        let fail = |problem: Problem| Err(SelectorError { selector: self.text.clone(), problem });
        let Some(most) = (count as u64).checked_sub(1) else {
            return fail("the workload has no queue pairs".into());
        };
        if self.ranges.is_empty() {
            return Ok((0..=most as u32).map(QpId).collect());
        }
        let last = self.ranges.iter().map(|range| *range.end()).max().unwrap_or(0);
        if last > most {
            let has = match most {
                0 => "1 queue pair, number 0".to_owned(),
                _ => format!("{count} queue pairs, numbers 0 to {most}"),
            };
            let message = format!("the workload has {has}, and no {last}");
            return fail(Problem::with_value(message, format_args!("{:?}", self.within(most))));
        }
        let mut qps: Vec<QpId> = self.ranges.iter().cloned().flatten().map(|qp| QpId(qp as u32)).collect();
        qps.sort_unstable();
        qps.dedup();
        Ok(qps)
    }

    /// The selector without the numbers above `most`, or `most` itself if no number is left.
    fn within(&self, most: u64) -> String {
        let parts: Vec<String> = self
            .ranges
            .iter()
            .filter(|range| *range.start() <= most)
            .map(|range| written(*range.start(), (*range.end()).min(most)))
            .collect();
        if parts.is_empty() { most.to_string() } else { parts.join(",") }
    }
}

fn written(first: u64, last: u64) -> String {
    if first == last { first.to_string() } else { format!("{first}-{last}") }
}

fn range(part: &str) -> Result<RangeInclusive<u64>, Problem> {
    let (first, last) = part.split_once('-').unwrap_or((part, part));
    match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => Ok(first..=last),
        (Some(first), Some(last)) => {
            let turned = format!("{:?}", written(last, first));
            Err(Problem::with_value(format!("{part:?} runs backwards"), turned))
        }
        _ => {
            Err(format!("{part:?} is neither a queue pair's number nor a range of them such as \"0-7\"")
                .into())
        }
    }
}

/// Reads a number in digits. A number of more than 64 bits becomes the largest 64-bit number, which no workload has.
fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    let is_number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn qps(text: &str, count: usize) -> Result<Vec<u32>, String> {
        let found = QpSelector::parse(text).and_then(|selector| selector.qps(count));
        found.map(|qps| qps.into_iter().map(|qp| qp.0).collect()).map_err(|e| e.to_string())
    }

    #[test]
    fn forms() {
        for (text, expected) in [
            ("all", vec![0, 1, 2, 3, 4, 5]),
            ("3", vec![3]),
            ("0-2", vec![0, 1, 2]),
            ("4-4", vec![4]),
            (" 0, 5 ,2-3", vec![0, 2, 3, 5]),
            ("1-3,2,0-1", vec![0, 1, 2, 3]),
        ] {
            assert_eq!(qps(text, 6), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for part in ["x", "0..7", "-1", "1-", "1-2-3", "", "1.5", "+1", "All"] {
            let text = format!("0,{part}");
            let expected = format!(
                "{text:?}: {part:?} is neither a queue pair's number nor a range of them such as \"0-7\""
            );
            assert_eq!(qps(&text, 6), Err(expected));
        }
        assert_eq!(qps("0,5-2", 6), Err(r#""0,5-2": "5-2" runs backwards; write: "2-5""#.to_owned()));
    }

    #[test]
    fn numbers_beyond_the_workload_are_refused() {
        for (text, count, expected) in [
            ("0,4-8", 6, "6 queue pairs, numbers 0 to 5, and no 8; write: \"0,4-5\""),
            ("6", 6, "6 queue pairs, numbers 0 to 5, and no 6; write: \"5\""),
            ("1,5-9", 6, "6 queue pairs, numbers 0 to 5, and no 9; write: \"1,5\""),
            ("1", 1, "1 queue pair, number 0, and no 1; write: \"0\""),
            (
                "99999999999999999999",
                2,
                "2 queue pairs, numbers 0 to 1, and no 18446744073709551615; write: \"1\"",
            ),
        ] {
            assert_eq!(qps(text, count), Err(format!("{text:?}: the workload has {expected}")));
        }
        assert_eq!(qps("all", 0), Err("\"all\": the workload has no queue pairs".to_owned()));
    }
}
