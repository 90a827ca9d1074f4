//! The sockets at the ends of links.

use nix::sys::socket::sockopt::{RcvBufForce, SndBuf, SndBufForce};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, setsockopt, socket, socketpair};
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// Size of a socket's buffer in bytes, which includes the kernel's own data about each frame.
const BUFFER: usize = 64 << 20;
/// Size of a socket's buffer in bytes in runs without privileges.
const SMALL_BUFFER: usize = 200 << 10;

/// A raw socket for all frames of an interface in the network namespace of the thread.
pub fn packet_socket(interface: &str) -> io::Result<OwnedFd> {
    let fd = socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, None)?;
    let name = CString::new(interface).map_err(io::Error::other)?;
    // SAFETY: `name` is a string that ends with 0, and the call does not keep it.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    if index == 0 {
        return Err(io::Error::last_os_error());
    }
    setsockopt(&fd, RcvBufForce, &BUFFER)?;
    setsockopt(&fd, SndBufForce, &BUFFER)?;
    let address = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: (libc::ETH_P_ALL as u16).to_be(),
        sll_ifindex: index as i32,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the pointer and the length are those of a `sockaddr_ll`, the type of address that a packet socket takes.
    let bound = unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), length) };
    if bound != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(fd)
}

/// The two ends of a link without a network interface, for runs without privileges.
pub fn pair() -> io::Result<[OwnedFd; 2]> {
    let flags = SockFlag::SOCK_CLOEXEC;
    let (a, b) = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, flags)?;
    for end in [&a, &b] {
        if setsockopt(end, SndBufForce, &BUFFER).is_err() {
            setsockopt(end, SndBuf, &SMALL_BUFFER)?;
        }
    }
    Ok([a, b])
}

/// Number of frames that the kernel dropped because the socket was full, since the last call.
pub fn kernel_drops(fd: &OwnedFd) -> u64 {
    let mut stats = [0_u32; 2];
    let mut length = size_of_val(&stats) as libc::socklen_t;
    // SAFETY: the pointer and the length are those of `stats`, which has the size of a `tpacket_stats`.
    let found = unsafe {
        let stats = (&raw mut stats).cast();
        libc::getsockopt(fd.as_raw_fd(), libc::SOL_PACKET, libc::PACKET_STATISTICS, stats, &raw mut length)
    };
    if found == 0 { stats[1].into() } else { 0 }
}
