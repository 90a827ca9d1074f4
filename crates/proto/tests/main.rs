//! Tests of the protocol cores through their public interface.
//!
//! One binary for all tests, since each binary would compile and link the same code again.

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
