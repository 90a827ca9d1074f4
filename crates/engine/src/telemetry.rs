//! In-network telemetry (INT). Its records are kept beside the packets, which have no room for them.
//!
//! If the congestion control needs telemetry, each data packet that leaves its sender gets a record. On links,
//! records travel beside the packets in the mail. A node stores the records of its queued packets. Each switch port
//! that sends the packet adds a hop. At the receiver, the record waits for the queue pair's next ACK, which carries
//! it back. If another data packet arrives first, its record replaces the older one. A NACK carries no record: the
//! record waits for the next ACK. At the sender, the transport reads the record.

use anabranch_base::Time;
use anabranch_proto::{IntStack, Packet, Repr};

#[derive(Default)]
pub struct Telemetry {
    /// The record with number `n` is `records[n - 1]`.
    records: Vec<IntStack>,
    free: Vec<u32>,
    /// The records of packets that the switch program holds. Each entry has the packet's queue pair, PSN and time of
    /// sending, and the number of its record.
    with_program: Vec<(u32, u32, Time, u32)>,
}

impl Telemetry {
    /// Adds a record. Returns its number.
    pub fn insert(&mut self, record: &IntStack) -> u32 {
        match self.free.pop() {
            Some(number) => {
                self.records[number as usize - 1] = *record;
                number
            }
            None => {
                self.records.push(*record);
                self.records.len() as u32
            }
        }
    }

    /// `None` for the number 0.
    pub fn record(&mut self, number: u32) -> Option<&mut IntStack> {
        self.records.get_mut((number as usize).checked_sub(1)?)
    }

    /// Frees a record. The number 0 stands for no record.
    pub fn release(&mut self, number: u32) {
        if number > 0 {
            self.free.push(number);
        }
    }

    pub fn store_for_program(&mut self, packet: &Packet, number: u32) {
        if let (Repr::Data { psn, sent_at, .. }, true) = (packet.repr, number > 0) {
            self.with_program.push((packet.qp.0, psn, sent_at, number));
        }
    }

    /// Removes `packet`, which the switch program releases, from the list of held packets. Returns the number of the
    /// packet's record, or 0 if there is none.
    pub fn retrieve(&mut self, packet: &Packet) -> u32 {
        let Repr::Data { psn, sent_at, .. } = packet.repr else { return 0 };
        let its = |with_program: &(u32, u32, Time, u32)| {
            (with_program.0, with_program.1, with_program.2) == (packet.qp.0, psn, sent_at)
        };
        self.with_program.iter().position(its).map_or(0, |slot| self.with_program.remove(slot).3)
    }

    /// The number of records of packets that the switch program holds, and the number of all other records.
    pub fn counts(&self) -> (u64, u64) {
        let with_program = self.with_program.len() as u64;
        (with_program, (self.records.len() - self.free.len()) as u64 - with_program)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_base::{HostId, LinkId, MessageId, QpId, Rate};
    use anabranch_proto::{IntHop, Msn};

    fn data(qp: u32, psn: u32) -> Packet {
        let (message, sent_at) = (MessageId(0), Time(7));
        let repr = Repr::Data {
            psn,
            message,
            message_packets: 1,
            sent_at,
            ack_now: false,
            stamps: 0,
            msn: Msn::NONE,
            retransmitted: false,
        };
        Packet { qp: QpId(qp), dst: HostId(0), wire_bytes: 1_090, ev: 0, marked: false, tag: 0, repr }
    }

    #[test]
    fn records_are_kept_and_used_again() {
        let mut telemetry = Telemetry::default();
        let mut stack = IntStack::EMPTY;
        stack.push(LinkId(3), IntHop { queue_bytes: 5, tx_bytes: 0, at: Time(1), rate: Rate::from_gbps(1) });
        let (first, second) = (telemetry.insert(&stack), telemetry.insert(&IntStack::EMPTY));
        assert_eq!((first, second, telemetry.counts()), (1, 2, (0, 2)));
        assert_eq!(telemetry.record(first), Some(&mut stack));
        assert_eq!(telemetry.record(0), None);
        telemetry.release(first);
        telemetry.release(0);
        assert_eq!((telemetry.insert(&IntStack::EMPTY), telemetry.counts()), (first, (0, 2)));
    }

    #[test]
    fn a_packet_that_a_program_keeps_finds_its_record_again() {
        let mut telemetry = Telemetry::default();
        let (first, second) = (telemetry.insert(&IntStack::EMPTY), telemetry.insert(&IntStack::EMPTY));
        telemetry.store_for_program(&data(0, 1), first);
        telemetry.store_for_program(&data(0, 2), second);
        assert_eq!(telemetry.counts(), (2, 0));
        assert_eq!(telemetry.retrieve(&data(1, 2)), 0);
        assert_eq!(telemetry.retrieve(&data(0, 2)), second);
        assert_eq!(telemetry.retrieve(&data(0, 2)), 0);
        assert_eq!(telemetry.counts(), (1, 1));
    }
}
