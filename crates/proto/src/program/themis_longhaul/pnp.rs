//! The Proactive Notification Point (Themis-longhaul, section IV): the external switch sends CNPs for ECN-marked
//! packets from its own data centre, one round trip of the long link before the receiver's CNP could reach the sender.
//!
//! Choices where the paper is ambiguous or silent:
//! - According to one sentence (section IV, aligning with DCQCN), the register of a flow holds the time of its last
//!   mark. According to another (PNP overview), it holds the time of its last CNP. Here it holds the time of the last
//!   CNP. With the time of the last mark, a steady stream of marked packets would never cause a second CNP. DCQCN's
//!   notification point also counts from the last CNP.
//! - The mark of a packet without an entry is not cleared, so that the sender gets the receiver's CNP.
//! - The CNP is sent when the packet that caused it leaves, and has that packet's entropy value, since it is made from
//!   a copy of the packet. It has the size of an ACK, because the copy is truncated to its header. The authors'
//!   simulator delays the CNP by 2 us.
//! - The TCP client is the requester. Its daemon reports the queue pair to the external switch of the requester's data
//!   centre, and with `both_ends` also to the external switch of the responder's data centre.

use super::config::PnpConfig;
use super::monitor::{HandshakeMonitor, MonitorCounters, MonitorVerdict, Segment, TcpFlags};
use super::qp_field::{ControlPlane, DaemonPacket, QpField, QpKey, ServerQpn};
use crate::program::interface::{
    Emitted, Held, Passage, ProgramCounter, ProgramFacts, QpNotice, Sites, Total,
};
use crate::{Packet, Repr, StateField};
use anabranch_base::{Duration, HostId, Stream, Time};

/// Number of registers of the TCP-cookie array. The paper does not specify it. Section VI gives this number for the
/// other tables.
pub const TCP_COOKIE_REGISTERS: u32 = 1024;

/// The TCP port of the simulated servers. It has no effect on the results.
const SERVER_PORT: u16 = 18_515;

/// The notification point of a single external switch.
pub struct Pnp {
    /// Minimum time between two CNPs of a flow. With None, every marked packet causes a CNP.
    cnp_interval: Option<Duration>,
    clear_marks: bool,
    both_ends: bool,
    monitor: Option<HandshakeMonitor>,
    control: ControlPlane,
    table: QpField,
    cnp_bytes: u16,
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    marks_cleared: u64,
    cnps: u64,
    marks_within_interval: u64,
    /// Marked packets without an entry, of flows between data centres that daemons report to this switch.
    marks_without_entry: u64,
}

impl Pnp {
    /// The notification point before the first connection. The monitor's secrets are drawn from `random`.
    pub fn new(config: &PnpConfig, facts: &ProgramFacts, random: &mut Stream) -> Self {
        let cnp_interval = config.cnp_interval.on(&facts.path);
        let monitor = HandshakeMonitor::new(TCP_COOKIE_REGISTERS, random);
        Pnp {
            cnp_interval: (cnp_interval > Duration::ZERO).then_some(cnp_interval),
            clear_marks: config.clear_marks,
            both_ends: config.both_ends,
            monitor: config.monitor.then_some(monitor),
            control: ControlPlane::new(config, &facts.path),
            table: QpField::new(config.entries),
            cnp_bytes: facts.ack.0 as u16,
            counts: Counts::default(),
        }
    }

    /// The data-plane state of a queue pair. The switch also has the TCP-cookie registers of 32 bits each.
    pub fn state() -> Vec<StateField> {
        vec![
            StateField::new("QP_field: srcIP", 32, 1),
            StateField::new("QP_field: dstIP", 32, 1),
            StateField::new("QP_field: sQPN", 24, 1),
            StateField::new("QP_field: cQPN", 24, 1),
            StateField::new("CNP timestamp", 32, 1),
        ]
    }

    /// Handles a packet that is about to be sent.
    #[inline]
    pub fn egress(&mut self, packet: &mut Packet, at: &Passage, sites: &Sites, out: &mut Vec<Emitted>) {
        if packet.marked && matches!(packet.repr, Repr::Data { .. }) {
            self.handle_mark(packet, at, sites, out);
        }
    }

    fn handle_mark(&mut self, packet: &mut Packet, at: &Passage, sites: &Sites, out: &mut Vec<Emitted>) {
        // Section IV: the addresses and the sQPN are the match fields. Flows from other data centres have no entry,
        // unless daemons report to the switches of both data centres.
        let key = QpKey { src: at.src, dst: packet.dst, server: ServerQpn(packet.qp) };
        let Some(entry) = self.table.get_mut(&key) else {
            let is_meant = self.serves(key.src, key.dst, sites) && sites.crosses(key.src, key.dst);
            self.counts.marks_without_entry += u64::from(is_meant);
            return;
        };
        // Section IV, aligning with DCQCN: the mark is cleared so that the receiver does not send a CNP for it too.
        if self.clear_marks {
            packet.marked = false;
            self.counts.marks_cleared += 1;
        }
        // Section IV, aligning with DCQCN: a CNP is sent only if the time since the last one exceeds the interval.
        let is_due = match (self.cnp_interval, entry.last_cnp) {
            (Some(interval), Some(last)) => at.now.since(last) > interval,
            _ => true,
        };
        if !is_due {
            self.counts.marks_within_interval += 1;
            return;
        }
        entry.last_cnp = Some(at.now);
        self.counts.cnps += 1;
        // Section IV, generating CNPs: the CNP is a copy of the data packet, with the cQPN as its destination QPN.
        let cnp = Packet::cnp(entry.client.0, at.src).with_bytes(self.cnp_bytes).with_ev(packet.ev);
        out.push(Emitted { packet: cnp, held: Held::Never });
    }

