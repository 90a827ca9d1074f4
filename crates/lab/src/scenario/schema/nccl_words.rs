//! Hints for keys that are variables of NCCL or flags of nccl-tests.

use crate::scenario::read::document::Node;
use crate::scenario::read::table::{Table, name_alone};
use anabranch_base::{Bytes, Diagnostic, Fix};
use anabranch_workload::collective::Operation;

const SIMPLE_MESSAGES_OF_BUFFER: u64 = 4;

/// The flags of nccl-tests that are keys here: its names and the key.
const FLAGS: [(&[&str], &str); 4] = [
    (&["b", "minbytes", "begin"], "min_bytes"),
    (&["e", "maxbytes", "end"], "max_bytes"),
    (&["f", "stepfactor"], "factor"),
    (&["i", "stepbytes"], "step_bytes"),
];

/// The other flags of nccl-tests, with the reason for which there is no key.
const IGNORED_FLAGS: [(&[&str], &str); 5] = [
    (
        &["n", "iters", "w", "warmup_iters", "m", "agg_iters", "a", "average", "N", "run_cycles"],
        "a size is simulated once for each of seeds",
    ),
    (&["r", "root"], "a broadcast comes from rank 0"),
    (&["o", "op", "d", "datatype", "c", "check"], "the numbers in the buffers are not simulated"),
    (
        &[
            "z",
            "blocking",
            "G",
            "cudagraph",
            "p",
            "parallel_init",
            "C",
            "report_cputime",
            "R",
            "local_register",
        ],
        "programs and GPU kernels are not simulated",
    ),
    (&["T", "timeout"], "max_time below [limits] ends a run"),
];

/// A hint for a key of `table` that is a variable of NCCL or a flag of nccl-tests.
pub(super) fn hint(table: &Table, key: &str, value: &toml::Value) -> Option<Fix> {
    let kind = table.get::<String>("kind").ok().flatten();
    let is_job = matches!(kind.as_deref(), Some("nccl-tests" | "collective"));
    let is_tests = kind.as_deref() == Some("nccl-tests");
    match key.to_ascii_lowercase().as_str() {
        "bytes" | "size" if is_tests => {
            Some(Fix::text("min_bytes and max_bytes; for one size both are the same, such as \"16MiB\""))
        }
        "size" if is_job && table.node("bytes").is_none() => of_two_units("bytes", value),
        "protocol" | "proto" if is_job => Some(protocol()),
        "qps" | "queue_pairs" | "qps_per_connection" if in_scenario(table) => {
            Some(queue_pairs(number(value)))
        }
        "mtu" if in_scenario(table) => Some(payload(value)),
        "nchannels" | "num_channels" | "n_channels" if in_scenario(table) => {
            Some(of_server(table, "channels", number(value).map(|number| number.to_string())))
        }
        "op" | "collective" if let Some(fix) = operation(table, key, value, is_tests) => Some(fix),
        "command" | "cmd" | "args" if is_tests => command(table, value.as_str()?),
        lower => match lower.strip_prefix("nccl_") {
            Some(name) => Some(of_variable(table, name, value)),
            None if is_tests => flag(table, key, value),
            None if is_job => ignored_flag(key).filter(|_| key.len() > 1),
            None => None,
        },
    }
}

fn protocol() -> Fix {
    Fix::text("algorithm = \"allreduce-nccl\", which chooses the protocol as NCCL does; it cannot be set")
}

fn number(value: &toml::Value) -> Option<u64> {
    match value {
        toml::Value::Integer(number) => u64::try_from(*number).ok(),
        toml::Value::Boolean(truth) => Some(u64::from(*truth)),
        value => value.as_str()?.trim().parse().ok(),
    }
}

/// The hint for the variable `NCCL_` + `name` in capitals.
fn of_variable(table: &Table, name: &str, value: &toml::Value) -> Fix {
    let number = number(value);
    let truth = |is: bool| Some(is.to_string());
    match name {
        "algo" => Fix::text(
            "algorithm; Ring, Tree and NVLS are \"allreduce-ring\", \"allreduce-double-binary-tree\" and \"allreduce-hierarchical\"",
        ),
        "proto" => protocol(),
        "min_nchannels" | "max_nchannels" | "nchannels" | "min_ctas" | "max_ctas" => {
            of_server(table, "channels", number.map(|number| number.to_string()))
        }
        "pxn_disable" => of_server(table, "pxn", number.and_then(|number| truth(number == 0))),
        "p2p_pxn_level" => of_server(table, "pxn", number.and_then(|number| truth(number > 0))),
        "nvls_enable" => of_server(table, "nvls", number.and_then(|number| truth(number > 0))),
        "p2p_net_chunksize" => of_workload(table, "chunk", number.map(Bytes), ""),
        "buffsize" => {
            let message = number.map(|bytes| Bytes(bytes / SIMPLE_MESSAGES_OF_BUFFER));
            of_workload(table, "chunk", message, ", the messages of a ring: a quarter of the buffer")
        }
        "ib_qps_per_connection" => queue_pairs(number),
        "ib_split_data_on_qps" => {
            nothing("each message is split over the queue pairs, whose number is \"*.qps\" below [set]")
        }
        "ib_timeout" | "ib_retry_cnt" => Fix::text(
            "\"*.transport.rto\" below [set], the time without an answer after which packets are sent again",
        ),
        "ib_tc" | "ib_sl" | "ib_fifo_tc" => Fix::text("a [[class]], the class of a job's traffic"),
        "ib_adaptive_routing" => Fix::text(
            "a scheme: \"adaptive-roce\" for switches that choose the shortest queue, \"pfc-ecmp\" for static routes",
        ),
        "ib_hca" | "socket_ifname" | "ib_disable" => Fix::text("nics below [topology], the NICs of a server"),
        "topo_file" | "topo_dump_file" => {
            let file = value.as_str().unwrap_or("server.xml");
            Fix::text(format!(
                "server = {file:?} below [topology], where NCCL_TOPO_DUMP_FILE wrote the file; hints for NCCL do not do"
            ))
        }
        "cross_nic" => nothing("the rings of a job stay on their rails"),
        "nthreads" | "launch_mode" | "ll_threshold" => nothing("GPU kernels are not simulated"),
        "collnet_enable" | "sharp_disable" => {
            nothing("switches of the network that reduce (SHARP, CollNet) are not simulated")
        }
        _ => nothing("no key stands for this variable of NCCL"),
    }
}

