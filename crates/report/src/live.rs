//! Runs on real packets beside their simulations.

use anabranch_results::{LiveRun, ResultSet, RunRow};
use std::collections::BTreeSet;

/// A column of the comparison: its name, its number, and whether the number is a time, whose difference is shown in
/// percent.
type Column = (&'static str, fn(&RunRow) -> f64, bool);

const COLUMNS: [Column; 9] = [
    ("mean FCT", |row| row.fct_mean_us, true),
    ("max FCT", |row| row.fct_max_us, true),
    ("CCT", |row| row.cct_mean_us, true),
    ("drops", |row| row.drops as f64, false),
    ("lost on links", |row| row.link_losses as f64, false),
    ("trims", |row| row.trims as f64, false),
    ("marks", |row| row.ecn_marks as f64, false),
    ("retransmissions", |row| row.retransmissions as f64, false),
    ("timeouts", |row| row.timeouts as f64, false),
];

/// A table with a row for each run: live / simulated. The first row has the headings. Quantities that are 0 in all runs
/// are left out, except the lateness.
pub fn live_differences(set: &ResultSet) -> Vec<Vec<String>> {
    let pairs = || set.runs.iter().zip(&set.live);
    let is_shown =
        |column: &&Column| pairs().any(|(row, live)| column.1(row) + column.1(&live.simulated) > 0.0);
    let shown: Vec<&Column> = COLUMNS.iter().filter(is_shown).collect();
    let mut head = vec!["scheme, seed".to_owned()];
    head.extend(shown.iter().map(|(name, ..)| (*name).to_owned()));
    head.push("late (packets)".to_owned());
    let mut rows = vec![head];
    rows.extend(pairs().map(|(run, live)| {
        let mut row = vec![named(run)];
        row.extend(shown.iter().map(|(_, of, is_time)| {
            let (live, simulated) = (of(run), of(&live.simulated));
            match is_time {
                true => format!("{live:.2} / {simulated:.2} us ({:+.1} %)", (live / simulated - 1.0) * 100.0),
                false => format!("{live:.0} / {simulated:.0}"),
            }
        }));
        row.push(format!("{:.2}", live.lateness_packet_times));
        row
    }));
    rows
}

/// The invalid runs of a set on real packets, a sentence for each. A run is invalid if nodes acted too late.
pub fn live_invalid(set: &ResultSet) -> Vec<String> {
    let invalid = |(run, live): (&RunRow, &LiveRun)| {
        let dilation = live.needed_dilation?;
        let seconds = run.wall_s * f64::from(dilation) / f64::from(live.dilation.max(1));
        Some(format!(
            "INVALID: {}: nodes acted too late by more than a packet time, so that its times are not those of the scenario; \
             --dilation {dilation} would do (about {seconds:.0} s), or a machine with less other work",
            named(run)
        ))
    };
    set.runs.iter().zip(&set.live).filter_map(invalid).collect()
}

/// Sentences about the bytes that arrived, and about the lateness of the runs.
pub fn live_checks(set: &ResultSet) -> [String; 2] {
    let sum = |of: fn(&LiveRun) -> u64| set.live.iter().map(of).sum::<u64>();
    let (messages, bytes) = (sum(|run| run.messages_checked), sum(|run| run.bytes_checked));
    let most = |of: fn(&LiveRun) -> f64| set.live.iter().map(of).fold(0.0, f64::max);
    [
        format!("Bytes: all {messages} messages ({bytes} bytes) arrived with the bytes that were sent."),
        format!(
            "Times: 99 % of all actions came at most {:.2} packet times too late, the latest frame {:.1} ms of real time.",
            most(|run| run.lateness_packet_times),
            most(|run| run.latest_frame_us) / 1e3
        ),
    ]
}

/// A sentence that the runs were on real packets, with their dilations. None if the runs were simulated.
pub(crate) fn dilations(set: &ResultSet) -> Option<String> {
    let dilations: BTreeSet<u32> = set.live.iter().map(|run| run.dilation).collect();
    let dilations: Vec<String> = dilations.iter().map(u32::to_string).collect();
    (!dilations.is_empty()).then(|| {
        format!("On real packets, {} times slower. All times are divided by that.", dilations.join(" and "))
    })
}

fn named(run: &RunRow) -> String {
    let sweep: String = run.sweep.iter().map(|(name, value)| format!(", {name} = {value}")).collect();
    format!("{}, seed {}{sweep}", run.scheme, run.seed)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::samples::two_schemes;

    /// The runs of [`two_schemes`] on real packets. The first run is invalid.
    pub(crate) fn on_real_packets() -> ResultSet {
        let mut set = two_schemes();
        let live = |(number, run): (usize, &RunRow)| LiveRun {
            dilation: 100_000,
            lateness_packet_times: if number == 0 { 2.0 } else { 0.25 },
            latest_frame_us: 1_500.0,
            needed_dilation: (number == 0).then_some(300_000),
            messages_checked: 4,
            bytes_checked: 1000,
            simulated: RunRow { fct_mean_us: run.fct_mean_us * 2.0, drops: 7, ..run.clone() },
        };
        set.live = set.runs.iter().enumerate().map(live).collect();
        set.runs.iter_mut().for_each(|run| run.wall_s = 5.0);
        set
    }

    #[test]
    fn live_and_simulated_numbers_are_side_by_side() {
        let set = on_real_packets();
        let table = live_differences(&set);
        assert_eq!(table.len(), set.runs.len() + 1);
        let at = |head: &str| table[0].iter().position(|cell| cell == head).unwrap();
        assert!(table[1][at("mean FCT")].ends_with("us (-50.0 %)"), "{table:?}");
        assert_eq!(table[1][at("drops")], format!("{} / 7", set.runs[0].drops));
        assert_eq!(table[1].last().unwrap(), "2.00");
        assert!(!table[0].contains(&"CCT".to_owned()), "it is 0 everywhere");
        let invalid = live_invalid(&set);
        assert_eq!(invalid.len(), 1);
        assert!(invalid[0].contains("--dilation 300000 would do (about 15 s)"), "{invalid:?}");
        let [bytes, times] = live_checks(&set);
        assert!(bytes.contains(&format!("all {} messages", 4 * set.runs.len())), "{bytes}");
        assert!(times.contains("at most 2.00 packet times too late, the latest frame 1.5 ms"), "{times}");
        assert_eq!(dilations(&two_schemes()), None);
    }
}
