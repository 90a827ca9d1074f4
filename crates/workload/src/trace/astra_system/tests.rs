use super::*;

const FILE: &str = "{\n  \"scheduling-policy\": \"LIFO\",\n  \"active-chunks-per-dimension\": 2,\n  \
    \"preferred-dataset-splits\": 4,\n  \"all-reduce-implementation\": [\"ring\", \"ring\"],\n  \
    \"all-gather-implementation\": [\"ring\", \"ring\"],\n  \"all-to-all-implementation\": [\"direct\", \"ring\"],\n  \
    \"collective-optimization\": \"localBWAware\"\n}\n";

fn system() -> System {
    System::read("s.json", FILE, &[8, 2]).unwrap()
}

fn phases(system: &System, algorithm: Algorithm, bytes: u64) -> Vec<(Algorithm, Option<usize>, u64)> {
    let phases = system.phases(algorithm, bytes).unwrap();
    phases.iter().map(|phase| (phase.algorithm, phase.dim, phase.bytes)).collect()
}

#[test]
fn an_allreduce_is_divided_over_the_dimensions() {
    let system = system();
    let divided = phases(&system, Algorithm::AllreduceRing, 800);
    assert_eq!(
        divided,
        [
            (Algorithm::ReducescatterRing, Some(0), 800),
            (Algorithm::AllreduceRing, Some(1), 100),
            (Algorithm::AllgatherRing, Some(0), 800),
        ]
    );
    let baseline = System { is_bandwidth_aware: false, ..system.clone() };
    assert_eq!(
        phases(&baseline, Algorithm::AllreduceRing, 800),
        [(Algorithm::AllreduceRing, Some(0), 800), (Algorithm::AllreduceRing, Some(1), 800)]
    );
    assert_eq!(
        phases(&system, Algorithm::AllgatherRing, 1600),
        [(Algorithm::AllgatherRing, Some(0), 800), (Algorithm::AllgatherRing, Some(1), 1600)]
    );
    assert_eq!(
        phases(&system, Algorithm::ReducescatterRing, 1600),
        [(Algorithm::ReducescatterRing, Some(0), 1600), (Algorithm::ReducescatterRing, Some(1), 200)]
    );
    assert_eq!(
        phases(&system, Algorithm::Alltoall, 1600),
        [(Algorithm::Alltoall, Some(0), 1600), (Algorithm::Alltoall, Some(1), 1600)]
    );
}

/// A part of an AllGather may have fewer bytes than there are ranks.
#[test]
fn a_small_allgather_has_bytes_in_all_dimensions() {
    let (small, odd) = (phases(&system(), Algorithm::AllgatherRing, 3), 1601);
    assert_eq!(small, [(Algorithm::AllgatherRing, Some(0), 2), (Algorithm::AllgatherRing, Some(1), 3)]);
    assert_eq!(phases(&system(), Algorithm::AllgatherRing, odd)[1].2, odd);
}

#[test]
fn groups_of_a_dimension_share_the_other_places() {
    let system = system();
    assert_eq!(system.groups(Some(1), 16)[..2], [[0, 8], [1, 9]]);
    assert_eq!(system.groups(Some(0), 16), [(0..8).collect::<Vec<u32>>(), (8..16).collect()]);
    assert_eq!(system.groups(None, 4), [[0, 1, 2, 3]]);
}

/// A graph in which all ranks compute, take part in a collective, and compute again.
fn graph(ranks: u32, bytes: u64) -> Graph {
    let node = |op, after: &[u32]| Node { op, place: 7, after: after.to_vec(), with: Vec::new() };
    let compute = Op::Compute { takes: Duration::from_us(1), processor: Some(0) };
    let of_rank = || vec![node(compute, &[]), node(Op::Collective(0), &[0]), node(compute, &[1])];
    let members = (0..ranks).map(|rank| (rank, 1)).collect();
    let algorithm = Algorithm::AllreduceRing;
    let collective = Collective { algorithm, bytes, chunk: 1 << 20, channel: 3, members };
    Graph { ranks: (0..ranks).map(|_| of_rank()).collect(), collectives: vec![collective] }
}

