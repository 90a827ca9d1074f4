//! Defaults for the numbers of a Clos network that a scenario leaves out.

use super::check::{MOST_CORES_TRIED, check, check_counts, check_groups, check_links_up, check_spines};
use super::{ClosKind, ClosSpec, Shape, SpineGroup, Striping};
use crate::error::TopologyError;
use anabranch_base::{Duration, Problem, Rate};

/// The largest default number of NICs on a leaf, in networks of several tiers whose kind has no published numbers. It
/// applies if the scenario leaves out `radix`.
const LEAF_NICS: u32 = 32;
/// The numbers of HPN (sections 4 and 5 of its paper): the servers of a segment, the uplinks of a ToR, the segments
/// of a pod, and the oversubscription between a pod's aggregation switches and the cores.
const HPN_SEGMENT: u32 = 128;
const HPN_UPLINKS: u32 = 60;
const HPN_POD: u32 = 15;
const HPN_CORE_OVERSUBSCRIPTION: f64 = 15.0;
/// The numbers of DCN+ (section 2 of the HPN paper): the servers of a segment, and the segments of a pod.
const DCN_PLUS_SEGMENT: u32 = 16;
const DCN_PLUS_POD: u32 = 4;

/// The numbers of a Clos network as a scenario gives them.
#[derive(Clone, Debug)]
pub struct ClosInput {
    /// See [`ClosSpec::servers`].
    pub servers: u32,
    /// See [`ClosSpec::gpus`].
    pub gpus: Option<u32>,
    /// See [`ClosSpec::nics`].
    pub nics: Option<u32>,
    /// See [`ClosSpec::ports`].
    pub ports: Option<u32>,
    /// See [`ClosSpec::gpu_nics`].
    pub gpu_nics: Vec<u32>,
    /// See [`ClosSpec::nvlink_domain`].
    pub nvlink_domain: Option<u32>,
    /// See [`ClosSpec::nvlink`].
    pub nvlink: Option<Rate>,
    /// See [`ClosSpec::nvlink_latency`].
    pub nvlink_latency: Option<Duration>,
    /// See [`ClosSpec::segment`].
    pub segment: Option<u32>,
    /// See [`ClosSpec::pod`].
    pub pod: Option<u32>,
    /// See [`ClosSpec::tiers`].
    pub tiers: Option<u32>,
    /// See [`ClosSpec::spine_group`].
    pub spine_group: Option<SpineGroup>,
    /// The total rate of a leaf's NICs divided by the total rate of its uplinks.
    pub oversubscription: Option<f64>,
    /// See [`ClosSpec::uplinks`].
    pub uplinks: Option<u32>,
    /// See [`ClosSpec::spines`].
    pub spines: Option<u32>,
    /// The total rate of a spine's links down divided by the total rate of its uplinks.
    pub core_oversubscription: Option<f64>,
    /// See [`ClosSpec::core_uplinks`].
    pub core_uplinks: Option<u32>,
    /// See [`ClosSpec::cores`].
    pub cores: Option<u32>,
    /// See [`ClosSpec::link`].
    pub link: Rate,
    /// See [`ClosSpec::uplink`].
    pub uplink: Option<Rate>,
    /// See [`ClosSpec::core_link`].
    pub core_link: Option<Rate>,
    /// See [`ClosSpec::link_latency`].
    pub link_latency: Duration,
    /// See [`ClosSpec::switch_latency`].
    pub switch_latency: Duration,
    /// See [`ClosSpec::radix`].
    pub radix: Option<u32>,
}

impl ClosInput {
    /// An input that sets only the numbers without a default.
    pub fn new(servers: u32, link: Rate, link_latency: Duration, switch_latency: Duration) -> ClosInput {
        ClosInput {
            servers,
            gpus: None,
            nics: None,
            ports: None,
            gpu_nics: Vec::new(),
            nvlink_domain: None,
            nvlink: None,
            nvlink_latency: None,
            segment: None,
            pod: None,
            tiers: None,
            spine_group: None,
            oversubscription: None,
            uplinks: None,
            spines: None,
            core_oversubscription: None,
            core_uplinks: None,
            cores: None,
            link,
            uplink: None,
            core_link: None,
            link_latency,
            switch_latency,
            radix: None,
        }
    }
}

