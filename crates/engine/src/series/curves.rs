//! The curves of one series. The number of a link, switch or queue pair leads to its curve without a search.

use super::group::{CurveGroup, GroupPoints, row};
use crate::spec::Series;
use anabranch_base::Time;
use anabranch_results::SeriesRow;

pub(super) trait CurveData: Clone {
    fn has_data(&self) -> bool;

    /// Takes over the data of another observer's curve of the same entity. The default implementation assumes that only
    /// one of the two curves has data.
    fn join(&mut self, other: Self) {
        if other.has_data() {
            *self = other;
        }
    }

    /// The points of the curve (time in picoseconds, value), sorted by time, for a run that ended at `end`.
    fn points(self, end: Time) -> Vec<(u64, f64)>;
}

#[derive(Clone, Copy)]
pub(super) struct Watched {
    /// The number of the link, switch or queue pair.
    pub entity: u32,
    /// Hooks refer to the entity by this many consecutive numbers, the first of which is `entity * parts`.
    pub parts: u32,
    /// Whether the curve is in the results by itself. Otherwise only groups use it.
    pub own: bool,
}

#[derive(Clone)]
struct EntityCurve<C> {
    entity: u32,
    own: bool,
    curve: C,
}

#[derive(Clone)]
pub(super) struct Curves<C> {
    /// For each number that hooks get, the index in `curves` plus one, or 0 without a curve. Empty while no entity has
    /// a curve.
    of: Vec<u32>,
    /// The least length of `of` once an entity has a curve.
    room: usize,
    /// The curves in the order in which they were added.
    curves: Vec<EntityCurve<C>>,
}

impl<C: CurveData> Curves<C> {
    pub(super) fn with_room(room: usize) -> Self {
        Curves { of: Vec::new(), room, curves: Vec::new() }
    }

    /// Adds the curve of an entity. If the entity already has a curve, that curve stays.
    pub(super) fn watch(&mut self, Watched { entity, parts, own }: Watched, curve: impl FnOnce() -> C) {
        let first = entity as usize * parts as usize;
        let numbers = first..first + parts as usize;
        if self.of.len() < numbers.end {
            self.of.resize(numbers.end.max(self.room), 0);
        }
        match self.of[numbers.clone()].iter().find_map(|index| index.checked_sub(1)) {
            Some(index) => self.curves[index as usize].own |= own,
            None => {
                self.curves.push(EntityCurve { entity, own, curve: curve() });
                self.of[numbers].fill(self.curves.len() as u32);
            }
        }
    }

    #[inline]
    pub(super) fn of(&mut self, number: usize) -> Option<&mut C> {
        let index = self.of.get(number)?.checked_sub(1)?;
        self.curves.get_mut(index as usize).map(|known| &mut known.curve)
    }

    #[inline]
    pub(super) fn has(&self, number: usize) -> bool {
        self.of.get(number).is_some_and(|index| *index != 0)
    }

    /// Takes over the curves of another observer, which watches the same entities in the same order.
    pub(super) fn join(&mut self, other: Self) {
        for (known, other) in self.curves.iter_mut().zip(other.curves) {
            known.curve.join(other.curve);
        }
    }

    /// Appends the points of the curves with `own`, curve by curve, and then the points of the groups of this series.
    pub(super) fn rows(
        self,
        series: Series,
        end: Time,
        name: impl Fn(u32) -> String,
        groups: &[CurveGroup],
        rows: &mut Vec<SeriesRow>,
    ) {
        let mut groups = GroupPoints::of_series(series, groups);
        for EntityCurve { entity, own, curve } in self.curves {
            let points = curve.points(end);
            groups.iter_mut().for_each(|group| group.add(entity, &points));
            if own {
                let name = name(entity);
                rows.extend(points.into_iter().map(|point| row(series.column(), &name, point)));
            }
        }
        rows.extend(groups.into_iter().flat_map(GroupPoints::into_rows));
    }
}
