//! Checks of resolved scenarios on their fabrics.

pub(in crate::scenario) mod curve_budget;
pub(in crate::scenario) mod ignored_lines;
pub(in crate::scenario) mod losses;
pub(in crate::scenario) mod no_effect;
pub(in crate::scenario) mod packet_numbers;
pub(in crate::scenario) mod pfc;
pub(in crate::scenario) mod queue_checks;
pub(in crate::scenario) mod start_times;
pub(in crate::scenario) mod timeout_checks;
pub(in crate::scenario) mod timer_aliasing;
pub(in crate::scenario) mod unlike_hosts;
pub(in crate::scenario) mod windows;
