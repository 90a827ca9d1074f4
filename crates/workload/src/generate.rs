//! Workloads from specifications: the synthetic generators, and the choice of the reader for a file.

use super::{
    Fabric, MAX_MESSAGES, SizeDistribution, Start, Workload, WorkloadBuilder, WorkloadError, check, cm,
    collective, ns3, text, trace,
};
use crate::{IncastsSpec, MessageSpec, PipelineSpec, WorkloadSpec};
use anabranch_base::{
    Bytes, Duration, HostId, Problem, Purpose, Refused, Stream, Time, catch_foreign, stream,
};
use incasts::Incasts;
use pipeline::Pipeline;

mod incasts;
mod pipeline;

/// The names of the files whose texts [`build`] needs for `spec`, as the scenario gives them. A size distribution is a
/// file if its name contains a `.` or a `/`.
pub fn files_needed(spec: &WorkloadSpec) -> Vec<&str> {
    match spec {
        WorkloadSpec::Cm { file, .. } | WorkloadSpec::Ns3Flows { file, .. } => vec![file],
        WorkloadSpec::Trace(spec) => spec.files().collect(),
        WorkloadSpec::Jobs { job } => job.iter().flat_map(|spec| spec.files()).collect(),
        WorkloadSpec::Poisson { sizes, .. } if sizes.contains(['.', '/']) => vec![sizes],
        _ => Vec::new(),
    }
}

/// Warnings about parts of the files of `spec` that are not simulated, with the lines of these parts. `file_text`
/// returns the text of a file, as in [`build`].
pub fn warnings<'a>(spec: &WorkloadSpec, file_text: &dyn Fn(&str) -> Option<&'a str>) -> Vec<WorkloadError> {
    let WorkloadSpec::Ns3Flows { file, format, .. } = spec else { return Vec::new() };
    file_text(file).map_or_else(Vec::new, |text| ns3::warnings(file, text, *format))
}

/// Builds the workload of `spec` on a fabric. Equal arguments give equal workloads on every machine. `seed` affects
/// permutations, incasts, Poisson workloads, random placement, the jitter of collectives, and registered workloads.
/// `file_text` returns the texts of [`files_needed`] by their names.
///
/// # Errors
/// The specification is not possible on the fabric, a file is malformed or its text is missing, or a registered
/// workload refuses its parameters or fails.
pub fn build<'a>(
    spec: &WorkloadSpec,
    hosts: &Fabric,
    seed: u64,
    file_text: &dyn Fn(&str) -> Option<&'a str>,
) -> Result<Workload, WorkloadError> {
    let text_of = |file: &str| {
        file_text(file)
            .ok_or_else(|| WorkloadError::file(file, "its text was not given; read the file first"))
    };
    match spec {
        WorkloadSpec::Permutation { bytes, hosts: participants, cross_tor } => {
            permutation(hosts, *bytes, *participants, *cross_tor, seed)
        }
        WorkloadSpec::Tornado { bytes, senders } => tornado(hosts, *bytes, *senders),
        WorkloadSpec::Incast { bytes, degree, target } => incast(hosts, *bytes, *degree, *target, seed),
        WorkloadSpec::Poisson { sizes, load, hosts: participants, duration, inter, incast, pipeline } => {
            let sizes = match (SizeDistribution::named(sizes), files_needed(spec).pop()) {
                (Some(known), _) => known,
                (None, Some(file)) => SizeDistribution::parse(file, text_of(file)?)?,
                (None, None) => return Err(unknown_sizes(sizes)),
            };
            let (load, duration, inter) = (*load, *duration, *inter);
            let (incast, pipeline) = (incast.as_ref(), pipeline.as_ref());
            Poisson { sizes, load, hosts: *participants, duration, inter, incast, pipeline }
                .build(hosts, seed)
        }
        WorkloadSpec::Messages { message } => listed(hosts, message),
        WorkloadSpec::Collective(spec) => collective::build(spec, hosts, seed),
        WorkloadSpec::Cm { file, start_unit } => cm::parse(file, text_of(file)?, *start_unit, hosts.hosts),
        WorkloadSpec::Ns3Flows { file, origin, format } => {
            ns3::parse(file, text_of(file)?, *format, *origin, hosts)
        }
        WorkloadSpec::Trace(spec) => trace::single(spec, &text_of, hosts, seed),
        WorkloadSpec::Jobs { job } => trace::several(job, &text_of, hosts, seed),
        WorkloadSpec::Registered(custom) => {
            let mut builder = WorkloadBuilder::new();
            let random = stream(seed, 0, Purpose::Registered);
            let outcome = catch_foreign("workload", || {
                custom.factory()(&mut builder, hosts, custom.parameters(), random)
            });
            outcome.unwrap_or_else(|panicked| Err(Refused::new("kind", panicked.to_string())))?;
            let workload = builder.build()?;
            check::on_fabric(&workload, hosts)?;
            Ok(workload)
        }
    }
}

