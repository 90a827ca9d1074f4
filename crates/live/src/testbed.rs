//! A run on real packets in real time. All switches are in one process. Each host has a process of its own, except that
//! hosts that start each other's messages share a process.

use crate::channel::{Channel, FromNodes, NodesReport, ToNodes};
use crate::clock::monotonic_ns;
use crate::error::LiveError;
use crate::lateness::Lateness;
use crate::namespaces::Namespaces;
use crate::node::LiveNode;
use crate::plan::two_digits;
use crate::record::Recorder;
use crate::sockets;
use crate::worker::Worker;
use anabranch_base::{LinkId, MessageId, NodeId, Time};
use anabranch_sim::scenario::RunPoint;
use anabranch_sim::topology::Topology;
use anabranch_sim::{Built, DrivenRun, NodeTotals, RunResult, Signal, SignalKind};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl::{set_pdeathsig, set_timerslack};
use nix::sys::signal::{SigHandler, Signal as Kill, kill, signal};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork, getppid};
use std::cell::Cell;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration as RealDuration;

/// The links of a testbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// Each node has a network namespace, and each cable is a veth pair between two of them. This needs privileges.
    Namespaces,
    /// A pair of connected sockets for each cable.
    SocketPairs,
}

/// The settings of a run.
pub struct Settings<'s> {
    /// The real time that one unit of simulated time takes.
    pub dilation: u32,
    /// The kind of links.
    pub links: Links,
    /// The longest real time of the run.
    pub limit: RealDuration,
    /// The folder for the record of the run, which has a file for each process.
    pub record: Option<&'s Path>,
    /// Returns whether the user wants the run to end.
    pub interrupted: &'s dyn Fn() -> bool,
}

/// The results of a run.
#[derive(Debug)]
pub struct LiveOutcome {
    /// The rows of the run, in simulated time.
    pub result: RunResult,
    /// Number of messages whose bytes were checked at their receivers.
    pub checked: u64,
    /// Number of bytes of the checked messages.
    pub checked_bytes: u64,
    /// Lateness with which nodes acted on frames.
    pub frames: Lateness,
    /// Lateness of the events that nodes scheduled themselves, such as timers.
    pub events: Lateness,
    /// Number of frames that the kernel dropped because a socket was full.
    pub kernel_drops: u64,
    /// The real time in nanoseconds that a full packet takes on the link of a host.
    pub packet_ns: u64,
    /// The real time that one unit of simulated time took.
    pub dilation: u32,
}

/// One in this number of frames and events may be late by more than the transmission time of a packet.
pub const LATE_ONE_IN: u64 = 100;

impl LiveOutcome {
    /// The lateness, in packet times, that at most one in [`LATE_ONE_IN`] frames and at most one in [`LATE_ONE_IN`]
    /// events exceeded.
    pub fn lateness(&self) -> f64 {
        let late = [&self.frames, &self.events].map(|late| late.all_but_one_in(LATE_ONE_IN));
        late[0].max(late[1]) as f64 / self.packet_ns.max(1) as f64
    }

    /// The dilation at which nodes would probably have acted in time. None if they did.
    pub fn needed_dilation(&self) -> Option<u32> {
        let needed = self.lateness() * 1.5 * f64::from(self.dilation);
        (self.lateness() > 1.0).then(|| two_digits(needed))
    }
}

/// Runs a point on real packets.
///
/// # Errors
/// The point or its links cannot be built, the run has a part that only the simulator has, a process cannot be
/// started, dies or fails, a message is damaged, the run exceeds its limit, or the user ends it.
pub fn live(point: &RunPoint, built: &Built, settings: &Settings<'_>) -> Result<LiveOutcome, LiveError> {
    let (run, topology) = (DrivenRun::new(point, built)?, &built.topology);
    let nodes = LiveNode::all(&run, topology)?;
    let namespaces = match settings.links {
        Links::Namespaces => Some(Namespaces::build(topology)?),
        Links::SocketPairs => None,
    };
    let ends = match &namespaces {
        Some(namespaces) => namespaces.sockets(topology)?,
        None => socket_pairs(topology)?,
    };
    let mut processes = Processes::start(&run, topology, (nodes, ends), namespaces.as_ref(), settings)?;
    let reports = processes.run_to_end(&run, settings)?;
    // All processes have ended before the namespaces are removed.
    drop(processes);
    drop(namespaces);
    let first = topology.link(NodeId(0), 0);
    let packet = topology.ports[first.index()].rate.time_for(run.packet_bytes());
    Ok(outcome(&run, &reports, packet.0 * u64::from(settings.dilation) / 1000, settings.dilation))
}

