//! Checks of the numbers of a Clos network.

use super::{ClosKind, ClosSpec, Shape, SpineGroup, Striping};
use crate::MOST_HOST_PORTS;
use crate::assemble::{MAX_LINKS, MAX_PORTS, MAX_ROUTES, check_rate};
use crate::error::TopologyError;
use crate::near::{near_divisors, near_multiples};
use anabranch_base::{Fix, Problem};

pub(super) const MOST_CORES_TRIED: u32 = 1 << 17;

/// Checks that a network can be built from `spec`.
///
/// # Errors
/// The first number that is impossible in combination with the others, and what to write instead.
pub(super) fn check(kind: ClosKind, spec: &ClosSpec) -> Result<(), TopologyError> {
    check_counts(spec)?;
    check_groups(kind, spec)?;
    check_rate("link", spec.link)?;
    check_rate("uplink", spec.uplink)?;
    check_rate("core_link", spec.core_link)?;
    let up = [
        ("uplinks", spec.uplinks, 2, "a leaf"),
        ("spines", spec.spines, 2, "a group"),
        ("core_uplinks", spec.core_uplinks, 3, "a spine"),
        ("cores", spec.cores, 3, "a plane"),
    ];
    for (key, count, tier, of) in up {
        if (count > 0) != (spec.tiers >= tier) {
            let (tiers, what) = (spec.tiers, key.replace('_', " "));
            let fit = if count > 0 { "0".to_owned() } else { "1 or more".to_owned() };
            let message = format!("with {tiers} tiers {of} cannot have {count} {what}");
            return Err(TopologyError::shape(key, Problem::with_text(message, fit)));
        }
    }
    if spec.tiers > 1 {
        check_links_up("uplinks", spec.uplinks)?;
        check_spines(spec)?;
    }
    if spec.tiers > 2 {
        check_links_up("core_uplinks", spec.core_uplinks)?;
        check_cores(spec)?;
    }
    let shape = Shape::new(kind, spec);
    check_size(spec, &shape)?;
    check_radix(kind, spec, &shape)
}

pub(super) fn check_counts(spec: &ClosSpec) -> Result<(), TopologyError> {
    let counts = [
        ("servers", spec.servers),
        ("nics", spec.nics),
        ("gpus", spec.gpus),
        ("ports", spec.ports),
        ("nvlink_domain", spec.nvlink_domain),
        ("segment", spec.segment),
    ];
    if let Some((key, _)) = counts.into_iter().find(|(_, count)| *count == 0) {
        return Err(TopologyError::shape(key, Problem::with_text(format!("{key} cannot be 0"), "1 or more")));
    }
    let hosts = u64::from(spec.servers) * u64::from(spec.nics);
    if !(2..=MAX_LINKS / 2).contains(&hosts) {
        let problem = format!("{} servers of {} NICs have {hosts} NICs in all", spec.servers, spec.nics);
        let problem = Problem::with_text(problem, format_args!("numbers for 2 to {} NICs", MAX_LINKS / 2));
        return Err(TopologyError::shape("servers", problem));
    }
    if spec.ports > u32::from(MOST_HOST_PORTS) {
        let message = format!("a NIC has at most {MOST_HOST_PORTS} ports, not {}", spec.ports);
        return Err(TopologyError::shape("ports", Problem::with_value(message, MOST_HOST_PORTS)));
    }
    if u64::from(spec.gpus) * u64::from(spec.servers) > u64::from(u32::MAX) {
        let message = format!("{} servers cannot have {} GPUs each", spec.servers, spec.gpus);
        return Err(TopologyError::shape("gpus", Problem::with_value(message, spec.nics)));
    }
    check_server(spec)?;
    check_domain(spec)
}

/// Checks that the servers fill the NVLink domains. A number that the GPUs of servers divide may be one of GPUs.
fn check_domain(spec: &ClosSpec) -> Result<(), TopologyError> {
    let (servers, domain, gpus) = (spec.servers, spec.nvlink_domain, spec.gpus);
    if servers.is_multiple_of(domain) {
        return Ok(());
    }
    let of_gpus = Some(domain / gpus).filter(|of| *of > 0 && domain.is_multiple_of(gpus) && gpus > 1);
    let more = near_multiples(servers, domain);
    let fit = match of_gpus {
        Some(of) => {
            let also = match servers.is_multiple_of(of) {
                true => String::new(),
                false => format!(", with servers = {}", near_multiples(servers, of)),
            };
            format!("{of} for {domain} GPUs{also}; or servers = {more} for {domain} servers")
        }
        None => format!("{}, or servers = {more}", near_divisors(servers, domain, 0)),
    };
    let message = format!("{servers} servers do not fill NVLink domains, which count servers, of {domain}");
    Err(TopologyError::shape("nvlink_domain", Problem::with_text(message, fit)))
}

