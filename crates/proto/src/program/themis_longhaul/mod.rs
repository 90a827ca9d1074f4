//! Themis for long-haul networks (Themis-longhaul): the switch at the edge of a data centre reacts to congestion on
//! behalf of senders and receivers that are connected by a long link.
//!
//! Each external switch has two roles (section III): it is the [notification point](Pnp) for flows that leave the data
//! centre, and the [reaction point](Trp) for flows that enter it.

mod cnp_tables;
mod config;
mod monitor;
mod pnp;
mod qp_field;
mod recirculation;
mod throttling;
mod trp;

use crate::program::interface::{
    Emitted, Passage, Program, ProgramCounter, ProgramFacts, ProgramProperties, QpNotice, SchemeParts, Sites,
    Verdict,
};
use crate::program::{AnyProgram, marking};
use crate::{Conflict, Packet, StateField};
use anabranch_base::{Stream, Time, parameters};
use serde::{Deserialize, Serialize};

pub use cnp_tables::{CnpTables, FlowRegisters, TableCounts};
pub use config::PnpConfig;
pub use monitor::{
    COOKIE_SLOT, HandshakeMonitor, MonitorCounters, MonitorVerdict, Segment, TcpFlags, TcpRegister,
};
pub use pnp::{Pnp, TCP_COOKIE_REGISTERS};
pub use qp_field::{ClientQpn, ControlPlane, DaemonPacket, QpEntry, QpField, QpKey, ServerQpn};
pub use recirculation::{LoopingPacket, Recirculation};
pub use throttling::{FlowState, FlowStatus, Growth, Recovery, Throttling};
pub use trp::{Trp, TrpConfig};

parameters! {
    /// The roles of a switch, at least one, and their parameters.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct ThemisLonghaulConfig {
        /// The notification point. It is left out in one ablation of figure 15.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[param(table)]
        pub pnp: Option<PnpConfig>,
        /// The reaction point. It is left out in one ablation of figure 15.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[param(table)]
        pub trp: Option<TrpConfig>,
    }
}

/// The program of one external switch.
pub struct ThemisLonghaul {
    sites: Sites,
    pnp: Option<Pnp>,
    trp: Option<Trp>,
}

impl ThemisLonghaul {
    /// The program before the first packet.
    pub fn new(config: &ThemisLonghaulConfig, facts: &ProgramFacts, mut random: Stream) -> Self {
        ThemisLonghaul {
            sites: facts.sites.clone(),
            pnp: config.pnp.as_ref().map(|config| Pnp::new(config, facts, &mut random)),
            trp: config.trp.as_ref().map(|config| Trp::new(config, facts, &mut random)),
        }
    }

    /// The state that the switch keeps for a queue pair.
    pub fn state(config: &ThemisLonghaulConfig) -> Vec<StateField> {
        let pnp = config.pnp.iter().flat_map(|_| Pnp::state());
        pnp.chain(config.trp.iter().flat_map(Trp::state)).collect()
    }
}

impl ProgramProperties for ThemisLonghaulConfig {
    fn build(&self, facts: &ProgramFacts, random: Stream) -> AnyProgram {
        AnyProgram::ThemisLonghaul(Box::new(ThemisLonghaul::new(self, facts, random)))
    }

    fn state(&self) -> Vec<StateField> {
        ThemisLonghaul::state(self)
    }

    fn chooses_paths(&self) -> bool {
        false
    }

    fn is_between_sites(&self) -> bool {
        true
    }

    fn check_beside(&self, _: &SchemeParts<'_>) -> Result<(), Conflict> {
        if let Some(trp) = &self.trp {
            marking::check((trp.ecn_kmin, trp.ecn_kmax), "fabric.program.trp")?;
        }
        if self.trp.as_ref().is_some_and(|trp| !trp.cache && !trp.store) {
            let message =
                "fabric.program.trp needs cache or store: without both it finds no flow to throttle";
            return Err(Conflict::value("fabric.program.trp.cache".to_owned(), message.to_owned(), true));
        }
        if self.pnp.is_none() && self.trp.is_none() {
            let message = "the fabric.program themis-longhaul has neither pnp nor trp, so it does nothing";
            let fix = "one of its tables or both";
            return Err(Conflict::text("fabric.program".to_owned(), message.to_owned(), fix));
        }
        Ok(())
    }
}

impl Program for ThemisLonghaul {
    #[inline]
    fn ingress(&mut self, packet: &mut Packet, at: &Passage, out: &mut Vec<Emitted>) -> Verdict {
        match &mut self.trp {
            Some(trp) => trp.ingress(packet, at, out),
            None => Verdict::Forward,
        }
    }

    #[inline]
    fn egress(&mut self, packet: &mut Packet, at: &Passage, out: &mut Vec<Emitted>) {
        if let Some(pnp) = &mut self.pnp {
            pnp.egress(packet, at, &self.sites, out);
        }
    }

    fn handle_timeout(&mut self, now: Time, out: &mut Vec<Emitted>) {
        if let Some(pnp) = &mut self.pnp {
            pnp.handle_timeout(now);
        }
        if let Some(trp) = &mut self.trp {
            trp.handle_timeout(now, out);
        }
    }

    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        let pnp = self.pnp.as_ref().and_then(Pnp::next_timeout);
        let trp = self.trp.as_ref().and_then(Trp::next_timeout);
        pnp.into_iter().chain(trp).min()
    }

    fn counters(&self) -> Vec<ProgramCounter> {
        let pnp = self.pnp.iter().flat_map(Pnp::counters);
        pnp.chain(self.trp.iter().flat_map(Trp::counters)).collect()
    }

    fn wants_qps(&self) -> bool {
        self.pnp.is_some()
    }

    fn handle_qp(&mut self, notice: &QpNotice, _: &mut Vec<Emitted>) {
        match &mut self.pnp {
            Some(pnp) if notice.opens => pnp.open(notice, &self.sites),
            Some(pnp) => pnp.close(notice, &self.sites),
            None => {}
        }
    }

    fn table_entries(&self) -> u64 {
        self.pnp.as_ref().map_or(0, Pnp::table_entries)
    }
}
