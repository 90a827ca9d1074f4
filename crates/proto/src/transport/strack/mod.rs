//! The `strack` transport.

mod receiver;
mod sender;

pub use receiver::StrackReceiver;
pub use sender::StrackSender;
