//! Random workloads of several kinds, with at most a few megabytes.

use crate::dice::Dice;
use crate::fabrics::Fabric;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The approximate limit on the total bytes of a workload without random arrivals.
const MOST: u64 = 1_200_000;

#[derive(Clone, Copy)]
pub enum Starts {
    /// Independent times within 300 us.
    AnyTime,
    /// Nearly simultaneous times that are at most `most` ns apart.
    Jittered { at: u64, most: u64 },
    /// Bursts at multiples of `gap` ns. A gap is usually far longer than a burst.
    FarApart { gap: u64 },
}

impl Starts {
    pub fn draw(dice: &mut Dice) -> Starts {
        match dice.within(0, 9) {
            0..=5 => Starts::AnyTime,
            6..=7 => Starts::Jittered { at: dice.scaled(1, 100_000), most: dice.scaled(1, 3_000) },
            _ => Starts::FarApart { gap: dice.scaled(1_000_000, 150_000_000) },
        }
    }

    pub fn are_far_apart(self) -> bool {
        matches!(self, Starts::FarApart { .. })
    }

    /// The start time in ns of a message that would start at `usual` by default.
    fn at(self, dice: &mut Dice, usual: u64) -> u64 {
        match self {
            Starts::AnyTime => usual,
            Starts::Jittered { at, most } => at + dice.within(0, most),
            Starts::FarApart { gap } => gap * dice.within(0, 3) + usual.min(1_000),
        }
    }
}

pub fn workload(
    dice: &mut Dice,
    (more, starts): (&mut Dice, Starts),
    fabric: &Fabric,
    files: &mut BTreeMap<String, String>,
) -> String {
    let hosts = fabric.hosts;
    let each = |dice: &mut Dice, flows: u64| dice.scaled(1, (MOST / flows.max(1)).max(2));
    let mut text = "[workload]\n".to_owned();
    match dice.within(0, 13) {
        0..=1 => {
            let bytes = each(dice, u64::from(hosts));
            let _ = writeln!(text, "kind = \"permutation\"\nbytes = \"{bytes}B\"");
            if dice.chance(30) && hosts > 2 {
                let _ = writeln!(text, "hosts = {}", dice.within(2, u64::from(hosts)));
            } else if fabric.tors > 1 && dice.chance(30) {
                let _ = writeln!(text, "cross_tor = true");
            }
        }
        2 => {
            let bytes = each(dice, u64::from(hosts));
            let _ = writeln!(text, "kind = \"tornado\"\nbytes = \"{bytes}B\"");
            if dice.chance(50) {
                let _ = writeln!(text, "senders = {}", dice.within(1, u64::from(hosts)));
            }
        }
        3..=4 => {
            let degree = dice.within(1, u64::from(hosts) - 1);
            let bytes = each(dice, degree);
            let target = dice.within(0, u64::from(hosts) - 1);
            let _ = writeln!(
                text,
                "kind = \"incast\"\nbytes = \"{bytes}B\"\ndegree = {degree}\ntarget = {target}"
            );
        }
        5..=6 => text += &poisson(dice, fabric, files),
        7..=8 => text += &collective(dice, more, hosts),
        9..=10 => {
            let count = dice.within(1, 12);
            text += "kind = \"messages\"\n";
            for _ in 0..count {
                let (from, to) = dice.pair(hosts);
                let bytes = each(dice, count);
                let _ =
                    writeln!(text, "[[workload.message]]\nfrom = {from}\nto = {to}\nbytes = \"{bytes}B\"");
                if dice.chance(60) {
                    let usual = dice.scaled(1, 300_000);
                    let _ = writeln!(text, "start = \"{}ns\"", starts.at(more, usual));
                }
            }
        }
        11 => {
            let count = dice.within(1, 10);
            let mut flows = format!("{count}\n");
            for _ in 0..count {
                let (from, to) = dice.pair(hosts);
                let usual = dice.within(0, 100_000);
                let start = 2.0 + starts.at(more, usual) as f64 / 1e9;
                let _ = writeln!(flows, "{from} {to} 3 {} {start:.9}", each(dice, count));
            }
            files.insert("flows.txt".to_owned(), flows);
            text += "kind = \"ns3-flows\"\nfile = \"flows.txt\"\n";
        }
        _ => {
            files.insert("matrix.cm".to_owned(), matrix(dice, (more, starts), hosts));
            text += "kind = \"cm\"\nfile = \"matrix.cm\"\nstart_unit = \"1ns\"\n";
        }
    }
    text
}

