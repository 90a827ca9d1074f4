//! Errors for rates of links with the names of InfiniBand's generations, or as a number of ports.

use crate::scenario::read::table::Table;
use anabranch_base::{Diagnostic, Fix, Rate};

/// InfiniBand's generations with the rate of a port of four lanes in Gb/s, or of two lanes where the name has a number.
const GENERATIONS: [(&str, u64); 8] = [
    ("edr", 100),
    ("hdr100", 100),
    ("hdr", 200),
    ("hdr200", 200),
    ("ndr200", 200),
    ("ndr", 400),
    ("ndr400", 400),
    ("xdr", 800),
];

/// The largest number of ports of a NIC.
const MOST_PORTS: u32 = 16;

fn of_generation(text: &str) -> Option<Rate> {
    let plain = text.to_lowercase().replace([' ', '-', '_'], "");
    let plain = plain.strip_prefix("infiniband").or(plain.strip_prefix("ib")).unwrap_or(&plain);
    let plain = plain.strip_prefix("4x").unwrap_or(plain);
    let (_, gbps) = GENERATIONS.iter().find(|(name, _)| *name == plain)?;
    Some(Rate::from_gbps(*gbps))
}

/// The number of ports and the rate of one in a text such as `2x200Gbps`.
fn of_ports(text: &str) -> Option<(u32, Rate)> {
    let (ports, rate) = text.split_once(['x', 'X', '×', '*'])?;
    let (ports, rate) = (ports.trim().parse::<u32>().ok()?, rate.trim());
    let in_gbps = || format!("{}Gbps", rate.trim_end_matches(['G', 'g'])).parse().ok();
    let rate = of_generation(rate).or_else(|| rate.parse().ok()).or_else(in_gbps)?;
    ((2..=MOST_PORTS).contains(&ports) && rate.0 > 0).then_some((ports, rate))
}

/// The error if the rate at `key` is a generation of InfiniBand or has a number of ports.
pub(super) fn refused(table: &Table, key: &str) -> Option<Diagnostic> {
    let value = table.node(key)?.value();
    let written = value.as_str()?;
    let quoted = |rate: Rate| format!("\"{rate}\"");
    if let Some(rate) = of_generation(written) {
        let message = format!("{key}: {value} is a generation of InfiniBand, and here a rate is a number");
        return Some(table.wrong(key, message, Fix::set(key, quoted(rate))));
    }
    let (ports, rate) = of_ports(written)?;
    let message = format!("{key} is the rate of one link, and {value} are {ports}");
    let kind = table.get::<String>("kind").ok().flatten();
    let is_cluster = matches!(kind.as_deref(), Some("rails" | "multi-plane" | "hpn" | "dcn-plus"));
    let fix = match (key, is_cluster) {
        ("link", true) if table.get::<u32>("ports").ok().flatten() != Some(ports) => {
            Fix::text(format!("link = {} and ports = {ports}, the ports of a NIC", quoted(rate)))
        }
        ("link", false) => Fix::text(format!(
            "link = {}, since a host has one link here; NICs of several ports are in kind = \"rails\"",
            quoted(Rate(rate.0.saturating_mul(u64::from(ports))))
        )),
        _ => Fix::set(key, quoted(rate)),
    };
    Some(table.wrong(key, message, fix))
}
