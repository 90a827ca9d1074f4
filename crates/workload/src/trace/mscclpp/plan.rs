//! What a file says, key by key.

use crate::WorkloadError;
use serde::Deserialize;

/// The most chunks of a buffer.
const MOST_CHUNKS: u64 = 1 << 24;

/// A plan. What it has beyond this says nothing of the network.
#[derive(Deserialize)]
pub struct Plan {
    pub gpus: Vec<Gpu>,
    /// Sizes of the input buffer for which it is meant.
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
    /// By channel of this kind, the GPU at its other end.
    pub fn connected_to(&self, kind: Kind) -> &[u32] {
        let its = self.channels.iter().find(|channels| channels.channel_type == kind);
        its.map_or(&[], |channels| &channels.connected_to)
    }
}

/// Kinds of channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A NIC or copy engine writes.
    Port,
    /// Threads write.
    Memory,
    /// A switch that stores and reduces.
    Switch,
}

impl Kind {
    /// The queue pair of the `which`-th of a GPU's channels of this kind to another.
    pub fn queue_pair(self, which: usize) -> u32 {
        which as u32 * 2 + u32::from(self == Kind::Memory)
    }
}

/// Buffers of a GPU.
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
    pub channel_type: Kind,
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
    pub channel_type: Kind,
    pub channel_ids: Vec<usize>,
}

#[derive(Deserialize)]
pub struct RemoteRefs {
    pub access_channel_type: Kind,
    pub remote_buffer_ids: Vec<usize>,
}

#[derive(Deserialize)]
pub struct Operation {
    pub name: String,
    #[serde(default)]
    pub src_buff: Vec<Chunk>,
    #[serde(default)]
    pub dst_buff: Vec<Chunk>,
    /// Counted within the thread block's channels of that kind.
    #[serde(default)]
    pub channel_ids: Vec<usize>,
    pub channel_type: Option<Kind>,
    pub barrier_id: Option<u32>,
    /// How many meet at the barrier.
    pub num_threadblocks: Option<usize>,
    #[serde(default)]
    pub semaphore_ids: Vec<u32>,
    pub tbg_info: Option<Group>,
}

/// Chunks that follow each other, of a buffer of the GPU itself or of another one.
#[derive(Deserialize)]
pub struct Chunk {
    #[serde(rename = "type")]
    pub buffer: Option<Buffer>,
    /// Counted within the thread block's remote buffers of the channel's kind.
    pub buffer_id: Option<usize>,
    pub index: u64,
    pub size: u64,
}

/// Thread blocks that share an operation.
#[derive(Clone, Copy, Deserialize)]
pub struct Group {
    pub tb_id: u64,
    pub tbg_size: u64,
}

impl Plan {
    /// Reads a file.
    ///
    /// # Errors
    /// Its line, what was expected and what to write instead.
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
            return Err(WorkloadError::file(file, "it has no GPUs; write a plan of 2 or more"));
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
