//! DCQCN with fixed scripts of CNPs and NACKs, compared with values that were computed by hand from its equations.
//! The submodules `go_back_n` and `sack` test these two transports with DCQCN, call by call.

use crate::support::{ENDS, us, wide_facts};
use anabranch_base::{Bytes, Duration, HostId, MessageId, QpId, Rate, Time};
use anabranch_proto::cc::{AnyCc, CcConfig, Dcqcn, DcqcnConfig, OnNack};
use anabranch_proto::lb::AnyLb;
use anabranch_proto::transport::{GoBackNConfig, GoBackNReceiver, GoBackNSender};
use anabranch_proto::{Pace, Packet, PathFacts, Repr, Size, Span};

fn facts(gbps: u64) -> PathFacts {
    PathFacts { line_rate: Rate::from_gbps(gbps), port_rate: Rate::from_gbps(gbps), ..wide_facts(1_000) }
}

mod go_back_n;
mod sack;

mod reaction_point {
    use super::*;
    use std::fmt::Write;

    /// Rate and target rate in Gb/s, and alpha.
    type State = (f64, f64, f64);

    #[derive(Clone)]
    struct Flow(Dcqcn);

    impl Flow {
        fn new(config: DcqcnConfig, gbps: u64) -> Self {
            Flow(Dcqcn::new(&config, &facts(gbps)))
        }

        fn with(&mut self, call: impl FnOnce(&mut AnyCc)) {
            let mut cc = AnyCc::Dcqcn(Box::new(self.0.clone()));
            call(&mut cc);
            let AnyCc::Dcqcn(dcqcn) = cc else { unreachable!("it was put there") };
            self.0 = *dcqcn;
        }

        fn cnp(&mut self, now: Time) {
            self.with(|cc| cc.handle_cnp(now));
        }

        fn nack(&mut self, now: Time) {
            self.with(|cc| cc.handle_nack(&crate::support::loss(now)));
        }

        fn send_megabyte(&mut self, now: Time) {
            self.with(|cc| (0..250).for_each(|_| cc.handle_sent(now, 4_000)));
        }

        fn rate(&mut self, now: Time) -> Rate {
            let mut rate = Rate(0);
            self.with(|cc| rate = cc.rate(now).expect("DCQCN paces"));
            rate
        }

        fn next_increase(&mut self) -> Option<Time> {
            let mut due = None;
            self.with(|cc| due = cc.next_increase());
            due
        }

        fn state(&mut self, now: Time) -> State {
            let rate = self.rate(now).0 as f64 / 1e9;
            (rate, self.0.target(now).0 as f64 / 1e9, self.0.alpha(now))
        }
    }

    /// Timers in round trips are at least 100 ns long, because a call steps through their expiries one by one.
    #[test]
    fn timers_in_round_trips_have_a_least_length() {
        let least = Span::Time(Duration::from_ns(100));
        let with =
            |alpha_timer, increase_timer| DcqcnConfig { alpha_timer, increase_timer, ..DcqcnConfig::paper() };
        for short in [Span::Rtt(1e-6), Span::Rtt(1e-12)] {
            let [mut flow, mut same] =
                [with(short, short), with(least, least)].map(|config| Flow::new(config, 40));
            for flow in [&mut flow, &mut same] {
                flow.cnp(us(1));
                flow.cnp(us(2));
            }
            assert_eq!(flow.next_increase(), Some(us(2) + Duration::from_ns(100)));
            assert_eq!(flow.state(us(5)), same.state(us(5)));
        }
    }

    #[track_caller]
    fn assert_state(flow: &mut Flow, now: Time, (rate, target, alpha): State) {
        let (is_rate, is_target, is_alpha) = flow.state(now);
        let is_close = |a: f64, b: f64, by: f64| (a - b).abs() <= by;
        assert!(
            is_close(is_rate, rate, 1.01e-9)
                && is_close(is_target, target, 1.01e-9)
                && is_close(is_alpha, alpha, 5e-7),
            "at {now}: rate {is_rate}, target {is_target}, alpha {is_alpha}; not {rate}, {target}, {alpha}"
        );
    }

