//! Sizes, times and rates that depend on the fabric, as in "one BDP" or "half an RTT".

use anabranch_base::{
    Bytes, Duration, Fix, Problem, RATE_FORM, Ranged, Rate, SIZE_FORM, TIME_FORM, ValueError,
    parameter_quantities, serde_as_text,
};
use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// The facts about a path from which the values of relative quantities are computed. The path is the longest path of
/// the fabric. For a congestion control with [`CcConfig::wants_own_path`](crate::CcConfig::wants_own_path), it is the
/// path of the queue pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathFacts {
    /// Round trip of one full packet and its ACK over the path without queueing.
    pub base_rtt: Duration,
    /// `base_rtt` times `line_rate`.
    pub bdp: Bytes,
    /// Size of a full data packet on the wire.
    pub packet: Bytes,
    /// Rate at which a queue pair may send: the rate of one link of a host, or of all links of the host's NIC together.
    pub line_rate: Rate,
    /// Rate of one link of a host. It differs from `line_rate` if a queue pair uses all ports of its NIC.
    pub port_rate: Rate,
    /// Capacity of a port's queue: `fabric.queue`, or without it the whole buffer of PFC, which the ports share.
    pub queue: Bytes,
}

impl PathFacts {
    /// The facts about the path for a queue pair that uses a single port of its NIC. Sizes in switches refer to these
    /// facts, since a switch serves one plane.
    #[must_use]
    pub fn of_port(&self) -> PathFacts {
        if self.port_rate == self.line_rate {
            return *self;
        }
        let bdp = Bytes(self.port_rate.bytes_in(self.base_rtt));
        PathFacts { bdp, line_rate: self.port_rate, ..*self }
    }

    /// The absolute value of a relative quantity as text: `610 KB` for `"1bdp"`, `61 us` for `"5rtt"` and `20 Gbps`
    /// for `"0.05line"` at 400 Gb/s and a base RTT of 12.2 us. None for an absolute quantity, or for text that is not
    /// a quantity.
    pub fn in_units(&self, written: &str) -> Option<String> {
        let size = || match written.parse().ok()? {
            Threshold::Size(Size::Bytes(_)) => None,
            size => Some(size.on(self, Some(self.queue)).about()),
        };
        let span = || match written.parse().ok()? {
            Span::Time(_) => None,
            span => Some(span.on(self).about()),
        };
        let pace = || match written.parse().ok()? {
            Pace::Rate(_) => None,
            pace => Some(pace.on(self).about()),
        };
        size().or_else(span).or_else(pace)
    }

    /// The absolute value of a window, as [`Size::window_on`] computes it. For example, if the BDP is 31.2 KB and
    /// packets have 4,178 B, it is `33.4 KB` for `"1bdp"`, since a BDP is rounded up to eight packets. None for a
    /// number of bytes, or for text that is not a size.
    pub fn window_in_units(&self, written: &str) -> Option<String> {
        match written.parse().ok()? {
            Size::Bytes(_) => None,
            size => Some(size.window_on(self).about()),
        }
    }
}

/// A size: absolute (`"415KB"`), in packets (`"100packets"`), or in BDPs (`"1.5bdp"`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    /// A number of bytes.
    Bytes(Bytes),
    /// A number of full packets on the wire.
    Packets(f64),
    /// A number of bandwidth-delay products.
    Bdp(f64),
}

/// A length of a port's queue: a [`Size`], or a share of the queue's capacity (`"0.2queue"`). A share follows the
/// capacity if a scenario sets or sweeps the capacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// A size that does not follow the queue's capacity.
    Size(Size),
    /// A share of the queue.
    Queue(f64),
}

/// A time: absolute (`"70us"`), in base RTTs (`"3rtt"`), or in base RTTs plus the serialisation time of bytes
/// (`"2rtt+5MB"`) or of full queues (`"2rtt+5queue"`). A time with full queues follows the queue's capacity if a
/// scenario sets or sweeps the capacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Span {
    /// A time.
    Time(Duration),
    /// A number of base RTTs.
    Rtt(f64),
    /// A number of base RTTs, plus the serialisation time of a number of bytes at the hosts' line rate.
    RttAndBytes(f64, Bytes),
    /// A number of base RTTs, plus the time that a number of full queues ([`PathFacts::queue`]) takes at the rate of
    /// one link of a host.
    RttAndQueues(f64, f64),
}

