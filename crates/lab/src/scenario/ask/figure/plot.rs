//! The plots of a figure: reads `[plot]` tables and checks that the runs will have the data for them.

use super::drawn_names::{groups, numbers};
use super::{Figure, ModelSpec};
use crate::scenario::keys;
use crate::scenario::keys::figure::PLOT_KINDS;
use crate::scenario::read::table::{Table, list, nearest};
use crate::scenario::resolve::scheme::builtin::schemes;
use crate::scenario::schema::unknown_keys::only;
use anabranch_base::{Bytes, Diagnostic, Fix};
use anabranch_results::{DATA_PACKETS_HIT, Explanation, PlotKind, PlotSpec, Statistic};
/// Reads a `[plot]` table. `title` is the title of the figure, which is the default of the plot's own title.
pub(in crate::scenario) fn read(table: &Table, title: &str) -> Result<PlotSpec, Diagnostic> {
    let of_messages = ["group", "min_bytes", "max_bytes"];
    only(table, &keys::of("plot"))?;
    let kind = table.word("kind", &PLOT_KINDS)?;
    let fixed = match kind {
        PlotKind::Series | PlotKind::Points => Some("time"),
        PlotKind::Cdf => Some("what `y` names"),
        PlotKind::SlowdownBySize | PlotKind::Flows => Some("the messages' length"),
        PlotKind::Bar | PlotKind::Line => None,
    };
    if let Some(fixed) = fixed.filter(|_| table.node("x").is_some()) {
        let message = format!("x is always {fixed} in a plot of this kind");
        return Err(table.wrong("x", message, "y alone, without x"));
    }
    let over_time = matches!(kind, PlotKind::Series | PlotKind::Points);
    if !over_time && table.node("entity").is_some() {
        let message = "entity picks curves of a series or of points alone";
        return Err(table.wrong("entity", message, "kind = \"series\" or \"points\""));
    }
    let by_message = matches!(kind, PlotKind::Cdf | PlotKind::SlowdownBySize | PlotKind::Flows);
    let chosen = of_messages.into_iter().find(|key| table.node(key).is_some());
    if let Some(key) = chosen.filter(|_| !by_message) {
        let message = format!("{key} picks messages, which a plot of this kind does not show one by one");
        return Err(table.wrong(key, message, "kind = \"cdf\", \"flows\" or \"slowdown-by-size\""));
    }
    let y = table.get::<String>("y")?;
    if let Some(key) = chosen.filter(|_| y.as_deref() == Some("cct_us")) {
        let message = format!("{key} picks messages, and cct_us is the time of a job");
        return Err(table.wrong(key, message, format!("y = \"fct_us\" or \"slowdown\", or no {key}")));
    }
    let length = |key| Ok(table.get::<Bytes>(key)?.map(|bytes| bytes.0));
    Ok(PlotSpec {
        kind,
        title: table.get("title")?.unwrap_or_else(|| title.to_owned()),
        y: match kind {
            PlotKind::Cdf => y.unwrap_or_else(|| "fct_us".to_owned()),
            _ => table.need("y")?,
        },
        x: match kind {
            PlotKind::Line => Some(table.need("x")?),
            // `x = "scheme"` means the same as no `x`: a plot of bars has a bar for each scheme.
            _ => table.get("x")?.filter(|x| x != "scheme"),
        },
        per: table.get("per")?.unwrap_or_default(),
        entity: table.get("entity")?,
        group: table.get("group")?,
        min_bytes: length("min_bytes")?,
        max_bytes: length("max_bytes")?,
        schemes: table.get("schemes")?.unwrap_or_default(),
        log_x: table.get("log_x")?.unwrap_or(false),
        log_y: table.get("log_y")?.unwrap_or(false),
    })
}

/// The data of a figure's runs that can be drawn.
pub(in crate::scenario) struct Drawable {
    schemes: Vec<String>,
    parameters: Vec<String>,
    /// The names of a run's numeric results.
    numbers: Vec<String>,
    curves: Vec<&'static str>,
    faults: bool,
    messages: bool,
    /// The groups of messages that results distinguish.
    groups: Vec<String>,
    /// Whether the workload has jobs, such as collectives.
    jobs: bool,
}

