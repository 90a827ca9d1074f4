//! Numbers and names as text for people: units on axes, thousands separators in tables.

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Label {
    /// The name: `Queue depth`.
    pub name: String,
    /// The unit: `KiB`.
    pub unit: &'static str,
    pub factor: f64,
}

impl Label {
    pub(crate) fn axis(&self) -> String {
        match self.unit {
            "" => self.name.clone(),
            unit => format!("{} ({unit})", self.name),
        }
    }
}

/// The label of a field or series. The unit is derived from the field's name.
pub(crate) fn label(name: &str) -> Label {
    const UNITS: [(&str, &str, f64); 12] = [
        ("_gbps", "Gbps", 1.0),
        ("_mpps", "Mpps", 1.0),
        ("_km", "km", 1.0),
        ("_bytes", "KiB", 1.0 / 1024.0),
        ("_packets", "packets", 1.0),
        ("_percent", "%", 1.0),
        ("_bits", "bits", 1.0),
        ("_ms", "ms", 1.0),
        ("_us", "µs", 1.0),
        ("_ns", "ns", 1.0),
        ("_ps", "ns", 1e-3),
        ("_s", "s", 1.0),
    ];
    let (stem, unit, factor) = UNITS
        .iter()
        .find_map(|(end, unit, factor)| Some((name.strip_suffix(end)?, *unit, *factor)))
        .unwrap_or(match name {
            _ if name.contains("slowdown") => (name, "FCT / ideal FCT", 1.0),
            "sender_ecn" => (name, "1: marked, 0: not", 1.0),
            _ => (name, "count", 1.0),
        });
    let mut words = String::new();
    for (index, word) in stem.split(['_', '-', '.']).filter(|word| !word.is_empty()).enumerate() {
        if index > 0 {
            words.push(' ');
        }
        match word {
            "fct" | "cct" | "ecn" | "rtt" => words.push_str(&word.to_uppercase()),
            "p50" | "p95" | "p99" => words.push_str(&word.to_uppercase()),
            _ if index == 0 => words.push_str(&capital(word)),
            _ => words.push_str(word),
        }
    }
    Label { name: words, unit, factor }
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Colours that can be distinguished on light and dark backgrounds, and with most kinds of colour vision.
const COLOURS: [&str; 10] = [
    "#2f7ed8", "#e4572e", "#2a9d6f", "#a05bd6", "#e0a100", "#25b9d0", "#d63f8c", "#6b7684", "#96622c",
    "#8fb021",
];

pub(crate) fn palette(index: usize) -> &'static str {
    COLOURS[index % COLOURS.len()]
}

/// The line style, which distinguishes curves of the same colour.
pub(crate) fn dash(index: usize) -> &'static str {
    const DASHES: [&str; 5] = ["solid", "dash", "dot", "dashdot", "longdash"];
    DASHES[index / COLOURS.len() % DASHES.len()]
}

/// A time as text with about four digits. From 1,000 on it is a whole number.
pub(crate) fn micros(value: f64) -> String {
    if !value.is_finite() {
        return "-".to_owned();
    }
    match value.abs() {
        size if size >= 1000.0 => thousands(value),
        size if size >= 100.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// The unit of times that are shown together. From 10,000 µs on it is milliseconds, because longer numbers are hard to
/// read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum TimeUnit {
    Micros,
    Millis,
}

impl TimeUnit {
    pub(crate) fn of(longest_us: f64) -> Self {
        if longest_us >= 10_000.0 { TimeUnit::Millis } else { TimeUnit::Micros }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            TimeUnit::Micros => "µs",
            TimeUnit::Millis => "ms",
        }
    }

    pub(crate) fn convert(self, us: f64) -> f64 {
        match self {
            TimeUnit::Micros => us,
            TimeUnit::Millis => us / 1000.0,
        }
    }
}

pub(crate) fn duration(us: f64) -> String {
    let unit = TimeUnit::of(us);
    format!("{} {}", micros(unit.convert(us)), unit.name())
}

