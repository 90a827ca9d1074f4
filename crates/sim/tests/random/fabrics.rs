//! Random fabrics of several kinds, with selectors for their links and switches.

use crate::dice::Dice;
use std::collections::BTreeMap;
use std::fmt::Write as _;

pub struct Fabric {
    pub text: String,
    pub hosts: u32,
    /// The number of switches to which hosts are attached.
    pub tors: u32,
    /// Selectors for links between switches.
    links: Vec<&'static str>,
    /// Selectors for switches, in addition to those of ToRs.
    switches: Vec<&'static str>,
    /// The number of data centres.
    pub sites: u32,
    /// Whether the longest path may be too long for timeouts that are meant for a single data centre.
    pub is_long: bool,
    /// Whether the fabric is a leaf-spine or a fat tree in which the numbers of ports are powers of two.
    pub is_regular: bool,
}

impl Fabric {
    pub fn some_link(&self, dice: &mut Dice) -> String {
        match dice.within(0, 5) {
            0 => format!("host:{}", dice.within(0, u64::from(self.hosts) - 1)),
            1 => "host-links:30%".to_owned(),
            2 => format!("tor:{}/down:0", dice.within(0, u64::from(self.tors) - 1)),
            3 if dice.chance(30) => "all".to_owned(),
            _ if self.links.is_empty() => "tor:0/down".to_owned(),
            _ => dice.pick(&self.links).to_owned(),
        }
    }

    pub fn some_switch(&self, dice: &mut Dice) -> String {
        if self.switches.is_empty() || dice.chance(40) {
            format!("tor:{}", dice.within(0, u64::from(self.tors) - 1))
        } else {
            dice.pick(&self.switches).to_owned()
        }
    }
}

const RATES: [&str; 6] = ["10Gbps", "25Gbps", "40Gbps", "100Gbps", "200Gbps", "400Gbps"];

fn rate(dice: &mut Dice) -> &'static str {
    if dice.chance(40) { "100Gbps" } else { dice.pick(&RATES) }
}

fn latencies(dice: &mut Dice) -> String {
    let mut text = String::new();
    if dice.chance(70) {
        let latency = if dice.chance(3) { 0 } else { dice.scaled(50, 5_000) };
        let _ = writeln!(text, "link_latency = \"{latency}ns\"");
    }
    if dice.chance(60) {
        let latency = if dice.chance(25) { 0 } else { dice.scaled(1, 2_000) };
        let _ = writeln!(text, "switch_latency = \"{latency}ns\"");
    }
    text
}

pub fn fabric(dice: &mut Dice, more: &mut Dice, files: &mut BTreeMap<String, String>) -> Fabric {
    let mut fabric = match dice.within(0, 9) {
        0..=2 => two_tiers(dice),
        3..=4 => three_tiers(dice),
        5 => single_switch(dice),
        6 => dumbbell(dice),
        7..=8 => cross_dc(dice),
        _ => graph(dice, files),
    };
    if more.chance(5) {
        fabric.text = without_latency(more, &fabric.text);
        if let Some(graph) = files.get_mut("graph.txt") {
            *graph = without_latency(more, graph);
        }
    }
    fabric
}

/// Sets the latency of some links to 0.
fn without_latency(dice: &mut Dice, text: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for line in &mut lines {
        let words: Vec<&str> = line.split(' ').collect();
        if let [from, to, rate, _, loss] = words[..]
            && dice.chance(40)
        {
            *line = format!("{from} {to} {rate} 0ns {loss}");
        } else if (line.starts_with("link_latency") || line.starts_with("trunk_latency")) && dice.chance(50) {
            let (key, _) = line.split_once(' ').unwrap_or_default();
            *line = format!("{key} = \"0ns\"");
        } else if line == "[[topology.tier]]" && dice.chance(70) {
            line.push_str("\nlink_latency = \"0ns\"");
        }
    }
    lines.join("\n") + "\n"
}

fn two_tiers(dice: &mut Dice) -> Fabric {
    let hosts_per_tor: u32 = dice.pick(&[2, 4, 4, 8, 3]);
    let tors = dice.pick(&[2, 4, 4, 3]);
    let mut over: Vec<u32> = vec![1, 1, 2, 4, 3];
    over.retain(|over| hosts_per_tor.is_multiple_of(*over));
    let over = dice.pick(&over);
    let kind = dice.pick(&["kind = \"leaf-spine\"", "kind = \"fat-tree\"\ntiers = 2"]);
    let mut text = format!(
        "[topology]\n{kind}\nhosts = {}\nhosts_per_tor = {hosts_per_tor}\noversubscription = {over}\nlink = \"{}\"\n{}",
        hosts_per_tor * tors,
        rate(dice),
        latencies(dice)
    );
    if dice.chance(15) {
        // The links of the upper tier have a rate of their own.
        let _ = writeln!(text, "[[topology.tier]]\n[[topology.tier]]\nlink = \"{}\"", rate(dice));
    }
    Fabric {
        text,
        hosts: hosts_per_tor * tors,
        tors,
        links: vec![
            "tor:0/up:0",
            "tor:1/up",
            "tor-uplinks:30%",
            "tor-uplinks:1",
            "spine:0/down",
            "spine:0/down:1",
        ],
        switches: vec!["spine:0", "spine:40%", "switch:1"],
        sites: 1,
        is_long: false,
        is_regular: hosts_per_tor != 3 && tors != 3,
    }
}