    /// The paper's parameters with values for which results are easy to compute by hand: g = 1/4, F = 2, and a byte
    /// counter of 1 MB.
    fn paper_by_hand() -> DcqcnConfig {
        DcqcnConfig { g: 0.25, fast_recovery: 2, byte_counter: Bytes(1_000_000), ..DcqcnConfig::paper() }
    }

    /// The additive increase (AI) is 0.04 Gb/s, the hyper increase (HAI) is 0.4 Gb/s, and both timers are 55 us. T and
    /// BC are the numbers of expiries of the increase timer and of the byte counter.
    #[test]
    fn the_papers_form_step_by_step() {
        let mut flow = Flow::new(paper_by_hand(), 40);
        // Without a CNP nothing changes, whatever is sent.
        flow.send_megabyte(us(50));
        assert_state(&mut flow, us(99), (40.0, 40.0, 1.0));
        assert_eq!(flow.next_increase(), None);

        // Equation 1: the target is 40, the rate 40*(1 - 1/2) = 20, and alpha 3/4*1 + 1/4 = 1.
        flow.cnp(us(100));
        assert_state(&mut flow, us(100), (20.0, 40.0, 1.0));
        assert_eq!(flow.next_increase(), Some(us(155)));
        assert_state(&mut flow, us(154), (20.0, 40.0, 1.0));
        // The alpha timer makes alpha 3/4. T = 1 is below F, so the rate is (40 + 20)/2 = 30.
        assert_state(&mut flow, us(155), (30.0, 40.0, 0.75));

        // The target is 30, the rate 30*(1 - 0.375) = 18.75, and alpha 3/4*0.75 + 1/4 = 0.8125. Both timers and the
        // byte counter restart.
        flow.cnp(us(200));
        assert_state(&mut flow, us(200), (18.75, 30.0, 0.8125));
        // BC = 1: the rate is (30 + 18.75)/2.
        flow.send_megabyte(us(210));
        assert_state(&mut flow, us(210), (24.375, 30.0, 0.8125));
        // T = 1. The larger count is 1, which is below F, so the rate is (30 + 24.375)/2, and alpha is 3/4*0.8125. The
        // timer expires at 255 us and not at 210 us, since the CNP restarted it.
        assert_state(&mut flow, us(254), (24.375, 30.0, 0.8125));
        assert_state(&mut flow, us(255), (27.1875, 30.0, 0.609375));

        // BC = 2 and T = 1: the increase is additive, so the target is 30.04 and the rate (30.04 + 27.1875)/2.
        flow.send_megabyte(us(300));
        assert_state(&mut flow, us(300), (28.61375, 30.04, 0.609375));
        // T = 2: the target is 30.08, the rate (30.08 + 28.61375)/2, and alpha 3/4*0.609375.
        assert_state(&mut flow, us(310), (29.346875, 30.08, 0.45703125));
        // BC = 3. The smaller count is 2, which is not above F, so the target is 30.12 and the rate (30.12 +
        // 29.346875)/2.
        flow.send_megabyte(us(320));
        assert_state(&mut flow, us(320), (29.7334375, 30.12, 0.45703125));
        // T = 3. The smaller count is 3, so there is a hyper increase with i = 3 - 2 + 1 = 2: the target is 30.92, and
        // the rate (30.92 + 29.7334375)/2.
        assert_state(&mut flow, us(365), (30.32671875, 30.92, 0.3427734375));
        // BC = 4. The smaller count is 3, so i = 2: the target is 31.72, and the rate (31.72 + 30.32671875)/2.
        flow.send_megabyte(us(370));
        assert_state(&mut flow, us(370), (31.023359375, 31.72, 0.3427734375));
        // T = 4, so i = 3: the target is 32.92, the rate (32.92 + 31.023359375)/2, and alpha 3/4*0.3427734375.
        assert_state(&mut flow, us(420), (31.9716796875, 32.92, 0.257080078125));

        // The target is 31.9716796875, the rate 31.9716796875*(1 - 0.1285400390625) = 27.8620387..., and alpha
        // 3/4*0.257080078125 + 1/4.
        flow.cnp(us(421));
        assert_state(&mut flow, us(421), (27.862_038_731_575, 31.971_679_687, 0.442_810_058_594));
    }

