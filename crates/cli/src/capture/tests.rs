use super::*;
use anabranch_sim::scenario::{NoFiles, Overrides, read};
use anabranch_sim::{Control, RunError, run, run_observed};
use anabranch_wire::{Format, Reference, decode};
use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use pcap_file::pcapng::{Block, PcapNgReader};

const INCAST: &str = r#"
schemes = ["rocev2", "reps", "dcp", "strack", "eqds", "uet-nscc", "uet-both"]
seeds = [1]
topology = { kind = "fat-tree", hosts = 16, hosts_per_tor = 4, link = "100Gbps" }
workload = { kind = "incast", degree = 7, bytes = "64KB" }
"#;

fn points(text: &str) -> Vec<RunPoint> {
    let scenario = read("s.toml", text, &NoFiles, &Overrides::default()).unwrap_or_else(|e| panic!("{e}"));
    scenario.points().unwrap()
}

/// At most `most` frames on all links, and the outcome of the run.
fn captured(point: &RunPoint, threads: usize, most: u64) -> (Vec<Sent>, Firsts, Result<[u64; 2], String>) {
    let built = anabranch_sim::build(point).unwrap();
    let links: Vec<LinkId> = (0..built.topology.links()).map(LinkId).collect();
    let control = Control { threads, ..Control::default() };
    let count = AtomicU64::new(0);
    let mut capture = Capture::new(point, &built.topology, &links, most, (&count, &control.cancel));
    let ran = run_observed(point, &control, &mut capture);
    let ended = match ran {
        Ok(result) => {
            assert_eq!(result.run.digest, run(point, &Control::default()).unwrap().run.digest);
            Ok([result.run.packet_hops, result.run.pause_frames])
        }
        Err(RunError::Cancelled) => Err("full".to_owned()),
        Err(error) => panic!("{error}"),
    };
    let (sent, firsts) = capture.into_sent();
    (sent, firsts, ended)
}

fn bytes_of(point: &RunPoint, sent: &[Sent], firsts: Firsts) -> Vec<u8> {
    let built = anabranch_sim::build(point).unwrap();
    let links: Vec<LinkId> = (0..built.topology.links()).map(LinkId).collect();
    let mut bytes = Vec::new();
    let wire = Wire::new(point, &built, firsts);
    pcapng(&mut bytes, &wire, &links, sent, Snapped(128), "a test").unwrap();
    bytes
}

#[test]
fn every_packet_and_pause_of_all_links_is_there_whatever_the_threads() {
    for point in points(INCAST) {
        let (sent, firsts, ended) = captured(&point, 1, u64::MAX);
        let [hops, pauses] = ended.unwrap();
        let (mut packets, mut stops) = (0, 0);
        for sent in &sent {
            match sent.content {
                FrameContent::Packet(_) => packets += 1,
                FrameContent::Pause { stop } => stops += u64::from(stop),
            }
        }
        assert_eq!((packets, stops), (hops, pauses), "{}", point.scheme.name);
        let written = bytes_of(&point, &sent, firsts);
        let (on_three, firsts, _) = captured(&point, 3, u64::MAX);
        assert!(written == bytes_of(&point, &on_three, firsts), "{}", point.scheme.name);
    }
}

#[test]
fn a_full_capture_has_the_first_frames_and_ends_the_run() {
    for point in points(INCAST) {
        let (all, firsts, _) = captured(&point, 1, u64::MAX);
        let begin = bytes_of(&point, &all[..300], firsts);
        for threads in [1, 3] {
            let (sent, firsts, ended) = captured(&point, threads, 300);
            assert_eq!(ended, Err("full".to_owned()));
            assert!(begin == bytes_of(&point, &sent, firsts), "{}, {threads}", point.scheme.name);
        }
    }
}

