//! A run as a timeline for the Perfetto UI: jobs, faults, the activities of hosts (sending, computing), and curves as
//! counters.
//!
//! This module declares the protobuf messages of Perfetto's trace format that a timeline needs. Timestamps are whole
//! nanoseconds.

use anabranch_base::{Duration, HostId, Time};
use anabranch_sim::scenario::{FaultSpec, RunPoint};
use anabranch_sim::{Activity, RunResult, Span};
use prost::Message;
use std::collections::BTreeMap;

/// A trace, which consists of trace packets in any order.
#[derive(Clone, PartialEq, Message)]
struct Trace {
    #[prost(message, repeated, tag = "1")]
    packet: Vec<TracePacket>,
}

#[derive(Clone, PartialEq, Message)]
struct TracePacket {
    #[prost(uint64, optional, tag = "8")]
    timestamp: Option<u64>,
    #[prost(uint32, tag = "10")]
    trusted_packet_sequence_id: u32,
    #[prost(message, optional, tag = "11")]
    track_event: Option<TrackEvent>,
    #[prost(message, optional, tag = "60")]
    track_descriptor: Option<TrackDescriptor>,
}

#[derive(Clone, PartialEq, Message)]
struct TrackDescriptor {
    #[prost(uint64, tag = "1")]
    uuid: u64,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(message, optional, tag = "3")]
    process: Option<ProcessDescriptor>,
    #[prost(uint64, optional, tag = "5")]
    parent_uuid: Option<u64>,
    #[prost(message, optional, tag = "8")]
    counter: Option<CounterDescriptor>,
}

#[derive(Clone, PartialEq, Message)]
struct ProcessDescriptor {
    #[prost(int32, tag = "1")]
    pid: i32,
    #[prost(string, tag = "6")]
    process_name: String,
}

#[derive(Clone, PartialEq, Message)]
struct CounterDescriptor {}

#[derive(Clone, PartialEq, Message)]
struct TrackEvent {
    #[prost(message, repeated, tag = "4")]
    debug_annotations: Vec<DebugAnnotation>,
    /// The kind of event: 1 if a slice begins, 2 if it ends, 4 if a counter has a value.
    #[prost(int32, tag = "9")]
    kind: i32,
    #[prost(uint64, tag = "11")]
    track_uuid: u64,
    #[prost(string, optional, tag = "23")]
    name: Option<String>,
    #[prost(double, optional, tag = "44")]
    double_counter_value: Option<f64>,
}

#[derive(Clone, PartialEq, Message)]
struct DebugAnnotation {
    #[prost(uint64, optional, tag = "3")]
    uint_value: Option<u64>,
    #[prost(string, optional, tag = "6")]
    string_value: Option<String>,
    #[prost(string, tag = "10")]
    name: String,
}

const BEGIN: i32 = 1;
const END: i32 = 2;
const COUNTER: i32 = 4;
/// The sequence number. All trace packets belong to one sequence.
const SEQUENCE: u32 = 1;

/// The timeline of a run, as the content of a Perfetto file.
pub fn perfetto(point: &RunPoint, result: &RunResult) -> Vec<u8> {
    let end = Time((result.run.sim_time_us * 1e6) as u64);
    let mut writer = Writer { trace: Trace::default(), tracks: 0, end };
    writer.add_jobs(result);
    writer.add_faults(&point.faults);
    writer.add_hosts(&result.spans);
    writer.add_curves(result);
    writer.trace.encode_to_vec()
}

struct Writer {
    trace: Trace,
    tracks: u64,
    end: Time,
}

impl Writer {
    fn track(&mut self, name: &str, parent: Option<u64>, is_counter: bool) -> u64 {
        self.tracks += 1;
        // A track without a parent is declared as a process, so that the UI groups the tracks below it.
        let process = parent
            .is_none()
            .then(|| ProcessDescriptor { pid: self.tracks as i32, process_name: name.to_owned() });
        self.trace.packet.push(TracePacket {
            trusted_packet_sequence_id: SEQUENCE,
            track_descriptor: Some(TrackDescriptor {
                uuid: self.tracks,
                name: name.to_owned(),
                process,
                parent_uuid: parent,
                counter: is_counter.then_some(CounterDescriptor {}),
            }),
            ..TracePacket::default()
        });
        self.tracks
    }

    fn event(&mut self, at: Time, event: TrackEvent) {
        self.trace.packet.push(TracePacket {
            timestamp: Some(at.0 / 1_000),
            trusted_packet_sequence_id: SEQUENCE,
            track_event: Some(event),
            ..TracePacket::default()
        });
    }