fn outcome(run: &DrivenRun<'_>, reports: &[NodesReport], packet_ns: u64, dilation: u32) -> LiveOutcome {
    let (mut totals, mut frames, mut events) =
        (NodeTotals::default(), Lateness::default(), Lateness::default());
    for report in reports {
        totals.add(&report.totals);
        frames.add(&report.frames);
        events.add(&report.events);
        report.messages.iter().for_each(|(message, times)| run.record_message(MessageId(*message), *times));
        report.steps.iter().for_each(|(step, times)| run.record_step(*step, *times));
    }
    LiveOutcome {
        result: run.result(&totals),
        checked: reports.iter().map(|report| report.checked).sum(),
        checked_bytes: reports.iter().map(|report| report.checked_bytes).sum(),
        frames,
        events,
        kernel_drops: reports.iter().map(|report| report.kernel_drops).sum(),
        packet_ns,
        dilation,
    }
}

/// Connects each cable's two ports by a pair of sockets. Returns the socket of each port of each node.
fn socket_pairs(topology: &Topology) -> Result<Vec<Vec<OwnedFd>>, LiveError> {
    let mut ends: Vec<Option<OwnedFd>> = (0..topology.links()).map(|_| None).collect();
    for link in (0..topology.links()).map(LinkId) {
        let back = topology.reverse(link);
        if ends[link.index()].is_none() {
            let refused = |error| LiveError::System { what: "a pair of sockets".to_owned(), error };
            let [one, other] = sockets::pair().map_err(refused)?;
            (ends[link.index()], ends[back.index()]) = (Some(one), Some(other));
        }
    }
    let of_node = |node: u32| topology.links_of(NodeId(node));
    Ok((0..topology.nodes())
        .map(|node| of_node(node).filter_map(|link| ends[link as usize].take()).collect())
        .collect())
}

/// The processes of a run. Dropping this value kills the processes.
struct Processes {
    children: Vec<Child>,
    hosts: u32,
}

struct Child {
    pid: Pid,
    /// Whether the process has been waited for. Its number may then belong to another process.
    is_over: Cell<bool>,
    /// The name of the nodes in error messages.
    name: String,
    nodes: Vec<u32>,
    channel: Channel,
    is_ready: bool,
    ended: u64,
    last_end: Time,
    report: Option<NodesReport>,
}

impl Processes {
    /// Starts a process for each of the [`groups`] of nodes.
    fn start<'r>(
        run: &'r DrivenRun<'r>,
        topology: &Topology,
        (nodes, sockets): (Vec<LiveNode<'r>>, Vec<Vec<OwnedFd>>),
        namespaces: Option<&Namespaces>,
        settings: &Settings<'_>,
    ) -> Result<Processes, LiveError> {
        let hosts = topology.hosts;
        let mut processes = Processes { children: Vec::new(), hosts };
        let (mut nodes, mut sockets): (Vec<_>, Vec<_>) =
            (nodes.into_iter().map(Some).collect(), sockets.into_iter().map(Some).collect());
        for (number, group) in groups(run, topology).into_iter().enumerate() {
            let name = match (group.len(), group[0] < hosts) {
                (1, _) => topology.node_name(NodeId(group[0])),
                (count, true) => format!("{count} hosts that start each other's messages"),
                (count, false) => format!("the {count} switches"),
            };
            let system = |error| LiveError::System { what: format!("the process of {name}"), error };
            let (own, its) = UnixStream::pair().map_err(system)?;
            let here = |node: &u32| Some((nodes[*node as usize].take()?, sockets[*node as usize].take()?));
            let here: Vec<_> = group.iter().filter_map(here).collect();
            let parent = std::process::id();
            // SAFETY: the child runs only `child`, which ends the process, on its own copy of the memory. The child
            // takes no lock that another thread of the parent may hold.
            match unsafe { fork() }.map_err(|error| system(error.into()))? {
                ForkResult::Child => {
                    drop(own);
                    processes.forget();
                    drop(sockets);
                    let namespace = namespaces.map(|namespaces| (namespaces, group[0] as usize));
                    child(parent, namespace, || serve(run, here, Channel::new(its), (number, settings)));
                }
                ForkResult::Parent { child: pid } => {
                    drop((its, here));
                    processes.children.push(Child {
                        pid,
                        is_over: Cell::new(false),
                        name,
                        nodes: group,
                        channel: Channel::new(own),
                        is_ready: false,
                        ended: 0,
                        last_end: Time::ZERO,
                        report: None,
                    });
                }
            }
        }
        Ok(processes)
    }

