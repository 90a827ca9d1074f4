//! The header of a SimAI file, and the parallel groups of ranks that it defines.

use super::Share;
use crate::WorkloadError;
use crate::text::{self, quote};
use crate::trace::{MOST_RANKS, RankOrder};
use anabranch_base::{Bytes, Problem};

/// The sizes of parallel groups. The number of ranks is `tensor * data * stages`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Groups {
    pub tensor: u32,
    pub data: u32,
    pub expert: u32,
    pub stages: u32,
    pub order: RankOrder,
    /// The bytes sent between pipeline stages, which are not simulated.
    pub between: u64,
    /// Whether the file itself gives the number of ranks.
    pub is_declared: bool,
    /// Whether the file is of the kind `MICRO`, whose lines are executed one after the other, without a backward pass.
    pub is_micro: bool,
}

/// The kind of group that executes a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Group {
    Tensor,
    Data,
    Expert,
    DataOfExpert,
}

/// The keys of a header, after its first word.
const HEADER_KEYS: [&str; 11] = [
    "model_parallel_NPU_group:",
    "ep:",
    "pp:",
    "vpp:",
    "ga:",
    "all_gpus:",
    "checkpoints:",
    "checkpoint_initiates:",
    "pp_comm:",
    "mode:",
    "expert_parallel_npu_group:",
];

struct Header {
    tensor: Option<u32>,
    expert: u32,
    stages: u32,
    ranks: Option<u32>,
    between: u64,
}

impl Header {
    fn read<'a>(mut words: impl Iterator<Item = &'a str>) -> Result<Self, Problem> {
        let mut header = Header { tensor: None, expert: 1, stages: 1, ranks: None, between: 0 };
        let mut seen: Vec<&str> = Vec::new();
        while let Some(name) = words.next() {
            if seen.contains(&name) {
                return Err(format!("{} is there twice; remove one of the two", quote(name)).into());
            }
            seen.push(name);
            let known =
                HEADER_KEYS.iter().find(|key| key.trim_end_matches(':') == name.trim_end_matches(':'));
            let Some(key) = known else {
                let near = text::suggest(name, &HEADER_KEYS);
                return Err(format!("{} is no known key of the header; {near}", quote(name)).into());
            };
            let missing = || {
                Problem::with_text(
                    format!("{} has no number behind it", quote(name)),
                    format_args!("{key} 1"),
                )
            };
            let value = words.next().ok_or_else(missing)?;
            let size = || match text::whole_u32(value, key)? {
                0 => Err(Problem::with_text(
                    format!("`{key} 0`: a size is 1 or more"),
                    format_args!("{key} 1"),
                )),
                size => Ok(size),
            };
            match key.trim_end_matches(':') {
                "model_parallel_NPU_group" => header.tensor = Some(size()?),
                "ep" | "expert_parallel_npu_group" => header.expert = size()?,
                "pp" => header.stages = size()?,
                "all_gpus" => header.ranks = Some(size()?),
                // AICB computes this value by a division, so that Python writes a decimal point: 8388608.0. SimAI reads
                // only the digits before the point.
                "pp_comm" => {
                    let whole = value.split_once('.').map_or(value, |(whole, _)| whole);
                    header.between = text::whole(whole, key, u64::MAX)?;
                }
                "checkpoints" | "checkpoint_initiates" => {
                    let layers = text::whole_u32(value, key)?;
                    if layers > 0 {
                        let named: Vec<&str> = words.take(layers as usize).collect();
                        return Err(Problem::with_text(
                            format!(
                                "checkpoints are not simulated: {}",
                                quote(&format!("{name} {value} {}", named.join(" ")))
                            ),
                            format_args!("{key} 0"),
                        ));
                    }
                }
                _ => drop(text::whole_u32(value, key)?),
            }
        }
        Ok(header)
    }

    /// The number of data-parallel ranks of each stage, if a tensor group has `tensor` ranks and there are `ranks`
    /// ranks in all.
    fn data_parallel_ranks(&self, tensor: u32, ranks: u32, share: Share) -> Result<u32, GroupError> {
        let &Header { expert, stages, ranks: declared, .. } = self;
        if ranks > MOST_RANKS {
            let step = u64::from(tensor) * u64::from(stages) * u64::from(expert);
            let near = (u64::from(MOST_RANKS) / step).max(1) * step;
            let problem = format!("there are at most {MOST_RANKS} ranks, not {ranks}");
            return Err(match (declared, share.ranks) {
                (None, Some(_)) => GroupError::Ranks(Problem::with_value(problem, near)),
                _ => GroupError::Header(Problem::with_text(problem, format_args!("all_gpus: {near}"))),
            });
        }
        let model = u64::from(tensor) * u64::from(stages);
        if !u64::from(ranks).is_multiple_of(model) || ranks == 0 {
            // The proposed number of ranks also contains whole expert groups, so that it causes no further error.
            let step = model * u64::from(expert);
            let near = (u64::from(ranks) / step).max(1) * step;
            let problem =
                format!("{ranks} ranks are no whole number of {stages} stages of {tensor} tensor ranks");
            return Err(match (declared, share.ranks) {
                (Some(_), _) => {
                    GroupError::Header(Problem::with_text(problem, format_args!("all_gpus: {near}")))
                }
                (None, Some(_)) => GroupError::Ranks(Problem::with_value(problem, near)),
                (None, None) => GroupError::Header(Problem::with_text(
                    format!("all_gpus is missing, and {problem}"),
                    format_args!("all_gpus: {near} behind the rest of the line"),
                )),
            });
        }
        let data = (u64::from(ranks) / model) as u32;
        if !data.is_multiple_of(expert) {
            let near = (1..=expert.min(data)).rev().find(|size| data.is_multiple_of(*size)).unwrap_or(1);
            return Err(GroupError::from(Problem::with_text(
                format!("{data} data-parallel ranks are no whole number of groups of {expert} experts"),
                format_args!("ep: {near}"),
            )));
        }
        Ok(data)
    }
}

