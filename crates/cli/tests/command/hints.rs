//! Tests of the corrections that error messages propose. A correction works and has the meaning that the user intended.

use crate::common::{Place, SMALL, edited};

/// A fault that loses packets on one link, to which tests append further lines.
const LOSS: &str = "[[fault]]\nkind = \"packet-loss\"\nlinks = \"tor:0/up:0\"\nprobability = 0.01\n";

/// Checks `wrong`, which must be refused with a proposal that begins with `offered`. Then checks `wrong` with
/// `written` replaced by `offered`, and returns the resolved scenario.
#[track_caller]
fn followed(wrong: &str, written: &str, offered: &str) -> String {
    let place = Place::new();
    place.write("s.toml", wrong);
    let refused = place.run(&["check", "s.toml"]).expect(2);
    let help = refused.stderr.lines().find_map(|line| line.trim().strip_prefix("write: "));
    let help = help.unwrap_or_else(|| panic!("no help:\n{}", refused.stderr));
    assert!(help.starts_with(offered), "{offered:?} is not offered:\n{}", refused.stderr);
    assert!(!refused.stderr.contains("invalid type"), "{}", refused.stderr);
    assert!(wrong.contains(written), "{written:?} is not in:\n{wrong}");
    place.write("s.toml", wrong.replace(written, offered));
    place.run(&["check", "s.toml"]).expect(0).stdout
}

#[test]
fn oversubscription_is_a_number_or_a_ratio() {
    let with = |written: &str| edited("tiers = 2", &format!("tiers = 2\noversubscription = {written}"));
    for written in ["2", "2.0", "\"2:1\"", "\"4:2\""] {
        let place = Place::new();
        place.write("s.toml", with(written));
        let resolved = place.run(&["check", "s.toml"]).expect(0).stdout;
        assert!(resolved.contains("radix_up = 2"), "{written}: {resolved}");
    }
    // With a ratio of 4:3, a ToR of 4 hosts has 3 uplinks.
    let place = Place::new();
    place.write("s.toml", with("\"4:3\""));
    assert!(place.run(&["check", "s.toml"]).expect(0).stdout.contains("radix_up = 3"));
    for written in ["\"1:2\"", "0.5"] {
        let line = format!("oversubscription = {written}");
        let resolved = followed(&with(written), &line, "oversubscription = 2");
        assert!(resolved.contains("radix_up = 2"), "{written}: {resolved}");
    }
    let resolved = followed(&with("\"4:1:1\""), "oversubscription = \"4:1:1\"", "oversubscription = 4");
    assert!(resolved.contains("radix_up = 1"), "{resolved}");
}

#[test]
fn a_size_of_0_without_a_unit_is_followed_by_one_that_is_taken() {
    for zero in ["\"0\"", "0"] {
        let written = format!("bytes = {zero}");
        followed(&edited("bytes = \"100KB\"", &written), &written, "bytes = \"8MiB\"");
    }
    // A latency may be 0.
    let with = |latency: &str| edited("tiers = 2", &format!("tiers = 2\nlink_latency = {latency}"));
    followed(&with("\"0\""), "link_latency = \"0\"", "link_latency = \"0us\"");
}

#[track_caller]
fn help_for(wrong: &str) -> String {
    let place = Place::new();
    place.write("s.toml", wrong);
    let refused = place.run(&["check", "s.toml"]).expect(2).stderr;
    let help = refused.lines().find_map(|line| line.trim().strip_prefix("write: "));
    help.unwrap_or_else(|| panic!("no help:\n{refused}")).to_owned()
}

#[test]
fn a_list_in_the_place_of_a_value_is_a_sweep() {
    let help = help_for(&edited("tiers = 2", "tiers = 2\noversubscription = [1, 4]"));
    let line = help.strip_suffix(" below [sweep], in the place of oversubscription here").unwrap();
    let place = Place::new();
    place.write("s.toml", format!("{SMALL}[sweep]\n{line}\n"));
    assert!(place.run(&["check", "s.toml"]).expect(0).stdout.contains("2 sweep points"));
    let help = help_for(&format!("{SMALL}[sweep]\nload = [0.2, 0.4]\n"));
    assert_eq!(
        help,
        "\"workload.load\" = [0.2, 0.4], where that is a workload which has it: kind = \"poisson\""
    );
}

