//! Distributions of message sizes. They are tables of (bytes, cumulative percent) with linear interpolation.

use super::WorkloadError;
use super::text;
use anabranch_base::Problem;

/// An empirical distribution of message sizes, sampled by the inverse of its CDF.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeDistribution {
    /// The points of the distribution, at least two, from 0 to 100 percent. The percentages increase, and the bytes
    /// never decrease.
    points: Vec<(u64, f64)>,
}

/// Web search in a data centre (Alizadeh et al., SIGCOMM 2010, the DCTCP paper), in the form that HPCC's artifact
/// publishes.
const WEBSEARCH: &[(u64, f64)] = &[
    (0, 0.0),
    (10_000, 15.0),
    (20_000, 20.0),
    (30_000, 30.0),
    (50_000, 40.0),
    (80_000, 53.0),
    (200_000, 60.0),
    (1_000_000, 70.0),
    (2_000_000, 80.0),
    (5_000_000, 90.0),
    (10_000_000, 97.0),
    (30_000_000, 100.0),
];

/// Web search in the form that the simulator of the REPS paper publishes. Its last three points differ from those of
/// [`WEBSEARCH`].
const WEBSEARCH_REPS: &[(u64, f64)] = &[
    (0, 0.0),
    (10_000, 15.0),
    (20_000, 20.0),
    (30_000, 30.0),
    (50_000, 40.0),
    (80_000, 53.0),
    (200_000, 60.0),
    (1_000_000, 70.0),
    (2_000_000, 80.0),
    (10_000_000, 90.0),
    (20_000_000, 97.0),
    (40_000_000, 100.0),
];

/// Hadoop at Facebook (Roy et al., SIGCOMM 2015), in the form that HPCC's artifact publishes.
const FACEBOOK_HADOOP: &[(u64, f64)] = &[
    (0, 0.0),
    (100, 1.0),
    (200, 2.0),
    (300, 5.0),
    (350, 15.0),
    (400, 20.0),
    (500, 30.0),
    (600, 40.0),
    (700, 50.0),
    (1_000, 60.0),
    (2_000, 67.0),
    (7_000, 70.0),
    (30_000, 72.0),
    (50_000, 82.0),
    (80_000, 87.0),
    (120_000, 90.0),
    (300_000, 95.0),
    (1_000_000, 97.5),
    (2_000_000, 99.0),
    (10_000_000, 100.0),
];

/// Storage at Alibaba in 2019, in the form that ConWeave's artifact publishes.
const ALISTORAGE: &[(u64, f64)] = &[
    (0, 0.0),
    (4_000, 22.93),
    (8_000, 69.21),
    (16_000, 80.61),
    (32_000, 90.47),
    (64_000, 93.53),
    (128_000, 96.77),
    (256_000, 97.53),
    (2_000_000, 100.0),
];

macro_rules! published {
    ($($name:literal = $points:ident),* $(,)?) => {
        impl SizeDistribution {
            /// The names that [`named`](Self::named) accepts.
            pub const NAMES: &[&str] = &[$($name),*];

            /// The published distribution with this name.
            pub fn named(name: &str) -> Option<Self> {
                let points = match name {
                    $($name => $points,)*
                    _ => return None,
                };
                Some(SizeDistribution { points: points.to_vec() })
            }
        }
    };
}

published!(
    "websearch" = WEBSEARCH,
    "websearch-reps" = WEBSEARCH_REPS,
    "facebook-hadoop" = FACEBOOK_HADOOP,
    "alistorage" = ALISTORAGE,
);

impl SizeDistribution {
    /// Reads a file with `bytes cumulative-percent` on each line, from 0 to 100 percent. The generators of HPCC and
    /// ConWeave read the same form. Two lines with equal bytes make a step. Blank lines and `#` comments are skipped.
    /// `file` is the file's name in errors.
    ///
    /// # Errors
    /// [`WorkloadError::Line`] if a line is wrong, and [`WorkloadError::File`] if the file has no sizes, does not end
    /// at 100 percent, or has only sizes of 0 bytes.
    pub fn parse(file: &str, text: &str) -> Result<Self, WorkloadError> {
        let mut points: Vec<(u64, f64)> = Vec::new();
        for (line, content) in text::lines(text) {
            let fail = |what: Problem| WorkloadError::line(file, line, what);
            let point = read_point(content).map_err(|what| fail(what.into()))?;
            match points.last() {
                None if point.1 != 0.0 => {
                    return Err(fail(Problem::with_text(
                        format!("the first line must stand at 0 percent, not at {}", point.1),
                        "the smallest size and 0 before it",
                    )));
                }
                Some(before) if point.0 < before.0 => {
                    return Err(fail(
                        format!("sizes must not fall, but {} follows {}", point.0, before.0).into(),
                    ));
                }
                Some(before) if point.1 <= before.1 => {
                    return Err(fail(
                        format!("percents must rise, but {} follows {}", point.1, before.1).into(),
                    ));
                }
                _ => points.push(point),
            }
        }
        let end = |what: Problem| Err(WorkloadError::file(file, what));
        match points.last() {
            None => end(Problem::with_text("it has no sizes", "lines of `bytes cumulative-percent`")),
            Some(last) if last.1 != 100.0 => {
                end(format!("it ends at {} percent; the last line must be the largest size and 100", last.1)
                    .into())
            }
            Some(last) if last.0 == 0 => end("all its sizes are 0 bytes".into()),
            Some(_) => Ok(SizeDistribution { points }),
        }
    }

    /// The mean size in bytes.
    pub fn mean(&self) -> f64 {
        let mean_of = |pair: &[(u64, f64)]| {
            (pair[1].1 - pair[0].1) / 100.0 * (pair[0].0 as f64 + pair[1].0 as f64) / 2.0
        };
        self.points.windows(2).map(mean_of).sum()
    }

