//! Several jobs at the same time, and GOAL in binary form.

use super::*;

const NINE: &[(&str, &str)] = &[
    ("one", "num_ranks 2\nrank 0 {\ns: send 4086b to 1\n}\nrank 1 {\nr: recv 4086b from 0\n}\n"),
    (
        "two",
        "num_ranks 2\nrank 0 {\nc: calc 5000\ns: send 4086b to 1\ns requires c\n}\nrank 1 {\nr: recv 4086b from 0\n}\n",
    ),
];

fn folder() -> Folder {
    Folder(NINE.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect())
}

fn jobs(hosts: u32, tables: &[&str]) -> Result<RunResult, String> {
    let tables: String =
        tables.iter().map(|table| format!("[[workload.job]]\nformat = \"goal\"\n{table}\n")).collect();
    run_in(&folder(), &scenario(hosts, &format!("kind = \"jobs\"\n{tables}"), "reps"), 1)
}

#[test]
fn each_job_has_hosts_of_its_own_and_its_own_beginning() {
    let result = jobs(6, &["file = \"one\"", "file = \"two\"", "file = \"one\"\nstart = \"7us\""]).unwrap();
    let rows: Vec<_> =
        result.jobs.iter().map(|job| (job.start_ps, job.cct_ps, job.ranks, job.bytes)).collect();
    let message = THERE + BACK;
    assert_eq!(
        rows,
        [
            (0, Some(message), 2, 4086),
            (0, Some(5_000 * NS + message), 2, 4086),
            (7_000 * NS, Some(message), 2, 4086)
        ]
    );
    assert_eq!(result.run.completion_us, (7_000 * NS + message) as f64 / 1e6);
}

#[test]
fn a_run_lasts_from_the_start_of_the_first_job() {
    let late = ["file = \"two\"\nstart = \"3us\"", "file = \"two\"\nstart = \"2us\""];
    let result = jobs(6, &late).unwrap();
    let message = THERE + BACK;
    assert_eq!(result.run.completion_us, (1_000 * NS + 5_000 * NS + message) as f64 / 1e6);
}

/// The hosts of the ranks, for each job.
fn hosts_of(seed: u64, fabric: &str, tables: &[&str]) -> Vec<Vec<u32>> {
    let tables: String =
        tables.iter().map(|table| format!("[[workload.job]]\nformat = \"goal\"\n{table}\n")).collect();
    let text = format!(
        "schemes = [\"reps\"]\nseeds = [{seed}]\n[topology]\n{fabric}\n[workload]\nkind = \"jobs\"\n{tables}"
    );
    let scenario = scenario::read("test.toml", &text, &folder(), &Overrides::default());
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let built =
        anabranch_sim::build(&scenario.points().unwrap().remove(0)).unwrap_or_else(|error| panic!("{error}"));
    built.workload.jobs.iter().map(|job| job.hosts.iter().map(|host| host.0).collect()).collect()
}

#[test]
fn jobs_are_placed_on_what_earlier_ones_leave() {
    let fabric = "kind = \"fat-tree\"\nhosts = 16\nhosts_per_tor = 4\nlink = \"400Gbps\"";
    let spread = "file = \"one\"\nplacement = \"spread\"";
    let random = "file = \"one\"\nplacement = \"random\"";
    let blocks = "file = \"one\"";
    assert_eq!(hosts_of(1, fabric, &[spread, blocks, spread, blocks]), [[0, 4], [1, 2], [8, 12], [3, 5]]);
    let mut drawn = std::collections::BTreeSet::new();
    for seed in 1..=20 {
        let all = hosts_of(seed, fabric, &[random, blocks, random, spread, random]);
        let different: std::collections::BTreeSet<u32> = all.iter().flatten().copied().collect();
        assert_eq!(different.len(), 10, "{all:?}");
        assert_ne!(all[3][0] / 4, all[3][1] / 4);
        assert_eq!(all, hosts_of(seed, fabric, &[random, blocks, random, spread, random]));
        drawn.insert(all);
    }
    assert!(drawn.len() > 15);
    // The only job of a list gets the same hosts as a job that is given without a list.
    let alone = format!(
        "schemes = [\"reps\"]\nseeds = [3]\n[topology]\n{fabric}\n[workload]\nkind = \"trace\"\nformat = \"goal\"\n{random}\n"
    );
    let alone = scenario::read("test.toml", &alone, &folder(), &Overrides::default()).unwrap();
    let alone = anabranch_sim::build(&alone.points().unwrap().remove(0)).unwrap().workload;
    assert_eq!(
        alone.jobs[0].hosts.iter().map(|host| host.0).collect::<Vec<_>>(),
        hosts_of(3, fabric, &[random])[0]
    );
}

