//! Pause frames of priority-based flow control (IEEE 802.1Qbb).
//!
//! | Bytes | Field |
//! |---|---|
//! | 0-5 | 01:80:c2:00:00:01, which bridges do not forward |
//! | 6-11 | address of the port that pauses its peer |
//! | 12-13 | EtherType 0x8808, MAC control |
//! | 14-15 | opcode 0x0101 |
//! | 16-17 | mask of the priorities whose times apply, priority 0 in the lowest bit |
//! | 18-33 | times of priorities 0 to 7 in quanta of 512 bits; 0 ends a pause |
//! | 34-59 | zeros |

use crate::bytes::Cursor;
use crate::error::WireError;
use crate::link::SHORTEST;

const DESTINATION: [u8; 6] = [0x01, 0x80, 0xc2, 0x00, 0x00, 0x01];
const MAC_CONTROL: u16 = 0x8808;
const CLASS_BASED: u16 = 0x0101;

/// A pause frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseFrame {
    /// The address of the port that sends the frame.
    pub from_mac: [u8; 6],
    /// The pause time for each priority that the frame names, in quanta. 0 ends a pause.
    pub quanta: [Option<u16>; 8],
}

impl PauseFrame {
    /// A frame for one priority.
    pub fn of_priority(from_mac: [u8; 6], priority: u8, quanta: u16) -> Self {
        let times = std::array::from_fn(|other| (other == usize::from(priority)).then_some(quanta));
        PauseFrame { from_mac, quanta: times }
    }

    /// Writes the frame to `out`, which is cleared first.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.clear();
        out.extend(DESTINATION);
        out.extend(self.from_mac);
        out.extend(MAC_CONTROL.to_be_bytes());
        out.extend(CLASS_BASED.to_be_bytes());
        let named = (0..8).filter(|&priority| self.quanta[priority].is_some());
        out.extend(named.fold(0u16, |named, priority| named | 1 << priority).to_be_bytes());
        self.quanta.iter().for_each(|quanta| out.extend(quanta.unwrap_or(0).to_be_bytes()));
        out.resize(SHORTEST, 0);
    }

    /// Reads a frame. Ignores the padding after the times, and the times of priorities that the frame does not name.
    ///
    /// # Errors
    /// The bytes are no pause frame of 802.1Qbb.
    pub fn decode(bytes: &[u8]) -> Result<PauseFrame, WireError> {
        let mut cursor = Cursor::new(bytes, 0);
        let to = cursor.take::<6>("destination")?;
        if to != DESTINATION {
            let found = to.iter().fold(0, |number, &byte| number << 8 | u64::from(byte));
            return Err(WireError::value("destination", 0, found, "01:80:c2:00:00:01"));
        }
        let from_mac = cursor.take("source")?;
        for (field, expected, meaning) in [
            ("EtherType", MAC_CONTROL, "0x8808 (MAC control)"),
            ("opcode", CLASS_BASED, "0x0101 (priority-based flow control)"),
        ] {
            let (at, found) = (cursor.at(), cursor.u16(field)?);
            if found != expected {
                return Err(WireError::value(field, at, found, meaning));
            }
        }
        cursor.zeros("priorities", 1)?;
        let named = cursor.u8("priorities")?;
        let mut quanta = [None; 8];
        for (priority, quanta) in quanta.iter_mut().enumerate() {
            let time = cursor.u16("time")?;
            *quanta = (named >> priority & 1 == 1).then_some(time);
        }
        Ok(PauseFrame { from_mac, quanta })
    }
}
