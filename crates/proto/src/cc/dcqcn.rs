//! The reaction point of DCQCN (SIGCOMM 2015, section 3.1 and figure 7), and its form in the ns-3 simulators.
//!
//! [`DcqcnConfig::decrease_interval`] selects one of two forms:
//!
//! - With 0, the form of the paper applies. Every CNP cuts the rate, raises alpha, and restarts both timers and the
//!   byte counter.
//! - Above 0, the form of the simulators published with HPCC and ConWeave applies. The first CNP starts the alpha
//!   timer and the rate-decrease checks, which take place every `decrease_interval`. Each CNP sets a flag for the next
//!   check. Each CNP except the first one also sets a flag for the next expiry of the alpha timer.
//!
//! Published htsim differs from the paper in places. [`AlphaDecay::Packets`] and [`Increases::Htsim`] reproduce some
//! of these differences. [`DcqcnConfig::htsim`] names two differences that are not modelled.
//!
//! No timer events are scheduled. Timer expiries that are due are applied before anything depends on them, in the
//! order of time. The results therefore do not depend on the times of the calls. At equal times, alpha comes first,
//! then the increase, then the cut, as in the simulators. The event for which a method is called comes last.

use super::interface::{CcProperties, CongestionControl, LossReport, Windows};
use super::{AnyCc, CcConfig};
use crate::{Conflict, Pace, PathFacts, Size, Span};
use anabranch_base::{AboveZero, Bytes, Duration, Rate, Stream, Time, parameter_choices, parameters};
use serde::{Deserialize, Serialize};

/// The shortest timer. A call steps through the expiries one by one, so their number must be bounded.
const LEAST: Duration = Duration::from_ns(100);
const LEAST_TIMER: Span = Span::Time(LEAST);

parameters! {
    /// Parameters of DCQCN's reaction point. The fabric configures the marking. The transport configures the
    /// notification point.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct DcqcnConfig {
        /// Gain g of alpha's moving average.
        #[param(0.0..=1.0; example = 0.00390625; source = "DCQCN (SIGCOMM 2015), section 5.2: 1/256")]
        pub g: f64,
        /// Initial alpha: its value when the first CNP arrives (1 in the paper), or with `alpha_decay = "packets"` at the
        /// start.
        #[param(0.0..=1.0; example = 1.0; source = "DCQCN (SIGCOMM 2015), figure 7")]
        pub initial_alpha: f64,
        /// Time without a CNP after which alpha decays once. A time in round trips counts as 100 ns at least.
        #[param(LEAST_TIMER..; example = "55us"; source = "DCQCN (SIGCOMM 2015), section 5.2")]
        pub alpha_timer: Span,
        /// Period of the timer of rate increases. A time in round trips counts as 100 ns at least.
        #[param(LEAST_TIMER..; example = "55us"; source = "DCQCN (SIGCOMM 2015), section 5.2")]
        pub increase_timer: Span,
        /// Byte counter: bytes sent per rate increase step. With 0, only the timer causes increases.
        #[param(any; example = "10MB"; source = "DCQCN (SIGCOMM 2015), section 5.2")]
        pub byte_counter: Bytes,
        /// Steps of fast recovery (F).
        #[param(1..=1_000_000; example = 5; source = "DCQCN (SIGCOMM 2015), section 3.1")]
        pub fast_recovery: u32,
        /// Additive increase of the target rate.
        #[param(AboveZero; example = "0.05line";
            source = "htsim: 1/20 of the line rate; the paper's 40 Mb/s is for links of 40 Gb/s")]
        pub rate_ai: Pace,
        /// Hyper increase of the target rate.
        #[param(AboveZero; example = "0.1line"; source = "htsim: 1/10 of the line rate")]
        pub rate_hai: Pace,
        /// Lower limit of the rate.
        #[param(AboveZero; example = "10Mbps"; source = "unspecified; as is usual")]
        pub min_rate: Pace,
        /// Least time between two cuts of the rate. With 0, every CNP cuts it.
        #[param(any; example = "0us";
            source = "DCQCN (SIGCOMM 2015), section 3.1; 4 us in the simulators published with HPCC and ConWeave")]
        pub decrease_interval: Span,
        /// Bytes that may be in flight, whatever the rate.
        #[param(AboveZero; example = "1000bdp"; source = "none in the paper; 1000 BDP are none")]
        pub window: Size,
        /// Reaction to a NACK; only some transports report NACKs to the congestion control.
        #[serde(default, skip_serializing_if = "OnNack::is_slow_start")]
        #[param(any; example = "cnp";
            source = "slow-start: Themis-spraying, section 2.3; cnp: the simulator published with ConWeave";
            default = "slow-start")]
        pub on_nack: OnNack,
        /// Trigger of the decay of alpha. `packets` needs a `decrease_interval` of 0.
        #[serde(default, skip_serializing_if = "AlphaDecay::is_timer")]
        #[param(any; example = "packets"; source = "timer: DCQCN (SIGCOMM 2015), section 3.1; packets: htsim";
            default = "timer")]
        pub alpha_decay: AlphaDecay,
        /// The steps by which the rate rises.
        #[serde(default, skip_serializing_if = "Increases::is_dcqcn")]
        #[param(any; example = "htsim"; source = "dcqcn: DCQCN (SIGCOMM 2015), figure 7; htsim: htsim";
            default = "dcqcn")]
        pub increases: Increases,
    }
}

