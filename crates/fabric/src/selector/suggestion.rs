//! Suggestions of selectors for texts that resemble a selector.

use super::part::part_of_cluster;
use super::{Form, Selector, switch};
use crate::Topology;
use anabranch_base::{LinkId, NodeId, Purpose, stream};

impl Selector {
    /// The selector of `topology` that `text` resembles: `tor:0/up:0` for `tor0/up0` or `ToR-0.up[0]`. It names links
    /// if `links` is true, otherwise switches.
    pub fn suggest(text: &str, topology: &Topology, links: bool) -> Option<String> {
        if let Some((from, to)) = text.split_once("->") {
            let node = |name| match Selector::parse(&normalized(name)).ok()?.form {
                Form::Host(host, None) if host < topology.hosts => Some(NodeId(host)),
                Form::Switch(kind, index) => switch(topology, kind, index).ok(),
                _ => None,
            };
            let (from, to) = (node(from)?, node(to)?);
            let link = topology.links_of(from).find(|&link| topology.ports[link as usize].peer == to)?;
            return Some(topology.link_name(LinkId(link))).filter(|_| links);
        }
        if let Some(cable) = between(text, topology).filter(|_| links) {
            return Some(cable);
        }
        if let Some(part) = part_of_cluster(&normalized(&text.replace("mlx5_", "hca:")), topology, links) {
            return Some(part);
        }
        let normalized = with_tier_words(&normalized(text), topology);
        if let Some(all) = whole_tier(&normalized, topology).filter(|_| !links) {
            return Some(all);
        }
        let selector = Selector::parse(&normalized).ok().filter(|_| normalized != text)?;
        // The choice of the stream has no effect, since only the existence of the links or switches matters.
        let mut random = stream(1, 0, Purpose::FaultSelection);
        let found = match links {
            true => selector.links(topology, &mut random).map(drop),
            false => selector.switches(topology, &mut random).map(drop),
        };
        match found {
            Ok(()) => Some(normalized),
            Err(error) => Some(error.problem.fix?.to_string().trim_matches('"').to_owned()),
        }
    }
}

/// Replaces the tier numbers of papers by the words of selectors: `t0:3` (normalised to `t:0:3`) becomes `tor:3`.
fn with_tier_words(normalized: &str, topology: &Topology) -> String {
    let tier = |part: &str| {
        let (number, rest) = part.strip_prefix("t:")?.split_at_checked(1)?;
        let tier = number.parse::<u8>().ok()?.checked_add(1).filter(|tier| *tier <= topology.top_tier())?;
        rest.starts_with(':').then(|| format!("{}{rest}", topology.tier_word(tier)))
    };
    let parts = normalized.split('/').map(|part| tier(part).unwrap_or_else(|| part.to_owned()));
    parts.collect::<Vec<_>>().join("/")
}

/// The selector of all switches of a tier for the tier's word alone, also in the plural or with `all`: `spine:100%`.
fn whole_tier(normalized: &str, topology: &Topology) -> Option<String> {
    let plain = normalized.trim_start_matches("all-").trim_start_matches("all:");
    let plain = plain.trim_end_matches(":all").trim_end_matches(":*");
    let word = if plain == "leaves" { "leaf" } else { plain.strip_suffix('s').unwrap_or(plain) };
    let all = format!("{word}:100%");
    let selector = Selector::parse(&all).ok().filter(|_| plain.chars().all(char::is_alphabetic))?;
    let mut random = stream(1, 0, Purpose::FaultSelection);
    match selector.switches(topology, &mut random) {
        Ok(_) => Some(all),
        Err(error) => Some(error.problem.fix?.to_string().trim_matches('"').to_owned()),
    }
}

