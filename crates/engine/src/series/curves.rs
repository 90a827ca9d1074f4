//! The curves of one series. The number of a link, switch or queue pair leads to its curve without a search.

use anabranch_base::Time;
use anabranch_results::SeriesRow;

pub(super) trait CurveData: Clone {
    fn has_data(&self) -> bool;

    /// The points of the curve (time in picoseconds, value), sorted by time, for a run that ended at `end`.
    fn points(self, end: Time) -> Vec<(u64, f64)>;
}

#[derive(Clone)]
pub(super) struct Curves<C> {
    /// For each number that events carry, the index in `curves` plus one, or 0. Empty while no entity has a curve.
    of: Vec<u32>,
    /// The least length of `of` once an entity has a curve.
    room: usize,
    /// The curves in the order in which they were added, each with the number of its entity.
    curves: Vec<(u32, C)>,
}

impl<C: CurveData> Curves<C> {
    /// An empty series. The numbers in events are below `room` if it is known, otherwise `room` is 0.
    pub(super) fn with_room(room: usize) -> Self {
        Curves { of: Vec::new(), room, curves: Vec::new() }
    }

    /// Adds the curve of `entity`, unless it has one. Events of the entity carry any of the `parts` numbers that begin
    /// at `entity * parts`.
    pub(super) fn watch(&mut self, entity: u32, parts: u32, curve: impl FnOnce() -> C) {
        let first = entity as usize * parts as usize;
        let numbers = first..first + parts as usize;
        if self.of.len() < numbers.end {
            self.of.resize(numbers.end.max(self.room), 0);
        }
        if self.of[numbers.clone()].iter().all(|index| *index == 0) {
            self.curves.push((entity, curve()));
            self.of[numbers].fill(self.curves.len() as u32);
        }
    }

    #[inline]
    pub(super) fn of(&mut self, number: usize) -> Option<&mut C> {
        let index = self.of.get(number)?.checked_sub(1)?;
        self.curves.get_mut(index as usize).map(|(_, curve)| curve)
    }

    #[inline]
    pub(super) fn has(&self, number: usize) -> bool {
        self.of.get(number).is_some_and(|index| *index != 0)
    }

    /// Takes over the curves of another observer of the same entities. Only one of the two has seen events of an entity.
    pub(super) fn join(&mut self, other: Self) {
        for ((_, curve), (_, other)) in self.curves.iter_mut().zip(other.curves) {
            if other.has_data() {
                *curve = other;
            }
        }
    }

    pub(super) fn rows(
        self,
        series: &str,
        end: Time,
        name: impl Fn(u32) -> String,
        rows: &mut Vec<SeriesRow>,
    ) {
        for (entity, curve) in self.curves {
            let entity = name(entity);
            rows.extend(curve.points(end).into_iter().map(|(time_ps, value)| SeriesRow {
                run: 0,
                series: series.to_owned(),
                entity: entity.clone(),
                time_ps,
                value,
            }));
        }
    }
}