fn unknown_sizes(name: &str) -> WorkloadError {
    let hint = text::suggest(name, SizeDistribution::NAMES);
    let what = format!(
        "{} is no known distribution; {hint} (a file's name has a `.` or a `/` in it)",
        text::quote(name)
    );
    WorkloadError::key("sizes", what)
}

/// A workload with one message at time 0 for each of `pairs`. Each message has its own queue pair.
fn at_once(
    pairs: impl ExactSizeIterator<Item = (u32, u32)>,
    bytes: Bytes,
) -> Result<Workload, WorkloadError> {
    if bytes.0 == 0 {
        return Err(WorkloadError::key("bytes", "a message must have at least 1B"));
    }
    let mut builder = WorkloadBuilder::with_capacity(pairs.len());
    for (src, dst) in pairs {
        let qp = builder.add_qp(HostId(src), HostId(dst));
        builder.add_message(qp, bytes.0, Start::At(Time::ZERO));
    }
    builder.build()
}

fn listed(fabric: &Fabric, messages: &[MessageSpec]) -> Result<Workload, WorkloadError> {
    if messages.is_empty() {
        return Err(WorkloadError::key(
            "message",
            Problem::with_text("no message is listed", "at least one"),
        ));
    }
    let mut builder = WorkloadBuilder::with_capacity(messages.len());
    for MessageSpec { from, to, bytes, start } in messages {
        if let Some(host) = [from, to].into_iter().find(|host| host.0 >= fabric.hosts) {
            let what = format!("there is no host {host}: they are 0 to {}", fabric.hosts - 1);
            return Err(WorkloadError::key("message", what));
        }
        if from == to {
            return Err(WorkloadError::key("message", format!("host {from} cannot send to itself")));
        }
        if bytes.0 == 0 {
            return Err(WorkloadError::key("message", "a message must have at least 1B"));
        }
        let qp = builder.add_qp(*from, *to);
        builder.add_message(qp, bytes.0, Start::At(Time(start.0)));
    }
    builder.build()
}

fn check_hosts(fabric: &Fabric, hosts: u32) -> Result<(), WorkloadError> {
    if hosts < 2 {
        return Err(WorkloadError::key(
            "hosts",
            Problem::with_text(format!("{hosts} cannot send to each other"), "at least 2"),
        ));
    }
    if hosts > fabric.hosts {
        let most = fabric.hosts;
        let what = Problem::with_text(
            format!("{hosts} is more than the fabric's {most} hosts"),
            format_args!("at most {most}"),
        );
        return Err(WorkloadError::key("hosts", what));
    }
    Ok(())
}

fn permutation(
    fabric: &Fabric,
    bytes: Bytes,
    hosts: u32,
    cross_tor: bool,
    seed: u64,
) -> Result<Workload, WorkloadError> {
    check_hosts(fabric, hosts)?;
    let group_of: Vec<u32> =
        if cross_tor { fabric.tor_of[..hosts as usize].to_vec() } else { (0..hosts).collect() };
    if let Some((tor, members)) = majority(&group_of) {
        let what = format!(
            "{members} of the {hosts} hosts are on one ToR (that of host {}), more than half, so not all of them can \
             send to another ToR; set cross_tor = false or take hosts of more ToRs",
            group_of.iter().position(|g| *g == tor).unwrap_or_default()
        );
        return Err(WorkloadError::key("cross_tor", what));
    }
    let dst = crossing(&group_of, seed);
    at_once((0..hosts).zip(dst), bytes)
}

