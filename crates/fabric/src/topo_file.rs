//! htsim's `.topo` files, which describe fat trees in key-value lines.

use super::error::TopologyError;
use super::fat_tree::{Shape, ShapeKey};
use crate::{TierSpec, TopologySpec};
use anabranch_base::{Duration, Fix, Problem, Rate, nearest};
use std::str::FromStr;

const NODES: &str = "Nodes";
const TIERS: &str = "Tiers";
const PODSIZE: &str = "Podsize";
const TIER: &str = "Tier";
const SPEED: &str = "Downlink_speed_Gbps";
const LATENCY: &str = "Downlink_Latency_ns";
const RADIX_DOWN: &str = "Radix_Down";
const RADIX_UP: &str = "Radix_Up";
const SWITCH_LATENCY: &str = "Switch_Latency_ns";
const OVERSUBSCRIBED: &str = "Oversubscribed";
const BUNDLE: &str = "Bundle";
const QUEUE_UP: &str = "Queue_Up";
const QUEUE_DOWN: &str = "Queue_Down";

const HEADER_KEYS: &[&str] = &[NODES, TIERS, PODSIZE];
const TIER_KEYS: &[&str] =
    &[SPEED, LATENCY, RADIX_DOWN, RADIX_UP, SWITCH_LATENCY, OVERSUBSCRIBED, BUNDLE, QUEUE_UP, QUEUE_DOWN];

/// Reads a `.topo` file: `Nodes`, `Tiers`, `Podsize`, then for each tier a block that begins with `Tier N`.
///
/// Keys are case-insensitive, `#` starts a comment, and blanks and empty lines are ignored. `Podsize` is optional
/// with 2 tiers. `Radix_Up` is optional on the top tier, and on tiers that have `Oversubscribed`. `Switch_Latency_ns`
/// is 0 by default, `Bundle` 1. Queue sizes must be numbers but have no effect, because queues belong to the scheme.
///
/// # Errors
/// The error has the file and the line: an unknown key (with the nearest known one), a value that is not a number, a
/// missing or repeated key, a number of tiers other than 2 or 3, blocks of tiers that do not match `Tiers`, or
/// numbers that are out of range or contradict each other.
pub fn parse_topo(file_name: &str, text: &str) -> Result<TopologySpec, TopologyError> {
    let file = File::read(file_name, text)?;
    let hosts: u32 = file.number(&file.header, NODES)?;
    let tiers = file.number::<u32>(&file.header, TIERS)?;
    if tiers != 2 && tiers != 3 {
        return Err(file.at(file.header.line_of(TIERS), format!("a fat tree has 2 or 3 tiers, not {tiers}")));
    }
    let pod_hosts = match file.header.get(PODSIZE) {
        None if tiers == 2 => hosts,
        _ => file.number(&file.header, PODSIZE)?,
    };
    if let Some(block) = file.tiers.iter().find(|b| b.number >= tiers) {
        let problem =
            format!("there is no tier {}: Tiers is {tiers}, so they are 0 to {}", block.number, tiers - 1);
        return Err(file.at(block.line, problem));
    }
    let mut blocks = Vec::new();
    for number in 0..tiers {
        let Some(block) = file.tiers.iter().find(|b| b.number == number) else {
            let problem = format!("Tiers is {tiers}, but there is no block \"Tier {number}\"");
            return Err(file.at(file.header.line_of(TIERS), problem));
        };
        blocks.push(block);
    }
    let tier = blocks
        .iter()
        .map(|block| file.tier(block, block.number + 1 == tiers))
        .collect::<Result<Vec<TierSpec>, _>>()?;

    Shape::check(hosts, &tier, pod_hosts).map_err(|e| {
        let (block, key) = match e.key {
            ShapeKey::Hosts => (&file.header, NODES),
            ShapeKey::PodHosts => (&file.header, PODSIZE),
            ShapeKey::Tiers => (&file.header, TIERS),
            ShapeKey::Link => (blocks[e.tier], SPEED),
            ShapeKey::RadixDown => (blocks[e.tier], RADIX_DOWN),
            ShapeKey::RadixUp => (blocks[e.tier], RADIX_UP),
            ShapeKey::Bundle => (blocks[e.tier], BUNDLE),
        };
        let Problem { message, fix } = e.problem;
        let problem = match fix {
            Some(_) if key == SPEED => Problem::with_text(message, format_args!("{key} 100, or another one")),
            Some(fix) => Problem::with_text(message, format_args!("{key} {fix}")),
            None => message.into(),
        };
        file.at(block.line_of(key), problem)
    })?;
    Ok(TopologySpec::FatTree { hosts, tier, pod_hosts })
}