/// The resolved scenario has a separate table for each job, with all keys of the job.
#[test]
fn jobs_resolve_to_themselves() {
    let text = scenario(
        8,
        "kind = \"jobs\"\n[[workload.job]]\nformat = \"goal\"\nfile = \"one\"\nstart = \"1us\"\n[workload.job.server]\n\
         ranks = 8\nlink = \"1Tbps\"\nlink_latency = \"1us\"\n[[workload.job]]\nformat = \"goal\"\nfile = \"two\"\nends = \"posted\"",
        "reps",
    )
    .replace("ranks = 8", "ranks = 2");
    let within = run_in(&folder(), &text, 1).unwrap();
    let warning = within.run.warnings[0].to_string();
    assert!(warning.contains("nothing crosses the network"), "{warning}");
    let text =
        text.replace("[workload.job.server]\nranks = 2\nlink = \"1Tbps\"\nlink_latency = \"1us\"\n", "");
    let read = |text: &str| {
        scenario::read("test.toml", text, &folder(), &Overrides::default())
            .unwrap_or_else(|error| panic!("{error}"))
    };
    let first = read(&text);
    assert_eq!(read(&first.to_toml()).to_toml(), first.to_toml());
    let digest = |text: &str| run_in(&folder(), text, 1).unwrap().run.digest;
    assert_eq!(digest(&first.to_toml()), digest(&text));
}

#[test]
fn jobs_that_make_no_sense_are_explained() {
    let three = ["file = \"one\""; 3];
    for (hosts, tables, says) in [
        (
            5,
            &three[..],
            "it has 2 ranks, and the fabric has 5 hosts, of which other jobs have 4; write: a fabric of 6 hosts",
        ),
        (5, &[][..], "there is no job"),
        (5, &["fiel = \"one\""], "did you mean \"file\"?"),
        (5, &["file = \"three\""], "cannot read \"three\""),
        (
            5,
            &["file = \"one\"\nlayers = [1, 2]"],
            "layers is for format = \"simai\", not \"goal\"\n  write: [[workload.job]] without layers",
        ),
    ] {
        let error = jobs(hosts, tables).map(|_| ()).unwrap_err();
        assert!(error.contains(says), "{error}\nexpected: {says}");
    }
    // An error about a job names the line of the job's key.
    let second = |keys: &str| {
        let first = "[[workload.job]]\nformat = \"goal\"\nfile = \"one\"\n";
        let text = format!("kind = \"jobs\"\n{first}[[workload.job]]\nformat = \"goal\"\n{keys}");
        let text = scenario(5, &text, "reps");
        let scenario = scenario::read("test.toml", &text, &folder(), &Overrides::default()).unwrap();
        let error = scenario.check().unwrap_err().to_string();
        let line = error.split(':').nth(1).and_then(|line| line.parse::<usize>().ok());
        (line.and_then(|line| text.lines().nth(line - 1).map(str::to_owned)), error)
    };
    for (keys, line) in [
        ("file = \"two\"\nrank_hosts = [0, 4]", "rank_hosts = [0, 4]"),
        ("file = \"two\"\nrank_hosts = [2, 5]", "rank_hosts = [2, 5]"),
        ("rank_hosts = [3]\nfile = \"two\"", "rank_hosts = [3]"),
        ("file = \"two\"\nplacement = \"spread\"", "placement = \"spread\""),
    ] {
        let (there, error) = second(keys);
        assert_eq!(there.as_deref(), Some(line), "{error}");
    }
    let alone = simulated(2, "format = \"goal\"\nstart = \"1us\"", NINE[0].1, 1).map(|_| ()).unwrap_err();
    assert!(alone.contains("unknown key \"start\" in [workload]"), "{alone}");
}

/// An operation of a binary GOAL file: its type, peer, size, tag and CPU, the operations that wait for its end, and the
/// operations that wait for its start.
type Operation<'a> = (u8, u32, u64, u32, u8, &'a [u32], &'a [u32]);

