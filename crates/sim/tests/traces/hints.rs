//! The error about a mistake in an imported file names a correction. If the mistake is in one line of the file, the
//! error names this line. With the correction, the file is valid.

mod mistakes;

use super::*;
use anabranch_sim::scenario::Diagnostic;
use mistakes::{of_cm, of_connections, of_goal, of_msccl, of_shapes, of_simai, of_topo};

/// The place where the text of a correction is written.
#[derive(Clone, Copy, Debug)]
enum FixPlace {
    /// In the line of the error, in place of this text.
    Of(&'static str),
    /// In all lines, in place of this text.
    AllOf(&'static str),
    /// In place of the line with this text.
    Line(&'static str),
    /// In the XML tag in the line of the error.
    Tag,
    /// At the end of the line of the error.
    Behind,
    /// In a new line above the line of the error, or above all lines.
    Above,
    /// In a new line below the line of the error, or at the end of the file if the error names no line.
    Below,
    /// In a new line at the end of the file.
    End,
    /// In a new line below the line with this text.
    After(&'static str),
    /// Nowhere: the line of the error is removed.
    Nowhere,
    /// In the scenario, in a line below `[workload]`.
    Scenario,
}

struct Mistake {
    meant: &'static str,
    /// A text in the valid file, and the wrong text that replaces it.
    written: (&'static str, &'static str),
    /// The line that the error names, or 0 if it names none.
    line: usize,
    /// The end of the error message: the correction with its context. It is empty if the message itself contains the
    /// correction or states what to remove.
    help: &'static str,
    /// The text of the correction, and its place.
    write: (&'static str, FixPlace),
}

#[derive(Clone, Copy, Debug)]
enum FileFormat {
    Cm,
    Topo,
    Trace(&'static str),
}

fn mistake(
    meant: &'static str,
    written: (&'static str, &'static str),
    line: usize,
    help: &'static str,
    write: (&'static str, FixPlace),
) -> Mistake {
    Mistake { meant, written, line, help, write }
}

fn around(kind: FileFormat, keys: &str) -> String {
    let fabric = "[topology]\nkind = \"single-switch\"\nhosts = 16\nlink = \"400Gbps\"\n";
    match kind {
        FileFormat::Cm => format!("schemes = [\"reps\"]\n{fabric}[workload]\nfile = \"f.cm\"\n{keys}"),
        FileFormat::Topo => format!(
            "schemes = [\"reps\"]\n[topology]\nfile = \"f.topo\"\n{keys}[workload]\nkind = \"permutation\"\nbytes = \"1KB\"\n"
        ),
        FileFormat::Trace(format) => {
            let bytes = if format == "msccl" { "bytes = \"8KB\"\n" } else { "" };
            format!(
                "schemes = [\"reps\"]\n{fabric}[workload]\nkind = \"trace\"\nformat = \"{format}\"\nfile = \"f.txt\"\n{bytes}{keys}"
            )
        }
    }
}

fn name(kind: FileFormat) -> &'static str {
    match kind {
        FileFormat::Cm => "f.cm",
        FileFormat::Topo => "f.topo",
        FileFormat::Trace(_) => "f.txt",
    }
}

fn read(kind: FileFormat, file: &str, keys: &str) -> Result<(String, anabranch_sim::Built), Diagnostic> {
    let folder = Folder([(name(kind).to_owned(), file.as_bytes().to_vec())].into());
    let scenario = scenario::read("s.toml", &around(kind, keys), &folder, &Overrides::default())?;
    scenario.check()?;
    let point = scenario.points()?.remove(0);
    let built = anabranch_sim::build(&point).unwrap_or_else(|error| panic!("{error}"));
    Ok((format!("{:?}", point.topology), built))
}

/// The error about a mistake. The correction must make the file valid when it is applied.
fn follow(kind: FileFormat, mistake: &Mistake) -> String {
    let Mistake { meant, written: (good, bad), line, help, write: (write, place) } = *mistake;
    let wrong = meant.replacen(good, bad, 1);
    assert!(wrong != meant || good == bad, "{good:?} is not in:\n{meant}");
    let Err(error) = read(kind, &wrong, "") else { panic!("nothing is wrong with:\n{wrong}") };
    assert_eq!((error.span.file.as_str(), error.span.line.unwrap_or(0)), (name(kind), line), "{error}");
    assert_eq!(error.help().as_deref().unwrap_or_default(), help, "{error}");
    let message = &error.message;
    let says = |line: &str| match help.is_empty() {
        true => message.contains(line) || message.contains("remove one"),
        false => help.contains(line),
    };
    assert!(write.lines().all(says), "{error} does not say {write:?}");
    let mut lines: Vec<String> = wrong.lines().map(str::to_owned).collect();
    let at = line.saturating_sub(1);
    let mut keys = String::new();
    match place {
        FixPlace::Of(what) => {
            assert!(lines[at].contains(what), "{what:?} is not in line {line}:\n{wrong}");
            lines[at] = lines[at].replacen(what, write, 1);
        }
        FixPlace::AllOf(what) => lines.iter_mut().for_each(|line| *line = line.replace(what, write)),
        FixPlace::Line(what) => {
            let at = lines.iter().position(|line| line == what).unwrap_or_else(|| panic!("no {what:?}"));
            write.clone_into(&mut lines[at]);
        }
        FixPlace::Tag => {
            let end = lines[at].find("/>").or_else(|| lines[at].find('>')).unwrap();
            lines[at].insert_str(end, &format!(" {write}"));
        }
        FixPlace::Behind => lines[at] = format!("{} {write}", lines[at]),
        FixPlace::Above => lines.insert(at, write.to_owned()),
        FixPlace::Below if line == 0 => lines.push(write.to_owned()),
        FixPlace::End => lines.push(write.to_owned()),
        FixPlace::Below => lines.insert(line, write.to_owned()),
        FixPlace::After(what) => {
            let before = lines.iter().position(|line| line == what).unwrap_or_else(|| panic!("no {what:?}"));
            lines.insert(before + 1, write.to_owned());
        }
        FixPlace::Nowhere => drop(lines.remove(at)),
        FixPlace::Scenario => keys = format!("{write}\n"),
    }
    let mended = lines.join("\n");
    let (fabric, built) = read(kind, &mended, &keys).unwrap_or_else(|error| panic!("{error}\n{mended}"));
    let (meant_fabric, meant) = read(kind, meant, &keys).unwrap_or_else(|error| panic!("{error}\n{meant}"));
    assert_eq!(fabric, meant_fabric, "{mended}");
    // The lines of collectives may have moved, so they are not compared.
    let content = |built: &anabranch_sim::Built| {
        let mut workload = built.workload.clone();
        workload.jobs.iter_mut().flat_map(|job| &mut job.collectives).for_each(|its| its.place = 0);
        workload
    };
    assert!(content(&built) == content(&meant), "it means something else:\n{mended}");
    match &error.help() {
        Some(help) => format!("{}; write {help}", error.message),
        None => error.message,
    }
}

/// Corrections of the file readers that this test does not apply, with the reasons.
const NOT_FOLLOWED: &[(&str, &str)] = &[
    // The correction changes keys of the scenario. `servers.rs` tests the corrections of shares and of the order of
    // ranks.
    ("cm.rs", "a unit of time cannot be 0"),
    ("simai.rs", "are no share of its groups"),
    ("simai.rs", "has layers 1 to"),
    ("simai.rs", "its groups of _DP_EP overlap"),
    ("simai.rs", "and the most is"),
    ("graph.rs", "it comes to"),
    ("fat_tree.rs", "hosts a ToR do not fit"),
    ("fat_tree.rs", "ports up, which is no whole number"),
    ("fat_tree.rs", "hosts do not fill {filled}; write"),
    // Several corrections are possible, and only the author of the file knows the intended one.
    ("cm.rs", "messages with id"),
    ("lines.rs", "to itself"),
    ("goal.rs", "is here for the second time"),
    ("goal.rs", "is there already"),
    ("msccl.rs", "is here for the second time"),
    ("msccl.rs", "stands behind step"),
    ("msccl.rs", "depid and deps"),
    ("fat_tree.rs", "hosts are not possible"),
    // The correction alone does not make the file valid: other lines, or the whole file, would have to change too.
    ("lines.rs", "it has no `Nodes` line"),
    ("simai.rs", "there are at most"),
    ("msccl.rs", "it is no XML"),
];

/// The code before the text of a problem or of its correction, in the source files of the file readers.
const CALLS: [&str; 5] =
    ["Problem::with_text(", "Problem::with_value(", "Fix::text(", "Fix::value(", "message = format!("];

/// The first string literal in each of the first two arguments of a call. `call` begins after the opening bracket.
fn literals(call: &str) -> [Option<&str>; 2] {
    let (mut depth, mut argument, mut literals) = (1, 0, [None; 2]);
    for (number, part) in call.split('"').enumerate() {
        if number % 2 == 1 {
            if let Some(literal) = literals.get_mut(argument) {
                literal.get_or_insert(part);
            }
            continue;
        }
        for letter in part.chars() {
            match letter {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth -= 1,
                ',' if depth == 1 => argument += 1,
                _ => {}
            }
            if depth == 0 {
                return literals;
            }
        }
    }
    literals
}

/// The texts of problems with their corrections in a source file, split at placeholders.
fn offers(source: &str) -> Vec<Vec<String>> {
    let source = source.split("#[cfg(test)]").next().unwrap();
    let mut joined = String::new();
    for line in source.lines().filter(|line| !line.trim_start().starts_with("//")) {
        match joined.strip_suffix('\\') {
            Some(before) => joined = before.to_owned() + line.trim_start(),
            None => joined = joined + "\n" + line,
        }
    }
    let plain = joined.replace("\\\"", "\u{1}").replace("\\n", "\u{2}");
    let pieces_of = |text: &str| {
        let text = text.replace('\u{1}', "\"").replace("{{", "\u{3}").replace("}}", "\u{4}");
        let pieces = text.split(['{', '}']).enumerate().filter(|(number, _)| number % 2 == 0);
        let pieces = pieces.map(|(_, piece)| piece.replace('\u{3}', "{").replace('\u{4}', "}"));
        pieces.filter(|piece| !piece.is_empty()).collect::<Vec<_>>()
    };
    let offer = |(at, call): (usize, &str)| {
        let [first, second] = literals(&plain[at + call.len()..]);
        let mut pieces: Vec<String> = first.map(pieces_of).unwrap_or_default();
        if call.starts_with("Problem") {
            pieces.push("; write ".to_owned());
            pieces.extend(second.map(pieces_of).unwrap_or_default());
        }
        pieces
    };
    CALLS.iter().flat_map(|call| plain.match_indices(call)).map(offer).collect()
}

#[test]
fn what_is_offered_for_a_file_works_there() {
    let (mut said, mut wrong) = (Vec::new(), Vec::new());
    for (kind, mistakes) in [
        (FileFormat::Cm, of_cm()),
        (FileFormat::Cm, of_connections()),
        (FileFormat::Topo, of_topo()),
        (FileFormat::Topo, of_shapes()),
        (FileFormat::Trace("simai"), of_simai()),
        (FileFormat::Trace("goal"), of_goal()),
        (FileFormat::Trace("msccl"), of_msccl()),
    ] {
        for mistake in &mistakes {
            match std::panic::catch_unwind(|| follow(kind, mistake)) {
                Ok(text) => said.push(text),
                Err(_) => wrong.push(format!("{kind:?}: {:?}, line {}", mistake.written, mistake.line)),
            }
        }
    }
    assert_eq!(wrong, [""; 0], "what went wrong with each of these stands above");
    let holds = |said: &str, pieces: &[String]| {
        pieces
            .iter()
            .try_fold(said, |rest, piece| Some(&rest[rest.find(piece.as_str())? + piece.len()..]))
            .is_some()
    };
    let mut unused = NOT_FOLLOWED.to_vec();
    let mut missing = Vec::new();
    for (file, source) in [
        ("cm.rs", include_str!("../../../workload/src/cm.rs")),
        ("lines.rs", include_str!("../../../workload/src/cm/lines.rs")),
        ("text.rs", include_str!("../../../workload/src/text.rs")),
        ("simai.rs", include_str!("../../../workload/src/trace/simai.rs")),
        ("simai.rs", include_str!("../../../workload/src/trace/simai/groups.rs")),
        ("simai.rs", include_str!("../../../workload/src/trace/simai/layer.rs")),
        ("goal.rs", include_str!("../../../workload/src/trace/goal.rs")),
        ("graph.rs", include_str!("../../../workload/src/trace/graph.rs")),
        ("msccl.rs", include_str!("../../../workload/src/trace/msccl.rs")),
        ("topo_file.rs", include_str!("../../../fabric/src/topo_file.rs")),
        ("fat_tree.rs", include_str!("../../../fabric/src/fat_tree.rs")),
    ] {
        for mut pieces in offers(source) {
            // The reader of a fabric file writes its own key before the correction.
            if let (true, Some(at)) =
                (file == "fat_tree.rs", pieces.iter().position(|piece| piece == "; write "))
            {
                pieces.truncate(at + 1);
            }
            let text = pieces.join("{}");
            let known = |(of, begins): &(&str, &str)| {
                let begins: String = begins.split(['{', '}']).step_by(2).collect::<Vec<_>>().join("{}");
                *of == file && text.contains(begins.trim_end_matches("{}"))
            };
            if NOT_FOLLOWED.iter().any(known) {
                unused.retain(|entry| !known(entry));
            } else if !said.iter().any(|said| holds(said, &pieces)) {
                missing.push(format!("{file}: {text}"));
            }
        }
    }
    assert_eq!(missing, [""; 0], "no mistake above has these answers");
    assert_eq!(unused, [("", ""); 0], "nobody offers this any more");
}

/// Chakra traces are written by tools, so corrections change the file of groups or state that the scenario must name
/// such a file.
#[test]
fn what_is_offered_for_groups_of_chakra_works() {
    use super::formats::{BOOL, INT64, file, node};
    let reduce = node(1, 7, &[]).attribute("is_cpu_op", BOOL, 0).attribute("comm_type", INT64, 0);
    let reduce = file(&[reduce.attribute("comm_size", INT64, 40_860).attribute("comm_group", INT64, 1)]);
    let of = |keys: &str, groups: &str| {
        let beside = vec![("groups.json".to_owned(), groups.as_bytes().to_vec())];
        of_ranks_beside(keys, &[reduce.clone(), reduce.clone()], beside).map(|result| result.jobs[0].cct_ps)
    };
    let named = "comm_groups = \"groups.json\"";
    let expected = of(named, "{\"1\": [0, 1]}").unwrap();
    let error = of("", "").unwrap_err();
    assert!(
        error.starts_with("job.0.et: node 1 ") && error.ends_with(&format!("\n  write: {named}")),
        "{error}"
    );
    for (groups, says, mended) in [
        ("{\"1\": [0, 5]}", "\n  write: 0 to 1", "{\"1\": [0, 1]}"),
        ("{\"1\": [0, 1, 1]}", "\n  write: it once", "{\"1\": [0, 1]}"),
    ] {
        let error = of(named, groups).unwrap_err();
        assert!(error.starts_with("groups.json: group `1` has rank") && error.ends_with(says), "{error}");
        assert_eq!(of(named, mended).unwrap(), expected);
    }
}