/// The effect of a NACK on the rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnNack {
    /// The rate falls to half of the target rate, followed by fast recovery, as measured on NICs (Themis-spraying,
    /// figure 2b).
    #[default]
    SlowStart,
    /// The rate falls as after a CNP, because receivers in the simulator published with ConWeave send a CNP with every
    /// NACK.
    Cnp,
}

parameter_choices!(OnNack: "slow-start" = SlowStart, "cnp" = Cnp);

impl OnNack {
    fn is_slow_start(&self) -> bool {
        *self == OnNack::SlowStart
    }
}

/// The events at which alpha decays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AlphaDecay {
    /// Alpha decays once in each `alpha_timer` without a CNP, from the first CNP on.
    #[default]
    Timer,
    /// Alpha decays with every sent packet and with every expiry of the increase timer, once `alpha_timer` has passed
    /// since the last CNP. Before the first CNP, `alpha_timer` counts from the start of the simulation. Published
    /// htsim does not restart the timer when alpha decays.
    Packets,
}

parameter_choices!(AlphaDecay: "timer" = Timer, "packets" = Packets);

impl AlphaDecay {
    fn is_timer(&self) -> bool {
        *self == AlphaDecay::Timer
    }
}

/// The steps by which the rate rises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Increases {
    /// The steps of the paper, where F is `fast_recovery`. Once the higher of the two counts of expiries reaches F,
    /// the increase is additive. Once the lower count is F + i (i >= 1), there is a hyper increase of i + 1 steps
    /// instead, or of a single step if the byte counter is off. The target rate never exceeds the line rate. The byte
    /// counter keeps the excess bytes when it expires.
    #[default]
    Dcqcn,
    /// The steps of published htsim, where F is `fast_recovery`. Once the higher of the two counts of expiries exceeds
    /// F, the increase is additive. Once the lower count is F + i (i >= 1), there is a hyper increase of i steps
    /// instead. The target rate may exceed the line rate, but the rate may not. The byte counter restarts at 0 when it
    /// expires.
    Htsim,
}

parameter_choices!(Increases: "dcqcn" = Dcqcn, "htsim" = Htsim);

impl Increases {
    fn is_dcqcn(&self) -> bool {
        *self == Increases::Dcqcn
    }
}

