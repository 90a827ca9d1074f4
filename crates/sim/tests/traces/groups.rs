//! Collectives of Chakra traces among some of the ranks.

use super::formats::{BOOL, INT64, Proto, UINT64, file, node};
use super::*;

const KEYS: &str = "comm_groups = \"groups.json\"\nchunk = \"1MB\"";

/// An AllReduce whose size is stored as a number of the given type.
fn reduce(id: u64, bytes: u64, number: u64, after: &[u64]) -> Proto {
    let node = node(id, 7, after).attribute("is_cpu_op", BOOL, 0);
    node.attribute("comm_type", number, 0).attribute("comm_size", number, bytes)
}

/// The node with the text attribute `pg_name`, which names its group.
fn named(node: Proto, group: &str) -> Proto {
    let attribute = Proto::default().bytes(1, b"pg_name").bytes(29, group.as_bytes());
    node.bytes(10, attribute.as_bytes())
}

fn with(groups: &str, files: &[Vec<u8>]) -> Result<u64, String> {
    let others = vec![("groups.json".to_owned(), groups.as_bytes().to_vec())];
    of_ranks_beside(KEYS, files, others).map(|result| result.jobs[0].cct_ps.unwrap())
}

fn ring(ranks: u32, bytes: u64) -> u64 {
    collective(ranks, &format!("algorithm = \"allreduce-ring\"\nbytes = \"{bytes}B\"\nchunk = \"1MB\""))
}

/// Two groups reduce at the same time, and then all ranks reduce together. Groups are given by name or by number, and
/// sizes as int64 or as uint64.
#[test]
fn ranks_of_a_group_reduce_among_themselves() {
    let groups = "{\"7\": [0, 2, 4], \"12\": [1, 3, 5]}";
    let files = |number: u64, as_text: bool| -> Vec<Vec<u8>> {
        let of = |rank: u64| if rank.is_multiple_of(2) { 7 } else { 12 };
        let in_group = |rank, node: Proto| match as_text {
            true => named(node, &of(rank).to_string()),
            false => node.attribute("comm_group", 7, of(rank)),
        };
        let rank = |rank| {
            let first = in_group(rank, reduce(1, 408_600, number, &[]));
            let second = in_group(rank, reduce(2, 40_860, number, &[1]));
            let all = reduce(3, 122_580, number, &[2]);
            file(&[first, second, if as_text { named(all, "0") } else { all }])
        };
        (0..6).map(rank).collect()
    };
    // The blocks of each collective have the same size, so that ranks end at the same time.
    let expected = ring(3, 408_600) + ring(3, 40_860) + ring(6, 122_580);
    for number in [INT64, UINT64] {
        for as_text in [true, false] {
            assert_eq!(with(groups, &files(number, as_text)), Ok(expected), "{number} {as_text}");
        }
    }
}

/// The files that a run keeps contain the groups of the trace.
#[test]
fn the_resolved_form_needs_no_files() {
    let files: Vec<Vec<u8>> = (0..2).map(|_| file(&[named(reduce(1, 40_860, INT64, &[]), "1")])).collect();
    let named = |rank: usize| (format!("job.{rank}.et"), files[rank].clone());
    let groups = ("groups.json".to_owned(), b"{\"1\": [0, 1]}".to_vec());
    let folder = Folder([named(0), named(1), groups].into());
    let text = scenario(2, &format!("kind = \"trace\"\nformat = \"chakra\"\nfile = \"job\"\n{KEYS}"), "reps");
    let read = |folder: &Folder, text: &str| {
        scenario::read("test.toml", text, folder, &Overrides::default())
            .unwrap_or_else(|error| panic!("{error}"))
    };
    let first = read(&folder, &text);
    let point = first.points().unwrap().remove(0);
    let kept = point.files.iter().map(|(name, text)| (name.clone(), text.clone().into_bytes())).collect();
    let second = read(&Folder(kept), &first.to_toml());
    let cct = |point| anabranch_sim::run(&point, &Control::default()).unwrap().jobs[0].cct_ps;
    assert_eq!(cct(second.points().unwrap().remove(0)), Some(ring(2, 40_860)));
    assert_eq!(cct(point), Some(ring(2, 40_860)));
}

#[test]
fn mistakes_about_groups_are_explained() {
    let one = |group: &str| file(&[named(reduce(4, 9, INT64, &[]), group)]);
    let two = |group: &str| [one(group), one(group)];
    let groups = "{\"1\": [0, 1]}";
    for (groups, files, says) in [
        (
            groups,
            two("2"),
            "job.0.et: node 4 (`a node`): it is among the ranks of the group `2`, which groups.json",
        ),
        (
            "{\"1\": [0]}",
            two("1"),
            "job: rank 1, node 4: it is a collective of group `1`, in which its rank is not",
        ),
        (
            "{\"1\": [0, 2]}",
            two("1"),
            "groups.json: group `1` has rank 2, and the trace has 2 ranks; write: 0 to 1",
        ),
        ("{\"1\": [0, 0]}", two("1"), "groups.json: group `1` has rank 0 twice; write: it once"),
        ("{\"1\": []}", two("1"), "groups.json: group `1` has 0 ranks of 2"),
        ("{\"0\": [1]}", two("0"), "groups.json: group `0` has 1 ranks of 2: `0` stands for all of them"),
        ("{\"a b\": [1]}", two("0"), "groups.json: the name `a b` is not simulated"),
        ("{\"a#b\": [0, 1]}", two("a#b"), "groups.json: the name `a#b` is not simulated"),
        ("{\"after\": [0, 1]}", two("after"), "groups.json: the name `after` is not simulated"),
        ("{\"control\": [0, 1]}", two("control"), "groups.json: the name `control` is not simulated"),
        ("[[0, 1]]", two("1"), "groups.json: expected {\"1\": [0, 1], \"2\": [2, 3]}"),
        (
            groups,
            [one("1"), file(&[])],
            "job: rank 0, node 4: it is collective 0 of group `1` of its rank, and rank 1 has no more than 0",
        ),
        (
            groups,
            [file(&[]), one("0")],
            "job: rank 1, node 4: it is collective 0 of its rank, and rank 0 has no more than 0",
        ),
        (
            groups,
            [one("1"), file(&[named(reduce(4, 8, INT64, &[]), "1")])],
            "job: rank 1, node 4: it is collective 0 of group `1` of its rank, an allreduce of 8 B, and that of rank 0 (node 4) is \
             an allreduce of 9 B; give all of them the same",
        ),
    ] {
        let error = with(groups, &files).unwrap_err().replace("\n  write: ", "; write: ");
        assert!(error.contains(says), "{error}\nexpected: {says}");
    }
    let error = of_ranks("", &two("1")).map(|_| ()).unwrap_err();
    assert!(error.contains("the group `1`, and no file says which these are"), "{error}");
    let error = of_ranks(KEYS, &two("1")).map(|_| ()).unwrap_err();
    assert!(error.contains("cannot read \"groups.json\""), "{error}");
}
