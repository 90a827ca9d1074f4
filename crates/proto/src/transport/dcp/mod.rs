//! The `dcp` transport: reliability over a lossy data plane and a lossless control plane (DCP, sections 4.3 to 4.5).
//!
//! Switches trim packets that do not fit, and the headers get through. The receiver returns each header, and the sender
//! retransmits exactly that packet: each packet arrives exactly once, so that the receiver counts the packets of a
//! message instead of remembering which came. A timeout is the fallback for headers that are lost after all; it begins
//! a new round of its message, and retry numbers keep the rounds apart.
//!
//! Section 4.5 has one timer for a queue pair, that of its oldest unacknowledged message. A higher eMSN starts it anew;
//! when it runs out, all packets of that message are sent again. So are those of all requests that the message is split
//! into here (see `Requests`), as far as they were sent and are not acknowledged: with a timeout each, a message whose
//! packets were lost together would take as many timeouts one after the other as it has requests in flight. Messages
//! that were posted as such do take one each, as the text has it.
//!
//! What the text leaves unsaid, or what differs here, and why:
//! - **A header-only packet carries the retry number.** The text gives it the MSN alone. A late one of an earlier
//!   round would then bring a second copy of a packet that the new round sends anyway, and it would be counted twice.
//!   The number fits the reserved bits of the BTH, so that the packet stays at 57 B.
//! - **The retry number belongs to the request**, at both ends; packets of later messages carry 0. Were it the queue
//!   pair's, as "for each QP" might be read, the packets of a later message would change their number half way: the
//!   receiver would forget those counted so far, and count those of a later timeout on top. One for the message alone
//!   would not tell apart the copies of those requests of it that the receiver has counted in part.
//! - **The timer waits for what is still to be sent.** It starts again with each packet of the oldest request and of a
//!   new round, and does not run out before the last of them was sent and while one waits to be sent again. A message
//!   that takes longer than the timeout at its rate would otherwise start over for ever.
//! - **After seven retries without a higher eMSN, each timeout is twice as long as the one before**, up to 2^16 times the
//!   first. InfiniBand's retry count would end the queue pair there. The retry number has 8 bits: a receiver that
//!   heard nothing of 128 rounds would take the next one for an earlier one. (So even a timeout below the
//!   spread of path delays, where each round is abandoned while its packets still arrive, makes progress in the end.)
//! - **A new round obeys the rate and no window.** It replaces lost packets that the window had let through
//!   already; if the window has shrunk since, that limits new data alone.
//! - **A packet of a message that is complete is answered with an ACK**: the one that said so was lost.
//! - **A header-only packet takes its data packet out of flight**, until that is sent again (section 4.3, step 6
//!   says only that *awin* is adjusted).

mod config;
mod receiver;
pub mod reception;
mod sender;

pub use config::DcpConfig;
pub(super) use config::Requests;
pub use receiver::DcpReceiver;
pub use sender::DcpSender;