    /// Handles the first message of a queue pair, whose connection was set up before.
    pub fn open(&mut self, notice: &QpNotice, sites: &Sites) {
        if !self.serves(notice.src, notice.dst, sites) {
            return;
        }
        // TCP within the data centre does not pass this switch. The daemon reports every queue pair, since its host
        // does not know the data centre of the other host.
        if self.monitor.is_some() && sites.crosses(notice.src, notice.dst) {
            if sites.is_own(notice.src) {
                self.connect(notice, sites);
            } else {
                // The monitor of the client's switch has seen the handshake. The control plane of that switch forwards
                // the report.
                self.control.learn(notice.src, notice.dst);
            }
        }
        self.control.handle_init(notice.now, &DaemonPacket::of(notice), &mut self.table);
    }

    /// Handles the destruction of a queue pair, whose last message is acknowledged.
    pub fn close(&mut self, notice: &QpNotice, sites: &Sites) {
        if self.serves(notice.src, notice.dst, sites) {
            self.control.handle_destroy(notice.now, &DaemonPacket::of(notice).key, &mut self.table);
        }
    }

    /// Whether daemons report a queue pair between two hosts to this switch.
    fn serves(&self, src: HostId, dst: HostId, sites: &Sites) -> bool {
        sites.is_own(src) || (self.both_ends && sites.is_own(dst))
    }

    /// Figure 5: the requester's TCP client connects until it succeeds, which is at the second attempt. All segments
    /// pass at the time of the first message instead of `setup` earlier, so that handshakes do not interleave.
    fn connect(&mut self, notice: &QpNotice, sites: &Sites) {
        // The values of the TCP ports and sequence numbers have no effect on the results, so they are derived from
        // the queue pair.
        let (src_port, number) = (notice.qp.0 as u16, notice.qp.0);
        let client = Segment {
            src: notice.src,
            dst: notice.dst,
            src_port,
            dst_port: SERVER_PORT,
            flags: TcpFlags::Syn,
            seq: number,
            ack: 0,
        };
        let server = Segment {
            src: notice.dst,
            dst: notice.src,
            src_port: SERVER_PORT,
            dst_port: src_port,
            flags: TcpFlags::SynAck,
            seq: !number,
            ack: number.wrapping_add(1),
        };
        let mut is_reset = true;
        while is_reset {
            let syn_ack = match self.handle_segment(notice.now, &client, sites) {
                MonitorVerdict::Reply(cookie) => cookie,
                _ => server,
            };
            let ack = Segment {
                flags: TcpFlags::Ack,
                seq: syn_ack.ack,
                ack: syn_ack.seq.wrapping_add(1),
                ..client
            };
            is_reset = matches!(self.handle_segment(notice.now, &ack, sites), MonitorVerdict::Reply(_));
        }
    }

    /// Handles a TCP segment. The monitor checks the segments from its own data centre.
    pub fn handle_segment(&mut self, now: Time, segment: &Segment, sites: &Sites) -> MonitorVerdict {
        let verdict = match &mut self.monitor {
            Some(monitor) if sites.is_own(segment.src) => monitor.handle(now, segment),
            _ => MonitorVerdict::Forward,
        };
        if let MonitorVerdict::ForwardAndReport { src, dst } = verdict {
            self.control.learn(src, dst);
        }
        verdict
    }

    /// The time at which [`handle_timeout`](Self::handle_timeout) is due.
    #[inline]
    pub fn next_timeout(&self) -> Option<Time> {
        self.control.next_timeout()
    }

    /// Applies the changes of the table that are due.
    pub fn handle_timeout(&mut self, now: Time) {
        self.control.handle_timeout(now, &mut self.table);
    }

    /// Current number of entries in the table.
    pub fn table_entries(&self) -> u64 {
        u64::from(self.table.in_use())
    }

    /// The counters so far.
    pub fn counters(&self) -> Vec<ProgramCounter> {
        let sum = |name, value| ProgramCounter { name, value, total: Total::Sum };
        let max = |name, value| ProgramCounter { name, value, total: Total::Max };
        let (counts, unused) = (&self.counts, MonitorCounters::default());
        let handshakes = self.monitor.as_ref().map_or(&unused, HandshakeMonitor::counters);
        let registers = self.monitor.as_ref().map_or(0, HandshakeMonitor::in_use);
        vec![
            sum("marks_cleared", counts.marks_cleared),
            sum("pnp_cnps", counts.cnps),
            sum("marks_within_interval", counts.marks_within_interval),
            sum("marks_without_entry", counts.marks_without_entry),
            max("qp_entries_max", u64::from(self.table.max_in_use())),
            sum("qp_entries_refused", self.table.refused()),
            sum("daemon_packets_ignored", self.control.ignored()),
            sum("inter_dc_pairs", self.control.pairs() as u64),
            sum("handshakes_seen", handshakes.reports),
            sum("tcp_cookies", handshakes.cookies),
            sum("tcp_registers", registers as u64),
        ]
    }
}