    /// Forgets the processes without killing them.
    fn forget(&mut self) {
        self.children.clear();
    }

    /// Starts the run, and passes signals between processes until all have reported.
    fn run_to_end(
        &mut self,
        run: &DrivenRun<'_>,
        settings: &Settings<'_>,
    ) -> Result<Vec<NodesReport>, LiveError> {
        let all: u64 = run.counts().into_iter().map(u64::from).sum();
        let deadline = monotonic_ns() + settings.limit.as_nanos() as u64;
        let (mut has_begun, mut is_over) = (false, false);
        loop {
            if (settings.interrupted)() {
                return Err(LiveError::Interrupted);
            }
            let ended: u64 = self.children.iter().map(|child| child.ended).sum();
            if monotonic_ns() > deadline {
                let what = format!(
                    "{ended} of {all} messages and steps ended within the limit of {} s; --limit allows more, and a \
                     smaller --dilation or fewer bytes take less",
                    settings.limit.as_secs()
                );
                return Err(LiveError::Limit(what));
            }
            if !has_begun && self.children.iter().all(|child| child.is_ready) {
                has_begun = true;
                self.send_to_all(&ToNodes::Start(monotonic_ns() + 20_000_000))?;
            }
            if !is_over && ended >= all {
                is_over = true;
                let last = self.children.iter().map(|child| child.last_end).max().unwrap_or(Time::ZERO);
                self.send_to_all(&ToNodes::Stop(last + run.linger()))?;
            }
            if self.children.iter().all(|child| child.report.is_some()) {
                return Ok(self.children.iter_mut().filter_map(|child| child.report.take()).collect());
            }
            self.wait();
            self.handle_messages(run)?;
        }
    }

    /// Waits until a process has written something, for a tenth of a second at most.
    fn wait(&self) {
        let open = self.children.iter().filter(|child| child.report.is_none());
        let fds = open.map(|child| PollFd::new(child.channel.stream().as_fd(), PollFlags::POLLIN));
        let mut fds: Vec<PollFd<'_>> = fds.collect();
        // If a signal interrupts the wait, the caller waits again.
        let _ = poll(&mut fds, PollTimeout::from(100_u16));
    }

    fn handle_messages(&mut self, run: &DrivenRun<'_>) -> Result<(), LiveError> {
        for index in 0..self.children.len() {
            let child = &mut self.children[index];
            let lines = child.channel.receive::<FromNodes>().map_err(|error| child.broken(&error))?;
            for line in lines {
                match line {
                    FromNodes::Ready => self.children[index].is_ready = true,
                    FromNodes::Signal(signal) => self.pass_on(index, &signal, run)?,
                    FromNodes::Progress { ended, last_end } => {
                        (self.children[index].ended, self.children[index].last_end) = (ended, last_end);
                    }
                    FromNodes::Failed(what) => return Err(LiveError::Broken(what)),
                    FromNodes::Report(report) => self.children[index].report = Some(*report),
                }
            }
            let child = &self.children[index];
            if child.channel.is_closed() && child.report.is_none() {
                return Err(child.death());
            }
        }
        Ok(())
    }

