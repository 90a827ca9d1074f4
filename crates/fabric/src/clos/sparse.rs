//! Warnings about Clos networks whose switches are hardly used.

use super::defaults::resolve;
use super::{ClosInput, ClosKind, ClosSpec, Shape};
use anabranch_base::Problem;

/// The uplinks of a leaf and the numbers of the tiers above it, as keys with which the switches are in use.
struct Filled {
    spec: ClosSpec,
    keys: String,
}

impl ClosSpec {
    /// A warning about switches that are hardly used, with better numbers. The uplinks of a leaf may spread evenly only
    /// over far more spines than necessary, because their number has few divisors (31, for example), or the last segment
    /// may have a quarter of the servers of the others or fewer.
    pub fn sparse_spines(&self, kind: ClosKind) -> Option<Problem> {
        self.few_ports_of_spines(kind).or_else(|| self.few_servers_in_last_segment(kind))
    }

    fn few_servers_in_last_segment(&self, kind: ClosKind) -> Option<Problem> {
        let (segments, last) = (self.segments(), self.servers % self.segment.max(1));
        if last == 0 || 4 * last > self.segment || segments < 2 {
            return None;
        }
        let of_last = if last == 1 { "1 server".to_owned() } else { format!("{last} servers") };
        let message = format!(
            "the last of {segments} segments has {of_last}, where the others have {}, and leaves of its own",
            self.segment
        );
        let fewer = self.servers - last;
        let fewer = self.with_segment(kind, fewer, self.segment).map(|_| format!("servers = {fewer}"));
        let fits: Vec<String> = self.other_segments(kind).into_iter().chain(fewer).collect();
        match fits.is_empty() {
            true => None,
            false => Some(Problem::with_text(message, fits.join(", or "))),
        }
    }

    /// Segments with which the last one is at least half full. There are no more of them than a quarter more.
    fn other_segments(&self, kind: ClosKind) -> Option<String> {
        let even = self.servers.div_ceil(self.segments());
        let most = self.segments() + self.segments() / 4;
        (1..=even).rev().filter(|segment| *segment != self.segment).find_map(|segment| {
            let last = self.servers % segment;
            if self.servers.div_ceil(segment) > most || (last > 0 && 2 * last < segment) {
                return None;
            }
            let other = self.with_segment(kind, self.servers, segment)?;
            let keys = match other.few_ports_of_spines(kind) {
                None => String::new(),
                Some(_) => format!(", {}", other.filled(kind)?.keys),
            };
            let equal = if last == 0 { "equal" } else { "nearly equal" };
            Some(format!("segment = {segment}{keys} below [topology], for {equal} segments"))
        })
    }

    /// The network with other servers and segments, and with the same ratios between its tiers.
    fn with_segment(&self, kind: ClosKind, servers: u32, segment: u32) -> Option<ClosSpec> {
        let input = ClosInput { servers, segment: Some(segment), ..self.as_input(kind) };
        resolve(kind, &input).ok()
    }

    /// The input for a network of this size and shape whose numbers of switches are the usual ones.
    fn as_input(&self, kind: ClosKind) -> ClosInput {
        let shape = Shape::new(kind, self);
        let ratio = |down: f64, up: f64| (self.tiers > 1 && up > 0.0).then_some(down / up);
        let [link, uplink, core_link] = [self.link, self.uplink, self.core_link].map(|rate| rate.0 as f64);
        let of_leaf = (f64::from(shape.down) * link, f64::from(self.uplinks) * uplink);
        let of_spine =
            f64::from(shape.group_leaves()) * f64::from(self.uplinks) / f64::from(self.spines.max(1));
        let of_cores = ratio(of_spine * uplink, f64::from(self.core_uplinks) * core_link);
        ClosInput {
            gpus: Some(self.gpus),
            nics: Some(self.nics),
            ports: Some(self.ports),
            gpu_nics: self.gpu_nics.clone(),
            nvlink_domain: Some(self.nvlink_domain),
            nvlink: self.nvlink,
            nvlink_latency: self.nvlink_latency,
            segment: Some(self.segment),
            tiers: Some(self.tiers),
            spine_group: self.spine_group,
            oversubscription: ratio(of_leaf.0, of_leaf.1),
            core_oversubscription: of_cores.filter(|_| self.tiers == 3),
            uplink: Some(self.uplink),
            core_link: Some(self.core_link),
            radix: self.radix,
            ..ClosInput::new(self.servers, self.link, self.link_latency, self.switch_latency)
        }
    }