/// A sending rate. Before the first CNP or NACK it is the line rate.
#[derive(Clone, Debug)]
pub struct Dcqcn {
    /// Current rate. All rates are in bits per second.
    rate: f64,
    /// The next expiry of the increase timer. It is [`Time::NEVER`] before the rate falls for the first time.
    increase_due: Time,
    /// The next check that will find a CNP and cut the rate. It is [`Time::NEVER`] if no CNP has arrived since the
    /// last cut.
    cut_due: Time,
    window: u64,
    first_cnp: Option<Time>,
    byte_counter: u64,
    /// Bytes that count towards the next expiry of the byte counter.
    bytes: u64,
    /// Number of expiries of the increase timer since fast recovery last started (T).
    timer_stage: u32,
    /// Number of expiries of the byte counter since fast recovery last started (BC).
    byte_stage: u32,
    target: f64,
    alpha: f64,
    /// The next expiry of the alpha timer. Under [`AlphaDecay::Packets`], it is the time from which every event decays
    /// alpha.
    alpha_due: Time,
    /// Whether a CNP other than the first one arrived since the last expiry of the alpha timer. It is always false in
    /// the form of the paper.
    cnp_for_alpha: bool,
    line_rate: f64,
    min_rate: f64,
    rate_ai: f64,
    rate_hai: f64,
    g: f64,
    initial_alpha: f64,
    fast_recovery: u32,
    alpha_timer: Duration,
    increase_timer: Duration,
    decrease_interval: Duration,
    on_nack: OnNack,
    decays_by_packet: bool,
    increases: Increases,
}