/// A rate: absolute (`"40Mbps"`) or as a share of the hosts' line rate (`"0.05line"`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// A rate.
    Rate(Rate),
    /// A share of the line rate.
    Line(f64),
}

impl Size {
    /// The size in bytes on a fabric.
    pub fn on(self, facts: &PathFacts) -> Bytes {
        match self {
            Size::Bytes(bytes) => bytes,
            Size::Packets(n) => Bytes((n * facts.packet.0 as f64) as u64),
            Size::Bdp(n) => Bytes((n * facts.bdp.0 as f64) as u64),
        }
    }

    /// The bytes that may be in flight on a fabric if this size is a window. A window in BDPs is rounded up to whole
    /// packets.
    ///
    /// The ACK of a packet arrives a base RTT after the start of the packet's transmission, and packets are not
    /// split. To keep an otherwise idle link busy, a window therefore needs `bdp / packet` packets, rounded up. If a
    /// BDP of 2.93 packets were rounded down to 2, the link would be idle for nearly a third of the time. (The
    /// simulator published with REPS has 151 packets where 1.5 BDP are 150.7.) A window in bytes or packets is not
    /// rounded up.
    pub fn window_on(self, facts: &PathFacts) -> Bytes {
        let bytes = self.on(facts);
        match self {
            Size::Bdp(_) => {
                let packet = facts.packet.0.max(1);
                // If the window would overflow, the largest whole number of packets replaces it, which never limits.
                Bytes(bytes.0.checked_next_multiple_of(packet).unwrap_or(u64::MAX / packet * packet))
            }
            Size::Bytes(_) | Size::Packets(_) => bytes,
        }
    }

    /// The size multiplied by `factor`.
    #[must_use]
    pub fn times(self, factor: f64) -> Size {
        match self {
            Size::Bytes(bytes) => Size::Bytes(Bytes((factor * bytes.0 as f64).round() as u64)),
            Size::Packets(n) => Size::Packets(factor * n),
            Size::Bdp(n) => Size::Bdp(factor * n),
        }
    }
}

impl Threshold {
    /// The threshold in bytes on a fabric, for a port's queue of capacity `queue`. If `queue` is None, the queue is
    /// unlimited, and a share of the queue is never reached.
    pub fn on(self, facts: &PathFacts, queue: Option<Bytes>) -> Bytes {
        match self {
            Threshold::Size(size) => size.on(facts),
            Threshold::Queue(share) => {
                queue.map_or(Bytes(u64::MAX), |queue| Bytes((share * queue.0 as f64) as u64))
            }
        }
    }
}

impl Span {
    /// The time on a fabric.
    pub fn on(self, facts: &PathFacts) -> Duration {
        match self {
            Span::Time(span) => span,
            Span::Rtt(n) => Duration((n * facts.base_rtt.0 as f64) as u64),
            Span::RttAndBytes(n, bytes) => Span::Rtt(n).on(facts) + at_rate(bytes, facts.line_rate),
            Span::RttAndQueues(n, queues) => {
                let bytes = Bytes((queues * facts.queue.0 as f64) as u64);
                Span::Rtt(n).on(facts) + at_rate(bytes, facts.port_rate)
            }
        }
    }
}

/// The serialisation time of `bytes` at a rate, at most the largest [`Duration`].
fn at_rate(bytes: Bytes, rate: Rate) -> Duration {
    // For more than `most` bytes, the number of picoseconds would exceed 64 bits.
    let most = u128::from(u64::MAX) * u128::from(rate.0) / 8_000_000_000_000;
    match u128::from(bytes.0) > most {
        true => Duration(u64::MAX),
        false => rate.time_for(bytes.0),
    }
}

