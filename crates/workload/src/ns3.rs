//! The flow files of the ns-3 RDMA simulators: a count, then `src dst pg [dport] bytes start` a line, the start
//! in seconds. Node numbers are host numbers. HPCC's simulator has the destination port, ConWeave's has not.

use super::{Start, Workload, WorkloadBuilder, WorkloadError, text};
use anabranch_base::{Duration, HostId, Time};

/// Reads a flow file for a fabric of `hosts` hosts; each flow becomes one message on its own queue pair, in the
/// order of the file. `origin` is the instant in the file at which the run starts. Priority groups and ports
/// are checked and not used. Lines after the counted flows are ignored when they are prose.
///
/// # Errors
/// [`WorkloadError::Line`] or [`WorkloadError::File`] with what to write instead.
pub(super) fn parse(file: &str, text: &str, origin: Duration, hosts: u32) -> Result<Workload, WorkloadError> {
    let mut lines = text::lines(text);
    let Some((count_line, count)) = lines.next() else {
        return Err(WorkloadError::file(file, "it is empty; the first line must be the number of flows"));
    };
    let expected = text::whole_u32(count, "the first line is the number of flows; it")
        .map_err(|what| WorkloadError::line(file, count_line, what))?;
    let mut builder = WorkloadBuilder::new();
    let mut columns = None;
    let mut read = 0u32;
    for (line, content) in lines {
        let fail = |what: String| WorkloadError::line(file, line, what);
        if read == expected {
            if content.starts_with(|c: char| c.is_ascii_digit()) {
                return Err(fail(format!(
                    "a flow after the {expected} that line {count_line} counts; write the number of flows there"
                )));
            }
            break;
        }
        let words: Vec<&str> = content.split_whitespace().collect();
        check_columns(words.len(), *columns.get_or_insert(words.len())).map_err(fail)?;
        let flow = read_flow(&words, origin, hosts).map_err(fail)?;
        let qp = builder.add_qp(flow.src, flow.dst);
        builder.add_message(qp, flow.bytes, Start::At(flow.start));
        read += 1;
    }
    if read < expected {
        let what =
            format!("it counts {expected} flows, but the file has {read}; write {read} or add the others");
        return Err(WorkloadError::line(file, count_line, what));
    }
    if read == 0 {
        return Err(WorkloadError::line(
            file,
            count_line,
            "it counts no flows; a workload needs at least one",
        ));
    }
    builder.build()
}

struct Flow {
    src: HostId,
    dst: HostId,
    bytes: u64,
    start: Time,
}

fn check_columns(found: usize, first: usize) -> Result<(), String> {
    if found != 5 && found != 6 {
        return Err(format!(
            "expected `src dst pg bytes start_s` or `src dst pg dport bytes start_s`, but there are {found} columns"
        ));
    }
    if found != first {
        return Err(format!("expected {first} columns as in the flows before, but there are {found}"));
    }
    Ok(())
}

/// `words` has 5 or 6 entries.
fn read_flow(words: &[&str], origin: Duration, hosts: u32) -> Result<Flow, String> {
    let host = |word: &str, what: &str| match text::whole_u32(word, what)? {
        node if node < hosts => Ok(HostId(node)),
        node => {
            Err(format!("{what} {node} is not a host; the fabric has hosts 0 to {}", hosts.saturating_sub(1)))
        }
    };
    let (src, dst) = (host(words[0], "the source")?, host(words[1], "the destination")?);
    if src == dst {
        return Err(format!("the flow goes from host {src} to itself; a destination must be another host"));
    }
    text::whole(words[2], "the priority group", 7)?;
    if words.len() == 6 {
        text::whole(words[3], "the destination port", 65_535)?;
    }
    let bytes = text::whole(words[words.len() - 2], "the flow's size", u64::MAX)?;
    if bytes == 0 {
        return Err("the flow has 0 bytes; the least is 1".into());
    }
    let word = words[words.len() - 1];
    let start = text::instant(word, "the start", SECOND)?;
    if start.0 < origin.0 {
        return Err(format!(
            "the flow starts at {start}, before the origin {origin}; set `origin` to at most the first start"
        ));
    }
    Ok(Flow { src, dst, bytes, start: Time(start.0 - origin.0) })
}