    fn slice(&mut self, track: u64, from: Time, until: Time, name: String, notes: Vec<DebugAnnotation>) {
        let begin = TrackEvent {
            kind: BEGIN,
            track_uuid: track,
            name: Some(name),
            debug_annotations: notes,
            ..TrackEvent::default()
        };
        self.event(from, begin);
        self.event(until, TrackEvent { kind: END, track_uuid: track, ..TrackEvent::default() });
    }

    fn add_jobs(&mut self, result: &RunResult) {
        if result.jobs.is_empty() {
            return;
        }
        let process = self.track("jobs", None, false);
        for job in &result.jobs {
            let track = self.track(&format!("job {}", job.job), Some(process), false);
            let from = Time(job.start_ps);
            let until = job.cct_ps.map_or(self.end, |cct| from + Duration(cct));
            let notes = vec![number("ranks", job.ranks.into()), number("bytes", job.bytes)];
            self.slice(track, from, until, job.algorithm.clone(), notes);
        }
    }

    fn add_faults(&mut self, faults: &[FaultSpec]) {
        if faults.is_empty() {
            return;
        }
        let process = self.track("faults", None, false);
        for (place, fault) in faults.iter().enumerate() {
            let track = self.track(&format!("fault {place}"), Some(process), false);
            for at in &fault.at.0 {
                let from = Time::ZERO + *at;
                // A fault with random failures may be in effect at any time after `from`.
                let until = fault.duration.filter(|_| fault.per_hour.is_none());
                let until = until.map_or(self.end, |duration| (from + duration).min(self.end));
                if from < self.end {
                    let on = text("on", fault.kind.names().0.to_string());
                    self.slice(track, from, until.max(from), fault.kind.word().to_owned(), vec![on]);
                }
            }
        }
    }

    /// Adds a process for each host that has spans. Overlapping spans are put on separate lanes.
    fn add_hosts(&mut self, spans: &[Span]) {
        let mut by_host: BTreeMap<HostId, Vec<&Span>> = BTreeMap::new();
        spans.iter().for_each(|span| by_host.entry(span.host).or_default().push(span));
        for (host, mut spans) in by_host {
            let process = self.track(&format!("host {host}"), None, false);
            spans.sort_by_key(|span| span.from);
            // The lanes of each kind of activity. A lane consists of its track and the time from which it is free.
            let mut lanes: BTreeMap<String, Vec<(u64, Time)>> = BTreeMap::new();
            for span in spans {
                let until = span.until.unwrap_or(self.end).max(span.from);
                let (kind, name, notes) = described(span);
                let free =
                    lanes.get(&kind).and_then(|lanes| lanes.iter().position(|(_, free)| *free <= span.from));
                let lane = free.unwrap_or_else(|| {
                    let count = lanes.get(&kind).map_or(0, Vec::len);
                    let called = if count == 0 { kind.clone() } else { format!("{kind} ({})", count + 1) };
                    let track = self.track(&called, Some(process), false);
                    lanes.entry(kind.clone()).or_default().push((track, Time::ZERO));
                    count
                });
                let Some((track, free)) = lanes.get_mut(&kind).and_then(|lanes| lanes.get_mut(lane)) else {
                    continue;
                };
                *free = until;
                let track = *track;
                self.slice(track, span.from, until, name, notes);
            }
        }
    }

    fn add_curves(&mut self, result: &RunResult) {
        let mut tracks: BTreeMap<(&str, &str), u64> = BTreeMap::new();
        let mut process = None;
        for row in &result.series {
            let key = (row.series.as_str(), row.entity.as_str());
            let track = match tracks.get(&key) {
                Some(track) => *track,
                None => {
                    let process = *process.get_or_insert_with(|| self.track("curves", None, false));
                    let track = self.track(format!("{} {}", key.0, key.1).trim(), Some(process), true);
                    tracks.insert(key, track);
                    track
                }
            };
            let value = TrackEvent {
                kind: COUNTER,
                track_uuid: track,
                double_counter_value: Some(row.value),
                ..TrackEvent::default()
            };
            self.event(Time(row.time_ps), value);
        }
    }
}

/// The kind of a span's track, the span's name, and the span's annotations.
fn described(span: &Span) -> (String, String, Vec<DebugAnnotation>) {
    match span.activity {
        Activity::Sends { message, to, bytes, delivered } => {
            let mut notes = vec![number("message", message.into()), number("bytes", bytes)];
            notes.push(number("to", to.0.into()));
            match delivered {
                Some(at) => notes.push(number("delivered after (ps)", at.since(span.from).0)),
                None => notes.push(text("delivered", "never".to_owned())),
            }
            if span.until.is_none() {
                notes.push(text("acknowledged", "never".to_owned()));
            }
            ("sends".to_owned(), format!("to {to}: {bytes} B"), notes)
        }
        Activity::SendsWithin => ("sends within its server".to_owned(), "sends".to_owned(), Vec::new()),
        Activity::Computes { processor } => {
            let kind = processor
                .map_or("computes".to_owned(), |processor| format!("computes, processor {processor}"));
            (kind, "computes".to_owned(), Vec::new())
        }
    }
}