/// Half the width of an interval as text. From 10 on it is a whole number.
pub(crate) fn half_width(value: f64) -> String {
    match value.abs() {
        _ if !value.is_finite() => "-".to_owned(),
        size if size >= 10.0 => thousands(value),
        size if size >= 1.0 => format!("{value:.1}"),
        0.0 => "0".to_owned(),
        _ => format!("{value:.2}"),
    }
}

/// A number of bytes as text with a unit: `1.25 MB`.
pub(crate) fn bytes(value: f64) -> String {
    match value {
        _ if value >= 1e9 => format!("{} GB", three(value / 1e9)),
        _ if value >= 1e6 => format!("{} MB", three(value / 1e6)),
        _ if value >= 1e3 => format!("{} KB", three(value / 1e3)),
        _ => format!("{value:.0} B"),
    }
}

/// A mean count as text. A number below 100 that is not whole has one decimal. Other numbers are rounded to whole
/// numbers, with thousands separators.
pub(crate) fn count(value: f64) -> String {
    if !value.is_finite() {
        return "-".to_owned();
    }
    if value.abs() < 100.0 && value.fract() != 0.0 { format!("{value:.1}") } else { thousands(value) }
}

/// A count as text. From a million on, it ends with M or G.
pub fn large(value: f64) -> String {
    match value {
        _ if value >= 1e9 => format!("{} G", three(value / 1e9)),
        _ if value >= 1e6 => format!("{} M", three(value / 1e6)),
        _ => count(value),
    }
}

fn three(value: f64) -> String {
    let decimals = if value >= 100.0 { 0 } else { 1 + usize::from(value < 10.0) };
    format!("{value:.decimals$}")
}

pub(crate) fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0.0 { format!("-{text}") } else { text }
}

/// A number as text. From 1,000 on it is a whole number. Below 1,000 it has at most four significant digits. Below 0.01
/// it has an exponent, unless it is 0.
pub(crate) fn significant(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size >= 1000.0 => thousands(value),
        size if size >= 100.0 => trim(format!("{value:.1}")),
        size if size >= 10.0 => trim(format!("{value:.2}")),
        size if size >= 0.01 => trim(format!("{value:.3}")),
        _ => format!("{value:.2e}"),
    }
}

fn trim(text: String) -> String {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_carry_units() {
        assert_eq!(label("queue_depth_bytes").axis(), "Queue depth (KiB)");
        assert_eq!(label("link_utilisation_gbps").axis(), "Link utilisation (Gbps)");
        assert_eq!(label("fct_max_us").axis(), "FCT max (µs)");
        assert_eq!(label("packet_rate_mpps").axis(), "Packet rate (Mpps)");
        assert_eq!(label("reach_km").axis(), "Reach (km)");
        assert_eq!(label("drops").axis(), "Drops (count)");
        assert_eq!(label("cct_max_us").axis(), "CCT max (µs)");
        assert_eq!(label("sender_rtt_us").axis(), "Sender RTT (µs)");
        assert_eq!(label("pause_frames").axis(), "Pause frames (count)");
        assert_eq!(label("wall_s").axis(), "Wall (s)");
    }

    #[test]
    fn fifty_curves_look_different() {
        let looks: std::collections::BTreeSet<_> =
            (0..50).map(|index| (palette(index), dash(index))).collect();
        assert_eq!(looks.len(), 50);
        assert_eq!((dash(0), dash(9), dash(10)), ("solid", "solid", "dash"));
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(micros(12.345), "12.35");
        assert_eq!(micros(1_234_567.8), "1,234,568");
        assert_eq!(duration(9_999.0), "9,999 µs");
        assert_eq!(duration(1_234_567.8), "1,235 ms");
        assert_eq!(count(0.5), "0.5");
        assert_eq!(count(1234.5), "1,234");
        assert_eq!(large(12_345_678.0), "12.3 M");
        assert_eq!(large(123_456_789_012.0), "123 G");
        assert_eq!(significant(1.25), "1.25");
        assert_eq!(significant(799.0), "799");
        assert_eq!(significant(1400.4), "1,400");
    }
}
