//! Names that somebody may have meant by another one.

/// The least Jaro-Winkler similarity of a name that is near: `cnp_interval` is near `cnp_delay` (0.84), `at`
/// is not near `watchdog` (0.75).
const LEAST_LIKENESS: f64 = 0.8;

/// The known name that is most like `written`: of which the fewest letters are others, where these are a third at most, else
/// what begins most alike. None where none is near.
pub fn nearest<'a>(written: &str, known: &[&'a str]) -> Option<&'a str> {
    let written = written.to_lowercase();
    let likeness = |name: &str| {
        let name = name.to_lowercase();
        let others = strsim::osa_distance(&written, &name);
        let few = (3 * others <= written.len().max(name.len())).then_some(others);
        (few.unwrap_or(usize::MAX), strsim::jaro_winkler(&written, &name), others)
    };
    let near = known.iter().map(|name| (likeness(name), *name));
    // Short names with two letters in each other's place are not alike.
    near.filter(|((_, alike, others), _)| *alike >= LEAST_LIKENESS || *others == 1)
        .max_by(|((few, alike, _), _), ((fewer, more, _), _)| fewer.cmp(few).then(alike.total_cmp(more)))
        .map(|(_, name)| name)
}

/// Whether `written` is `name` with a letter missing, too many, wrong or in its neighbour's place, whatever stands between
/// words: then what was written for one was meant for the other. Of `min_window` and `max_window`, which two letters tell
/// apart, it is not; nor of names of three letters, of which one is much, unless two changed places.
pub fn is_misspelt(written: &str, name: &str) -> bool {
    let letters = |name: &str| name.to_lowercase().replace(['-', '_', ' '], "");
    let (written, name) = (letters(written), letters(name));
    let sorted = |name: &str| {
        let mut letters: Vec<char> = name.chars().collect();
        letters.sort_unstable();
        letters
    };
    let most = usize::from(written.len().max(name.len()) > 3 || sorted(&written) == sorted(&name));
    strsim::osa_distance(&written, &name) <= most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_not_near_is_none() {
        for (written, known, expected) in [
            ("watchdog", &["at", "alpha", "headroom"][..], None),
            ("cnp_delay", &["cnp_interval", "nack_interval", "rto"], Some("cnp_interval")),
            ("Ecmp", &["reps", "ecmp"], Some("ecmp")),
            ("resp", &["ops", "reps"], Some("reps")),
            ("osp", &["reps", "ops"], Some("ops")),
            ("min_window", &["initial_window", "max_window"], Some("max_window")),
            ("conweave", &["ops", "reps", "ecmp"], None),
            ("", &["at"], None),
        ] {
            assert_eq!(nearest(written, known), expected, "{written}");
        }
    }

    #[test]
    fn one_letter_makes_a_misspelling() {
        for (written, name) in [
            ("lnk", "link"),
            ("titel", "title"),
            ("ack-every", "ack_every"),
            ("rate_a", "rate_ai"),
            ("Link", "link"),
        ] {
            assert!(is_misspelt(written, name), "{written}");
        }
        for (written, name) in [
            ("min_window", "max_window"),
            ("increase_timer", "decrease_timer"),
            ("ecn_kmin", "ecn_kmax"),
            ("cnp_delay", "cnp_interval"),
            ("rtt", "rto"),
        ] {
            assert!(!is_misspelt(written, name), "{written}");
        }
    }
}