impl DcqcnConfig {
    /// The names of the parameter sets.
    pub const PRESETS: [&'static str; 4] = ["paper", "hpcc", "conweave", "htsim"];

    /// The parameter set of this name. None if the name is not one of [`Self::PRESETS`].
    pub fn preset(name: &str) -> Option<Self> {
        match name {
            "paper" => Some(Self::paper()),
            "hpcc" => Some(Self::hpcc()),
            "conweave" => Some(Self::conweave()),
            "htsim" => Some(Self::htsim()),
            _ => None,
        }
    }

    /// The DCQCN paper's parameters (section 5.2), for links of 40 Gb/s.
    ///
    /// The paper leaves two values unspecified. Here the hyper increase is ten times the additive increase, and the
    /// lowest rate is 10 Mb/s. Both values are common.
    pub fn paper() -> Self {
        DcqcnConfig {
            g: 1.0 / 256.0,
            initial_alpha: 1.0,
            alpha_timer: Span::Time(Duration::from_us(55)),
            increase_timer: Span::Time(Duration::from_us(55)),
            byte_counter: Bytes(10_000_000),
            fast_recovery: 5,
            rate_ai: Pace::Rate(Rate(40_000_000)),
            rate_hai: Pace::Rate(Rate(400_000_000)),
            min_rate: Pace::Rate(Rate(10_000_000)),
            decrease_interval: Span::Time(Duration::ZERO),
            window: UNLIMITED,
            on_nack: OnNack::SlowStart,
            alpha_decay: AlphaDecay::Timer,
            increases: Increases::Dcqcn,
        }
    }

    /// The parameters of published htsim, for links of any rate. htsim has no lowest rate, so the lowest possible
    /// value, 1 bit per second, is used. Receivers in htsim also send a CNP at the end of a CNP interval
    /// (`trailing_cnp` of `go-back-n`).
    ///
    /// Two properties of htsim are not modelled. In htsim, all flows share one alpha, which real hosts could not do.
    /// In htsim, each decay of alpha also schedules further decays, so that alpha falls even faster.
    pub fn htsim() -> Self {
        DcqcnConfig {
            rate_ai: Pace::Line(0.05),
            rate_hai: Pace::Line(0.1),
            min_rate: Pace::Rate(Rate(1)),
            alpha_decay: AlphaDecay::Packets,
            increases: Increases::Htsim,
            ..DcqcnConfig::paper()
        }
    }

    /// The configuration of the simulator published with HPCC, for links of 100 Gb/s.
    pub fn hpcc() -> Self {
        DcqcnConfig {
            increase_timer: Span::Time(Duration::from_us(900)),
            rate_ai: Pace::Rate(Rate(50_000_000)),
            ..DcqcnConfig::conweave()
        }
    }

    /// The configuration of the simulator published with ConWeave, for links of 100 Gb/s.
    pub fn conweave() -> Self {
        DcqcnConfig {
            g: 1.0 / 256.0,
            initial_alpha: 1.0,
            alpha_timer: Span::Time(Duration::from_us(1)),
            increase_timer: Span::Time(Duration::from_us(300)),
            byte_counter: Bytes(0),
            fast_recovery: 1,
            rate_ai: Pace::Rate(Rate(40_000_000)),
            rate_hai: Pace::Rate(Rate(100_000_000)),
            min_rate: Pace::Rate(Rate(100_000_000)),
            decrease_interval: Span::Time(Duration::from_us(4)),
            window: UNLIMITED,
            on_nack: OnNack::SlowStart,
            alpha_decay: AlphaDecay::Timer,
            increases: Increases::Dcqcn,
        }
    }
}

/// A window that never limits: DCQCN controls only the rate.
const UNLIMITED: Size = Size::Bdp(1000.0);

impl Dcqcn {
    /// A sender at line rate. A timer of zero length never expires.
    pub fn new(config: &DcqcnConfig, facts: &PathFacts) -> Self {
        let line_rate = facts.line_rate.0 as f64;
        let timer = |span: Span| match span {
            Span::Time(time) => time,
            relative => relative.on(facts).max(LEAST),
        };
        let alpha_timer = timer(config.alpha_timer);
        let decays_by_packet = config.alpha_decay == AlphaDecay::Packets;
        Dcqcn {
            rate: line_rate,
            increase_due: Time::NEVER,
            cut_due: Time::NEVER,
            window: config.window.window_on(facts).0,
            first_cnp: None,
            byte_counter: config.byte_counter.0,
            bytes: 0,
            timer_stage: 0,
            byte_stage: 0,
            target: line_rate,
            alpha: config.initial_alpha,
            alpha_due: if decays_by_packet { after(Time::ZERO, alpha_timer) } else { Time::NEVER },
            cnp_for_alpha: false,
            line_rate,
            min_rate: (config.min_rate.on(facts).0 as f64).min(line_rate),
            rate_ai: config.rate_ai.on(facts).0 as f64,
            rate_hai: config.rate_hai.on(facts).0 as f64,
            g: config.g,
            initial_alpha: config.initial_alpha,
            fast_recovery: config.fast_recovery,
            alpha_timer,
            increase_timer: timer(config.increase_timer),
            decrease_interval: config.decrease_interval.on(facts),
            on_nack: config.on_nack,
            decays_by_packet,
            increases: config.increases,
        }
    }

    /// The target rate at `now`.
    pub fn target(&mut self, now: Time) -> Rate {
        self.advance(now);
        Rate(self.target as u64)
    }

    /// Alpha, the estimate of congestion, at `now`.
    pub fn alpha(&mut self, now: Time) -> f64 {
        self.advance(now);
        self.advance_alpha(now);
        self.alpha
    }
}

impl CcProperties for DcqcnConfig {
    fn build_with_stream(&self, facts: &PathFacts, _random: Stream) -> AnyCc {
        AnyCc::Dcqcn(Box::new(Dcqcn::new(self, facts)))
    }

    fn windows(&self) -> Windows {
        Windows::Constant(self.window)
    }

    fn reacts_to_ecn(&self) -> bool {
        true
    }

    fn has_only_rate(&self) -> bool {
        true
    }

    fn presets(&self) -> &'static [&'static str] {
        &DcqcnConfig::PRESETS
    }

    fn preset(&self, name: &str) -> Option<CcConfig> {
        DcqcnConfig::preset(name).map(CcConfig::Dcqcn)
    }

