//! Transfers of files between addresses of this machine.

use anabranch_live::{
    CommonSettings, Input, LiveError, Output, Progress, ReceiveSettings, SendSettings, Statistics,
    TransferParameters, VERSION, receive, send,
};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

fn ignore(_: Progress) {}

fn common(loss: f64) -> CommonSettings<'static> {
    CommonSettings { silence: Duration::from_secs(5), loss, progress: &ignore, interrupted: &|| false }
}

fn parameters(scheme: &str) -> TransferParameters {
    TransferParameters {
        scheme: scheme.to_owned(),
        rate: "2Gbps".to_owned(),
        rtt: "1ms".to_owned(),
        payload: 0,
        qps: 3,
        message_bytes: 100_000,
        seed: 7,
    }
}

fn send_to(
    to: Vec<SocketAddr>,
    scheme: &str,
    files: &[PathBuf],
    loss: f64,
) -> Result<Vec<Statistics>, LiveError> {
    let inputs = files.iter().cloned().map(Input::File).collect();
    let settings =
        SendSettings { parameters: parameters(scheme), to, inputs, ports: 4, common: common(loss) };
    for _ in 0..100 {
        match send(&settings) {
            // The receiver is not listening yet.
            Err(error) if error.to_string().contains("no receiver at") => {
                thread::sleep(Duration::from_millis(20))
            }
            sent => return sent,
        }
    }
    panic!("the receiver never listened")
}

fn receive_at(
    listen: SocketAddr,
    senders: u32,
    folder: &Path,
    loss: f64,
) -> Result<Vec<Statistics>, LiveError> {
    receive(&ReceiveSettings {
        listen,
        senders,
        output: Output::Folder(folder.to_owned()),
        listening: &|_| Ok(()),
        common: common(loss),
    })
}

fn write_files(folder: &Path, sizes: &[usize]) -> Vec<PathBuf> {
    let file = |(number, size): (usize, &usize)| {
        let path = folder.join(format!("file-{number}"));
        let bytes: Vec<u8> = (0..*size as u64)
            .map(|at| ((at + number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8)
            .collect();
        fs::write(&path, bytes).unwrap();
        path
    };
    sizes.iter().enumerate().map(file).collect()
}

fn assert_equal(files: &[PathBuf], folder: &Path) {
    for file in files {
        let arrived = fs::read(folder.join(file.file_name().unwrap())).unwrap();
        assert!(arrived == fs::read(file).unwrap(), "{} arrived with other bytes", file.display());
    }
    assert_eq!(fs::read_dir(folder).unwrap().count(), files.len(), "there is nothing else in the folder");
}

/// Schemes of all transports except `mrc`, with losses in both directions.
#[test]
fn files_arrive_byte_for_byte_under_losses() {
    let from = tempfile::tempdir().unwrap();
    let files = write_files(from.path(), &[2_000_003, 0, 1, 100_000]);
    for scheme in [
        "reps",
        "eqds",
        "strack",
        "themis-spraying",
        "dcp",
        "irn-ar",
        "rack-tlp",
        "mp-rdma",
        "rocev2",
        "uet-nscc",
        "uet-rccc",
        "mptcp",
    ] {
        let (to, folder) = (free_address(), tempfile::tempdir().unwrap());
        let (sent, received) = thread::scope(|scope| {
            let receiver = scope.spawn(|| receive_at(to, 1, folder.path(), 0.02));
            (send_to(vec![to], scheme, &files, 0.02), receiver.join().unwrap())
        });
        let sent = sent.unwrap_or_else(|error| panic!("{scheme}: {error}")).remove(0);
        let received = received.unwrap_or_else(|error| panic!("{scheme}: {error}")).remove(0);
        assert_equal(&files, folder.path());
        assert_eq!((sent.bytes, received.bytes), (2_100_004, 2_100_004), "{scheme}");
        assert_eq!(sent.files, received.files, "{scheme}");
        assert!(sent.lost_on_purpose > 0 && sent.retransmissions > 0, "{scheme}: {sent:?}");
        let crc = format!("{:08x}", crc32fast::hash(&fs::read(&files[0]).unwrap()));
        assert!(
            sent.files.iter().any(|file| file.name == "file-0" && file.crc32 == crc),
            "{scheme}: {sent:?}"
        );
    }
}

#[test]
fn several_peers_at_the_same_time() {
    let (from, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let files = write_files(from.path(), &[700_000]);
    let name = other.path().join("other");
    fs::rename(&write_files(other.path(), &[600_000])[0], &name).unwrap();
    let (a, b) = (free_address(), free_address());
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    thread::scope(|scope| {
        let two = scope.spawn(|| receive_at(a, 2, folders[0].path(), 0.0));
        let one = scope.spawn(|| receive_at(b, 1, folders[1].path(), 0.0));
        let to_one = scope.spawn(|| send_to(vec![a], "uet-rccc", std::slice::from_ref(&name), 0.0));
        thread::sleep(Duration::from_millis(100));
        let to_both = send_to(vec![a, b], "reps", &files, 0.0).unwrap();
        assert_eq!(to_both.iter().map(|sent| sent.bytes).collect::<Vec<_>>(), [700_000, 700_000]);
        to_one.join().unwrap().unwrap();
        assert_eq!(two.join().unwrap().unwrap().len(), 2);
        one.join().unwrap().unwrap();
    });
    assert_equal(&[files[0].clone(), name], folders[0].path());
    assert_equal(&files, folders[1].path());
}

/// Starts a peer that receives a line and answers with `line`. Returns the peer's address and its thread, which returns
/// the received line.
fn fake_receiver(line: &'static str) -> (SocketAddr, thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answer = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut got = String::new();
        BufReader::new(stream.try_clone().unwrap()).read_line(&mut got).unwrap();
        stream.write_all(line.as_bytes()).unwrap();
        got
    });
    (address, answer)
}

#[test]
fn a_peer_of_another_version_is_named() {
    let from = tempfile::tempdir().unwrap();
    let files = write_files(from.path(), &[1_000]);
    let newer = "{\"anabranch_live\":999,\"program\":\"9.9.9\",\"content\":{\"new\":true}}\n";
    for (line, part) in [
        (newer, "is of another version: anabranch 9.9.9 with transfers of version 999"),
        ("{\"hello\":1}\n", "is no anabranch live"),
        ("SSH-2.0-OpenSSH_9.2\n", "is no anabranch live\n  help: --to takes the address"),
        ("", "closed the connection before the end"),
    ] {
        let (address, answer) = fake_receiver(line);
        let error = send_to(vec![address], "reps", &files, 0.0).unwrap_err().to_string();
        assert!(error.contains(part) && error.contains(&address.to_string()), "{error}");
        let greeting = answer.join().unwrap();
        assert!(greeting.contains(&format!("\"anabranch_live\":{VERSION},")), "{greeting}");
    }
    // A sender of another version gets a refusal with the receiver's version, and the error of the receiver names the
    // sender's version. A peer that connects before the sender and sends nothing is not taken for a sender.
    let (to, folder) = (free_address(), tempfile::tempdir().unwrap());
    thread::scope(|scope| {
        let receiver = scope.spawn(|| receive_at(to, 1, folder.path(), 0.0));
        while TcpStream::connect(to).is_err() {
            thread::sleep(Duration::from_millis(20));
        }
        let mut stream = TcpStream::connect(to).unwrap();
        stream.write_all(newer.as_bytes()).unwrap();
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer).unwrap();
        assert!(answer.contains("Refused") && answer.contains(&format!(":{VERSION},")), "{answer}");
        let error = receiver.join().unwrap().unwrap_err().to_string();
        assert!(error.contains("of another version: anabranch 9.9.9"), "{error}");
    });
}

