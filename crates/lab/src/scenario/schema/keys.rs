//! The keys of a scenario outside its schemes, declared once: what a table may have, what its keys may be, and what they are
//! unless said. Reading refuses what is not here, and the reference is made of it.

use crate::scenario::schema::keys_jobs;
use crate::scenario::schema::section::Unless::{Is, Needed, Told};
use crate::scenario::schema::section::{
    COUNT, FILE, FLOW_FORMATS, Key, RATE, SIZE, Section, TIME, TIME_ABOVE, key,
};
use anabranch_workload::SizeDistribution;

/// All of them, in the order of the reference.
pub fn sections() -> &'static [Section] {
    SECTIONS
}

/// The keys of the section `name`.
pub(in crate::scenario) fn of(name: &str) -> Vec<&'static str> {
    let section = SECTIONS.iter().find(|section| section.name == name);
    section.map_or(&[][..], |section| section.keys).iter().map(|key| key.name).collect()
}

/// The kinds of `table` (`[topology]`) that have the key; where `own` has it, it has it without a file.
pub(in crate::scenario) fn kinds_with(table: &str, key: &str, own: Option<&str>) -> Vec<String> {
    let has_it =
        |section: &&Section| section.table == table && section.keys.iter().any(|its| its.name == key);
    let named = |section: &Section| match section.kind {
        // It stands beside what it cannot stand beside.
        Some(kind) if Some(kind) == own => format!("{kind} without a file"),
        Some(kind) => kind.to_owned(),
        None => "fat-tree and leaf-spine of a .topo file".to_owned(),
    };
    SECTIONS.iter().filter(has_it).map(named).collect()
}

/// The tables that have the key, each once.
pub(in crate::scenario) fn tables_with(key: &str) -> Vec<&'static str> {
    let has_it = |section: &&Section| section.keys.iter().any(|its| its.name == key);
    let mut tables: Vec<&str> = SECTIONS.iter().filter(has_it).map(|section| section.table).collect();
    tables.retain(|table| !table.is_empty());
    tables.sort_unstable();
    tables.dedup();
    tables
}

const HOSTS: &str = "a number, 2 or more";
const LINKS: &str = "names of links, or a list of them";
const PROBABILITY: &str = "a number, 0 to 1";

const LINK: Key = key("link", RATE, Needed, "Rate of the links.");
const LINK_LATENCY: Key = key("link_latency", TIME, Is("\"500ns\""), "How long a bit takes over a link.");
const SWITCH_LATENCY: Key =
    key("switch_latency", TIME, Is("\"500ns\""), "How long a packet takes through a switch, beside waiting.");
const BYTES: Key = key("bytes", SIZE, Needed, "Length of each message.");
const LINKS_BROKEN: Key = key(
    "links",
    LINKS,
    Needed,
    "What breaks: `tor:0/up:0`, `cable:tor:0/up:0`, `tor-uplinks:3%`, `host:3`, `all`.",
);
const BOTH: Key = key(
    "both_directions",
    "`true` or `false`",
    Told(
        "both of a link that is down or flaps; otherwise as each name says: a link its direction, a cable both",
    ),
    "Both directions of each cable, or the named one alone.",
);
const AT: Key = key(
    "at",
    "a time, or a list of them",
    Is("\"0us\""),
    "When it begins; each time, where there are several.",
);
const DURATION: Key =
    key("duration", TIME_ABOVE, Told("to the end of the run"), "How long it lasts, each time.");
const UNTIL: Key =
    key("until", "a time after `at`", Told("to the end of the run"), "When it ends, instead of `duration`.");
const EVERY: Key = key(
    "every",
    TIME_ABOVE,
    Is("\"20us\""),
    "A point of the curve stands for so long; series of ACKs have one for each instead.",
);

