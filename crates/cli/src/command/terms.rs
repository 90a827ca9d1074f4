//! `anabranch list terms`: the words of tables and verdicts.

/// Words and what they mean, in the order in which a reader meets them.
pub const TERMS: &[(&str, &str)] = &[
    (
        "FCT",
        "flow completion time: from the start of a message until its sender has the last acknowledgement",
    ),
    ("CCT", "collective completion time: from the start of a job until its last message is done"),
    ("ideal", "what it takes alone in the network; for the slowest of a run, a bound that no run is below"),
    ("slowdown", "FCT over ideal FCT of the same message"),
    ("P50, P95, P99", "percentiles over the messages of a run: 99 of 100 are not above P99"),
    ("mean, max", "over the messages of a run; in the table, the mean over seeds of each run's own number"),
    ("interval (±)", "half of the 95 % interval of the mean, by Student's t over the seeds' own numbers"),
    ("rank", "1 and how many schemes are faster at the same seeds, for sure: a paired t-test at 95 %"),
    ("tie", "the seeds do not tell which is faster"),
    (
        "not to be placed",
        "a scheme whose seeds differ too much: by its mean it comes later, by the test no scheme is faster; rank 1-3",
    ),
    ("goodput", "data that receivers had not had before, over time; headers and copies do not count"),
    (
        "recovers after",
        "from the start of the first fault until goodput is back at 95 % of the run without faults",
    ),
    ("slowdown by fault", "the ranked time over that of the same run without faults, seed by seed"),
    (
        "no data hit",
        "the faults met no data packet of a scheme, so its time says nothing of how it bears them",
    ),
    ("drops", "packets that a full queue or a fault of a switch dropped; link losses are those on links"),
    ("trims", "packets of which switches kept the header and dropped the data"),
    ("ECN marks", "packets that a queue marked as congested"),
    ("resent", "data packets sent again"),
    ("timeouts", "times that a sender's timer ran out, as no answer came for an RTO"),
    ("pause frames", "PFC frames that stopped a port; paused port-µs is for how long, over all ports"),
    ("packet-hops", "packets sent, once for each directed link: the unit of the simulator's work"),
    (
        "ground",
        "what schemes stand on: packets, buffers, marking, RTO rule; `anabranch check` shows where it differs",
    ),
    ("baseline", "the same run without the scenario's faults"),
];
