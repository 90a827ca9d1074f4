//! The words of deserialisers, for people.

/// The error of a deserialiser about a value, in words for people, to stand behind the parameter's name.
pub(in crate::scenario) fn readable_problem(problem: &str, value: &toml::Value) -> String {
    let relative = |text: &str| {
        let number =
            ["bdp", "packets", "queue", "rtt", "line"].iter().find_map(|unit| text.trim().strip_suffix(unit));
        number.and_then(|number| number.trim().parse::<f64>().ok())
    };
    match value.as_str().and_then(relative) {
        Some(number) if number <= 0.0 => " must be above 0".to_owned(),
        _ => format!(": {}", plain(problem)),
    }
}

/// The words of a deserialiser for people.
pub(in crate::scenario) fn plain(problem: &str) -> String {
    let line = problem.lines().next().unwrap_or_default();
    for kind in ["expected struct ", "expected internally tagged enum "] {
        if let Some((before, _)) = line.split_once(kind) {
            return format!("{before}expected a table");
        }
    }
    [
        (" u32", " a whole number of 0 or more"),
        (" f64", " a number"),
        (" a string", " text in quotes"),
        (" a boolean", " true or false"),
    ]
    .iter()
    .find_map(|(from, to)| line.strip_suffix(from).map(|rest| format!("{rest}{to}")))
    .unwrap_or_else(|| line.to_owned())
}