    /// The byte counter counts from the last cut, and keeps the excess bytes when it expires.
    #[test]
    fn the_byte_counter_counts_from_the_last_cut() {
        let mut flow = Flow::new(paper_by_hand(), 40);
        flow.cnp(us(0));
        flow.with(|cc| (0..249).for_each(|_| cc.handle_sent(us(1), 4_000)));
        assert_eq!(flow.rate(us(1)), Rate::from_gbps(20));
        flow.cnp(us(2));
        flow.with(|cc| (0..249).for_each(|_| cc.handle_sent(us(3), 4_000)));
        assert_eq!(flow.rate(us(3)), Rate::from_gbps(10));
        // 996,000 B and 7,000 B cause an expiry and leave 3,000 B. A second expiry follows after 997,000 B more, and
        // not after 993,000 B.
        flow.with(|cc| cc.handle_sent(us(4), 7_000));
        assert_eq!(flow.rate(us(4)), Rate::from_gbps(15));
        flow.with(|cc| (0..331).for_each(|_| cc.handle_sent(us(5), 3_000)));
        assert_eq!(flow.rate(us(5)), Rate::from_gbps(15));
        flow.with(|cc| cc.handle_sent(us(6), 4_000));
        // BC = 2 is not below F, so the target is 20.04.
        assert_eq!(flow.rate(us(6)), Rate(17_520_000_000));
    }

    #[test]
    fn the_rate_stays_between_its_bounds() {
        let mut flow = Flow::new(DcqcnConfig { byte_counter: Bytes(0), ..paper_by_hand() }, 40);
        (0..100).for_each(|n| flow.cnp(us(n)));
        assert_eq!(flow.rate(us(100)), Rate(10_000_000));
        assert_eq!(flow.rate(us(100_000)), Rate::from_gbps(40));
        assert_eq!(flow.0.target(us(100_000)), Rate::from_gbps(40));
        assert_eq!(flow.next_increase(), None);
    }

    /// The parameters of published htsim with the changes of [`paper_by_hand`]. At a line rate of 40 Gb/s, AI is 2
    /// Gb/s and HAI is 4 Gb/s.
    fn htsim_by_hand() -> DcqcnConfig {
        DcqcnConfig { g: 0.25, fast_recovery: 2, byte_counter: Bytes(1_000_000), ..DcqcnConfig::htsim() }
    }

    fn send(flow: &mut Flow, now: Time) {
        flow.with(|cc| cc.handle_sent(now, 4_000));
    }

    #[test]
    fn htsims_form_step_by_step() {
        let mut flow = Flow::new(htsim_by_hand(), 40);
        // Packets before 55 us leave alpha unchanged. The packets at 60 and 61 us each reduce alpha by a quarter,
        // although no CNP has arrived.
        flow.send_megabyte(us(54));
        assert_state(&mut flow, us(59), (40.0, 40.0, 1.0));
        send(&mut flow, us(60));
        send(&mut flow, us(61));
        assert_state(&mut flow, us(99), (40.0, 40.0, 0.5625));

        // The rate is 40*(1 - 0.28125), and alpha 3/4*0.5625 + 1/4: the first CNP does not reset alpha.
        flow.cnp(us(100));
        assert_state(&mut flow, us(100), (28.75, 40.0, 0.671875));
        send(&mut flow, us(154));
        assert_state(&mut flow, us(154), (28.75, 40.0, 0.671875));
        // T = 1: the rate is (40 + 28.75)/2. The expiry reduces alpha by a quarter. The packet at 160 us reduces it by
        // another quarter.
        assert_state(&mut flow, us(155), (34.375, 40.0, 0.503_906_25));
        send(&mut flow, us(160));
        assert_state(&mut flow, us(160), (34.375, 40.0, 0.377_929_688));

        // The rate is 34.375*(1 - 0.18896484375). The timer and the byte counter restart.
        flow.cnp(us(200));
        assert_state(&mut flow, us(200), (27.879_333_496, 34.375, 0.533_447_266));
        // BC = 1 and BC = 2 are still fast recovery. In the paper's form, the increase would be additive at BC = 2,
        // since F is 2.
        flow.send_megabyte(us(210));
        assert_state(&mut flow, us(210), (31.127_166_748, 34.375, 0.533_447_266));
        flow.send_megabyte(us(215));
        assert_state(&mut flow, us(215), (32.751_083_374, 34.375, 0.533_447_266));
        // BC = 3: the increase is additive, so the target is 36.375. T = 1 and T = 2 are additive increases too, and
        // T = 2 raises the target above the line rate.
        flow.send_megabyte(us(220));
        assert_state(&mut flow, us(220), (34.563_041_687, 36.375, 0.533_447_266));
        assert_state(&mut flow, us(255), (36.469_020_843, 38.375, 0.400_085_449));
        assert_state(&mut flow, us(310), (38.422_010_421, 40.375, 0.300_064_087));
        // T = 3. The smaller count is 3, so there is a hyper increase by i = 1 step of 4. Half way to the target would
        // be 41.4, but the rate stops at the line rate.
        assert_state(&mut flow, us(365), (40.0, 44.375, 0.225_048_065));
        assert_eq!(flow.next_increase(), None);
        // At line rate, neither the current rate nor the target rate rises, while alpha keeps falling. A CNP first sets
        // the target rate to the current rate, and then cuts the current rate.
        assert_state(&mut flow, us(420), (40.0, 44.375, 0.168_786_049));
        flow.cnp(us(421));
        assert_state(&mut flow, us(421), (36.624_279_022, 40.0, 0.376_589_537));
    }

