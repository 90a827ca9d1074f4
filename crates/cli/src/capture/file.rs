//! Writing of the pcapng file, which has an interface for each captured link and times in nanoseconds.

use super::{Sent, Wire};
use anabranch_base::LinkId;
use anabranch_wire::WireError;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness, PcapError};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;

/// The value of `if_tsresol`: the unit of times is 10^-9 s. With picoseconds, times above 18.4 ms overflow in tshark
/// 4.0.
const NANOSECONDS: u8 = 9;

/// The largest number of bytes of a frame that are kept in the file.
#[derive(Clone, Copy, Debug)]
pub struct Snapped(pub u32);

#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    #[error(transparent)]
    File(#[from] PcapError),
    #[error("a packet has no bytes: {0}")]
    Packet(#[from] WireError),
}

/// Writes the frames `sent` on `links` to `out`. `about` describes the run.
///
/// # Errors
/// `out` cannot be written, or a packet cannot be encoded as bytes.
pub fn pcapng(
    out: impl Write,
    wire: &Wire<'_>,
    links: &[LinkId],
    sent: &[Sent],
    Snapped(snaplen): Snapped,
    about: &str,
) -> Result<(), CaptureError> {
    let section = SectionHeaderBlock {
        endianness: Endianness::Little,
        options: vec![
            SectionHeaderOption::UserApplication(Cow::Borrowed(concat!(
                "anabranch ",
                env!("ANABRANCH_VERSION")
            ))),
            SectionHeaderOption::Comment(Cow::Owned(about.to_owned())),
        ],
        ..SectionHeaderBlock::default()
    };
    let mut writer = PcapNgWriter::with_section_header(out, section)?;
    let topology = &wire.built.topology;
    for &link in links {
        let options = vec![
            InterfaceDescriptionOption::IfName(Cow::Owned(topology.link_name(link))),
            InterfaceDescriptionOption::IfSpeed(topology.ports[link.index()].rate.0),
            InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
            // The frames in the file have no frame check sequence.
            InterfaceDescriptionOption::IfFcsLen(0),
        ];
        writer.write_pcapng_block(InterfaceDescriptionBlock {
            linktype: DataLink::ETHERNET,
            snaplen,
            options,
        })?;
    }
    let interface: BTreeMap<LinkId, u32> = links.iter().copied().zip(0..).collect();
    let mut frame = Vec::new();
    for sent in sent {
        wire.frame(sent, &mut frame)?;
        let original_len = frame.len() as u32;
        frame.truncate(snaplen as usize);
        writer.write_pcapng_block(EnhancedPacketBlock {
            interface_id: interface[&sent.link],
            timestamp: std::time::Duration::from_nanos(sent.at.0 / 1_000),
            original_len,
            data: Cow::Borrowed(&frame),
            options: Vec::new(),
        })?;
    }
    Ok(())
}
