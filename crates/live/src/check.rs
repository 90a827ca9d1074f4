//! A check of the machine for everything that a testbed needs.

use crate::error::LiveError;
use crate::namespaces::Namespaces;
use anabranch_sim::build;
use anabranch_sim::scenario::{NoFiles, Overrides, read};
use nix::sys::socket::{MsgFlags, recv, send};
use nix::unistd::geteuid;
use std::os::fd::AsRawFd;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

/// One thing that a testbed needs.
#[derive(Debug)]
pub struct Need {
    /// The name of the thing.
    pub what: &'static str,
    /// The problem and a way to solve it. None if the thing is there.
    pub problem: Option<String>,
}

/// Checks the machine for everything that a testbed needs. A frame is sent only if `ip` is installed and the user is
/// root.
pub fn check() -> Vec<Need> {
    let version = Command::new("ip").arg("-V").output();
    let ip = match version {
        Ok(output) if output.status.success() => None,
        _ => Some("not installed\n  help: apt-get install iproute2".to_owned()),
    };
    let is_root = geteuid().is_root();
    let root = (!is_root).then(|| {
        "the user is not root\n  help: sudo anabranch testbed SCENARIO, or --sockets, which needs no privileges"
            .to_owned()
    });
    let try_out = is_root && ip.is_none();
    let mut needs = vec![
        Need { what: "the command ip (iproute2)", problem: ip },
        Need { what: "privileges (CAP_SYS_ADMIN, CAP_NET_ADMIN, CAP_NET_RAW)", problem: root },
    ];
    if try_out {
        let problem = one_frame().err().map(|error| format!("{error}\n  help: modprobe veth af_packet"));
        needs.push(Need { what: "a frame through a veth pair between two network namespaces", problem });
    }
    needs
}

/// Builds a testbed with one switch, and checks that a frame from a host arrives at the switch.
fn one_frame() -> Result<(), LiveError> {
    let text = "schemes = [\"reps\"]\nseeds = [1]\ntopology = { kind = \"fat-tree\", hosts = 2, hosts_per_tor = 2, link = \"100Gbps\" }\n\
                workload = { kind = \"permutation\", bytes = \"4KB\" }";
    let broken = |error: String| LiveError::Broken(error);
    let scenario = read("check", text, &NoFiles, &Overrides::default());
    let points =
        scenario.and_then(|scenario| scenario.points()).map_err(|error| broken(error.to_string()))?;
    let point = points.first().ok_or_else(|| broken("the scenario has no run".to_owned()))?;
    let topology = build(point)?.topology;
    let namespaces = Namespaces::build(&topology)?;
    let sockets = namespaces.sockets(&topology)?;
    let system =
        |error: nix::errno::Errno| LiveError::System { what: "a raw frame".to_owned(), error: error.into() };
    let mut frame = [0; 60];
    frame[12..14].copy_from_slice(&[0x08, 0x00]);
    send(sockets[0][0].as_raw_fd(), &frame, MsgFlags::empty()).map_err(system)?;
    let mut buffer = [0; 128];
    for _ in 0..100 {
        for socket in &sockets[2] {
            if recv(socket.as_raw_fd(), &mut buffer, MsgFlags::MSG_DONTWAIT)
                .is_ok_and(|bytes| bytes == frame.len())
            {
                return Ok(());
            }
        }
        sleep(Duration::from_millis(10));
    }
    Err(broken("a frame did not arrive within a second".to_owned()))
}
