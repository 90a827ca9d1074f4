//! Traffic classes.

use super::{RunPoint, Scheme};
use anabranch_workload::WorkloadSpec;
use serde::{Deserialize, Serialize};

/// A traffic class: its share of each link and, except for the first class, its scheme and its workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassSpec {
    /// The name in results.
    pub name: String,
    /// The priority. Classes of a higher priority are served first.
    pub priority: u8,
    /// The weight among the classes of its priority (deficit weighted round robin, in bytes).
    pub weight: u32,
    /// The scheme and the workload. None for the first class, which has the scheme and the workload of the run.
    #[serde(flatten)]
    pub traffic: Option<ClassTraffic>,
}

/// The traffic of a class beside the first one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassTraffic {
    /// The scheme that carries the messages. Its settings of queues, ECN marking and PFC apply to the queues of the
    /// class.
    pub scheme: Scheme,
    /// The messages and their start conditions.
    pub workload: WorkloadSpec,
}

/// The share of a traffic class in each link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Classes of a higher priority are served first.
    pub priority: u8,
    /// The weight among the classes of its priority.
    pub weight: u32,
}

impl ClassSpec {
    /// The name of the first class, which has the scheme and the workload of the run.
    pub const FIRST: &str = "main";
    /// The largest number of classes (IEEE 802.1Q).
    pub const MOST: usize = 8;
    /// The largest weight.
    pub const MOST_WEIGHT: u32 = 1_000;

    pub(crate) fn share(&self) -> Share {
        Share { priority: self.priority, weight: self.weight }
    }
}

impl RunPoint {
    /// The traffic of the classes beside the first one.
    pub fn other_classes(&self) -> impl Iterator<Item = &ClassTraffic> {
        self.classes.iter().filter_map(|class| class.traffic.as_ref())
    }
}
