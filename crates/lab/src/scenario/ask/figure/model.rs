//! `[model]`: an abstract model for a figure, computed without packets.

use crate::scenario::expand::scenario;
use crate::scenario::input::Overrides;
use crate::scenario::keys;
use crate::scenario::read::table::Table;
use crate::scenario::schema::unknown_keys::only;
use anabranch_base::{Bytes, Diagnostic, Duration, Fix, Rate};
use serde::{Deserialize, Serialize};

/// An abstract model for a figure, which simulates no packet network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ModelSpec {
    /// Balls thrown into bins: queues at the ports of one switch (REPS, section 5.1).
    BallsIntoBins {
        /// The numbers of ports to try.
        ports: Vec<u32>,
        /// The number of rounds to play.
        rounds: u32,
        /// The mean number of balls per round for each port, above 0 and at most 1.
        load: f64,
        /// The rules by which balls choose their bins.
        variants: Vec<BallsVariant>,
        /// The queue length (tau) above which the colour of a leaving ball forgets its bin.
        threshold: u32,
        /// The number of colours for each port (b).
        colors_per_port: u32,
        /// Values of r, with a game for each. Of the balls that leave a bin, one in r, chosen at random, is recycled.
        #[serde(default = "each", skip_serializing_if = "is_each")]
        recycle_every: Vec<u32>,
        /// The seeds.
        seeds: Vec<u64>,
    },
    /// The uneven load on a switch's uplinks from flows that are spread by entropy values (REPS, section 4.5.2).
    LoadImbalance {
        /// The number of uplinks of the switch.
        uplinks: u32,
        /// The numbers of flows to try. Each flow uses all entropy values.
        flows: Vec<u32>,
        /// The numbers of entropy values to try.
        evs: Vec<u32>,
        /// The seeds.
        seeds: Vec<u64>,
    },
    /// The hardware state of each built-in scheme (REPS, Table 1).
    StateBits {},
    /// The memory and time that a receiver needs to track which packets have arrived (DCP, section 4.5).
    PacketTracking(PacketTracking),
    /// The longest link on which a switch's buffer avoids loss (DCP, equation 1).
    LosslessReach(LosslessReach),
}

/// The rule by which balls choose their bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BallsVariant {
    /// Each ball chooses a bin at random.
    Ops,
    /// If a ball leaves a bin at or below the threshold, its colour remembers the bin for its next ball, unless the
    /// colour already remembers one. If a ball leaves a longer bin, its colour forgets its bin.
    Recycled,
    /// Like `recycled`, but the colour of a ball that is not recycled still remembers its bin.
    Kept,
    /// A ball that leaves a bin at or below the threshold comes back to it in the same round, as the proof of
    /// Theorem 5.1 assumes (REPS, Appendix B).
    Returned,
}

impl BallsVariant {
    pub(in crate::scenario) const ALL: [(&str, BallsVariant); 4] = [
        ("ops", BallsVariant::Ops),
        ("recycled", BallsVariant::Recycled),
        ("kept", BallsVariant::Kept),
        ("returned", BallsVariant::Returned),
    ];

    /// The variant's name, in figures and results.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, variant)| *variant == self).map_or("", |(name, _)| name)
    }
}

/// The default of `recycle_every`: every ball is recycled, as by REPS without coalesced ACKs.
fn each() -> Vec<u32> {
    vec![1]
}

fn is_each(every: &[u32]) -> bool {
    every == [1]
}

/// The memory and time of three methods to track packets: bitmaps for all packets in flight, bitmaps in linked
/// chunks, and DCP's counters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PacketTracking {
    /// The rate of the link.
    pub link: Rate,
    /// The round-trip time.
    pub rtt: Duration,
    /// The length of a packet.
    pub packet: Bytes,
    /// The bits of a chunk. Bitmaps for all packets in flight consist of whole chunks that are allocated from the start.
    pub chunk_bits: u32,
    /// The number of bitmaps of a queue pair.
    pub bitmaps: u32,
    /// The number of queue pairs, for the total memory.
    pub queue_pairs: u32,
    /// The clock rate of the NIC, in MHz.
    pub clock_mhz: f64,
    /// The number of cycles to access the memory at an index.
    pub access_cycles: u32,
    /// The number of cycles to check whether a PSN is in a chunk.
    pub check_cycles: u32,
    /// The number of cycles to follow the link to the next chunk.
    pub next_cycles: u32,
    /// Degrees of reordering: the number of PSNs by which a packet is ahead of the expected one.
    pub degrees: Vec<u32>,
}