/// The Clos network of `input`, with a default for every number that the input leaves out.
///
/// # Errors
/// Numbers that are out of range or contradict each other. Whether a fix fits is not verified.
pub(super) fn resolve(kind: ClosKind, input: &ClosInput) -> Result<ClosSpec, TopologyError> {
    let mut spec = given(kind, input);
    spec.segment = input.segment.unwrap_or_else(|| segment(kind, input, &spec));
    check_counts(&spec)?;
    groups(kind, input, &mut spec);
    check_groups(kind, &spec)?;
    if spec.tiers == 1 {
        without_uplinks(kind, input)?;
    } else {
        upper_tiers(kind, input, &mut spec)?;
    }
    check(kind, &spec)?;
    Ok(spec)
}

/// The numbers that do not depend on the size of the network. The other numbers are 0.
pub(super) fn given(kind: ClosKind, input: &ClosInput) -> ClosSpec {
    let nics = input.nics.unwrap_or(8);
    let uplink = input.uplink.unwrap_or_else(|| usual_uplink(kind, input));
    ClosSpec {
        servers: input.servers,
        gpus: input.gpus.unwrap_or(nics),
        nics,
        ports: input.ports.unwrap_or(match kind {
            ClosKind::Rails => 1,
            ClosKind::MultiPlane => 4,
            ClosKind::Hpn | ClosKind::DcnPlus => 2,
        }),
        gpu_nics: input.gpu_nics.clone(),
        nvlink_domain: input.nvlink_domain.unwrap_or(1),
        nvlink: input.nvlink,
        nvlink_latency: input.nvlink_latency,
        segment: 0,
        pod: 0,
        tiers: 0,
        spine_group: None,
        uplinks: 0,
        spines: 0,
        core_uplinks: 0,
        cores: 0,
        link: input.link,
        uplink,
        core_link: input.core_link.unwrap_or(uplink),
        link_latency: input.link_latency,
        switch_latency: input.switch_latency,
        radix: input.radix,
    }
}

fn usual_uplink(kind: ClosKind, input: &ClosInput) -> Rate {
    match kind {
        ClosKind::Hpn => Rate(input.link.0.saturating_mul(2)),
        ClosKind::Rails | ClosKind::MultiPlane | ClosKind::DcnPlus => input.link,
    }
}

fn upper_tiers(kind: ClosKind, input: &ClosInput, spec: &mut ClosSpec) -> Result<(), TopologyError> {
    let shape = Shape::new(kind, spec);
    spec.uplinks = uplinks(kind, input, spec, shape.down)?;
    check_links_up("uplinks", spec.uplinks)?;
    let oversubscription = input.core_oversubscription.unwrap_or(match kind {
        ClosKind::Hpn => HPN_CORE_OVERSUBSCRIPTION,
        ClosKind::Rails | ClosKind::MultiPlane | ClosKind::DcnPlus => 1.0,
    });
    let (uplink, core_link, of_leaf) = (spec.uplink, spec.core_link, spec.uplinks);
    let spine_links = |spines: u32| {
        let down = f64::from(shape.group_leaves()) * f64::from(of_leaf / spines);
        (down, quotient(down, uplink, oversubscription, core_link))
    };
    let (tiers, radix) = (spec.tiers, spec.radix);
    spec.spines = input.spines.unwrap_or_else(|| {
        let fits = |spines: &u32| {
            let (down, up) = spine_links(*spines);
            let ports = if tiers == 3 { down + up } else { down };
            radix.is_some_and(|radix| of_leaf.is_multiple_of(*spines) && ports <= f64::from(radix))
        };
        (1..=of_leaf).find(fits).unwrap_or(of_leaf)
    });
    check_spines(spec)?;
    if spec.tiers == 2 {
        return core_key(kind, input).map_or(Ok(()), |key| Err(TopologyError::shape(key, no_cores(2))));
    }
    spec.core_uplinks = match input.core_uplinks {
        Some(uplinks) => one_of("core_oversubscription", input.core_oversubscription, uplinks)?,
        None => {
            let (down, up) = spine_links(spec.spines);
            whole("core_", down, (uplink, oversubscription, core_link), up)?
        }
    };
    check_links_up("core_uplinks", spec.core_uplinks)?;
    spec.cores = input.cores.unwrap_or_else(|| cores(spec, shape.groups));
    Ok(())
}