    /// If alpha decays with packets, there is no alpha timer that could read the flag set by a CNP.
    fn check_together(&self) -> Result<(), Conflict> {
        if self.alpha_decay == AlphaDecay::Timer || self.decrease_interval == Span::Time(Duration::ZERO) {
            return Ok(());
        }
        let message = format!(
            "cc.alpha_decay = \"packets\" needs a cut at every CNP, and cc.decrease_interval is {}",
            self.decrease_interval
        );
        Err(Conflict::value("cc.decrease_interval".to_owned(), message, "\"0us\"")
            .involving("cc.alpha_decay"))
    }
}

impl CongestionControl for Dcqcn {
    #[inline]
    fn window(&self) -> u64 {
        self.window
    }

    #[inline]
    fn rate(&mut self, now: Time) -> Option<Rate> {
        self.advance(now);
        Some(Rate(self.rate as u64))
    }

    /// The next expiry of the increase timer. None at line rate, where the rate cannot rise.
    fn next_increase(&self) -> Option<Time> {
        (self.rate < self.line_rate && self.increase_due < Time::NEVER).then_some(self.increase_due)
    }

    #[inline]
    fn handle_sent(&mut self, now: Time, bytes: u16) {
        if self.decays_by_packet {
            self.decay(now);
        }
        // At line rate the rate cannot rise, and a cut restarts the byte counter.
        if self.byte_counter == 0 || self.rate >= self.line_rate {
            return;
        }
        self.advance(now);
        self.bytes += u64::from(bytes);
        while self.bytes >= self.byte_counter {
            self.bytes = match self.increases {
                Increases::Dcqcn => self.bytes - self.byte_counter,
                Increases::Htsim => 0,
            };
            self.byte_stage = self.byte_stage.saturating_add(1);
            self.increase();
        }
    }

    fn handle_cnp(&mut self, now: Time) {
        self.advance(now);
        self.advance_alpha(now);
        let is_first = self.first_cnp.is_none();
        let first = *self.first_cnp.get_or_insert(now);
        if is_first && !self.decays_by_packet {
            self.alpha = self.initial_alpha;
            self.alpha_due = after(now, self.alpha_timer);
        }
        if self.decrease_interval == Duration::ZERO {
            self.cut(now);
            self.alpha = (1.0 - self.g) * self.alpha + self.g;
            self.alpha_due = after(now, self.alpha_timer);
            return;
        }
        // In the simulators, the first CNP initialises alpha and therefore does not raise it as well.
        self.cnp_for_alpha = !is_first;
        if self.cut_due == Time::NEVER {
            let checks = now.since(first).0 / self.decrease_interval.0 + 1;
            self.cut_due = first + self.decrease_interval * checks;
        }
    }

    /// The reaction of a NIC's DCQCN to a NACK (Themis-spraying, section 2.3, issue 1), unless [`OnNack`] selects
    /// another one.
    ///
    /// The rule of the NICs is not public, so it is inferred from measurements (figure 2b). If every NACK reaches the
    /// sender, its rate settles at just under half the line rate (46.6 of 100 Gb/s), whatever the number of NACKs. If
    /// one NACK in 256 reaches the sender, the average rate is 81 % of the line rate, so the rate recovers between
    /// NACKs. The rule here is therefore that the rate falls to half of the target rate, and that fast recovery leads
    /// back to the target. Alpha does not change, since no switch reported congestion. If the rate is at or below half
    /// of the target, a NACK has no effect. Repeated NACKs therefore do not keep restarting the recovery from an
    /// earlier CNP.
    fn handle_nack(&mut self, lost: &LossReport) {
        let now = lost.now;
        if self.on_nack == OnNack::Cnp {
            return self.handle_cnp(now);
        }
        self.advance(now);
        let half = (self.target / 2.0).max(self.min_rate);
        if self.rate > half {
            self.rate = half;
            self.start_recovery(now);
        }
    }
}

impl Dcqcn {
    /// Applies the increases and cuts that are due until `now`.
    #[inline]
    fn advance(&mut self, now: Time) {
        while self.increase_due.min(self.cut_due) <= now {
            self.expire();
        }
    }

