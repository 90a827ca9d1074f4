//! The checks that find warnings, with what each has found so far.

use super::cut_off::CutOff;
use super::domain_jobs::SplitJobs;
use super::idle_nics::IdleNics;
use super::idle_nvlink::IdleNvLink;
use super::ignored_lines::LeftOut;
use super::ignored_pauses::IgnoredPauses;
use super::losses::RareLoss;
use super::no_effect::WithoutEffect;
use super::nvlink_rates::NvLinkRates;
use super::one_port::OnePort;
use super::other_meaning::OtherMeaning;
use super::queue_checks::IdleQueues;
use super::timeout_checks::TooShort;
use super::timer_aliasing::InStep;
use super::unhit_faults::UnhitFaults;
use super::unlike_hosts::UnlikeHosts;
use super::windows::ShortWindows;
use crate::scenario::expand::resolved::Scenario;
use anabranch_base::Diagnostic;
use std::collections::BTreeMap;

/// The findings of each check, over all points of a scenario.
#[derive(Default)]
pub(super) struct Checks {
    pub(super) too_short: TooShort,
    pub(super) short_windows: ShortWindows,
    pub(super) idle: IdleQueues,
    pub(super) in_step: InStep,
    pub(super) ignored_pauses: IgnoredPauses,
    pub(super) without: WithoutEffect,
    pub(super) rare: RareLoss,
    pub(super) left_out: LeftOut,
    pub(super) unlike: UnlikeHosts,
    pub(super) idle_nvlink: IdleNvLink,
    pub(super) idle_nics: IdleNics,
    pub(super) nvlink_rates: NvLinkRates,
    pub(super) other_meaning: OtherMeaning,
    pub(super) cut_off: CutOff,
    pub(super) unhit: UnhitFaults,
    pub(super) split_jobs: SplitJobs,
    pub(super) one_port: OnePort,
    pub(super) rare_failures: BTreeMap<usize, Diagnostic>,
    pub(super) sparse_spines: Option<Diagnostic>,
}

impl Checks {
    pub(super) fn warnings(self, scenario: &Scenario) -> Vec<Diagnostic> {
        let origin = &scenario.origin;
        let warnings = [
            self.left_out.warnings(),
            self.too_short.warnings(&scenario.limits, origin),
            self.idle.warnings(origin),
            self.short_windows.warnings(origin),
            self.in_step.warnings(origin),
            self.ignored_pauses.warnings(origin),
            self.without.warnings(scenario, origin),
            self.rare.warnings(origin),
            self.unlike.warnings(origin),
            self.idle_nvlink.warnings(origin),
            self.idle_nics.warnings(origin),
            self.nvlink_rates.warnings(origin),
            self.other_meaning.warnings(scenario, origin),
            self.cut_off.warnings(origin),
            self.unhit.warnings(origin),
            self.split_jobs.warnings(origin),
            self.one_port.warnings(origin),
            self.rare_failures.into_values().collect(),
            self.sparse_spines.into_iter().collect(),
        ];
        warnings.concat().into_iter().map(Diagnostic::as_warning).collect()
    }
}
