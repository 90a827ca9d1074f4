//! The errors of live runs and transfers.

use anabranch_sim::RunError;
use anabranch_wire::WireError;

/// The reason why a live run or a transfer failed.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The run cannot be built.
    #[error(transparent)]
    Run(#[from] Box<RunError>),
    /// The run uses a feature that only the simulator has, the run needs more than the machine provides, or a parameter
    /// of a transfer is wrong.
    #[error("{0}")]
    Unsupported(String),
    /// Something is broken. For example, a node broke an invariant, a process or a peer failed, or a replay departs
    /// from its record.
    #[error("{0}")]
    Broken(String),
    /// A frame cannot be read or written.
    #[error("{node}: {error}")]
    Frame {
        /// The name of the node.
        node: String,
        /// The invalid field, and the reason.
        error: WireError,
    },
    /// The bytes of a delivered message differ from those that were sent.
    #[error(
        "message {message} arrived at {node} with other bytes than were sent: BLAKE3 {found}, not {expected}"
    )]
    Damaged {
        /// The number of the message.
        message: u32,
        /// The receiving host.
        node: String,
        /// The hash of the received bytes.
        found: String,
        /// The hash of the sent bytes.
        expected: String,
    },
    /// The run did not end within its limit, or no event is left before all messages are finished.
    #[error("{0}")]
    Limit(String),
    /// The user ended the run or the transfer.
    #[error("interrupted")]
    Interrupted,
    /// The operating system refused something.
    #[error("{what}: {error}")]
    System {
        /// The action that failed, or its object.
        what: String,
        /// The operating system's error.
        error: std::io::Error,
    },
}

impl From<RunError> for LiveError {
    fn from(error: RunError) -> LiveError {
        LiveError::Run(Box::new(error))
    }
}