/// An error in the groups: either in the file's header, or in the number of ranks that the scenario sets.
pub enum GroupError {
    Header(Problem),
    Ranks(Problem),
}

impl<P: Into<Problem>> From<P> for GroupError {
    fn from(what: P) -> Self {
        GroupError::Header(what.into())
    }
}

impl Groups {
    pub fn read(header: &str, share: Share) -> Result<Self, GroupError> {
        let mut words = header.split_whitespace();
        let open = share.default_ranks();
        match words.next() {
            Some("HYBRID_TRANSFORMER_FWD_IN_BCKWD" | "HYBRID_TRANSFORMER") => {}
            Some("MICRO") => {
                return match words.next() {
                    None if open > MOST_RANKS => Err(GroupError::Ranks(Problem::with_value(
                        format!("there are at most {MOST_RANKS} ranks, not {open}"),
                        MOST_RANKS,
                    ))),
                    None => Ok(Groups {
                        tensor: 1,
                        data: open,
                        expert: 1,
                        stages: 1,
                        order: share.order,
                        between: 0,
                        is_declared: false,
                        is_micro: true,
                    }),
                    Some(word) => {
                        Err(format!("MICRO stands alone in its line, without {}", quote(word)).into())
                    }
                };
            }
            first => {
                return Err(format!(
                    "workloads that begin with HYBRID_TRANSFORMER_FWD_IN_BCKWD, HYBRID_TRANSFORMER or MICRO are simulated, \
                     not {}, whose groups follow from the dimensions of ASTRA-sim's network",
                    quote(first.unwrap_or_default())
                )
                .into());
            }
        }
        let header = Header::read(words)?;
        let (is_declared, ranks) = (header.ranks.is_some(), header.ranks.unwrap_or(open));
        let tensor = header.tensor.ok_or_else(|| {
            Problem::with_text(
                "model_parallel_NPU_group is missing",
                "model_parallel_NPU_group: 8 behind the first word",
            )
        })?;
        let data = header.data_parallel_ranks(tensor, ranks, share)?;
        let Header { expert, stages, between, .. } = header;
        if stages > 1 && between > 0 && !share.without_pipeline {
            return Err(GroupError::from(Problem::with_text(
                format!(
                    "{stages} pipeline stages send each other {}, and the file does not say when",
                    Bytes(between).about()
                ),
                "without_pipeline = true in [workload] to leave that out",
            )));
        }
        let between = if stages > 1 { between } else { 0 };
        let order = share.order;
        Ok(Groups { tensor, data, expert, stages, order, between, is_declared, is_micro: false })
    }

