//! The QP_field table and its control plane: section IV, figure 6.

use crate::themis_longhaul::pnp::{config, path};
use anabranch_base::{Duration, HostId, QpId, Time};
use anabranch_proto::Span;
use anabranch_proto::program::QpNotice;
use anabranch_proto::program::themis_longhaul::{
    ClientQpn, ControlPlane, DaemonPacket, PnpConfig, QpEntry, QpField, QpKey, ServerQpn,
};
use proptest::prelude::*;

/// An entry matches the addresses and the QPN of the server (sQPN), and gives the QPN of the client (cQPN), which
/// need not be the same number.
#[test]
fn an_entry_matches_the_whole_key_and_gives_the_other_number() {
    let mut table = QpField::new(4);
    let key = QpKey { src: HostId(1), dst: HostId(6), server: ServerQpn(QpId(5)) };
    let client = ClientQpn(QpId(900));
    table.insert(&DaemonPacket { key, client });
    assert_eq!(table.get_mut(&key), Some(&mut QpEntry { key, client, last_cnp: None }));
    for other in [
        QpKey { src: HostId(2), ..key },
        QpKey { dst: HostId(7), ..key },
        QpKey { server: ServerQpn(QpId(4)), ..key },
        QpKey { server: ServerQpn(QpId(6)), ..key },
        QpKey { server: ServerQpn(QpId(900)), ..key },
    ] {
        assert_eq!(table.get_mut(&other), None, "{other:?}");
        table.remove(&other);
    }
    assert_eq!(table.in_use(), 1);
    table.remove(&key);
    assert_eq!(table.get_mut(&key), None);
    assert_eq!((table.in_use(), table.max_in_use()), (0, 1));
}

#[test]
fn a_new_entry_has_a_new_register() {
    let mut table = QpField::new(1);
    let packet = packet(5);
    for _ in 0..2 {
        table.insert(&packet);
        let entry = table.get_mut(&packet.key).expect("an entry");
        assert_eq!(entry.last_cnp, None);
        entry.last_cnp = Some(Time(1));
        assert_eq!(table.get_mut(&packet.key).and_then(|entry| entry.last_cnp), Some(Time(1)));
        table.remove(&packet.key);
    }
    assert_eq!(table.refused(), 0);
}

/// A full table accepts a report about a queue pair that already has an entry.
#[test]
fn a_full_table_keeps_what_it_has() {
    let mut table = QpField::new(2);
    [0, 1, 2, 0, 1].into_iter().for_each(|qp| table.insert(&packet(qp)));
    assert_eq!([0, 1, 2].map(|qp| table.get_mut(&packet(qp).key).is_some()), [true, true, false]);
    assert_eq!((table.in_use(), table.max_in_use(), table.refused()), (2, 2, 1));
}

#[test]
fn a_table_without_room_refuses_all() {
    let mut table = QpField::new(0);
    table.insert(&packet(3));
    assert_eq!((table.in_use(), table.max_in_use(), table.refused()), (0, 0, 1));
}

/// In the simulator, both hosts know a queue pair by the same number.
#[test]
fn a_daemon_tells_both_numbers() {
    let notice = QpNotice { now: us(1), qp: QpId(5), src: HostId(1), dst: HostId(6), opens: true };
    let key = QpKey { src: HostId(1), dst: HostId(6), server: ServerQpn(QpId(5)) };
    assert_eq!(DaemonPacket::of(&notice), DaemonPacket { key, client: ClientQpn(QpId(5)) });
}

/// Only queue pairs between hosts that the monitor has reported get entries, and only in the reported direction.
#[test]
fn strangers_are_ignored() {
    let (mut table, mut control) = (QpField::new(8), ControlPlane::new(&config(), &path()));
    control.learn(HostId(6), HostId(1));
    control.handle_init(us(0), &packet(0), &mut table);
    assert_eq!((table.in_use(), control.ignored(), control.pairs()), (0, 1, 1));
    control.learn(HostId(1), HostId(6));
    control.learn(HostId(1), HostId(6));
    control.handle_init(us(0), &packet(0), &mut table);
    assert_eq!((table.in_use(), control.ignored(), control.pairs()), (1, 1, 2));
}