impl Drawable {
    pub(in crate::scenario) fn of(figure: &Figure) -> Drawable {
        match (&figure.scenario, &figure.model) {
            (Some(scenario), _) => {
                let mut curves: Vec<_> = scenario.measures.iter().map(|m| m.series.column()).collect();
                curves.dedup();
                Drawable {
                    schemes: scenario.schemes.iter().map(|scheme| scheme.name.clone()).collect(),
                    parameters: scenario.sweep.keys().cloned().collect(),
                    numbers: numbers(scenario),
                    curves,
                    faults: !scenario.faults.is_empty(),
                    messages: true,
                    groups: groups(scenario),
                    jobs: scenario.workload.has_jobs(),
                }
            }
            (None, Some(model)) => Drawable::of_model(model),
            (None, None) => Drawable {
                schemes: Vec::new(),
                parameters: Vec::new(),
                numbers: Vec::new(),
                curves: Vec::new(),
                faults: false,
                messages: false,
                groups: Vec::new(),
                jobs: false,
            },
        }
    }

    fn of_model(model: &ModelSpec) -> Drawable {
        let (schemes, parameters, numbers, curves): (Vec<&str>, &[&str], &[_], &[_]) = match model {
            ModelSpec::BallsIntoBins { variants, recycle_every, .. } => {
                let schemes = variants.iter().map(|variant| variant.name()).collect();
                let curves = &["longest_queue_balls", "queue_length_balls"];
                let swept: &[&str] =
                    if recycle_every.len() > 1 { &["ports", "recycle_every"] } else { &["ports"] };
                (schemes, swept, &BALLS_NUMBERS, curves)
            }
            ModelSpec::LoadImbalance { .. } => {
                (["random", "hash"].into(), &["active_flows", "evs"][..], &["load_imbalance"], &[])
            }
            ModelSpec::StateBits {} => {
                let schemes = schemes().iter().map(|listing| listing.name).collect();
                (schemes, &["buffer"][..], &["state_bits", "program_bytes", "transport_bytes"], &[])
            }
            ModelSpec::PacketTracking(_) => {
                (["bdp-bitmap", "linked-chunks", "dcp"].into(), &["degree"][..], &TRACKING_NUMBERS, &[])
            }
            ModelSpec::LosslessReach(spec) => {
                let chips = spec.chips.iter().map(|chip| chip.name.as_str()).collect();
                (chips, &["queues"][..], &["reach_km"], &[])
            }
        };
        Drawable {
            schemes: schemes.into_iter().map(str::to_owned).collect(),
            parameters: parameters.iter().map(|&name| name.to_owned()).collect(),
            numbers: numbers.iter().map(|&name| name.to_owned()).collect(),
            curves: curves.to_vec(),
            faults: false,
            messages: false,
            groups: Vec::new(),
            jobs: false,
        }
    }

