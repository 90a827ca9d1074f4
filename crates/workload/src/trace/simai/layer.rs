//! The layers of a SimAI file.

use super::groups::Group;
use crate::collective::Algorithm;
use crate::text::{self, quote};
use crate::trace::CollectiveRules;
use anabranch_base::{Duration, Problem, is_misspelt};

#[derive(Debug)]
pub(super) struct Layer {
    pub line: u32,
    pub forward: Part,
    pub input: Part,
    pub weights: Part,
    /// The duration of the layer's weight update after the backward pass, which is not simulated.
    pub update: Duration,
}

/// A computation, and the collective after it if there is one.
#[derive(Debug)]
pub(super) struct Part {
    pub takes: Duration,
    pub collective: Option<(Algorithm, Group, u64)>,
}

/// The columns of a layer, as errors describe them.
const COLUMNS: &str = "12 columns: a name and -1; time, collective and bytes of the forward, of the input gradient and of the weight \
                       gradient; the time of the update";

impl Layer {
    pub fn read(content: &str, line: u32, rules: CollectiveRules<'_>) -> Result<Self, Problem> {
        let words: Vec<&str> = content.split_whitespace().collect();
        let [_, dependency, parts @ .., update] = &words[..] else {
            return Err(format!("a layer has {COLUMNS}; there are {}", words.len()).into());
        };
        let is_name = |word: &str| word.starts_with(|c: char| c.is_ascii_alphabetic());
        if parts.len() == 8 && [parts[1], parts[4], parts[7]].into_iter().all(is_name) {
            return Err(Problem::with_text(
                format!("a layer has {COLUMNS}; the last one is missing"),
                "0 behind it",
            ));
        }
        if parts.len() != 9 {
            return Err(format!("a layer has {COLUMNS}; there are {}", words.len()).into());
        }
        if *dependency != "-1" {
            return Err(Problem::with_value(
                format!(
                    "a dependency on another layer is not simulated, which {} would be",
                    quote(dependency)
                ),
                "-1",
            ));
        }
        let update = nanoseconds(update, "update")?;
        let part = |number: usize, name: &str, plain: Group| {
            Part::read(&parts[3 * number..][..3], name, plain, rules)
        };
        Ok(Layer {
            line,
            forward: part(0, "forward", Group::Tensor)?,
            input: part(1, "input gradient", Group::Tensor)?,
            weights: part(2, "weight gradient", Group::Data)?,
            update,
        })
    }

    pub fn parts(&self) -> [&Part; 3] {
        [&self.forward, &self.input, &self.weights]
    }
}

fn nanoseconds(word: &str, of: &str) -> Result<Duration, Problem> {
    let ns = text::whole(word, format!("the time of the {of}, in nanoseconds,"), u64::MAX / 1_000_000);
    ns.map(Duration::from_ns).map_err(|what| text::without_unit(what, word, Duration::from_ns(1)))
}

/// The names of collectives with their default algorithms.
const COLLECTIVES: [(&str, Option<Algorithm>); 6] = [
    ("NONE", None),
    ("ALLREDUCE", Some(Algorithm::AllreduceRing)),
    ("ALLGATHER", Some(Algorithm::AllgatherRing)),
    ("REDUCESCATTER", Some(Algorithm::ReducescatterRing)),
    ("ALLTOALL", Some(Algorithm::Alltoall)),
    ("BROADCAST", Some(Algorithm::BroadcastRing)),
];

/// The hint at the end of the error for an unknown collective. It does not suggest `ALLREDUCE` for `REDUCE`, which is
/// a collective that is not simulated.
fn near(kind: &str) -> String {
    let names = COLLECTIVES.map(|(name, _)| name);
    match names.iter().find(|name| is_misspelt(kind, name)) {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("expected one of: {}", names.join(", ")),
    }
}

impl Part {
    fn read(words: &[&str], name: &str, plain: Group, rules: CollectiveRules<'_>) -> Result<Self, Problem> {
        let takes = nanoseconds(words[0], name)?;
        let bytes = text::whole_bytes(words[2], format!("the bytes of the {name}"), u64::MAX)?;
        let (kind, suffix, group) = match words[1].strip_suffix("_DP_EP") {
            Some(kind) => (kind, "_DP_EP", Group::DataOfExpert),
            None => match words[1].strip_suffix("_EP") {
                Some(kind) => (kind, "_EP", Group::Expert),
                None => (words[1], "", plain),
            },
        };
        let Some((_, usual)) = COLLECTIVES.iter().find(|(known, _)| *known == kind) else {
            let of_other_group = COLLECTIVES
                .iter()
                .any(|(known, _)| kind.strip_prefix(known).is_some_and(|rest| rest.starts_with('_')));
            let message = match of_other_group {
                true => {
                    format!("{} is of no known group: the suffixes are _EP, _DP_EP and none", quote(words[1]))
                }
                false => {
                    let near = near(kind);
                    let behind =
                        if suffix.is_empty() { String::new() } else { format!(" with {suffix} behind it") };
                    format!("{} is no known collective{behind}; {near}", quote(kind))
                }
            };
            return Err(message.into());
        };
        let collective =
            usual.filter(|_| bytes > 0).map(|usual| (rules.algorithm(usual, bytes), group, bytes));
        Ok(Part { takes, collective })
    }
}