/// The group that has more than half of all members, if there is one, and its size.
fn majority(group_of: &[u32]) -> Option<(u32, usize)> {
    let mut sorted = group_of.to_vec();
    sorted.sort_unstable();
    let largest = sorted.chunk_by(|a, b| a == b).max_by_key(|group| group.len())?;
    (2 * largest.len() > sorted.len()).then(|| (largest[0], largest.len()))
}

/// A random permutation in which no member has a destination in its own group. No group may have more than half of all
/// members.
///
/// A uniform shuffle is followed by one swap of destinations for each member that sends into its own group. Let i be a
/// member of group T that sends into T. A partner j is suitable if it is outside of T and sends outside of T, since
/// after the swap both send to another group. At most |T| members are in T and at most |T| members send into T. Since i
/// does both, at most 2|T| - 1 of the n >= 2|T| members are unsuitable. A partner therefore always exists, and n swaps
/// suffice. With one member in each group, the result is a derangement.
fn crossing(group_of: &[u32], seed: u64) -> Vec<u32> {
    let hosts = group_of.len() as u32;
    let mut random = stream(seed, 0, Purpose::WorkloadPairs);
    let mut dst: Vec<u32> = (0..hosts).collect();
    random.shuffle(&mut dst);
    for i in 0..hosts as usize {
        let group = group_of[i];
        if group_of[dst[i] as usize] != group {
            continue;
        }
        let from = random.below(hosts);
        let partner = (from..hosts)
            .chain(0..from)
            .map(|j| j as usize)
            .find(|&j| group_of[j] != group && group_of[dst[j] as usize] != group)
            .expect("no group holds more than half, so a partner exists");
        dst.swap(i, partner);
    }
    dst
}

fn tornado(fabric: &Fabric, bytes: Bytes, senders: u32) -> Result<Workload, WorkloadError> {
    let hosts = fabric.hosts;
    if hosts < 2 {
        let what = format!("a tornado needs a fabric of at least 2 hosts, and this one has {hosts}");
        return Err(WorkloadError::key("senders", what));
    }
    if senders == 0 || senders > hosts {
        return Err(WorkloadError::key(
            "senders",
            format!("write 1 to {hosts} (the fabric's hosts), not {senders}"),
        ));
    }
    let twin = |host: u32| ((u64::from(host) + u64::from(hosts / 2)) % u64::from(hosts)) as u32;
    at_once((0..senders).map(|host| (host, twin(host))), bytes)
}

/// An incast whose senders are chosen at random among all hosts except the target.
fn incast(
    fabric: &Fabric,
    bytes: Bytes,
    degree: u32,
    target: HostId,
    seed: u64,
) -> Result<Workload, WorkloadError> {
    let hosts = fabric.hosts;
    if target.0 >= hosts {
        let what =
            format!("host {target} does not exist; the fabric has hosts 0 to {}", hosts.saturating_sub(1));
        return Err(WorkloadError::key("target", what));
    }
    if degree == 0 || degree >= hosts {
        let what = match hosts {
            1 => "an incast needs a fabric of at least 2 hosts, and this one has 1".to_owned(),
            _ => format!("write 1 to {} (the fabric's hosts without the target), not {degree}", hosts - 1),
        };
        return Err(WorkloadError::key("degree", what));
    }
    let mut senders: Vec<u32> = (0..hosts).filter(|host| *host != target.0).collect();
    stream(seed, u64::from(target.0), Purpose::WorkloadPairs).shuffle(&mut senders);
    senders.truncate(degree as usize);
    senders.sort_unstable();
    at_once(senders.into_iter().map(|sender| (sender, target.0)), bytes)
}

/// The largest load. Some overload is a legitimate experiment, but a larger load is probably a percentage.
pub const MOST_LOAD: f64 = 1.5;