    /// The excess bytes at an expiry of htsim's byte counter are lost, and CNPs may cut the rate to nearly 0.
    #[test]
    fn htsims_byte_counter_starts_at_zero_and_its_rate_has_no_floor() {
        let mut flow = Flow::new(htsim_by_hand(), 40);
        flow.cnp(us(0));
        flow.with(|cc| (0..999).for_each(|_| cc.handle_sent(us(1), 1_000)));
        flow.with(|cc| cc.handle_sent(us(1), 4_000));
        assert_eq!(flow.rate(us(1)), Rate::from_gbps(30));
        flow.with(|cc| (0..999).for_each(|_| cc.handle_sent(us(2), 1_000)));
        assert_eq!(flow.rate(us(2)), Rate::from_gbps(30));
        flow.with(|cc| cc.handle_sent(us(2), 1_000));
        assert_eq!(flow.rate(us(2)), Rate::from_gbps(35));
        (0..100).for_each(|_| flow.cnp(us(3)));
        assert_eq!(flow.rate(us(3)), Rate(1));
    }

    #[test]
    fn asking_changes_nothing() {
        for config in [paper_by_hand(), DcqcnConfig::hpcc(), DcqcnConfig::conweave(), htsim_by_hand()] {
            let (mut asked, mut left) = (Flow::new(config.clone(), 100), Flow::new(config, 100));
            for step in 0..2_000u64 {
                let now = Time(step * 700_001);
                let (rate, alpha) = (asked.rate(now), asked.0.alpha(now));
                if step % 37 == 0 || step % 301 < 5 {
                    asked.cnp(now);
                    left.cnp(now);
                }
                if step % 53 == 0 {
                    asked.nack(now);
                    left.nack(now);
                }
                if step % 11 == 0 {
                    asked.send_megabyte(now);
                    left.send_megabyte(now);
                }
                assert!(rate.0 > 0 && (0.0..=1.0).contains(&alpha));
            }
            let end = us(5_000);
            assert_eq!(asked.state(end), left.state(end));
        }
    }

    /// With `OnNack::Cnp`, a NACK has the effect of a CNP. This rule stands in for receivers that send a CNP with each
    /// NACK, as in the simulator published with ConWeave.
    #[test]
    fn a_nack_may_do_what_a_cnp_does() {
        for config in [paper_by_hand(), DcqcnConfig::conweave()] {
            let config = DcqcnConfig { on_nack: OnNack::Cnp, ..config };
            let (mut nacks, mut cnps) = (Flow::new(config.clone(), 100), Flow::new(config, 100));
            for step in 0..50 {
                let now = us(step * 7);
                nacks.nack(now);
                cnps.cnp(now);
                assert_eq!(nacks.state(now), cnps.state(now));
            }
            assert!(nacks.rate(us(350)) < Rate::from_gbps(50));
        }
    }

