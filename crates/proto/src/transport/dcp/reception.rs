//! Where a packet's payload goes whatever the order of arrival, and what it completes (DCP, section 4.4).

use std::collections::VecDeque;

/// What a data packet is part of, with the fields that place it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A Write, or any packet but the last of a Write-with-Immediate, which look the same.
    Write(Reth),
    /// The last packet of a Write-with-Immediate: it names the receive WQE as well.
    WriteWithImmediate {
        /// Where its payload goes.
        reth: Reth,
        /// Send sequence number: the receive WQE that it consumes, in the order of their posting, from 0; 24 bits.
        ssn: u32,
        /// What the receive WQE's CQE carries.
        immediate: u32,
    },
    /// A packet of a Send. The text gives it the SSN alone; that finds the receive WQE, but not where in its buffer
    /// a packet from the middle belongs, nor how many there are. What RETH says of a Write is added here.
    Send {
        /// Send sequence number: the receive WQE that it consumes, in the order of their posting, from 0; 24 bits.
        ssn: u32,
        /// Bytes of the message before this packet's.
        offset: u32,
        /// Bytes of the message.
        length: u32,
    },
}

/// RDMA extended transport header. DCP, section 4.4: every packet of a Write has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reth {
    /// Remote address of this packet's first byte.
    pub address: u64,
    /// Remote key.
    pub key: u32,
    /// Bytes of the message.
    pub length: u32,
}

/// Where a payload goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// To the application's memory, from this remote address on.
    Memory(u64),
    /// Into the buffer of a receive WQE.
    Buffer {
        /// The receive WQE, in the order of posting, from 0.
        receive_wqe: u32,
        /// Bytes from the buffer's start.
        offset: u32,
    },
}

/// A CQE of the receive side: one receive WQE is consumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The message that consumed it.
    pub msn: u32,
    /// The receive WQE, in the order of posting, from 0.
    pub receive_wqe: u32,
    /// What a Write-with-Immediate carried.
    pub immediate: Option<u32>,
}

/// A packet that the receiver cannot have been sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReceptionError {
    /// Its message is complete, or beyond those that are tracked.
    #[error("message {msn} is not among the {tracked} from {expected} on that are tracked")]
    Untracked {
        /// The message.
        msn: u32,
        /// The eMSN.
        expected: u32,
        /// Messages that are tracked.
        tracked: u32,
    },
    /// An earlier packet of the same message named another receive WQE.
    #[error("message {msn} names receive WQE {ssn} after {before}")]
    Ssn {
        /// The message.
        msn: u32,
        /// What this packet names.
        ssn: u32,
        /// What an earlier one named.
        before: u32,
    },
}

/// Order-tolerant reception on a queue pair. It keeps no packet back: each is placed when it arrives, and receive
/// WQEs are consumed as the eMSN passes the messages that named them.
pub struct Reception {
    expected: u32,
    /// What the messages from `expected` on consume, as far as their packets have said.
    consumed: VecDeque<Option<Completion>>,
}

impl Reception {
    /// Of a queue pair that tracks this many messages.
    pub fn new(tracked: u32) -> Self {
        Reception { expected: 0, consumed: (0..tracked).map(|_| None).collect() }
    }

    /// Where the payload of a packet of the message `msn` goes.
    ///
    /// # Errors
    /// When the message is not tracked, or contradicts what an earlier packet of it said. Nothing is remembered then.
    pub fn place(&mut self, msn: u32, operation: &Operation) -> Result<Place, ReceptionError> {
        let (expected, tracked) = (self.expected, self.consumed.len() as u32);
        let ahead = msn.checked_sub(expected).map(|ahead| ahead as usize);
        let slot = ahead.and_then(|ahead| self.consumed.get_mut(ahead));
        let slot = slot.ok_or(ReceptionError::Untracked { msn, expected, tracked })?;
        let (place, named) = match *operation {
            Operation::Write(reth) => return Ok(Place::Memory(reth.address)),
            Operation::WriteWithImmediate { reth, ssn, immediate } => {
                let completion = Completion { msn, receive_wqe: ssn, immediate: Some(immediate) };
                (Place::Memory(reth.address), completion)
            }
            Operation::Send { ssn, offset, .. } => {
                let completion = Completion { msn, receive_wqe: ssn, immediate: None };
                (Place::Buffer { receive_wqe: ssn, offset }, completion)
            }
        };
        let (ssn, before) = (named.receive_wqe, slot.get_or_insert(named).receive_wqe);
        if ssn == before { Ok(place) } else { Err(ReceptionError::Ssn { msn, ssn, before }) }
    }

    /// The next receive WQE that is consumed, once the eMSN is `expected`; to be asked until it answers none.
    /// DCP, section 4.5: messages complete in the order of posting, so that receive WQEs do too.
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