#[test]
fn a_kind_that_is_none_is_answered_with_a_whole_part() {
    let line = "\"reps.lb.kind\" = \"opps\"";
    followed(&format!("{SMALL}[set]\n{line}\n"), line, "\"reps.lb\" = { evs = 65536, kind = \"ops\" }");
}

#[test]
fn what_is_offered_keeps_what_was_meant() {
    let names = edited("schemes = [\"reps\", \"ops\"]", "scheme = [\"reps\", \"ops\"]");
    followed(&names, "scheme = [\"reps\", \"ops\"]", "schemes = [\"reps\", \"ops\"]");
    let line = "\"*.fabric.ecn\" = false";
    followed(&format!("{SMALL}[set]\n{line}\n"), line, "\"*.fabric.ecn_pmax\" = 0.0");
    let lost = LOSS.replace("probability", "rate");
    followed(&format!("{SMALL}{lost}"), "rate = 0.01", "probability = 0.01");
    let named = |name: &str| format!("{SMALL}{}", LOSS.replace("\"tor:0/up:0\"", name));
    followed(&named("\"tor0-spine1\""), "links = \"tor0-spine1\"", "links = \"cable:tor:0/up:1\"");
    let two = "[\"tor:0/up:0\", \"cable:tor:1/up0\"]";
    let help = help_for(&named(two));
    assert_eq!(help, "links = [\"tor:0/up:0\", \"cable:tor:1/up:0\"]");
    let flap = format!(
        "{SMALL}[[fault]]\nkind = \"link-fail\"\nlinks = \"tor:0/up:0\"\nperiod = \"20us\"\ndown_for = \"5us\"\n"
    );
    followed(&flap, "kind = \"link-fail\"", "kind = \"link-flap\"");
    let tiers = edited("\"fat-tree\"", "\"leaf-spine\"");
    assert_eq!(help_for(&tiers), "nothing: leave the line out");
    let poisson = "kind = \"poisson\"\nsizes = \"websearch\"\nduration = \"20us\"\nload = 1.8";
    let loaded = edited("kind = \"permutation\"\nbytes = \"100KB\"", poisson);
    followed(&loaded, "load = 1.8", "load = 1.5");
}

#[test]
fn options_of_other_programs_are_answered_with_ours() {
    let place = Place::new();
    place.write("s.toml", SMALL);
    for (args, tip) in [
        (["run", "s.toml", "-o", "out"], "--out FOLDER"),
        (["run", "s.toml", "--csv", "out"], "anabranch export FOLDER"),
        (["run", "s.toml", "--quiet", "out"], "2> /dev/null"),
        (["run", "s.toml", "--seed", "1-3"], "write --seed 1,2,3"),
        (["run", "s.toml", "--seed", "-1"], "a seed is a whole number of 0 or more"),
        (["trace", "s.toml", "--seed", "-1"], "a seed is a whole number of 0 or more"),
        (["run", "s.toml", "--set", "x"], "[set] and below it the parameter in the scenario"),
    ] {
        let said = place.run(&args).expect(2).stderr;
        assert!(said.contains(tip) && !said.contains("as a value"), "{said}");
    }
    let said = place.run(&["reproduce"]).expect(2).stderr;
    assert!(said.contains("anabranch reproduce --all") && said.contains("dcp ("), "{said}");
}

#[test]
fn a_number_without_a_unit_is_answered_with_the_number() {
    let at = |written: &str| format!("{SMALL}{LOSS}at = {written}\n");
    for written in ["\"50\"", "50"] {
        let line = format!("at = {written}");
        let resolved = followed(&at(written), &line, "at = \"50us\"");
        assert!(resolved.contains("at = \"50us\""), "{resolved}");
    }
    for written in ["\"100\"", "100"] {
        let line = format!("link = {written}");
        followed(&edited("link = \"400Gbps\"", &line), &line, "link = \"100Gbps\"");
    }
    let bytes = edited("bytes = \"100KB\"", "bytes = 64000");
    assert!(followed(&bytes, "bytes = 64000", "bytes = \"64000B\"").contains("64KB"));
}