impl Pace {
    /// The rate on a fabric.
    pub fn on(self, facts: &PathFacts) -> Rate {
        match self {
            Pace::Rate(rate) => rate,
            Pace::Line(share) => Rate((share * facts.line_rate.0 as f64) as u64),
        }
    }
}

/// The number before `unit`, if `text` is a finite number with that unit. It is an error if the number is not above 0.
fn multiple(text: &str, unit: &str) -> Option<Result<f64, ValueError>> {
    let number: f64 = text.trim().strip_suffix(unit)?.trim().parse().ok()?;
    let number = number.is_finite().then_some(number)?;
    Some(if number > 0.0 { Ok(number) } else { Err(ValueError::rule("must be above 0")) })
}

fn relative_size(text: &str) -> Option<Result<Size, ValueError>> {
    let bdp = multiple(text, "bdp").map(|n| n.map(Size::Bdp));
    bdp.or_else(|| multiple(text, "packets").map(|n| n.map(Size::Packets)))
}

/// A problem whose message also names the relative forms that the quantity accepts.
fn also(problem: Problem, too: &str) -> ValueError {
    Problem { message: format!("{}; {too}", problem.message), ..problem }.into()
}

/// The fix that replaces a percentage by a share of `unit`: `0.2queue` for `20%` with the unit `queue`. None if `text`
/// is not a percentage above 0.
fn share_of(text: &str, unit: &str) -> Option<Fix> {
    let percent: f64 = text.trim().strip_suffix('%')?.trim().parse().ok()?;
    // Removes the rounding error of floating-point numbers.
    let share = (percent * 1e10).round() / 1e12;
    (share > 0.0 && share.is_finite()).then(|| Fix::value(format_args!("{share}{unit}")))
}

impl FromStr for Size {
    type Err = ValueError;
    fn from_str(text: &str) -> Result<Self, ValueError> {
        if let Some(size) = relative_size(text) {
            return size;
        }
        text.parse().map(Size::Bytes).map_err(|e| also(e, "\"1.5bdp\" and \"100packets\" work too"))
    }
}

impl FromStr for Threshold {
    type Err = ValueError;
    fn from_str(text: &str) -> Result<Self, ValueError> {
        if let Some(share) = multiple(text, "queue") {
            return share.map(Threshold::Queue);
        }
        if let Some(size) = relative_size(text) {
            return size.map(Threshold::Size);
        }
        let too = "\"1.5bdp\" and \"100packets\" work too, and \"0.2queue\" does";
        let wrong = |e: Problem| also(Problem { fix: share_of(text, "queue").or(e.fix), ..e }, too);
        text.parse().map(|bytes| Threshold::Size(Size::Bytes(bytes))).map_err(wrong)
    }
}

impl FromStr for Span {
    type Err = ValueError;
    fn from_str(text: &str) -> Result<Self, ValueError> {
        if let Some(n) = multiple(text, "rtt") {
            return n.map(Span::Rtt);
        }
        if let Some(queues) = multiple(text, "queue") {
            let (_, text) = (queues?, text.trim());
            return Err(Problem::with_value(
                format!("\"{text}\" has no round trips, and an empty queue takes none"),
                format_args!("2rtt+{text}"),
            )
            .into());
        }
        if let Some((rtt, more)) = text.split_once('+')
            && let Some(n) = multiple(rtt, "rtt")
        {
            let (rtt, more) = (rtt.trim(), more.trim());
            if let Some(queues) = multiple(more, "queue") {
                return Ok(Span::RttAndQueues(n?, queues?));
            }
            let bytes = more.parse().map_err(|e: Problem| match e.fix {
                Some(bytes) => Problem::with_value(e.message, format_args!("{rtt}+{bytes}")).into(),
                None => also(e, "\"2rtt+5MB\" and \"2rtt+5queue\" work"),
            })?;
            return n.map(|n| Span::RttAndBytes(n, bytes));
        }
        text.parse().map(Span::Time).map_err(|e| also(e, "\"3rtt\" works too"))
    }
}