    /// Rejects a plot that would be empty.
    pub(in crate::scenario) fn check(&self, table: &Table, spec: &PlotSpec) -> Result<(), Diagnostic> {
        match spec.kind {
            PlotKind::Line | PlotKind::Bar => known(table, "y", &spec.y, &self.number_names())?,
            PlotKind::Series | PlotKind::Points if self.curves.is_empty() => {
                let help = "[[measure]] with series = \"link-utilisation\" or \"queue-depth\"";
                return Err(table.wrong("y", "nothing is measured over time here", help));
            }
            PlotKind::Series | PlotKind::Points => known(table, "y", &spec.y, &self.curves)?,
            PlotKind::Cdf | PlotKind::SlowdownBySize | PlotKind::Flows if !self.messages => {
                return Err(table.wrong("kind", "a model has no messages", "kind = \"line\" or \"bar\""));
            }
            PlotKind::Cdf if spec.y == "cct_us" && !self.jobs => {
                let message =
                    "cct_us is the time of a job, and of workloads only collectives, traces and jobs have it";
                return Err(table.wrong("y", message, "y = \"fct_us\" or \"slowdown\""));
            }
            PlotKind::Cdf => {
                known(table, "y", &spec.y, &["fct_us", "slowdown", "cct_us", "retransmitted_share"])?;
            }
            PlotKind::Flows => known(table, "y", &spec.y, &["fct_us", "slowdown", "retransmitted_share"])?,
            PlotKind::SlowdownBySize
                if matches!(Statistic::parse(&spec.y), None | Some(Statistic::Sum | Statistic::Share)) =>
            {
                let message = format!("unknown y {:?}", spec.y);
                return Err(table.wrong("y", message, "y = \"mean\", \"min\", \"max\" or \"p99\""));
            }
            PlotKind::SlowdownBySize => {}
        }
        if let Some(group) = spec.group.as_ref().filter(|group| !self.groups.contains(group)) {
            let groups: Vec<&str> = self.groups.iter().map(String::as_str).collect();
            let help = match nearest(group, &groups) {
                Some(near) => Fix::set("group", format!("{near:?}")),
                None if groups.is_empty() => "no group: this workload is one".to_owned().into(),
                None => format!("group = one of {}", list(&groups)).into(),
            };
            return Err(table.wrong("group", format!("unknown group {group:?} in {}", table.name), help));
        }
        let parameters: Vec<&str> = self.parameters.iter().map(String::as_str).collect();
        if let Some(x) = &spec.x {
            known(table, "x", x, &parameters)?;
        }
        let mut per = parameters;
        per.extend(["scheme", "seed"]);
        if matches!(spec.kind, PlotKind::Series | PlotKind::Points) {
            per.push("entity");
        }
        for name in &spec.per {
            known(table, "per", name, &per)?;
        }
        let schemes: Vec<&str> = self.schemes.iter().map(String::as_str).collect();
        spec.schemes.iter().try_for_each(|name| known(table, "schemes", name, &schemes))
    }
}

impl Drawable {
    fn number_names(&self) -> Vec<&str> {
        self.numbers.iter().map(String::as_str).collect()
    }

    /// Reads an `[explain]` table.
    pub(in crate::scenario) fn explanation(&self, table: &Table) -> Result<Explanation, Diagnostic> {
        only(table, &keys::of("explain"))?;
        let measure: String = table.need("measure")?;
        let hit: &[&str] = if self.faults { &[DATA_PACKETS_HIT] } else { &[] };
        known(table, "measure", &measure, &[&self.number_names()[..], hit].concat())?;
        Ok(Explanation { measure, called: table.get("called")?, says: table.need("says")? })
    }
}

/// The results that a game of balls into bins adds to its run.
const BALLS_NUMBERS: [&str; 9] = [
    "balls_left",
    "balls_removed",
    "balls_thrown",
    "colors_without_bin",
    "last_change_round",
    "last_longest_queue",
    "longest_queue",
    "mean_longest_queue",
    "threshold",
];

/// The results that a method of tracking packets adds to its run. The last two exist only for DCP.
const TRACKING_NUMBERS: [&str; 6] =
    ["all_bytes", "cycles", "packet_rate_mpps", "queue_pair_bytes", "message_bytes", "messages_bytes"];

