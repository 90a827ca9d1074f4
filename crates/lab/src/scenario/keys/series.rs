//! The series of `[[measure]]`.

use super::key_type::words;
use anabranch_engine::Series;
use serde::Serialize;

/// A series that can be measured.
#[derive(Clone, Copy, Debug)]
pub struct SeriesKind {
    /// The name of the series in scenarios.
    pub name: &'static str,
    pub(in crate::scenario) series: Series,
    /// The kind of object to which a point of the series belongs.
    pub points: PointsOf,
    /// The meaning, as lists print it.
    pub meaning: &'static str,
}

/// The kind of object to which a point of a series belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PointsOf {
    /// Links, with at most one point per interval.
    Links,
    /// Switches, with at most one point per interval.
    Switches,
    /// Queue pairs, with at most one point per interval.
    Qps,
    /// Queue pairs, with one point per acknowledgement.
    Acks,
}

impl PointsOf {
    /// The key of `[[measure]]` that names objects of this kind.
    pub fn key(self) -> &'static str {
        match self {
            PointsOf::Links => "links",
            PointsOf::Switches => "switches",
            PointsOf::Qps | PointsOf::Acks => "qps",
        }
    }
}

impl SeriesKind {
    /// All series that a `[[measure]]` can name.
    pub const ALL: &[SeriesKind] = &[
        of(Series::LinkUtilisation, PointsOf::Links, "what a link carries, in Gb/s"),
        of(
            Series::QueueDelay,
            PointsOf::Links,
            "queueing delay at the link's egress port; `above`: only delays above a time",
        ),
        of(Series::QueueDepth, PointsOf::Links, "bytes queued at the link's egress port"),
        of(Series::ArrivalRate, PointsOf::Links, "arrival rate at the link's egress port"),
        of(
            Series::Drops,
            PointsOf::Links,
            "packets dropped at the link's egress port; trimmed packets are not counted",
        ),
        of(Series::Pauses, PointsOf::Links, "XOFF events: times that the link's data class was paused"),
        of(Series::PauseTime, PointsOf::Links, "time for which PFC paused the link's data class"),
        of(
            Series::PauseVictims,
            PointsOf::Links,
            "victim flows: queue pairs blocked at a paused port although their egress port at the next switch is free",
        ),
        of(
            Series::ProgramBuffer,
            PointsOf::Switches,
            "bytes that a switch program holds outside the shared buffer",
        ),
        of(Series::TableEntries, PointsOf::Switches, "entries in the tables of a program in a switch"),
        of(Series::FlowThroughput, PointsOf::Qps, "throughput of a queue pair"),
        of(Series::SenderRtt, PointsOf::Acks, "round trips as a sender measures them"),
        of(Series::SenderEcn, PointsOf::Acks, "ECN marks echoed to the sender"),
    ];
    /// Former names, which can still be read, each with the present name.
    pub(in crate::scenario) const ALIASES: [(&'static str, &'static str); 1] =
        [("set-aside", "program-buffer")];
    /// The names for the key `series`, each with its series.
    pub(in crate::scenario) const BY_NAME: [(&'static str, SeriesKind); Self::ALL.len()] = by_name();
}

pub(super) const SERIES_NAMES: &[&str] = &words(SeriesKind::BY_NAME);

const fn of(series: Series, points: PointsOf, meaning: &'static str) -> SeriesKind {
    SeriesKind { name: series.name(), series, points, meaning }
}

const fn by_name() -> [(&'static str, SeriesKind); SeriesKind::ALL.len()] {
    let mut all = [("", SeriesKind::ALL[0]); SeriesKind::ALL.len()];
    let mut place = 0;
    while place < all.len() {
        all[place] = (SeriesKind::ALL[place].name, SeriesKind::ALL[place]);
        place += 1;
    }
    all
}
