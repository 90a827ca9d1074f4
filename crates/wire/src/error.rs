//! The error of encoding and decoding: the field, its offset in the frame, and the fault.

/// Bytes that are no such packet, or a packet that has no such bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} (byte {at}): {fault}")]
pub struct WireError {
    /// The field, in the words of its specification.
    pub field: &'static str,
    /// Offset of its first byte in the frame.
    pub at: usize,
    /// The fault.
    pub fault: Fault,
}

/// The fault of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The bytes end before the field does.
    #[error("{have} bytes are left, and it needs {need}")]
    Short {
        /// Number of bytes from the field on.
        have: usize,
        /// Number of bytes that it needs.
        need: usize,
    },
    /// Bytes follow the last field.
    #[error("{extra} bytes follow it, and the packet ends with it")]
    Long {
        /// Number of bytes.
        extra: usize,
    },
    /// Another value is required.
    #[error("{found:#x}, where {expected} is expected")]
    Value {
        /// The value.
        found: u64,
        /// The values that are possible.
        expected: &'static str,
    },
    /// Reserved bits are not 0.
    #[error("{found:#04x}, whose bits {reserved:#04x} are reserved and must be 0")]
    Reserved {
        /// The byte.
        found: u8,
        /// Its reserved bits.
        reserved: u8,
    },
    /// A checksum or CRC is wrong.
    #[error("{found:#x}, where the packet's bytes give {computed:#x}")]
    Checksum {
        /// The value in the packet.
        found: u32,
        /// The value that its bytes give.
        computed: u32,
    },
    /// A number does not fit its field.
    #[error("{value} does not fit {bits} bits")]
    TooLarge {
        /// The number.
        value: u64,
        /// Size of the field.
        bits: u8,
    },
    /// These headers have no such packet: their transport never sends it.
    #[error("these headers have none")]
    NoSuchPacket,
    /// These headers have no field for this value.
    #[error("{value:#x} has no room in these headers")]
    NoRoom {
        /// The value.
        value: u64,
    },
}

impl WireError {
    pub(crate) const fn new(field: &'static str, at: usize, fault: Fault) -> Self {
        WireError { field, at, fault }
    }

    pub(crate) fn value(
        field: &'static str,
        at: usize,
        found: impl Into<u64>,
        expected: &'static str,
    ) -> Self {
        WireError::new(field, at, Fault::Value { found: found.into(), expected })
    }
}
