//! Changes that give a good scenario a bad entry of `[[fault]]`, `[[measure]]` or `[[class]]`, each with the whole error
//! text.

/// Parts of the scenario `GOOD`, each with its replacement and the whole error text.
pub(in crate::scenario) const LISTS: &[(&str, &str, &str)] = &[
    (
        "[workload]",
        r#"[[fault]]
kind = "link-down"
links = "tor:0/up:0"
at = []
[workload]"#,
        r#"perm.toml:11:1: at is an empty list, so that nothing ever breaks
  write: at = "100us""#,
    ),
    (
        "[workload]",
        r#"[[fault]]
kind = "link-down"
links = "tor:0/up:0"
per_hour = 0
[workload]"#,
        r#"perm.toml:11:1: per_hour must be a number above 0 and at most 3.6e9, not 0
  write: per_hour = 3600000.0"#,
    ),
    (
        "[workload]",
        r#"[[fault]]
kind = "link-down"
links = "tor:0/up:0"
at = ["1us", "5us"]
per_hour = 3600000.0
duration = "1us"
[workload]"#,
        r#"perm.toml:11:1: failures at a rate are random from one time on, but at has several
  write: at = "1us""#,
    ),
    (
        "[workload]",
        r#"[[fault]]
kind = "link-down"
links = "tor:0/up:0"
per_hour = 3600000.0
until = "5us"
[workload]"#,
        r#"perm.toml:12:1: until ends one failure, and failures at a rate begin at random times
  write: duration = "200us" instead of until, for each of them"#,
    ),
    (
        "[workload]",
        r#"[[fault]]
kind = "link-down"
links = "host-links:100%"
per_hour = 3.6e9
duration = "1us"
[workload]"#,
        r#"perm.toml:11:1: fault.0 would fail about 3.2e7 times by max_time = "1s", on 32 cables or switches; at most 1e6 failures are simulated
  write: per_hour = 112500000.0"#,
    ),
    (
        "[workload]",
        r#"[[fault]]
kind = "link-down"
links = "tor:0/up:0"
until = "job end"
[workload]"#,
        r#"perm.toml:11:1: until must be a time, not "job end"
  write: the fault without until: it lasts to the end of the run then"#,
    ),
    (
        "[workload]",
        r#"[[fault]]
kind = "link-dwn"
links = "tor-uplinks:3%"
[workload]"#,
        r#"perm.toml:9:1: unknown kind "link-dwn"
  write: kind = "link-down""#,
    ),
    (
        "[workload]",
        r#"[[fault]]
kind = "link-down"
link = "tor-uplinks:3%"
[workload]"#,
        r#"perm.toml:10:1: unknown key "link" in [[fault]]
  write: links = "tor-uplinks:3%" (did you mean "links"?)"#,
    ),
    (
        "[workload]",
        r#"[[fault]]
kind = "link-down"
links = "all"
duration = "0us"
[workload]"#,
        r#"perm.toml:11:1: duration must be above 0
  write: duration = "200us""#,
    ),
    (
        "[workload]",
        r#"[[fault]]
kind = "link-down"
links = "tor:99/up"
[workload]"#,
        r#"perm.toml:10:1: "tor:99/up": there is no tor:99; they are tor:0 to tor:7
  write: links = "tor:7/up""#,
    ),
    (
        "[workload]",
        r#"[[fault]]
kind = "packet-loss"
links = "all"
probability = 5
[workload]"#,
        r#"perm.toml:11:1: probability must be between 0 and 1, not 5
  write: probability = 0.05"#,
    ),
    (
        "[workload]",
        r#"[[fault]]
kind = "rate"
links = "all"
rate = "0Gbps"
[workload]"#,
        r#"perm.toml:11:1: a link with rate 0 carries nothing
  write: kind = "link-down", or a rate above 0"#,
    ),
    (
        "[workload]",
        r#"[[fault]]
kind = "rate"
links = "all"
rate = "25%"
[workload]"#,
        r#"perm.toml:11:1: rate: "25%" is not a rate such as "400Gbps"; the units are bps, Kbps, Mbps, Gbps, Tbps
  write: rate = "100Gbps""#,
    ),
    (
        "[workload]",
        r#"[[fault]]
kind = "rate"
links = "all"
rate = 0.25
[workload]"#,
        r#"perm.toml:11:1: rate: must be a rate in quotes, not 0.25
  write: rate = "100Gbps""#,
    ),
    (
        r#"kind = "fat-tree"
hosts = 32
link = "400Gbps""#,
        r#"kind = "dumbbell"
hosts = 32
link = "400Gbps"
trunk = "100Gbps"
[[fault]]
kind = "rate"
links = "all"
rate = "0.25line""#,
        r#"perm.toml:12:1: rate: "0.25line" is not a rate such as "400Gbps"; the units are bps, Kbps, Mbps, Gbps, Tbps
  write: rate = "..." with 0.25 times the rate of the links that are meant"#,
    ),
    (
        "[workload]",
        r#"[[measure]]
series = "queue"
links = "tor:0/up"
[workload]"#,
        r#"perm.toml:9:1: unknown series "queue"
  write: series = "queue-depth""#,
    ),
    (
        "[workload]",
        r#"[[measure]]
series = "queue-depth"
links = ""
[workload]"#,
        r#"perm.toml:10:1: links is empty and selects nothing
  write: links = "tor-uplinks:3%""#,
    ),
    (
        "[workload]",
        r#"[[measure]]
series = "drop"
links = "all"
[workload]"#,
        r#"perm.toml:9:1: unknown series "drop"
  write: series = "drops""#,
    ),
    (
        "[workload]",
        r#"[[measure]]
series = "sender_rtt"
qps = "all"
[workload]"#,
        r#"perm.toml:9:1: unknown series "sender_rtt"
  write: series = "sender-rtt""#,
    ),
    (
        "[workload]",
        r#"[[measure]]
series = "pause-time"
[workload]"#,
        r#"perm.toml:8:1: [[measure]] has no "links"
  write: links = "tor-uplinks:3%""#,
    ),
    (
        "[workload]",
        r#"[[measure]]
series = "flow-throughput"
[workload]"#,
        r#"perm.toml:8:1: [[measure]] has no "qps"
  write: qps = "all", or some of them: qps = "0-7", qps = "0,4,9-12""#,
    ),
    (
        "[workload]",
        r#"[[measure]]
series = "sender-ecn"
qps = " "
[workload]"#,
        r#"perm.toml:10:1: qps is empty and selects nothing
  write: qps = "all", or some of them: qps = "0-7", qps = "0,4,9-12""#,
    ),
    (
        "[workload]",
        r#"[[measure]]
series = "sender-ecn"
qps = 3
[workload]"#,
        r#"perm.toml:10:1: qps: must be text in quotes, not 3
  write: qps = "all", or some of them: qps = "0-7", qps = "0,4,9-12""#,
    ),
    (
        "[workload]",
        r#"[[measure]]
series = "drops"
links = "all"
qps = "all"
[workload]"#,
        r#"perm.toml:11:1: "drops" is measured on links, not on queue pairs
  write: links = "tor-uplinks:3%" instead of qps"#,
    ),
    (
        "[workload]",
        r#"[[measure]]
series = "drops"
links = "tor-uplinks"
by = "planes"
[workload]"#,
        r#"perm.toml:11:1: unknown by "planes"
  write: by = "plane""#,
    ),
    (
        "[workload]",
        r#"[[measure]]
series = "queue-delay"
links = "tor-uplinks"
by = "rail"
above = "8us"
[workload]"#,
        r#"perm.toml:12:1: a curve of several links leaves out no points
  write: by without above, or above without by"#,
    ),
    (
        "[workload]",
        r#"[[measure]]
series = "sender-rtt"
qps = "all"
by = "rail"
[workload]"#,
        r#"perm.toml:11:1: by is for series of links alone, not for "sender-rtt"
  write: series = "sender-rtt" without by"#,
    ),
    (
        "[workload]",
        r#"[[measure]]
series = "sender-rtt"
links = "all"
[workload]"#,
        r#"perm.toml:10:1: "sender-rtt" is measured on queue pairs, not on links
  write: qps = "all" instead of links"#,
    ),
    (
        "[workload]",
        r#"[[measure]]
series = "queue-depth"
links = "all"
above = "8us"
[workload]"#,
        r#"perm.toml:11:1: above is for "queue-delay" alone, not for "queue-depth"
  write: series = "queue-depth" without above"#,
    ),
    (
        "[workload]",
        r#"[[measure]]
series = "queue-delay"
links = "all"
above = "8"
[workload]"#,
        r#"perm.toml:11:1: above: "8" is not a time such as "500ns", "1.5us" or "10ms"; add a unit: ps, ns, us, ms, s
  write: above = "8us""#,
    ),
    (
        "[workload]",
        r#"[[measure]]
series = "sender-rtt"
qps = "all"
every = "1us"
[workload]"#,
        r#"perm.toml:11:1: "sender-rtt" has a point for each acknowledgement, not for each interval
  write: series = "sender-rtt" without every"#,
    ),
    (
        "[workload]",
        r#"[[measure]]
series = "flow-throughput"
qps = "all"
every = "0us"
[workload]"#,
        r#"perm.toml:11:1: every must be above 0
  write: every = "20us""#,
    ),
    (
        "[workload]",
        r#"[[measure]]
series = "pauses"
links = "tor:0/up"
abov = "8us"
[workload]"#,
        r#"perm.toml:11:1: unknown key "abov" in [[measure]]
  write: above = "8us" (did you mean "above"?)"#,
    ),
    (
        "[workload]",
        r#"[[measure]]
series = "sender-rtt"
qps = "0..7"
[workload]"#,
        r#"perm.toml:10:1: "0..7": "0..7" is neither a queue pair's number nor a range of them such as "0-7"
  write: qps = "0-7""#,
    ),
    (
        "[workload]",
        r#"[[measure]]
series = "sender-rtt"
qps = "0,7-3"
[workload]"#,
        r#"perm.toml:10:1: "0,7-3": "7-3" runs backwards
  write: qps = "3-7""#,
    ),
    (
        "[workload]",
        r#"[[measure]]
series = "flow-throughput"
qps = "3,28-40"
[workload]"#,
        r#"perm.toml:10:1: "3,28-40": the workload has 32 queue pairs, numbers 0 to 31, and no 40
  write: qps = "3,28-31""#,
    ),
    (
        "[workload]",
        "[[fault]]\nkind = \"pause-storm\"\nlinks = \"host:3\"\n[workload]",
        r#"perm.toml:10:1: this kind of fault is about hosts, not about links
  write: hosts = "host:3" instead of links"#,
    ),
    (
        "[workload]",
        "[[fault]]\nkind = \"slow-receiver\"\nhosts = \"tor:0\"\nrate = \"1Gbps\"\n[workload]",
        r#"perm.toml:10:1: "tor:0": this names switches or their links, but hosts are needed
  write: hosts = "host:0""#,
    ),
    (
        "[workload]",
        "[[fault]]\nkind = \"slow-receiver\"\nhosts = \"tor:0/up\"\nrate = \"1Gbps\"\n[workload]",
        r#"perm.toml:10:1: "tor:0/up": this names switches or their links, but hosts are needed
  write: hosts = "host:0""#,
    ),
    (
        "[workload]",
        "[[fault]]\nkind = \"slow-receiver\"\nhosts = \"host:3\"\nrate = \"0Gbps\"\n[workload]",
        r#"perm.toml:11:1: a host that takes data at rate 0 takes none
  write: kind = "pause-storm" without rate, or a rate above 0"#,
    ),
    (
        "[workload]",
        "[[fault]]\nkind = \"link-down\"\nhosts = \"host:3\"\n[workload]",
        r#"perm.toml:10:1: this kind of fault is about links, not about hosts
  write: links = "host:3" instead of hosts, or kind = "slow-receiver" with rate"#,
    ),
    (
        "[workload]",
        "[[class]]\nname = \"storage\"\n[workload]",
        r#"perm.toml:8:1: [[class]] has no "scheme"
  write: scheme = "rocev2""#,
    ),
    (
        "[workload]",
        "[[class]]\nname = \"storage\"\nscheme = \"rocev2\"\n[workload]",
        r#"perm.toml:8:1: class "storage" has no [class.workload]
  write: [class.workload] below it, with kind = "permutation" and bytes = "1MB""#,
    ),
    (
        "[workload]",
        "[[class]]\nname = \"main\"\nscheme = \"rocev2\"\n[workload]",
        r#"perm.toml:10:1: class "main" is that of the scenario's schemes and [workload], and has no scheme of its own
  write: another name, such as name = "storage""#,
    ),
    (
        "[workload]",
        "[[class]]\nname = \"storage\"\nscheme = \"dcp\"\nworkload = { kind = \"incast\", bytes = \"8KB\" }\n[workload]",
        r#"perm.toml:8:3: scheme "dcp" cannot have a class beside others, since its routing is not ECMP; it can be among the schemes
  write: another scheme for the class, such as scheme = "rocev2""#,
    ),
    (
        "[workload]",
        "[[class]]\nname = \"storage\"\nscheme = \"rocev\"\nworkload = { kind = \"incast\", bytes = \"8KB\" }\n[workload]",
        r#"perm.toml:10:1: unknown scheme "rocev"
  write: scheme = "rocev2""#,
    ),
    (
        "[workload]",
        "[[class]]\nname = \"storage\"\nscheme = \"rocev2\"\nweight = 0\nworkload = { kind = \"incast\", bytes = \"8KB\" }\n[workload]",
        r#"perm.toml:11:1: weight must be 1 to 1000, not 0
  write: weight = 1"#,
    ),
    (
        "[workload]",
        "[[fault]]\nkind = \"pause-storm\"\nhosts = \"host:3\"\n[[class]]\nname = \"storage\"\nscheme = \"rocev2\"\nworkload = { kind = \"incast\", bytes = \"8KB\" }\n[workload]",
        r#"perm.toml:11:3: a fault of kind "pause-storm" is for a fabric with one class
  write: the fault without [[class]]"#,
    ),
    (
        "[workload]",
        "[[class]]\nname = \"\"\nscheme = \"rocev2\"\nworkload = { kind = \"incast\", bytes = \"8KB\" }\n[workload]",
        r#"perm.toml:9:1: a class's name is made of letters, digits, - and _, not ""
  write: name = "storage""#,
    ),
    (
        "[workload]",
        "[[class]]\nname = \"storage traffic\"\nscheme = \"rocev2\"\nworkload = { kind = \"incast\", bytes = \"8KB\" }\n[workload]",
        r#"perm.toml:9:1: a class's name is made of letters, digits, - and _, not "storage traffic"
  write: name = "storage-traffic""#,
    ),
    (
        "[workload]",
        "[[class]]\nname = \"main/inter\"\nscheme = \"rocev2\"\nworkload = { kind = \"incast\", bytes = \"8KB\" }\n[workload]",
        r#"perm.toml:9:1: a class's name is made of letters, digits, - and _, not "main/inter"
  write: name = "main-inter""#,
    ),
    (
        "[workload]",
        "[[class]]\nname = \"background\"\nscheme = \"rocev2\"\nworkload = { kind = \"incast\", bytes = \"8KB\" }\n[workload]",
        r#"perm.toml:9:1: "background" is a group of messages already, and a class needs a name of its own
  write: name = "background-class""#,
    ),
];
