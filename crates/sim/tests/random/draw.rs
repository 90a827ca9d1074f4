//! Random scenarios as users could write them: their text and files.

use crate::dice::Dice;
use crate::fabrics::{Fabric, fabric};
use crate::settings::settings;
use crate::workloads::{Starts, workload};
use anabranch_sim::scenario::schemes;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The limit on the events of a run, if the case draws no limit.
pub const MOST_EVENTS: u64 = 2_000_000;

pub struct Case {
    pub seed: u64,
    pub text: String,
    pub files: BTreeMap<String, String>,
}

pub fn case(seed: u64) -> Case {
    let mut dice = Dice::new(seed);
    let mut files = BTreeMap::new();
    // Properties that were added later are drawn from a separate generator, so that the rest of the case stays the same
    // for each seed.
    let mut more = Dice::new(!seed);
    let fabric = fabric(&mut dice, &mut more, &mut files);
    let known = schemes();
    let name = known[dice.within(0, known.len() as u64 - 1) as usize].name;
    let mut text = format!("schemes = [\"{name}\"]\n");
    if dice.chance(50) {
        let _ = writeln!(text, "seeds = [{}]", dice.scaled(1, 1 << 40));
    }
    text += &fabric.text;
    let starts = Starts::draw(&mut more);
    text += &workload(&mut dice, (&mut more, starts), &fabric, &mut files);
    text += &settings(&mut dice, name, &fabric);
    let faults = if dice.chance(45) { 0 } else { dice.within(1, 3) };
    (0..faults).for_each(|_| text += &fault(&mut dice, &fabric));
    let measures = if dice.chance(60) { 0 } else { dice.within(1, 3) };
    (0..measures).for_each(|_| text += &measure(&mut dice, &fabric, starts));
    text += &limits(&mut dice);
    if dice.chance(4) {
        text += "[sweep]\n";
        if text.contains("\nbytes = ")
            && !text.contains("collective")
            && !text.contains("[[workload.message]]")
        {
            text += "\"workload.bytes\" = [\"1B\", \"10KB\"]\n";
        } else {
            let _ = writeln!(text, "\"{name}.transport.rto\" = [\"6rtt\", \"20rtt\"]");
        }
    }
    let mut newest = Dice::new(seed.rotate_left(32));
    match newest.within(0, 9) {
        0 => text += &host_fault(&mut newest, &fabric),
        1 => text += &class(&mut newest, &fabric),
        _ => {}
    }
    Case { seed, text, files }
}

fn host_fault(dice: &mut Dice, fabric: &Fabric) -> String {
    let mut host = || dice.within(0, u64::from(fabric.hosts) - 1);
    let mut text = format!("[[fault]]\nhosts = [\"host:{}\", \"host:{}\"]\n", host(), host());
    match dice.chance(50) {
        true => {
            let (rate, buffer) = (dice.scaled(1, 20), dice.scaled(1, 500));
            let _ =
                writeln!(text, "kind = \"slow-receiver\"\nrate = \"{rate}Gbps\"\nbuffer = \"{buffer}KB\"");
        }
        false => text += "kind = \"pause-storm\"\n",
    }
    let (at, duration) = (dice.scaled(1, 100_000), dice.scaled(100, 300_000));
    let _ = writeln!(text, "at = \"{at}ns\"\nduration = \"{duration}ns\"");
    text
}

fn class(dice: &mut Dice, fabric: &Fabric) -> String {
    let (scheme, weight, priority) =
        (dice.pick(&["rocev2", "ecmp", "strack", "irn-ecmp"]), dice.within(1, 9), dice.within(0, 1));
    let (from, to) = (dice.within(0, u64::from(fabric.hosts) - 2), u64::from(fabric.hosts) - 1);
    format!(
        "[[class]]\nname = \"storage\"\nscheme = \"{scheme}\"\nweight = {weight}\npriority = {priority}\n[class.workload]\n\
         kind = \"messages\"\n[[class.workload.message]]\nfrom = {from}\nto = {to}\nbytes = \"{}B\"\n",
        dice.scaled(1, 300_000)
    )
}

