//! The network namespaces of a testbed: one for each node, with a veth pair for each cable.
//!
//! Their names are `anabranch-PID-NODE`, such as `anabranch-4711-h0`, with the ID of the process that made them. They
//! are removed when [`Namespaces`] is dropped. [`remove_left_behind`] removes the namespaces of processes that were
//! killed.

use crate::error::LiveError;
use crate::sockets::packet_socket;
use anabranch_base::{LinkId, NodeId};
use anabranch_sim::topology::Topology;
use nix::sched::{CloneFlags, setns};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

const PREFIX: &str = "anabranch-";
/// The folder in which `ip netns` keeps namespaces.
const FOLDER: &str = "/run/netns";
const MOST_REMOVALS: u32 = 5;
/// Clock ticks per second (USER_HZ), the unit in which `/proc` gives the start of a process. It is 100 on x86 and
/// Arm.
const TICKS_PER_SECOND: u64 = 100;
/// Tolerance for the comparison of a process's age with a file's age, since `/proc/uptime` is read in whole seconds.
const CLOCK_ERROR: Duration = Duration::from_secs(2);
/// The MTU of links in bytes: the length of the longest IP packet.
const MTU: u32 = 65_535;

pub struct Namespaces {
    names: Vec<String>,
}

impl Namespaces {
    pub fn build(topology: &Topology) -> Result<Namespaces, LiveError> {
        let nodes = topology.nodes();
        let names: Vec<String> = (0..nodes).map(|node| name(topology, NodeId(node))).collect();
        // If a later step fails, dropping `built` removes the namespaces that exist.
        let built = Namespaces { names };
        let mut lines: String = built.names.iter().map(|name| format!("netns add {name}\n")).collect();
        for link in (0..topology.links()).map(LinkId) {
            let (node, to) = (topology.source(link), &topology.ports[link.index()]);
            let back = topology.reverse(link);
            if link.0 > back.0 {
                continue;
            }
            let [from, peer] = [node, to.peer].map(|node| &built.names[node.index()]);
            let [port, peer_port] = [topology.ports[back.index()].peer_port, to.peer_port];
            lines.push_str(&format!(
                "link add p{port} mtu {MTU} netns {from} type veth peer name p{peer_port} mtu {MTU} netns {peer}\n"
            ));
        }
        ip(&["-batch", "-"], &lines)?;
        for (node, name) in built.names.iter().enumerate() {
            let ports = topology.links_of(NodeId(node as u32)).len();
            // Without a link-local address, the kernel sends no IPv6 traffic of its own.
            let up: String =
                (0..ports).map(|port| format!("link set p{port} addrgenmode none up\n")).collect();
            ip(&["-n", name, "-batch", "-"], &up)?;
        }
        Ok(built)
    }

    /// The sockets of the ports, by node.
    pub fn sockets(&self, topology: &Topology) -> Result<Vec<Vec<OwnedFd>>, LiveError> {
        let own =
            File::open("/proc/thread-self/ns/net").map_err(|error| namespace_error("the process", error))?;
        let mut all = Vec::new();
        for (node, name) in self.names.iter().enumerate() {
            let ports = topology.links_of(NodeId(node as u32)).len();
            self.enter(node)?;
            let sockets = (0..ports).map(|port| packet_socket(&format!("p{port}")));
            let sockets: io::Result<Vec<OwnedFd>> = sockets.collect();
            let left = setns(&own, CloneFlags::CLONE_NEWNET);
            all.push(sockets.map_err(|error| namespace_error(name, error))?);
            left.map_err(|error| namespace_error("the process", error.into()))?;
        }
        Ok(all)
    }

    /// Moves this thread into the namespace of a node.
    pub fn enter(&self, node: usize) -> Result<(), LiveError> {
        let name = &self.names[node];
        let file = File::open(Path::new(FOLDER).join(name)).map_err(|error| namespace_error(name, error))?;
        setns(file, CloneFlags::CLONE_NEWNET).map_err(|error| namespace_error(name, error.into()))
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        remove(&self.names);
    }
}

fn name(topology: &Topology, node: NodeId) -> String {
    let pid = std::process::id();
    match node.0.checked_sub(topology.hosts) {
        None => format!("{PREFIX}{pid}-h{}", node.0),
        Some(switch) => format!("{PREFIX}{pid}-s{switch}"),
    }
}