fn check_server(spec: &ClosSpec) -> Result<(), TopologyError> {
    let of_gpus = &spec.gpu_nics;
    if !of_gpus.is_empty() && of_gpus.len() != spec.gpus as usize {
        let message =
            format!("gpu_nics names the NICs of {} GPUs, and a server has {}", of_gpus.len(), spec.gpus);
        return Err(TopologyError::shape("gpu_nics", Problem::with_text(message, "a NIC for each GPU")));
    }
    if let Some(nic) = of_gpus.iter().find(|nic| **nic >= spec.nics) {
        let message = format!("a server has no NIC {nic}: it has {}, numbered from 0", spec.nics);
        let fit: Vec<u32> = (0..spec.gpus).map(|gpu| gpu % spec.nics).collect();
        return Err(TopologyError::shape("gpu_nics", Problem::with_value(message, format_args!("{fit:?}"))));
    }
    if spec.nvlink.is_none() && spec.nvlink_latency.is_some() {
        let message = "a latency of NVLink without a rate";
        return Err(TopologyError::shape("nvlink", Problem::with_text(message, "\"3600Gbps\"")));
    }
    Ok(())
}

pub(super) fn check_groups(kind: ClosKind, spec: &ClosSpec) -> Result<(), TopologyError> {
    let fail = |key: &str, message: String, fix: Fix| {
        Err(TopologyError::shape(key, Problem { message, fix: Some(fix) }))
    };
    let segments = spec.segments();
    if !(1..=3).contains(&spec.tiers) {
        return fail(
            "tiers",
            format!("there are 1 to 3 tiers, not {}", spec.tiers),
            Fix::value(spec.tiers.clamp(1, 3)),
        );
    }
    if spec.pod == 0 {
        return fail("pod", "pod cannot be 0".to_owned(), Fix::text("1 or more"));
    }
    divides("pod", spec.pod, segments, "segments do not fill pods of")?;
    let by_rail = spec.spine_group() == SpineGroup::Rail;
    if by_rail && spec.pod != segments {
        let message =
            "the leaves of a rail share their spines in all segments, so there are no pods".to_owned();
        return fail("pod", message, Fix::text(format_args!("pod = {segments}, or spine_group = \"pod\"")));
    }
    if by_rail && !kind.has_rails() {
        let message =
            format!("the leaves of {} have the NICs of all rails, so no spine has one rail", kind.name());
        return fail("spine_group", message, Fix::value("\"pod\""));
    }
    let groups = if by_rail { spec.nics } else { segments / spec.pod };
    match spec.tiers {
        1 if segments > 1 => fail(
            "tiers",
            format!("with 1 tier nothing joins the leaves of {segments} segments"),
            Fix::text(format_args!("tiers = 2, or segment = {}", spec.servers)),
        ),
        2 if !by_rail && groups > 1 => fail(
            "pod",
            format!("with 2 tiers nothing joins {groups} pods"),
            Fix::text(format_args!("pod = {segments}, or tiers = 3")),
        ),
        3 if groups == 1 => fail(
            "tiers",
            "all leaves share their spines, so cores would join nothing".to_owned(),
            match segments {
                1 => Fix::value(2),
                _ => Fix::text(format_args!("tiers = 2, or a pod of fewer than {segments} segments")),
            },
        ),
        _ => Ok(()),
    }
}

pub(super) fn check_links_up(key: &str, links: u32) -> Result<(), TopologyError> {
    if u64::from(links) < MAX_PORTS {
        return Ok(());
    }
    let message = format!("a switch cannot have {links} links up");
    Err(TopologyError::shape(key, Problem::with_text(message, format_args!("fewer than {MAX_PORTS}"))))
}