    /// The rate may rise at `next_increase`, but not before.
    #[test]
    fn the_next_increase_is_announced() {
        let mut flow = Flow::new(DcqcnConfig::conweave(), 100);
        flow.cnp(us(10));
        assert_eq!(flow.next_increase(), None, "still at line rate");
        let cut = flow.rate(us(14));
        assert_eq!(flow.next_increase(), Some(us(314)));
        assert_eq!(flow.rate(Time(us(314).0 - 1)), cut);
        assert!(flow.rate(us(314)) > cut);
        assert_eq!(flow.next_increase(), Some(us(614)));
    }

    /// The parameters of ConWeave's simulator, but with g = 1/4: an alpha timer of 1 us, checks for a cut every 4 us,
    /// an increase timer of 300 us, F = 1, AI of 0.04 Gb/s and HAI of 0.1 Gb/s.
    #[test]
    fn the_simulators_form_step_by_step() {
        let mut flow = Flow::new(DcqcnConfig { g: 0.25, ..DcqcnConfig::conweave() }, 100);
        // The first CNP initialises alpha, and is not counted for alpha again.
        flow.cnp(us(10));
        assert_state(&mut flow, us(10), (100.0, 100.0, 1.0));
        assert_state(&mut flow, us(13), (100.0, 100.0, 0.421875));
        // Alpha is (3/4)^4 = 0.31640625. Then the check finds the CNP, so the rate is 100*(1 - 0.158203125).
        assert_state(&mut flow, us(14), (84.1796875, 100.0, 0.31640625));

        // At 15 us, alpha is 0.2373046875. At 16 us, with the CNP, alpha is 3/4*0.2373046875 + 1/4 = 0.427978515625. It
        // is 0.320983886... at 17 us and 0.240737915... at 18 us. At 18 us the check also cuts the rate to
        // 84.1796875*(1 - 0.120368957...) = 74.047066271. There was no increase since the last cut, so the target
        // stays.
        flow.cnp(Time(15_500_000));
        assert_state(&mut flow, us(16), (84.1796875, 100.0, 0.427_978_516));
        assert_state(&mut flow, us(18), (74.047_066_271, 100.0, 0.240_737_915));
        // Without a CNP there is no cut at 22 us. The timer runs from the second cut, and its first expiry is fast
        // recovery.
        assert_state(&mut flow, us(317), (74.047_066_271, 100.0, 0.0));
        assert_state(&mut flow, us(318), (87.023_533_135, 100.0, 0.0));

        // Two CNPs before the check at 322 us count as one. Alpha is 1/4 at 321 us and 3/16 at 322 us. The check makes
        // the rate 87.023533135*(1 - 0.09375). The rate has risen since the last cut, so the target is set to the rate
        // before this cut.
        flow.cnp(Time(320_300_000));
        flow.cnp(Time(320_500_000));
        assert_state(&mut flow, us(321), (87.023_533_135, 100.0, 0.25));
        assert_state(&mut flow, us(322), (78.865_076_904, 87.023_533_135, 0.1875));
        // Fast recovery: the rate is (87.023533135 + 78.865076904)/2.
        assert_state(&mut flow, us(622), (82.944_305_019, 87.023_533_135, 0.0));
        // Additive increase: the target rises by 0.04, and the rate goes half way to it.
        assert_state(&mut flow, us(922), (85.003_919_077, 87.063_533_135, 0.0));
        // Hyper increase: the target rises by 0.1, and by the same amount again, since this form has no multiples.
        assert_state(&mut flow, us(1_222), (86.083_726_106, 87.163_533_135, 0.0));
        assert_state(&mut flow, us(1_522), (86.673_629_621, 87.263_533_135, 0.0));
    }