/// Removes the namespaces of processes that no longer run. Returns the number of these namespaces.
pub fn remove_left_behind() -> usize {
    let Ok(entries) = std::fs::read_dir(FOLDER) else { return 0 };
    let is_left = |entry: &std::fs::DirEntry| {
        let name = entry.file_name();
        let made = entry.metadata().and_then(|metadata| metadata.modified()).unwrap_or(now());
        name.to_str().and_then(owner).is_some_and(|pid| !has_run_since(pid, made))
    };
    let left = entries.flatten().filter(is_left);
    let dead: Vec<String> = left.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    remove(&dead);
    dead.len()
}

/// The ID of the process that made the namespace with this name. None if the namespace was not made for a testbed.
fn owner(name: &str) -> Option<u32> {
    name.strip_prefix(PREFIX)?.split('-').next()?.parse().ok()
}

#[expect(clippy::disallowed_methods, reason = "the age of a namespace decides only whether it is removed")]
fn now() -> SystemTime {
    SystemTime::now()
}

/// Whether the process with this ID is running and started before `made`. A process that started later has reused the
/// ID.
fn has_run_since(pid: u32, made: SystemTime) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The process's name is in brackets and may contain brackets and spaces, so fields are counted from its last
    // bracket.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let (Some(state), Some(begin)) =
        (fields.first(), fields.get(19).and_then(|ticks| ticks.parse::<u64>().ok()))
    else {
        return false;
    };
    let uptime = std::fs::read_to_string("/proc/uptime").unwrap_or_default();
    let uptime = uptime.split('.').next().and_then(|seconds| seconds.parse::<u64>().ok()).unwrap_or(u64::MAX);
    let runs_for = Duration::from_secs(uptime.saturating_sub(begin / TICKS_PER_SECOND));
    let age = now().duration_since(made).unwrap_or_default();
    !matches!(*state, "Z" | "X") && runs_for + CLOCK_ERROR >= age
}

fn remove(names: &[String]) {
    // A signal to this process's group can end an `ip` that is still in the group right after its start. The removal
    // is then tried again.
    for _ in 0..MOST_REMOVALS {
        let there = names.iter().filter(|name| Path::new(FOLDER).join(name).exists());
        let lines: String = there.map(|name| format!("netns del {name}\n")).collect();
        if lines.is_empty() {
            return;
        }
        // The next start of a testbed tries again to remove a namespace that cannot be removed now.
        let _ = ip(&["-force", "-batch", "-"], &lines);
    }
}

fn ip(arguments: &[&str], input: &str) -> Result<(), LiveError> {
    let refused = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => LiveError::Unsupported(
            "`ip` is not installed, which makes network namespaces: apt-get install iproute2".to_owned(),
        ),
        _ => LiveError::System { what: "ip".to_owned(), error },
    };
    let mut command = Command::new("ip");
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    // Ctrl-C reaches all processes of the terminal's process group. `ip` has a group of its own, so that Ctrl-C does
    // not cut a removal short.
    command.process_group(0);
    let mut child = command.spawn().map_err(refused)?;
    if let Some(mut stdin) = child.stdin.take() {
        // If `ip` ends early, its message says why.
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(refused)?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let first = text.lines().next().unwrap_or("no message").to_owned();
    Err(LiveError::Unsupported(format!(
        "ip cannot make the network namespaces: {first}\n  help: --sockets needs no namespaces; \
         anabranch testbed --check says what is missing"
    )))
}

fn namespace_error(name: &str, error: io::Error) -> LiveError {
    LiveError::System { what: format!("the network namespace of {name}"), error }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_testbeds_have_an_owner() {
        assert_eq!(owner("anabranch-4711-h0"), Some(4711));
        assert_eq!([owner("anabranch-x-h0"), owner("blue"), owner("anabranch")], [None; 3]);
    }

    #[test]
    fn a_process_that_began_later_is_another_one() {
        let (own, now) = (std::process::id(), now());
        assert!(has_run_since(own, now));
        assert!(!has_run_since(own, now - Duration::from_secs(1_000_000)), "its number was used before");
        assert!(!has_run_since(u32::MAX, now));
    }
}
