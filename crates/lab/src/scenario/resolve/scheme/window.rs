//! The congestion windows of schemes on a fabric.

use anabranch_base::Bytes;
use anabranch_engine::Scheme;
use anabranch_proto::cc::Windows;
use anabranch_proto::{CcConfig, PathFacts, Size};

/// A window of at least this number of BDPs counts as unlimited.
const NO_WINDOW: f64 = 1000.0;

pub(in crate::scenario) struct Window {
    pub bytes: u64,
    /// The window in the form of scenarios, such as `1.5bdp`.
    pub written: String,
    /// The parameter that determines the window; empty if the congestion control itself determines it.
    pub of: String,
}

impl Window {
    /// The window `size`, rounded up to whole packets.
    pub(in crate::scenario) fn new(size: Size, of: &str, facts: &PathFacts) -> Window {
        Window { bytes: size.window_on(facts).0, written: size.to_string(), of: of.to_owned() }
    }

    pub(in crate::scenario) fn is_none(&self, facts: &PathFacts) -> bool {
        self.bytes as f64 >= NO_WINDOW * facts.bdp.0 as f64
    }
}

/// The initial and the maximum window of a queue pair.
pub(in crate::scenario) fn in_flight(scheme: &Scheme, facts: &PathFacts) -> [Window; 2] {
    let both = |size: Size, of: &str| [Window::new(size, of, facts), Window::new(size, of, facts)];
    let of_cc = match scheme.cc.windows() {
        Windows::Constant(window) => both(window, "cc.window"),
        Windows::Adaptive { initial, max } => {
            let windows = [(initial, "cc.initial_window"), (max, "cc.max_window")];
            windows.map(|(size, of)| match &scheme.cc {
                // NSCC does not round its window up to whole packets.
                CcConfig::Nscc(_) => {
                    Window { bytes: size.on(facts).0, written: size.to_string(), of: of.to_owned() }
                }
                _ => Window::new(size, of, facts),
            })
        }
        Windows::Own => both(Size::Bytes(Bytes(scheme.cc.build(facts).window())), ""),
    };
    let Some((size, of)) = scheme.transport.window() else { return of_cc };
    of_cc.map(|of_cc| {
        let own = Window::new(size, of, facts);
        if own.bytes <= of_cc.bytes { own } else { of_cc }
    })
}