    fn few_ports_of_spines(&self, kind: ClosKind) -> Option<Problem> {
        let radix = u64::from(self.radix?);
        let shape = Shape::new(kind, self);
        let filled = self.filled(kind)?;
        let down = u64::from(shape.group_leaves()) * u64::from(self.uplinks) / u64::from(self.spines.max(1));
        let ports = down + u64::from(self.core_uplinks);
        let message = match self.tiers {
            2 => format!("each of {} spines has {ports} of its {radix} ports in use", self.spines),
            _ => {
                let [_, spines, cores] = shape.switches();
                let of_core =
                    u64::from(shape.spines) * u64::from(self.core_uplinks) / u64::from(self.cores.max(1));
                format!(
                    "each of {spines} spines has {ports} of its {radix} ports in use, and each of {cores} cores {of_core}"
                )
            }
        };
        Some(Problem::with_text(message, format_args!("{} below [topology]", filled.keys)))
    }

    /// Better numbers, if the spines are more than twice as many as their links need.
    fn filled(&self, kind: ClosKind) -> Option<Filled> {
        let filled = match self.tiers {
            2 => self.filled_spines(kind),
            3 => self.filled_cores(kind),
            _ => None,
        }?;
        resolve(kind, &filled.spec.written(kind)).ok()?;
        Some(filled)
    }

    fn filled_spines(&self, kind: ClosKind) -> Option<Filled> {
        let radix = u64::from(self.radix?);
        let shape = Shape::new(kind, self);
        let (leaves, uplinks) = (u64::from(shape.group_leaves()), u64::from(self.uplinks));
        let (spines, least) = (u64::from(self.spines), (leaves * uplinks).div_ceil(radix));
        let even = uplinks.next_multiple_of(least);
        let fits = u64::from(shape.down) + even <= radix && leaves * even <= radix * least;
        if spines < 2 * least || even == uplinks || !fits {
            return None;
        }
        let spec = ClosSpec { uplinks: even as u32, spines: least as u32, ..self.clone() };
        Some(Filled { spec, keys: format!("uplinks = {even} and spines = {least}") })
    }

    /// The numbers with the fewest spines and cores, for at most as many uplinks as the leaves have ports for.
    fn filled_cores(&self, kind: ClosKind) -> Option<Filled> {
        let radix = self.radix?;
        let shape = Shape::new(kind, self);
        let links = u64::from(shape.group_leaves()) * u64::from(self.uplinks);
        let up = u64::from(self.spines) * u64::from(self.core_uplinks);
        if u64::from(self.spines) < 2 * (links + up).div_ceil(u64::from(radix)) {
            return None;
        }
        let input = self.as_input(kind);
        let switches = |spec: &ClosSpec| Shape::new(kind, spec).switches().iter().sum::<u32>();
        let mut best: Option<ClosSpec> = None;
        for uplinks in self.uplinks..=radix.saturating_sub(shape.down) {
            let other = ClosInput {
                uplinks: Some(uplinks),
                oversubscription: None,
                pod: (self.spine_group() == super::SpineGroup::Pod).then_some(self.pod),
                ..input.clone()
            };
            let Ok(spec) = resolve(kind, &other) else { continue };
            if best.as_ref().is_none_or(|best| switches(&spec) < switches(best)) {
                best = Some(spec);
            }
        }
        let best =
            best.filter(|best| 4 * best.spines <= 3 * self.spines && switches(best) < switches(self))?;
        let ClosSpec { uplinks, spines, core_uplinks, cores, .. } = &best;
        let keys = format!(
            "uplinks = {uplinks}, spines = {spines}, core_uplinks = {core_uplinks} and cores = {cores}"
        );
        Some(Filled { spec: best, keys })
    }

    /// The input in which all numbers are written.
    fn written(&self, kind: ClosKind) -> ClosInput {
        let up = |number: u32| (number > 0).then_some(number);
        ClosInput {
            pod: Some(self.pod),
            uplinks: up(self.uplinks),
            spines: up(self.spines),
            core_uplinks: up(self.core_uplinks),
            cores: up(self.cores),
            oversubscription: None,
            core_oversubscription: None,
            ..self.as_input(kind)
        }
    }
}
