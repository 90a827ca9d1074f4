//! The memory of a receiver: messages whose packets arrive in any order.

use crate::error::LiveError;
use crate::pattern;
use anabranch_base::{MessageId, QpId};
use anabranch_sim::DrivenRun;
use std::collections::BTreeMap;

#[derive(Default)]
pub struct Messages {
    /// The memory of each message that is not delivered yet, with the bytes received so far.
    arriving: BTreeMap<(QpId, MessageId), Vec<u8>>,
    delivered: BTreeMap<MessageId, blake3::Hash>,
    bytes: u64,
}

impl Messages {
    /// Writes a payload of a message of `connection` at its offset. A payload of a delivered message is a duplicate
    /// and is ignored.
    pub fn place(
        &mut self,
        run: &DrivenRun<'_>,
        (connection, message): (QpId, MessageId),
        offset: u32,
        payload: &[u8],
    ) -> Result<(), LiveError> {
        if self.delivered.contains_key(&message) {
            return Ok(());
        }
        let [messages, _] = run.counts();
        if message.0 >= messages {
            return Err(LiveError::Broken(format!("a packet of message {message}, which does not exist")));
        }
        let length = run.message_bytes(message) as usize;
        let memory = self.arriving.entry((connection, message)).or_insert_with(|| vec![0; length]);
        let outside = || {
            let end = offset as usize + payload.len();
            LiveError::Broken(format!("a packet of message {message} ends at byte {end} of {length}"))
        };
        let place = memory.get_mut(offset as usize..offset as usize + payload.len()).ok_or_else(outside)?;
        place.copy_from_slice(payload);
        Ok(())
    }

    /// Checks the bytes of all messages of `connection` that have just been delivered.
    pub fn check(&mut self, run: &DrivenRun<'_>, connection: QpId, node: &str) -> Result<(), LiveError> {
        let of_connection = (connection, MessageId(0))..=(connection, MessageId(u32::MAX));
        let is_delivered = |message: MessageId| run.message_times(message)[1].is_some();
        let whole: Vec<MessageId> = self
            .arriving
            .range(of_connection)
            .map(|((_, message), _)| *message)
            .filter(|message| is_delivered(*message))
            .collect();
        for message in whole {
            let Some(memory) = self.arriving.remove(&(connection, message)) else { continue };
            let (found, expected) = (blake3::hash(&memory), pattern::hash(message, memory.len() as u64));
            if found != expected {
                let [found, expected] = [found, expected].map(|hash| hash.to_hex()[..16].to_owned());
                return Err(LiveError::Damaged {
                    message: message.0,
                    node: node.to_owned(),
                    found,
                    expected,
                });
            }
            self.bytes += memory.len() as u64;
            self.delivered.insert(message, found);
        }
        Ok(())
    }

    /// The number of messages whose bytes were checked, and their total length in bytes.
    pub fn checked(&self) -> [u64; 2] {
        [self.delivered.len() as u64, self.bytes]
    }
}