    /// A CNP long after the last one waits for the next check. There is a check every 4 us from the first CNP on.
    #[test]
    fn checks_for_a_cut_keep_their_rhythm() {
        let mut flow = Flow::new(DcqcnConfig { g: 0.25, ..DcqcnConfig::conweave() }, 100);
        flow.cnp(us(1));
        let before = flow.rate(us(100));
        flow.cnp(us(102));
        assert_eq!(flow.rate(Time(us(105).0 - 1)), before);
        assert!(flow.rate(us(105)) < before);
        // A CNP at the time of a check waits for the next check.
        let before = flow.rate(us(109));
        flow.cnp(us(109));
        assert_eq!(flow.rate(Time(us(113).0 - 1)), before);
        assert!(flow.rate(us(113)) < before);
    }

    /// The parameters are those of `the_papers_form_step_by_step`: F = 2, AI of 0.04 Gb/s, and both timers 55 us.
    #[test]
    fn a_nack_halves_the_target_and_recovery_leads_back() {
        let mut flow = Flow::new(paper_by_hand(), 40);
        flow.nack(us(100));
        assert_state(&mut flow, us(100), (20.0, 40.0, 1.0));
        assert_eq!(flow.next_increase(), Some(us(155)));
        // T = 1: the rate goes half way to the target. Alpha stays, since no CNP has started its timer.
        assert_state(&mut flow, us(155), (30.0, 40.0, 1.0));
        // The NACK sets the rate to half of the target again, and not to half of the rate. The timer restarts, so that
        // its next expiry is at 215 us and not at 210 us.
        flow.nack(us(160));
        assert_state(&mut flow, us(214), (20.0, 40.0, 1.0));
        assert_state(&mut flow, us(215), (30.0, 40.0, 1.0));
        // T = 2: the increase is additive, but the target is at its maximum. T = 3 has the same effect.
        assert_state(&mut flow, us(270), (35.0, 40.0, 1.0));
        assert_state(&mut flow, us(325), (37.5, 40.0, 1.0));

        // After the CNP, the target is 37.5, the rate 18.75, and alpha 3/4*1 + 1/4. The NACK finds the rate at half the
        // target, so it changes nothing and does not restart the timer. T = 1 is therefore at 395 us: the rate is (37.5
        // + 18.75)/2, and alpha 3/4.
        flow.cnp(us(340));
        flow.nack(us(341));
        assert_state(&mut flow, us(394), (18.75, 37.5, 1.0));
        assert_state(&mut flow, us(395), (28.125, 37.5, 0.75));
        // A NACK cuts the rate to 18.75, half of the target. The next CNP makes 18.75 the target, and cuts the rate to
        // 18.75*(1 - 0.375).
        flow.nack(us(396));
        assert_state(&mut flow, us(396), (18.75, 37.5, 0.75));
        flow.cnp(us(397));
        assert_state(&mut flow, us(397), (11.71875, 18.75, 0.8125));
        // T = 1 has raised the rate to (18.75 + 11.71875)/2 = 15.234375, which is above half of 18.75. The NACK
        // therefore cuts the rate to half of the target.
        flow.nack(us(452));
        assert_state(&mut flow, us(452), (9.375, 18.75, 0.609375));
    }

    /// An expiry of the byte counter moves the rate half way to the target. A NACK restarts the byte counter, so that
    /// the 249 packets before the NACK do not count.
    #[test]
    fn the_byte_counter_counts_from_the_last_nack() {
        let mut flow = Flow::new(paper_by_hand(), 40);
        flow.with(|cc| (0..249).for_each(|_| cc.handle_sent(us(1), 4_000)));
        flow.nack(us(2));
        flow.with(|cc| (0..249).for_each(|_| cc.handle_sent(us(3), 4_000)));
        assert_eq!(flow.rate(us(3)), Rate::from_gbps(20));
        flow.with(|cc| (0..249).for_each(|_| cc.handle_sent(us(3), 4_000)));
        assert_eq!(flow.rate(us(3)), Rate::from_gbps(30));
        flow.nack(us(4));
        flow.with(|cc| (0..249).for_each(|_| cc.handle_sent(us(4), 4_000)));
        assert_eq!(flow.rate(us(4)), Rate::from_gbps(20));
    }

