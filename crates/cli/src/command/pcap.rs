//! `anabranch pcap`: the packets of one run on chosen links, as a capture.

use crate::args::PcapArgs;
use crate::capture::{Capture, Snapped, Wire, pcapng};
use crate::execute::{describe, guarded, pass_on_interrupts};
use crate::failure::Failure;
use crate::output::{note, print};
use crate::{interrupt, one_run};
use anabranch_base::{LinkId, Purpose, stream};
use anabranch_sim::topology::{Selector, Topology};
use anabranch_sim::{Control, RunError};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;

/// Simulates the first run of a scenario, with the scheme and the seed of `args` if they are given, and writes the
/// packets on the chosen links.
///
/// # Errors
/// Bad input, a run that failed, output that cannot be written, Ctrl-C.
pub fn pcap(args: &PcapArgs) -> Result<(), Failure> {
    interrupt::catch()?;
    let (written, prepared) = one_run::load(&args.scenario, args.scheme.as_ref(), args.seed)?;
    let point = one_run::first(&prepared, &args.scenario)?;
    let named = describe(&point.scheme.name, point.seed, &point.sweep);
    let failed = |what: &dyn std::fmt::Display| Failure::Run(format!("{named}: {what}"));
    let built = anabranch_sim::build(point).map_err(|error| failed(&error))?;
    let links = chosen(&args.links, &built.topology, point.seed)?;
    let controls = [Control { threads: args.threads, ..Control::default() }];
    let count = AtomicU64::new(0);
    let ends = (&count, &controls[0].cancel);
    let mut capture = Capture::new(point, &built.topology, &links, args.packets, ends);
    let ran = pass_on_interrupts(&controls, || {
        guarded(|| anabranch_sim::run_observed(point, &controls[0], &mut capture))
    });
    let is_full = capture.is_full();
    let ended = match ran.map_err(|panic| failed(&panic))? {
        Ok(result) => Ok(format!("{:.1} us, digest {}", result.run.completion_us, result.run.digest)),
        Err(RunError::Cancelled) if interrupt::asked_to_stop() => {
            return Err(Failure::Interrupted(format!("{named}: interrupted; nothing was written")));
        }
        Err(RunError::Cancelled) if is_full => Ok("ended early, with the capture full".to_owned()),
        // The capture is written even if the run failed, because the packets before the failure may show its cause.
        Err(error) => Err(failed(&error)),
    };
    let (sent, firsts) = capture.into_sent();
    let default = || PathBuf::from(format!("{}-{}-{}.pcapng", written.name, point.scheme.name, point.seed));
    let file = args.file.clone().unwrap_or_else(default);
    let about = format!("scenario {}, {named}", written.name);
    let wire = Wire::new(point, &built, firsts);
    one_run::write(&file, |out| {
        pcapng(out, &wire, &links, &sent, Snapped(args.snaplen), &about).map_err(std::io::Error::other)
    })?;
    if is_full {
        let until = sent.last().map_or(0.0, |last| last.at.as_us());
        note(&format!(
            "warning: the capture has the first {} frames, until {until:.3} us; name fewer links, or --packets {}",
            args.packets,
            args.packets.saturating_mul(10)
        ));
    }
    let how = ended.as_deref().unwrap_or("failed");
    print(&format!(
        "{named}: {how}\ncapture: {}, {} frames of {} links (tshark -r, or Wireshark)\n",
        file.display(),
        sent.len(),
        links.len()
    ))?;
    ended.map(drop)
}

fn chosen(selectors: &[String], topology: &Topology, seed: u64) -> Result<Vec<LinkId>, Failure> {
    let mut links = BTreeSet::new();
    for (number, text) in selectors.iter().enumerate() {
        let mut random = stream(seed, u64::MAX - number as u64, Purpose::FaultSelection);
        let named = Selector::parse(text).and_then(|selector| selector.links(topology, &mut random));
        links.extend(named.map_err(|error| Failure::Input(format!("--link: {error}")))?);
    }
    Ok(links.into_iter().collect())
}