impl PacketTracking {
    /// The number of packets in flight, which is a BDP in packets, rounded up.
    pub fn packets(&self) -> u64 {
        let bits = u128::from(self.link.0) * u128::from(self.rtt.0);
        let packets = bits.div_ceil(8 * 1_000_000_000_000 * u128::from(self.packet.0.max(1)));
        u64::try_from(packets).unwrap_or(u64::MAX)
    }
}

/// The longest cable on which PFC avoids loss.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LosslessReach {
    /// The propagation delay per kilometre.
    pub km_delay: Duration,
    /// The numbers of lossless queues that share the buffer of a port.
    pub queues: Vec<u32>,
    /// The switches for which the reach is computed.
    pub chips: Vec<Chip>,
}

/// A switch, with the quantities that equation 1 of DCP needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chip {
    /// The chip's name in results.
    pub name: String,
    /// The number of ports.
    pub ports: u32,
    /// The rate of a port.
    pub link: Rate,
    /// The total buffer of all ports.
    pub buffer: Bytes,
}

#[derive(Clone, Copy)]
enum Kind {
    BallsIntoBins,
    LoadImbalance,
    StateBits,
    PacketTracking,
    LosslessReach,
}

/// Reads the `[model]` table. `root` is the top-level table of the figure's file, which contains the seeds.
pub(in crate::scenario) fn read(table: &Table, root: &Table) -> Result<ModelSpec, Diagnostic> {
    const KINDS: &[(&str, Kind)] = &[
        ("balls-into-bins", Kind::BallsIntoBins),
        ("load-imbalance", Kind::LoadImbalance),
        ("state-bits", Kind::StateBits),
        ("packet-tracking", Kind::PacketTracking),
        ("lossless-reach", Kind::LosslessReach),
    ];
    match table.word("kind", KINDS)? {
        Kind::BallsIntoBins => balls(table, root),
        Kind::LoadImbalance => load_imbalance(table, root),
        Kind::StateBits => only(table, &keys::of("state-bits")).map(|()| ModelSpec::StateBits {}),
        Kind::PacketTracking => packet_tracking(table).map(ModelSpec::PacketTracking),
        Kind::LosslessReach => lossless_reach(table).map(ModelSpec::LosslessReach),
    }
}

fn balls(table: &Table, root: &Table) -> Result<ModelSpec, Diagnostic> {
    only(table, &keys::of("balls-into-bins"))?;
    let ports = counts(table, "ports", table.need("ports")?, "[8, 16]")?;
    let recycle_every = table.get("recycle_every")?.unwrap_or_else(each);
    let rounds: u32 = table.need("rounds")?;
    table.within("rounds", u64::from(rounds), 1, u64::MAX)?;
    let load: f64 = table.get("load")?.unwrap_or(1.0);
    if !(load > 0.0 && load <= 1.0) {
        return Err(table.wrong(
            "load",
            format!("load must be above 0 and at most 1, not {load}"),
            Fix::set("load", "0.99"),
        ));
    }
    let colors_per_port: u32 = table.get("colors_per_port")?.unwrap_or(1);
    table.within("colors_per_port", u64::from(colors_per_port), 1, u64::MAX)?;
    Ok(ModelSpec::BallsIntoBins {
        ports,
        rounds,
        load,
        variants: variants(table)?,
        threshold: table.get("threshold")?.unwrap_or(5),
        colors_per_port,
        recycle_every: counts(table, "recycle_every", recycle_every, "[1, 2, 4]")?,
        seeds: scenario::seeds(root, &Overrides::default())?,
    })
}

fn load_imbalance(table: &Table, root: &Table) -> Result<ModelSpec, Diagnostic> {
    only(table, &keys::of("load-imbalance"))?;
    let uplinks: u32 = table.need("uplinks")?;
    table.within("uplinks", u64::from(uplinks), 2, 65_536)?;
    let evs = counts(table, "evs", table.need("evs")?, "[256, 65536]")?;
    if let Some(most) = evs.iter().max().filter(|most| **most > 65_536) {
        let message = format!("evs must be at most 65536, the values of 16 bits, not {most}");
        return Err(table.wrong("evs", message, Fix::set("evs", "[256, 65536]")));
    }
    Ok(ModelSpec::LoadImbalance {
        uplinks,
        flows: counts(table, "flows", table.need("flows")?, "[1, 32]")?,
        evs,
        seeds: scenario::seeds(root, &Overrides::default())?,
    })
}

