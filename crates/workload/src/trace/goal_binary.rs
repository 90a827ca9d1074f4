//! GOAL in the binary form that LogGOPSim's `txt2bin` writes: the schedules of all ranks, and a table of their
//! positions.
//!
//! All numbers are little-endian. The file begins with a cookie (u64). Positions count from the byte after the cookie,
//! where the header begins. The header has the number of ranks (u32), the largest CPU and NIC (u8 each), and the start
//! and end of each rank's part (u64 each). A part consists of the number of its operations and of those without
//! dependencies (u32 each), the numbers of the operations without dependencies (u32 each), the operations, and an
//! appendix of operation numbers (u32 each). An operation consists of its number of dependencies (u32), type (u8: 1
//! send, 2 recv, 3 calc), peer (u32), size (u64), tag (u32), CPU and NIC (u8 each), and two ranges of the appendix,
//! each as length and start (u32 each). The first range has the operations that wait for the end of this operation.
//! The second range has the operations that wait for its start.
//!
//! The file is converted to GOAL text, which a scenario keeps.

use crate::WorkloadError;
use anabranch_base::Problem;
use std::fmt::Write;

/// The first number of a file.
const COOKIE: u64 = 4223;
/// The number with which LogGOPSim replaces the cookie when one of its simulations has used the file.
const USED_UP: u64 = 2342;

/// Whether a file is binary GOAL rather than text.
pub fn is_binary(bytes: &[u8]) -> bool {
    matches!(number::<8>(bytes, 0), Some(COOKIE | USED_UP))
}

pub fn to_text(file: &str, bytes: &[u8]) -> Result<String, WorkloadError> {
    let wrong =
        |what: String| WorkloadError::file(file, Problem::with_text(what, "the file anew with txt2bin"));
    if number::<8>(bytes, 0) == Some(USED_UP) {
        return Err(wrong("a simulation has used the file up".to_owned()));
    }
    let bytes = bytes.get(8..).unwrap_or_default();
    let table = |at: u64| number::<8>(bytes, at);
    let ranks =
        number::<4>(bytes, 0).ok_or_else(|| wrong("it ends before the number of ranks".to_owned()))?;
    let mut text = format!("num_ranks {ranks}\n");
    for rank in 0..ranks {
        let ends = table(6 + 16 * rank).zip(table(14 + 16 * rank));
        let part = ends
            .and_then(|(from, until)| bytes.get(usize::try_from(from).ok()?..usize::try_from(until).ok()?));
        let part = part.ok_or_else(|| wrong(format!("rank {rank} is not within it")))?;
        add_rank(&mut text, rank, part).map_err(|what| wrong(format!("rank {rank}: {what}")))?;
    }
    Ok(text)
}

/// The length of an operation in bytes.
const LENGTH: u64 = 39;

fn add_rank(text: &mut String, rank: u64, part: &[u8]) -> Result<(), String> {
    let short = || "it ends too early".to_owned();
    let word = |at: u64| number::<4>(part, at).ok_or_else(short);
    let (operations, independent) = (word(0)?, word(4)?);
    let first = 8 + 4 * independent;
    let appendix = first + LENGTH * operations;
    if appendix > part.len() as u64 {
        return Err(short());
    }
    let _ = writeln!(text, "rank {rank} {{");
    let mut waits = vec![0_u64; operations as usize];
    let mut left = (part.len() as u64 - appendix) / 4;
    for operation in 0..operations {
        let at = first + LENGTH * operation;
        let (kind, peer) = (number::<1>(part, at + 4).ok_or_else(short)?, word(at + 5)?);
        let size = number::<8>(part, at + 9).ok_or_else(short)?;
        let tag = word(at + 17)?;
        let [cpu, nic] = [21, 22].map(|place| number::<1>(part, at + place).unwrap_or_default());
        let _ = match kind {
            1 => writeln!(text, "l{operation}: send {size}b to {peer} tag {tag} cpu {cpu} nic {nic}"),
            2 => writeln!(text, "l{operation}: recv {size}b from {peer} tag {tag} cpu {cpu} nic {nic}"),
            3 => writeln!(text, "l{operation}: calc {size} cpu {cpu} nic {nic}"),
            _ => return Err(format!("operation {operation} has type {kind}, and there are 1, 2 and 3")),
        };
    }
    for operation in 0..operations {
        let at = first + LENGTH * operation;
        for (place, requires) in [(23, "requires"), (31, "irequires")] {
            let (count, from) = (word(at + place)?, word(at + place + 4)?);
            left = left.checked_sub(count).ok_or_else(short)?;
            for waiting in from..from + count {
                let waiting = word(appendix + 4 * waiting)?;
                *waits.get_mut(waiting as usize).ok_or_else(|| {
                    format!("operation {waiting} waits for operation {operation}, and there are {operations}")
                })? += 1;
                let _ = writeln!(text, "l{waiting} {requires} l{operation}");
            }
        }
    }
    text.push_str("}\n");
    for (operation, waits) in (0..).zip(waits) {
        let declared = word(first + LENGTH * operation)?;
        if declared != waits {
            return Err(format!(
                "operation {operation} waits for {declared} others, and {waits} have it wait"
            ));
        }
    }
    Ok(())
}

/// The number in the `N` bytes at position `at`.
fn number<const N: usize>(bytes: &[u8], at: u64) -> Option<u64> {
    let at = usize::try_from(at).ok()?;
    let bytes = bytes.get(at..at.checked_add(N)?)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}
