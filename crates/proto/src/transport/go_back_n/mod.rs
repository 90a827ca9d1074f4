//! The `go_back_n` transport.

mod receiver;
mod sender;

pub use receiver::GoBackNReceiver;
pub use sender::GoBackNSender;
