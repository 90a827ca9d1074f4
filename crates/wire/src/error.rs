//! The error of encoding and decoding. It has the field, its offset in the frame, and the problem.

/// The error of bytes that are no packet in the format, or of a packet that the format cannot express.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} (byte {at}): {fault}")]
pub struct WireError {
    /// The name of the field.
    pub field: &'static str,
    /// The offset of the field's first byte in the frame.
    pub at: usize,
    /// The problem with the field.
    pub fault: Fault,
}

/// The problem with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The bytes end before the field does.
    #[error("{have} bytes are left, and it needs {need}")]
    Short {
        /// The number of bytes from the field on.
        have: usize,
        /// The number of bytes that the field needs.
        need: usize,
    },
    /// Bytes follow the last field.
    #[error("{extra} bytes follow it, and the packet ends with it")]
    Long {
        /// The number of these bytes.
        extra: usize,
    },
    /// The field has a wrong value.
    #[error("{found:#x}, where {expected} is expected")]
    Value {
        /// The value of the field.
        found: u64,
        /// The values that are possible.
        expected: &'static str,
    },
    /// Reserved bits are not 0.
    #[error("{found:#04x}, whose bits {reserved:#04x} are reserved and must be 0")]
    Reserved {
        /// The byte that has a reserved bit set.
        found: u8,
        /// The mask of its reserved bits.
        reserved: u8,
    },
    /// A checksum or CRC is wrong.
    #[error("{found:#x}, where the packet's bytes give {computed:#x}")]
    Checksum {
        /// The value in the packet.
        found: u32,
        /// The value computed from the packet's bytes.
        computed: u32,
    },
    /// A number does not fit in its field.
    #[error("{value} does not fit {bits} bits")]
    TooLarge {
        /// The number that is too large.
        value: u64,
        /// The size of the field in bits.
        bits: u8,
    },
    /// The transport that uses these headers never sends such a packet, so the headers cannot express it.
    #[error("these headers have none")]
    NoSuchPacket,
    /// The headers of the format have no field for a value of the packet.
    #[error("{value:#x} has no room in these headers")]
    NoRoom {
        /// The value for which there is no field.
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

/// Fails if the value is not 0, since these headers have no field for it.
pub(crate) fn no_room(field: &'static str, at: usize, value: impl Into<u64>) -> Result<(), WireError> {
    match value.into() {
        0 => Ok(()),
        value => Err(WireError::new(field, at, Fault::NoRoom { value })),
    }
}
