//! What the words of a page mean.

/// A word, and what it means. A page explains those that it uses.
const TERMS: [(&str, &str); 12] = [
    ("FCT", "flow completion time: from posting a message to the acknowledgement of its last byte"),
    ("CCT", "collective completion time: from a job's first posting to its last acknowledgement"),
    ("P50", "the value that half of them do not exceed"),
    ("P99", "the value that 99 % of them do not exceed"),
    ("ideal", "the time that it takes alone in the network, without queues, losses and faults"),
    ("slowdown", "the FCT over the ideal one: 1 is as fast as alone in the network"),
    ("goodput", "bytes that arrived for the first time, per second: what is sent again does not count"),
    ("±", "half of the 95 % interval of the mean, by Student's t over the seeds"),
    ("link losses", "packets lost on links that were down or lossy, and in switches that went down"),
    ("resent", "data packets sent again"),
    ("time-outs", "timers of senders that fired as no acknowledgement came"),
    ("peak queue", "most bytes that waited at one port of a switch"),
];

/// The folded list of the words that `body` uses; nothing where it uses none.
pub(super) fn section(body: &str) -> String {
    let words = body.replace("-<wbr>", "-").replace("<br>", " ");
    let used = TERMS.into_iter().filter(|(term, _)| words.contains(term));
    let list: String = used.map(|(term, meaning)| format!("<dt>{term}</dt><dd>{meaning}.</dd>")).collect();
    match list.is_empty() {
        true => list,
        false => {
            format!("<details class=\"note\"><summary>What the words mean</summary><dl>{list}</dl></details>")
        }
    }
}