impl FromStr for Pace {
    type Err = ValueError;
    fn from_str(text: &str) -> Result<Self, ValueError> {
        if let Some(share) = multiple(text, "line") {
            return share.map(Pace::Line);
        }
        let too = "\"0.05line\" works too";
        let wrong = |e: Problem| also(Problem { fix: share_of(text, "line").or(e.fix), ..e }, too);
        text.parse().map(Pace::Rate).map_err(wrong)
    }
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pace::Rate(rate) => rate.fmt(f),
            Pace::Line(share) => write!(f, "{share}line"),
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Size::Bytes(bytes) => bytes.fmt(f),
            Size::Packets(n) => write!(f, "{n}packets"),
            Size::Bdp(n) => write!(f, "{n}bdp"),
        }
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Threshold::Size(size) => size.fmt(f),
            Threshold::Queue(share) => write!(f, "{share}queue"),
        }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Span::Time(span) => span.fmt(f),
            Span::Rtt(n) => write!(f, "{n}rtt"),
            Span::RttAndBytes(n, bytes) => write!(f, "{n}rtt+{bytes:#}"),
            Span::RttAndQueues(n, queues) => write!(f, "{n}rtt+{queues}queue"),
        }
    }
}

serde_as_text!(Size, Threshold, Span, Pace);

/// The forms of a time: absolute, in round trips, and in round trips plus full queues or bytes.
pub(crate) const SPAN_FORMS: &[&str] =
    &[TIME_FORM, "#rtt", "#rtt *\\+ *#(queue|B|KB|MB|GB|TB|KiB|MiB|GiB|TiB)"];
parameter_quantities!(
    Size: "a size", in "bytes, packets or bdp", as &[SIZE_FORM, "#(packets|bdp)"],
    Threshold: "a size", in "bytes, packets, bdp or queue", as &[SIZE_FORM, "#(packets|bdp|queue)"],
    Span: "a time", in "time, rtt or rtt+queue", as SPAN_FORMS,
    Pace: "a rate", in "rate or line", as &[RATE_FORM, "#line"],
);