    /// In the simulators' form, a NACK neither cancels the check for a cut nor changes alpha. The NACK at 12 us cuts
    /// the rate from 100 to 50. At 14 us the CNP cuts the rate to 50*(1 - 0.158203125). There was no increase since the
    /// NACK, so the target stays.
    #[test]
    fn a_nack_leaves_a_cnp_its_cut() {
        let mut flow = Flow::new(DcqcnConfig { g: 0.25, ..DcqcnConfig::conweave() }, 100);
        flow.cnp(us(10));
        flow.nack(us(12));
        assert_state(&mut flow, us(13), (50.0, 100.0, 0.421875));
        assert_state(&mut flow, us(14), (42.08984375, 100.0, 0.31640625));
    }

    /// Themis-spraying, figure 2b: however many NACKs arrive, half the line rate remains. NACKs do not prevent the
    /// recovery from an earlier cut by CNPs.
    #[test]
    fn many_nacks_leave_half_the_line() {
        for apart in [1, 2, 50] {
            let mut flow = Flow::new(DcqcnConfig::conweave(), 100);
            let rates: Vec<u64> = (0..10_000)
                .map(|now| {
                    if now % apart == 0 {
                        flow.nack(us(now));
                    }
                    flow.rate(us(now)).0
                })
                .collect();
            let mean = rates.iter().sum::<u64>() / rates.len() as u64;
            assert!((50_000_000_000..55_000_000_000).contains(&mean), "{mean} b/s, a NACK every {apart} us");
        }
        let mut flow = Flow::new(DcqcnConfig::conweave(), 100);
        (0..50).for_each(|now| flow.cnp(us(now)));
        assert!(flow.rate(us(55)) < Rate::from_gbps(1));
        (60..400).for_each(|now| flow.nack(us(now)));
        assert_eq!(flow.rate(us(400)), Rate::from_gbps(50));
    }

    #[test]
    fn a_nack_cuts_no_lower_than_the_lowest_rate() {
        let mut flow = Flow::new(DcqcnConfig { min_rate: Pace::Line(0.75), ..paper_by_hand() }, 40);
        flow.nack(us(0));
        assert_state(&mut flow, us(1), (30.0, 40.0, 1.0));
    }

