//! Themis for long-haul networks: the switch at the edge of a data centre answers congestion for distant senders.

mod monitor;
mod pnp;
mod qp_field;

pub use monitor::{
    COOKIE_SLOT, HandshakeMonitor, MonitorCounters, MonitorVerdict, Segment, TcpFlags, TcpRegister,
};
pub use pnp::{Pnp, PnpConfig, TCP_COOKIE_REGISTERS};
pub use qp_field::{ClientQpn, ControlPlane, DaemonPacket, QpEntry, QpField, QpKey, ServerQpn};