/// A sender that announces files of these lengths and then sends nothing.
fn announce(to: SocketAddr, lengths: &[u64]) -> TcpStream {
    // The sender has replaced a payload of 0.
    let parameters = TransferParameters { payload: 1_024, ..parameters("reps") };
    let content = serde_json::json!({ "parameters": parameters, "answers": 9 });
    let mut lines = format!(
        "{}\n",
        serde_json::json!({ "anabranch_live": VERSION, "program": "test", "content": content })
    );
    for (number, bytes) in lengths.iter().enumerate() {
        let name = format!("{number} of {bytes}");
        let begin = serde_json::json!({ "Begin": { "number": number, "name": name, "bytes": bytes } });
        lines += &format!("{begin}\n");
    }
    let connected = (0..100).find_map(|_| {
        thread::sleep(Duration::from_millis(20));
        TcpStream::connect(to).ok()
    });
    let mut stream = connected.expect("a receiver");
    stream.write_all(lines.as_bytes()).unwrap();
    stream
}

#[test]
fn lengths_that_no_number_holds_are_an_error() {
    let (to, folder) = (free_address(), tempfile::tempdir().unwrap());
    thread::scope(|scope| {
        let receiver = scope.spawn(|| receive_at(to, 1, folder.path(), 0.0));
        let _sender = announce(to, &[u64::MAX, 1]);
        let error = receiver.join().unwrap().unwrap_err().to_string();
        assert!(error.contains("announces files of more than 18446744073709551615 bytes"), "{error}");
    });
    let (to, folder) = (free_address(), tempfile::tempdir().unwrap());
    thread::scope(|scope| {
        let receiver = scope.spawn(|| receive_at(to, 2, folder.path(), 0.0));
        let senders = [announce(to, &[u64::MAX]), announce(to, &[1])];
        thread::sleep(Duration::from_millis(200));
        drop(senders);
        let error = receiver.join().unwrap().unwrap_err().to_string();
        assert!(error.contains("closed the connection before the end"), "{error}");
    });
}