pub(super) fn check_spines(spec: &ClosSpec) -> Result<(), TopologyError> {
    for (key, count) in [("uplinks", spec.uplinks), ("spines", spec.spines)] {
        if count == 0 {
            let message = format!("with {} tiers {key} cannot be 0", spec.tiers);
            return Err(TopologyError::shape(key, Problem::with_text(message, "1 or more, or tiers = 1")));
        }
    }
    if spec.uplinks.is_multiple_of(spec.spines) {
        return Ok(());
    }
    let message = format!(
        "{} uplinks of a leaf do not spread evenly over spines, of which a group has {}",
        spec.uplinks, spec.spines
    );
    // A leaf with as many ports down as up has half of the radix for each.
    let more = u64::from(spec.uplinks.next_multiple_of(spec.spines));
    let fits = spec.radix.is_none_or(|radix| 2 * more <= u64::from(radix));
    let fewer = near_divisors(spec.uplinks, spec.spines, 0);
    let fit = if fits { format!("{fewer}, or uplinks = {more}") } else { fewer.to_string() };
    Err(TopologyError::shape("spines", Problem::with_text(message, fit)))
}

fn check_cores(spec: &ClosSpec) -> Result<(), TopologyError> {
    if Striping::of(spec.core_uplinks, spec.cores, spec.spines).is_some() {
        return Ok(());
    }
    let fits = |cores: &u32| Striping::of(spec.core_uplinks, *cores, spec.spines).is_some();
    let most = spec.core_uplinks.saturating_mul(spec.spines).min(MOST_CORES_TRIED);
    let below = (1..spec.cores.min(most.saturating_add(1))).rev().find(fits);
    let above = (spec.cores..=most).find(fits);
    let fit: Vec<String> = below.into_iter().chain(above).map(|cores| cores.to_string()).collect();
    let message = format!(
        "the {} links up of a spine, of which a group has {}, do not spread evenly over {} cores",
        spec.core_uplinks, spec.spines, spec.cores
    );
    Err(TopologyError::shape("cores", Problem::with_text(message, fit.join(" or "))))
}

fn check_size(spec: &ClosSpec, shape: &Shape) -> Result<(), TopologyError> {
    let [leaves, spines, cores] = shape.switches().map(u64::from);
    let (links, routes) = (2 * shape.cables(spec), (leaves + spines + cores) * leaves);
    let message = if links > MAX_LINKS {
        format!("this network has {links} directed links; the most that is simulated is {MAX_LINKS}")
    } else if routes > MAX_ROUTES {
        format!(
            "this network has {leaves} leaves and {routes} routes (switches times leaves); the most that is simulated is \
             {MAX_ROUTES}"
        )
    } else {
        return Ok(());
    };
    Err(TopologyError::shape("servers", Problem::with_text(message, "fewer servers, or larger segments")))
}

fn check_radix(kind: ClosKind, spec: &ClosSpec, shape: &Shape) -> Result<(), TopologyError> {
    let links = |lower: u64, count: u64, upper: u64| (lower * count).checked_div(upper).unwrap_or(0);
    let [groups, spines, cores] = [shape.groups, spec.spines, spec.cores].map(u64::from);
    let [uplinks, core_uplinks] = [spec.uplinks, spec.core_uplinks].map(u64::from);
    let tiers = [
        (
            "a leaf",
            u64::from(shape.down),
            uplinks,
            if kind.has_rails() { "segment" } else { "segment or nics" },
        ),
        (
            "a spine",
            links(u64::from(shape.group_leaves()), uplinks, spines),
            core_uplinks,
            "segment, or more spines",
        ),
        ("a core", links(groups * spines, core_uplinks, cores), 0, "segment, or more cores"),
    ];
    let (most, key) = match spec.radix {
        Some(radix) => (u64::from(radix).min(MAX_PORTS), "radix"),
        None => (MAX_PORTS, "segment"),
    };
    for (switch, down, up, smaller) in tiers {
        if down + up > most {
            let message =
                format!("{switch} would have {down} ports down and {up} up, and a switch has {most}");
            let fit = match key {
                "radix" => format!("radix = {}", down + up),
                _ => format!("a smaller {smaller}"),
            };
            return Err(TopologyError::shape(key, Problem::with_text(message, fit)));
        }
    }
    Ok(())
}

fn divides(key: &str, part: u32, whole: u32, problem: &str) -> Result<(), TopologyError> {
    if part > 0 && whole.is_multiple_of(part) {
        return Ok(());
    }
    let fix = Some(near_divisors(whole, part, 0));
    Err(TopologyError::shape(key, Problem { message: format!("{whole} {problem} {part}"), fix }))
}
