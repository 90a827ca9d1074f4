//! Tests of the JSON Schemas: the repository's scenarios, schemes, setups and figures are valid. Of the bad inputs of
//! the other tests, the schema accepts only the ones that are listed here.

use crate::scenario::keys;
use crate::scenario::tests::bad_input_cases::CASES;
use crate::scenario::tests::bad_list_cases::LISTS;
use crate::scenario::tests::bad_sweep_cases::SWEEPS;
use crate::scenario::tests::{GOOD, folder, on};
use crate::scenario::*;
use jsonschema::Validator;
use serde_json::Value;
use std::path::{Path, PathBuf};

const FILES: [SchemaOf; 4] = [SchemaOf::Scenario, SchemaOf::Scheme, SchemaOf::Setup, SchemaOf::Figure];

fn validator(of: SchemaOf) -> Validator {
    jsonschema::draft202012::new(&json_schema(of)).unwrap()
}

fn as_json(text: &str) -> Option<Value> {
    serde_json::to_value(toml::from_str::<toml::Table>(text).ok()?).ok()
}

fn faults(validator: &Validator, text: &str) -> Vec<String> {
    let Some(file) = as_json(text) else { return vec!["no TOML".to_owned()] };
    validator.iter_errors(&file).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files_below(&path, found),
            false if path.extension().is_some_and(|end| end == "toml") => found.push(path),
            false => {}
        }
    }
}

