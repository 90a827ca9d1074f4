//! A late host handles a timeout, and immediately afterwards the acknowledgement that makes the retransmission
//! needless. The retransmission then leaves when its message is no longer known.

use anabranch_base::{Duration, MessageId, QpId, Time};
use anabranch_live::{Frame, LiveNode};
use anabranch_sim::scenario::{NoFiles, Overrides, RunPoint, read};
use anabranch_sim::{DrivenRun, build};

/// Runs all nodes until the message is delivered and no frame is on a link, but holds back the frames to the sending
/// host. The host then gets all held frames at a time when a timeout is due that it has not handled yet. Returns the
/// number of data packets that the host sends in response.
fn late_copies(point: &RunPoint) -> usize {
    let built = build(point).unwrap();
    let (run, topology) = (DrivenRun::new(point, &built).unwrap(), &built.topology);
    let mut nodes = LiveNode::all(&run, topology).unwrap();
    let mut on_links: Vec<(usize, u16, Frame)> = Vec::new();
    let mut kept: Vec<(u16, Frame)> = Vec::new();
    let source = run.ends(QpId(0))[0].index();
    let is_delivered = || run.message_times(MessageId(0))[1].is_some();
    loop {
        let next = |at: usize| nodes[at].driven().next_time();
        let others = (0..nodes.len()).filter(|at| *at != source || !is_delivered()).map(next);
        let arrivals = on_links.iter().map(|(_, _, frame)| frame.acts);
        let Some(now) = others.chain(arrivals).min().filter(|now| *now < Time::NEVER) else { break };
        on_links.sort_by_key(|(.., frame)| frame.acts);
        let due = on_links.partition_point(|(.., frame)| frame.acts <= now);
        for (at, port, frame) in on_links.drain(..due) {
            match at {
                at if at == source => kept.push((port, frame)),
                at => drop(nodes[at].receive(now, port, &frame.bytes).unwrap()),
            }
        }
        for (at, node) in nodes.iter_mut().enumerate() {
            if node.driven().next_time() <= now && (at != source || !is_delivered()) {
                node.run_until(now).unwrap();
            }
            let links = topology.links_of(node.node()).start;
            node.take_frames(|frame| {
                let to = &topology.ports[(links + u32::from(frame.port)) as usize];
                on_links.push((to.peer.index(), to.peer_port, frame));
            })
            .unwrap();
        }
    }
    let host = &mut nodes[source];
    // The first timer to expire need not be the timeout. A millisecond later, the timeout is due as well.
    let late = host.driven().next_time() + Duration::from_us(1_000);
    for (port, frame) in &kept {
        host.receive(late, *port, &frame.bytes).unwrap();
    }
    assert!(host.driven().ended() > 0, "{}: the message is acknowledged", point.scheme.name);
    let mut copies = 0;
    host.take_frames(|frame| copies += usize::from(frame.payload.is_some())).unwrap();
    copies
}

#[test]
fn a_copy_that_leaves_after_its_acknowledgement_has_its_payload() {
    let text = r#"
        schemes = ["reps", "rocev2", "themis-spraying", "strack", "dcp", "irn-ar", "mp-rdma", "uet-nscc"]
        seeds = [1]
        topology = { kind = "fat-tree", hosts = 2, hosts_per_tor = 2, link = "100Gbps" }
        workload = { kind = "incast", degree = 1, bytes = "32KiB" }
    "#;
    let scenario = read("test.toml", text, &NoFiles, &Overrides::default()).unwrap();
    let copies: Vec<(String, usize)> = scenario
        .points()
        .unwrap()
        .iter()
        .map(|point| (point.scheme.name.clone(), late_copies(point)))
        .collect();
    assert!(copies.iter().all(|(_, count)| *count > 0), "{copies:?}");
}
