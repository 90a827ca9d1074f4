use super::*;

#[test]
fn a_flow_is_in_its_group_and_in_the_parts_of_its_name() {
    let of = |group: &str| {
        let (group, none) = (FlowRow::group_named(group), Default::default());
        FlowRow {
            run: 0,
            flow: 0,
            qp: 0,
            src: 0,
            dst: 1,
            bytes: 1,
            start_ps: none,
            delivery_ps: none,
            fct_ps: none,
            ideal_fct_ps: 1,
            group,
            packets: 1,
            retransmissions: None,
            ..FlowRow::default()
        }
    };
    let flow = of("background/inter");
    assert!(["background/inter", "background", "inter"].iter().all(|group| flow.in_group(group)));
    assert!(
        ["", "intra", "back", "background/", "background/intra"].iter().all(|group| !flow.in_group(group))
    );
    assert!(of("intra").in_group("intra") && !of("intra").in_group("inter") && !of("").in_group("intra"));
    let three = of("background/inter/mixed");
    assert!(["mixed", "background/mixed", "background/inter"].iter().all(|group| three.in_group(group)));
    assert!(!three.in_group("background/main") && !three.in_group("background/"));
    let built_in = of("pipeline/inter").group;
    assert!(matches!(&built_in, Cow::Borrowed("pipeline/inter")), "{built_in:?}");
    assert_eq!(of("mine/inter").group, "mine/inter");
}

#[test]
fn every_field_has_its_number() {
    let row = RunRow {
        flows: 1,
        flows_finished: 1,
        jobs: 1,
        jobs_finished: 1,
        ideal_cct_max_us: 1.0,
        time_to_recover_us: Some(1.0),
        algbw_gbytes_per_sec: Some(1.0),
        busbw_gbytes_per_sec: Some(1.0),
        extra: BTreeMap::from([("state_bits".into(), 74.0)]),
        ..RunRow::default()
    };
    let document = serde_json::to_value(&row).unwrap();
    let numeric = document.as_object().unwrap().iter().filter(|(_, value)| value.is_number());
    let mut names: Vec<&str> =
        numeric.map(|(name, _)| name.as_str()).filter(|name| *name != "seed").collect();
    let mut fields = RunRow::FIELDS;
    names.sort_unstable();
    fields.sort_unstable();
    assert_eq!(names, fields);
    let value = |field: &str| match field {
        _ if field.starts_with("slowdown") || field.starts_with("fct") => None,
        "ideal_cct_max_us" | "time_to_recover_us" | "algbw_gbytes_per_sec" | "busbw_gbytes_per_sec" => {
            Some(1.0)
        }
        _ => Some(f64::from(field.starts_with("flows") || field.starts_with("jobs"))),
    };
    assert!(RunRow::FIELDS.iter().all(|field| row.number(field) == value(field)));
    // A run with jobs in one traffic class has slowdowns of the messages of another class.
    let of_messages = RunRow { slowdown_mean: 1.5, slowdown_p95: 2.5, ..row.clone() };
    assert_eq!(of_messages.number("slowdown_p95"), Some(2.5));
    assert_eq!((row.number("state_bits"), row.number("bits")), (Some(74.0), None));
}

#[test]
fn what_a_run_did_not_come_to_is_no_number() {
    let row = RunRow {
        flows: 4,
        flows_finished: 3,
        fct_max_us: 1.0,
        jobs: 2,
        jobs_finished: 1,
        ..RunRow::default()
    };
    let missing = |row: &RunRow| -> Vec<&str> {
        RunRow::FIELDS.into_iter().filter(|field| row.number(field).is_none()).collect()
    };
    let slowdowns = ["slowdown_mean", "slowdown_p50", "slowdown_p95", "slowdown_p99"];
    let of_jobs = ["completion_us", "cct_mean_us", "cct_max_us"];
    let unknown = ["ideal_cct_max_us", "algbw_gbytes_per_sec", "busbw_gbytes_per_sec", "time_to_recover_us"];
    assert_eq!(missing(&row), [&slowdowns[..], &of_jobs, &unknown].concat());
    let whole = RunRow { flows_finished: 4, jobs_finished: 2, ideal_cct_max_us: 1.0, ..row.clone() };
    assert_eq!(missing(&whole), [&slowdowns[..], &unknown[1..]].concat());
    assert_eq!(
        missing(&RunRow { jobs: 0, slowdown_mean: 1.0, ..row.clone() }),
        [&of_jobs[..], &unknown].concat()
    );
    let fcts = ["fct_mean_us", "fct_p50_us", "fct_p99_us", "fct_max_us"];
    assert_eq!(missing(&RunRow { flows_finished: 0, ..row })[..4], fcts);
    assert_eq!(missing(&RunRow::default()).len(), 15, "a model sends nothing");
}

#[test]
fn slowdowns_are_nearest_ranks_of_the_flows_that_finished() {
    let flow = |slowdown: Option<u64>| FlowRow {
        run: 0,
        flow: 0,
        qp: 0,
        src: 0,
        dst: 1,
        bytes: 4096,
        start_ps: Some(0),
        delivery_ps: None,
        fct_ps: slowdown.map(|slowdown| 10 * slowdown),
        ideal_fct_ps: 10,
        group: "".into(),
        packets: 4,
        retransmissions: Some(6),
        ..FlowRow::default()
    };
    let flows: Vec<FlowRow> = (1..=100).rev().map(Some).chain([None]).map(flow).collect();
    let mut row = RunRow::default();
    row.set_slowdowns(flows.iter());
    let found = [row.slowdown_mean, row.slowdown_p50, row.slowdown_p95, row.slowdown_p99];
    assert_eq!(found, [50.5, 50.0, 95.0, 99.0]);
    row.set_slowdowns(flows[100..].iter());
    assert_eq!(row, RunRow::default());
    assert_eq!(flows[0].retransmitted_share(), Some(1.5));
    assert_eq!(FlowRow { retransmissions: None, ..flow(None) }.retransmitted_share(), None);
}

/// Readers of the results and axes of plots derive the unit from the name.
#[test]
fn a_name_that_ends_in_a_unit_declares_it() {
    let declared = RunRow::columns().chain(FlowRow::columns()).chain(JobRow::columns());
    let declared = declared.chain(PartRow::columns()).chain(SeriesRow::columns()).chain(FaultRow::columns());
    let units = ["us", "ps", "bytes", "s", "packets"];
    let mut checked = 0;
    for column in declared {
        let end = column.name.rsplit_once('_').map(|(_, end)| end).filter(|end| units.contains(end));
        let Some(end) = end else { continue };
        assert_eq!(column.unit, end, "{}", column.name);
        checked += 1;
    }
    assert!(checked > 20, "{checked} names");
}

/// With several traffic classes, FCTs are those of the first class, but the messages of all classes are counted.
#[test]
fn without_an_fct_there_is_no_number_for_it() {
    let mut run = RunRow { flows: 4, flows_finished: 2, ..RunRow::default() };
    for name in ["fct_mean_us", "fct_p50_us", "fct_p99_us", "fct_max_us"] {
        assert_eq!(run.number(name), None, "{name}");
    }
    (run.fct_mean_us, run.fct_max_us) = (3.0, 5.0);
    assert_eq!((run.number("fct_mean_us"), run.number("fct_max_us")), (Some(3.0), Some(5.0)));
}