#[test]
fn other_ways_to_write_numbers_are_answered_with_the_number() {
    for (key, written, offered) in [
        ("bytes = \"100KB\"", "bytes = \"1,5MB\"", "bytes = \"1.5MB\""),
        ("link = \"400Gbps\"", "link = \"25GB/s\"", "link = \"200Gbps\""),
    ] {
        followed(&edited(key, written), written, offered);
    }
    let at = "at = \"1e-5s\"";
    assert!(followed(&format!("{SMALL}{LOSS}{at}\n"), at, "at = \"0.00001s\"").contains("at = \"10us\""));
    let probability = "probability = \"0,1\"";
    let wrong = format!("{SMALL}{}", LOSS.replace("probability = 0.01", probability));
    followed(&wrong, probability, "probability = 0.1");
}

#[test]
fn a_parameter_of_a_scheme_without_a_unit_is_answered_with_the_number() {
    for written in ["100000", "\"100000\""] {
        let line = format!("\"*.fabric.queue\" = {written}");
        let wrong = format!("{SMALL}[set]\n{line}\n");
        let resolved = followed(&wrong, &line, "\"*.fabric.queue\" = \"100KB\"");
        assert!(resolved.contains("queue = \"100KB\""), "{resolved}");
    }
    let line = "\"reps.transport.rto\" = 70";
    let resolved = followed(&format!("{SMALL}[set]\n{line}\n"), line, "\"reps.transport.rto\" = \"70us\"");
    assert!(resolved.contains("rto = \"70us\""), "{resolved}");
}

#[test]
fn a_fault_in_a_sweep_is_named_by_its_number() {
    let line = "\"fault.probability\" = [0.1, 0.2]";
    let wrong = format!("{SMALL}{LOSS}[sweep]\n{line}\n");
    let place = Place::new();
    place.write("s.toml", &wrong);
    let refused = place.run(&["check", "s.toml"]).expect(2).stderr;
    assert!(refused.contains("write: \"fault.0.probability\" = ["), "{refused}");
    place.write("s.toml", wrong.replace("fault.probability", "fault.0.probability"));
    place.run(&["check", "s.toml"]).expect(0);
}

#[test]
fn a_kind_of_fault_is_answered_with_the_nearest() {
    let wrong = |kind: &str| format!("{SMALL}[[fault]]\nkind = \"{kind}\"\nlinks = \"tor:0/up:0\"\n");
    followed(&wrong("link_down"), "kind = \"link_down\"", "kind = \"link-down\"");
    let place = Place::new();
    place.write("s.toml", wrong("flap"));
    let refused = place.run(&["check", "s.toml"]).expect(2).stderr;
    assert!(refused.contains("link-flap"), "{refused}");
    // Missing required keys are reported one after the other.
    let flap = wrong("link-flap");
    place.write("s.toml", &flap);
    let refused = place.run(&["check", "s.toml"]).expect(2).stderr;
    assert!(refused.contains("has no \"period\"\n  write: period = \"200us\""), "{refused}");
    place.write("s.toml", format!("{flap}period = \"200us\"\n"));
    let refused = place.run(&["check", "s.toml"]).expect(2).stderr;
    assert!(refused.contains("has no \"down_for\"\n  write: down_for = \"50us\""), "{refused}");
    place.write("s.toml", format!("{flap}period = \"200us\"\ndown_for = \"50us\"\n"));
    place.run(&["check", "s.toml"]).expect(0);
    let always = format!("{flap}period = \"200us\"\ndown_for = \"300us\"\n");
    followed(&always, "down_for = \"300us\"", "down_for = \"100us\"");
}

#[test]
fn letters_that_changed_places_are_found() {
    let place = Place::new();
    let refused = place.run(&["rnu", "s.toml"]).expect(2).stderr;
    assert!(refused.contains("'run'"), "{refused}");
    let refused = place.run(&["frobnicate"]).expect(2).stderr;
    assert!(!refused.contains("similar"), "{refused}");
    let wrong = edited("\"ops\"", "\"osp\"");
    place.write("s.toml", &wrong);
    let refused = place.run(&["check", "s.toml"]).expect(2).stderr;
    assert!(refused.contains("write: \"ops\""), "{refused}");
}

