//! The cost of a link outage under DCP.

use anabranch_results::RunRow;
use anabranch_sim::scenario::{self, Files, Overrides};

struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _: &str) -> Result<String, String> {
        Err("no such file".to_owned())
    }
}

/// The runs of a permutation of 2 MB per message under DCP: one in which an uplink is down for 30 us, and one without
/// this outage.
fn dcp(settings: &str) -> [RunRow; 2] {
    let outage =
        "[[fault]]\nkind = \"link-down\"\nlinks = \"tor:0/up:0\"\nat = \"20us\"\nduration = \"30us\"\n";
    [outage, ""].map(|fault| {
        let text = format!(
            "schemes = [\"dcp\"]\nseeds = [1]\n\
             topology = {{ kind = \"fat-tree\", hosts = 16, hosts_per_tor = 4, link = \"400Gbps\" }}\n\
             workload = {{ kind = \"permutation\", bytes = \"2MB\" }}\n{fault}[set]\n{settings}"
        );
        let scenario = scenario::read("outage.toml", &text, &NoFiles, &Overrides::default());
        let scenario = scenario.unwrap_or_else(|e| panic!("{e}\n{text}"));
        let result = anabranch_sim::run(&scenario.points().unwrap()[0], &anabranch_sim::Control::default());
        result.unwrap_or_else(|e| panic!("{e}\n{text}")).run
    })
}

/// DCP, section 4.5: a timeout retransmits the message. Requests that are lost together need only one timeout in total,
/// whether the message is one request (with a window far above its length) or many.
#[test]
fn requests_of_a_message_do_not_time_out_one_after_the_other() {
    let [split, calm] = dcp("");
    let [whole, _] = dcp("\"dcp.cc.window\" = \"1000bdp\"\n");
    assert!(split.timeouts > 0 && whole.timeouts > 0, "the outage is felt: {split:?}\n{whole:?}");
    assert_eq!((calm.timeouts, calm.retransmissions), (0, 0));
    // The timeout is 2 base RTTs plus the time of five queues of 1 MB. Together these are 115 us, rounded up here.
    let rto = 116.0;
    assert!(split.fct_max_us < calm.fct_max_us + 2.0 * rto, "{} after {}", split.fct_max_us, calm.fct_max_us);
    assert!(split.fct_max_us < 1.5 * whole.fct_max_us, "{} and {}", split.fct_max_us, whole.fct_max_us);
}