const SECTIONS: &[Section] = &[
    Section {
        name: "scenario",
        table: "",
        kind: None,
        meaning: "Above all tables.",
        keys: &[
            key("title", "text", Told("the file's name"), "One line for people."),
            key(
                "schemes",
                "a list of names",
                Told("those of `[[scheme]]`"),
                "Which schemes run (`anabranch list schemes`).",
            ),
            key("seeds", "a list of numbers", Told("1, 2 and 3 by the command"), "A run for each."),
            key(
                "setup",
                "a setup's name, or a table",
                Is("\"common\""),
                "The ground of all schemes (`anabranch list setups`).",
            ),
            key("topology", "a table", Needed, "The fabric."),
            key("workload", "a table", Needed, "What the hosts send."),
            key("scheme", "tables", Told("none"), "Schemes of your own, or with other parameters."),
            key("fault", "tables", Told("none"), "What breaks."),
            key("measure", "tables", Told("none"), "Curves to record."),
            key("observer", "tables", Told("none"), "Observers that a program of yours has registered."),
            key(
                "set",
                "a table",
                Told("nothing"),
                "Parameters of schemes by their paths: `\"reps.lb.buffer\" = 16`, `\"*.fabric.queue\" = \"2MB\"`.",
            ),
            key(
                "sweep",
                "a table",
                Told("nothing"),
                "Lists of values by their paths: a run for each combination; `[[sweep.zip]]` moves several together.",
            ),
            key("limits", "a table", Told("those of `[limits]`"), "When a run that does not end is ended."),
            key("find", "a table", Told("nothing"), "A question for `anabranch find`."),
            key(
                "point",
                "tables",
                Told("none"),
                "Points of a sweep one by one, as a resolved scenario has them.",
            ),
        ],
    },
    Section {
        name: "fat-tree",
        table: "[topology]",
        kind: Some("fat-tree"),
        meaning: "Two or three tiers of any radix and oversubscription.",
        keys: &[
            key("kind", "`fat-tree`", Needed, "Which fabric it is."),
            key("hosts", HOSTS, Needed, "Hosts of the fabric."),
            key("tiers", "2 or 3", Is("2"), "Tiers of switches."),
            LINK,
            LINK_LATENCY,
            SWITCH_LATENCY,
            key(
                "oversubscription",
                "a number, 1 or more, or `\"2:1\"`",
                Is("1"),
                "What the hosts of a ToR can send over what leaves it upwards.",
            ),
            key("hosts_per_tor", COUNT, Told("by the numbers of hosts and tiers"), "Hosts below a ToR."),
            key(
                "pod_hosts",
                HOSTS,
                Told("by the numbers of hosts and tiers"),
                "Hosts of a pod, in three tiers.",
            ),
            key(
                "tier",
                "tables",
                Told("by the keys above"),
                "`[[topology.tier]]`, from the ToRs up: what is different in a tier.",
            ),
        ],
    },
    Section {
        name: "leaf-spine",
        table: "[topology]",
        kind: Some("leaf-spine"),
        meaning: "A fat tree of two tiers.",
        keys: &[
            key("kind", "`leaf-spine`", Needed, "Which fabric it is."),
            key("hosts", HOSTS, Needed, "Hosts of the fabric."),
            LINK,
            LINK_LATENCY,
            SWITCH_LATENCY,
            key(
                "oversubscription",
                "a number, 1 or more, or `\"2:1\"`",
                Is("1"),
                "What the hosts of a leaf can send over what leaves it upwards.",
            ),
            key("hosts_per_tor", COUNT, Told("by the number of hosts"), "Hosts below a leaf."),
            key("pod_hosts", HOSTS, Told("all"), "Hosts of a pod."),
            key(
                "tier",
                "tables",
                Told("by the keys above"),
                "`[[topology.tier]]`, from the leaves up: what is different in a tier.",
            ),
        ],
    },
    Section {
        name: "topo-file",
        table: "[topology]",
        kind: None,
        meaning: "A fat tree from a `.topo` file of htsim; what is said beside it goes before.",
        keys: &[
            key("kind", "`fat-tree` or `leaf-spine`", Told("by the file"), "Which fabric it is."),
            key("file", FILE, Needed, "The file."),
            key("link", RATE, Told("the file's"), "Rate of the links."),
            key("link_latency", TIME, Told("the file's"), "How long a bit takes over a link."),
            key(
                "switch_latency",
                TIME,
                Told("the file's"),
                "How long a packet takes through a switch, beside waiting.",
            ),
            key(
                "tier",
                "tables",
                Told("the file's"),
                "`[[topology.tier]]`, from the ToRs up: what is different in a tier.",
            ),
        ],
    },
    Section {
        name: "tier",
        table: "[[topology.tier]]",
        kind: None,
        meaning: "What is different in a tier of a fat tree.",
        keys: &[
            key("link", RATE, Told("that of the fabric"), "Rate of the links below."),
            key("link_latency", TIME, Told("that of the fabric"), "How long a bit takes over a link below."),
            key(
                "switch_latency",
                TIME,
                Told("that of the fabric"),
                "How long a packet takes through a switch of the tier.",
            ),
            key("radix_down", COUNT, Told("by the keys of the fabric"), "Ports downwards."),
            key("radix_up", COUNT, Told("by the keys of the fabric"), "Ports upwards."),
            key("bundle", COUNT, Is("1"), "Links side by side to the same switch."),
        ],
    },
    Section {
        name: "single-switch",
        table: "[topology]",
        kind: Some("single-switch"),
        meaning: "All hosts on one switch.",
        keys: &[
            key("kind", "`single-switch`", Needed, "Which fabric it is."),
            key("hosts", HOSTS, Needed, "Hosts of the fabric."),
            LINK,
            LINK_LATENCY,
            SWITCH_LATENCY,
        ],
    },
    Section {
        name: "dumbbell",
        table: "[topology]",
        kind: Some("dumbbell"),
        meaning: "Two switches joined by one cable, half of the hosts on each.",
        keys: &[
            key("kind", "`dumbbell`", Needed, "Which fabric it is."),
            key("hosts", "an even number, 2 or more", Needed, "Hosts of the fabric."),
            LINK,
            key("trunk", RATE, Told("`link`"), "Rate of the cable between the switches."),
            LINK_LATENCY,
            key("trunk_latency", TIME, Told("`link_latency`"), "How long a bit takes over that cable."),
            SWITCH_LATENCY,
        ],
    },
    Section {
        name: "cross-dc",
        table: "[topology]",
        kind: Some("cross-dc"),
        meaning: "Data centres of ToRs and leaves, joined by external switches over long links.",
        keys: &[
            key("kind", "`cross-dc`", Needed, "Which fabric it is."),
            key("dcs", HOSTS, Is("2"), "Data centres."),
            key("tors", COUNT, Needed, "ToRs of a data centre."),
            key("leaves", COUNT, Needed, "Leaves of a data centre."),
            key("hosts_per_tor", COUNT, Needed, "Hosts below a ToR."),
            LINK,
            LINK_LATENCY,
            key(
                "esw_link",
                RATE,
                Told("all that the hosts of a data centre can send, over its leaves"),
                "Rate of a leaf's link to the external switch.",
            ),
            key("esw_link_latency", TIME, Told("`link_latency`"), "How long a bit takes over it."),
            key(
                "wan_link",
                RATE,
                Told("all that the hosts of a data centre can send"),
                "Rate of a link between data centres.",
            ),
            key("wan_latency", TIME, Needed, "How long a bit takes over it: 5 us for a kilometre of fibre."),
            SWITCH_LATENCY,
        ],
    },
    Section {
        name: "graph",
        table: "[topology]",
        kind: Some("graph"),
        meaning: "Any graph, from a topology file of the ns-3 RDMA simulators.",
        keys: &[
            key("kind", "`graph`", Needed, "Which fabric it is."),
            key("file", FILE, Needed, "The file."),
            SWITCH_LATENCY,
        ],
    },
    Section {
        name: "permutation",
        table: "[workload]",
        kind: Some("permutation"),
        meaning: "Every host sends one message and receives one, never its own.",
        keys: &[
            key("kind", "`permutation`", Needed, "Which workload it is."),
            BYTES,
            key("hosts", "a number, 2 to all", Told("all"), "Hosts that take part, the first ones."),
            key("cross_tor", "`true` or `false`", Is("false"), "Nobody sends within its own ToR."),
        ],
    },
    Section {
        name: "tornado",
        table: "[workload]",
        kind: Some("tornado"),
        meaning: "Host i sends to its twin in the other half of the fabric.",
        keys: &[
            key("kind", "`tornado`", Needed, "Which workload it is."),
            BYTES,
            key("senders", "a number, 1 to all", Told("all"), "Hosts that send, the first ones."),
        ],
    },
    Section {
        name: "incast",
        table: "[workload]",
        kind: Some("incast"),
        meaning: "Many hosts send to one.",
        keys: &[
            key("kind", "`incast`", Needed, "Which workload it is."),
            BYTES,
            key("degree", "a number, 1 to all but one", Told("all but one"), "Hosts that send."),
            key("target", "a host's number", Is("0"), "The host that receives."),
        ],
    },
    Section {
        name: "poisson",
        table: "[workload]",
        kind: Some("poisson"),
        meaning: "Messages arrive at random, from and to random hosts.",
        keys: &[
            key("kind", "`poisson`", Needed, "Which workload it is."),
            key("sizes", SizeDistribution::CHOICES, Needed, "The distribution of lengths."),
            key(
                "load",
                "a number above 0, at most 1.5",
                Needed,
                "Offered load: bytes that arrive per host over its line rate; over that of the slowest host of the fabric, where \
                 hosts differ.",
            ),
            key("hosts", "a number, 2 to all", Told("all"), "Hosts that take part, the first ones."),
            key("duration", TIME_ABOVE, Needed, "For how long messages arrive; all are run to their end."),
            key(
                "inter",
                "a number, 0 to 1, or `uniform`",
                Told("`uniform`"),
                "Share of the messages to hosts of other data centres; all other hosts alike unless said.",
            ),
            key("incast", "a table", Told("none"), "Incasts beside it."),
            key("pipeline", "a table", Told("none"), "A pipeline beside it."),
        ],
    },
    Section {
        name: "incasts",
        table: "[workload.incast]",
        kind: None,
        meaning: "Incasts beside messages that arrive at random.",
        keys: &[
            key("degree", "a number, 1 to all but one", Needed, "Hosts that send at once."),
            key("bytes", SIZE, Needed, "Length of each message."),
            key(
                "load",
                "a number above 0",
                Needed,
                "Offered load of this part, in addition to the background's.",
            ),
        ],
    },
    Section {
        name: "pipeline",
        table: "[workload.pipeline]",
        kind: None,
        meaning: "Messages from each host to that of the same place in the next data centre.",
        keys: &[
            key("bytes", SIZE, Needed, "Length of each message."),
            key(
                "load",
                "a number above 0",
                Needed,
                "Offered load of this part, in addition to the background's.",
            ),
            key(
                "persistent",
                "`true` or `false`",
                Is("false"),
                "A stage sends all its messages on one queue pair, which stays open, instead of each on its own.",
            ),
        ],
    },
    Section {
        name: "collective",
        table: "[workload]",
        kind: Some("collective"),
        meaning: "AllReduce, AllGather, ReduceScatter or AllToAll, by many jobs at once.",
        keys: &[
            key("kind", "`collective`", Needed, "Which workload it is."),
            key("algorithm", "`allreduce-ring`, `alltoall` and others", Needed, "How it is done."),
            key(
                "bytes",
                SIZE,
                Needed,
                "The size that each rank has (of an AllToAll, what it sends to all others).",
            ),
            key("ranks", "a number, 2 or more", Told("all hosts"), "Ranks of a job."),
            key("jobs", COUNT, Is("1"), "Jobs at once."),
            key(
                "placement",
                "`blocks`, `random` and others",
                Is("\"blocks\""),
                "Where the ranks are: in host order, or at random.",
            ),
            key(
                "groups",
                "lists of hosts",
                Told("by `ranks` and `jobs`"),
                "The hosts of each job, one by one.",
            ),
            key(
                "chunk",
                SIZE,
                Told("128KB, and none for an AllToAll"),
                "A block goes in chunks of so much, which follow each other.",
            ),
            key(
                "connections",
                COUNT,
                Told("all others, for an AllToAll"),
                "Destinations to which a rank sends at the same time.",
            ),
            key(
                "depth",
                COUNT,
                Told("no limit"),
                "Most chunks that a rank has outstanding to any other rank.",
            ),
            key(
                "clock",
                "`ack` or `delivered`",
                Told("`ack`, with a depth"),
                "What ends a chunk: its ACK, or its arrival.",
            ),
            key(
                "jitter",
                "a time",
                Is("\"0us\""),
                "Of an `alltoall`: each rank begins at a time drawn from 0 to this.",
            ),
        ],
    },
    Section {
        name: "messages",
        table: "[workload]",
        kind: Some("messages"),
        meaning: "The messages of a list.",
        keys: &[
            key("kind", "`messages`", Needed, "Which workload it is."),
            key("message", "tables", Needed, "`[[workload.message]]`, one for each."),
        ],
    },
    Section {
        name: "message",
        table: "[[workload.message]]",
        kind: None,
        meaning: "A message.",
        keys: &[
            key("from", "a host's number", Needed, "The host that sends."),
            key("to", "a host's number", Needed, "The host that receives."),
            key("bytes", SIZE, Needed, "Its length."),
            key("start", TIME, Is("\"0us\""), "When it is posted."),
        ],
    },
    Section {
        name: "cm",
        table: "[workload]",
        kind: Some("cm"),
        meaning: "A connection matrix of htsim, with triggers.",
        keys: &[
            key("kind", "`cm`", Told("by the file's name"), "Which workload it is."),
            key("file", FILE, Needed, "The file."),
            key("start_unit", TIME_ABOVE, Is("\"1ps\""), "The unit of its start times."),
        ],
    },
    Section {
        name: "ns3-flows",
        table: "[workload]",
        kind: Some("ns3-flows"),
        meaning: "A flow file of the ns-3 RDMA simulators; it names nodes of the topology file, or hosts where there is none.",
        keys: &[
            key("kind", "`ns3-flows`", Needed, "Which workload it is."),
            key("file", FILE, Needed, "The file."),
            key("origin", TIME, Is("\"2s\""), "The time in the file that is 0 here."),
            key(
                "format",
                FLOW_FORMATS,
                Told("by the numbers of its columns"),
                "Whose columns its flows have, where the file does not tell.",
            ),
        ],
    },
    keys_jobs::TRACE,
    keys_jobs::JOBS,
    keys_jobs::JOB,
    keys_jobs::SERVER,
    keys_jobs::ALGORITHM,
    Section {
        name: "link-down",
        table: "[[fault]]",
        kind: Some("link-down"),
        meaning: "Links carry nothing and lose what is on them.",
        keys: &[key("kind", "`link-down`", Needed, "What happens."), AT, DURATION, UNTIL, LINKS_BROKEN, BOTH],
    },
    Section {
        name: "link-flap",
        table: "[[fault]]",
        kind: Some("link-flap"),
        meaning: "Links go down and come up again, period after period.",
        keys: &[
            key("kind", "`link-flap`", Needed, "What happens."),
            AT,
            DURATION,
            UNTIL,
            LINKS_BROKEN,
            BOTH,
            key("period", "a time, 1 us or more", Needed, "From one time that they go down to the next."),
            key(
                "down_for",
                "a time above 0, below `period`",
                Needed,
                "For how long they are down each time.",
            ),
        ],
    },
    Section {
        name: "switch-down",
        table: "[[fault]]",
        kind: Some("switch-down"),
        meaning: "Switches lose all that waits in them, and all their links are down.",
        keys: &[
            key("kind", "`switch-down`", Needed, "What happens."),
            AT,
            DURATION,
            UNTIL,
            key(
                "switches",
                "names of switches, or a list of them",
                Needed,
                "What breaks: `spine:0`, `tor:25%`.",
            ),
        ],
    },
    Section {
        name: "rate",
        table: "[[fault]]",
        kind: Some("rate"),
        meaning: "Links run at another rate.",
        keys: &[
            key("kind", "`rate`", Needed, "What happens."),
            AT,
            DURATION,
            UNTIL,
            LINKS_BROKEN,
            BOTH,
            key("rate", RATE, Needed, "The rate meanwhile."),
        ],
    },
    Section {
        name: "packet-loss",
        table: "[[fault]]",
        kind: Some("packet-loss"),
        meaning: "Links lose each packet with a probability.",
        keys: &[
            key("kind", "`packet-loss`", Needed, "What happens."),
            AT,
            DURATION,
            UNTIL,
            LINKS_BROKEN,
            BOTH,
            key("probability", PROBABILITY, Needed, "That a packet is lost."),
        ],
    },
    Section {
        name: "switch-loss",
        table: "[[fault]]",
        kind: Some("switch-loss"),
        meaning: "Switches drop each data packet, or trim it where they trim, with a probability.",
        keys: &[
            key("kind", "`switch-loss`", Needed, "What happens."),
            AT,
            DURATION,
            UNTIL,
            LINKS_BROKEN,
            BOTH,
            key("probability", PROBABILITY, Needed, "That a data packet is dropped or trimmed."),
        ],
    },
    Section {
        name: "bit-errors",
        table: "[[fault]]",
        kind: Some("bit-errors"),
        meaning: "Each bit is wrong with a probability, and a packet with a wrong bit is lost.",
        keys: &[
            key("kind", "`bit-errors`", Needed, "What happens."),
            AT,
            DURATION,
            UNTIL,
            LINKS_BROKEN,
            BOTH,
            key("probability", PROBABILITY, Needed, "That a bit is wrong."),
        ],
    },
    Section {
        name: "measure",
        table: "[[measure]]",
        kind: None,
        meaning: "A curve that is recorded; each series is of links, of switches or of queue pairs.",
        keys: &[
            key(
                "series",
                "`link-utilisation` and others (`anabranch list series`)",
                Needed,
                "What is measured.",
            ),
            EVERY,
            key("links", "names of links", Needed, "Of which links: `tor:0/up`, `tor-uplinks`, `all`."),
            key("switches", "names of switches", Needed, "Of which switches: `tor:0`."),
            key("qps", "`all`, or numbers such as `0-7`", Needed, "Of which queue pairs."),
            key("above", TIME, Told("none"), "Of `queue-delay`: packets that waited longer are counted."),
        ],
    },
    Section {
        name: "limits",
        table: "[limits]",
        kind: None,
        meaning: "When a run that does not end is ended.",
        keys: &[
            key("max_time", "a time above 0, at most 281 s", Is("\"1s\""), "Simulated time."),
            key(
                "stall",
                TIME_ABOVE,
                Is("\"10ms\""),
                "For so long nothing new is delivered, beside a timeout and a round trip.",
            ),
            key("max_events", COUNT, Is("20000000000"), "Events."),
            key("max_packets", COUNT, Is("16000000"), "Packets in the fabric at once."),
        ],
    },
    Section {
        name: "find",
        table: "[find]",
        kind: None,
        meaning: "A question for `anabranch find`: the smallest or largest value for which something holds.",
        keys: &[
            key("parameter", "a path, as in `[sweep]`", Needed, "What is looked for."),
            key(
                "smallest",
                "two ends, or a list of values",
                Told("`largest` instead"),
                "What holds for a value holds for larger ones.",
            ),
            key(
                "largest",
                "two ends, or a list of values",
                Told("`smallest` instead"),
                "What holds for a value holds for smaller ones.",
            ),
            key(
                "where",
                "a comparison of measures",
                Needed,
                "What has to hold at every seed: `drops(scheme) == 0`.",
            ),
            key(
                "resolution",
                "a number above 0, below 1",
                Is("0.02"),
                "How near the two ends are in the end, relatively.",
            ),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::expand::resolved::Scenario;
    use crate::scenario::expand::scenario::read;
    use crate::scenario::input::Overrides;
    use crate::scenario::tests::folder;
    use std::collections::BTreeSet;

    const FABRIC: &str = "[topology]\nkind = \"fat-tree\"\nhosts = 16\nlink = \"400Gbps\"\n";
    const TRAFFIC: &str = "[workload]\nkind = \"permutation\"\nbytes = \"8KB\"\n";

    #[test]
    fn the_reference_names_the_distributions_that_there_are() {
        let poisson = sections().iter().find(|section| section.kind == Some("poisson")).unwrap();
        let sizes = poisson.keys.iter().find(|key| key.name == "sizes").unwrap();
        let named: Vec<&str> = sizes.is.split('`').skip(1).step_by(2).collect();
        assert_eq!(named, SizeDistribution::NAMES);
        assert!(named.iter().all(|name| SizeDistribution::named(name).is_some()));
    }

    /// A scenario with the least that a section needs, whose own table is the last.
    fn least(section: &Section) -> Option<String> {
        let all = "schemes = [\"reps\"]\nseeds = [1]\n";
        let own = |key: &Key| {
            (key.unless_said == Needed).then(|| format!("{} = {}\n", key.name, value(section, key)))
        };
        let table: String = section.keys.iter().filter_map(own).collect();
        let table = format!("{}\n{table}", section.table);
        Some(match (section.name, section.table) {
            ("scenario", _) | ("measure", _) => return None,
            ("topo-file" | "graph", _) | ("cm" | "ns3-flows" | "trace" | "jobs" | "messages", _) => {
                return None;
            }
            (_, "[topology]") => format!("{all}{TRAFFIC}{table}"),
            ("tier", _) => format!("{all}{TRAFFIC}{FABRIC}{table}"),
            (_, "[workload]") => format!("{all}{FABRIC}{table}"),
            ("job" | "server" | "algorithm", _) => return None,
            ("message", _) => format!("{all}{FABRIC}[workload]\nkind = \"messages\"\n{table}"),
            ("incasts" | "pipeline", _) => {
                let poisson =
                    "[workload]\nkind = \"poisson\"\nsizes = \"websearch\"\nload = 0.2\nduration = \"1us\"\n";
                format!("{all}{FABRIC}{poisson}{table}")
            }
            _ => format!("{all}{FABRIC}{TRAFFIC}{table}"),
        })
    }

    fn value(section: &Section, key: &Key) -> String {
        match (section.name, key.name) {
            (_, "kind") => format!("{:?}", section.kind.unwrap_or_default()),
            ("cross-dc", "tors" | "leaves" | "hosts_per_tor") | ("incasts", "degree") | (_, "to") => {
                "2".to_owned()
            }
            ("collective", "bytes") => "\"1MB\"".to_owned(),
            ("link-flap", "period") => "\"200us\"".to_owned(),
            ("find", "smallest") => "[\"16KB\", \"1MB\"]".to_owned(),
            _ => key.example().to_owned(),
        }
    }

    fn resolved(text: &str) -> String {
        let scenario = read("s.toml", text, &folder(), &Overrides::default());
        scenario.unwrap_or_else(|error| panic!("{error}\n{text}")).to_toml()
    }

    #[test]
    fn names_are_told_apart_and_every_key_has_an_example() {
        let names: BTreeSet<&str> = SECTIONS.iter().map(|section| section.name).collect();
        assert_eq!(names.len(), SECTIONS.len());
        let mut without = Vec::new();
        for section in SECTIONS {
            let keys: BTreeSet<&str> = section.keys.iter().map(|key| key.name).collect();
            assert_eq!(keys.len(), section.keys.len(), "{}", section.name);
            let named = section.keys.iter().filter(|key| key.name != "kind" && !key.is_table());
            without.extend(named.filter(|key| key.example() == "...").map(|key| (section.name, key.name)));
        }
        assert!(without.is_empty(), "without an example: {without:?}");
    }

    /// A value that is said to stand where none is said changes nothing when it is.
    #[test]
    fn what_is_declared_to_be_unless_said_is_so() {
        let mut looked_at = 0;
        for section in SECTIONS {
            let Some(least) = least(section) else { continue };
            let base = resolved(&least);
            for key in section.keys {
                if let Is(value) = key.unless_said {
                    assert_eq!(
                        resolved(&format!("{least}{} = {value}\n", key.name)),
                        base,
                        "{}: {}",
                        section.name,
                        key.name
                    );
                    looked_at += 1;
                }
            }
        }
        assert!(looked_at > 25, "{looked_at}");
        assert_eq!(
            Scenario::clone(
                &read("s.toml", &least(&SECTIONS[1]).unwrap(), &folder(), &Overrides::default()).unwrap()
            )
            .setup,
            "common"
        );
    }

    /// The example of each key is one that may be written.
    #[test]
    fn examples_are_accepted() {
        for section in SECTIONS {
            let Some(least) = least(section) else { continue };
            for key in section.keys.iter().filter(|key| key.unless_said != Needed && !key.is_table()) {
                let alone = matches!(
                    (section.name, key.name),
                    ("find", _)
                        | ("collective", "ranks" | "groups" | "connections" | "clock" | "jobs" | "jitter")
                        | ("poisson", "inter")
                        | (_, "until" | "hosts_per_tor" | "pod_hosts" | "tiers" | "both_directions")
                        | ("permutation" | "poisson" | "tornado", "hosts" | "senders")
                        | ("incast", "degree")
                        | ("tier", "radix_down" | "radix_up")
                );
                // Some fit one fabric alone.
                if !alone {
                    resolved(&format!("{least}{} = {}\n", key.name, value(section, key)));
                }
            }
        }
    }
}
