//! What somebody means who writes a selector in another way.

use super::{Form, Selector, switch};
use crate::Topology;
use anabranch_base::{LinkId, NodeId, Purpose, stream};

impl Selector {
    /// What `topology` has that `text`, which is no selector, seems to mean: `tor:0/up:0` for `tor0/up0`, `ToR-0.up[0]`.
    /// With `links` it names links, without them switches.
    pub fn meant(text: &str, topology: &Topology, links: bool) -> Option<String> {
        if let Some((from, to)) = text.split_once("->") {
            let node = |name| match Selector::parse(&mended(name)).ok()?.form {
                Form::Host(host) if host < topology.hosts => Some(NodeId(host)),
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
        let mended = mended(text);
        let selector = Selector::parse(&mended).ok().filter(|_| mended != text)?;
        // Which ones a share picks does not matter here.
        let mut random = stream(1, 0, Purpose::FaultSelection);
        let found = match links {
            true => selector.links(topology, &mut random).map(drop),
            false => selector.switches(topology, &mut random).map(drop),
        };
        match found {
            Ok(()) => Some(mended),
            Err(error) => {
                let (_, near) = error.problem.rsplit_once("; write ")?;
                Some(near.trim_matches('"').to_owned())
            }
        }
    }
}

/// The cable between two switches that stand there with a stroke between them: `tor0-spine1`, `tor:0 <-> spine:1`.
fn between(text: &str, topology: &Topology) -> Option<String> {
    let node = |name: &str| match Selector::parse(&mended(name)).ok()?.form {
        Form::Switch(kind, index) => switch(topology, kind, index).ok(),
        _ => None,
    };
    let strokes = text.match_indices(['-', '<', ':', '/', ',']).map(|(place, _)| place);
    strokes.into_iter().find_map(|place| {
        let (one, other) = (&text[..place], text[place..].trim_matches(['-', '<', '>', ':', '/', ',', ' ']));
        let (one, other) = (node(one.trim())?, node(other)?);
        let link = topology.links_of(one).find(|&link| topology.ports[link as usize].peer == other)?;
        Some(format!("cable:{}", topology.link_name(LinkId(link))))
    })
}

/// `text` with a colon between each word and its number, and a stroke before the side.
fn mended(text: &str) -> String {
    let mut mended = String::new();
    for letter in text.trim().to_lowercase().chars() {
        let last = mended.chars().last();
        match letter {
            '[' | '(' | '_' | '#' | ' ' => mended.push(':'),
            ']' | ')' => {}
            '0'..='9' if last == Some('-') => {
                mended.pop();
                mended.push_str(&format!(":{letter}"));
            }
            '0'..='9' if last.is_some_and(char::is_alphabetic) => mended.push_str(&format!(":{letter}")),
            letter => mended.push(letter),
        }
    }
    for side in ["up", "down"] {
        for before in [".", ":", "/:", "-"] {
            mended = mended.replace(&format!("{before}{side}"), &format!("/{side}"));
        }
    }
    // `tor:0/uplink:1` means one port; `tor/uplinks` all cables above ToRs.
    let mended = match mended.contains(':') {
        true => mended.replace("/uplinks", "/up").replace("/uplink", "/up").replace("/downlink", "/down"),
        false => mended,
    };
    mended.replace("/uplinks", "-uplinks").replace("::", ":").trim_end_matches(':').to_owned()
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
        let links = |text| Selector::meant(text, &tree, true).unwrap_or_default();
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
        let switches = |text| Selector::meant(text, &tree, false).unwrap_or_default();
        assert_eq!(
            [switches("spine0"), switches("leaf3"), switches("Spine-9")],
            ["spine:0", "tor:3", "spine:3"]
        );
    }
}