/// The number of servers of a segment: the largest divisor of the number of servers for which the NICs on a leaf do not
/// exceed a limit. If no divisor gives as few segments as the limit permits, the segments have as many servers as the
/// limit permits, and the last segment is not full.
pub(super) fn segment(kind: ClosKind, input: &ClosInput, spec: &ClosSpec) -> u32 {
    let nics = match (kind, input.radix) {
        (ClosKind::Hpn, None) => HPN_SEGMENT,
        (ClosKind::DcnPlus, None) => DCN_PLUS_SEGMENT.saturating_mul(spec.nics),
        (_, None) if input.tiers == Some(1) => u32::MAX,
        (_, None) => LEAF_NICS,
        (_, Some(radix)) if input.tiers == Some(1) => radix,
        // The limit is the number of NICs that fill the switch together with the uplinks that they need.
        (_, Some(radix)) => {
            let oversubscription = input.oversubscription.unwrap_or(1.0);
            let (up, down) = (spec.uplink.0 as f64 * oversubscription, spec.link.0 as f64);
            (f64::from(radix) * up / (up + down)) as u32
        }
    };
    let of_server = if kind.has_rails() { 1 } else { spec.nics.max(1) };
    let most = (nics / of_server).max(1);
    let even = largest_divisor(spec.servers, most);
    if spec.servers / even == spec.servers.div_ceil(most) { even } else { most }
}

fn groups(kind: ClosKind, input: &ClosInput, spec: &mut ClosSpec) {
    let segments = spec.segments();
    let limit = match kind {
        ClosKind::Hpn => HPN_POD,
        ClosKind::DcnPlus => DCN_PLUS_POD,
        ClosKind::Rails | ClosKind::MultiPlane => segments,
    };
    let pod = input.pod.unwrap_or_else(|| largest_divisor(segments, limit));
    spec.tiers = input.tiers.unwrap_or(if pod < segments && input.spine_group != Some(SpineGroup::Rail) {
        3
    } else {
        2
    });
    let group = input.spine_group.unwrap_or(match (kind, spec.tiers, input.pod) {
        (ClosKind::Rails, 3, None) => SpineGroup::Rail,
        _ => SpineGroup::Pod,
    });
    spec.spine_group = (kind.has_rails() || group == SpineGroup::Rail).then_some(group);
    spec.pod = match (kind, spec.tiers, group, input.pod) {
        // In each plane, a pod has as many leaves as a leaf has NICs, as in a fat tree. It has fewer leaves if pods of
        // that size would not divide the segments evenly, or if there would be only one pod.
        (ClosKind::MultiPlane, 3, SpineGroup::Pod, None) => {
            largest_divisor(segments, spec.segment.saturating_mul(spec.nics).min(segments / 2))
        }
        (_, _, SpineGroup::Rail, None) => segments,
        _ => pod,
    };
}

fn uplinks(kind: ClosKind, input: &ClosInput, spec: &ClosSpec, down: u32) -> Result<u32, TopologyError> {
    if let Some(uplinks) = input.uplinks {
        return one_of("oversubscription", input.oversubscription, uplinks);
    }
    let is_published = spec.segment == HPN_SEGMENT && spec.uplink.0 == spec.link.0.saturating_mul(2);
    if kind == ClosKind::Hpn && is_published && input.oversubscription.is_none() {
        return Ok(HPN_UPLINKS);
    }
    let (down, oversubscription) = (f64::from(down), input.oversubscription.unwrap_or(1.0));
    let up = quotient(down, spec.link, oversubscription, spec.uplink);
    whole("", down, (spec.link, oversubscription, spec.uplink), up)
}

/// The number of cores of a plane: the smallest number over which the uplinks spread evenly and at which no core
/// needs more ports than it has. If `radix` is not given, or no number fits, each uplink of a group has its own core.
fn cores(spec: &ClosSpec, groups: u32) -> u32 {
    let most = spec.core_uplinks.saturating_mul(spec.spines);
    let links = u64::from(groups) * u64::from(spec.spines) * u64::from(spec.core_uplinks);
    let fits = |cores: &u32| {
        let ports = links / u64::from(*cores);
        spec.radix.is_some_and(|radix| ports <= u64::from(radix))
            && Striping::of(spec.core_uplinks, *cores, spec.spines).is_some()
    };
    (1..=most.min(MOST_CORES_TRIED)).find(fits).unwrap_or(most)
}