fn known(table: &Table, key: &str, written: &str, known: &[&str]) -> Result<(), Diagnostic> {
    if known.contains(&written) {
        return Ok(());
    }
    let message = format!("unknown {} {written:?} in {}", key.trim_end_matches('s'), table.name);
    let is_list = matches!(key, "per" | "schemes");
    let help = match nearest(written, known) {
        Some(near) if is_list => Fix::set(key, format!("[{near:?}]")),
        Some(near) => Fix::set(key, format!("{near:?}")),
        None if known.is_empty() => format!("no {key}: nothing is swept here").into(),
        None => {
            format!("{key} = {}one of {}", if is_list { "a list, each " } else { "" }, list(known)).into()
        }
    };
    Err(table.wrong(key, message, help))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::ask::figure::{Scale, read_figure};
    use crate::scenario::input::Files;
    use anabranch_engine::Control;
    use std::collections::BTreeSet;

    struct NoFiles;

    impl Files for NoFiles {
        fn read(&self, _: &str) -> Result<String, String> {
            Err("no such file".to_owned())
        }
    }

    const HEAD: &str = "id = \"reps/fig-1\"\ntitle = \"Tornado\"\n";
    const PACKETS: &str = "schemes = [\"reps\", \"ops\"]\n[topology]\nkind = \"fat-tree\"\nhosts = 16\nlink = \"400Gbps\"\n\
        [workload]\nkind = \"tornado\"\nbytes = \"4KiB\"\n[sweep]\n\"workload.bytes\" = [\"4KiB\", \"8KiB\"]\n\
        [[measure]]\nseries = \"queue-depth\"\nevery = \"1us\"\nlinks = \"tor:0/up\"\n\
        [[measure]]\nseries = \"link-utilisation\"\nevery = \"1us\"\nlinks = \"tor:0/up\"\n";
    const BALLS: &str = "seeds = [1]\n[model]\nkind = \"balls-into-bins\"\nports = [4]\nrounds = 5\n\
        variants = [\"ops\", \"recycled\"]\n";

    fn figure(what: &str, plot: &str) -> Result<Figure, Diagnostic> {
        read_figure("f.toml", &format!("{HEAD}{what}[plot]\n{plot}\n"), Scale::Quick, &NoFiles)
    }

    fn refused(what: &str, plot: &str) -> String {
        figure(what, plot).expect_err(plot).to_string()
    }

    #[test]
    fn a_plot_is_read_with_all_its_keys() {
        let plot = "kind = \"series\"\ny = \"queue_depth_bytes\"\nper = [\"scheme\", \"seed\", \"workload.bytes\"]\n\
                    entity = \"tor:0/up:1\"\nschemes = [\"ops\"]\nlog_x = true\nlog_y = true";
        let expected = PlotSpec {
            per: ["scheme", "seed", "workload.bytes"].map(str::to_owned).into(),
            entity: Some("tor:0/up:1".into()),
            schemes: vec!["ops".into()],
            log_x: true,
            log_y: true,
            ..PlotSpec::new(PlotKind::Series, "Tornado", "queue_depth_bytes")
        };
        assert_eq!(figure(PACKETS, plot).unwrap().plots, [expected]);
        let plots = figure(PACKETS, "kind = \"cdf\"\ntitle = \"FCT\"").unwrap().plots;
        assert_eq!(plots, [PlotSpec::new(PlotKind::Cdf, "FCT", "fct_us")]);
        assert!(figure(PACKETS, "kind = \"slowdown-by-size\"\ny = \"p99.9\"").is_ok());
        let plot = "kind = \"points\"\ny = \"queue_depth_bytes\"\nentity = \"tor:0/up\"\nper = [\"entity\"]";
        let expected = PlotSpec {
            per: vec!["entity".to_owned()],
            entity: Some("tor:0/up".into()),
            ..PlotSpec::new(PlotKind::Points, "Tornado", "queue_depth_bytes")
        };
        assert_eq!(figure(PACKETS, plot).unwrap().plots, [expected]);
        let collective = PACKETS.replace(
            "kind = \"tornado\"",
            "kind = \"collective\"\nalgorithm = \"allreduce-ring\"\nranks = 4\njobs = 2",
        );
        let spec = figure(&collective, "kind = \"cdf\"\ny = \"cct_us\"").unwrap();
        assert_eq!(spec.plots, [PlotSpec::new(PlotKind::Cdf, "Tornado", "cct_us")]);
        assert!(figure(PACKETS, "kind = \"line\"\nx = \"workload.bytes\"\ny = \"completion_us\"").is_ok());
        assert!(figure(BALLS, "kind = \"line\"\nx = \"ports\"\ny = \"mean_longest_queue\"").is_ok());
    }

    #[test]
    fn messages_are_picked_by_group_and_length() {
        let workload = "kind = \"poisson\"\nsizes = \"websearch\"\nload = 0.3\nduration = \"1ms\"\n\
                        incast = { degree = 8, bytes = \"64KB\", load = 0.1 }\n";
        let incasts = PACKETS
            .replace("kind = \"tornado\"\nbytes = \"4KiB\"\n", workload)
            .replace("\"workload.bytes\" = [\"4KiB\", \"8KiB\"]", "\"workload.load\" = [0.3, 0.5]");
        let plot = "kind = \"flows\"\ny = \"retransmitted_share\"\ngroup = \"background\"\n\
                    min_bytes = \"1B\"\nmax_bytes = \"200KB\"";
        let expected = PlotSpec {
            group: Some("background".into()),
            min_bytes: Some(1),
            max_bytes: Some(200_000),
            ..PlotSpec::new(PlotKind::Flows, "Tornado", "retransmitted_share")
        };
        assert_eq!(figure(&incasts, plot).unwrap().plots, [expected]);
        assert!(figure(&incasts, "kind = \"cdf\"\ny = \"retransmitted_share\"\ngroup = \"incast\"").is_ok());
        let said = refused(&incasts, "kind = \"cdf\"\ngroup = \"incats\"");
        assert!(said.ends_with("write: group = \"incast\""), "{said}");
    }

    #[test]
    fn messages_of_hosts_that_balance_otherwise_are_picked() {
        let set = "[set]\n\"*.mix\" = { every = 10, lb = { kind = \"ecmp\" } }\n";
        let mixed = PACKETS.replacen("[sweep]", &format!("{set}[sweep]"), 1);
        for group in ["main", "mixed"] {
            assert!(figure(&mixed, &format!("kind = \"cdf\"\ngroup = \"{group}\"")).is_ok(), "{group}");
        }
        let said = refused(&mixed, "kind = \"cdf\"\ngroup = \"mix\"");
        assert!(said.ends_with("write: group = \"mixed\""), "{said}");
        assert!(refused(PACKETS, "kind = \"cdf\"\ngroup = \"mixed\"").contains("this workload is one"));
    }

    #[test]
    fn messages_across_data_centres_are_picked_by_part_and_side() {
        let fabric = "kind = \"cross-dc\"\ntors = 2\nleaves = 2\nhosts_per_tor = 4\nlink = \"100Gbps\"\n\
                      wan_latency = \"500us\"\n";
        let workload = "kind = \"poisson\"\nsizes = \"websearch\"\nload = 0.3\nduration = \"1ms\"\n";
        let pipeline = "pipeline = { bytes = \"64KB\", load = 0.1 }\n";
        let text =
            |more: &str| format!("schemes = [\"reps\"]\n[topology]\n{fabric}[workload]\n{workload}{more}");
        let plot = |group: &str| format!("kind = \"cdf\"\ny = \"slowdown\"\ngroup = \"{group}\"");
        for (more, good, bad) in [
            ("", &["intra", "inter"][..], &["background", "background/inter", "incast/inter"][..]),
            (
                pipeline,
                &["inter", "background", "background/intra", "pipeline", "pipeline/inter"],
                &["pipeline/intra", "incast", "incast/intra", "inter/background"],
            ),
        ] {
            for group in good {
                assert!(figure(&text(more), &plot(group)).is_ok(), "{group}");
            }
            for group in bad {
                assert!(refused(&text(more), &plot(group)).contains("unknown group"), "{group}");
            }
        }
    }

    #[test]
    fn messages_and_numbers_of_classes_are_picked() {
        let storage = "[[class]]\nname = \"storage\"\nscheme = \"irn-ecmp\"\nworkload = { kind = \"poisson\", sizes = \"websearch\", \
                       load = 0.1, duration = \"1ms\", incast = { degree = 4, bytes = \"64KB\", load = 0.1 } }\n";
        let classes = PACKETS.replacen("[sweep]", &format!("{storage}[sweep]"), 1);
        for group in ["main", "storage", "storage/incast"] {
            assert!(figure(&classes, &format!("kind = \"cdf\"\ngroup = \"{group}\"")).is_ok(), "{group}");
        }
        for group in ["main/incast", "class", "incast/storage"] {
            let said = refused(&classes, &format!("kind = \"cdf\"\ngroup = \"{group}\""));
            assert!(said.contains("unknown group"), "{said}");
        }
        for number in ["drops_storage", "pause_us_main", "ecn_marks_storage"] {
            assert!(figure(&classes, &format!("kind = \"bar\"\ny = \"{number}\"")).is_ok(), "{number}");
        }
        let said = refused(PACKETS, "kind = \"bar\"\ny = \"drops_storage\"");
        assert!(said.contains("unknown y"), "{said}");
        assert!(refused(&classes, "kind = \"bar\"\ny = \"watchdog_drops\"").contains("unknown y"));
    }

    #[test]
    fn a_plot_of_nothing_is_refused_where_it_stands() {
        assert_eq!(
            refused(PACKETS, "kind = \"bar\"\ny = \"fct_maximum_us\""),
            "f.toml:23:1: unknown y \"fct_maximum_us\" in [plot]\n  write: y = \"fct_max_us\""
        );
        let cases = [
            (PACKETS, "kind = \"line\"\ny = \"drops\"\nx = \"bytes\"", "one of \"workload.bytes\""),
            (PACKETS, "kind = \"series\"\ny = \"queue_depth\"", "y = \"queue_depth_bytes\""),
            (PACKETS, "kind = \"cdf\"\ny = \"fct_max_us\"", "y = \"fct_us\""),
            (PACKETS, "kind = \"cdf\"\nx = \"slowdown\"", "what `y` names"),
            (PACKETS, "kind = \"cdf\"\nentity = \"tor:0\"", "kind = \"series\""),
            (PACKETS, "kind = \"cdf\"\nper = [\"entity\"]", "in [plot]"),
            (PACKETS, "kind = \"cdf\"\nper = [\"sheme\"]", "per = [\"scheme\"]"),
            (PACKETS, "kind = \"cdf\"\nschemes = [\"rep\"]", "schemes = [\"reps\"]"),
            (PACKETS, "kind = \"slowdown-by-size\"\ny = \"median\"", "y = \"mean\""),
            (PACKETS, "kind = \"cdf\"\ny = \"cct_us\"", "only collectives, traces and jobs have it"),
            (
                PACKETS,
                "kind = \"cdf\"\ny = \"fct_us\"\nentity = \"tor:0\"",
                "kind = \"series\" or \"points\"",
            ),
            (PACKETS, "kind = \"points\"\ny = \"queue_depth\"", "y = \"queue_depth_bytes\""),
            (PACKETS, "kind = \"points\"\ny = \"queue_depth_bytes\"\nx = \"workload.bytes\"", "always time"),
            (PACKETS, "kind = \"slowdown-by-size\"\ny = \"share\"", "y = \"mean\""),
            (PACKETS, "kind = \"flows\"\ny = \"slowdwn\"", "y = \"slowdown\""),
            (PACKETS, "kind = \"flows\"\ny = \"slowdown\"\nx = \"bytes\"", "the messages' length"),
            (PACKETS, "kind = \"cdf\"\ngroup = \"incast\"", "this workload is one"),
            (PACKETS, "kind = \"bar\"\ny = \"drops\"\nmax_bytes = \"1KB\"", "kind = \"cdf\""),
            (
                PACKETS,
                "kind = \"cdf\"\ny = \"cct_us\"\nmin_bytes = \"1KB\"",
                "y = \"fct_us\" or \"slowdown\"",
            ),
            (PACKETS, "kind = \"cdf\"\nmax_bytes = 1000", "max_bytes = \"1000B\""),
            (BALLS, "kind = \"flows\"\ny = \"slowdown\"", "a model has no messages"),
            (BALLS, "kind = \"cdf\"", "a model has no messages"),
            (BALLS, "kind = \"bar\"\ny = \"longest\"", "y = \"longest_queue\""),
            (BALLS, "kind = \"series\"\ny = \"drops\"", "queue_length_balls"),
        ];
        for (what, plot, help) in cases {
            let said = refused(what, plot);
            assert!(said.contains(help), "{said}");
        }
        let unmeasured = &PACKETS[..PACKETS.find("[[measure]]").unwrap()];
        let said = refused(unmeasured, "kind = \"series\"\ny = \"queue_depth_bytes\"");
        assert!(said.contains("nothing is measured over time"), "{said}");
    }

    #[test]
    fn what_a_time_is_held_against_is_a_number_of_the_runs() {
        let read = |more: &str, explain: &str| {
            let text = format!("{HEAD}{PACKETS}{more}[explain]\n{explain}");
            read_figure("f.toml", &text, Scale::Paper, &NoFiles)
        };
        let fault =
            "[[fault]]\nkind = \"link-down\"\nlinks = \"tor:0/up:0\"\nat = \"1us\"\nduration = \"1us\"\n";
        let hit =
            "measure = \"data_packets_hit\"\ncalled = \"Packets lost\"\nsays = \"They are sent again.\"\n";
        let expected = Explanation {
            measure: DATA_PACKETS_HIT.into(),
            called: Some("Packets lost".into()),
            says: "They are sent again.".into(),
        };
        assert_eq!(read(fault, hit).unwrap().explain, Some(expected));
        let said = |explain: &str| read("", explain).unwrap_err().to_string();
        assert!(said(hit).contains("unknown measure"), "{}", said(hit));
        let near = said("measure = \"drop\"\nsays = \"S.\"\n");
        assert!(near.ends_with("write: measure = \"drops\""), "{near}");
        assert!(said("measure = \"drops\"\n").contains("says"));
    }

    /// The model `state-bits` is left out, because its results also have numbers that no plot accepts.
    #[test]
    fn the_names_are_those_of_the_models() {
        let tracking = "[model]\nkind = \"packet-tracking\"\nlink = \"400Gbps\"\nrtt = \"10us\"\npacket = \"1000B\"\n\
            chunk_bits = 128\nbitmaps = 5\nqueue_pairs = 1\nclock_mhz = 300\naccess_cycles = 2\ncheck_cycles = 1\n\
            next_cycles = 1\ndegrees = [0]\n";
        let reach = "[model]\nkind = \"lossless-reach\"\nkm_delay = \"5us\"\nqueues = [1]\n\
            chips = [{ name = \"a\", ports = 32, link = \"400Gbps\", buffer = \"64MB\" }]\n";
        let imbalance = "[model]\nkind = \"load-imbalance\"\nuplinks = 8\nflows = [2]\nevs = [16]\n";
        for (model, y) in [(tracking, "packet_rate_mpps"), (reach, "reach_km"), (imbalance, "load_imbalance")]
        {
            let figure = figure(model, &format!("kind = \"bar\"\ny = {y:?}")).unwrap();
            let results = crate::model::run(figure.model.as_ref().unwrap(), &Control::default()).unwrap();
            let drawable = Drawable::of(&figure);
            let extra: BTreeSet<_> =
                results.iter().flat_map(|result| result.run.extra.keys().map(String::as_str)).collect();
            assert_eq!(extra, drawable.number_names().into_iter().collect());
            let swept: BTreeSet<_> =
                results.iter().flat_map(|result| result.run.sweep.keys().cloned()).collect();
            assert_eq!(swept, drawable.parameters.into_iter().collect());
            let schemes: BTreeSet<_> = results.iter().map(|result| result.run.scheme.clone()).collect();
            assert_eq!(schemes, drawable.schemes.into_iter().collect());
        }
    }

    #[test]
    fn the_names_are_those_of_the_results() {
        let plot = "kind = \"series\"\ny = \"longest_queue_balls\"";
        let balls = figure(BALLS, plot).unwrap();
        let results = crate::model::run(balls.model.as_ref().unwrap(), &Control::default()).unwrap();
        let drawable = Drawable::of(&balls);
        let names = |names: Vec<&str>| names.iter().map(|&name| name.to_owned()).collect::<BTreeSet<_>>();
        let series = results.iter().flat_map(|result| &result.series).map(|row| row.series.clone());
        assert_eq!(series.collect::<BTreeSet<_>>(), names(drawable.curves.clone()));
        let extra = results.iter().flat_map(|result| result.run.extra.keys().cloned());
        assert_eq!(extra.collect::<BTreeSet<_>>(), names(drawable.number_names()));
        let swept = results.iter().flat_map(|result| result.run.sweep.keys().cloned());
        assert_eq!(swept.collect::<BTreeSet<_>>(), drawable.parameters.into_iter().collect());
        let schemes = results.iter().map(|result| result.run.scheme.clone());
        assert_eq!(schemes.collect::<BTreeSet<_>>(), drawable.schemes.into_iter().collect());

        let packets = figure(PACKETS, "kind = \"cdf\"").unwrap();
        let drawable = Drawable::of(&packets);
        let point = packets.scenario.unwrap().points().unwrap().remove(0);
        assert_eq!(point.sweep.into_keys().collect::<Vec<_>>(), drawable.parameters);
        let point = figure(PACKETS, "kind = \"cdf\"").unwrap().scenario.unwrap().points().unwrap().remove(0);
        let result = anabranch_engine::run(&point, &Control::default()).unwrap();
        let series = result.series.iter().map(|row| row.series.clone());
        assert_eq!(series.collect::<BTreeSet<_>>(), names(drawable.curves));
    }
}
