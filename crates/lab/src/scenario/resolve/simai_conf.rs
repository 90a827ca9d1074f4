//! Setups from the ns-3 configuration of SimAI and ASTRA-sim (`SimAI.conf`): the payload of packets, the ECN
//! thresholds for each link rate, and the buffer of a switch. The other values are those of the setup `hpcc-paper`,
//! because both tools descend from HPCC's simulator.

use crate::scenario::read::document;
use crate::scenario::resolve::setup::Setup;
use anabranch_base::{Bytes, Diagnostic, Fix, Problem, Rate};
use anabranch_engine::Scheme;
use anabranch_fabric::Topology;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

const BASE: &str = "hpcc-paper";

/// The congestion controls of `CC_MODE`, each with the scheme of this simulator that has it, if there is one.
const CONTROLS: [(u32, &str, Option<&str>); 6] = [
    (1, "DCQCN", Some("rocev2")),
    (3, "HPCC", Some("hpcc")),
    (7, "TIMELY", None),
    (8, "DCTCP", None),
    (10, "HPCC-PINT", None),
    (11, "Swift", None),
];

/// Whether a setup with this name is a file of SimAI.
pub(in crate::scenario) fn is_file(setup: &str) -> bool {
    setup.ends_with(".conf")
}

/// The text between the names of the setups over which a scenario sweeps.
pub(in crate::scenario) const BETWEEN: &str = ", ";

pub(in crate::scenario) fn files(setups: &str) -> impl Iterator<Item = &str> {
    setups.split(BETWEEN).filter(|setup| is_file(setup))
}

/// Reads a setup from a file. The link rates of the topology `on` select the ECN thresholds in the file.
pub(in crate::scenario) fn read(name: &str, text: &str, on: &Topology) -> Result<Setup, Diagnostic> {
    let conf = Conf { name, lines: lines(text) };
    let payload: u64 = conf.needed("PACKET_PAYLOAD_SIZE", "9000")?;
    let buffer: u64 = conf.needed("BUFFER_SIZE", "32")?;
    let marks = conf.marks(on)?;
    if conf.number("ENABLE_QCN")? == Some(0) {
        let (line, _) = conf.lines["ENABLE_QCN"];
        let message =
            "without marks no scheme that waits for them works; a setup has marks always".to_owned();
        return Err(conf.wrong(line, Problem::with_text(message, "ENABLE_QCN 1")));
    }
    let mut layer = format!("[transport]\npayload = \"{payload}B\"\n[fabric]\n");
    let (_, slowest) = marks[0];
    let _ = writeln!(
        layer,
        "ecn_kmin = \"{}B\"\necn_kmax = \"{}B\"\necn_pmax = {:?}",
        slowest.kmin.0, slowest.kmax.0, slowest.pmax
    );
    let step = |(rate, marks): &(Rate, Marks)| {
        format!("{{ rate = \"{rate}\", kmin = \"{}B\", kmax = \"{}B\" }}", marks.kmin.0, marks.kmax.0)
    };
    let faster: Vec<String> = marks[1..].iter().map(step).collect();
    let _ = writeln!(layer, "ecn_from = [{}]", faster.join(", "));
    let _ = writeln!(layer, "[fabric.pfc]\nbuffer = \"{buffer}MiB\"");
    let fields = document::parse(name, &layer)?;
    Ok(Setup::with_layer(name, BASE, fields))
}

/// Notes on a file: the scheme that has the congestion control of its `CC_MODE`, if there is one, and the values of the
/// file that are not read. `schemes` are those of the scenario.
pub(in crate::scenario) fn notes(name: &str, text: &str, schemes: &[Scheme]) -> Vec<String> {
    let conf = Conf { name, lines: lines(text) };
    let mut notes = Vec::new();
    if let Ok(Some(mode)) = conf.number::<u32>("CC_MODE") {
        let control = CONTROLS.iter().find(|(known, ..)| *known == mode);
        let has = |control: &str| {
            let kind = control.to_lowercase();
            let with = schemes.iter().filter(|scheme| scheme.cc.kind() == Some(kind.as_str()));
            with.map(|scheme| format!("{:?}", scheme.name)).collect::<Vec<_>>().join(" or ")
        };
        notes.push(match control {
            Some((_, control, Some(scheme))) => match has(control) {
                with if with.is_empty() => {
                    format!("CC_MODE {mode} of {name} is {control}, which here is the scheme {scheme:?}")
                }
                with => format!(
                    "CC_MODE {mode} of {name} is {control}, whose scheme here is {with}, with its own numbers"
                ),
            },
            Some((_, control, None)) => {
                format!("CC_MODE {mode} of {name} is {control}, of which there is no scheme here")
            }
            None => format!("CC_MODE {mode} of {name} is no congestion control that is known here"),
        });
    }
    if conf.lines.contains_key("GLOBAL_T") {
        notes.push(format!("GLOBAL_T of {name} has no effect, as in SimAI: windows follow from the scheme"));
    }
    notes.push(format!(
        "of {name} packets, marks and the buffer are read; the congestion control has the numbers of its scheme, and PFC those \
         of the setup {BASE}. There alpha is at the rate of host 0's first link, in SimAI an NVLink, and here at that of NICs"
    ));
    notes
}

