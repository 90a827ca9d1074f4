//! Tests of the examples: they run, their results show what they demonstrate, and the results do not depend on the
//! number of threads.

#[expect(dead_code, reason = "an example's main is not called here")]
#[path = "../../examples/own_balancer.rs"]
mod own_balancer;
#[expect(dead_code, reason = "an example's main is not called here")]
#[path = "../../examples/own_congestion_control.rs"]
mod own_congestion_control;
#[expect(dead_code, reason = "an example's main is not called here")]
#[path = "../../examples/own_observer.rs"]
mod own_observer;
#[expect(dead_code, reason = "an example's main is not called here")]
#[path = "../../examples/own_program.rs"]
mod own_program;
#[expect(dead_code, reason = "an example's main is not called here")]
#[path = "../../examples/own_topology.rs"]
mod own_topology;
#[expect(dead_code, reason = "an example's main is not called here")]
#[path = "../../examples/own_transport.rs"]
mod own_transport;
#[expect(dead_code, reason = "an example's main is not called here")]
#[path = "../../examples/own_workload.rs"]
mod own_workload;

use std::error::Error;

/// The output of an example, as rows of words. It must be the same on one and on two threads.
fn table(compare: impl Fn(usize) -> Result<String, Box<dyn Error>>) -> Vec<Vec<String>> {
    let text = compare(1).unwrap();
    assert_eq!(text, compare(2).unwrap());
    text.lines().skip(1).map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
}

fn number(table: &[Vec<String>], row: &str, column: usize) -> f64 {
    let row = table.iter().find(|words| words[0] == row).unwrap_or_else(|| panic!("no {row} in {table:?}"));
    row[column].parse().unwrap()
}

fn names(table: &[Vec<String>]) -> Vec<&str> {
    table.iter().map(|words| words[0].as_str()).collect()
}

#[test]
fn a_balancer_that_leaves_marked_paths_is_between_one_path_and_reps() {
    let table = table(own_balancer::compare);
    assert_eq!(names(&table), ["reps", "ops", "ecmp", "sticky"]);
    let max = |scheme| number(&table, scheme, 2);
    assert!(max("reps") < max("sticky") && max("sticky") < max("ecmp"), "{table:?}");
}

#[test]
fn a_program_that_takes_uplinks_in_turn_drops_nothing() {
    let table = table(own_program::compare);
    assert_eq!(names(&table), ["ecmp", "in-turn", "by-eights"]);
    let [drops, spread] = [2, 3].map(|column| move |table: &[Vec<String>], row| number(table, row, column));
    assert!(drops(&table, "ecmp") > 0.0 && spread(&table, "ecmp") == 0.0, "{table:?}");
    for scheme in ["in-turn", "by-eights"] {
        assert!(drops(&table, scheme) == 0.0 && spread(&table, scheme) > 1_000.0, "{table:?}");
        assert!(number(&table, scheme, 1) < number(&table, "ecmp", 1), "{table:?}");
    }
}

#[test]
fn joined_meshes_are_faster_than_a_ring() {
    let table = table(own_topology::compare);
    assert_eq!(names(&table), ["ring", "meshes"]);
    // Each host has one cable. The ring has 20 further cables. Each of the five meshes of four switches has 6 further
    // cables, and the mesh of the five groups has 10.
    assert_eq!([1, 2].map(|column| number(&table, "ring", column)), [40.0, 40.0 + 20.0]);
    assert_eq!([1, 2].map(|column| number(&table, "meshes", column)), [40.0, 40.0 + 5.0 * 6.0 + 10.0]);
    assert!(number(&table, "meshes", 3) < number(&table, "ring", 3), "{table:?}");
}

#[test]
fn drops_are_counted_at_their_links() {
    let table = table(own_observer::compare);
    let (all, links) = table.split_last().unwrap();
    assert!(links.len() > 2 && links.iter().all(|link| link[0].contains(":")), "{table:?}");
    let counted: u64 = links.iter().map(|link| link[1].parse::<u64>().unwrap()).sum();
    assert!(counted > 0);
    assert_eq!((all[0].as_str(), all[1].parse()), ("all", Ok(counted)));
}

#[test]
fn a_window_that_follows_the_round_trip_keeps_a_short_queue() {
    let table = table(own_congestion_control::compare);
    assert_eq!(names(&table), ["reps", "delay-target"]);
    let [time, queue] = [1, 2].map(|column| move |table: &[Vec<String>], row| number(table, row, column));
    assert!(queue(&table, "delay-target") < 0.5 * queue(&table, "reps"), "{table:?}");
    assert!(time(&table, "delay-target") < 1.2 * time(&table, "reps"), "{table:?}");
}

#[test]
fn a_transport_with_a_packet_of_its_own_repairs_losses_without_timeouts() {
    let table = table(own_transport::compare);
    assert_eq!(names(&table), ["reps", "report"]);
    let row = |column| number(&table, "report", column);
    let [losses, resent, timeouts] = [2, 3, 4].map(row);
    // The receiver's reports are lost as well, but later reports replace them.
    assert!(losses > 5.0 && resent > 0.25 * losses && timeouts < 0.5 * resent, "{table:?}");
    // `sack`, the transport of `reps`, needs a timeout to repair each loss.
    assert!(timeouts < 0.5 * number(&table, "reps", 4), "{table:?}");
}

#[test]
fn a_parameter_server_waits_for_all_workers_in_each_round() {
    let table = table(own_workload::compare);
    assert_eq!(names(&table), ["reps", "reps", "dcp", "dcp"]);
    let column = |at: usize| table.iter().map(|row| row[at].parse().unwrap()).collect::<Vec<f64>>();
    assert_eq!(column(2), [62.0, 248.0, 62.0, 248.0]);
    // 31 pushes of 500 KB share the server's link, and so do the returned parameters. This takes 31 * 40 us in each
    // direction.
    let took = column(3);
    for times in took.chunks(2) {
        assert!(
            times[0] > 2_480.0 && times[1] > 4.0 * 2_480.0 && times[1] < 4.0 * times[0] + 500.0,
            "{table:?}"
        );
    }
}
