//! Spelling suggestions: the known name that was probably meant by a misspelt one.

/// The least Jaro-Winkler similarity at which a name at an edit distance above 1 is suggested: `cnp_interval` is
/// suggested for `cnp_delay` (0.84), and `at` is not suggested for `watchdog` (0.75).
const LEAST_SIMILARITY: f64 = 0.8;

/// The known name that is most similar to `written`, by edit distance if few letters differ and by Jaro-Winkler
/// similarity otherwise. None if no name is similar enough.
pub fn nearest<'a>(written: &str, known: &[&'a str]) -> Option<&'a str> {
    let written = written.to_lowercase();
    let similarity = |name: &str| {
        let name = name.to_lowercase();
        let distance = strsim::osa_distance(&written, &name);
        let few = (3 * distance <= written.len().max(name.len())).then_some(distance);
        (few.unwrap_or(usize::MAX), strsim::jaro_winkler(&written, &name), distance)
    };
    let near = known.iter().map(|name| (similarity(name), *name));
    // Two swapped letters make short names dissimilar by Jaro-Winkler, so a name at edit distance 1 is admitted too.
    near.filter(|((_, alike, distance), _)| *alike >= LEAST_SIMILARITY || *distance == 1)
        .max_by(|((few, alike, _), _), ((fewer, more, _), _)| fewer.cmp(few).then(alike.total_cmp(more)))
        .map(|(_, name)| name)
}

/// Whether `written` is `name` or a misspelling of it: at most one letter is missing, added, wrong or swapped with
/// its neighbour. Case and the separators between words are ignored.
///
/// `min_window` and `max_window` differ in two letters, so neither is a misspelling of the other. Names of up to
/// three letters that differ in one letter, such as `rtt` and `rto`, are different names too; for such short names
/// only a swap counts as a misspelling.
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