#[test]
fn every_file_of_the_repository_is_valid() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = [
        ("examples", SchemaOf::Scenario, 12),
        ("schemes", SchemaOf::Scheme, 41),
        ("setups", SchemaOf::Setup, 7),
        ("figures", SchemaOf::Figure, 100),
    ];
    let mut wrong = String::new();
    for (folder, of, least) in folders {
        let validator = validator(of);
        let mut files = Vec::new();
        files_below(&root.join(folder), &mut files);
        // The catalogue lists the figures and is not a figure itself.
        files.retain(|path| !path.ends_with("figures/catalogue.toml"));
        assert!(files.len() >= least, "{folder}: {}", files.len());
        for path in files {
            let text = std::fs::read_to_string(&path).unwrap();
            for fault in faults(&validator, &text) {
                wrong += &format!("{}: {fault:.300}\n", path.display());
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn resolved_forms_are_valid() {
    let validator = validator(SchemaOf::Scenario);
    let with = |more: &str| format!("{GOOD}{more}");
    let measured = with(
        "[[measure]]\nseries = \"sender-rtt\"\nqps = \"all\"\n[[measure]]\nseries = \"queue-delay\"\nlinks = \"all\"\n",
    );
    let faulty = with(
        "[[fault]]\nkind = \"link-down\"\nlinks = \"tor:0/up:0\"\nat = [\"1us\", \"9us\"]\nduration = \"2us\"\n",
    );
    let former = with("[[measure]]\nseries = \"set-aside\"\nswitches = \"tor:0\"\n");
    let swept = with(
        "[sweep]\n\"*.fabric.queue\" = [\"1MB\", \"0.5bdp\"]\n\"workload.bytes\" = [\"1MB\", \"2MB\"]\n",
    );
    let all = builtin_names();
    let every_scheme = GOOD.replace("[\"reps\", \"ops\"]", &format!("{all:?}"));
    for text in [GOOD.to_owned(), measured, former, faulty, swept, every_scheme] {
        let scenario =
            read("s.toml", &text, &folder(), &Overrides::default()).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let (written, resolved) = (faults(&validator, &text), faults(&validator, &scenario.to_toml()));
        assert!(written.is_empty() && resolved.is_empty(), "{written:?} {resolved:?}");
    }
}

fn builtin_names() -> Vec<&'static str> {
    schemes()
        .into_iter()
        .map(|listing| listing.name)
        .filter(|name| !name.starts_with("themis-long"))
        .collect()
}

/// The first lines of the errors that the schema does not find, such as errors about rules between values, names of
/// schemes and links, and contents of files.
const LEFT_TO_CHECK: &[&str] = &[
    "perm.toml:2:12: unknown scheme \"rep\"",
    "perm.toml:2:12: unknown scheme \"themis\"",
    "perm.toml:11:1: hosts is 64, but the fabric has 32 hosts",
    "perm.toml:10:1: there is no host 32: the fabric's 32 hosts are 0 to 31",
    "perm.toml:10:1: degree must be 1 to 31, not 32",
    "perm.toml:10:1: unknown size distribution \"webserch\"",
    "perm.toml:10:1: cannot read \"my.cdf\": no such file",
    "perm.toml:9:1: cannot read \"perm.cm\": no such file",
    "perm.toml:5:1: cannot read \"a.topo\": no such file",
    "perm.toml:9:1: lb.buffer must be 1 to 32, not 33",
    "perm.toml:9:9: lb.evs must be 1 to 65536, not 0",
    "perm.toml:9:1: unknown scheme \"rep\"",
    "perm.toml:9:1: this scenario does not run scheme \"ecmp\"",
    "perm.toml:9:1: there is a scheme \"ecmp\" already, and this would run under its name",
    "perm.toml:9:1: fabric.ecn_kmin (0.9bdp) is above fabric.ecn_kmax (0.8bdp)",
    "perm.toml:10:1: unknown scheme \"rps\"",
    "perm.toml:11:1: failures at a rate are random from one time on, but at has several",
    "perm.toml:12:1: until ends one failure, and failures at a rate begin at random times",
    "perm.toml:11:1: fault.0 would fail about 3.2e7 times by max_time = \"1s\", on 32 cables or switches; at most 1e6 failures are simulated",
    "perm.toml:10:1: \"tor:99/up\": there is no tor:99; they are tor:0 to tor:7",
    "perm.toml:12:1: a curve of several links leaves out no points",
    "perm.toml:11:1: \"sender-rtt\" has a point for each acknowledgement, not for each interval",
    "perm.toml:10:1: \"0..7\": \"0..7\" is neither a queue pair's number nor a range of them such as \"0-7\"",
    "perm.toml:10:1: \"0,7-3\": \"7-3\" runs backwards",
    "perm.toml:10:1: \"3,28-40\": the workload has 32 queue pairs, numbers 0 to 31, and no 40",
    "perm.toml:10:1: \"tor:0\": this names switches or their links, but hosts are needed",
    "perm.toml:10:1: \"tor:0/up\": this names switches or their links, but hosts are needed",
    "perm.toml:8:1: [[class]] has no \"scheme\"",
    "perm.toml:8:1: class \"storage\" has no [class.workload]",
    "perm.toml:10:1: class \"main\" is that of the scenario's schemes and [workload], and has no scheme of its own",
    "perm.toml:8:3: scheme \"dcp\" cannot have a class beside others, since its routing is not ECMP; it can be among the schemes",
    "perm.toml:10:1: unknown scheme \"rocev\"",
    "perm.toml:11:3: a fault of kind \"pause-storm\" is for a fabric with one class",
    "perm.toml:9:1: \"background\" is a group of messages already, and a class needs a name of its own",
    "perm.toml:9:20: unknown key \"hots\" in [topology]",
    "perm.toml:9:20: scheme \"reps\" has no parameter \"lb.bufer\"",
    "perm.toml:9:28: \"workload.bytes\" has one value twice, as \"1MB\" and as \"1000KB\"",
    "perm.toml:9:1: \"schemes\" is no parameter of the topology, the workload, a fault or a scheme",
    "perm.toml:9:1: \"title\" is no parameter of the topology, the workload, a fault or a scheme",
    "perm.toml:9:1: \"topolgy.hosts\" begins with neither a part of the scenario nor a scheme",
    "perm.toml:9:25: \"topology.hosts\" has the value 64 twice",
    "perm.toml:10:1: parameters that change together need lists of one length, but \"topology.hosts\" has 2 values and \"workload.bytes\" has 3 values",
    "perm.toml:9:25: \"topology.hosts\", \"workload.bytes\" have the values 64, \"1MB\" twice",
    "perm.toml:10:30: \"topology.hosts\" is swept twice",
    "perm.toml:8:1: sweep.zip is empty",
    "perm.toml:9:19: \"fault.0.rate\" cannot be swept: there is no fault.0, and no fault at all",
    "perm.toml:9:24: lb.buffer must be 1 to 32, not 64",
];

#[test]
fn what_a_schema_can_refuse_is_refused() {
    let validator = validator(SchemaOf::Scenario);
    let permitted = |(from, to, _): &&(&str, &str, &str)| {
        faults(&validator, &on("reps-paper", &GOOD.replacen(from, to, 1))).is_empty()
    };
    let all = || CASES.iter().chain(LISTS).chain(SWEEPS);
    let messages: Vec<&str> =
        all().filter(permitted).filter_map(|(_, _, error)| error.lines().next()).collect();
    assert_eq!(messages, LEFT_TO_CHECK, "of {} cases", all().count());
    assert!(all().count() > 3 * LEFT_TO_CHECK.len());
}

/// Taplo marks everything within the place of an error, so the place of an unknown key must not be the whole table.
#[test]
fn faults_are_at_their_keys() {
    let of = |from: &str, to: &str| faults(&validator(SchemaOf::Scenario), &GOOD.replacen(from, to, 1));
    let unknown = |place: &str, value: &str| {
        vec![format!("{place}: {{\"title\":\"unknown key\"}} is not allowed for {value}")]
    };
    assert_eq!(of("[topology]", "seed = [1]\n[topology]"), unknown("/seed", "[1]"));
    assert_eq!(of("[workload]", "[workload]\nbyts = 1"), unknown("/workload/byts", "1"));
    let set = |line: &str| of("[topology]", &format!("[set]\n{line}\n[topology]"));
    assert_eq!(set("\"reps.lb.bufer\" = 16"), unknown("/set/reps.lb.bufer", "16"));
    let fault = "[[fault]]\nkind = \"link-down\"\nlinks = \"all\"\nat = 5\n[topology]";
    assert_eq!(of("[topology]", fault), [r#"/fault/0/at: 5 is not of types "string", "array""#]);
}

/// Editors that do not evaluate conditions find the keys of all kinds in one definition.
#[test]
fn keys_of_all_kinds_are_in_one_place() {
    let schema = json_schema(SchemaOf::Scenario);
    let definition = |name: &str| &schema["$defs"][name];
    let described =
        |name: &str, key: &str| definition(name)["properties"][key]["description"].as_str().unwrap();
    for table in ["topology", "workload", "fault", "transport", "cc", "lb", "fabric.program"] {
        let any = format!("{table}:any");
        assert_eq!(definition(table)["anyOf"][1]["$ref"], format!("#/$defs/{any}"));
        let kind = &definition(&any)["properties"]["kind"];
        let words = kind["enum"].as_array().unwrap();
        assert_eq!(words.len(), kind["x-taplo"]["docs"]["enumValues"].as_array().unwrap().len(), "{table}");
        for word in words.iter().map(|word| word.as_str().unwrap()) {
            assert!(described(&any, "kind").contains(&format!("`{word}`: ")), "{table} {word}");
            let own = definition(&format!("{table}:{word}"))["properties"].as_object().unwrap();
            let known = definition(&any)["properties"].as_object().unwrap();
            assert!(own.keys().all(|key| known.contains_key(key)), "{table} {word}");
        }
    }
    let bytes = described("workload:any", "bytes");
    let of_each = |kind: &str| {
        bytes.lines().any(|line| line.contains(kind) && line.contains(": Length of each message."))
    };
    assert!(["`permutation`", "`incast`"].into_iter().all(of_each), "{bytes}");
    assert!(bytes.contains("\n\n`collective`: "), "{bytes}");
    // If a key has the same meaning for all kinds, its description does not name the kinds.
    assert!(described("fault:any", "at").starts_with("When"), "{}", described("fault:any", "at"));
}

#[test]
fn every_key_and_every_parameter_is_in_a_schema() {
    let schemas: Vec<Value> = FILES.map(json_schema).into();
    for schema in &schemas {
        jsonschema::meta::validate(schema).unwrap();
    }
    let properties = |name: &str| {
        let found = schemas.iter().find_map(|schema| schema["$defs"][name]["properties"].as_object());
        found.unwrap_or_else(|| panic!("no definition {name}"))
    };
    let is_meaning = |text: &str| text.chars().filter(|letter| letter.is_alphabetic()).count() > 3;
    let mut looked_at = 0;
    for section in keys::all() {
        let table = section.table.trim_matches(['[', ']']);
        let several = keys::all().filter(|other| other.table == section.table).count() > 1;
        let known = match (section.name, several && !table.is_empty()) {
            ("scenario", _) => schemas[0]["properties"].as_object().unwrap(),
            ("setup-file", _) => schemas[2]["properties"].as_object().unwrap(),
            ("figure", _) => schemas[3]["properties"].as_object().unwrap(),
            (name, true) => properties(&format!("{table}:{name}")),
            (_, false) => properties(table),
        };
        assert!(is_meaning(section.meaning), "{}: {:?}", section.name, section.meaning);
        for key in section.keys {
            assert!(known.contains_key(key.name), "{}.{}", section.name, key.name);
            assert!(is_meaning(key.meaning), "{}.{}: {:?}", section.name, key.name, key.meaning);
            looked_at += 1;
        }
    }
    for part in Registry::new().parts() {
        for kind in &part.kinds {
            for parameter in &kind.parameters {
                let whole = match part.part {
                    "" => parameter.name().to_owned(),
                    part => format!("{part}.{}", parameter.name()),
                };
                let path = whole.split("[]").next().unwrap();
                let definition = &schemas[0]["$defs"][format!("parameter:{path}")];
                assert!(definition.is_object(), "{whole}");
                assert!(is_meaning(parameter.meaning()), "{whole}: {:?}", parameter.meaning());
                looked_at += 1;
            }
        }
    }
    assert!(looked_at > 500, "{looked_at}");
}

/// A text that matches the form of a type can be read as that type, and a text that can be read matches the form.
#[test]
fn quantities_have_the_forms_of_their_types() {
    for (key, good, bad) in [
        ("link", &["400Gbps", "1.6Tbps", " 400 Gbps"][..], &["400", "400G", "0Gbps", "-1Gbps", "400GB"][..]),
        (
            "link_latency",
            &["500ns", "0us", "1.5us", "10 ms", "3\u{b5}s"],
            &["500", "5 minutes", "us", "1e3ns"],
        ),
    ] {
        let line = GOOD.lines().find(|line| line.starts_with(&format!("{key} = "))).unwrap_or("hosts = 32");
        for (values, is_good) in [(good, true), (bad, false)] {
            for value in values {
                let own = format!("{key} = \"{value}\"");
                let own = if line.starts_with(key) { own } else { format!("{line}\n{own}") };
                let text = GOOD.replacen(line, &own, 1);
                let reads = read("s.toml", &text, &folder(), &Overrides::default()).is_ok();
                let is_valid = faults(&validator(SchemaOf::Scenario), &text).is_empty();
                assert_eq!((reads, is_valid), (is_good, is_good), "{own}");
            }
        }
    }
}

/// The names of the completions at the place marked by `|`.
fn completed(text: &str) -> Vec<String> {
    let (before, after) = text.split_once('|').unwrap();
    completions(before, after).list.into_iter().map(|one| one.name).collect()
}

#[test]
fn keys_and_words_are_completed_where_they_stand() {
    let first = |text: &str| {
        let (before, after) = text.split_once('|').unwrap();
        let Completions { replaced, list } = completions(before, after);
        (replaced, list.into_iter().next().map(|one| (one.text, one.meaning)).unwrap_or_default())
    };
    let (replaced, (text, meaning)) =
        first("[topology]\nkind = \"fat-tree\"\nov|\n[workload]\nbytes = \"1MB\"\n");
    assert_eq!((replaced, text.as_str()), (2, "oversubscription = 1"));
    assert!(meaning.contains("hosts of a ToR"), "{meaning}");
    assert_eq!(first("title = \"t\"\nwork|").1.0, "[workload]\n");
    assert_eq!(first("fau|").1.0, "[[fault]]\n");
    assert_eq!(first("[set]\n\"*.fabric.queue|").1.0, "\"*.fabric.queue\" = \"1bdp\"");
    assert_eq!(first("[workload]\nkind = |").1.0, "\"permutation\"");
    assert_eq!(first("[[measure]]\nseries = \"queue-de|\n").1.0, "\"queue-delay\"");
    // Keys of other kinds, and keys that are already written, are not offered.
    let of_fat_tree = completed("[topology]\n|\nkind = \"fat-tree\"\nhosts = 16\n");
    assert!(of_fat_tree.contains(&"tiers".to_owned()), "{of_fat_tree:?}");
    assert!(
        !of_fat_tree.iter().any(|name| ["hosts", "kind", "wan_link"].contains(&name.as_str())),
        "{of_fat_tree:?}"
    );
    assert!(completed("[topology]\n|").contains(&"wan_link".to_owned()));
    assert!(completed("[[workload.message]]\n|").contains(&"from".to_owned()));
    let of_reps = completed("[[scheme]]\nname = \"x\"\n[scheme.lb]\nkind = \"reps\"\nbuf|");
    assert_eq!(of_reps, ["buffer"]);
    assert!(completed("[sweep]\n\"topology.h|").contains(&"topology.hosts".to_owned()));
    for nothing in ["[topology]\nhosts = 16 |", "# a comment|", "[nowhere]\n|", "title = \"a |\""] {
        assert!(completed(nothing).is_empty(), "{nothing}");
    }
}