fn in_scenario(table: &Table) -> bool {
    ["[workload", "[[workload", "[topology"].iter().any(|begin| table.name.starts_with(begin))
}

fn queue_pairs(number: Option<u64>) -> Fix {
    match number.filter(|qps| (1..=64).contains(qps)) {
        Some(qps) => Fix::text(format!("\"*.qps\" = {qps} below [set], over which each message is split")),
        None => Fix::text("\"*.qps\" below [set], a number of 1 to 64"),
    }
}

/// The hint for a setting that is a variable of NCCL.
pub(in crate::scenario) fn of_setting(key: &str, value: &toml::Value) -> Option<Fix> {
    let qps = number(value).filter(|qps| (1..=64).contains(qps));
    let is_qps = key.eq_ignore_ascii_case("NCCL_IB_QPS_PER_CONNECTION");
    qps.filter(|_| is_qps).map(|qps| Fix::set("\"*.qps\"", qps))
}

fn payload(value: &toml::Value) -> Fix {
    let bytes = || value.as_str().filter(|text| text.parse::<Bytes>().is_ok()).map(str::to_owned);
    let bytes = number(value).map(|bytes| format!("{bytes}B")).or_else(bytes);
    let bytes = bytes.map_or_else(String::new, |bytes| format!(" = \"{bytes}\""));
    Fix::text(format!("\"*.transport.payload\"{bytes} below [set], the bytes of a packet without headers"))
}

/// The error for a size, whose units K, M and G are powers of 1,024 in nccl-tests and may be those of 1,000 elsewhere.
pub(in crate::scenario) fn of_size(table: &Table, key: &str, error: Diagnostic) -> Diagnostic {
    match table.node(key).and_then(|node| of_two_units(key, &node.value())) {
        Some(fix) => error.with_fix(fix),
        None => error,
    }
}

fn of_two_units(key: &str, value: &toml::Value) -> Option<Fix> {
    let text = value.as_str()?.trim().to_ascii_uppercase();
    let [binary, decimal] = ["iB", "B"].map(|unit| format!("{text}{unit}"));
    let is_size = text.ends_with(['K', 'M', 'G']) && binary.parse::<Bytes>().is_ok();
    is_size.then(|| {
        Fix::text(format!("{key} = \"{binary}\", which {text} is in nccl-tests, or {key} = \"{decimal}\""))
    })
}

/// The keys for a command line of nccl-tests, such as `all_reduce_perf -b 8 -e 128M -f 2`.
fn command(table: &Table, line: &str) -> Option<Fix> {
    let words: Vec<&str> = line.split([' ', '=']).filter(|word| !word.is_empty()).collect();
    let mut keys: Vec<(&str, String)> = Vec::new();
    let program = words.iter().find_map(|word| word.rsplit('/').next()?.strip_suffix("_perf"));
    let operation = Operation::ALL.iter().find(|(name, _)| program == Some(*name));
    keys.extend(operation.map(|(name, _)| ("operation", format!("{name:?}"))));
    for (flag, value) in words.iter().zip(words.iter().skip(1)).filter(|(flag, _)| flag.starts_with('-')) {
        let flag = flag.trim_start_matches('-').replace(['-', '_'], "");
        let Some((_, key)) = FLAGS.iter().find(|(names, _)| names.contains(&flag.as_str())) else { continue };
        let written = toml::Value::String((*value).to_owned());
        let value =
            if *key == "factor" { number(&written).map(|number| number.to_string()) } else { size(&written) };
        keys.extend(value.map(|value| (*key, value)));
    }
    let missing = keys.into_iter().filter(|(key, _)| table.node(key).is_none());
    let lines: Vec<String> = missing.map(|(key, value)| format!("{key} = {value}")).collect();
    (!lines.is_empty()).then(|| Fix::text(format!("{}, each on a line of its own", lines.join(", "))))
}

