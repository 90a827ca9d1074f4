//! Reception in any order (section 4.4): packets are placed correctly whatever their order.

use anabranch_base::{Purpose, stream};
use anabranch_proto::transport::dcp_reception::{
    Completion, Operation, Placement, Reception, ReceptionError, Reth,
};
use std::collections::BTreeMap;

/// A packet: its message, its operation, and the byte that it writes.
type Arrival = (u32, Operation, u8);

fn reth(address: u64, length: u32) -> Reth {
    Reth { address, key: 7, length }
}

/// A Send of 3 packets, a Write of 3 packets to address 5,000, a Write-with-Immediate of 2 packets to address 9,000,
/// and a Send of 2 packets. Each packet has 100 B.
fn arrivals() -> Vec<Arrival> {
    let send = |ssn, offset, length| Operation::Send { ssn, offset, length };
    vec![
        (0, send(0, 0, 300), b'a'),
        (0, send(0, 100, 300), b'b'),
        (0, send(0, 200, 300), b'c'),
        (1, Operation::Write(reth(5_000, 300)), b'd'),
        (1, Operation::Write(reth(5_100, 300)), b'e'),
        (1, Operation::Write(reth(5_200, 300)), b'f'),
        (2, Operation::Write(reth(9_000, 200)), b'g'),
        (2, Operation::WriteWithImmediate { reth: reth(9_100, 200), ssn: 1, immediate: 42 }, b'h'),
        (3, send(2, 0, 200), b'i'),
        (3, send(2, 100, 200), b'j'),
    ]
}

const PACKETS: [usize; 4] = [3, 3, 2, 2];

fn shuffled(seed: u64) -> Vec<Arrival> {
    let (mut left, mut random) = (arrivals(), stream(seed, 0, Purpose::Model));
    (1..=10).rev().map(|n| left.swap_remove(random.below(n) as usize)).collect()
}

/// The byte that was written at each place. A place is an offset in the buffer of a receive WQE, or an address in
/// memory.
type Memory = BTreeMap<(Option<u32>, u64), u8>;

fn right() -> Memory {
    let buffer = |wqe, offset, mark| ((Some(wqe), offset), mark);
    let memory = |address, mark| ((None, address), mark);
    Memory::from([
        buffer(0, 0, b'a'),
        buffer(0, 100, b'b'),
        buffer(0, 200, b'c'),
        memory(5_000, b'd'),
        memory(5_100, b'e'),
        memory(5_200, b'f'),
        memory(9_000, b'g'),
        memory(9_100, b'h'),
        buffer(2, 0, b'i'),
        buffer(2, 100, b'j'),
    ])
}

#[test]
fn payloads_land_rightly_and_cqes_come_in_order() {
    for seed in 0..5_000 {
        let (mut reception, mut memory, mut cqes) = (Reception::new(8), Memory::new(), Vec::new());
        let (mut came, mut expected) = ([0; 4], 0);
        for (msn, operation, mark) in shuffled(seed) {
            let place = match reception.place(msn, &operation).unwrap() {
                Placement::Memory(address) => (None, address),
                Placement::Buffer { receive_wqe, offset } => (Some(receive_wqe), offset.into()),
            };
            assert_eq!(memory.insert(place, mark), None);
            came[msn as usize] += 1;
            while expected < 4 && came[expected] == PACKETS[expected] {
                expected += 1;
            }
            cqes.extend(std::iter::from_fn(|| reception.poll_completion(expected as u32)));
            // The CQEs are those of the complete messages that the eMSN has passed and that consume a receive WQE.
            assert!(cqes.iter().all(|cqe| (cqe.msn as usize) < expected));
            assert_eq!(cqes.len(), [0, 1, 1, 2, 3][expected]);
        }
        assert_eq!(memory, right());
        let completion = |msn, receive_wqe, immediate| Completion { msn, receive_wqe, immediate };
        assert_eq!(cqes, [completion(0, 0, None), completion(2, 1, Some(42)), completion(3, 2, None)]);
    }
}

/// Without the SSN, a receiver can only assign the next receive WQE to the next message of which a packet arrives.
#[test]
fn without_the_ssn_receive_wqes_are_mixed_up() {
    let mut mixed_up = 0;
    for seed in 0..1_000 {
        let (mut wqes, mut memory) = (Vec::new(), Memory::new());
        for (msn, operation, mark) in shuffled(seed) {
            let mut wqe = || {
                wqes.iter().position(|&of| of == msn).unwrap_or_else(|| {
                    wqes.push(msn);
                    wqes.len() - 1
                }) as u32
            };
            let place = match operation {
                Operation::Write(reth) => (None, reth.address),
                Operation::WriteWithImmediate { reth, .. } => {
                    wqe();
                    (None, reth.address)
                }
                Operation::Send { offset, .. } => (Some(wqe()), offset.into()),
            };
            memory.insert(place, mark);
        }
        mixed_up += u32::from(memory != right());
    }
    assert!((790..880).contains(&mixed_up), "{mixed_up} of 1,000");
}

#[test]
fn packets_that_nobody_can_have_sent() {
    let mut reception = Reception::new(8);
    let send = |ssn| Operation::Send { ssn, offset: 0, length: 100 };
    let untracked = |msn, expected| Err(ReceptionError::Untracked { msn, expected, tracked: 8 });
    assert_eq!(reception.place(8, &send(0)), untracked(8, 0));
    assert!(reception.place(7, &send(5)).is_ok());
    assert_eq!(reception.place(7, &send(4)), Err(ReceptionError::Ssn { msn: 7, ssn: 4, before: 5 }));
    assert_eq!(reception.poll_completion(7), None);
    assert_eq!(reception.place(6, &send(4)), untracked(6, 7));
    assert!(reception.place(14, &send(6)).is_ok());
    assert_eq!(reception.poll_completion(8), Some(Completion { msn: 7, receive_wqe: 5, immediate: None }));
}