#[test]
fn a_kind_where_a_part_is_wanted_is_answered_with_the_whole_part() {
    for line in ["\"reps.lb\" = \"ops\"", "\"reps.lb.kind\" = \"ops\""] {
        let wrong = format!("{SMALL}[set]\n{line}\n");
        let resolved = followed(&wrong, line, "\"reps.lb\" = { evs = 65536, kind = \"ops\" }");
        assert!(!resolved.contains("kind = \"reps\""), "{resolved}");
    }
    let place = Place::new();
    let own = "[[scheme]]\nname = \"mine\"\ntransport = { kind = \"sack\" }\nlb = ";
    for (lb, says) in [("\"ops\"", "lb is a table"), ("{ evs = 4 }", "lb does not say which kind")] {
        let parts = "[scheme.cc]\nkind = \"constant\"\nwindow = \"1bdp\"\n[scheme.fabric]\nqueue = \"1bdp\"\n\
                     control_queue = \"1bdp\"\necn_kmin = \"0.2bdp\"\necn_kmax = \"0.8bdp\"\necn_pmax = 1.0\ntrim = false\n";
        let transport = "{ kind = \"sack\", payload = \"4096B\", header = \"64B\", ack = \"64B\", ack_every = 1, rto = \"70us\" }";
        let own = own.replace("{ kind = \"sack\" }", transport);
        place.write("s.toml", format!("{SMALL}{own}{lb}\n{parts}"));
        let refused = place.run(&["check", "s.toml"]).expect(2).stderr;
        assert!(refused.contains(says) && refused.contains("write: lb = { "), "{refused}");
    }
}

#[test]
fn a_kind_where_a_scheme_is_wanted_is_answered_with_a_scheme_of_it() {
    let place = Place::new();
    place.write("s.toml", edited("\"ops\"", "\"dctcp\""));
    let refused = place.run(&["check", "s.toml"]).expect(2).stderr;
    assert!(refused.contains("\"dctcp\" is a congestion control and no scheme"), "{refused}");
    let set = refused.split("set = ").nth(1).unwrap().lines().next().unwrap();
    let scheme = format!("[[scheme]]\nbase = \"reps\"\nname = \"dctcp\"\nset = {set}\n");
    place.write("s.toml", format!("{}{scheme}", edited("\"ops\"", "\"dctcp\"")));
    place.run(&["check", "s.toml"]).expect(0);
}

#[test]
fn what_is_no_list_is_answered_with_the_list_that_is_meant() {
    let resolved = followed(&edited("seeds = [1]", "seeds = 3"), "seeds = 3", "seeds = [1, 2, 3]");
    assert!(resolved.contains("seeds = [1, 2, 3]"), "{resolved}");
    followed(&edited("seeds = [1]", "seeds = \"4, 5\""), "seeds = \"4, 5\"", "seeds = [4, 5]");
    let names = edited("[\"reps\", \"ops\"]", "\"reps, ops\"");
    followed(&names, "schemes = \"reps, ops\"", "schemes = [\"reps\", \"ops\"]");
    let line = "\"topology.oversubscription\" = \"1,2\"";
    let swept = format!("{SMALL}[sweep]\n{line}\n");
    followed(&swept, line, "\"topology.oversubscription\" = [1, 2]");
}

#[test]
fn a_time_without_a_unit_is_in_the_usual_one_of_its_key() {
    for (written, offered) in [("1", "1s"), ("100", "100ms"), ("\"1\"", "1s")] {
        let (line, offered) = (format!("max_time = {written}"), format!("max_time = \"{offered}\""));
        followed(&format!("{SMALL}[limits]\n{line}\n"), &line, &offered);
    }
    for (written, offered) in [("500", "500ns"), ("1", "1us")] {
        let (line, offered) = (format!("link_latency = {written}"), format!("link_latency = \"{offered}\""));
        followed(&edited("tiers = 2", &format!("tiers = 2\n{line}")), &line, &offered);
    }
    let line = "hosts = 16.0";
    followed(&edited("hosts = 16", line), line, "hosts = 16");
}