#[test]
fn headers_and_lengths_read_back() {
    let points = points(INCAST);
    let reps = points.iter().find(|point| point.scheme.name == "reps").unwrap();
    let (sent, firsts, _) = captured(reps, 1, u64::MAX);
    let file = bytes_of(reps, &sent, firsts);
    let snapped = |length: u32| length.min(128) as usize;
    let mut reader = PcapNgReader::new(&file[..]).unwrap();
    let mut frames = sent.iter();
    let (mut interfaces, mut full, mut marked) = (0, 0, 0);
    while let Some(block) = reader.next_block() {
        let packet = match block.unwrap() {
            Block::InterfaceDescription(_) => {
                interfaces += 1;
                continue;
            }
            Block::EnhancedPacket(packet) => packet.into_owned(),
            other => panic!("{other:?}"),
        };
        let Some(Sent { at, link, content: FrameContent::Packet(its) }) = frames.next() else {
            panic!("nothing pauses here")
        };
        assert_eq!(packet.timestamp.as_nanos(), u128::from(at.0 / 1_000));
        assert_eq!(packet.interface_id, link.0);
        assert_eq!(packet.data.len(), snapped(packet.original_len));
        let Repr::Data { psn, .. } = its.repr else { continue };
        let padded = whole(&packet);
        let parts = SlicedPacket::from_ethernet(&padded).unwrap();
        let Some(NetSlice::Ipv4(ip)) = parts.net else { panic!("no IPv4") };
        let Some(TransportSlice::Udp(udp)) = parts.transport else { panic!("no UDP") };
        assert_eq!(packet.original_len, u32::from(its.wire_bytes) - 4);
        assert_eq!(udp.source_port(), 0xc000 | its.ev);
        assert_eq!(ip.header().identification(), its.ev);
        assert_eq!(ip.header().ecn().value(), if its.marked { 3 } else { 2 });
        assert_eq!(ip.header().header_checksum(), ip.header().to_header().calc_header_checksum());
        let bth = &udp.payload()[..12];
        assert_eq!((bth[0], &bth[9..12]), (0x0a, &psn.to_be_bytes()[1..]));
        full += 1;
        marked += u32::from(its.marked);
    }
    assert!(frames.next().is_none());
    assert_eq!(interfaces, anabranch_sim::build(reps).unwrap().topology.links());
    assert!(full > 0 && marked > 0);
}

/// A captured frame at its original length, with zeros for the bytes that were left out.
fn whole(packet: &pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock<'_>) -> Vec<u8> {
    let mut bytes = packet.data.to_vec();
    bytes.resize(packet.original_len as usize, 0);
    bytes
}

#[test]
fn every_frame_is_read_back() {
    for point in points(INCAST) {
        let built = anabranch_sim::build(&point).unwrap();
        let (sent, firsts, _) = captured(&point, 1, 20_000);
        let payload = point.scheme.transport.framing().payload.0;
        let format = Format::new(point.scheme.transport.headers());
        let wire = Wire::new(&point, &built, firsts);
        let mut bytes = Vec::new();
        let mut placed = 0;
        for sent in &sent {
            let FrameContent::Packet(packet) = sent.content else { continue };
            wire.frame(sent, &mut bytes).unwrap();
            let psn = match packet.repr {
                Repr::Data { psn, .. } | Repr::Trimmed { psn, .. } | Repr::HeaderOnly { psn, .. } => psn,
                _ => 0,
            };
            let dst = packet.dst;
            let at_receiver = packet.is_for_receiver();
            let reference = Reference { dst, at_receiver, psn, now: sent.at };
            let read =
                decode(&format, &reference, &bytes).unwrap_or_else(|error| panic!("{error}: {packet:?}"));
            let fields = |packet: &Packet| {
                let kind = std::mem::discriminant(&packet.repr);
                (packet.qp, packet.dst, packet.ev, packet.marked, packet.tag, kind)
            };
            assert_eq!(fields(&read.packet), fields(&packet));
            if let (Repr::Data { psn, message, .. }, Some(offset)) = (packet.repr, read.offset) {
                let Repr::Data { psn: found, message: of, sent_at, .. } = read.packet.repr else {
                    panic!("no data")
                };
                assert_eq!((found, of), (psn, message), "{packet:?}");
                assert!(sent_at <= sent.at);
                // Each sender has one queue pair and one message, so that its PSNs begin at 0.
                assert_eq!(u64::from(offset), u64::from(psn) * payload, "{packet:?}");
                placed += 1;
            }
        }
        let is_plain = matches!(format.headers, Headers::InOrder | Headers::Direct);
        assert_eq!(placed == 0, is_plain, "{}", point.scheme.name);
    }
}