fn poisson(dice: &mut Dice, fabric: &Fabric, files: &mut BTreeMap<String, String>) -> String {
    let (sizes, least) = if dice.chance(30) {
        (dice.pick(&["facebook-hadoop", "websearch", "alistorage"]), 40)
    } else {
        files.insert("sizes.cdf".to_owned(), "0 0\n1000 40\n9000 70\n60000 100\n".to_owned());
        ("sizes.cdf", 5)
    };
    let mut text = format!(
        "kind = \"poisson\"\nsizes = \"{sizes}\"\nload = 0.{}\nduration = \"{}us\"\n",
        dice.within(1, 6),
        dice.scaled(least, 8 * least)
    );
    if dice.chance(25) && fabric.hosts > 2 {
        let degree = dice.within(1, u64::from(fabric.hosts) - 1);
        let _ = writeln!(
            text,
            "incast = {{ degree = {degree}, bytes = \"{}B\", load = 0.1 }}",
            dice.scaled(100, 20_000)
        );
    }
    if dice.chance(40) && fabric.sites > 1 {
        let _ = writeln!(text, "pipeline = {{ bytes = \"{}B\", load = 0.1 }}", dice.scaled(1_000, 30_000));
    }
    text
}

fn collective(dice: &mut Dice, more: &mut Dice, hosts: u32) -> String {
    let algorithm = dice.pick(&[
        "allreduce-ring",
        "allreduce-double-binary-tree",
        "allreduce-halving-doubling",
        "allreduce-recursive-doubling",
        "allgather-ring",
        "reducescatter-ring",
        "alltoall",
    ]);
    let mut ranks = dice.within(2, u64::from(hosts.min(16)));
    if algorithm.ends_with("doubling") && dice.chance(70) {
        ranks = 1 << ranks.ilog2();
    }
    let mut jobs = dice.within(1, u64::from(hosts) / ranks);
    if hosts >= 4 && jobs == 1 && more.chance(50) {
        jobs = more.within(2, u64::from(hosts / 2).min(6));
        ranks = ranks.min(u64::from(hosts) / jobs);
        if algorithm.ends_with("doubling") {
            ranks = 1 << ranks.ilog2();
        }
    }
    let bytes = dice.scaled(1, MOST / (4 * ranks * jobs));
    let mut text = format!("kind = \"collective\"\nalgorithm = \"{algorithm}\"\nbytes = \"{bytes}B\"\n");
    let _ = writeln!(text, "ranks = {ranks}\njobs = {jobs}");
    if dice.chance(50) {
        let _ = writeln!(text, "placement = \"{}\"", dice.pick(&["blocks", "random"]));
    }
    if algorithm == "alltoall" {
        let _ = writeln!(text, "connections = {}", dice.within(1, ranks - 1));
    } else if dice.chance(60) {
        let _ = writeln!(text, "chunk = \"{}B\"", (bytes / dice.within(1, 30)).max(200));
    }
    text
}

/// A connection matrix with triggers. Each message waits only for earlier ones, so that all can start.
fn matrix(dice: &mut Dice, (more, starts): (&mut Dice, Starts), hosts: u32) -> String {
    struct Line {
        head: String,
        tail: String,
    }
    let count = dice.within(1, 24);
    let mut lines: Vec<Line> = Vec::new();
    let mut triggers = Vec::new();
    let mut connections: Vec<(u64, u32, u32)> = Vec::new();
    // Messages that do not activate a trigger yet.
    let mut free: Vec<usize> = Vec::new();
    for number in 1..=count {
        let bytes = dice.scaled(1, (MOST / count).max(2));
        // The message is another one of an existing connection, or begins a new connection.
        let further = !connections.is_empty() && dice.chance(25);
        let (id, from, to) = if further {
            dice.pick(&connections)
        } else {
            let (from, to) = dice.pair(hosts);
            connections.push((number, from, to));
            (number, from, to)
        };
        let msg = if further { " msg" } else { "" };
        let start = if !free.is_empty() && dice.chance(60) {
            let trigger = triggers.len() + 1;
            let fired_by = dice.within(1, (free.len() as u64).min(3)) as usize;
            for _ in 0..fired_by {
                let at = dice.within(0, free.len() as u64 - 1) as usize;
                let on = dice.pick(&["send", "recv"]);
                let _ = write!(lines[free.swap_remove(at)].tail, " {on}_done_trigger {trigger}");
            }
            triggers.push(match dice.within(0, 2) {
                0 => format!("trigger id {trigger} oneshot\n"),
                1 => format!("trigger id {trigger} multishot\n"),
                _ => format!("trigger id {trigger} barrier count {}\n", dice.within(1, fired_by as u64)),
            });
            format!("trigger {trigger}")
        } else {
            let usual = if dice.chance(50) { 0 } else { dice.scaled(1, 100_000) };
            format!("start {}", starts.at(more, usual))
        };
        free.push(lines.len());
        lines.push(Line { head: format!("{from}->{to} id {id} {start} size {bytes}"), tail: msg.to_owned() });
    }
    let mut text = format!("Nodes {hosts}\nConnections {count}\nTriggers {}\n", triggers.len());
    for line in &lines {
        let _ = writeln!(text, "{}{}", line.head, line.tail);
    }
    text + &triggers.concat()
}