fn number(name: &str, value: u64) -> DebugAnnotation {
    DebugAnnotation { name: name.to_owned(), uint_value: Some(value), string_value: None }
}

fn text(name: &str, value: String) -> DebugAnnotation {
    DebugAnnotation { name: name.to_owned(), uint_value: None, string_value: Some(value) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_sim::scenario::{NoFiles, Overrides, read};
    use anabranch_sim::{Control, run};

    const SCENARIO: &str = r#"
schemes = ["reps"]
seeds = [1]
topology = { kind = "fat-tree", hosts = 16, hosts_per_tor = 4, link = "100Gbps" }
[workload]
kind = "messages"
message = [
    { from = 0, to = 5, bytes = "1MB" },
    { from = 0, to = 6, bytes = "1MB" },
    { from = 0, to = 7, bytes = "1KB", start = "900us" },
    { from = 3, to = 9, bytes = "10KB" },
]
[[fault]]
kind = "rate"
links = "host:3"
rate = "50Gbps"
at = ["1us", "5us"]
duration = "2us"
[[measure]]
series = "queue-depth"
links = "tor:1/down:1"
"#;

    /// The names of a process, a track and a slice, and the start and the end of the slice in ns.
    type Slice = (String, String, String, u64, u64);

    /// The slices in a timeline, and the number of its counter values.
    fn read_back(bytes: &[u8]) -> (Vec<Slice>, usize) {
        let trace = Trace::decode(bytes).unwrap();
        let mut tracks: BTreeMap<u64, (String, Option<u64>)> = BTreeMap::new();
        let mut open: BTreeMap<u64, (String, u64)> = BTreeMap::new();
        let (mut slices, mut counters) = (Vec::new(), 0);
        for packet in trace.packet {
            assert_eq!(packet.trusted_packet_sequence_id, SEQUENCE);
            if let Some(track) = packet.track_descriptor {
                assert!(tracks.insert(track.uuid, (track.name, track.parent_uuid)).is_none());
            }
            let Some(event) = packet.track_event else { continue };
            let (track, parent) = tracks[&event.track_uuid].clone();
            let at = packet.timestamp.unwrap();
            match event.kind {
                BEGIN => assert!(
                    open.insert(event.track_uuid, (event.name.unwrap(), at)).is_none(),
                    "they overlap"
                ),
                END => {
                    let (name, from) = open.remove(&event.track_uuid).unwrap();
                    slices.push((tracks[&parent.unwrap()].0.clone(), track, name, from, at));
                }
                COUNTER => counters += 1,
                other => panic!("{other}"),
            }
        }
        assert!(open.is_empty());
        (slices, counters)
    }

    #[test]
    fn messages_faults_and_curves_are_there_and_nothing_overlaps_on_a_track() {
        let scenario =
            read("s.toml", SCENARIO, &NoFiles, &Overrides::default()).unwrap_or_else(|e| panic!("{e}"));
        let point = &scenario.points().unwrap()[0];
        let control = Control { spans: true, ..Control::default() };
        let result = run(point, &control).unwrap();
        assert_eq!(result.run.digest, run(point, &Control::default()).unwrap().run.digest);
        let (slices, counters) = read_back(&perfetto(point, &result));
        assert!(counters > 0);
        let of = |process: &str| -> Vec<(&str, &str, u64)> {
            let its = slices.iter().filter(|slice| slice.0 == process);
            its.map(|slice| (slice.1.as_str(), slice.2.as_str(), slice.3)).collect()
        };
        // Two simultaneous messages are on two lanes. The third message is later and uses the first lane again.
        assert_eq!(
            of("host 0"),
            [
                ("sends", "to 5: 1000000 B", 0),
                ("sends (2)", "to 6: 1000000 B", 0),
                ("sends", "to 7: 1000 B", 900_000)
            ]
        );
        assert_eq!(of("faults"), [("fault 0", "rate", 1_000), ("fault 0", "rate", 5_000)]);
        let lasts = slices.iter().find(|slice| slice.2 == "to 9: 10000 B").unwrap();
        assert_eq!(lasts.4, result.flows[3].fct_ps.unwrap() / 1_000);
    }
}
