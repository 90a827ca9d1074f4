//! Error rates of links, as files of the ns-3 RDMA simulators give them.

use std::fmt::Write as _;

/// Before the rate, in the name of all links that have it.
pub(super) const ERROR_RATE: &str = "error-rate:";
/// Lines that are named one by one, at most.
const MOST_NAMED: usize = 4;

/// An error rate that a topology file gives links: the probability that a packet is lost on one of them.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorRate {
    /// Above 0.
    pub probability: f64,
    /// The lines of the file that say so, ascending.
    pub lines: Vec<usize>,
}

impl ErrorRate {
    /// The different error rates above 0 of `links`, which have a rate and a line each, by ascending line.
    pub(super) fn all(links: impl Iterator<Item = (f64, usize)>) -> Vec<ErrorRate> {
        let mut all: Vec<ErrorRate> = Vec::new();
        for (probability, line) in links.filter(|(probability, _)| *probability > 0.0) {
            match all.iter_mut().find(|known| known.is(probability)) {
                Some(known) => known.lines.push(line),
                None => all.push(ErrorRate { probability, lines: vec![line] }),
            }
        }
        all
    }

    /// Whether it is this rate: the one that the file spells, no other.
    pub fn is(&self, probability: f64) -> bool {
        self.probability.to_bits() == probability.to_bits()
    }

    /// The name of its links, which [`Selector`](super::Selector) reads: `error-rate:0.001`.
    pub fn selector(&self) -> String {
        format!("{ERROR_RATE}{}", self.probability)
    }

    /// Whether a selector names its links by the rate, however that is written: `error-rate:1e-3`.
    pub fn is_named(&self, selector: &str) -> bool {
        let form = selector.trim();
        let form = form.strip_prefix("cable:").unwrap_or(form).trim();
        let rate = form.strip_prefix(ERROR_RATE).and_then(|rate| rate.trim().parse().ok());
        rate.is_some_and(|rate| self.is(rate))
    }

    /// Where it stands: `lines 3 to 10 of topology.txt`.
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
        for (place, [first, last]) in runs.iter().take(MOST_NAMED).enumerate() {
            let between = if place == 0 { " " } else { ", " };
            let _ = match first == last {
                true => write!(text, "{between}{first}"),
                false => write!(text, "{between}{first} to {last}"),
            };
        }
        let more = if runs.len() > MOST_NAMED { " and others" } else { "" };
        format!("{lines}{text}{more} of {file}")
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.lines.capacity() * size_of::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_one_rate_go_together_and_those_that_lose_nothing_go_nowhere() {
        let links = [(0.1, 3), (0.0, 4), (1e-3, 5), (0.1, 6), (0.1, 7)];
        let all = ErrorRate::all(links.into_iter());
        let names: Vec<String> = all.iter().map(ErrorRate::selector).collect();
        assert_eq!(names, ["error-rate:0.1", "error-rate:0.001"]);
        assert!(names.iter().zip(&all).all(|(name, rate)| rate.is_named(name)));
        assert!(all[1].is_named(" cable:error-rate:1e-3") && !all[1].is_named(&names[0]));
        assert_eq!(all[0].place("t.txt"), "lines 3, 6 to 7 of t.txt");
        assert_eq!(all[1].place("t.txt"), "line 5 of t.txt");
        let far = ErrorRate { probability: 0.5, lines: vec![1, 3, 5, 7, 9] };
        assert_eq!(far.place("t.txt"), "lines 1, 3, 5, 7 and others of t.txt");
    }
}