const SECOND: Duration = Duration(1_000_000_000_000);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TWO_SECONDS: Duration = Duration(2_000_000_000_000);

    fn wrong(text: &str) -> String {
        parse("f.txt", text, TWO_SECONDS, 16).unwrap_err().to_string()
    }

    #[test]
    fn both_forms_read_exactly() {
        let five =
            parse("f", "2 \n1 2 3 616 2.000000009\n15 0 3 86814 2.000000071\n", TWO_SECONDS, 16).unwrap();
        let six = parse("f", "2\n1 2 3 100 616 2.000000009\r\n15 0 3 100 86814 2.000000071", TWO_SECONDS, 16)
            .unwrap();
        assert_eq!(five, six);
        assert_eq!((five.qps[1].src, five.qps[1].dst), (HostId(15), HostId(0)));
        assert_eq!((five.messages[0].bytes, five.messages[0].start), (616, Start::At(Time(9_000))));
        assert_eq!(five.messages[1].start, Start::At(Time(71_000)));
    }

    #[test]
    fn prose_after_the_flows_is_ignored() {
        assert_eq!(
            parse("f", "1\n1 2 3 616 2\n\nsrc dst pg bytes start", TWO_SECONDS, 16).unwrap().messages.len(),
            1
        );
    }

    #[test]
    fn mistakes_are_explained() {
        assert_eq!(wrong(""), "f.txt: it is empty; the first line must be the number of flows");
        assert_eq!(
            wrong("1 2 3 616 2"),
            "f.txt:1: the first line is the number of flows; it must be a whole number, not `1 2 3 616 2`"
        );
        assert_eq!(
            wrong("2\n1 2 3 616 2"),
            "f.txt:1: it counts 2 flows, but the file has 1; write 1 or add the others"
        );
        assert_eq!(
            wrong("1\n1 2 3 616 2\n2 1 3 616 2"),
            "f.txt:3: a flow after the 1 that line 1 counts; write the number of flows there"
        );
        assert_eq!(wrong("0\n"), "f.txt:1: it counts no flows; a workload needs at least one");
        assert_eq!(
            wrong("1\n1 2 616 2"),
            "f.txt:2: expected `src dst pg bytes start_s` or `src dst pg dport bytes start_s`, but there are 4 columns"
        );
        assert_eq!(
            wrong("2\n1 2 3 616 2\n1 2 3 100 616 2"),
            "f.txt:3: expected 5 columns as in the flows before, but there are 6"
        );
        assert_eq!(
            wrong("1\n1 16 3 616 2"),
            "f.txt:2: the destination 16 is not a host; the fabric has hosts 0 to 15"
        );
        assert_eq!(
            wrong("1\n3 3 3 616 2"),
            "f.txt:2: the flow goes from host 3 to itself; a destination must be another host"
        );
        assert_eq!(wrong("1\n1 2 8 616 2"), "f.txt:2: the priority group is too large: `8`; the most is 7");
        assert_eq!(wrong("1\n1 2 3 0 2"), "f.txt:2: the flow has 0 bytes; the least is 1");
        assert_eq!(
            wrong("1\n1 2 3 616 1.9"),
            "f.txt:2: the flow starts at 1900ms, before the origin 2s; set `origin` to at most the first start"
        );
        assert_eq!(
            wrong("1\n1 2 3 616 2s"),
            "f.txt:2: the start must be a number such as 0 or 1.5, not `2s`"
        );
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[0-9. \\-\ne]{0,120}", any in ".{0,60}") {
            let _ = parse("x", &text, Duration::ZERO, 4);
            let _ = parse("x", &any, Duration::ZERO, 4);
        }
    }
}