#[test]
fn parts_pass_through_the_dimensions_in_a_pipeline() {
    let mut graph = graph(16, 4 * 800 + 1);
    graph.divide(&system()).unwrap();
    // There are four equal parts and one part of a single byte, each with three phases in 2 + 8 + 2 groups.
    assert_eq!(graph.collectives.len(), 5 * (2 + 8 + 2));
    assert!(graph.collectives.iter().all(|collective| collective.channel == 3));
    let nodes = &graph.ranks[0];
    assert_eq!(nodes.len(), 3 + 5 * 3);
    let after: Vec<&[u32]> = nodes.iter().map(|node| node.after.as_slice()).collect();
    // The third part waits for the first part, phase by phase.
    assert_eq!(after[3..12], [&[0][..], &[3], &[4], &[0], &[6], &[7], &[0, 3], &[9, 4], &[10, 5]]);
    assert_eq!(nodes[1].op, Op::Compute { takes: Duration::ZERO, processor: None });
    assert_eq!(nodes[1].after, [5, 8, 11, 14, 17]);
    assert_eq!(nodes[2].after, [1]);
    let small = graph_of_other_size();
    assert!(
        small.message.contains("it has 8 ranks, and the dimensions [8, 2] of the network have 16"),
        "{small:?}"
    );
}

fn graph_of_other_size() -> Problem {
    graph(8, 100).divide(&system()).unwrap_err()
}

/// The root of a broadcast is the first member. A group's members need not be in ascending order.
#[test]
fn parts_of_a_group_keep_its_order() {
    let mut graph = graph(16, 4 * 800);
    graph.collectives[0].members = [2, 0, 1].map(|rank| (rank, 1)).to_vec();
    for ranks in &mut graph.ranks[3..] {
        ranks[1].op = Op::Compute { takes: Duration::ZERO, processor: None };
    }
    graph.divide(&system()).unwrap();
    let ranks_of = |part: &Collective| part.members.iter().map(|(rank, _)| *rank).collect();
    let orders: Vec<Vec<u32>> = graph.collectives.iter().map(ranks_of).collect();
    assert_eq!(orders, vec![vec![2, 0, 1]; 4]);
}

#[test]
fn mistakes_are_answered_with_their_line() {
    for (from, to, expected) in [
        (
            "[\"ring\", \"ring\"]",
            "[\"ring\"]",
            "s.json:5: all-reduce-implementation has 1 entries, and the network has 2 dimensions: [8, 2]",
        ),
        (
            "\"ring\", \"ring\"",
            "\"Ring\", \"ring\"",
            "s.json:5: \"Ring\" is no algorithm of ASTRA-sim: ring, direct, halvingDoubling, doubleBinaryTree, oneRing or \
             oneDirect; write: ring",
        ),
        (
            "\"direct\", \"ring\"",
            "\"direct4\", \"ring\"",
            "s.json:7: \"direct4\" limits the transfers under way, which is not simulated; write: direct",
        ),
        (
            "\"ring\", \"ring\"",
            "\"oneRing\", \"ring\"",
            "s.json:5: oneRing and oneDirect are over all dimensions, and another dimension has another one",
        ),
        ("\": 4,", "\": 0,", "s.json:4: preferred-dataset-splits is a whole number from 1, not \"0\""),
        (
            "localBWAware",
            "best",
            "s.json:8: \"best\" is no collective-optimization: baseline or localBWAware",
        ),
        (
            "\"all-gather-implementation\"",
            "\"all-gather-implementation-custom\"",
            "s.json:6: all-gather-implementation-custom takes a collective from files of Chakra of its own, which are not \
             read; write: all-reduce-implementation: [\"ring\"]",
        ),
    ] {
        let error = System::read("s.json", &FILE.replacen(from, to, 1), &[8, 2]).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    let tree =
        System::read("s.json", &FILE.replacen("\"ring\"", "\"doubleBinaryTree\"", 1), &[8, 2]).unwrap();
    let problem = tree.phases(Algorithm::AllreduceRing, 800).unwrap_err();
    assert_eq!(
        problem.message,
        "a reducescatter by doubleBinaryTree, which its dimensions take, is not simulated"
    );
    assert_eq!(note("s.json", FILE).unwrap(), "of s.json is not simulated: scheduling-policy");
}