#[test]
fn a_percentage_of_a_threshold_is_a_share_of_the_queue() {
    let line = "\"*.fabric.ecn_kmin\" = \"20%\"";
    let resolved = followed(&format!("{SMALL}[set]\n{line}\n"), line, "\"*.fabric.ecn_kmin\" = \"0.2queue\"");
    assert!(resolved.contains("ecn_kmin = \"0.2queue\""), "{resolved}");
    let lossless = edited("[\"reps\", \"ops\"]", "[\"rocev2\"]");
    followed(&format!("{lossless}[set]\n{line}\n"), line, "\"*.fabric.ecn_kmin\" = \"0.2bdp\"");
}

#[test]
fn a_parameter_without_its_scheme_is_answered_with_its_path() {
    let path = "\"*.fabric.queue\" = \"300KB\"";
    for line in ["\"queue\" = \"300KB\"", "\"fabric.queue\" = \"300KB\""] {
        let resolved = followed(&format!("{SMALL}[set]\n{line}\n"), line, path);
        assert!(resolved.contains("queue = \"300KB\""), "{resolved}");
    }
    let swept = |line: &str| format!("{SMALL}[sweep]\n{line}\n");
    for (line, offered) in [
        ("\"queue\" = [\"300KB\", \"1MB\"]", "\"*.fabric.queue\" = [\"300KB\", \"1MB\"]"),
        ("\"fabric.queue\" = [\"300KB\"]", "\"*.fabric.queue\" = [\"300KB\"]"),
        ("\"hosts\" = [16, 32]", "\"topology.hosts\" = [16, 32]"),
        ("\"bytes\" = [\"1KB\", \"2KB\"]", "\"workload.bytes\" = [\"1KB\", \"2KB\"]"),
    ] {
        followed(&swept(line), line, offered);
    }
    let place = Place::new();
    place.write("s.toml", swept("\"seed\" = [1, 2]"));
    let refused = place.run(&["check", "s.toml"]).expect(2).stderr;
    assert!(refused.contains("write: seeds = [1, 2] at the top"), "{refused}");
}

#[test]
fn links_and_switches_that_are_written_in_another_way_are_found() {
    let fault = |kind: &str, line: &str| format!("{SMALL}[[fault]]\nkind = \"{kind}\"\n{line}\n");
    for (kind, line, offered) in [
        ("switch-down", "switches = \"spine0\"", "switches = \"spine:0\""),
        ("switch-down", "switches = \"leaf1\"", "switches = \"tor:1\""),
        ("switch-down", "links = \"spine:0\"", "switches = \"spine:0\""),
        ("link-down", "links = \"tor0/up0\"", "links = \"tor:0/up:0\""),
        ("link-down", "links = \"ToR[0].up[0]\"", "links = \"tor:0/up:0\""),
    ] {
        followed(&fault(kind, line), line, offered);
    }
    let place = Place::new();
    place.write("s.toml", fault("switch-down", "links = \"tor:0/up:0\""));
    let refused = place.run(&["check", "s.toml"]).expect(2).stderr;
    assert!(refused.contains("kind = \"link-down\" with links = \"tor:0/up:0\""), "{refused}");
}

#[test]
fn a_collective_is_answered_with_its_algorithm() {
    let text = |workload: &str| edited("kind = \"permutation\"", workload);
    let whole = "kind = \"collective\"\nalgorithm = \"all-reduce\"";
    followed(&text(whole), "algorithm = \"all-reduce\"", "algorithm = \"allreduce-ring\"");
    let key = "kind = \"collective\"\ncollective = \"all-reduce\"";
    followed(&text(key), "collective = \"all-reduce\"", "algorithm = \"allreduce-ring\"");
    let place = Place::new();
    place.write("s.toml", text("kind = \"AllReduce\""));
    let refused = place.run(&["check", "s.toml"]).expect(2).stderr;
    assert!(
        refused.contains("write: kind = \"collective\" and below it algorithm = \"allreduce-ring\""),
        "{refused}"
    );
    let half = "kind = \"collective\"\nalgorithm = \"allreduce-ring\"\ndepth = 1.5";
    followed(&text(half), "depth = 1.5", "depth = 2");
}