    /// The size in bytes below which the share `unit` of all messages lies. `unit` is in [0, 1). The size is rounded
    /// to the nearest byte and is at least 1. A uniform random `unit` gives a random size of the distribution.
    pub fn sample(&self, unit: f64) -> u64 {
        let percent = unit * 100.0;
        let above = self.points.partition_point(|(_, p)| *p <= percent).clamp(1, self.points.len() - 1);
        let ((low, from), (high, to)) = (self.points[above - 1], self.points[above]);
        let bytes = low as f64 + (high - low) as f64 * (percent - from) / (to - from);
        // The size stays within the segment despite rounding, so that sizes never decrease with `unit`.
        ((bytes + 0.5) as u64).clamp(low, high).max(1)
    }
}

/// The largest size that a file may have, an exbibyte.
const LARGEST: u64 = 1 << 60;

fn read_point(content: &str) -> Result<(u64, f64), String> {
    let words: Vec<&str> = content.split_whitespace().collect();
    let &[bytes, percent] = words.as_slice() else {
        return Err(format!(
            "expected `bytes cumulative-percent`, such as `10000 15`, not {}",
            text::quote(content)
        ));
    };
    let bytes = text::whole(bytes, "the size", LARGEST)?;
    let plain = percent.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    match percent.parse::<f64>() {
        Ok(number) if plain && number <= 100.0 => Ok((bytes, number)),
        _ => Err(format!("the percent must be a number from 0 to 100, not {}", text::quote(percent))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn means_are_the_published_ones() {
        let mean = |name| SizeDistribution::named(name).unwrap().mean();
        assert!((mean("websearch") / 1.71e6 - 1.0).abs() < 0.005, "{}", mean("websearch"));
        assert!((mean("facebook-hadoop") / 120e3 - 1.0).abs() < 0.02, "{}", mean("facebook-hadoop"));
        assert!((mean("alistorage") / 41e3 - 1.0).abs() < 0.02, "{}", mean("alistorage"));
        // The mean by hand: 236.25 KB from the segments up to 80 percent, then 600, 1050 and 900 KB from the last three
        // segments.
        assert!((mean("websearch-reps") - 2_786_250.0).abs() < 1.0, "{}", mean("websearch-reps"));
    }

    #[test]
    fn samples_follow_the_table() {
        for name in SizeDistribution::NAMES {
            let sizes = SizeDistribution::named(name).unwrap();
            assert_eq!(sizes.sample(0.0), 1, "{name}");
            for (bytes, percent) in &sizes.points[1..] {
                let drawn = sizes.sample(percent / 100.0);
                assert!(drawn.abs_diff(*bytes) <= 1, "{name}: {percent} percent gives {drawn}, not {bytes}");
            }
        }
        let websearch = SizeDistribution::named("websearch").unwrap();
        assert_eq!(websearch.sample(0.35), 40_000);
        assert_eq!(websearch.sample(0.985), 20_000_000);
    }

    #[test]
    fn a_file_reads_like_the_table() {
        let text: String = WEBSEARCH.iter().map(|(b, p)| format!("{b}\t{p}\r\n")).collect();
        let read = SizeDistribution::parse("w.txt", &format!("# sizes\n\n{text}\n"));
        assert_eq!(read, Ok(SizeDistribution::named("websearch").unwrap()));
        let fixed = SizeDistribution::parse("f.txt", "5000 0\n5000 100").unwrap();
        assert_eq!((fixed.mean(), fixed.sample(0.3)), (5000.0, 5000));
    }

    #[test]
    fn mistakes_are_explained() {
        let wrong = |text: &str| SizeDistribution::parse("s.txt", text).unwrap_err().to_string();
        assert_eq!(wrong(""), "s.txt: it has no sizes; write: lines of `bytes cumulative-percent`");
        assert_eq!(
            wrong("100 1\n200 100"),
            "s.txt:1: the first line must stand at 0 percent, not at 1; write: the smallest size and 0 before it"
        );
        assert_eq!(wrong("0 0\n20 50\n10 100"), "s.txt:3: sizes must not fall, but 10 follows 20");
        assert_eq!(wrong("0 0\n20 50\n30 50"), "s.txt:3: percents must rise, but 50 follows 50");
        assert_eq!(
            wrong("0 0\n20 50"),
            "s.txt: it ends at 50 percent; the last line must be the largest size and 100"
        );
        assert_eq!(wrong("0 0\n20 nan"), "s.txt:2: the percent must be a number from 0 to 100, not `nan`");
        assert_eq!(wrong("0 0\n20 101"), "s.txt:2: the percent must be a number from 0 to 100, not `101`");
        assert_eq!(wrong("0 0\n-20 100"), "s.txt:2: the size must not be negative, but it is `-20`");
        assert_eq!(
            wrong("0 0\n1,100"),
            "s.txt:2: expected `bytes cumulative-percent`, such as `10000 15`, not `1,100`"
        );
        assert_eq!(wrong("0 0\n0 100"), "s.txt: all its sizes are 0 bytes");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[0-9. \\-\n#a]{0,80}", unit in 0.0..1.0f64) {
            if let Ok(sizes) = SizeDistribution::parse("x", &text) {
                prop_assert!(sizes.sample(unit) >= 1);
            }
        }

        #[test]
        fn larger_units_draw_larger_sizes(a in 0.0..1.0f64, b in 0.0..1.0f64) {
            let sizes = SizeDistribution::named("facebook-hadoop").unwrap();
            prop_assert!(sizes.sample(a.min(b)) <= sizes.sample(a.max(b)));
        }
    }
}