fn nothing(why: &str) -> Fix {
    Fix::text(format!("nothing: leave the line out; {why}"))
}

/// The hint for a key of the table `server` of a job.
pub(super) fn of_server(table: &Table, key: &str, value: Option<String>) -> Fix {
    let server = match table.name.trim_matches(['[', ']']) {
        name if name.ends_with(".server") => {
            return value.map_or_else(|| name_alone(key, key), |value| Fix::set(key, value));
        }
        name if name.starts_with("workload") => format!("[{name}.server]"),
        _ => "[workload.server]".to_owned(),
    };
    let Some(value) = value else { return Fix::text(format!("{key} below {server}")) };
    let of_topology = if table.name == "[topology]" { " below [workload]" } else { "" };
    let mut keys = match table.node("server").map(Node::value) {
        Some(toml::Value::Table(keys)) if of_topology.is_empty() => keys,
        _ => toml::Table::new(),
    };
    keys.remove(key);
    let kept: Vec<String> = keys.iter().map(|(key, value)| format!("{key} = {value}, ")).collect();
    let inline = format!("server = {{ {}{key} = {value} }}{of_topology}", kept.concat());
    Fix::text(format!("{key} = {value} below {server}, or {inline}"))
}

/// The hint for a size of a job.
fn of_workload(table: &Table, key: &str, value: Option<Bytes>, what: &str) -> Fix {
    let below = match table.name.trim_matches(['[', ']']) {
        "workload" | "workload.job" => "",
        _ => " below [workload]",
    };
    match value.filter(|bytes| bytes.0 > 0) {
        Some(bytes) if below.is_empty() && what.is_empty() => Fix::set(key, format!("\"{bytes}\"")),
        Some(bytes) => Fix::text(format!("{key} = \"{bytes}\"{below}{what}")),
        None => Fix::text(format!("{key}{below}{what}")),
    }
}

/// The hint for a flag of nccl-tests for which there is no key.
fn ignored_flag(key: &str) -> Option<Fix> {
    let flag = key.trim_start_matches('-');
    let (_, why) = IGNORED_FLAGS.iter().find(|(flags, _)| flags.contains(&flag))?;
    Some(nothing(why))
}

/// The hint for a key whose value is an operation of nccl-tests or one of its programs, such as `all_reduce_perf`.
fn operation(table: &Table, key: &str, value: &toml::Value, is_tests: bool) -> Option<Fix> {
    let written = value.as_str()?.rsplit('/').next()?;
    let plain = |name: &str| name.trim_end_matches("_perf").to_lowercase().replace(['-', '_'], "");
    let (name, operation) = Operation::ALL.iter().find(|(name, _)| plain(name) == plain(written))?;
    let (meant, value) = match is_tests {
        true => ("operation", *name),
        false => ("algorithm", operation.usual_algorithm(false).name()),
    };
    Some(match table.node(meant) {
        None => Fix::text(format!("{meant} = {value:?} in place of {key}")),
        Some(_) => Fix::text(format!("nothing in place of {key}: it follows from {meant}")),
    })
}

/// The hint for a flag of nccl-tests, such as `-b`, `--minbytes` or `ngpus`.
fn flag(table: &Table, key: &str, value: &toml::Value) -> Option<Fix> {
    let flag = key.trim_start_matches('-');
    if ["g", "ngpus", "t", "nthreads"].contains(&flag) {
        let all = "the GPUs of all processes: -g times -t times the number of processes";
        let ranks = number(value).filter(|ranks| *ranks > 1 && table.node("ranks").is_none());
        return Some(match (ranks, table.node("ranks")) {
            (Some(ranks), _) => Fix::text(format!("ranks = {ranks}, if these are {all}")),
            (None, Some(_)) => nothing("ranks has the number of all GPUs"),
            (None, None) => Fix::text(format!("ranks, {all}; without it, all of the cluster")),
        });
    }
    if let Some(fix) = ignored_flag(flag) {
        return Some(fix);
    }
    let long = flag.replace(['-', '_'], "");
    let (_, meant) =
        FLAGS.iter().find(|(names, _)| names.contains(&flag) || names.contains(&long.as_str()))?;
    if table.node(meant).is_some() {
        return Some(Fix::text(format!("nothing in place of {key}: it follows from {meant}")));
    }
    let value = if *meant == "factor" { number(value).map(|number| number.to_string()) } else { size(value) };
    Some(Fix::Rename { written: (*meant).to_owned(), name: (*meant).to_owned(), value })
}

/// A size of nccl-tests as TOML. A number without a unit is in bytes, and K, M and G are powers of 1,024.
fn size(value: &toml::Value) -> Option<String> {
    let text = match (number(value), value.as_str().map(str::trim)) {
        (Some(bytes), _) => Bytes(bytes).to_string(),
        (None, Some(text)) if text.ends_with(['K', 'M', 'G', 'k', 'm', 'g']) => {
            format!("{}iB", text.to_ascii_uppercase())
        }
        (None, text) => text?.to_owned(),
    };
    text.parse::<Bytes>().is_ok().then(|| format!("\"{text}\""))
}
