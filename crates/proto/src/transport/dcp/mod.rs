//! The `dcp` transport: reliability over a lossy data plane and a lossless control plane (DCP, sections 4.3 to 4.5).
//!
//! Switches cut the payload off what they cannot queue, and the header comes through. The receiver turns it round,
//! and the sender sends that packet again, and no other: each packet arrives exactly once, so that the receiver
//! counts the packets of a message instead of remembering which came. A timeout is the fallback for headers that are
//! lost after all; it begins a new round of its message, and retry numbers keep the rounds apart.
//!
//! What the text leaves unsaid, or what differs here, and why:
//! - **A header-only packet carries the retry number.** The text gives it the MSN alone. A late one of an earlier
//!   round would then bring a second copy of a packet that the new round sends anyway, and it would be counted twice.
//!   The number fits the reserved bits of the BTH, so that the packet stays at 57 B.
//! - **The retry number belongs to the oldest unacknowledged message alone**; packets of later ones carry 0. Were it
//!   the queue pair's, as "for each QP" might be read, the packets of a later message would change their number
//!   half way: the receiver would forget those counted so far, and count those of a later timeout on top.
//! - **The timer waits for what is still to be sent.** It starts again with each packet of its message, and does not
//!   run out before the last one was sent and while one waits to be sent again. A message that takes longer than the
//!   timeout at its rate would otherwise start over for ever.
//! - **After seven retries of a message, each timeout is twice as long as the one before**, up to 2^16 times the
//!   first. InfiniBand's retry count would end the queue pair there. The retry number has 8 bits: a receiver that
//!   heard nothing of 256 rounds would take the next one for the one that it counts already. (And a timeout below the
//!   spread of the path's delays, with which each round meets the next and is given up for it, makes progress in the
//!   end.)
//! - **A packet of a message that is complete is answered with an ACK**: the one that said so was lost.
//! - **A header-only packet takes its data packet out of flight**, until that is sent again (section 4.3, step 6
//!   says only that *awin* is adjusted).

mod receiver;
pub mod reception;
mod sender;

use crate::lb::StateField;
use crate::transport::DcpConfig;

pub use receiver::DcpReceiver;
pub use sender::DcpSender;

/// Packets of a message that the receiver's counter can hold; longer ones go as several requests.
pub(super) fn largest_request(config: &DcpConfig) -> u32 {
    (1 << config.counter_bits.clamp(1, 31)) - 1
}

impl DcpConfig {
    /// The state that hardware keeps for a queue pair, field by field.
    ///
    /// Section 4.5: a counter of 14 bits and two flags make 2 B a message, and 16 B for 8 messages. Table 3 says
    /// 32 B a queue pair. The text names four more fields, whose widths are chosen here (those of the packet's MSN,
    /// and a byte): 24 B in all. Of what the other 8 B are it says nothing; the length of the RetransQ (section 4.3)
    /// and the timer's start may be among them.
    pub fn state(&self) -> Vec<StateField> {
        vec![
            StateField::new("packet counter", self.counter_bits, self.tracked_messages),
            StateField::new("mcf", 1, self.tracked_messages),
            StateField::new("Cf", 1, self.tracked_messages),
            StateField::new("eMSN", 24, 1),
            StateField::new("rRetryNo", 8, 1),
            StateField::new("unaMSN", 24, 1),
            StateField::new("sRetryNo", 8, 1),
        ]
    }
}