fn fault(dice: &mut Dice, fabric: &Fabric) -> String {
    let kind = dice.pick(&[
        "link-down",
        "link-flap",
        "switch-down",
        "rate",
        "packet-loss",
        "switch-loss",
        "bit-errors",
    ]);
    let mut text = format!("[[fault]]\nkind = \"{kind}\"\n");
    if kind == "switch-down" {
        let _ = writeln!(text, "switches = \"{}\"", fabric.some_switch(dice));
    } else {
        let mut name = || match dice.chance(20) {
            true => format!("\"cable:{}\"", fabric.some_link(dice)),
            false => format!("\"{}\"", fabric.some_link(dice)),
        };
        let (one, other) = (name(), name());
        let several = dice.chance(20);
        text += &if several { format!("links = [{one}, {other}]\n") } else { format!("links = {one}\n") };
        if !text.contains("cable:") && dice.chance(40) {
            let _ = writeln!(text, "both_directions = {}", dice.chance(30));
        }
    }
    let lasts = dice.chance(10);
    match kind {
        // The rate is lower than that of any link in these tests, so that a fault never makes a flow faster than its
        // bound.
        "rate" => text += &format!("rate = \"{}\"\n", dice.pick(&["1Gbps", "2.5Gbps", "9Gbps"])),
        "packet-loss" | "switch-loss" => {
            let most = if lasts { 300 } else { 10_000 };
            let _ = writeln!(text, "probability = {}", dice.scaled(1, most) as f64 / 10_000.0);
        }
        "link-flap" => {
            let period = dice.scaled(1_000, 300_000);
            let down_for = dice.within(1, period - 1);
            let _ = writeln!(text, "period = \"{period}ns\"\ndown_for = \"{down_for}ns\"");
        }
        "bit-errors" => text += &format!("probability = {}\n", dice.pick(&["1e-9", "1e-7", "1e-6", "2e-6"])),
        _ => {}
    }
    if dice.chance(85) {
        let _ = writeln!(text, "at = \"{}ns\"", dice.scaled(1, 100_000));
    }
    if !lasts {
        let _ = writeln!(text, "duration = \"{}ns\"", dice.scaled(100, 200_000));
    }
    text
}

fn measure(dice: &mut Dice, fabric: &Fabric, starts: Starts) -> String {
    let of_links = [
        "link-utilisation",
        "queue-depth",
        "queue-delay",
        "arrival-rate",
        "drops",
        "pauses",
        "pause-time",
        "pause-victims",
    ];
    // A run that waits most of the time still has a point for each interval, so its intervals are longer.
    let every = dice.scaled(20, 1_000) * if starts.are_far_apart() { 100 } else { 1 };
    match dice.within(0, 9) {
        0..=5 => {
            let links = if dice.chance(40) { "all".to_owned() } else { fabric.some_link(dice) };
            let series = dice.pick(&of_links);
            format!("[[measure]]\nseries = \"{series}\"\nevery = \"{every}us\"\nlinks = \"{links}\"\n")
        }
        6 => {
            let series = dice.pick(&["program-buffer", "table-entries"]);
            let switches = fabric.some_switch(dice);
            format!("[[measure]]\nseries = \"{series}\"\nevery = \"{every}us\"\nswitches = \"{switches}\"\n")
        }
        7 => format!("[[measure]]\nseries = \"flow-throughput\"\nevery = \"{every}us\"\nqps = \"all\"\n"),
        _ => {
            let series = dice.pick(&["sender-rtt", "sender-ecn"]);
            format!("[[measure]]\nseries = \"{series}\"\nqps = \"{}\"\n", dice.pick(&["all", "0"]))
        }
    }
}

/// The limits of a run. They are low enough for thousands of runs, and sometimes too low for the run to finish.
fn limits(dice: &mut Dice) -> String {
    let mut text = "[limits]\n".to_owned();
    let events = if dice.chance(4) { dice.scaled(1, 20_000) } else { MOST_EVENTS };
    let _ = writeln!(text, "max_events = {events}");
    if dice.chance(4) {
        let _ = writeln!(text, "max_time = \"{}ns\"", dice.scaled(5_000, 1_000_000));
    } else if dice.chance(50) {
        let _ = writeln!(text, "max_time = \"3000ms\"");
    }
    if dice.chance(2) {
        let _ = writeln!(text, "max_packets = {}", dice.scaled(1, 300));
    }
    if dice.chance(30) {
        let _ = writeln!(text, "stall = \"{}ms\"", dice.scaled(5, 200));
    }
    text
}
