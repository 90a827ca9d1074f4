//! Tests of `anabranch pcap`. tshark decodes the captures, if it is installed.

use crate::common::Place;
use std::collections::BTreeMap;
use std::process::Command;

/// A scenario with enough simultaneous traffic for ECN marks, pauses and trimmed packets, and with links that lose
/// packets.
const INCAST: &str = r#"
schemes = ["pfc-ecmp", "rocev2-4qp", "reps", "dcp", "strack", "eqds", "themis-spraying", "irn-ar", "mp-rdma"]
seeds = [1]
topology = { kind = "fat-tree", hosts = 16, hosts_per_tor = 4, link = "100Gbps" }
workload = { kind = "incast", degree = 15, bytes = "500001B" }
[[fault]]
kind = "packet-loss"
links = "tor:1/up"
probability = 0.01
[set]
"pfc-ecmp.fabric.pfc.buffer" = "3MB"
"#;

/// The fields of each packet that tshark decodes, such as protocols, opcode and ICRC, and whether the packet is
/// malformed.
fn decoded(place: &Place, file: &str) -> Vec<String> {
    let mut tshark = Command::new("tshark");
    tshark.args(["-r", file, "-n", "-T", "fields", "-E", "separator=|"]);
    for field in [
        "frame.protocols",
        "infiniband.bth.opcode",
        "infiniband.aeth.syndrome",
        "macc.opcode",
        "_ws.malformed",
        "ip.checksum.status",
        "frame.interface_name",
        "_ws.expert.severity",
        "infiniband.invariant.crc",
        "_ws.col.Info",
    ] {
        tshark.args(["-e", field]);
    }
    tshark.args(["-o", "ip.check_checksum:TRUE"]);
    let output = tshark.current_dir(place.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// Kinds of packets that each scheme sends, by BTH opcode, AETH syndrome and MAC control opcode.
const EXPECTED: &[(&str, &[&str])] = &[
    // The scheme sends Writes in order, ACKs, NACKs, CNPs, and pause frames.
    ("pfc-ecmp", &["6//", "7//", "8//", "17/31/", "17/96/", "129//", "//0x0101"]),
    ("rocev2-4qp", &["6//", "7//", "8//", "17/31/"]),
    ("reps", &["10//", "17/31/"]),
    // DCP uses Sends, ACKs, and trimmed packets, which look like the middle of a message.
    ("dcp", &["0//", "1//", "2//", "17/0/"]),
    ("strack", &["10//", "17/31/"]),
    // Pull packets have a separate opcode.
    ("eqds", &["10//", "17/31/", "192//"]),
    ("themis-spraying", &["10//", "17/31/"]),
    ("irn-ar", &["10//", "17/31/"]),
    ("mp-rdma", &["10//", "17/31/"]),
];

#[test]
fn tshark_decodes_every_packet_of_every_transport() {
    if Command::new("tshark").arg("--version").output().is_err() {
        eprintln!("SKIPPED: captures are not decoded; `apt-get install tshark` installs what decodes them");
        return;
    }
    let place = Place::new();
    place.write("incast.toml", INCAST);
    for &(scheme, expected) in EXPECTED {
        let ended =
            place.run(&["pcap", "incast.toml", "--link", "all", "--scheme", scheme, "--packets", "16000"]);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let lines = decoded(&place, &format!("incast-{scheme}-1.pcapng"));
        assert!(ended.stdout.contains(&format!("{} frames", lines.len())), "{}", ended.stdout);
        let mut seen: BTreeMap<String, u32> = BTreeMap::new();
        for line in lines {
            let fields: Vec<&str> = line.split('|').collect();
            let [protocols, opcode, syndrome, pause, malformed, checksum, interface, expert, icrc, info] =
                fields[..]
            else {
                panic!("{line}")
            };
            assert!(malformed.is_empty() && expert.is_empty() && !interface.is_empty(), "{scheme}: {line}");
            assert!(!info.contains("Malformed"), "{scheme}: {line}");
            if pause.is_empty() {
                assert!(protocols.starts_with("eth:ethertype:ip:udp:infiniband"), "{scheme}: {line}");
                assert_eq!(checksum, "1", "{scheme}: {line}");
            }
            // Packets with other opcodes need not show an ICRC: a middle packet of a message may be trimmed, and tshark
            // does not look for an ICRC behind an AETH.
            if matches!(opcode, "6" | "8" | "10") {
                assert!(icrc.len() == 10 && icrc != "0x00000000", "{scheme}: {line}");
            }
            *seen.entry(format!("{opcode}/{syndrome}/{pause}")).or_default() += 1;
        }
        for kind in expected {
            assert!(seen.contains_key(*kind), "{scheme} has no {kind}: {seen:?}");
        }
    }
}

#[test]
fn links_that_are_not_there_and_captures_that_are_full_are_told() {
    let place = Place::new();
    place.write("incast.toml", INCAST);
    let wrong = place.run(&["pcap", "incast.toml", "--link", "host:99"]);
    assert_eq!(wrong.code, Some(2));
    assert!(
        wrong.stderr.contains("--link: \"host:99\"") && wrong.stderr.contains("host:15"),
        "{}",
        wrong.stderr
    );
    let full = place.run(&[
        "pcap",
        "incast.toml",
        "--link",
        "host:1,host:2",
        "--packets",
        "10",
        "--out",
        "x.pcapng",
    ]);
    assert_eq!(full.code, Some(0), "{}", full.stderr);
    assert!(
        full.stderr.contains("the first 10 frames") && full.stderr.contains("--packets 100"),
        "{}",
        full.stderr
    );
    assert!(full.stdout.contains("10 frames of 2 links"), "{}", full.stdout);
    let nowhere = place.run(&["pcap", "incast.toml", "--link", "host:1", "--out", "no/x.pcapng"]);
    assert_eq!(nowhere.code, Some(2));
    assert!(
        nowhere.stderr.contains(
            "no/x.pcapng: cannot be written: no such file or folder\n  help: name a file that can be written with --out FILE"
        ),
        "{}",
        nowhere.stderr
    );
}

#[test]
fn a_run_that_fails_leaves_its_capture() {
    let place = Place::new();
    // No packet reaches host 0 after 10 us.
    let cut = INCAST
        .replace("packet-loss", "link-down")
        .replace("tor:1/up", "host:0")
        .replace("probability = 0.01", "at = \"10us\"");
    place.write("cut.toml", cut);
    let failed = place.run(&["pcap", "cut.toml", "--link", "cable:host:0", "--scheme", "reps"]);
    assert_eq!(failed.code, Some(1), "{}", failed.stderr);
    assert!(failed.stderr.contains("stalled"), "{}", failed.stderr);
    assert!(
        failed.stdout.contains("reps, seed 1: failed\ncapture: cut-reps-1.pcapng, "),
        "{}",
        failed.stdout
    );
    assert!(place.path().join("cut-reps-1.pcapng").exists());
}