    fn pass_on(&mut self, from: usize, signal: &Signal, run: &DrivenRun<'_>) -> Result<(), LiveError> {
        let (hosts, notifies) = (self.hosts, run.notifies_switches());
        for (index, child) in self.children.iter_mut().enumerate() {
            let has_switches = child.nodes.iter().any(|node| *node >= hosts);
            let concerned = match signal.kind {
                SignalKind::Qp { qp, opens } => {
                    let [_, dst] = run.ends(anabranch_base::QpId(qp));
                    (has_switches && notifies) || (!opens && child.nodes.contains(&dst.0))
                }
                SignalKind::Post { host, .. } | SignalKind::Begin { host, .. } => child.nodes.contains(&host),
                SignalKind::Pause { node, .. } => child.nodes.contains(&node),
            };
            if concerned && index != from && child.report.is_none() {
                let sent = child.channel.send(&ToNodes::Signal(*signal));
                sent.map_err(|_| child.death())?;
            }
        }
        Ok(())
    }

    fn send_to_all(&mut self, message: &ToNodes) -> Result<(), LiveError> {
        for child in &mut self.children {
            let sent = child.channel.send(message);
            sent.map_err(|_| child.death())?;
        }
        Ok(())
    }
}

impl Child {
    /// The error for a process that ended too early.
    fn death(&self) -> LiveError {
        let ended = waitpid(self.pid, None);
        self.is_over.set(self.is_over.get() || ended.is_ok());
        let how = match ended {
            Ok(WaitStatus::Signaled(_, signal, _)) => format!("was killed by {signal}"),
            Ok(WaitStatus::Exited(_, code)) => format!("ended early with code {code}"),
            _ => "ended early".to_owned(),
        };
        LiveError::Broken(format!("the process of {} (pid {}) {how}", self.name, self.pid))
    }

    fn broken(&self, error: &std::io::Error) -> LiveError {
        LiveError::Broken(format!("the process of {} (pid {}): {error}", self.name, self.pid))
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for child in self.children.iter().filter(|child| !child.is_over.get()) {
            // An error means that the process has already ended.
            let _ = kill(child.pid, Kill::SIGKILL);
            let _ = waitpid(child.pid, None);
        }
    }
}

/// The nodes of each process: one host, several hosts that start each other's messages, or all switches.
pub fn groups(run: &DrivenRun<'_>, topology: &Topology) -> Vec<Vec<u32>> {
    let clusters = run.clusters();
    let mut groups: Vec<Vec<u32>> =
        clusters.iter().map(|nodes| nodes.iter().map(|node| node.0).collect()).collect();
    let alone = |host: &u32| !clusters.iter().flatten().any(|node| node.0 == *host);
    groups.extend((0..topology.hosts).filter(alone).map(|host| vec![host]));
    groups.push((topology.hosts..topology.nodes()).collect());
    groups.retain(|group| !group.is_empty());
    groups
}

fn serve<'r>(
    run: &'r DrivenRun<'r>,
    here: Vec<(LiveNode<'r>, Vec<OwnedFd>)>,
    mut channel: Channel,
    (number, settings): (usize, &Settings<'_>),
) {
    let recorder = settings.record.map(|folder| Recorder::create(folder, number)).transpose();
    match recorder {
        Ok(recorder) => {
            let (nodes, sockets) = here.into_iter().unzip();
            Worker::serve(run, nodes, sockets, channel, (settings.dilation, recorder));
        }
        // If the parent has ended, nobody reads the error.
        Err(error) => drop(channel.send(&FromNodes::Failed(error.to_string()))),
    }
}

fn child(parent: u32, namespace: Option<(&Namespaces, usize)>, serve: impl FnOnce()) -> ! {
    let code = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        // From now on, the kernel kills the child when the parent dies. The parent may have died before.
        let _ = set_pdeathsig(Kill::SIGKILL);
        if getppid().as_raw() as u32 != parent {
            return 1;
        }
        // The kernel must not delay the end of a wait in order to combine it with other timers.
        let _ = set_timerslack(1);
        // Ctrl-C and the SIGTERM of `timeout` reach all processes of a group. Only the parent handles them.
        for ends in [Kill::SIGINT, Kill::SIGTERM, Kill::SIGHUP] {
            // SAFETY: no handler is installed.
            let _ = unsafe { signal(ends, SigHandler::SigIgn) };
        }
        if let Some((namespaces, node)) = namespace
            && namespaces.enter(node).is_err()
        {
            return 1;
        }
        serve();
        0
    }));
    // SAFETY: the process ends without running what the parent has set up for its own end.
    unsafe { libc::_exit(code.unwrap_or(101)) }
}
