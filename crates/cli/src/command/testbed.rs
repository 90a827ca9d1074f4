//! `anabranch testbed`: a scenario on real packets, beside its simulation.

use crate::args::TestbedArgs;
use crate::execute::{describe, guarded, pass_on_interrupts};
use crate::failure::Failure;
use crate::output::{aligned, note, print, print_json, width};
use crate::{clock, interrupt, record, source};
use anabranch_base::{NodeId, Time};
use anabranch_live::{LATE_ONE_IN, Links, LiveError, LiveOutcome, Settings, Work};
use anabranch_results::{ResultSet, RunRow};
use anabranch_sim::scenario::{Overrides, RunPoint};
use anabranch_sim::{Built, Control, RunError, RunResult, add};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

struct Pair {
    live: LiveOutcome,
    simulated: RunRow,
}

/// Runs a scenario on real packets and in the simulator, and prints both results with their differences. With
/// `--check` or without a scenario, it only prints what a testbed needs and whether this machine has it.
///
/// # Errors
/// Bad input, a machine without what a testbed needs, output that cannot be written, a run that failed, Ctrl-C.
pub fn testbed(args: &TestbedArgs) -> Result<(), Failure> {
    let Some(path) = args.scenario.as_ref().filter(|_| !args.check) else { return check(args) };
    interrupt::catch()?;
    let removed = anabranch_live::remove_left_behind();
    if removed > 0 {
        note(&format!("removed {removed} network namespaces of a testbed that was killed"));
    }
    let over = Overrides {
        schemes: args.schemes.clone(),
        seeds: args.seeds.clone(),
        // A run on real packets takes long, so that one seed is the default.
        usual_seeds: vec![1],
    };
    let written = source::open(path)?;
    let prepared = source::load(&written, &over)?;
    prepared.points.iter().try_for_each(check_run)?;
    if let Some(folder) = &args.record {
        record::begin(folder, &prepared)?;
    }
    let mut pairs = Vec::new();
    for (number, point) in prepared.points.iter().enumerate() {
        let folder =
            args.record.as_ref().map(|folder| record::begin_run(folder, number, point)).transpose()?;
        pairs.push(run_both(point, args, folder.as_deref())?);
    }
    let set = |title: &str, rows: &dyn Fn(&Pair) -> RunRow| {
        let mut set = ResultSet {
            title: title.to_owned(),
            scenario_toml: prepared.item.toml.clone(),
            facts: prepared.item.facts.clone(),
            ..ResultSet::default()
        };
        for pair in &pairs {
            add(&mut set, RunResult::new(rows(pair), Vec::new(), Vec::new(), Vec::new()));
        }
        format!("{title}\n\n{}", anabranch_report::table(&set, width()).trim_end())
    };
    if args.json {
        print_json(&json!({
            "title": prepared.scenario.title,
            "runs": pairs.iter().map(document).collect::<Vec<Value>>(),
        }))?;
    } else {
        let live =
            set("LIVE: real packets, all times divided by the dilation", &|pair| pair.live.row.clone());
        let simulated = set("SIMULATED: the same runs", &|pair| pair.simulated.clone());
        print(&format!(
            "{}\n\n{live}\n\n{simulated}\n\nDIFFERENCES: live beside simulated\n\n{}\n{}",
            prepared.scenario.title,
            differences(&pairs),
            validity(&pairs)
        ))?;
    }
    Ok(())
}

fn check(args: &TestbedArgs) -> Result<(), Failure> {
    let needs = anabranch_live::check();
    let missing = needs.iter().filter(|need| need.problem.is_some()).count();
    if args.json {
        let list = needs.iter().map(|need| json!({ "need": need.what, "problem": need.problem }));
        print_json(&json!({ "needs": list.collect::<Vec<Value>>(), "missing": missing }))?;
    } else {
        for need in &needs {
            let state = need.problem.as_deref().unwrap_or("there");
            print(&format!("{}: {state}\n", need.what))?;
        }
    }
    match missing {
        0 => Ok(()),
        _ => Err(Failure::Run(format!("{missing} of {} needs of a testbed are missing", needs.len()))),
    }
}