#[test]
fn an_entry_is_made_before_it_is_deleted() {
    let (mut table, mut control) = plane(0, 0, 0);
    control.handle_init(us(3), &packet(0), &mut table);
    control.handle_destroy(us(3), &packet(0).key, &mut table);
    assert_eq!((table.in_use(), table.max_in_use(), control.next_timeout()), (0, 1, None));
    let (mut table, mut control) = plane(0, 5, 5);
    control.handle_init(us(3), &packet(0), &mut table);
    control.handle_destroy(us(3), &packet(0).key, &mut table);
    assert_eq!((table.max_in_use(), control.next_timeout()), (0, Some(us(13))));
    control.handle_timeout(us(13), &mut table);
    assert_eq!((table.in_use(), table.max_in_use(), control.next_timeout()), (0, 1, None));
}

proptest! {
    /// At any time, the table agrees with a list of all earlier changes.
    #[test]
    fn the_table_follows_the_daemons(
        delays in (0u64..60, 0u64..30, 0u64..30),
        entries in 0u32..6,
        expire: bool,
        lives in prop::collection::vec((0u64..200, 0u64..100), 1..20),
    ) {
        let (setup, daemon, install) = delays;
        let config = PnpConfig { entries, expire, ..timed(setup, daemon, install) };
        let (mut table, mut control) = (QpField::new(entries), ControlPlane::new(&config, &path()));
        control.learn(HostId(1), HostId(6));
        // The calls of the engine: the time, whether the entry is to be deleted, and the queue pair.
        let mut calls: Vec<(u64, bool, u32)> = Vec::new();
        for (qp, (from, life)) in lives.iter().enumerate() {
            calls.push((*from, false, qp as u32));
            calls.push((from + life, true, qp as u32));
        }
        calls.sort_by_key(|&(at, is_deletion, _)| (at, is_deletion));
        let delay = |is_deletion| (daemon + install).saturating_sub(if is_deletion { 0 } else { setup });
        // At equal times, the changes that a timer causes come first, insertions before deletions. Changes without
        // delay follow.
        let mut changes: Vec<(u64, bool, bool, u32)> = Vec::new();
        for &(told, is_deletion, qp) in &calls {
            changes.push((told + delay(is_deletion), delay(is_deletion) == 0, is_deletion, qp));
        }
        changes.sort_by_key(|&(at, is_at_once, is_deletion, _)| (at, is_at_once, is_deletion));
        let mut done = 0;
        let (mut known, mut most, mut refused) = (Vec::new(), 0, 0);
        for now in 0..400 {
            if control.next_timeout() == Some(us(now)) {
                control.handle_timeout(us(now), &mut table);
            }
            for &(at, is_deletion, qp) in &calls {
                if at == now && is_deletion {
                    control.handle_destroy(us(now), &packet(qp).key, &mut table);
                } else if at == now {
                    control.handle_init(us(now), &packet(qp), &mut table);
                }
            }
            prop_assert!(control.next_timeout().is_none_or(|at| at > us(now)));
            while let Some(&(_, _, is_deletion, qp)) = changes.get(done).filter(|change| change.0 <= now) {
                done += 1;
                if is_deletion {
                    known.retain(|&other| other != qp || !expire);
                } else if known.len() < entries as usize {
                    known.push(qp);
                } else {
                    refused += 1;
                }
                most = most.max(known.len());
            }
            let found: Vec<u32> =
                (0..lives.len() as u32).filter(|&qp| table.get_mut(&packet(qp).key).is_some()).collect();
            known.sort_unstable();
            prop_assert_eq!(&found, &known, "at {} us", now);
            prop_assert_eq!(table.in_use() as usize, known.len());
        }
        prop_assert_eq!((table.max_in_use() as usize, table.refused()), (most, refused));
        prop_assert_eq!(control.next_timeout(), None);
    }
}

fn plane(setup: u64, daemon: u64, install: u64) -> (QpField, ControlPlane) {
    let mut control = ControlPlane::new(&timed(setup, daemon, install), &path());
    control.learn(HostId(1), HostId(6));
    (QpField::new(8), control)
}

fn timed(setup: u64, daemon: u64, install: u64) -> PnpConfig {
    let us = |us| Span::Time(Duration::from_us(us));
    PnpConfig { setup: us(setup), daemon_delay: us(daemon), install_delay: us(install), ..config() }
}

fn us(us: u64) -> Time {
    Time(us * 1_000_000)
}

/// The report about a queue pair, always between the same two hosts.
fn packet(qp: u32) -> DaemonPacket {
    DaemonPacket::of(&QpNotice { now: us(0), qp: QpId(qp), src: HostId(1), dst: HostId(6), opens: true })
}
