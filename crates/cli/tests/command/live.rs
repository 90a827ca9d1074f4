//! Tests of `live send` and `live receive` as two processes.

use crate::common::{Ended, Place};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

fn begin(place: &Place, args: &[&str]) -> Child {
    place.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn begin_receiver(place: &Place, at: &str, more: &[&str]) -> Child {
    let child = begin(place, &[&["live", "receive", "--listen", at], more].concat());
    // The port cannot be bound once the receiver listens. The test does not connect to the receiver, because a
    // connection takes the place of a sender.
    while TcpListener::bind(at).is_ok() {
        sleep(Duration::from_millis(20));
    }
    child
}

fn end(mut child: Child) -> Ended {
    let (mut stdout, mut stderr) = (String::new(), String::new());
    child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    Ended { code: child.wait().unwrap().code(), stdout, stderr }
}

fn signal(child: &Child, name: &str) {
    let pid = child.id().to_string();
    assert!(Command::new("kill").args([&format!("-{name}"), &pid]).status().unwrap().success());
}

#[expect(clippy::disallowed_methods, reason = "processes are waited for in real time")]
fn now() -> Instant {
    Instant::now()
}

#[test]
fn files_and_statistics() {
    let (place, at) = (Place::new(), free_address());
    let bytes: Vec<u8> = (0..3_000_000_u32).map(|at| (at.wrapping_mul(0x9e37_79b9) >> 24) as u8).collect();
    place.write("a.bin", &bytes);
    place.write("b.txt", "short");
    let receiver = begin_receiver(&place, &at, &["--out", "arrived", "--json"]);
    let sent = place
        .run(&["live", "send", "a.bin", "b.txt", "--to", &at, "--scheme", "dcp", "--qps", "2", "--json"]);
    let (sent, received) = (sent.expect(0).json(), end(receiver).expect(0).json());
    assert!(fs::read(place.path().join("arrived/a.bin")).unwrap() == bytes);
    for statistics in [&sent["transfers"][0], &received["transfers"][0]] {
        assert_eq!(statistics["bytes"], 3_000_005, "{statistics}");
        assert!(
            statistics["goodput_bps"].as_f64().unwrap() > 0.0
                && statistics["cpu_seconds"].as_f64().unwrap() > 0.0
        );
        assert!(statistics["data_packets"].as_u64().unwrap() >= 734, "{statistics}");
    }
    assert_eq!(sent["transfers"][0]["files"], received["transfers"][0]["files"]);
}

#[test]
fn a_stream_from_standard_input_to_standard_output() {
    let (place, at) = (Place::new(), free_address());
    let receiver = begin_receiver(&place, &at, &["--out", "-", "--loss", "0.02", "--silence", "3"]);
    let text: String = (0..100_000).map(|line| format!("line {line}\n")).collect();
    let path = place.write("text", &text);
    let mut sender =
        place.command(&["live", "send", "-", "--to", &at, "--message", "64KiB", "--loss", "0.02"]);
    let sender = sender.stdin(fs::File::open(path).unwrap()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let sender = sender.args(["--silence", "3"]).spawn().unwrap();
    // Nobody reads the output of the receiver for 4 s, although either end may be silent for only 3 s.
    sleep(Duration::from_secs(4));
    assert!(end(receiver).expect(0).stdout == text);
    end(sender).expect(0);
}

/// While a stream pauses, the complete messages that it has delivered so far are sent, even if they are small.
#[test]
fn a_stream_that_pauses_is_sent_so_far() {
    let (place, at) = (Place::new(), free_address());
    let mut receiver = begin_receiver(&place, &at, &["--out", "-"]);
    let mut sender = place.command(&["live", "send", "-", "--to", &at, "--message", "1000B"]);
    let sender = sender.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut sender = sender.spawn().unwrap();
    let mut stream = sender.stdin.take().unwrap();
    stream.write_all(&[7; 8000]).unwrap();
    let mut arrived = receiver.stdout.take().unwrap();
    let reader = spawn(move || {
        let mut bytes = [0; 8000];
        arrived.read_exact(&mut bytes).map(|()| bytes)
    });
    let begun = now();
    while !reader.is_finished() && begun.elapsed() < Duration::from_secs(5) {
        sleep(Duration::from_millis(20));
    }
    let has_arrived = reader.is_finished();
    drop(stream);
    assert!(reader.join().unwrap().unwrap() == [7; 8000]);
    assert!(has_arrived, "nothing arrives before the end of the stream");
    assert!(sender.wait().unwrap().success() && receiver.wait().unwrap().success());
}

/// Each end reports within seconds that the other was killed or stopped. A receiver whose sender is gone leaves no
/// part of a file behind.
#[test]
fn a_peer_that_dies_is_an_error_within_seconds() {
    for (victim, name, part) in [
        ("receiver", "KILL", "closed the connection before the end"),
        ("sender", "KILL", "closed the connection before the end"),
        ("receiver", "STOP", "has been silent for 2"),
        ("sender", "STOP", "has been silent for 2"),
    ] {
        let (place, at) = (Place::new(), free_address());
        place.write("a.bin", vec![7; 20_000_000]);
        let mut receiver = begin_receiver(&place, &at, &["--out", "arrived", "--silence", "2"]);
        let mut sender =
            begin(&place, &["live", "send", "a.bin", "--to", &at, "--rate", "20Mbps", "--silence", "2"]);
        let part_file = place.path().join("arrived/a.bin.part");
        let begun = now();
        while fs::metadata(&part_file).map_or(0, |file| file.len()) == 0 {
            assert!(begun.elapsed() < Duration::from_secs(10), "nothing arrives");
            sleep(Duration::from_millis(20));
        }
        let (dies, mut survives) =
            if victim == "sender" { (&mut sender, receiver) } else { (&mut receiver, sender) };
        signal(dies, name);
        let begun = now();
        let mut stderr = String::new();
        survives.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert_eq!(survives.wait().unwrap().code(), Some(1), "{victim} {name}: {stderr}");
        assert!(begun.elapsed() < Duration::from_secs(6), "{victim} {name}: {:?}", begun.elapsed());
        assert!(stderr.contains(part) && !stderr.contains("panicked"), "{victim} {name}: {stderr}");
        dies.kill().unwrap();
        dies.wait().unwrap();
        if victim == "sender" {
            assert!(!part_file.exists() && !place.path().join("arrived/a.bin").exists());
        }
    }
}

#[test]
fn bad_input_has_one_clear_error() {
    let place = Place::new();
    place.write("a", "a");
    place.write("b/a", "a");
    let nobody = free_address();
    place.write("a.part", "b");
    let cases: [(&[&str], i32, &str); 31] = [
        (&["live", "send", "a", "--to", "192.0.2.1:4791"], 2, "--unprotected"),
        (&["live", "receive", "--listen", "0.0.0.0:4791"], 2, "--unprotected"),
        (&["live", "send", "nothing"], 2, "nothing: cannot be read: no such file or folder"),
        (&["live", "send", "b"], 2, "it is a folder"),
        (&["live", "send", "a", "b/a"], 2, "two files arrive with the name \"a\""),
        (&["live", "send", "a.part", "a"], 2, "\"a.part\" is the name of \"a\" until it is whole"),
        (&["live", "send", "a", "--to", &nobody], 1, "start it first: anabranch live receive --listen"),
        (
            &["live", "send", "-", "--to", "127.0.0.1:1", "--to", "127.0.0.1:2"],
            2,
            "there are several receivers",
        ),
        (&["live", "send", "a", "--loss", "1"], 2, "a share is a number of 0 or more and less than 1"),
        (&["live", "send", "a", "--payload", "1B"], 2, "payloads have 64 to 9000 bytes"),
        (&["live", "send", "a", "--message", "0"], 2, "messages have 1B to 64MiB; write: 128KiB"),
        (&["live", "send", "a", "--message", "0B"], 2, "messages have 1B to 64MiB; write: 128KiB"),
        (&["live", "send", "a", "--message", "1GiB"], 2, "messages have 1B to 64MiB; write: 64MiB"),
        (&["live", "send", "a", "--seed", "x"], 2, "a seed is a whole number of 0 or more"),
        (
            &["live", "send", "a", "--silence", "5s"],
            2,
            "a whole number of seconds from 1 to 3600, such as 5\n",
        ),
        (&["live", "send", "a", "--qps", "four"], 2, "a whole number from 1 to 256, such as 4\n"),
        (&["live", "receive", "--out", "-", "--json"], 2, "both need standard output"),
        (&["live", "send", "a", "--scheme", "repz"], 2, "write: --scheme reps"),
        (&["live", "send", "a", "--scheme", "hpcc"], 2, "help: every other scheme runs on real packets"),
        (
            &["live", "send", "a", "--rate", "10G"],
            2,
            "'--rate <RATE>': \"10G\" is not a rate such as \"400Gbps\"; write: 10Gbps",
        ),
        (&["live", "send", "a", "--rate", "0Gbps"], 2, "write: 10Gbps"),
        (&["live", "send", "a", "--rtt", "5"], 2, "'--rtt <TIME>': \"5\" is not a time"),
        (&["live", "send", "a", "--to", "127.0.0.1"], 2, "it has no port; write: 127.0.0.1:4791"),
        (&["live", "send", "a", "--to", "::1"], 2, "it has no port; write: [::1]:4791"),
        (&["live", "send", "a", "--to", "::1:5000"], 2, "in brackets; write: [::1]:5000"),
        (&["live", "send", "a", "--to", "fe80::1:70000"], 2, "in brackets; write: [fe80::1]:4791"),
        (&["live", "send", "a", "--to", "127.0.0.1:99999"], 2, "a number up to 65535; write: 127.0.0.1:4791"),
        (&["live", "send", "a", "--to", "[::1]:-5"], 2, "a number up to 65535; write: [::1]:4791"),
        (&["live", "send", "a", "--to", "127.0.0.1:0"], 2, "the port that the receiver prints"),
        (&["live", "send", "a", "--to", "nobody.invalid:4791"], 2, "write an address such as 127.0.0.1:4791"),
        (
            &["live", "send", "a", "--to", "127.0.0.1:4791,127.0.0.1:4791"],
            2,
            "--to names 127.0.0.1:4791 twice",
        ),
    ];
    for (args, code, part) in cases {
        let ended = place.run(args).expect(code);
        assert!(ended.stderr.contains(part), "{args:?}: {}", ended.stderr);
    }
}

#[test]
fn a_port_of_the_system_and_a_name() {
    let place = Place::new();
    place.write("a.bin", "a");
    let mut receiver = begin(&place, &["live", "receive", "--listen", "localhost:0", "--out", "arrived"]);
    let mut first = String::new();
    BufReader::new(receiver.stderr.as_mut().unwrap()).read_line(&mut first).unwrap();
    let at = first.strip_prefix("listening on 127.0.0.1:").expect("the first line").trim();
    place.run(&["live", "send", "a.bin", "--to", &format!("localhost:{at}")]).expect(0);
    end(receiver).expect(0);
    assert_eq!(fs::read(place.path().join("arrived/a.bin")).unwrap(), b"a");
}

#[test]
fn the_hint_for_too_small_messages_is_a_size_that_does() {
    let (place, nobody) = (Place::new(), free_address());
    place.write("big.bin", "");
    // The file has no blocks on the disk.
    fs::File::options().write(true).open(place.path().join("big.bin")).unwrap().set_len(200_000_000).unwrap();
    let send = |message: &str, code| {
        place.run(&["live", "send", "big.bin", "--to", &nobody, "--message", message]).expect(code).stderr
    };
    let refused = send("64B", 2);
    assert!(refused.contains("big.bin has more than 1048575 messages of 64 bytes"), "{refused}");
    let size = refused.split("--message ").nth(1).unwrap().split(',').next().unwrap();
    assert_eq!(size, "191B", "{refused}");
    assert!(send(size, 1).contains("no receiver at"));
}

#[test]
fn a_receiver_that_cannot_begin_says_what_to_write_and_makes_no_folder() {
    let (place, at) = (Place::new(), free_address());
    let other = TcpListener::bind(&at).unwrap();
    let refused = place.run(&["live", "receive", "--listen", &at, "--out", "arrived"]).expect(1).stderr;
    assert!(refused.contains("another program uses the port"), "{refused}");
    assert!(!place.path().join("arrived").exists(), "{refused}");
    let hint = refused.split("--listen ").nth(1).unwrap().split(' ').next().unwrap();
    let mut receiver = begin(&place, &["live", "receive", "--listen", hint, "--out", "arrived"]);
    let mut first = String::new();
    BufReader::new(receiver.stderr.as_mut().unwrap()).read_line(&mut first).unwrap();
    assert!(first.starts_with("listening on 127.0.0.1:"), "{first}");
    receiver.kill().unwrap();
    receiver.wait().unwrap();
    drop(other);
    place.write("notes.txt", "a");
    let refused = place.run(&["live", "receive", "--listen", &at, "--out", "notes.txt"]).expect(2).stderr;
    assert!(refused.contains("notes.txt: cannot be written: it is a file, not a folder"), "{refused}");
    assert!(refused.contains("help: name a folder that can be written with --out DIR"), "{refused}");
}

#[test]
fn a_sender_too_many_is_refused_at_once() {
    let (place, at) = (Place::new(), free_address());
    place.write("a.bin", vec![7; 20_000_000]);
    place.write("b.bin", "b");
    let receiver = begin_receiver(&place, &at, &["--out", "arrived"]);
    let sender = begin(&place, &["live", "send", "a.bin", "--to", &at, "--rate", "40Mbps"]);
    let begun = now();
    while !place.path().join("arrived/a.bin.part").exists() {
        assert!(begun.elapsed() < Duration::from_secs(10), "nothing arrives");
        sleep(Duration::from_millis(20));
    }
    let begun = now();
    let refused = place.run(&["live", "send", "b.bin", "--to", &at]).expect(1).stderr;
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert!(refused.contains("it has all senders that it waits for (1)"), "{refused}");
    assert!(refused.contains("begin it with --senders 2"), "{refused}");
    end(sender).expect(0);
    end(receiver).expect(0);
    assert_eq!(fs::metadata(place.path().join("arrived/a.bin")).unwrap().len(), 20_000_000);
}