/// Orders quantities in the same unit. Quantities in different units, and sums of two units, have no order before the
/// fabric is known.
macro_rules! ordered {
    ($name:ident, $zero:expr, $($variant:ident),*) => {
        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                match (self, other) {
                    $(($name::$variant(one), $name::$variant(other)) => one.partial_cmp(other),)*
                    _ => None,
                }
            }
        }
        impl Ranged for $name {
            // Relative quantities are parsed only if they are above 0.
            fn is_above_zero(&self) -> bool {
                *self != $zero
            }
        }
    };
}
ordered!(Size, Size::Bytes(Bytes(0)), Bytes, Packets, Bdp);
ordered!(Threshold, Threshold::Size(Size::Bytes(Bytes(0))), Size, Queue);
ordered!(Span, Span::Time(Duration::ZERO), Time, Rtt);
ordered!(Pace, Pace::Rate(Rate(0)), Rate, Line);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_sizes_follow_the_fabric() {
        let (base_rtt, bdp, line_rate) = (Duration::from_us(8), Bytes(400_000), Rate::from_gbps(400));
        let queue = Bytes(1_000_000);
        let facts = PathFacts { base_rtt, bdp, packet: Bytes(4150), line_rate, port_rate: line_rate, queue };
        assert_eq!("1.5bdp".parse::<Size>().unwrap().on(&facts), Bytes(600_000));
        assert_eq!("100packets".parse::<Size>().unwrap().on(&facts), Bytes(415_000));
        let window = |written: &str| written.parse::<Size>().unwrap().window_on(&facts).0;
        assert_eq!(window("1.5bdp"), 145 * 4150, "144.6 packets");
        assert_eq!([window("1.0375bdp"), window("0.001bdp")], [100 * 4150, 4150], "whole, and one at least");
        assert_eq!([window("1.5packets"), window("4KB")], [6225, 4000]);
        assert!(window("1e15bdp") > u64::MAX / 2, "no window at all");
        let window = |written: &str| facts.window_in_units(written).unwrap_or_default();
        assert_eq!([window("1.5bdp"), window("1.5packets"), window("4KB")], ["602 KB", "6.22 KB", ""]);
        assert_eq!(facts.of_port(), facts);
        let planes = PathFacts { bdp: Bytes(3_200_000), line_rate: Rate::from_gbps(3_200), ..facts };
        let on = |written: &str, facts: &PathFacts| written.parse::<Size>().unwrap().on(facts).0;
        assert_eq!(
            [on("1bdp", &planes), on("1bdp", &planes.of_port())],
            [3_200_000, 400_000],
            "eight planes"
        );
        let full = "2rtt+5queue".parse::<Span>().unwrap();
        assert_eq!(full.on(&planes), full.on(&facts), "a queue drains at the rate of a port");
        assert_eq!("3rtt".parse::<Span>().unwrap().on(&facts), Duration::from_us(24));
        assert_eq!("70us".parse::<Span>().unwrap().on(&facts), Duration::from_us(70));
        let drained = "2rtt+5MB".parse::<Span>().unwrap();
        assert_eq!(drained.on(&facts), Duration::from_us(16 + 100));
        assert_eq!(drained.to_string(), "2rtt+5MB");
        assert!("2rtt+5us".parse::<Span>().is_err() && "2us+5MB".parse::<Span>().is_err());
        let queues = "2rtt+5queue".parse::<Span>().unwrap();
        assert_eq!(queues.on(&facts), drained.on(&facts), "five queues of 1 MB");
        assert_eq!(queues.on(&PathFacts { queue: Bytes(250_000), ..facts }), Duration::from_us(16 + 25));
        assert_eq!(queues.on(&PathFacts { queue: Bytes(u64::MAX), ..facts }), Duration(u64::MAX));
        assert_eq!(" 2 rtt + 0.5 queue ".parse::<Span>().unwrap().to_string(), "2rtt+0.5queue");
        for wrong in ["2rtt+0queue", "2rtt+-1queue", "5queue", "2us+5queue", "-2rtt+5queue", "2rtt+queue"] {
            assert!(wrong.parse::<Span>().is_err(), "{wrong}");
        }
        for (wrong, right) in [("5queue", "2rtt+5queue"), ("2rtt+5mb", "2rtt+5MB")] {
            let said = wrong.parse::<Span>().unwrap_err();
            assert_eq!(said.problem.fix, Some(Fix::value(right)), "{said}");
            assert!(right.parse::<Span>().is_ok());
        }
        assert_eq!("0.05line".parse::<Pace>().unwrap().on(&facts), Rate::from_gbps(20));
        assert_eq!("40Mbps".parse::<Pace>().unwrap().on(&facts), Rate(40_000_000));
        let units = |written: &str| facts.in_units(written).unwrap_or_default();
        assert_eq!([units("1.5bdp"), units("100packets")], ["600 KB", "415 KB"]);
        assert_eq!([units("0.25rtt"), units("0.05line")], ["2 us", "20 Gbps"]);
        assert_eq!([units("2rtt+5queue"), units("0.2queue")], ["116 us", "200 KB"]);
        assert_eq!([units("415KB"), units("70us"), units("40Mbps"), units("ecmp")], [""; 4]);
        let threshold = |text: &str| text.parse::<Threshold>().unwrap();
        assert_eq!(threshold("1.5bdp").on(&facts, None), Bytes(600_000));
        assert_eq!(threshold("0.2queue").on(&facts, Some(Bytes(1_000_000))), Bytes(200_000));
        assert_eq!(threshold("0.2queue").on(&facts, None), Bytes(u64::MAX));
        assert_eq!(threshold(" 0.2 queue").to_string(), "0.2queue");
        assert!("0.2queue".parse::<Size>().is_err() && "-1queue".parse::<Threshold>().is_err());
        assert!("-1bdp".parse::<Size>().is_err());
        assert!("nanbdp".parse::<Size>().is_err());
        assert_eq!("20%".parse::<Threshold>().unwrap_err().problem.fix, Some(Fix::value("0.2queue")));
        assert_eq!("7 %".parse::<Pace>().unwrap_err().problem.fix, Some(Fix::value("0.07line")));
    }
}
