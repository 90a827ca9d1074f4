//! Spelling suggestions: the known name that a misspelt one stands for.

/// The least Jaro-Winkler similarity of a name that is near: `cnp_interval` is near `cnp_delay` (0.84), `at`
/// is not near `watchdog` (0.75).
const LEAST_SIMILARITY: f64 = 0.8;

/// The known name that is most similar to `written`: the one with the smallest edit distance, if that is at most a
/// third of the letters, else the one with the highest Jaro-Winkler similarity. None where no name is near.
pub fn nearest<'a>(written: &str, known: &[&'a str]) -> Option<&'a str> {
    let written = written.to_lowercase();
    let similarity = |name: &str| {
        let name = name.to_lowercase();
        let distance = strsim::osa_distance(&written, &name);
        let few = (3 * distance <= written.len().max(name.len())).then_some(distance);
        (few.unwrap_or(usize::MAX), strsim::jaro_winkler(&written, &name), distance)
    };
    let near = known.iter().map(|name| (similarity(name), *name));
    // Jaro-Winkler finds short names with two letters swapped dissimilar; a distance of 1 admits them.
    near.filter(|((_, alike, distance), _)| *alike >= LEAST_SIMILARITY || *distance == 1)
        .max_by(|((few, alike, _), _), ((fewer, more, _), _)| fewer.cmp(few).then(alike.total_cmp(more)))
        .map(|(_, name)| name)
}

/// Whether `written` is a misspelling of `name`: one letter missing, added, wrong or swapped with its neighbour,
/// ignoring case and the separators between words.
///
/// `min_window` and `max_window` differ in two letters and are two names. So are names of up to three letters that
/// differ in one, such as `rtt` and `rto`; only a swap counts there.
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