#[test]
fn a_lossless_class_is_no_switch() {
    let line = "\"*.fabric.pfc\" = true";
    let resolved = followed(&format!("{SMALL}[set]\n{line}\n"), line, "\"*.fabric.pfc\" = {}");
    assert!(resolved.contains("resume"), "{resolved}");
}

#[test]
fn all_schemes_are_named_and_programs_of_data_centres_are_sent_there() {
    let place = Place::new();
    place.write("s.toml", edited("[\"reps\", \"ops\"]", "[\"all\"]"));
    let refused = place.run(&["check", "s.toml"]).expect(2).stderr;
    let names = refused.split("schemes = ").nth(1).unwrap().split(']').next().unwrap();
    place.write("s.toml", edited("[\"reps\", \"ops\"]", &format!("{names}]")));
    place.run(&["check", "s.toml"]).expect(0);
    place.write("s.toml", edited("\"ops\"", "\"themis-longhaul\""));
    let refused = place.run(&["check", "s.toml"]).expect(2).stderr;
    let says = "write: kind = \"cross-dc\" below [topology], or schemes without \"themis-longhaul\"";
    assert!(refused.contains(says), "{refused}");
}

#[test]
fn what_others_call_keys_is_understood() {
    for (line, wrong, offered) in [
        ("link = \"400Gbps\"", "bandwidth = \"400Gbps\"", "link = \"400Gbps\""),
        ("bytes = \"100KB\"", "size = \"100KB\"", "bytes = \"100KB\""),
        ("seeds = [1]", "seed = 7", "seeds = [7]"),
        ("seeds = [1]", "seeds = \"1-3\"", "seeds = [1, 2, 3]"),
    ] {
        followed(&edited(line, wrong), wrong, offered);
    }
    let fault = "[[fault]]\nkind = \"link-down\"\nlinks = \"tor:0/up:0\"\n";
    for (table, wrong, offered) in [
        (fault, "start = \"1us\"", "at = \"1us\""),
        (fault, "end = \"9us\"", "until = \"9us\""),
        ("[limits]\n", "time = \"1ms\"", "max_time = \"1ms\""),
        ("[[measure]]\nlinks = \"tor:0/up\"\n", "series = \"utilization\"", "series = \"link-utilisation\""),
        ("[[measure]]\nlinks = \"tor:0/up\"\n", "kind = \"drops\"", "series = \"drops\""),
        ("[set]\n", "\"setup.fabric.queue\" = \"1MB\"", "\"*.fabric.queue\" = \"1MB\""),
        ("[[fault]]\nkind = \"link-down\"\n", "links = \"tor:0->spine:0\"", "links = \"tor:0/up:0\""),
    ] {
        followed(&format!("{SMALL}{table}{wrong}\n"), wrong, offered);
    }
    let place = Place::new();
    place.write("s.toml", format!("{SMALL}[set]\n\"*.fabric.queue\" = [\"1MB\", \"2MB\"]\n"));
    let refused = place.run(&["check", "s.toml"]).expect(2).stderr;
    assert!(refused.contains("write: several values of it below [sweep], or one of them here"), "{refused}");
}

#[test]
fn a_question_is_mended_as_it_was_meant() {
    let question = "[find]\nparameter = \"*.fabric.queue\"\nsmallest = [\"10KB\", \"4MB\"]\nwhere = \"drops(scheme) == 0\"\n";
    let text = |from: &str, to: &str| format!("{SMALL}{}", question.replace(from, to));
    let (right, wrong) = ("parameter = \"*.fabric.queue\"", "parameter = \"queue\"");
    followed(&text(right, wrong), wrong, right);
    let (right, wrong) = ("smallest = [\"10KB\", \"4MB\"]", "smallest = [\"4MB\", \"10KB\"]");
    followed(&text(right, wrong), wrong, right);
    let wrong = "minimum = [\"10KB\", \"4MB\"]";
    let place = Place::new();
    for (text, says) in [
        (
            text("where = \"drops(scheme) == 0\"\n", ""),
            "[find] has no \"where\"\n  write: where = \"drops(scheme) == 0\"",
        ),
        (text(right, wrong), "unknown key \"minimum\" in [find]\n  write: smallest"),
        (text("\"4MB\"", "\"4MB\", \"1MB\""), "the values neither rise nor fall"),
    ] {
        place.write("s.toml", text);
        let refused = place.run(&["check", "s.toml"]).expect(2).stderr;
        assert!(refused.contains(says), "{refused}");
    }
}

