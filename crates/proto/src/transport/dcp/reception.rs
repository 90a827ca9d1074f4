//! Placement of payloads that arrive in any order, and the completions of receive WQEs (DCP, section 4.4).

use std::collections::VecDeque;

/// The operation of a data packet, with the header fields that place its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A packet of a Write, or any packet of a Write-with-Immediate except the last one. Both have the same headers.
    Write(Reth),
    /// The last packet of a Write-with-Immediate, which also carries the number of the receive WQE.
    WriteWithImmediate {
        /// The placement of the payload.
        reth: Reth,
        /// Send sequence number (24 bits): the receive WQE that the message consumes, counted from 0 in the order of
        /// posting.
        ssn: u32,
        /// The immediate value for the receive WQE's CQE.
        immediate: u32,
    },
    /// A packet of a Send. The paper adds only the SSN, which identifies the receive WQE. The SSN gives neither the
    /// offset of a middle packet in the WQE's buffer nor the length of the message. This simulator therefore adds
    /// fields for the offset and the length.
    Send {
        /// Send sequence number (24 bits): the receive WQE that the message consumes, counted from 0 in the order of
        /// posting.
        ssn: u32,
        /// Offset of this packet in the message, in bytes.
        offset: u32,
        /// Length of the message in bytes.
        length: u32,
    },
}

/// RDMA extended transport header. DCP, section 4.4: every packet of a Write has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reth {
    /// Remote address of this packet's first byte.
    pub address: u64,
    /// The key (R_Key) of the memory region that the Write accesses.
    pub key: u32,
    /// Length of the Write in bytes.
    pub length: u32,
}

/// The destination of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// The application's memory, from this remote address on.
    Memory(u64),
    /// The buffer of a receive WQE.
    Buffer {
        /// The receive WQE, counted from 0 in the order of posting.
        receive_wqe: u32,
        /// Offset in the buffer, in bytes.
        offset: u32,
    },
}

/// A CQE of the receive side: a receive WQE was consumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// MSN of the message that consumed the receive WQE.
    pub msn: u32,
    /// The receive WQE, counted from 0 in the order of posting.
    pub receive_wqe: u32,
    /// The immediate value of a Write-with-Immediate. None for a Send.
    pub immediate: Option<u32>,
}

/// The reason for which a packet cannot be placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReceptionError {
    /// The eMSN is beyond the message, or the message is beyond the tracked ones.
    #[error("message {msn} is not among the {tracked} from {expected} on that are tracked")]
    Untracked {
        /// The number of the message (MSN).
        msn: u32,
        /// The number of the expected message (eMSN).
        expected: u32,
        /// Number of tracked messages.
        tracked: u32,
    },
    /// An earlier packet of the same message named another receive WQE.
    #[error("message {msn} names receive WQE {ssn} after {before}")]
    Ssn {
        /// The number of the message (MSN).
        msn: u32,
        /// The receive WQE that this packet names.
        ssn: u32,
        /// The receive WQE that an earlier packet named.
        before: u32,
    },
}

/// Reception of packets in any order on a queue pair. No packet is buffered, because each is placed when it arrives. A
/// receive WQE is consumed when the eMSN passes the message that named it.
pub struct Reception {
    expected: u32,
    /// The receive WQEs that the messages from `expected` on consume, as far as known from their packets.
    consumed: VecDeque<Option<Completion>>,
}

impl Reception {
    /// The reception of a queue pair that tracks `tracked` messages.
    pub fn new(tracked: u32) -> Self {
        Reception { expected: 0, consumed: (0..tracked).map(|_| None).collect() }
    }

    /// The destination of the payload of a packet of the message `msn`.
    ///
    /// # Errors
    /// The message is not tracked, or an earlier packet of the message named another receive WQE. In both cases the
    /// state does not change.
    pub fn place(&mut self, msn: u32, operation: &Operation) -> Result<Placement, ReceptionError> {
        let (expected, tracked) = (self.expected, self.consumed.len() as u32);
        let ahead = msn.checked_sub(expected).map(|ahead| ahead as usize);
        let slot = ahead.and_then(|ahead| self.consumed.get_mut(ahead));
        let slot = slot.ok_or(ReceptionError::Untracked { msn, expected, tracked })?;
        let (place, named) = match *operation {
            Operation::Write(reth) => return Ok(Placement::Memory(reth.address)),
            Operation::WriteWithImmediate { reth, ssn, immediate } => {
                let completion = Completion { msn, receive_wqe: ssn, immediate: Some(immediate) };
                (Placement::Memory(reth.address), completion)
            }
            Operation::Send { ssn, offset, .. } => {
                let completion = Completion { msn, receive_wqe: ssn, immediate: None };
                (Placement::Buffer { receive_wqe: ssn, offset }, completion)
            }
        };
        let (ssn, before) = (named.receive_wqe, slot.get_or_insert(named).receive_wqe);
        if ssn == before { Ok(place) } else { Err(ReceptionError::Ssn { msn, ssn, before }) }
    }

    /// The next receive WQE that is consumed when the eMSN reaches `expected`. Call this until it returns None.
    /// Messages and receive WQEs complete in the order of posting (DCP, section 4.5).
    pub fn poll_completion(&mut self, expected: u32) -> Option<Completion> {
        while self.expected < expected {
            self.expected += 1;
            let consumed = self.consumed.pop_front().flatten();
            self.consumed.push_back(None);
            if consumed.is_some() {
                return consumed;
            }
        }
        None
    }
}
