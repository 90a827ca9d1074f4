//! The rules of BiCC in their plainest form, for comparison with the program.

use super::*;
use std::collections::VecDeque;

pub struct Model {
    window: u64,
    release: Duration,
    round_trip: Duration,
    /// For each queue pair, the PSN that a NACK requested, until this PSN is forwarded or acknowledged.
    asked: std::collections::BTreeMap<u32, u32>,
    /// All packets in flight, in the order of forwarding.
    on_way: Vec<OnWay>,
    /// Indexed by host.
    queues: Vec<VecDeque<(Sent, u64)>>,
    pub given_up: u64,
    pub expired: u64,
}

struct OnWay {
    host: HostId,
    sent: Sent,
    bytes: u64,
    due: Time,
}

impl Model {
    pub fn new(window: u64, release: Duration) -> Self {
        let queues = vec![VecDeque::new(); HOSTS];
        let round_trip = facts().path.line_rate.time_for(window).max(Duration(1));
        Model {
            window,
            release,
            round_trip,
            asked: Default::default(),
            on_way: Vec::new(),
            queues,
            given_up: 0,
            expired: 0,
        }
    }

    pub fn pass(&mut self, now: Time, packet: &Packet, src: HostId) -> Vec<Sent> {
        let qp = packet.qp.0;
        match packet.repr {
            Repr::Data { psn, .. } => {
                let before = self.on_way.len();
                self.on_way.retain(|other| other.sent != (qp, psn));
                self.given_up += (before - self.on_way.len()) as u64;
                self.queues[packet.dst.index()].push_back(((qp, psn), packet.wire_bytes.into()));
                self.serve(now, packet.dst)
            }
            Repr::Ack { cumulative, base, received, .. } => {
                self.asked.retain(|of, asked| *of != qp || *asked >= cumulative);
                let named = |psn: u32| psn >= base && psn - base < 64 && received >> (psn - base) & 1 != 0;
                self.on_way.retain(|OnWay { sent: (of, psn), .. }| {
                    *of != qp || (*psn >= cumulative && !named(*psn))
                });
                self.serve(now, src)
            }
            Repr::Nack { psn: cumulative, .. } => {
                self.on_way.retain(|OnWay { sent: (of, psn), .. }| *of != qp || *psn >= cumulative);
                for OnWay { sent, due, .. } in &mut self.on_way {
                    if sent.0 == qp && sent.1 > cumulative {
                        *due = (*due).min(now + self.round_trip);
                    }
                }
                self.asked.insert(qp, cumulative);
                self.serve(now, src)
            }
            _ => Vec::new(),
        }
    }

    pub fn time_out(&mut self, now: Time) -> Vec<Sent> {
        let mut passed = Vec::new();
        while let Some(slot) = (0..self.on_way.len())
            .filter(|slot| self.on_way[*slot].due <= now)
            .min_by_key(|slot| self.on_way[*slot].due)
        {
            let host = self.on_way.remove(slot).host;
            self.expired += 1;
            passed.extend(self.serve(now, host));
        }
        passed
    }

    pub fn next_timeout(&self) -> Option<Time> {
        self.on_way.iter().map(|other| other.due).min()
    }

    pub fn waiting(&self) -> usize {
        self.queues.iter().map(VecDeque::len).sum()
    }

    fn serve(&mut self, now: Time, host: HostId) -> Vec<Sent> {
        let mut passed = Vec::new();
        while let Some(&(sent, bytes)) = self.queues[host.index()].front() {
            let on_way = self.on_way.iter().filter(|other| other.host == host);
            let in_flight: u64 = on_way.map(|other| other.bytes).sum();
            if in_flight > 0 && in_flight + bytes > self.window {
                break;
            }
            self.queues[host.index()].pop_front();
            let is_doomed = self.asked.get(&sent.0).is_some_and(|asked| sent.1 > *asked);
            self.asked.retain(|of, asked| (*of, *asked) != sent);
            let counted = if is_doomed { self.round_trip.min(self.release) } else { self.release };
            self.on_way.push(OnWay { host, sent, bytes, due: now + counted });
            passed.push(sent);
        }
        passed
    }
}