/// The number of uplinks whose total rate is the total rate of `down` links divided by the oversubscription.
fn quotient(down: f64, link: Rate, oversubscription: f64, uplink: Rate) -> f64 {
    down * link.0 as f64 / (oversubscription * uplink.0 as f64)
}

/// Returns `up`, the number of uplinks of a switch, which must be whole. The keys of the tier begin with `prefix`.
fn whole(
    prefix: &str,
    down: f64,
    (link, oversubscription, uplink): (Rate, f64, Rate),
    up: f64,
) -> Result<u32, TopologyError> {
    // A ratio such as 16:15 is not exact in binary, so a small deviation is permitted.
    if up.is_finite() && up >= 0.5 && (up - up.round()).abs() < 1e-6 * up.max(1.0) {
        return Ok(up.round() as u32);
    }
    let switch = if prefix.is_empty() { "leaf" } else { "spine" };
    let problem = Problem::with_text(
        format!(
            "a {switch} with {down} links of {link} down has {up:.3} of {uplink} up at an oversubscription of \
             {oversubscription}, which is no whole number"
        ),
        format_args!("{prefix}uplinks = {} in its place", up.max(1.0).ceil()),
    );
    Err(TopologyError::shape(&format!("{prefix}oversubscription"), problem))
}

fn one_of(key: &str, oversubscription: Option<f64>, uplinks: u32) -> Result<u32, TopologyError> {
    if oversubscription.is_none() {
        return Ok(uplinks);
    }
    let message = format!("{uplinks} links up are given already, and the oversubscription follows from them");
    Err(TopologyError::shape(key, Problem::with_text(message, format_args!("nothing: leave {key} out"))))
}

/// Checks that the input for a network of one tier gives no uplinks, spines, cores or oversubscription. Numbers of 0
/// and the default rates of uplinks are permitted, because a resolved scenario contains them.
fn without_uplinks(kind: ClosKind, input: &ClosInput) -> Result<(), TopologyError> {
    let keys = [
        ("oversubscription", input.oversubscription.is_some()),
        ("uplinks", input.uplinks.is_some_and(|uplinks| uplinks > 0)),
        ("spines", input.spines.is_some_and(|spines| spines > 0)),
        ("uplink", input.uplink.is_some_and(|uplink| uplink != usual_uplink(kind, input))),
    ];
    let written = keys.into_iter().find_map(|(key, is_written)| is_written.then_some(key));
    match written.or(core_key(kind, input)) {
        Some(key) if core_key(kind, input) == Some(key) => Err(TopologyError::shape(key, no_cores(1))),
        Some(key) => {
            let message = "with 1 tier nothing leads up from a leaf";
            Err(TopologyError::shape(key, Problem::with_text(message, "tiers = 2, which has spines")))
        }
        None => Ok(()),
    }
}

fn core_key(kind: ClosKind, input: &ClosInput) -> Option<&'static str> {
    let uplink = input.uplink.unwrap_or_else(|| usual_uplink(kind, input));
    let keys = [
        ("core_oversubscription", input.core_oversubscription.is_some()),
        ("core_uplinks", input.core_uplinks.is_some_and(|uplinks| uplinks > 0)),
        ("cores", input.cores.is_some_and(|cores| cores > 0)),
        ("core_link", input.core_link.is_some_and(|core_link| core_link != uplink)),
    ];
    keys.into_iter().find_map(|(key, is_written)| is_written.then_some(key))
}

fn no_cores(tiers: u32) -> Problem {
    let tier = if tiers == 1 { "tier" } else { "tiers" };
    Problem::with_text(format!("with {tiers} {tier} there are no cores"), "tiers = 3, which has cores")
}

fn largest_divisor(number: u32, limit: u32) -> u32 {
    (1..=limit.min(number)).rev().find(|divisor| number.is_multiple_of(*divisor)).unwrap_or(1)
}