/// Receives files from one sender. The receiver listens at once, but accepts the sender only after `delay` ms. The unit
/// of `silence` is also ms.
fn receive_late(
    listen: SocketAddr,
    folder: &Path,
    (silence, delay): (u64, u64),
    progress: &dyn Fn(Progress),
) -> Result<Vec<Statistics>, LiveError> {
    receive(&ReceiveSettings {
        listen,
        senders: 1,
        output: Output::Folder(folder.to_owned()),
        listening: &|_| {
            thread::sleep(Duration::from_millis(delay));
            Ok(())
        },
        common: CommonSettings { silence: Duration::from_millis(silence), progress, ..common(0.0) },
    })
}

/// Receivers share the rate of the sender, even if one of them answered late.
#[test]
fn a_receiver_that_answers_late_is_served_too() {
    let from = tempfile::tempdir().unwrap();
    let files = write_files(from.path(), &[8_000_000]);
    let (a, b) = (free_address(), free_address());
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let at_b = AtomicU64::new(0);
    let see_b = |progress: Progress| at_b.store(progress.bytes, Ordering::Relaxed);
    thread::scope(|scope| {
        let first = scope.spawn(|| receive_late(a, folders[0].path(), (5_000, 0), &ignore));
        let late = scope.spawn(|| receive_late(b, folders[1].path(), (5_000, 500), &see_b));
        thread::sleep(Duration::from_millis(100));
        let sender = scope.spawn(|| {
            let parameters = TransferParameters { rate: "100Mbps".to_owned(), ..parameters("reps") };
            let inputs = files.iter().cloned().map(Input::File).collect();
            send(&SendSettings { parameters, to: vec![a, b], inputs, ports: 4, common: common(0.0) })
        });
        first.join().unwrap().unwrap();
        let of_b = at_b.load(Ordering::Relaxed);
        assert!(of_b > 4_000_000, "the second receiver had {of_b} of 8000000 bytes when the first had all");
        sender.join().unwrap().unwrap();
        late.join().unwrap().unwrap();
    });
    assert_equal(&files, folders[1].path());
}

/// The second receiver answers after 3 s. The first receiver allows a silence of only 1.5 s.
#[test]
fn a_receiver_hears_its_sender_while_another_one_answers_late() {
    let from = tempfile::tempdir().unwrap();
    let files = write_files(from.path(), &[100_000]);
    let (a, b) = (free_address(), free_address());
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    thread::scope(|scope| {
        let first = scope.spawn(|| receive_late(a, folders[0].path(), (1_500, 0), &ignore));
        let late = scope.spawn(|| receive_late(b, folders[1].path(), (5_000, 3_000), &ignore));
        thread::sleep(Duration::from_millis(100));
        send_to(vec![a, b], "reps", &files, 0.0).unwrap();
        first.join().unwrap().unwrap();
        late.join().unwrap().unwrap();
    });
}

/// The pipe has no writer for 3 s. The receiver allows a silence of only 1.5 s.
#[test]
fn a_pipe_whose_writer_comes_late() {
    let from = tempfile::tempdir().unwrap();
    let pipe = from.path().join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let (to, folder) = (free_address(), tempfile::tempdir().unwrap());
    thread::scope(|scope| {
        let receiver = scope.spawn(|| receive_late(to, folder.path(), (1_500, 0), &ignore));
        scope.spawn(|| {
            thread::sleep(Duration::from_secs(3));
            fs::write(&pipe, vec![7; 150_000]).unwrap();
        });
        send_to(vec![to], "reps", std::slice::from_ref(&pipe), 0.0).unwrap();
        receiver.join().unwrap().unwrap();
    });
    assert!(fs::read(folder.path().join("pipe")).unwrap() == [7; 150_000]);
}

#[test]
fn a_file_that_exists_is_not_overwritten() {
    let (from, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let files = write_files(from.path(), &[1_000]);
    fs::write(folder.path().join("file-0"), "mine").unwrap();
    let to = free_address();
    let (sent, received) = thread::scope(|scope| {
        let receiver = scope.spawn(|| receive_at(to, 1, folder.path(), 0.0));
        (send_to(vec![to], "reps", &files, 0.0), receiver.join().unwrap())
    });
    let [sent, received] = [sent.unwrap_err(), received.unwrap_err()].map(|error| error.to_string());
    assert!(received.contains("exists already\n  help: name another folder with --out"), "{received}");
    assert!(
        sent.contains("exists already\n  help: at the other end: name another folder with --out"),
        "{sent}"
    );
    assert_eq!(fs::read(folder.path().join("file-0")).unwrap(), b"mine");
}