/// The key of each line, with the number of the line and the words after the key.
fn lines(text: &str) -> BTreeMap<&str, (usize, Vec<&str>)> {
    let mut lines = BTreeMap::new();
    for (number, line) in text.lines().enumerate() {
        let mut words = line.split_whitespace();
        if let Some(key) = words.next() {
            lines.insert(key, (number + 1, words.collect()));
        }
    }
    lines
}

struct Conf<'a> {
    name: &'a str,
    lines: BTreeMap<&'a str, (usize, Vec<&'a str>)>,
}

#[derive(Clone, Copy, PartialEq)]
struct Marks {
    kmin: Bytes,
    kmax: Bytes,
    pmax: f64,
}

impl Conf<'_> {
    fn wrong(&self, line: usize, problem: impl Into<Problem>) -> Diagnostic {
        Diagnostic::in_file(self.name, Some(line), problem.into())
    }

    /// The first word after a key, which must be a number; `None` without the key.
    fn number<T: std::str::FromStr>(&self, key: &str) -> Result<Option<T>, Diagnostic> {
        let Some((line, words)) = self.lines.get(key) else { return Ok(None) };
        let number = words.first().and_then(|word| word.parse().ok());
        number.map(Some).ok_or_else(|| {
            let message = format!("{key} must have a number, not {:?}", words.join(" "));
            self.wrong(*line, message)
        })
    }

    fn needed(&self, key: &str, example: &str) -> Result<u64, Diagnostic> {
        let problem = |message: String| Problem::with_text(message, format_args!("{key} {example}"));
        match self.number(key)? {
            Some(0) => {
                let (line, _) = self.lines[key];
                Err(self.wrong(line, problem(format!("{key} must be above 0"))))
            }
            Some(number) => Ok(number),
            None => Err(self.wrong(1, problem(format!("{key} is missing")))),
        }
    }

    /// A map from rates to values: a count n, then n pairs of a rate in bits per second and a value.
    fn map(&self, key: &str) -> Result<(usize, BTreeMap<Rate, f64>), Diagnostic> {
        let form = "a count, then as many pairs of a rate in bits a second and a value";
        let fix = format!("{key} 1 400000000000 800");
        let Some((line, words)) = self.lines.get(key) else {
            return Err(self.wrong(1, Problem::with_text(format!("{key} is missing: {form}"), fix)));
        };
        let malformed = || {
            let message = format!("{key} is {form}, not {:?}", words.join(" "));
            self.wrong(*line, Problem::with_text(message, &fix))
        };
        let count: usize = words.first().and_then(|word| word.parse().ok()).ok_or_else(malformed)?;
        let pairs: Vec<&[&str]> = words[1..].chunks(2).collect();
        if pairs.len() < count || pairs[..count].iter().any(|pair| pair.len() != 2) {
            return Err(malformed());
        }
        let read = |pair: &&[&str]| {
            let value = pair[1].parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
            Some((Rate(pair[0].parse().ok()?), value?))
        };
        let read: Option<BTreeMap<Rate, f64>> = pairs[..count].iter().map(read).collect();
        Ok((*line, read.ok_or_else(malformed)?))
    }

    /// The ECN marking for each rate of the switches' links, by rising rate.
    fn marks(&self, on: &Topology) -> Result<Vec<(Rate, Marks)>, Diagnostic> {
        let of_switches = &on.ports[on.port_base[on.hosts as usize] as usize..];
        let rates: BTreeSet<Rate> = of_switches.iter().map(|port| port.rate).collect();
        let [kmin, kmax, pmax] = ["KMIN_MAP", "KMAX_MAP", "PMAX_MAP"].map(|key| self.map(key));
        let ((kmin_line, kmin), (kmax_line, kmax), (pmax_line, pmax)) = (kmin?, kmax?, pmax?);
        let value = |map: &BTreeMap<Rate, f64>, line: usize, key: &str, rate: Rate| {
            map.get(&rate).copied().ok_or_else(|| {
                let known: Vec<String> = map.keys().map(Rate::to_string).collect();
                let message = format!(
                    "links have {rate}, and {key} has no value for them: it has {}",
                    known.join(", ")
                );
                let fix = Fix::text(format_args!("the pair {} and its value behind the others", rate.0));
                self.wrong(line, Problem { message, fix: Some(fix) })
            })
        };
        // In these tools, a kilobyte has 1,000 bytes.
        let bytes = |kilobytes: f64| Bytes((kilobytes * 1e3).round() as u64);
        let mut marks: Vec<(Rate, Marks)> = Vec::new();
        for rate in rates {
            let of_rate = Marks {
                kmin: bytes(value(&kmin, kmin_line, "KMIN_MAP", rate)?),
                kmax: bytes(value(&kmax, kmax_line, "KMAX_MAP", rate)?),
                pmax: value(&pmax, pmax_line, "PMAX_MAP", rate)?,
            };
            if of_rate.kmin > of_rate.kmax || of_rate.pmax > 1.0 {
                let message = format!(
                    "for {rate} KMIN_MAP has {} and KMAX_MAP {}, and PMAX_MAP {}: a smaller one, a larger one and a probability",
                    of_rate.kmin, of_rate.kmax, of_rate.pmax
                );
                return Err(self.wrong(kmin_line, message));
            }
            if let Some((other, first)) = marks.first().filter(|(_, first)| first.pmax != of_rate.pmax) {
                let message = format!(
                    "links have {other} and {rate}, with probabilities of {} and {}; a fabric here has one for all rates",
                    first.pmax, of_rate.pmax
                );
                let fix = Fix::text("equal values for these rates into PMAX_MAP");
                return Err(self.wrong(pmax_line, Problem { message, fix: Some(fix) }));
            }
            marks.push((rate, of_rate));
        }
        Ok(marks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_base::Duration;
    use anabranch_fabric::{TopologySpec, build};

    const CONF: &str = "PACKET_PAYLOAD_SIZE 9000\nCC_MODE 1\nGLOBAL_T 0\n\
        KMAX_MAP 2 200000000000 1200 400000000000 3200\nKMIN_MAP 2 200000000000 300 400000000000 800\n\
        PMAX_MAP 2 200000000000 0.2 400000000000 0.2\nBUFFER_SIZE 32\n";

    fn on(gbps: u64) -> Topology {
        let (link, ns) = (Rate::from_gbps(gbps), Duration::from_ns(1));
        let trunk = Rate::from_gbps(200);
        let spec = TopologySpec::Dumbbell {
            hosts: 2,
            link,
            trunk,
            link_latency: ns,
            trunk_latency: ns,
            switch_latency: ns,
        };
        build(&spec, None).unwrap()
    }

    fn error(text: &str, gbps: u64) -> String {
        read("c.conf", text, &on(gbps)).map(drop).unwrap_err().to_string()
    }

    #[test]
    fn marks_follow_from_the_rates_of_links_in_kilobytes_of_1000() {
        let conf = Conf { name: "c.conf", lines: lines(CONF) };
        let marks = |kmin, kmax| Marks { kmin: Bytes(kmin), kmax: Bytes(kmax), pmax: 0.2 };
        let expected = [
            (Rate::from_gbps(200), marks(300_000, 1_200_000)),
            (Rate::from_gbps(400), marks(800_000, 3_200_000)),
        ];
        assert!(conf.marks(&on(400)).unwrap() == expected);
        assert!(conf.marks(&on(200)).unwrap() == expected[..1]);
        assert_eq!(read("c.conf", CONF, &on(400)).unwrap().name, "c.conf");
    }

    #[test]
    fn mistakes_are_answered_with_their_line() {
        assert_eq!(
            error(CONF, 100),
            "c.conf:5: links have 100Gbps, and KMIN_MAP has no value for them: it has 200Gbps, 400Gbps\n  write: the pair \
             100000000000 and its value behind the others"
        );
        assert_eq!(
            error(&CONF.replacen("400000000000 0.2", "400000000000 0.8", 1), 400),
            "c.conf:6: links have 200Gbps and 400Gbps, with probabilities of 0.2 and 0.8; a fabric here has one for all rates\n  \
             write: equal values for these rates into PMAX_MAP"
        );
        assert_eq!(
            error(&CONF.replacen("KMAX_MAP 2", "KMAX_MAP 3", 1), 400),
            "c.conf:4: KMAX_MAP is a count, then as many pairs of a rate in bits a second and a value, not \"3 200000000000 \
             1200 400000000000 3200\"\n  write: KMAX_MAP 1 400000000000 800"
        );
        assert_eq!(
            error(&CONF.replacen("BUFFER_SIZE 32", "", 1), 400),
            "c.conf:1: BUFFER_SIZE is missing\n  write: BUFFER_SIZE 32"
        );
        assert_eq!(
            error(&CONF.replacen("SIZE 9000", "SIZE 9k", 1), 400),
            "c.conf:1: PACKET_PAYLOAD_SIZE must have a number, not \"9k\""
        );
    }

    #[test]
    fn notes_name_the_scheme_and_the_traps() {
        let scheme = |name| crate::scenario::resolve::scheme::builtin::scheme(name).unwrap();
        let notes = super::notes("c.conf", CONF, &[scheme("reps")]);
        assert_eq!(notes[0], "CC_MODE 1 of c.conf is DCQCN, which here is the scheme \"rocev2\"");
        let with = super::notes("c.conf", CONF, &[scheme("reps"), scheme("rocev2"), scheme("dcqcn")]);
        let said = "CC_MODE 1 of c.conf is DCQCN, whose scheme here is \"rocev2\" or \"dcqcn\", with its own numbers";
        assert_eq!(with[0], said);
        assert!(notes[1].starts_with("GLOBAL_T of c.conf has no effect"), "{}", notes[1]);
        assert!(notes[2].contains("in SimAI an NVLink"), "{}", notes[2]);
    }
}
