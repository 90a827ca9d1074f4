//! The keys of a plan's file.

use crate::WorkloadError;
use anabranch_base::Problem;
use serde::Deserialize;

/// The largest number of chunks of a buffer.
const MOST_CHUNKS: u64 = 1 << 24;

/// A plan. Keys of its file that are not listed here have no effect on the network.
#[derive(Deserialize)]
pub struct Plan {
    pub gpus: Vec<Gpu>,
    /// The range of input buffer sizes, in bytes, for which the plan is made.
    #[serde(default)]
    pub min_message_size: u64,
    #[serde(default = "most")]
    pub max_message_size: u64,
}

fn most() -> u64 {
    u64::MAX
}

#[derive(Deserialize)]
pub struct Gpu {
    pub id: u32,
    pub input_chunks: u64,
    pub output_chunks: u64,
    #[serde(default)]
    pub scratch_chunks: u64,
    pub threadblocks: Vec<Block>,
    #[serde(default)]
    pub channels: Vec<Channels>,
    #[serde(default)]
    pub remote_buffers: Vec<Remote>,
    #[serde(default)]
    pub semaphores: Vec<Semaphore>,
}

impl Gpu {
    /// The GPU at the other end of each channel of this kind.
    pub fn connected_to(&self, kind: ChannelKind) -> &[u32] {
        let of_kind = self.channels.iter().find(|channels| channels.channel_type == kind);
        of_kind.map_or(&[], |channels| &channels.connected_to)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChannelKind {
    /// A NIC or a copy engine writes the data.
    Port,
    /// GPU threads write the data.
    Memory,
    /// A switch stores and reduces the data.
    Switch,
}

impl ChannelKind {
    /// The number of the queue pair for channel number `which` of this kind between two GPUs.
    pub fn queue_pair(self, which: usize) -> u32 {
        which as u32 * 2 + u32::from(self == ChannelKind::Memory)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Buffer {
    #[serde(rename = "i")]
    Input,
    #[serde(rename = "o")]
    Output,
    #[serde(rename = "s")]
    Scratch,
}

#[derive(Deserialize)]
pub struct Channels {
    pub channel_type: ChannelKind,
    #[serde(default)]
    pub connected_to: Vec<u32>,
}

#[derive(Deserialize)]
pub struct Remote {
    pub rank: u32,
    #[serde(rename = "type")]
    pub buffer: Buffer,
}

#[derive(Deserialize)]
pub struct Semaphore {
    #[serde(default)]
    pub init_value: u32,
}

#[derive(Deserialize)]
pub struct Block {
    pub id: u32,
    pub ops: Vec<Operation>,
    #[serde(default)]
    pub channels: Vec<ChannelRefs>,
    #[serde(default)]
    pub remote_buffer_refs: Vec<RemoteRefs>,
}

#[derive(Deserialize)]
pub struct ChannelRefs {
    pub channel_type: ChannelKind,
    pub channel_ids: Vec<usize>,
}

#[derive(Deserialize)]
pub struct RemoteRefs {
    pub access_channel_type: ChannelKind,
    pub remote_buffer_ids: Vec<usize>,
}

#[derive(Deserialize)]
pub struct Operation {
    pub name: String,
    #[serde(default)]
    pub src_buff: Vec<Chunk>,
    #[serde(default)]
    pub dst_buff: Vec<Chunk>,
    /// The channels, as positions among the thread block's channels of the kind `channel_type`.
    #[serde(default)]
    pub channel_ids: Vec<usize>,
    pub channel_type: Option<ChannelKind>,
    pub barrier_id: Option<u32>,
    /// The number of thread blocks that wait for each other at the barrier.
    pub num_threadblocks: Option<usize>,
    #[serde(default)]
    pub semaphore_ids: Vec<u32>,
    pub tbg_info: Option<Group>,
}

/// Consecutive chunks of a buffer of the GPU itself or of another GPU.
#[derive(Deserialize)]
pub struct Chunk {
    #[serde(rename = "type")]
    pub buffer: Option<Buffer>,
    /// The remote buffer, as a position among the thread block's remote buffers of the channel's kind.
    pub buffer_id: Option<usize>,
    pub index: u64,
    pub size: u64,
}

/// A thread block's position in the group of thread blocks that execute an operation together, and the size of that
/// group.
#[derive(Clone, Copy, Deserialize)]
pub struct Group {
    pub tb_id: u64,
    pub tbg_size: u64,
}

impl Plan {
    pub fn parse(file: &str, text: &str) -> Result<Plan, WorkloadError> {
        if let Some(line) = text.lines().position(|line| line.contains("\"inputChunks\"")) {
            let what = "it is a plan of an older MSCCL++, whose keys are others (inputChunks for input_chunks); \
                        generate it anew";
            return Err(WorkloadError::line(file, line as u32 + 1, what));
        }
        let plan: Plan = serde_json::from_str(text).map_err(|error| {
            let what = format!("it is no plan of MSCCL++: {error}; generate it anew");
            WorkloadError::line(file, error.line() as u32, what)
        })?;
        if plan.gpus.is_empty() {
            return Err(WorkloadError::file(
                file,
                Problem::with_text("it has no GPUs", "a plan of 2 or more"),
            ));
        }
        for gpu in &plan.gpus {
            let chunks = gpu.input_chunks.max(gpu.output_chunks).max(gpu.scratch_chunks);
            if chunks > MOST_CHUNKS {
                let what =
                    format!("GPU {} has a buffer of {chunks} chunks, and the most is {MOST_CHUNKS}", gpu.id);
                return Err(WorkloadError::file(file, what));
            }
        }
        Ok(plan)
    }
}