    /// NACKs arrive at 0, 50 and 400 us and then no more, at a line rate of 100 Gb/s.
    #[test]
    fn nacks_with_parameters_of_conweaves_simulator() {
        let mut flow = Flow::new(DcqcnConfig::conweave(), 100);
        let mut table = format!("{:>5} {:>12} {:>12} {:>9}\n", "us", "rate Mb/s", "target Mb/s", "alpha");
        for now in [0, 50, 349, 350, 399, 400, 649, 699, 700, 1_000, 1_300, 1_600] {
            if [0, 50, 400].contains(&now) {
                flow.nack(us(now));
            }
            let (rate, target, alpha) = flow.state(us(now));
            writeln!(table, "{now:>5} {:>12.3} {:>12.3} {alpha:>9.6}", rate * 1e3, target * 1e3).unwrap();
        }
        // The NACK at 50 us finds the rate at half the target, so the timer of the NACK at 0 us continues. The NACK at
        // 400 us finds a higher rate.
        insta::assert_snapshot!(table, @r"
           us    rate Mb/s  target Mb/s     alpha
            0    50000.000   100000.000  1.000000
           50    50000.000   100000.000  1.000000
          349    75000.000   100000.000  1.000000
          350    75000.000   100000.000  1.000000
          399    75000.000   100000.000  1.000000
          400    50000.000   100000.000  1.000000
          649    50000.000   100000.000  1.000000
          699    50000.000   100000.000  1.000000
          700    75000.000   100000.000  1.000000
         1000    87500.000   100000.000  1.000000
         1300    93750.000   100000.000  1.000000
         1600    96875.000   100000.000  1.000000
        ");
    }

    /// CNPs arrive at 0, 50 and 100 us and then no more. The flow sends at its line rate of 100 Gb/s throughout, which
    /// is 12.5 KB per microsecond.
    fn table(config: DcqcnConfig) -> String {
        let mut flow = Flow::new(config, 100);
        let mut table = format!("{:>5} {:>12} {:>12} {:>9}\n", "us", "rate Mb/s", "target Mb/s", "alpha");
        let asked = [0, 4, 50, 54, 100, 104, 155, 210, 265, 320, 375, 430, 900, 1_900, 2_900, 3_900];
        for now in 0..=3_900 {
            if [0, 50, 100].contains(&now) {
                flow.cnp(us(now));
            }
            flow.with(|cc| cc.handle_sent(us(now), 12_500));
            if asked.contains(&now) {
                let (rate, target, alpha) = flow.state(us(now));
                writeln!(table, "{now:>5} {:>12.3} {:>12.3} {alpha:>9.6}", rate * 1e3, target * 1e3).unwrap();
            }
        }
        table
    }

    #[test]
    fn parameters_of_the_paper() {
        // Computed by hand: each cut halves the rate (alpha is 1). The expiries at 155, 210, 265 and 320 us are fast
        // recovery, and the increase is additive from the fifth expiry at 375 us on. The byte counter expires at 899,
        // 1699, 2499 and 3299 us. By 3900 us this makes 65 + 4 steps of 40 Mb/s.
        insta::assert_snapshot!(table(DcqcnConfig::paper()), @r"
          us    rate Mb/s  target Mb/s     alpha
           0    50000.000   100000.000  1.000000
           4    50000.000   100000.000  1.000000
          50    25000.000    50000.000  1.000000
          54    25000.000    50000.000  1.000000
         100    12500.000    25000.000  1.000000
         104    12500.000    25000.000  1.000000
         155    18750.000    25000.000  0.996094
         210    21875.000    25000.000  0.992203
         265    23437.500    25000.000  0.988327
         320    24218.750    25000.000  0.984466
         375    24629.375    25040.000  0.980621
         430    24854.688    25080.000  0.976790
         900    25399.638    25440.000  0.946680
        1900    26160.000    26200.000  0.882281
        2900    26920.000    26960.000  0.822263
        3900    27720.000    27760.000  0.763334
        ");
    }

    #[test]
    fn parameters_of_hpccs_simulator() {
        // With ConWeave's parameters, the rate first rises at 404 us. Until then, the values here equal ConWeave's.
        // Here the rate first rises at 104 + 900 us.
        insta::assert_snapshot!(table(DcqcnConfig::hpcc()), @r"
          us    rate Mb/s  target Mb/s     alpha
           0   100000.000   100000.000  1.000000
           4    50776.684   100000.000  0.984466
          50    50776.684   100000.000  0.822263
          54    29964.778   100000.000  0.813351
         100    29964.778   100000.000  0.679341
         104    19886.889   100000.000  0.672649
         155    19886.889   100000.000  0.550934
         210    19886.889   100000.000  0.444234
         265    19886.889   100000.000  0.358198
         320    19886.889   100000.000  0.288825
         375    19886.889   100000.000  0.232888
         430    19886.889   100000.000  0.187784
         900    19886.889   100000.000  0.029837
        1900    59943.444   100000.000  0.000596
        2900    89985.861   100000.000  0.000012
        3900    94992.931   100000.000  0.000000
        ");
    }

    #[test]
    fn parameters_of_conweaves_simulator() {
        // Computed by hand: the cut at 4 us is by half of (255/256)^4. The next cuts are at the check at 52 us, after
        // the CNP at 50 us, and at the check at 104 us, after the CNP at 100 us. The target stays at its maximum, since
        // there was no increase. From 404 us on, the rate goes half way to the target every 300 us.
        insta::assert_snapshot!(table(DcqcnConfig::conweave()), @r"
          us    rate Mb/s  target Mb/s     alpha
           0   100000.000   100000.000  1.000000
           4    50776.684   100000.000  0.984466
          50    50776.684   100000.000  0.822263
          54    29964.778   100000.000  0.813351
         100    29964.778   100000.000  0.679341
         104    19886.889   100000.000  0.672649
         155    19886.889   100000.000  0.550934
         210    19886.889   100000.000  0.444234
         265    19886.889   100000.000  0.358198
         320    19886.889   100000.000  0.288825
         375    19886.889   100000.000  0.232888
         430    59943.444   100000.000  0.187784
         900    79971.722   100000.000  0.029837
        1900    97496.465   100000.000  0.000596
        2900    99843.529   100000.000  0.000012
        3900    99980.441   100000.000  0.000000
        ");
    }
}