/// Checks that a load is above 0, and that it is not too large together with the other loads. The sum of the other
/// loads is `beside`, and errors call them `whose`.
fn share_in_all(key: &'static str, load: f64, whose: &str, beside: f64) -> Result<(), WorkloadError> {
    if load > 0.0 && load + beside <= MOST_LOAD {
        return Ok(());
    }
    let what = format!(
        "write a share of the line rate above 0 and, together with {whose} {beside}, at most {MOST_LOAD} (10 % is \
         0.1), not {load}"
    );
    Err(WorkloadError::key(key, what))
}

/// A background of messages. Each of the first `hosts` hosts starts messages after exponentially distributed gaps,
/// with sizes from a distribution. Without `inter`, destinations are uniformly distributed. With `inter`, this share
/// of the messages goes to another data centre. Incasts and a pipeline are added after the background, so that they
/// change neither the messages of the background nor its random numbers.
struct Poisson<'a> {
    sizes: SizeDistribution,
    load: f64,
    hosts: u32,
    duration: Duration,
    inter: Option<f64>,
    incast: Option<&'a IncastsSpec>,
    pipeline: Option<&'a PipelineSpec>,
}

impl Poisson<'_> {
    fn build(&self, fabric: &Fabric, seed: u64) -> Result<Workload, WorkloadError> {
        check_hosts(fabric, self.hosts)?;
        if !(self.load > 0.0 && self.load <= MOST_LOAD) {
            let what = format!(
                "write a share of the line rate above 0 and at most {MOST_LOAD} (40 % is 0.4), not {}",
                self.load
            );
            return Err(WorkloadError::key("load", what));
        }
        let receivers = self.receivers(fabric)?;
        if let Some(incast) = self.incast {
            share_in_all("incast.load", incast.load, "the background's", self.load)?;
        }
        let incasts = self.incast.map(|spec| Incasts {
            spec,
            hosts: self.hosts,
            host_rate: fabric.host_rate,
            duration: self.duration,
        });
        let mean_gap = 8.0 * self.sizes.mean() / (self.load * fabric.host_rate.0 as f64) * 1e12;
        let of_background = f64::from(self.hosts) * self.duration.0 as f64 / mean_gap;
        let of_incasts = incasts.as_ref().map_or(Ok(0.0), Incasts::expected)?;
        let pipeline = self.pipeline.map(|spec| Pipeline { spec, fabric, duration: self.duration });
        let beside = self.load + self.incast.map_or(0.0, |incast| incast.load);
        let of_pipeline =
            pipeline.as_ref().map_or(Ok(0.0), |pipeline| pipeline.expected(self.hosts, beside))?;
        let expected = of_background + of_incasts + of_pipeline;
        if expected > f64::from(MAX_MESSAGES) {
            let what = Problem::with_text(
                format!(
                    "about {expected:.0} messages would start in {}, and the most is {MAX_MESSAGES}",
                    self.duration
                ),
                "a shorter one",
            );
            return Err(WorkloadError::key("duration", what));
        }
        let arrivals = self.arrivals(&receivers, mean_gap, of_background as usize, seed)?;
        let mut builder = WorkloadBuilder::with_capacity(arrivals.len());
        for arrival in arrivals {
            let qp = builder.add_qp(HostId(arrival.src), HostId(arrival.dst));
            builder.add_message(qp, arrival.bytes, Start::At(arrival.start));
        }
        if incasts.is_some() || pipeline.is_some() {
            builder.end_group("background");
        }
        if let Some(incasts) = incasts {
            incasts.add(seed, &mut builder)?;
            builder.end_group("incast");
        }
        if let Some(pipeline) = pipeline {
            pipeline.add(seed, &mut builder)?;
            builder.end_group("pipeline");
        }
        builder.build()
    }

    /// The background's arrivals of all hosts, in the order of their start times. `expected` is their approximate
    /// number.
    fn arrivals(
        &self,
        receivers: &Receivers,
        mean_gap: f64,
        expected: usize,
        seed: u64,
    ) -> Result<Vec<Arrival>, WorkloadError> {
        let mut arrivals = Vec::with_capacity(expected);
        for host in 0..self.hosts {
            self.arrivals_of(host, receivers, mean_gap, seed, &mut arrivals);
        }
        if arrivals.is_empty() {
            let gap = mean_gap / 1e6;
            let what = format!(
                "no message starts in {}: a host starts one every {gap:.1} us on average",
                self.duration
            );
            return Err(WorkloadError::key("duration", Problem::with_text(what, "a longer duration")));
        }
        arrivals.sort_by_key(|arrival| (arrival.start, arrival.src));
        Ok(arrivals)
    }

    fn receivers(&self, fabric: &Fabric) -> Result<Receivers, WorkloadError> {
        let Some(inter) = self.inter else { return Ok(Receivers::Uniform { hosts: self.hosts }) };
        if !(0.0..=1.0).contains(&inter) {
            let what =
                Problem::with_value(format!("a share is from 0 to 1 (18 % is 0.18), not {inter}"), "0.18");
            return Err(WorkloadError::key("inter", what));
        }
        if fabric.dcs < 2 {
            let what = Problem::with_text(
                "there is no other data centre to send to",
                "[topology] kind = \"cross-dc\", or a workload without inter",
            );
            return Err(WorkloadError::key("inter", what));
        }
        if self.hosts != fabric.hosts {
            let what = Problem::with_value(
                format!("with inter all hosts take part, so {} of {} are too few", self.hosts, fabric.hosts),
                fabric.hosts,
            );
            return Err(WorkloadError::key("hosts", what));
        }
        let of_dc = fabric.hosts / fabric.dcs;
        if of_dc < 2 && inter < 1.0 {
            let what =
                Problem::with_value("a data centre has one host, which has none to send to there", "1");
            return Err(WorkloadError::key("inter", what));
        }
        Ok(Receivers::ByDc { hosts: self.hosts, of_dc, inter })
    }

    /// Adds the messages that `host` starts. Gaps are rounded down to whole picoseconds.
    fn arrivals_of(
        &self,
        host: u32,
        receivers: &Receivers,
        mean_gap_ps: f64,
        seed: u64,
        into: &mut Vec<Arrival>,
    ) {
        let random = |purpose| stream(seed, u64::from(host), purpose);
        let mut gaps = random(Purpose::WorkloadArrivals);
        let mut others = random(Purpose::WorkloadPairs);
        let mut sizes = random(Purpose::WorkloadSizes);
        let mut start = Time::ZERO;
        loop {
            // 1 - unit is in (0, 1], so the logarithm is finite.
            start += Duration((-libm::log(1.0 - gaps.unit()) * mean_gap_ps) as u64);
            if start.0 >= self.duration.0 {
                return;
            }
            let dst = receivers.draw(host, &mut others);
            into.push(Arrival { start, src: host, dst, bytes: self.sizes.sample(sizes.unit()) });
        }
    }
}

/// The random choice of a receiver, which is never the sender itself.
enum Receivers {
    /// All other hosts have the same probability.
    Uniform { hosts: u32 },
    /// The receiver is in another data centre with probability `inter`, and otherwise in the sender's data centre.
    ByDc { hosts: u32, of_dc: u32, inter: f64 },
}

impl Receivers {
    fn draw(&self, host: u32, random: &mut Stream) -> u32 {
        let after =
            |drawn: u32, first: u32, left_out: u32| if drawn < first { drawn } else { drawn + left_out };
        match *self {
            Receivers::Uniform { hosts } => after(random.below(hosts - 1), host, 1),
            Receivers::ByDc { hosts, of_dc, inter } => {
                let first = host / of_dc * of_dc;
                match random.unit() < inter {
                    true => after(random.below(hosts - of_dc), first, of_dc),
                    false => first + after(random.below(of_dc - 1), host - first, 1),
                }
            }
        }
    }
}

struct Arrival {
    start: Time,
    src: u32,
    dst: u32,
    bytes: u64,
}

#[cfg(test)]
mod tests;