/// Refuses a point that a testbed cannot carry. All points are checked first, so that no result of another is lost.
fn check_run(point: &RunPoint) -> Result<(), Failure> {
    let named = describe(&point.scheme.name, point.seed, &point.sweep);
    let built = anabranch_sim::build(point).map_err(|error| Failure::Run(format!("{named}: {error}")))?;
    anabranch_live::check_run(point, &built).map_err(|error| Failure::Input(format!("{named}: {error}")))
}

fn run_both(point: &RunPoint, args: &TestbedArgs, record: Option<&Path>) -> Result<Pair, Failure> {
    let named = describe(&point.scheme.name, point.seed, &point.sweep);
    let failed = |what: &dyn std::fmt::Display| Failure::Run(format!("{named}: {what}"));
    let built = anabranch_sim::build(point).map_err(|error| failed(&error))?;
    let controls = [Control { threads: 1, ..Control::default() }];
    let begin = clock::now();
    let ran = pass_on_interrupts(&controls, || guarded(|| anabranch_sim::run(point, &controls[0])));
    let simulated = match ran.map_err(|panic| failed(&panic))? {
        Ok(result) => RunRow { wall_s: begin.elapsed().as_secs_f64(), ..result.run },
        Err(RunError::Cancelled) => return Err(Failure::Interrupted(format!("{named}: interrupted"))),
        Err(error) => return Err(failed(&error)),
    };
    let work = work(point, &built, &simulated);
    let dilation = args.dilation.unwrap_or_else(|| work.fitting_dilation());
    work.check(dilation).map_err(|error| Failure::Input(format!("{named}: {error}")))?;
    let expected = work.real_seconds(dilation);
    note(&format!("{named}: dilation {dilation}, about {expected:.1} s"));
    let settings = Settings {
        dilation,
        links: if args.sockets { Links::SocketPairs } else { Links::Namespaces },
        limit: args.limit.map_or(Duration::from_secs_f64(expected * 5.0 + 10.0), Duration::from_secs),
        record,
        interrupted: &interrupt::asked_to_stop,
    };
    let begin = clock::now();
    let mut live = anabranch_live::live(point, &built, &settings).map_err(|error| match error {
        LiveError::Interrupted => {
            Failure::Interrupted(format!("{named}: interrupted; nothing is left behind"))
        }
        LiveError::Unsupported(what) => Failure::Input(format!("{named}: {what}")),
        error => failed(&error),
    })?;
    if live.kernel_drops > 0 {
        let drops = live.kernel_drops;
        return Err(failed(&format!(
            "the kernel dropped {drops} frames, so that the links of this run were not those of the scenario\n  \
             help: --dilation {}",
            dilation.saturating_mul(4)
        )));
    }
    live.row.wall_s = begin.elapsed().as_secs_f64();
    // Ideal times depend only on the scenario, so those of the simulation apply to the run on real packets as well.
    (live.row.ideal_fct_max_us, live.row.ideal_cct_max_us) =
        (simulated.ideal_fct_max_us, simulated.ideal_cct_max_us);
    Ok(Pair { live, simulated })
}

fn work(point: &RunPoint, built: &Built, simulated: &RunRow) -> Work {
    let first = built.topology.link(NodeId(0), 0);
    let bytes = point.scheme.transport.framing().payload.0 + point.scheme.transport.framing().header.0;
    Work {
        packet_hops: simulated.packet_hops,
        lasts: Time((simulated.sim_time_us * 1e6) as u64),
        packet: Time(built.topology.ports[first.index()].rate.time_for(bytes).0),
    }
}