/// The binary GOAL file of these ranks, as LogGOPSim's `txt2bin` would write it.
fn binary(ranks: &[&[Operation]]) -> Vec<u8> {
    let mut parts: Vec<Vec<u8>> = Vec::new();
    for operations in ranks {
        let waits = |number: usize| {
            let of = |list: &[u32]| list.iter().filter(|waiting| **waiting == number as u32).count() as u32;
            operations.iter().map(|its| of(its.5) + of(its.6)).sum::<u32>()
        };
        let roots: Vec<u32> =
            (0..operations.len()).filter(|number| waits(*number) == 0).map(|n| n as u32).collect();
        let mut part = Vec::new();
        part.extend((operations.len() as u32).to_le_bytes());
        part.extend((roots.len() as u32).to_le_bytes());
        roots.iter().for_each(|root| part.extend(root.to_le_bytes()));
        let (mut appendix, mut entries) = (Vec::new(), 0_u32);
        for (number, (kind, peer, size, tag, cpu, over, begun)) in operations.iter().enumerate() {
            part.extend(waits(number).to_le_bytes());
            part.push(*kind);
            part.extend(peer.to_le_bytes());
            part.extend(size.to_le_bytes());
            part.extend(tag.to_le_bytes());
            part.extend([*cpu, 0]);
            for list in [over, begun] {
                part.extend((list.len() as u32).to_le_bytes());
                part.extend(entries.to_le_bytes());
                entries += list.len() as u32;
                list.iter().for_each(|waiting| appendix.extend(waiting.to_le_bytes()));
            }
        }
        part.extend(appendix);
        parts.push(part);
    }
    let mut file = 4223_u64.to_le_bytes().to_vec();
    file.extend((ranks.len() as u32).to_le_bytes());
    file.extend([1, 0]);
    let mut at = 6 + 16 * parts.len() as u64;
    for part in &parts {
        file.extend(at.to_le_bytes());
        at += part.len() as u64;
        file.extend(at.to_le_bytes());
    }
    parts.iter().for_each(|part| file.extend(part));
    file
}

fn of_binary(file: Vec<u8>) -> Result<u64, String> {
    let text = scenario(2, "kind = \"trace\"\nformat = \"goal\"\nfile = \"job\"", "reps");
    run_in(&Folder([("job".to_owned(), file)].into()), &text, 1).map(|result| result.jobs[0].cct_ps.unwrap())
}

/// A file with three messages: a request, an answer after computing on another CPU, and a message that only waits for
/// the start of the request.
fn answered() -> Vec<u8> {
    binary(&[
        &[(1, 1, 4086, 7, 0, &[], &[2]), (2, 1, 4086, 8, 0, &[], &[]), (1, 1, 4086, 9, 0, &[], &[])],
        &[
            (2, 0, 4086, 7, 0, &[1], &[]),
            (3, 0, 1000, 0, 1, &[2], &[]),
            (1, 0, 4086, 8, 0, &[], &[]),
            (2, 0, 4086, 9, 0, &[], &[]),
        ],
    ])
}

#[test]
fn binary_goal_is_as_its_text() {
    let text = "num_ranks 2\nrank 0 {\nl0: send 4086b to 1 tag 7\nl1: recv 4086b from 1 tag 8\nl2: send 4086b to 1 tag 9\n\
                l2 irequires l0\n}\nrank 1 {\nl0: recv 4086b from 0 tag 7\nl1: calc 1000 cpu 1\nl2: send 4086b to 0 tag 8\n\
                l3: recv 4086b from 0 tag 9\nl1 requires l0\nl2 requires l1\n}\n";
    let of_text = cct(2, "format = \"goal\"", text);
    assert_eq!(of_binary(answered()), Ok(of_text));
    assert_eq!(of_text, THERE + 1_000 * NS + THERE + BACK);
}

#[test]
fn binary_goal_that_does_not_hold_together_is_explained() {
    let file = answered();
    // A file that is cut off anywhere after the cookie (8 bytes) is refused. A file in which a byte after the cookie is
    // changed is read or refused, and never causes a panic.
    for length in 8..file.len() {
        assert!(of_binary(file[..length].to_vec()).is_err(), "{length}");
    }
    for place in 8..file.len() {
        let mut other = file.clone();
        other[place] ^= 255;
        drop(of_binary(other));
    }
    let changed = |place: usize, byte: u8| {
        let mut other = file.clone();
        other[place] = byte;
        of_binary(other).unwrap_err()
    };
    // The changed values are the end of rank 1, the type of rank 0's first operation (after 2 numbers and 2 roots), and
    // the number of operations that this operation waits for.
    for (place, byte, says) in [
        (8 + 6 + 24, 255, "job: rank 1 is not within it"),
        (8 + 6 + 32 + 16 + 4, 9, "job: rank 0: operation 0 has type 9, and there are 1, 2 and 3"),
        (8 + 6 + 32 + 16, 1, "job: rank 0: operation 0 waits for 1 others, and 0 have it wait"),
    ] {
        let error = changed(place, byte);
        assert!(error.contains(says), "{error}\nexpected: {says}");
    }
    let mut used = file.clone();
    used[..8].copy_from_slice(&2342_u64.to_le_bytes());
    let error = of_binary(used).unwrap_err();
    assert!(
        error.contains("a simulation has used the file up") && error.contains("write: the file anew"),
        "{error}"
    );
}
