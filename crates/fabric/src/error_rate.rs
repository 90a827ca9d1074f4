//! Error rates of links, as in the files of the ns-3 RDMA simulators.

use super::Port;
use anabranch_base::LinkId;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The prefix of the error rate in the selector of all links with this rate.
pub(super) const ERROR_RATE: &str = "error-rate:";
/// The largest number of runs of consecutive lines that [`ErrorRate::place`] lists.
const MOST_NAMED: usize = 4;

/// An error rate that a topology file gives to links: the probability that a packet is lost on such a link.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorRate {
    /// The probability, above 0.
    pub probability: f64,
    /// The lines of the file that contain this rate, ascending.
    pub lines: Vec<usize>,
    /// The links with this rate, both directions of each cable, ascending.
    pub links: Vec<LinkId>,
}

impl ErrorRate {
    /// Whether `probability` equals this rate, bit for bit.
    pub fn is(&self, probability: f64) -> bool {
        self.probability.to_bits() == probability.to_bits()
    }

    /// The name of the links with this rate, which [`Selector`](super::Selector) reads: `error-rate:0.001`.
    pub fn selector(&self) -> String {
        format!("{ERROR_RATE}{}", self.probability)
    }

    /// The error rate in a selector of links, in any spelling of the number: `error-rate:1e-3`. None for any other
    /// selector.
    pub fn named_by(selector: &str) -> Option<f64> {
        let form = selector.trim();
        let form = form.strip_prefix("cable:").unwrap_or(form).trim();
        form.strip_prefix(ERROR_RATE)?.trim().parse().ok()
    }

    /// The lines of `file` that contain this rate, in words: `lines 3 to 10 of topology.txt`.
    pub fn place(&self, file: &str) -> String {
        let mut runs: Vec<[usize; 2]> = Vec::new();
        for &line in &self.lines {
            match runs.last_mut() {
                Some([_, last]) if *last + 1 == line => *last = line,
                _ => runs.push([line, line]),
            }
        }
        let lines = if self.lines.len() == 1 { "line" } else { "lines" };
        let mut text = String::new();
        for (position, [first, last]) in runs.iter().take(MOST_NAMED).enumerate() {
            let between = if position == 0 { " " } else { ", " };
            let _ = match first == last {
                true => write!(text, "{between}{first}"),
                false => write!(text, "{between}{first} to {last}"),
            };
        }
        let more = if runs.len() > MOST_NAMED { " and others" } else { "" };
        format!("{lines}{text}{more} of {file}")
    }

    fn memory_bytes(&self) -> usize {
        size_of::<Self>()
            + self.lines.capacity() * size_of::<usize>()
            + self.links.capacity() * size_of::<LinkId>()
    }
}

/// The distinct error rates above 0 that a topology file gives its links, in the order of their first lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ErrorRates {
    rates: Vec<ErrorRate>,
    /// The position of each rate in `rates`, by the bits of its probability.
    positions: BTreeMap<u64, usize>,
}

impl ErrorRates {
    /// Groups the links of a file by error rate. `links` yields the rate and the line of each cable by ascending
    /// line; `ports` are the ports of the topology.
    pub(super) fn new(links: impl Iterator<Item = (f64, usize)>, ports: &[Port]) -> ErrorRates {
        let mut all = ErrorRates::default();
        for (probability, line) in links.filter(|(probability, _)| *probability > 0.0) {
            let position = *all.positions.entry(probability.to_bits()).or_insert(all.rates.len());
            if position == all.rates.len() {
                all.rates.push(ErrorRate { probability, lines: Vec::new(), links: Vec::new() });
            }
            all.rates[position].lines.push(line);
        }
        for (link, port) in (0..).map(LinkId).zip(ports) {
            if let Some(&position) = all.positions.get(&port.loss.to_bits()) {
                all.rates[position].links.push(link);
            }
        }
        all
    }

    /// The entry for the error rate `probability`, if the file gives it to a link.
    pub fn get(&self, probability: f64) -> Option<&ErrorRate> {
        self.positions.get(&probability.to_bits()).map(|&position| &self.rates[position])
    }

    /// All error rates, in the order of their first lines.
    pub fn iter(&self) -> std::slice::Iter<'_, ErrorRate> {
        self.rates.iter()
    }

    /// Whether no link has an error rate above 0.
    pub fn is_empty(&self) -> bool {
        self.rates.is_empty()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.rates.iter().map(ErrorRate::memory_bytes).sum::<usize>()
            + self.positions.len() * size_of::<(u64, usize)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_ns3;
    use anabranch_base::Duration;

    #[test]
    fn links_of_one_rate_go_together_and_those_that_lose_nothing_go_nowhere() {
        let text = "6 1 5\n5\n0 5 1Gbps 1ns 0.1\n1 5 1Gbps 1ns 0\n2 5 1Gbps 1ns 1e-3\n3 5 1Gbps 1ns 0.1\n\
                    4 5 1Gbps 1ns 0.1\n";
        let topology = parse_ns3("t.txt", text, Duration::ZERO).unwrap();
        let all = &topology.error_rates;
        let names: Vec<String> = all.iter().map(ErrorRate::selector).collect();
        assert_eq!(names, ["error-rate:0.1", "error-rate:0.001"]);
        for (name, rate) in names.iter().zip(all.iter()) {
            assert_eq!(ErrorRate::named_by(name), Some(rate.probability));
            assert_eq!(all.get(rate.probability), Some(rate));
        }
        assert_eq!(ErrorRate::named_by(" cable:error-rate:1e-3"), Some(0.001));
        assert_eq!((ErrorRate::named_by("all"), all.get(0.2), all.get(0.0)), (None, None, None));
        let places: Vec<String> = all.iter().map(|rate| rate.place("t.txt")).collect();
        assert_eq!(places, ["lines 3, 6 to 7 of t.txt", "line 5 of t.txt"]);
        let links = |rate: f64| all.get(rate).unwrap().links.iter().map(|&link| topology.link_name(link));
        assert_eq!(links(0.001).collect::<Vec<_>>(), ["host:2", "tor:0/down:2"]);
        assert_eq!(links(0.1).count(), 6);
        let far = ErrorRate { probability: 0.5, lines: vec![1, 3, 5, 7, 9], links: Vec::new() };
        assert_eq!(far.place("t.txt"), "lines 1, 3, 5, 7 and others of t.txt");
    }
}