fn counts(table: &Table, key: &str, numbers: Vec<u32>, example: &str) -> Result<Vec<u32>, Diagnostic> {
    match numbers.is_empty() || numbers.contains(&0) {
        true => Err(table.wrong(key, format!("{key} must be numbers of 1 or more"), Fix::set(key, example))),
        false => Ok(numbers),
    }
}

fn variants(table: &Table) -> Result<Vec<BallsVariant>, Diagnostic> {
    let written: Vec<String> = table.need("variants")?;
    if written.is_empty() {
        return Err(table.wrong(
            "variants",
            "variants is empty, so nobody throws",
            Fix::set("variants", "[\"ops\", \"recycled\"]"),
        ));
    }
    let find = |name: &String| {
        let known = BallsVariant::ALL.iter().find(|(known, _)| known == name);
        known.map(|(_, variant)| *variant).ok_or_else(|| {
            table.wrong(
                "variants",
                format!("unknown variant {name:?}"),
                Fix::set("variants", "[\"ops\", \"recycled\"]"),
            )
        })
    };
    written.iter().map(find).collect()
}

fn packet_tracking(table: &Table) -> Result<PacketTracking, Diagnostic> {
    only(table, &keys::of("packet-tracking"))?;
    let count = |key| {
        let count: u32 = table.need(key)?;
        table.within(key, u64::from(count), 1, u64::from(u32::MAX))?;
        Ok(count)
    };
    let spec = PacketTracking {
        link: table.need("link")?,
        rtt: table.need("rtt")?,
        packet: table.need("packet")?,
        chunk_bits: count("chunk_bits")?,
        bitmaps: count("bitmaps")?,
        queue_pairs: count("queue_pairs")?,
        clock_mhz: table.need("clock_mhz")?,
        access_cycles: count("access_cycles")?,
        check_cycles: count("check_cycles")?,
        next_cycles: count("next_cycles")?,
        degrees: table.need("degrees")?,
    };
    table.above_zero("link", spec.link)?;
    table.above_zero("rtt", spec.rtt)?;
    table.above_zero("packet", spec.packet)?;
    if spec.clock_mhz <= 0.0 {
        return Err(table.wrong("clock_mhz", "clock_mhz must be above 0", Fix::set("clock_mhz", "300")));
    }
    let packets = spec.packets();
    if spec.degrees.is_empty() || spec.degrees.iter().any(|degree| u64::from(*degree) >= packets) {
        let message = format!("degrees must be numbers below {packets}, the packets in flight");
        return Err(table.wrong("degrees", message, Fix::set("degrees", format!("[0, {}]", packets - 1))));
    }
    Ok(spec)
}

fn lossless_reach(table: &Table) -> Result<LosslessReach, Diagnostic> {
    only(table, &keys::of("lossless-reach"))?;
    let spec = LosslessReach {
        km_delay: table.need("km_delay")?,
        queues: table.need("queues")?,
        chips: table.tables("chips", "model.chips")?.iter().map(chip).collect::<Result<_, _>>()?,
    };
    table.above_zero("km_delay", spec.km_delay)?;
    if spec.queues.is_empty() || spec.queues.contains(&0) {
        return Err(table.wrong(
            "queues",
            "queues must be numbers of 1 or more",
            Fix::set("queues", "[1, 8]"),
        ));
    }
    let name = |place: usize| spec.chips[place].name.as_str();
    if let Some(twice) = (1..spec.chips.len()).find(|&place| (0..place).any(|it| name(it) == name(place))) {
        let message = format!("two chips are called {:?}", name(twice));
        return Err(table.wrong("chips", message, "a name of its own for each"));
    }
    if spec.chips.is_empty() {
        return Err(table.missing("chips"));
    }
    Ok(spec)
}