struct File<'a> {
    name: &'a str,
    header: Block<'a>,
    tiers: Vec<Block<'a>>,
}

/// The header, or the block of a tier.
struct Block<'a> {
    /// The tier's number; unused in the header.
    number: u32,
    /// The first line.
    line: usize,
    entries: Vec<Entry<'a>>,
}

struct Entry<'a> {
    key: &'static str,
    value: &'a str,
    line: usize,
}

impl<'a> Block<'a> {
    fn get(&self, key: &str) -> Option<&Entry<'a>> {
        self.entries.iter().find(|e| e.key == key)
    }

    /// The line of `key`; if the block lacks the key, the block's first line.
    fn line_of(&self, key: &str) -> usize {
        self.get(key).map_or(self.line, |e| e.line)
    }
}

impl<'a> File<'a> {
    fn read(name: &'a str, text: &'a str) -> Result<File<'a>, TopologyError> {
        let header = Block { number: 0, line: 1, entries: Vec::new() };
        let mut file = File { name, header, tiers: Vec::new() };
        for (index, raw) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            let line = index + 1;
            let content = raw.split('#').next().unwrap_or("");
            let mut words = content.split_whitespace();
            let Some(word) = words.next() else { continue };
            let Some(value) = words.next() else {
                return Err(file.at(line, format!("{word} has no value; a line is a key and a number")));
            };
            if let Some(extra) = words.next() {
                let problem = format!("{extra:?} after the value of {word}; a line is a key and one number");
                return Err(file.at(line, problem));
            }
            file.add(word, value, line)?;
        }
        Ok(file)
    }

    fn add(&mut self, word: &str, value: &'a str, line: usize) -> Result<(), TopologyError> {
        if word.eq_ignore_ascii_case(TIER) {
            let number = self.parse(TIER, value, line)?;
            if let Some(first) = self.tiers.iter().find(|b| b.number == number) {
                let problem = format!("Tier {number} stands already in line {}", first.line);
                return Err(self.at(line, problem));
            }
            self.tiers.push(Block { number, line, entries: Vec::new() });
            return Ok(());
        }
        let find = |keys: &[&'static str]| keys.iter().find(|k| k.eq_ignore_ascii_case(word)).copied();
        let (key, of_header) = match (find(HEADER_KEYS), find(TIER_KEYS)) {
            (Some(key), _) => (key, true),
            (None, Some(key)) => (key, false),
            (None, None) => return Err(self.at(line, unknown(word))),
        };
        let block = match (of_header, self.tiers.last_mut()) {
            (true, None) => &mut self.header,
            (false, Some(tier)) => tier,
            (true, Some(tier)) => {
                let problem =
                    format!("{key} belongs above the first \"Tier\", not into tier {}", tier.number);
                return Err(self.at(line, problem));
            }
            (false, None) => {
                return Err(
                    self.at(line, format!("{key} belongs below a line \"Tier 0\", \"Tier 1\" or \"Tier 2\""))
                );
            }
        };
        if let Some(first) = block.get(key) {
            let problem = format!("{key} stands already in line {}; remove one", first.line);
            return Err(self.at(line, problem));
        }
        block.entries.push(Entry { key, value, line });
        Ok(())
    }

    fn tier(&self, block: &Block, top: bool) -> Result<TierSpec, TopologyError> {
        let radix_down: u32 = self.number(block, RADIX_DOWN)?;
        let quantity = |key, unit| {
            let entry = self.required(block, key)?;
            // A unit in the value would be combined with the unit that is appended below, so it is an error.
            match entry.value.find(|c: char| !c.is_ascii_digit() && c != '.') {
                Some(_) => {
                    let message = not_a_number(key, entry.value);
                    let fix = without_unit(key, entry.value);
                    Err(self.at(entry.line, Problem { message, fix }))
                }
                None => Ok((entry.line, format!("{}{unit}", entry.value))),
            }
        };
        let (line, speed) = quantity(SPEED, "Gbps")?;
        let link: Rate = speed.parse().map_err(|e| self.at(line, format!("{SPEED}: {e}")))?;
        let latency_of = |key| {
            let (line, span) = quantity(key, "ns")?;
            span.parse::<Duration>().map_err(|e| self.at(line, format!("{key}: {e}")))
        };
        let switch_latency = match block.get(SWITCH_LATENCY) {
            None => Duration::ZERO,
            Some(_) => latency_of(SWITCH_LATENCY)?,
        };
        for key in [QUEUE_UP, QUEUE_DOWN] {
            if block.get(key).is_some() {
                self.number::<u64>(block, key)?;
            }
        }
        Ok(TierSpec {
            link,
            link_latency: latency_of(LATENCY)?,
            switch_latency,
            radix_down,
            radix_up: self.radix_up(block, radix_down, top)?,
            bundle: if block.get(BUNDLE).is_some() { self.number(block, BUNDLE)? } else { 1 },
        })
    }

    /// If both `Radix_Up` and `Oversubscribed` are given, they must agree.
    fn radix_up(&self, block: &Block, radix_down: u32, top: bool) -> Result<u32, TopologyError> {
        let tier = block.number;
        let given = block.get(RADIX_UP).map(|_| self.number::<u32>(block, RADIX_UP)).transpose()?;
        let Some(entry) = block.get(OVERSUBSCRIBED) else {
            return match given {
                Some(up) => Ok(up),
                None if top => Ok(0),
                None => Err(self.missing(block, RADIX_UP)),
            };
        };
        let ratio: u32 = self.number(block, OVERSUBSCRIBED)?;
        if top {
            let problem = format!("tier {tier} is the top and has no ports up: remove {OVERSUBSCRIBED}");
            return Err(self.at(entry.line, problem));
        }
        if ratio == 0 || !radix_down.is_multiple_of(ratio) {
            let problem = format!(
                "{RADIX_DOWN} {radix_down} / {OVERSUBSCRIBED} {ratio} is no whole number of ports up"
            );
            return Err(self.at(entry.line, problem));
        }
        match given {
            Some(up) if up != radix_down / ratio => {
                let problem = Problem::with_text(
                    format!("{RADIX_DOWN} {radix_down} / {RADIX_UP} {up} is not {OVERSUBSCRIBED} {ratio}"),
                    format_args!("{RADIX_UP} {}, or another {OVERSUBSCRIBED}", radix_down / ratio),
                );
                Err(self.at(entry.line, problem))
            }
            _ => Ok(radix_down / ratio),
        }
    }

    fn required<'b>(&self, block: &'b Block<'a>, key: &str) -> Result<&'b Entry<'a>, TopologyError> {
        block.get(key).ok_or_else(|| self.missing(block, key))
    }

    fn number<T: FromStr>(&self, block: &Block, key: &str) -> Result<T, TopologyError> {
        let entry = self.required(block, key)?;
        self.parse(key, entry.value, entry.line)
    }

    fn parse<T: FromStr>(&self, key: &str, value: &str, line: usize) -> Result<T, TopologyError> {
        value.parse().map_err(|_| self.at(line, not_a_number(key, value)))
    }

    fn missing(&self, block: &Block, key: &str) -> TopologyError {
        let place =
            if HEADER_KEYS.contains(&key) { "the file".into() } else { format!("tier {}", block.number) };
        self.at(block.line, format!("{place} does not say {key}; add a line \"{key} <number>\""))
    }

    fn at(&self, line: usize, problem: impl Into<Problem>) -> TopologyError {
        TopologyError::file(self.name, line, problem)
    }
}

