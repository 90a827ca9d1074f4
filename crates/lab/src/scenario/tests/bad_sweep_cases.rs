//! Changes that give a good scenario a bad `[sweep]`, each with the whole error text.

/// Parts of the scenario `GOOD`, each with its replacement and the whole error text.
pub(in crate::scenario) const SWEEPS: &[(&str, &str, &str)] = &[
    (
        "[workload]",
        r#"[sweep]
"topology.hosts" = []
[workload]"#,
        r#"perm.toml:9:1: "topology.hosts" sweeps over nothing
  write: "topology.hosts" = [...] with a value or more"#,
    ),
    (
        "[workload]",
        r#"[sweep]
"topology.hosts" = 64
[workload]"#,
        r#"perm.toml:9:1: the values of "topology.hosts" must be a list, not 64
  write: "topology.hosts" = [64]"#,
    ),
    (
        "[workload]",
        r#"[sweep]
"topology.hots" = [64, 128]
[workload]"#,
        r#"perm.toml:9:20: unknown key "hots" in [topology]
  write: "topology.hosts" = [64, 128]"#,
    ),
    (
        "[workload]",
        r#"[sweep]
"workload.bytes" = ["1MB", "2mb"]
[workload]"#,
        r#"perm.toml:9:28: bytes: "2mb" is not a size such as "4096B", "2MB" or "8MiB"
  write: "workload.bytes" = ["1MB", "2MB"]"#,
    ),
    (
        "[workload]",
        r#"[sweep]
"reps.lb.bufer" = [8, 16]
[workload]"#,
        r#"perm.toml:9:20: scheme "reps" has no parameter "lb.bufer"
  write: "reps.lb.buffer" = [8, 16]"#,
    ),
    (
        "[workload]",
        r#"[sweep]
"workload.bytes" = ["1MB", "1000KB"]
[workload]"#,
        r#"perm.toml:9:28: "workload.bytes" has one value twice, as "1MB" and as "1000KB"
  write: each value once"#,
    ),
    (
        "[workload]",
        r#"[sweep]
"schemes" = [["reps"], ["ops"]]
[workload]"#,
        r#"perm.toml:9:1: "schemes" is no parameter of the topology, the workload, a fault or a scheme
  write: schemes = ["reps", "ops"] at the top: each scheme runs with each seed at each point"#,
    ),
    (
        "[workload]",
        r#"[sweep]
"title" = ["one", "two"]
[workload]"#,
        r#"perm.toml:9:1: "title" is no parameter of the topology, the workload, a fault or a scheme
  write: title = "one" at the top, instead of one there: all points have it"#,
    ),
    (
        "[workload]",
        r#"[sweep]
"topolgy.hosts" = [64, 128]
[workload]"#,
        r#"perm.toml:9:1: "topolgy.hosts" begins with neither a part of the scenario nor a scheme
  write: "topology.hosts" = [64, 128]"#,
    ),
    (
        "[workload]",
        r#"[sweep]
"topology.hosts" = [64, 64]
[workload]"#,
        r#"perm.toml:9:25: "topology.hosts" has the value 64 twice
  write: each value once"#,
    ),
    (
        "[workload]",
        r#"[[sweep.zip]]
"topology.hosts" = [64, 128]
"workload.bytes" = ["1MB", "2MB", "4MB"]
[workload]"#,
        r#"perm.toml:10:1: parameters that change together need lists of one length, but "topology.hosts" has 2 values and "workload.bytes" has 3 values
  write: 3 values in each list"#,
    ),
    (
        "[workload]",
        r#"[[sweep.zip]]
"topology.hosts" = [64, 64]
"workload.bytes" = ["1MB", "1MB"]
[workload]"#,
        r#"perm.toml:9:25: "topology.hosts", "workload.bytes" have the values 64, "1MB" twice
  write: each value once"#,
    ),
    (
        "[workload]",
        r#"[sweep]
"topology.hosts" = [64, 128]
zip = [{ "topology.hosts" = [64, 128] }]
[workload]"#,
        r#"perm.toml:10:30: "topology.hosts" is swept twice
  write: each parameter once"#,
    ),
    (
        "[workload]",
        r#"[sweep]
zip = ["topology.hosts", "workload.bytes"]
[workload]"#,
        r#"perm.toml:9:1: sweep.zip must be a table of lists, for parameters that change together
  write: [[sweep.zip]] and below it "topology.hosts" = [64, 128] and "workload.bytes" = ["1MB", "2MB"]"#,
    ),
    (
        "[workload]",
        r#"[[sweep.zip]]
[workload]"#,
        r#"perm.toml:8:1: sweep.zip is empty
  write: "topology.hosts" = [64, 128] and another such list below it"#,
    ),
    (
        "[workload]",
        r#"[sweep]
"fault.0.rate" = ["1Gbps"]
[workload]"#,
        r#"perm.toml:9:19: "fault.0.rate" cannot be swept: there is no fault.0, and no fault at all
  write: [[fault]] and below it what it is, then "fault.0.rate" = ["1Gbps"]"#,
    ),
    (
        "[workload]",
        r#"[sweep]
"reps.lb.buffer" = [8, 64]
[workload]"#,
        r#"perm.toml:9:24: lb.buffer must be 1 to 32, not 64
  write: "reps.lb.buffer" = [8, 32]"#,
    ),
];
