//! The glossary for tables, verdicts and pages.

/// A term, or several terms that are explained together.
pub struct Term {
    /// The names of the terms, as tables, verdicts and pages write them.
    pub names: &'static [&'static str],
    /// The meaning, without a full stop.
    pub means: &'static str,
}

const fn term(names: &'static [&'static str], means: &'static str) -> Term {
    Term { names, means }
}

/// The terms, in the order in which a reader sees them.
pub const TERMS: &[Term] = &[
    term(
        &["FCT"],
        "flow completion time: from posting a message until its sender has the last acknowledgement",
    ),
    term(
        &["CCT"],
        "collective completion time: from the start of a job until its last message is acknowledged",
    ),
    term(
        &["computes", "exposed"],
        "of a job from a trace: `computes` is the computing time of the busiest rank; `exposed` is the \
         largest time, over the ranks, in which a rank does not compute while the job runs (communication \
         that is not overlapped)",
    ),
    term(
        &["algbw", "busbw"],
        "of a collective, as nccl-tests counts them: its bytes over the CCT, and that by a factor with which the bandwidth of a \
         bus compares, 2(n-1)/n for an AllReduce of n ranks",
    ),
    term(
        &["ideal"],
        "FCT of the message on an otherwise idle network; for the slowest message or job of a run, a lower bound",
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
        "one more than the number of schemes that are significantly faster, by more than 1 % (a paired t-test over three seeds \
         or more, 95 %), and never before a scheme that is placed and has a lower mean",
    ),
    term(
        &["tie"],
        "no significant difference, and none of half or more: the 95 % interval of the per-seed differences excludes that one \
         takes 1.5 times as long as the other. `within a factor of 1.1`: that interval excludes more than that",
    ),
    term(
        &["not to be placed"],
        "too much variation between seeds, which tell neither a difference nor a tie. `1-3`: no scheme is significantly \
         faster, and all others but two are significantly slower",
    ),
    term(
        &["goodput"],
        "payload delivered for the first time per unit of time, without headers and duplicates",
    ),
    term(
        &["recovers after"],
        "from the start of the first fault until the goodput of all hosts together is back at 95 % of the run without \
         faults and stays there until 95 % of the data are there, so that a few slow flows hardly show; `run ended`: it was \
         done first, with the fault still there",
    ),
    term(&["slowdown by fault"], "the ranked time over that of the same run without faults, seed by seed"),
    term(
        &["no data hit", "unhit"],
        "the faults hit no data packet of the scheme, so its result says nothing about how it handles them",
    ),
    term(&["drops"], "packets that a full queue or a fault of a switch dropped"),
    term(&["link losses"], "packets lost on links that were down or lossy, and in switches that went down"),
    term(&["trims"], "packets whose payload a switch removed (trimming)"),
    term(&["ECN marks"], "packets that a switch marked with CE (Congestion Experienced)"),
    term(&["resent"], "data packets sent again"),
    term(&["timeouts"], "retransmission timeouts of senders"),
    term(&["peak queue"], "most bytes that waited at one port of a switch"),
    term(
        &["pause frames", "paused port-µs"],
        "PFC pause (XOFF) frames sent, and the time for which ports had their data class paused, summed over all ports",
    ),
    term(&["packet-hops"], "packets sent, once for each directed link: the unit of the simulator's work"),
    term(
        &["ground"],
        "ground: the common settings that all schemes run with (packet sizes, buffers, ECN marking, RTO \
         rule); `anabranch check` lists the differences",
    ),
    term(&["baseline"], "the same run without the scenario's faults"),
];