fn three_tiers(dice: &mut Dice) -> Fabric {
    let hosts = dice.pick(&[8, 16, 16, 32]);
    let over = if dice.chance(25) { 2 } else { 1 };
    let text = format!(
        "[topology]\nkind = \"fat-tree\"\ntiers = 3\nhosts = {hosts}\nhosts_per_tor = 2\noversubscription = {over}\nlink = \"{}\"\n{}",
        rate(dice),
        latencies(dice)
    );
    Fabric {
        text,
        hosts,
        tors: hosts / 2,
        links: vec![
            "tor:0/up:0",
            "tor-uplinks:20%",
            "agg-uplinks:20%",
            "agg:0/up",
            "core:0/down",
            "agg:1/down:0",
        ],
        switches: vec!["agg:0", "agg:30%", "core:0", "core:50%"],
        sites: 1,
        is_long: false,
        is_regular: true,
    }
}

fn single_switch(dice: &mut Dice) -> Fabric {
    let hosts = dice.within(2, 20) as u32;
    let text = format!(
        "[topology]\nkind = \"single-switch\"\nhosts = {hosts}\nlink = \"{}\"\n{}",
        rate(dice),
        latencies(dice)
    );
    let (links, switches) = (Vec::new(), Vec::new());
    Fabric { text, hosts, tors: 1, links, switches, sites: 1, is_long: false, is_regular: false }
}

fn dumbbell(dice: &mut Dice) -> Fabric {
    let hosts = 2 * dice.within(1, 8) as u32;
    let mut text = format!(
        "[topology]\nkind = \"dumbbell\"\nhosts = {hosts}\nlink = \"{}\"\n{}",
        rate(dice),
        latencies(dice)
    );
    if dice.chance(40) {
        let _ = writeln!(text, "trunk = \"{}\"", rate(dice));
    }
    let trunk = if dice.chance(40) { dice.scaled(100, 40_000) } else { 0 };
    if trunk > 0 {
        let _ = writeln!(text, "trunk_latency = \"{trunk}ns\"");
    }
    Fabric {
        text,
        hosts,
        tors: 2,
        links: vec!["tor:0/up:0", "tor:1/up:0", "tor-uplinks"],
        switches: vec!["switch:0"],
        sites: 1,
        is_long: trunk > 10_000,
        is_regular: false,
    }
}

fn cross_dc(dice: &mut Dice) -> Fabric {
    let (dcs, tors) = (dice.pick(&[2, 2, 3]), dice.within(1, 3) as u32);
    let (leaves, hosts_per_tor) = (dice.within(1, 2), dice.within(1, 4) as u32);
    let latency = dice.scaled(2, 500);
    let mut text = format!(
        "[topology]\nkind = \"cross-dc\"\ndcs = {dcs}\ntors = {tors}\nleaves = {leaves}\nhosts_per_tor = {hosts_per_tor}\n\
         link = \"{}\"\nwan_latency = \"{latency}us\"\n{}",
        rate(dice),
        latencies(dice)
    );
    if dice.chance(30) {
        let _ = writeln!(text, "esw_link = \"{}\"\nesw_link_latency = \"2us\"", rate(dice));
    }
    if dice.chance(30) {
        let _ = writeln!(text, "wan_link = \"{}\"", rate(dice));
    }
    Fabric {
        text,
        hosts: dcs * tors * hosts_per_tor,
        tors: dcs * tors,
        links: vec![
            "tor:0/up:0",
            "leaf:0/up",
            "esw:0/up:0",
            "esw-uplinks:50%",
            "leaf-uplinks:1",
            "esw:1/down:0",
        ],
        switches: vec!["leaf:0", "esw:0", "leaf:40%"],
        sites: dcs,
        is_long: true,
        is_regular: false,
    }
}

/// A graph with switches in a line, hosts on each switch, and additional cables between random pairs of switches.
fn graph(dice: &mut Dice, files: &mut BTreeMap<String, String>) -> Fabric {
    let switches = dice.within(1, 5) as u32;
    let at_each = dice.within(1, 4) as u32;
    let hosts = (switches * at_each).max(2);
    let mut cables = Vec::new();
    let loss = if dice.chance(15) { "0.002" } else { "0" };
    for host in 0..hosts {
        let to = hosts + host % switches;
        cables.push(format!("{host} {to} 100Gbps {}ns {loss}\n", dice.scaled(100, 3_000)));
    }
    for switch in 1..switches {
        let (from, to) = (hosts + switch - 1, hosts + switch);
        cables.push(format!("{from} {to} {} {}ns {loss}\n", rate(dice), dice.scaled(100, 20_000)));
    }
    let more = if switches > 1 { dice.within(0, 4) } else { 0 };
    for _ in 0..more {
        let (from, to) = dice.pair(switches);
        cables.push(format!(
            "{} {} {} {}ns 0\n",
            hosts + from,
            hosts + to,
            rate(dice),
            dice.scaled(100, 20_000)
        ));
    }
    let numbers: Vec<String> = (hosts..hosts + switches).map(|number| number.to_string()).collect();
    let head = format!("{} {switches} {}\n{}\n", hosts + switches, cables.len(), numbers.join(" "));
    files.insert("graph.txt".to_owned(), head + &cables.concat());
    let latency = if dice.chance(50) { "switch_latency = \"120ns\"\n" } else { "" };
    Fabric {
        text: format!("[topology]\nkind = \"graph\"\nfile = \"graph.txt\"\n{latency}"),
        hosts,
        tors: switches,
        links: if switches > 1 { vec!["tor:0/up:0", "tor:1/up", "tor-uplinks:1"] } else { Vec::new() },
        switches: vec!["switch:0"],
        sites: 1,
        is_long: true,
        is_regular: false,
    }
}