    #[cold]
    fn expire(&mut self) {
        if self.increase_due > self.cut_due {
            let at = std::mem::replace(&mut self.cut_due, Time::NEVER);
            self.advance_alpha(at);
            self.cut(at);
            return;
        }
        if self.decays_by_packet {
            self.decay(self.increase_due);
        }
        self.increase_due += self.increase_timer;
        if self.byte_counter > 0 {
            self.timer_stage = self.timer_stage.saturating_add(1);
            self.increase();
        } else {
            // The simulators count an expiry after its increase, so that F increases belong to fast recovery. The paper
            // counts an expiry before its increase.
            self.increase();
            self.timer_stage = self.timer_stage.saturating_add(1);
        }
    }

    /// Applies the alpha timer's expiries until `now`. This must happen before alpha is read or changed.
    fn advance_alpha(&mut self, now: Time) {
        if self.decays_by_packet {
            return;
        }
        while self.alpha_due <= now {
            // This is DCQCN, equation 2. The CNP flag is set only in the simulators' form.
            let seen = if self.cnp_for_alpha { self.g } else { 0.0 };
            self.alpha = (1.0 - self.g) * self.alpha + seen;
            self.cnp_for_alpha = false;
            self.alpha_due += self.alpha_timer;
        }
    }

    #[inline(never)]
    fn decay(&mut self, at: Time) {
        if at >= self.alpha_due {
            self.alpha *= 1.0 - self.g;
        }
    }

    fn cut(&mut self, now: Time) {
        // This is DCQCN, equation 1. If there was no increase since the last cut, the simulators keep the target,
        // because their option to lower the target in this case is off.
        if self.decrease_interval == Duration::ZERO || self.timer_stage.max(self.byte_stage) > 0 {
            self.target = self.rate;
        }
        self.rate = (self.rate * (1.0 - self.alpha / 2.0)).max(self.min_rate);
        self.start_recovery(now);
    }

    fn start_recovery(&mut self, now: Time) {
        self.increase_due = after(now, self.increase_timer);
        self.bytes = 0;
        self.timer_stage = 0;
        self.byte_stage = 0;
    }

    fn increase(&mut self) {
        let (low, high) = if self.byte_counter > 0 {
            (self.timer_stage.min(self.byte_stage), self.timer_stage.max(self.byte_stage))
        } else {
            (self.timer_stage, self.timer_stage)
        };
        if self.increases == Increases::Htsim {
            return self.increase_as_htsim(low, high);
        }
        if low > self.fast_recovery {
            // The paper takes the size of the hyper increase from QCN: one step if the lower count is F, and one more
            // with each further expiry. By figure 7, the first hyper increase is at F + 1, so it has two steps. In the
            // simulators, every hyper increase has one step.
            let steps = if self.byte_counter > 0 { low - self.fast_recovery + 1 } else { 1 };
            self.target += f64::from(steps) * self.rate_hai;
        } else if high >= self.fast_recovery {
            // Additive increase: DCQCN, equation 4.
            self.target += self.rate_ai;
        }
        self.target = self.target.min(self.line_rate);
        // Fast recovery consists of this step alone: DCQCN, equation 3.
        self.rate = (self.target + self.rate) / 2.0;
    }

    /// The increase of [`Increases::Htsim`]. `low` and `high` are the lower and the higher count of expiries.
    fn increase_as_htsim(&mut self, low: u32, high: u32) {
        if self.rate >= self.line_rate {
            return;
        }
        if low > self.fast_recovery {
            self.target += f64::from(low - self.fast_recovery) * self.rate_hai;
        } else if high > self.fast_recovery {
            self.target += self.rate_ai;
        }
        self.rate = ((self.target + self.rate) / 2.0).min(self.line_rate);
    }
}

/// The time at which a timer that starts `now` expires.
fn after(now: Time, timer: Duration) -> Time {
    if timer == Duration::ZERO { Time::NEVER } else { now + timer }
}