/// In a packet of a user-defined transport, the content follows the BTH. The DSCP shows whether the packet has data.
#[test]
fn a_custom_packet_has_its_content_behind_the_bth() {
    let points = points(INCAST);
    let point = points.iter().find(|point| point.scheme.name == "reps").unwrap();
    let built = anabranch_sim::build(point).unwrap();
    let (_, firsts, _) = captured(point, 1, 1);
    let wire = Wire::new(point, &built, firsts);
    let content: [u8; 24] = std::array::from_fn(|at| at as u8 + 1);
    for with_data in [false, true] {
        let repr = Repr::Custom { content, to_receiver: true, with_data };
        let packet = Packet::new(QpId(0), built.workload.qps[0].dst, repr).with_bytes(90).with_ev(7);
        let sent = Sent { at: Time::ZERO, link: LinkId(0), content: FrameContent::Packet(packet) };
        let mut frame = Vec::new();
        wire.frame(&sent, &mut frame).unwrap();
        assert_eq!(frame.len(), 90 - 4, "the check sequence is left out");
        let parts = SlicedPacket::from_ethernet(&frame).unwrap();
        let Some(NetSlice::Ipv4(ip)) = parts.net else { panic!("no IPv4") };
        assert_eq!(ip.header().dcp().value(), if with_data { 26 } else { 48 });
        let Some(TransportSlice::Udp(udp)) = parts.transport else { panic!("no UDP") };
        assert_eq!((udp.payload()[0], &udp.payload()[12..36]), (0xc3, &content[..]));
    }
}

/// A NIC with several ports spreads a message over all of them, so any port may send the first packet.
#[test]
fn packets_of_all_ports_of_a_nic_have_their_place() {
    let text = r#"
schemes = ["mrc"]
seeds = [1]
topology = { kind = "multi-plane", servers = 8, nics = 1, ports = 4, link = "100Gbps", segment = 4 }
workload = { kind = "permutation", bytes = "64KB" }
"#;
    let point = points(text).remove(0);
    let built = anabranch_sim::build(&point).unwrap();
    let (sent, firsts, _) = captured(&point, 1, u64::MAX);
    let (payload, format) =
        (point.scheme.transport.framing().payload.0, Format::new(point.scheme.transport.headers()));
    let wire = Wire::new(&point, &built, firsts);
    let mut bytes = Vec::new();
    let mut placed = 0;
    for sent in &sent {
        let FrameContent::Packet(packet) = sent.content else { continue };
        wire.frame(sent, &mut bytes).unwrap();
        let psn = if let Repr::Data { psn, .. } = packet.repr { psn } else { 0 };
        let at_receiver = packet.is_for_receiver();
        let reference = Reference { dst: packet.dst, at_receiver, psn, now: sent.at };
        let read = decode(&format, &reference, &bytes).unwrap_or_else(|error| panic!("{error}: {packet:?}"));
        assert_eq!(std::mem::discriminant(&read.packet.repr), std::mem::discriminant(&packet.repr));
        let Repr::Data { .. } = packet.repr else { continue };
        // The lower half of the address is the offset in the message.
        let offset = read.reth.map(|reth| reth.address & u64::from(u32::MAX));
        assert_eq!(offset, Some(u64::from(psn) * payload), "{packet:?}");
        placed += 1;
    }
    assert!(placed > 0);
}
