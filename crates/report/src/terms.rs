//! What the words of tables, verdicts and pages mean.

/// A term, or several that are explained together.
pub struct Term {
    /// As tables, verdicts and pages write them.
    pub names: &'static [&'static str],
    /// What they mean, without a full stop.
    pub means: &'static str,
}

const fn term(names: &'static [&'static str], means: &'static str) -> Term {
    Term { names, means }
}

/// The terms, in the order in which a reader meets them.
pub const TERMS: &[Term] = &[
    term(
        &["FCT"],
        "flow completion time: from posting a message until its sender has the last acknowledgement",
    ),
    term(&["CCT"], "collective completion time: from the start of a job until its last message is done"),
    term(
        &["computes", "exposed"],
        "of a job from a trace: for how long the rank that computes most does, and for how long one at most does not, while \
         the job lasts: time that communication costs",
    ),
    term(
        &["ideal"],
        "the time that it takes alone in the network; for the slowest of a run, a bound that no run is below",
    ),
    term(&["slowdown"], "FCT over ideal FCT of the same message: 1 is as fast as alone in the network"),
    term(&["P50", "P95", "P99"], "percentiles over the messages of a run: 99 of 100 are not above P99"),
    term(
        &["mean", "max"],
        "over the messages of a run; in the table, the mean over seeds of each run's own number",
    ),
    term(&["±"], "the half-width of the 95 % confidence interval of the mean over seeds (Student's t)"),
    term(
        &["rank"],
        "one more than the number of schemes that are faster for sure, by more than 1 % (a paired t-test over the seeds, 95 %)",
    ),
    term(&["tie"], "the seeds do not tell which is faster"),
    term(
        &["not to be placed"],
        "a scheme whose seeds differ too much: by its mean it comes later, by the test no scheme is faster; rank 1-3",
    ),
    term(&["goodput"], "data that receivers had not had before, over time; headers and copies do not count"),
    term(
        &["recovers after"],
        "from the start of the first fault until goodput is back at 95 % of the run without faults",
    ),
    term(&["slowdown by fault"], "the ranked time over that of the same run without faults, seed by seed"),
    term(
        &["no data hit", "unhit"],
        "the faults met no data packet of a scheme, so its time says nothing of how it bears them",
    ),
    term(&["drops"], "packets that a full queue or a fault of a switch dropped"),
    term(&["link losses"], "packets lost on links that were down or lossy, and in switches that went down"),
    term(&["trims"], "packets of which switches kept the header and dropped the data"),
    term(&["ECN marks"], "packets that a switch marked with CE (Congestion Experienced)"),
    term(&["resent"], "data packets sent again"),
    term(&["timeouts"], "times that a sender's timer ran out, as no acknowledgement came for an RTO"),
    term(&["peak queue"], "most bytes that waited at one port of a switch"),
    term(
        &["pause frames", "paused port-µs"],
        "PFC pause (XOFF) frames sent, and the time for which ports had their data class paused, summed over all ports",
    ),
    term(&["packet-hops"], "packets sent, once for each directed link: the unit of the simulator's work"),
    term(
        &["ground"],
        "what schemes stand on: packets, buffers, marking, RTO rule; `anabranch check` shows where it differs",
    ),
    term(&["baseline"], "the same run without the scenario's faults"),
];
