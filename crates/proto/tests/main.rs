//! Tests of the protocol state machines through their public interface.
//!
//! All tests are in one binary, since each further binary would compile and link the same code again.

mod annulus;
mod bicc;
mod conweave;
mod dcp;
mod dcqcn;
mod hpcc;
mod irn;
mod mp_rdma;
mod nscc;
mod pair;
mod rack_tlp;
mod rnic_sr;
mod strack;
mod support;
mod themis_longhaul;
mod themis_spraying;
mod trajectories;