    /// The groups of the simulated ranks.
    pub fn shared(self, share: Share) -> Result<Self, WorkloadError> {
        match share.ranks.filter(|_| self.is_declared) {
            None => Ok(self),
            Some(ranks) => self.first(ranks).map_err(|what| WorkloadError::key("ranks", what)),
        }
    }

    /// The groups of the first `ranks` ranks. They are whole pipeline stages, or the first data-parallel ranks of one
    /// stage. In SimAI's order ([`RankOrder::TpPpDp`]), they are the first data-parallel ranks of all stages.
    fn first(self, ranks: u32) -> Result<Self, Problem> {
        if self.order == RankOrder::TpPpDp {
            let (all, least) = (self.ranks(), self.tensor * self.stages * self.expert);
            if ranks > 0 && ranks <= all && ranks.is_multiple_of(least) {
                return Ok(Groups { data: ranks / (self.tensor * self.stages), ..self });
            }
            let message = format!(
                "{ranks} ranks are no share of its groups, which come in multiples of {least} up to {all}"
            );
            return Err(Problem::with_value(message, (ranks.min(all) / least).max(1) * least));
        }
        let (least, stage) = (self.tensor * self.expert, self.tensor * self.data);
        if ranks > 0 && ranks <= stage && ranks.is_multiple_of(least) {
            return Ok(Groups { data: ranks / self.tensor, stages: 1, between: 0, ..self });
        }
        if ranks > stage && ranks <= self.ranks() && ranks.is_multiple_of(stage) {
            return Ok(Groups { stages: ranks / stage, ..self });
        }
        let of_stages = match self.stages {
            1 => String::new(),
            stages => format!(", or in multiples of {stage}, a pipeline stage, up to {}", stages * stage),
        };
        let near =
            if ranks > stage { ranks.min(self.ranks()) / stage * stage } else { ranks / least * least };
        Err(Problem::with_value(
            format!(
                "{ranks} ranks are no share of its groups, which come in multiples of {least} up to {stage}{of_stages}"
            ),
            near.max(least),
        ))
    }

    pub fn ranks(self) -> u32 {
        self.tensor * self.data * self.stages
    }

    pub fn size(self, group: Group) -> u32 {
        match group {
            Group::Tensor => self.tensor,
            Group::Data => self.data,
            Group::Expert => self.expert,
            Group::DataOfExpert => self.data / self.expert,
        }
    }

    /// Whether groups of this kind share ranks. In SimAI's order, the groups of `_DP_EP` share ranks if expert groups
    /// reach over several stages.
    pub fn overlap(self, group: Group) -> bool {
        self.order == RankOrder::TpPpDp && group == Group::DataOfExpert && self.stages > 1 && self.expert > 1
    }