/// A column of the table of differences: its name, its number, and whether the number is a time, whose difference is
/// shown in percent.
type Column = (&'static str, fn(&RunRow) -> f64, bool);

const COLUMNS: [Column; 8] = [
    ("mean FCT", |row| row.fct_mean_us, true),
    ("max FCT", |row| row.fct_max_us, true),
    ("CCT", |row| row.cct_mean_us, true),
    ("drops", |row| row.drops as f64, false),
    ("lost on links", |row| row.link_losses as f64, false),
    ("trims", |row| row.trims as f64, false),
    ("marks", |row| row.ecn_marks as f64, false),
    ("retransmissions", |row| row.retransmissions as f64, false),
];

/// A table of both runs of each pair. Columns that are 0 everywhere are left out.
fn differences(pairs: &[Pair]) -> String {
    let shown: Vec<&Column> = COLUMNS
        .iter()
        .filter(|(_, of, _)| pairs.iter().any(|pair| of(&pair.live.row) + of(&pair.simulated) > 0.0))
        .collect();
    let mut head = vec!["scheme, seed".to_owned()];
    head.extend(shown.iter().map(|(name, ..)| (*name).to_owned()));
    head.push("late (packets)".to_owned());
    let mut rows = vec![head];
    for pair in pairs {
        let (live, simulated) = (&pair.live.row, &pair.simulated);
        let mut row = vec![describe(&live.scheme, live.seed, &live.sweep)];
        row.extend(shown.iter().map(|(_, of, is_time)| {
            let (live, simulated) = (of(live), of(simulated));
            match is_time {
                true => format!("{live:.2} / {simulated:.2} us ({:+.1} %)", (live / simulated - 1.0) * 100.0),
                false => format!("{live:.0} / {simulated:.0}"),
            }
        }));
        row.push(format!("{:.2}", pair.live.lateness()));
        rows.push(row);
    }
    aligned(&rows)
}

fn validity(pairs: &[Pair]) -> String {
    let share = 100 - 100 / LATE_ONE_IN;
    let checked: u64 = pairs.iter().map(|pair| pair.live.checked).sum();
    let worst = pairs.iter().map(|pair| pair.live.lateness()).fold(0.0, f64::max);
    let longest = pairs.iter().map(|pair| pair.live.frames.max_ns).max().unwrap_or(0);
    let mut text = format!(
        "All {checked} messages arrived with the bytes that were sent. {share} % of all actions came at most {worst:.2} \
         packet times too late, the latest frame {:.1} ms of real time.\n",
        longest as f64 / 1e6
    );
    for pair in pairs {
        if let Some(dilation) = pair.live.needed_dilation() {
            let named = describe(&pair.simulated.scheme, pair.simulated.seed, &pair.simulated.sweep);
            text.push_str(&format!(
                "INVALID: {named}: nodes acted too late by more than a packet time; --dilation {dilation} would do\n"
            ));
        }
    }
    text
}

fn document(pair: &Pair) -> Value {
    let row = |row: &RunRow| {
        json!({
            "fct_mean_us": row.fct_mean_us, "fct_max_us": row.fct_max_us, "cct_mean_us": row.cct_mean_us,
            "flows": row.flows, "flows_finished": row.flows_finished, "drops": row.drops,
            "link_losses": row.link_losses, "trims": row.trims, "ecn_marks": row.ecn_marks,
            "retransmissions": row.retransmissions, "timeouts": row.timeouts, "packet_hops": row.packet_hops,
            "pause_frames": row.pause_frames, "peak_queue_bytes": row.peak_queue_bytes, "extra": row.extra,
        })
    };
    let live = &pair.live;
    json!({
        "scheme": live.row.scheme, "seed": live.row.seed, "sweep": live.row.sweep, "dilation": live.dilation,
        "live": row(&live.row), "simulated": row(&pair.simulated), "messages_checked": live.checked,
        "lateness_packet_times": live.lateness(), "latest_frame_us": live.frames.max_ns as f64 / 1e3,
        "valid": live.needed_dilation().is_none(), "needed_dilation": live.needed_dilation(),
    })
}