fn not_a_number(key: &str, value: &str) -> String {
    let what = match key {
        SPEED | LATENCY | SWITCH_LATENCY => "number without a unit",
        _ => "whole number from 0",
    };
    format!("{key} wants a {what}, not {value:?}")
}

/// The fix for a rate or a time with a unit: the value in the file's own unit, without the unit.
fn without_unit(key: &str, value: &str) -> Option<Fix> {
    let (value, unit) = match key {
        SPEED => (value.parse::<Rate>().ok().map(|rate| rate.0), Rate::from_gbps(1).0),
        _ => (value.parse::<Duration>().ok().map(|span| span.0), Duration::from_ns(1).0),
    };
    let value = value?;
    let digits = unit.ilog10() as usize;
    let number = format!("{}.{:0digits$}", value / unit, value % unit);
    let number = number.trim_end_matches('0').trim_end_matches('.');
    Some(Fix::text(format_args!("{key} {number}")))
}

fn unknown(word: &str) -> String {
    let known: Vec<&str> = HEADER_KEYS.iter().chain(TIER_KEYS).chain(&[TIER]).copied().collect();
    match nearest(word, &known) {
        Some(near) => format!("unknown key {word:?}; the nearest known one is {near}"),
        None => format!("unknown key {word:?}; the keys are {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::build;
    use super::*;
    use proptest::prelude::*;

    const GOOD: &str = "# a comment\n\nNODES 128\ntiers\t2\n\nTier 0 # ToRs\nDownlink_speed_Gbps 400\n\
        Radix_Down 8\nRadix_Up 8\r\nDownlink_Latency_ns 1000\n  switch_latency_NS 500\nQueue_Up 1000\n\
        Tier 1\nDownlink_speed_Gbps 800\nRadix_Down 16\nDownlink_Latency_ns 0.5\n";

    fn problem(text: &str) -> String {
        parse_topo("f.topo", text).unwrap_err().to_string()
    }

    #[test]
    fn blanks_comments_and_case_do_not_matter() {
        let spec = parse_topo("f.topo", GOOD).unwrap();
        let TopologySpec::FatTree { hosts, tier, pod_hosts } = &spec else { panic!("{spec:?}") };
        assert_eq!((*hosts, *pod_hosts), (128, 128));
        let tor = TierSpec {
            link: Rate::from_gbps(400),
            link_latency: Duration::from_us(1),
            switch_latency: Duration::from_ns(500),
            radix_down: 8,
            radix_up: 8,
            bundle: 1,
        };
        let spine = TierSpec {
            link: Rate::from_gbps(800),
            link_latency: Duration(500),
            switch_latency: Duration::ZERO,
            radix_down: 16,
            radix_up: 0,
            bundle: 1,
        };
        assert_eq!(tier, &[tor, spine]);
        assert_eq!(build(&spec, None).unwrap().tors(), 16);
    }

    #[test]
    fn oversubscription_stands_for_the_ports_up() {
        let text = GOOD.replace("Radix_Up 8", "Oversubscribed 4");
        let TopologySpec::FatTree { tier, .. } = parse_topo("f.topo", &text).unwrap() else { unreachable!() };
        assert_eq!(tier[0].radix_up, 2);
        assert_eq!(
            problem(&GOOD.replace("Queue_Up 1000", "Oversubscribed 4")),
            "f.topo:12: Radix_Down 8 / Radix_Up 8 is not Oversubscribed 4; write: Radix_Up 2, or another \
             Oversubscribed"
        );
        assert!(
            problem(&GOOD.replace("Radix_Up 8", "Oversubscribed 3"))
                .contains("8 / Oversubscribed 3 is no whole")
        );
    }

    #[test]
    fn errors_say_the_line_and_what_was_expected() {
        let cases = [
            (
                "Radix_Up 8",
                "Radix_Upp 8",
                "f.topo:9: unknown key \"Radix_Upp\"; the nearest known one is Radix_Up",
            ),
            ("Radix_Down 16", "Radix_Down 12", "f.topo:15: a switch of tier 1 joins 16 ToRs below it"),
            (
                "Radix_Down 16",
                "Radix_Down -4",
                "f.topo:15: Radix_Down wants a whole number from 0, not \"-4\"",
            ),
            ("Radix_Down 16", "Radix_Down", "f.topo:15: Radix_Down has no value"),
            ("Radix_Down 16", "Radix_Down 16 16", "f.topo:15: \"16\" after the value of Radix_Down"),
            ("Radix_Down 16", "Bundle 1", "f.topo:13: tier 1 does not say Radix_Down; add a line"),
            ("Radix_Down 16", "Radix_Down 16\nRadix_Up 4", "f.topo:16: tier 1 is the top"),
            ("Radix_Down 16", "Radix_Down 16\nOversubscribed 1", "f.topo:16: tier 1 is the top"),
            (
                "Radix_Down 16",
                "Radix_Down 16\nRadix_Down 16",
                "f.topo:16: Radix_Down stands already in line 15",
            ),
            ("Radix_Down 16", "Radix_Down 16\nNodes 4", "f.topo:16: Nodes belongs above the first \"Tier\""),
            ("NODES 128", "Bundle 1", "f.topo:3: Bundle belongs below a line \"Tier 0\""),
            ("NODES 128", "", "f.topo:1: the file does not say Nodes"),
            ("NODES 128", "Nodes 0", "f.topo:3: 0 hosts are not possible"),
            ("NODES 128", "Nodes 99999999999", "f.topo:3: Nodes wants a whole number"),
            ("NODES 128", "Nodes 120", "f.topo:15: a switch of tier 1 joins 15 ToRs below it"),
            ("NODES 128", "Nodes 128\nPodsize 64", "f.topo:4: with 2 tiers one pod holds all hosts"),
            ("tiers\t2", "tiers 4", "f.topo:4: a fat tree has 2 or 3 tiers, not 4"),
            ("tiers\t2", "tiers 3", "f.topo:1: the file does not say Podsize"),
            ("tiers\t2", "tiers 3\npodsize 16", "f.topo:4: Tiers is 3, but there is no block \"Tier 2\""),
            ("Tier 1", "Tier 2", "f.topo:13: there is no tier 2: Tiers is 2, so they are 0 to 1"),
            ("Tier 1", "Tier 0", "f.topo:13: Tier 0 stands already in line 6"),
            ("Gbps 800", "Gbps 0", "f.topo:14: the links below tier 1 have rate 0"),
            ("Gbps 800", "Gbps 800Gbps", "f.topo:14: Downlink_speed_Gbps wants a number without a unit"),
            ("Gbps 800", "Gbps 8.0.0", "f.topo:14: Downlink_speed_Gbps: "),
            ("ns 0.5", "ns 0.0005", "f.topo:16: Downlink_Latency_ns: "),
        ];
        for (from, to, expected) in cases {
            let text = GOOD.replacen(from, to, 1);
            assert_ne!(text, GOOD, "{from}");
            let got = problem(&text);
            assert!(got.starts_with(expected), "{to:?}: {got}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC*") {
            let _ = parse_topo("f.topo", &text);
        }

        #[test]
        fn no_words_of_its_own_make_it_panic(
            lines in prop::collection::vec(
                (prop::sample::select(vec![NODES, TIERS, PODSIZE, TIER, SPEED, LATENCY, RADIX_DOWN, RADIX_UP,
                                           SWITCH_LATENCY, OVERSUBSCRIBED, BUNDLE, QUEUE_UP, "x"]),
                 prop_oneof![0u64..20, any::<u64>()]),
                0..40,
            ),
        ) {
            let text: String = lines.iter().map(|(k, v)| format!("{k} {v}\n")).collect();
            let _ = parse_topo("f.topo", &text);
        }

        #[test]
        fn what_it_accepts_can_be_built(
            hosts in 1u32..200, tiers in 2u32..4, pod in 1u32..60, rd in prop::array::uniform3(1u32..9),
            ru in prop::array::uniform2(1u32..5), bundle in prop::array::uniform2(1u32..3),
        ) {
            let pod = if tiers == 2 { hosts } else { pod };
            let mut text = format!("Nodes {hosts}\nTiers {tiers}\nPodsize {pod}\n");
            for t in 0..tiers as usize {
                text += &format!("Tier {t}\nDownlink_speed_Gbps 100\nDownlink_Latency_ns 1\n");
                text += &format!("Radix_Down {}\n", rd[t]);
                if t + 1 < tiers as usize {
                    text += &format!("Radix_Up {}\n", ru[t]);
                }
                if t > 0 {
                    text += &format!("Bundle {}\n", bundle[t - 1]);
                }
            }
            if let Ok(spec) = parse_topo("f.topo", &text) {
                prop_assert!(build(&spec, None).unwrap().is_connected());
            }
        }
    }
}