/// The cable for a text with the names of its two switches: `tor0-spine1`, `tor:0 <-> spine:1`.
fn between(text: &str, topology: &Topology) -> Option<String> {
    let node = |name: &str| match Selector::parse(&normalized(name)).ok()?.form {
        Form::Switch(kind, index) => switch(topology, kind, index).ok(),
        _ => None,
    };
    let separators = text.match_indices(['-', '<', ':', '/', ',']).map(|(place, _)| place);
    separators.into_iter().find_map(|place| {
        let (one, other) = (&text[..place], text[place..].trim_matches(['-', '<', '>', ':', '/', ',', ' ']));
        let (one, other) = (node(one.trim())?, node(other)?);
        let link = topology.links_of(one).find(|&link| topology.ports[link as usize].peer == other)?;
        Some(format!("cable:{}", topology.link_name(LinkId(link))))
    })
}

/// `text` with a colon between each word and its number, and a slash before `up` and `down`.
fn normalized(text: &str) -> String {
    let mut normalized = String::new();
    for letter in text.trim().to_lowercase().chars() {
        let last = normalized.chars().last();
        match letter {
            '[' | '(' | '_' | '#' | ' ' => normalized.push(':'),
            ']' | ')' => {}
            '0'..='9' if last == Some('-') => {
                normalized.pop();
                normalized.push_str(&format!(":{letter}"));
            }
            '0'..='9' if last.is_some_and(char::is_alphabetic) => normalized.push_str(&format!(":{letter}")),
            letter => normalized.push(letter),
        }
    }
    for side in ["up", "down"] {
        for before in [".", ":", "/:", "-"] {
            normalized = normalized.replace(&format!("{before}{side}"), &format!("/{side}"));
        }
    }
    // `tor:0/uplink:1` means one port, but `tor/uplinks` means the uplinks of all ToRs.
    let normalized = match normalized.contains(':') {
        true => normalized.replace("/uplinks", "/up").replace("/uplink", "/up").replace("/downlink", "/down"),
        false => normalized,
    };
    normalized.replace("/uplinks", "-uplinks").replace("::", ":").trim_end_matches(':').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TopologySpec, build, fat_tree_defaults};
    use anabranch_base::{Duration, Rate};

    #[test]
    fn names_are_found_that_are_written_in_other_ways() {
        let (link, ns) = (Rate::from_gbps(400), Duration::from_ns(1));
        let (tier, pod_hosts) = fat_tree_defaults(32, 2, 1, None, link, ns, ns).unwrap();
        let tree = build(&TopologySpec::FatTree { hosts: 32, tier, pod_hosts }, None).unwrap();
        let links = |text| Selector::suggest(text, &tree, true).unwrap_or_default();
        for text in [
            "tor:0/uplink:0",
            "tor0/uplink0",
            "tor0/up0",
            "ToR0/up0",
            "tor-0/up-0",
            "tor[0].up[0]",
            "tor 0 up 0",
            "TOR_0/UP_0",
        ] {
            assert_eq!(links(text), "tor:0/up:0", "{text}");
        }
        assert_eq!([links("host3"), links("TOR-uplinks")], ["host:3", "tor-uplinks"]);
        assert_eq!(
            [links("tor99/up0"), links("leaf0/up0"), links("spine1")],
            ["tor:7/up:0", "tor:0/up:0", "spine:1/down"]
        );
        assert_eq!([links("tor:0->spine:2"), links("host1 -> tor0")], ["tor:0/up:2", "host:1"]);
        assert_eq!([links("uplinks"), links("tor:0/up")], ["", ""]);
        let switches = |text| Selector::suggest(text, &tree, false).unwrap_or_default();
        assert_eq!(
            [switches("spine0"), switches("leaf3"), switches("Spine-9")],
            ["spine:0", "tor:3", "spine:3"]
        );
        for text in ["spine", "spines", "Spine:all", "spine:*", "all spines"] {
            assert_eq!(switches(text), "spine:100%", "{text}");
        }
        assert_eq!([switches("tor"), switches("leaves"), switches("leaf")], ["tor:100%"; 3]);
    }
}
