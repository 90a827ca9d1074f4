//! Errors in scenarios: changes that make a good scenario bad, each with the whole error text.

/// Parts of the scenario `GOOD`, each with its replacement and the whole error text.
pub(in crate::scenario) const CASES: &[(&str, &str, &str)] = &[
    (
        "hosts = 32",
        "hosts = 32\nrouting_delay = \"1ms\"",
        r#"perm.toml:7:1: unknown key "routing_delay" in [topology]
  write: one of kind, hosts, tiers, link, link_latency, switch_latency, oversubscription, hosts_per_tor, pod_hosts, tier ("routing_delay" is a parameter of schemes: "*.fabric.routing_delay" = "1ms" below [set])"#,
    ),
    (
        "link = ",
        "lnk = ",
        r#"perm.toml:7:1: unknown key "lnk" in [topology]
  write: link = "400Gbps" (did you mean "link"?)"#,
    ),
    (
        "title",
        "titel",
        r#"perm.toml:1:1: unknown key "titel"
  write: title = "t" (did you mean "title"?)"#,
    ),
    (
        r#"kind = "permutation""#,
        r#"kind = "permutation"
load = 0.5"#,
        r#"perm.toml:10:1: unknown key "load" in [workload]
  write: one of kind, bytes, hosts, cross_tor ("load" is a key of poisson)"#,
    ),
    (
        r#""400Gbps""#,
        "400",
        r#"perm.toml:7:1: link: must be a rate in quotes, not 400
  write: link = "400Gbps""#,
    ),
    (
        r#""400Gbps""#,
        r#""400gbps""#,
        r#"perm.toml:7:1: link: "400gbps" is not a rate such as "400Gbps"
  write: link = "400Gbps""#,
    ),
    (
        r#""400Gbps""#,
        r#""400GB""#,
        r#"perm.toml:7:1: link: "400GB" is not a rate such as "400Gbps"; the units are bps, Kbps, Mbps, Gbps, Tbps
  write: link = "400Gbps""#,
    ),
    (
        r#""400Gbps""#,
        r#""0Gbps""#,
        r#"perm.toml:7:1: link must be above 0
  write: link = "400Gbps""#,
    ),
    (
        r#""400Gbps""#,
        r#""400""#,
        r#"perm.toml:7:1: link: "400" is not a rate such as "400Gbps"; add a unit: bps, Kbps, Mbps, Gbps, Tbps
  write: link = "400Gbps""#,
    ),
    (
        r#""1MiB""#,
        r#""8XB""#,
        r#"perm.toml:10:1: bytes: "8XB" is not a size such as "4096B", "2MB" or "8MiB"; the units are B, KB, MB, GB, TB, KiB, MiB, GiB, TiB
  write: bytes = "8MiB""#,
    ),
    (
        r#""1MiB""#,
        r#""0B""#,
        r#"perm.toml:10:1: bytes must be above 0
  write: bytes = "8MiB""#,
    ),
    (
        r#""1MiB""#,
        r#""-1MiB""#,
        r#"perm.toml:10:1: bytes: "-1MiB" is not a size such as "4096B", "2MB" or "8MiB"; it must not be negative
  write: bytes = "1MiB""#,
    ),
    (
        "hosts = 32",
        "hosts = -32",
        r#"perm.toml:6:1: hosts: must not be negative, not -32
  write: hosts = 32"#,
    ),
    (
        "hosts = 32",
        "hosts = 32.5",
        r#"perm.toml:6:1: hosts: must be a whole number, not 32.5
  write: hosts = 32"#,
    ),
    (
        "hosts = 32",
        "hosts = -1",
        r#"perm.toml:6:1: hosts: must not be negative, not -1
  write: hosts = 128"#,
    ),
    (
        "hosts = 32",
        "hosts = 0",
        r#"perm.toml:6:1: hosts must be 2 or more, not 0
  write: hosts = 128"#,
    ),
    (
        "hosts = 32",
        r#"hosts = "32""#,
        r#"perm.toml:6:1: hosts: must be a whole number, not "32"
  write: hosts = 32"#,
    ),
    (
        "hosts = 32",
        r#"hosts = 32
oversubscription = 0"#,
        r#"perm.toml:7:1: oversubscription must be 1 or more, not 0
  write: oversubscription = 1"#,
    ),
    (
        "hosts = 32",
        r#"hosts = 32
link_latency = "5""#,
        r#"perm.toml:7:1: link_latency: "5" is not a time such as "500ns", "1.5us" or "10ms"; add a unit: ps, ns, us, ms, s
  write: link_latency = "5us""#,
    ),
    (
        "fat-tree",
        "fattree",
        r#"perm.toml:5:1: unknown kind "fattree"
  write: kind = "fat-tree""#,
    ),
    (
        "fat-tree",
        "slimfly",
        r#"perm.toml:5:1: unknown kind "slimfly"
  write: kind = one of "fat-tree", "leaf-spine", "single-switch", "dumbbell", "cross-dc", "rails", "multi-plane", "hpn", "dcn-plus", "dragonfly", "torus", "full-mesh", "graph""#,
    ),
    (
        "permutation",
        "permutations",
        r#"perm.toml:9:1: unknown kind "permutations"
  write: kind = "permutation""#,
    ),
    (
        r#"["reps", "ops"]"#,
        "[]",
        r#"perm.toml:2:1: schemes is empty, so nothing would run
  write: schemes = ["reps", "ops", "ecmp"]"#,
    ),
    (
        r#"["reps", "ops"]"#,
        r#"["rep"]"#,
        r#"perm.toml:2:12: unknown scheme "rep"
  write: "reps""#,
    ),
    (
        "seeds = [1, 2]",
        r#"seeds = ["1", "2"]"#,
        r#"perm.toml:3:1: seeds: must be a whole number, not "1"
  write: seeds = [1, 2, 3]"#,
    ),
    (
        r#"["reps", "ops"]"#,
        r#"["themis"]"#,
        r#"perm.toml:2:12: unknown scheme "themis"
  write: one of "themis-spraying", "themis-longhaul""#,
    ),
    (
        r#"["reps", "ops"]"#,
        r#"["reps", "reps"]"#,
        r#"perm.toml:2:20: scheme "reps" is given twice
  write: schemes = ["reps"]"#,
    ),
    (
        r#"["reps", "ops"]"#,
        r#""reps""#,
        r#"perm.toml:2:1: schemes: must be a list, not "reps"
  write: schemes = ["reps"]"#,
    ),
    (
        "[1, 2]",
        "[]",
        r#"perm.toml:3:1: seeds is empty, so nothing would run
  write: seeds = [1, 2, 3]"#,
    ),
    (
        "[1, 2]",
        "[1, 1]",
        r#"perm.toml:3:13: seed 1 is given twice
  write: seeds = [1]"#,
    ),
    (
        "[1, 2]",
        "[-1]",
        r#"perm.toml:3:1: seeds: must not be negative, not -1
  write: seeds = [1, 2, 3]"#,
    ),
    (
        "[1, 2]",
        "[1.5]",
        r#"perm.toml:3:1: seeds: must be a whole number, not 1.5
  write: seeds = [1, 2, 3]"#,
    ),
    (
        r#"bytes = "1MiB""#,
        r#"bytes = "1MiB"
hosts = 64"#,
        r#"perm.toml:11:1: hosts is 64, but the fabric has 32 hosts
  write: hosts = 32"#,
    ),
    (
        r#"bytes = "1MiB"
"#,
        "",
        r#"perm.toml:8:2: [workload] has no "bytes"
  write: bytes = "8MiB""#,
    ),
    (
        r#"hosts = 32
"#,
        "",
        r#"perm.toml:4:2: [topology] has no "hosts"
  write: hosts = 128"#,
    ),
    (
        r#"link = "400Gbps"
"#,
        "",
        r#"perm.toml:4:2: [topology] has no "link"
  write: link = "400Gbps""#,
    ),
    (
        r#"kind = "permutation""#,
        r#"kind = "incast"
target = 32"#,
        r#"perm.toml:10:1: there is no host 32: the fabric's 32 hosts are 0 to 31
  write: target = 31"#,
    ),
    (
        r#"kind = "permutation""#,
        r#"kind = "incast"
degree = 32"#,
        r#"perm.toml:10:1: degree must be 1 to 31, not 32
  write: degree = 31"#,
    ),
    (
        r#"kind = "permutation"
bytes = "1MiB""#,
        r#"kind = "poisson"
sizes = "webserch"
load = 0.5
duration = "1ms""#,
        r#"perm.toml:10:1: unknown size distribution "webserch"
  write: sizes = "websearch""#,
    ),
    (
        r#"kind = "permutation"
bytes = "1MiB""#,
        r#"kind = "poisson"
sizes = "websearch"
load = 60
duration = "1ms""#,
        r#"perm.toml:11:1: load must be above 0 and at most 1.5 of a host's line rate, not 60
  write: load = 0.6"#,
    ),
    (
        r#"kind = "permutation"
bytes = "1MiB""#,
        r#"kind = "poisson"
sizes = "websearch"
load = 0.5
duration = "1ms"
inter = 20"#,
        r#"perm.toml:13:1: inter must be 0 to 1, the share of messages between data centres, not 20
  write: inter = 0.2"#,
    ),
    (
        r#"kind = "permutation"
bytes = "1MiB""#,
        r#"kind = "poisson"
sizes = "my.cdf"
load = 0.5
duration = "1ms""#,
        r#"perm.toml:10:1: cannot read "my.cdf": no such file
  write: sizes = the name of a file, from the folder of perm.toml"#,
    ),
    (
        r#"kind = "permutation"
bytes = "1MiB""#,
        r#"file = "perm.cm""#,
        r#"perm.toml:9:1: cannot read "perm.cm": no such file
  write: file = the name of a file, from the folder of perm.toml"#,
    ),
    (
        r#"kind = "permutation"
bytes = "1MiB""#,
        r#"file = "perm.txt""#,
        r#"perm.toml:9:1: "perm.txt" does not end in .cm, so its kind must be said
  write: kind = "cm", kind = "ns3-flows" or kind = "trace""#,
    ),
    (
        r#"kind = "fat-tree"
hosts = 32
link = "400Gbps""#,
        r#"file = "a.topo""#,
        r#"perm.toml:5:1: cannot read "a.topo": no such file
  write: file = the name of a file, from the folder of perm.toml"#,
    ),
    (
        "[workload]",
        r#"[set]
"reps.lb.bufer" = 16
[workload]"#,
        r#"perm.toml:9:1: scheme "reps" has no parameter "lb.bufer"
  write: "reps.lb.buffer" = 16"#,
    ),
    (
        "[workload]",
        r#"[set]
"reps.lb.buffer" = "16"
[workload]"#,
        r#"perm.toml:9:1: lb.buffer must be a whole number, not "16"
  write: "reps.lb.buffer" = 16"#,
    ),
    (
        "[workload]",
        r#"[set]
"reps.lb.buffer" = 33
[workload]"#,
        r#"perm.toml:9:1: lb.buffer must be 1 to 32, not 33
  write: "reps.lb.buffer" = 32"#,
    ),
    (
        "[workload]",
        r#"[set]
"reps.lb.buffer" = 0
[workload]"#,
        r#"perm.toml:9:1: lb.buffer must be 1 to 32, not 0
  write: "reps.lb.buffer" = 1"#,
    ),
    (
        "[workload]",
        r#"[set]
reps.lb.evs = 0
[workload]"#,
        r#"perm.toml:9:9: lb.evs must be 1 to 65536, not 0
  write: "reps.lb.evs" = 1"#,
    ),
    (
        "[workload]",
        r#"[set]
"*.lb.evs" = 65537
[workload]"#,
        r#"perm.toml:9:1: lb.evs must be 1 to 65536, not 65537
  write: "*.lb.evs" = 65536"#,
    ),
    (
        "[workload]",
        r#"[set]
"*.fabric.qeue" = "1bdp"
[workload]"#,
        r#"perm.toml:9:1: scheme "reps" has no parameter "fabric.qeue"
  write: "*.fabric.queue" = "1bdp""#,
    ),
    (
        "[workload]",
        r#"[set]
"*.fabric.queue" = 5
[workload]"#,
        r#"perm.toml:9:1: fabric.queue: "5" is not a size such as "4096B", "2MB" or "8MiB"; add a unit: B, KB, MB, GB, TB, KiB, MiB, GiB, TiB; "1.5bdp" and "100packets" work too
  write: "*.fabric.queue" = "5bdp""#,
    ),
    (
        "[workload]",
        r#"[set]
"*.fabric.queue" = 0
[workload]"#,
        r#"perm.toml:9:1: fabric.queue: "0" is not a size such as "4096B", "2MB" or "8MiB"; add a unit: B, KB, MB, GB, TB, KiB, MiB, GiB, TiB; "1.5bdp" and "100packets" work too
  write: "*.fabric.queue" = "1bdp""#,
    ),
    (
        "[workload]",
        r#"[set]
"rep.lb.evs" = 5
[workload]"#,
        r#"perm.toml:9:1: unknown scheme "rep"
  write: "reps.lb.evs" = 5"#,
    ),
    (
        "[workload]",
        r#"[set]
"ecmp.fabric.queue" = "2bdp"
[workload]"#,
        r#"perm.toml:9:1: this scenario does not run scheme "ecmp"
  write: "ecmp" among the schemes, or this without it"#,
    ),
    (
        "[workload]",
        r#"[[scheme]]
name = "ecmp"
base = "ops"
[workload]"#,
        r#"perm.toml:9:1: there is a scheme "ecmp" already, and this would run under its name
  write: name = "my-ecmp", or its parameters below [set], such as "ecmp.fabric.queue""#,
    ),
    (
        r#"link = "400Gbps""#,
        r#"link_rate = "400Gbps""#,
        r#"perm.toml:7:1: unknown key "link_rate" in [topology]
  write: link = "400Gbps" (did you mean "link"?)"#,
    ),
    (
        r#"link = "400Gbps""#,
        r#"link = "400Gbps"
seeds = [1, 2]"#,
        r#"perm.toml:8:1: unknown key "seeds" in [topology]
  write: seeds = [1, 2] above the first [table]"#,
    ),
    (
        "[workload]",
        r#"[set]
"*.transport.mtu" = "1KB"
[workload]"#,
        r#"perm.toml:9:1: scheme "reps" has no parameter "transport.mtu"
  write: "*.transport.payload" = "1KB""#,
    ),
    (
        "[workload]",
        r#"[set]
"reps.fabric.ecn_kmin" = "0.9bdp"
[workload]"#,
        r#"perm.toml:9:1: fabric.ecn_kmin (0.9bdp) is above fabric.ecn_kmax (0.8bdp)
  write: "reps.fabric.ecn_kmin" = "0.8bdp""#,
    ),
    (
        "[workload]",
        r#"[set]
"reps.cc.kind" = "dctpc"
[workload]"#,
        r#"perm.toml:9:1: cc.kind: "dctpc" is no congestion control
  write: "reps.cc" = { decrease = 0.25, initial_window = "1.5bdp", kind = "dctcp", loss_decrease = 1.0, max_window = "1.5bdp" }"#,
    ),
    (
        "[workload]",
        r#"[set]
buffer = 3
[workload]"#,
        r#"perm.toml:9:1: "buffer" is no parameter of a scheme
  write: "*.lb.buffer" = 3"#,
    ),
    (
        "[workload]",
        r#"[fault]
kind = "link-down"
links = "all"
[workload]"#,
        r#"perm.toml:8:2: "fault" must be a list of tables
  write: [[fault]] instead of [fault]"#,
    ),
    (
        "[workload]",
        r#"[limits]
max_time = "0s"
[workload]"#,
        r#"perm.toml:9:1: max_time must be above 0
  write: max_time = "1s""#,
    ),
    (
        "[workload]",
        r#"[limits]
max_tme = "1s"
[workload]"#,
        r#"perm.toml:9:1: unknown key "max_tme" in [limits]
  write: max_time = "1s" (did you mean "max_time"?)"#,
    ),
    (
        "[workload]",
        r#"[limits]
trunk = "100Gbps"
[workload]"#,
        r#"perm.toml:9:1: unknown key "trunk" in [limits]
  write: one of max_time, stall, max_events, max_packets ("trunk" is a key of [topology])"#,
    ),
    (
        "[workload]",
        r#"[[scheme]]
name = "a"
base = "rps"
[workload]"#,
        r#"perm.toml:10:1: unknown scheme "rps"
  write: base = "reps""#,
    ),
    (
        "[workload]",
        r#"[[scheme]]
name = "a b"
base = "reps"
[workload]"#,
        r#"perm.toml:9:1: a scheme's name is made of letters, digits, - and _, not "a b"
  write: name = "a-b""#,
    ),
    (
        "[workload]",
        r#"[[scheme]]
base = "reps"
[workload]"#,
        r#"perm.toml:8:1: [[scheme]] has no "name"
  write: name = "reps-16""#,
    ),
    (
        "[workload]",
        r#"[[scheme]]
name = "a"
base = "reps"
set = {"lb.bufer" = 5}
[workload]"#,
        r#"perm.toml:11:8: scheme "a" has no parameter "lb.bufer"
  write: "lb.buffer" = 5"#,
    ),
    (
        "[workload]",
        r#"[[scheme]]
name = "a"
[workload]"#,
        r#"perm.toml:8:1: [[scheme]] has no "base"
  write: base = "reps""#,
    ),
    (
        r#"[workload]
kind = "permutation"
bytes = "1MiB"
"#,
        "",
        r#"perm.toml: the scenario has no [workload]
  write: [workload] and below it kind = "permutation""#,
    ),
    (
        r#"[topology]
kind = "fat-tree"
hosts = 32
link = "400Gbps"
"#,
        r#"topology = 5
"#,
        r#"perm.toml:4:1: [topology] must be a table, not 5
  write: [topology] and below it its keys, such as hosts = 128"#,
    ),
    (
        "hosts = 32",
        r#"hosts = 32
hosts = 33"#,
        r#"perm.toml:7:1: duplicate key "hosts", first in line 6
  write: it once"#,
    ),
    (
        "hosts = 32",
        "hosts = 99999999999999999999",
        "perm.toml:6:1: the number 99999999999999999999 is too large",
    ),
];