#[test]
fn what_is_no_scenario_is_sent_where_it_belongs() {
    let place = Place::new();
    place.write("s.toml", SMALL);
    for (args, says) in [
        (&["run", "incast.toml"][..], "help: `anabranch list examples incast > incast.toml` writes"),
        (&["run", "reps/figure-2"], "a figure runs by `anabranch reproduce reps/figure-2`"),
        (&["run", "nothing.toml"], "`anabranch list examples` has some to begin with"),
        (&["run", "."], "name the scenario in it, such as ./scenario.toml"),
        (
            &["reproduce", "figure-2"],
            "does not say of which paper\n  help: one of dcp/figure-2, reps/figure-2",
        ),
        (&["export", "nowhere"], "nowhere: not a folder of results: it does not exist"),
    ] {
        let refused = place.run(args).expect(2).stderr;
        assert!(refused.contains(says), "{args:?}: {refused}");
    }
    let run =
        place.run(&["run", "s.toml", "--scheme", "ecmp,ops", "--seed", "1,2", "--json"]).expect(0).json();
    assert_eq!(run["runs"].as_array().unwrap().len(), 4);
}

#[test]
fn a_switch_that_fails_is_answered_with_one_that_is_down() {
    for kind in ["switch-fail", "switch_failure", "node-down", "tor-crash"] {
        let line = format!("kind = \"{kind}\"");
        let wrong =
            format!("{SMALL}[[fault]]\n{line}\nswitches = \"spine:0\"\nat = \"1us\"\nduration = \"5us\"\n");
        let resolved = followed(&wrong, &line, "kind = \"switch-down\"");
        assert!(resolved.contains("switch-down spine:0"), "{resolved}");
    }
    // The correction also contains the key that names the target of the fault.
    let wrong = format!("{SMALL}[[fault]]\nkind = \"switch-fail\"\nduration = \"5us\"\n");
    let whole = "kind = \"switch-down\" with switches = \"spine:0\"";
    let place = Place::new();
    place.write("s.toml", &wrong);
    let refused = place.run(&["check", "s.toml"]).expect(2).stderr;
    assert!(refused.contains(&format!("write: {whole}")), "{refused}");
    place.write("s.toml", wrong.replace("kind = \"switch-fail\"", &whole.replace(" with ", "\n")));
    place.run(&["check", "s.toml"]).expect(0);
    let link =
        format!("{SMALL}[[fault]]\nkind = \"link-failure\"\nlinks = \"tor:0/up:0\"\nduration = \"5us\"\n");
    followed(&link, "kind = \"link-failure\"", "kind = \"link-down\"");
}

/// Searches for `parameter` in [`SMALL`] with `schemes`, follows the proposals, and returns the parameter that works.
#[track_caller]
fn asked_for(schemes: &str, parameter: &str) -> String {
    let place = Place::new();
    let question = |parameter: &str| {
        let small = edited("[\"reps\", \"ops\"]", schemes);
        format!(
            "{small}[find]\nparameter = \"{parameter}\"\nsmallest = [\"16MB\", \"64MB\"]\n\
             where = \"fct_max(scheme) < 1000\"\nresolution = 0.9\n"
        )
    };
    place.write("s.toml", question(parameter));
    let refused = place.run(&["find", "s.toml", "--out", "out"]).expect(2).stderr;
    let help = refused.lines().find_map(|line| line.trim().strip_prefix("write: parameter = \""));
    let meant = help.unwrap_or_else(|| panic!("no help:\n{refused}")).trim_end_matches('"').to_owned();
    place.write("s.toml", question(&meant));
    place.run(&["find", "s.toml", "--out", "out"]).expect(0);
    meant
}