    /// All groups of a kind, each in the order of its ranks. This must not be called for a kind whose groups
    /// [overlap](Self::overlap).
    pub fn members(self, group: Group) -> Vec<Vec<u32>> {
        let (tensor, data, expert) = (self.tensor, self.data, self.expert);
        // Tensor groups are numbered in the order of their ranks.
        let tensor_group = |stage: u32, position: u32| match self.order {
            RankOrder::TpDpPp => stage * data + position,
            RankOrder::TpPpDp => position * self.stages + stage,
        };
        let joined = |groups: &[u32], shard: u32| -> Vec<u32> {
            groups.iter().map(|number| number * tensor + shard).collect()
        };
        let across: Vec<Vec<u32>> = match group {
            Group::Tensor => {
                let all = 0..data * self.stages;
                return all
                    .map(|number| (0..tensor).map(|shard| number * tensor + shard).collect())
                    .collect();
            }
            Group::Data => (0..self.stages)
                .map(|stage| (0..data).map(|position| tensor_group(stage, position)).collect())
                .collect(),
            Group::Expert => (0..data * self.stages)
                .step_by(expert as usize)
                .map(|first| (first..first + expert).collect())
                .collect(),
            Group::DataOfExpert => (0..self.stages)
                .flat_map(|stage| (0..expert).map(move |first| (stage, first)))
                .map(|(stage, first)| {
                    let positions = (first..data).step_by(expert as usize);
                    positions.map(|position| tensor_group(stage, position)).collect()
                })
                .collect(),
        };
        across.iter().flat_map(|groups| (0..tensor).map(|shard| joined(groups, shard))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(order: RankOrder) -> Groups {
        let header = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 2 pp: 2 all_gpus: 16";
        let share = Share { order, ..Share::default() };
        Groups::read(header, share).unwrap_or_else(|_| panic!("{header}"))
    }

    #[test]
    fn data_parallelism_has_the_largest_stride_in_the_order_of_simai() {
        let simai = groups(RankOrder::TpPpDp);
        assert_eq!(simai.members(Group::Tensor)[..3], [[0, 1], [2, 3], [4, 5]]);
        assert_eq!(
            simai.members(Group::Data),
            [[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15]]
        );
        // Neighbouring tensor groups belong to different stages.
        assert_eq!(simai.members(Group::Expert)[..4], [[0, 2], [1, 3], [4, 6], [5, 7]]);
        assert!(simai.overlap(Group::DataOfExpert) && !simai.overlap(Group::Expert));
        assert!(!Groups { stages: 1, ..simai }.overlap(Group::DataOfExpert));
        assert_eq!(simai.first(8).map(|groups| (groups.data, groups.stages)), Ok((2, 2)));
        assert_eq!(simai.first(6).unwrap_err().fix, Some(anabranch_base::Fix::value(8)));
    }

    #[test]
    fn a_file_of_one_group_has_no_more_ranks_than_others() {
        let of = |ranks| Groups::read("MICRO", Share { ranks: Some(ranks), ..Share::default() });
        assert!(of(MOST_RANKS).is_ok());
        let Err(GroupError::Ranks(problem)) = of(MOST_RANKS + 1) else { panic!("too many ranks") };
        assert_eq!(problem.message, "there are at most 1048576 ranks, not 1048577");
        assert_eq!(problem.fix, Some(anabranch_base::Fix::value(MOST_RANKS)));
    }

    #[test]
    fn stages_have_the_largest_stride_otherwise() {
        let ours = groups(RankOrder::TpDpPp);
        assert_eq!(ours.members(Group::Tensor), groups(RankOrder::TpPpDp).members(Group::Tensor));
        assert_eq!(ours.members(Group::Data), [[0, 2, 4, 6], [1, 3, 5, 7], [8, 10, 12, 14], [9, 11, 13, 15]]);
        assert_eq!(ours.members(Group::Expert)[..4], [[0, 2], [1, 3], [4, 6], [5, 7]]);
        assert_eq!(
            ours.members(Group::DataOfExpert),
            [[0, 4], [1, 5], [2, 6], [3, 7], [8, 12], [9, 13], [10, 14], [11, 15]]
        );
        assert!(!ours.overlap(Group::DataOfExpert));
    }
}