fn chip(table: &Table) -> Result<Chip, Diagnostic> {
    only(table, &keys::of("chip"))?;
    let chip = Chip {
        name: table.need("name")?,
        ports: table.need("ports")?,
        link: table.need("link")?,
        buffer: table.need("buffer")?,
    };
    if chip.ports == 0 {
        return Err(table.wrong("ports", "ports must be 1 or more, not 0", Fix::set("ports", "32")));
    }
    table.above_zero("link", chip.link)?;
    table.above_zero("buffer", chip.buffer)?;
    Ok(chip)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::ask::figure::{Scale, read_figure};
    use crate::scenario::input::Files;

    struct NoFiles;

    impl Files for NoFiles {
        fn read(&self, _: &str) -> Result<String, String> {
            Err("no such file".to_owned())
        }
    }

    const TRACKING: &str = "kind = \"packet-tracking\"\nlink = \"400Gbps\"\nrtt = \"10us\"\npacket = \"1000B\"\n\
        chunk_bits = 128\nbitmaps = 5\nqueue_pairs = 10000\nclock_mhz = 300\naccess_cycles = 2\ncheck_cycles = 1\n\
        next_cycles = 1\ndegrees = [0, 499]\n";
    const REACH: &str = "kind = \"lossless-reach\"\nkm_delay = \"5us\"\nqueues = [1, 8]\n\
        [[model.chips]]\nname = \"a\"\nports = 32\nlink = \"400Gbps\"\nbuffer = \"64MB\"\n\
        [[model.chips]]\nname = \"b\"\nports = 64\nlink = \"800Gbps\"\nbuffer = \"165MB\"\n";

    fn model(text: &str) -> Result<ModelSpec, String> {
        let text = format!("id = \"dcp/table-1\"\ntitle = \"T\"\n[model]\n{text}");
        let figure = read_figure("f.toml", &text, Scale::Quick, &NoFiles).map_err(|e| e.to_string())?;
        Ok(figure.model.expect("it has a model"))
    }

    #[test]
    fn models_are_read_and_stored_whole() {
        let Ok(ModelSpec::PacketTracking(tracking)) = model(TRACKING) else { panic!() };
        assert_eq!((tracking.packets(), tracking.queue_pairs, tracking.clock_mhz), (500, 10_000, 300.0));
        let Ok(ModelSpec::LosslessReach(reach)) = model(REACH) else { panic!() };
        assert_eq!((reach.chips.len(), reach.chips[1].ports, reach.chips[1].name.as_str()), (2, 64, "b"));
        for spec in [ModelSpec::PacketTracking(tracking), ModelSpec::LosslessReach(reach)] {
            let stored = toml::to_string(&spec).unwrap();
            assert_eq!(toml::from_str::<ModelSpec>(&stored).unwrap(), spec, "{stored}");
        }
    }

    #[test]
    fn a_packet_in_part_is_in_flight_too() {
        let Ok(ModelSpec::PacketTracking(tracking)) = model(&TRACKING.replace("1000B", "999B")) else {
            panic!()
        };
        assert_eq!(tracking.packets(), 501);
    }

    #[test]
    fn what_cannot_be_computed_is_refused() {
        let cases = [
            (TRACKING, "499]", "500]", "degrees = [0, 499]"),
            (TRACKING, "[0, 499]", "[]", "degrees = [0, 499]"),
            (TRACKING, "clock_mhz = 300", "clock_mhz = 0", "clock_mhz = 300"),
            (TRACKING, "access_cycles = 2", "access_cycles = 0", "access_cycles = 1"),
            (TRACKING, "chunk_bits = 128", "chunk_bits = 0", "chunk_bits = 1"),
            (TRACKING, "packet = \"1000B\"", "packet = \"0B\"", "packet must be above 0"),
            (TRACKING, "rtt = \"10us\"", "rtt = \"0us\"", "rtt must be above 0"),
            (TRACKING, "link = \"400Gbps\"", "link = \"0bps\"", "link must be above 0"),
            (TRACKING, "bitmaps", "bitmap", "bitmaps"),
            (REACH, "queues = [1, 8]", "queues = [0]", "queues = [1, 8]"),
            (REACH, "queues = [1, 8]", "queues = []", "queues = [1, 8]"),
            (REACH, "km_delay = \"5us\"", "km_delay = \"0us\"", "km_delay must be above 0"),
            (REACH, "name = \"b\"", "name = \"a\"", "two chips are called \"a\""),
            (REACH, "ports = 64", "ports = 0", "ports = 32"),
            (REACH, "link = \"800Gbps\"", "link = \"0bps\"", "link must be above 0"),
            (REACH, "buffer = \"165MB\"", "buffer = \"0B\"", "buffer must be above 0"),
            (REACH, &REACH[REACH.find("[[").unwrap()..], "", "chips"),
            (REACH, "lossless-reach", "losless-reach", "lossless-reach"),
        ];
        for (text, from, to, said) in cases {
            let error = model(&text.replace(from, to)).expect_err(to);
            assert!(error.contains(said), "{error}");
        }
    }
}