#[test]
fn a_buffer_is_answered_with_what_it_is_called_here() {
    for written in ["fabric.buffer", "*.fabric.buffer", "fabric.queue"] {
        assert_eq!(asked_for("[\"reps\", \"ops\"]", written), "*.fabric.queue", "{written}");
    }
    assert_eq!(asked_for("[\"reps\"]", "reps.fabric.buffer"), "reps.fabric.queue");
    assert_eq!(asked_for("[\"rocev2\"]", "fabric.buffer"), "*.fabric.pfc.buffer");
}

#[test]
fn a_range_that_begins_below_a_packet_is_answered_with_one_that_does_not() {
    for (low, high) in [("100B", "4MB"), ("2KB", "4MB"), ("5KB", "4MB"), ("1KB", "4KB")] {
        let place = Place::new();
        let question = |range: &str| {
            format!(
                "{SMALL}[find]\nparameter = \"*.fabric.queue\"\n{range}\nwhere = \"drops(scheme) == 0\"\nresolution = 0.9\n"
            )
        };
        place.write("s.toml", question(&format!("smallest = [\"{low}\", \"{high}\"]")));
        let warned = place.run(&["find", "s.toml", "--out", "out"]).expect(0).stderr;
        let offered =
            warned.lines().find_map(|line| line.trim().strip_prefix("write: ")?.strip_suffix(" in [find]"));
        let offered = offered.unwrap_or_else(|| panic!("{low}: no range:\n{warned}"));
        assert!(offered.starts_with("smallest = [\""), "{offered}");
        place.write("s.toml", question(offered));
        let again = place.run(&["find", "s.toml", "--out", "out"]).expect(0).stderr;
        assert!(!again.contains("warning"), "{offered}:\n{again}");
    }
}

#[test]
fn a_figure_is_answered_with_the_command_that_runs_it() {
    let place = Place::new();
    for (figure, offered) in [
        ("figures/dcp/figure-2.toml", "write: anabranch reproduce dcp/figure-2 (with --figures-dir DIR"),
        ("figures/league/alltoall.toml", "write: anabranch league alltoall"),
    ] {
        let path =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(figure).display().to_string();
        for command in ["check", "run"] {
            let refused = place.run(&[command, &path]).expect(2).stderr;
            assert!(
                refused.contains("unknown key \"id\": this is a figure of a paper, not a scenario"),
                "{refused}"
            );
            assert!(refused.contains(offered), "{refused}");
        }
    }
    place.write("own/trial/fig-1.toml", format!("id = \"trial/fig-1\"\n{SMALL}"));
    let refused = place.run(&["check", "own/trial/fig-1.toml"]).expect(2).stderr;
    let offered = refused.lines().find_map(|line| line.trim().strip_prefix("write: anabranch "));
    let offered = offered.unwrap_or_else(|| panic!("no command:\n{refused}"));
    let (command, own) = offered.split_once(" (with ").unwrap();
    assert!(own.starts_with("--figures-dir DIR for a file of one's own, DIR/trial/fig-1.toml"), "{refused}");
    let mut words: Vec<&str> = command.split(' ').collect();
    words.extend(["--figures-dir", "own", "--out", "out"]);
    place.run(&words).expect(0);
}

#[test]
fn programs_get_errors_and_warnings_as_values() {
    let place = Place::new();
    place.write("s.toml", edited("bytes", "byts"));
    for command in ["check", "run"] {
        let error = place.run(&[command, "s.toml", "--json"]).expect(2).json()["error"].clone();
        assert_eq!(error["severity"], "error", "{error}");
        assert_eq!(error["code"], "unknown-key", "{error}");
        assert_eq!(error["file"].as_str(), Some("s.toml"), "{error}");
        assert!(error["line"].is_u64() && error["fix"]["name"] == "bytes", "{error}");
        assert_eq!(error["fix"]["kind"].as_str(), Some("rename"), "{error}");
    }
    place.write(
        "late.toml",
        format!("{SMALL}[[fault]]\nkind = \"link-down\"\nlinks = \"tor:0/up:0\"\nat = \"900ms\"\n"),
    );
    let warned = place.run(&["check", "late.toml", "--json"]).expect(0).json()["diagnostics"].clone();
    assert_eq!(warned[0]["severity"], "warning", "{warned}");
    assert!(warned[0]["fix"]["text"].is_string() || warned[0]["fix"]["value"].is_string(), "{warned}");
}
