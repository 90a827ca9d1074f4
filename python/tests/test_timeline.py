"""Reads the timeline of `anabranch trace` with the definitions of Perfetto. `ANABRANCH` is the path of the command."""

import os
import subprocess
from pathlib import Path

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

SCENARIO = """
schemes = ["reps"]
seeds = [1]
topology = { kind = "fat-tree", hosts = 16, tiers = 2, link = "400Gbps" }
workload = { kind = "collective", algorithm = "allreduce-ring", bytes = "256KiB" }
fault = [{ kind = "link-down", links = "tor:0/up:0", at = "2us", duration = "9us" }]
measure = [{ series = "queue-depth", every = "1us", links = "tor:0/up:0" }]
"""


def test_perfetto_reads_what_is_written(tmp_path: Path) -> None:
    program = os.environ.get("ANABRANCH")
    if program is None:
        pytest.skip("ANABRANCH does not name the command")
    (tmp_path / "s.toml").write_text(SCENARIO)
    subprocess.run([program, "trace", "s.toml", "--out", "s.perfetto-trace"], cwd=tmp_path, check=True)
    trace = Trace()
    trace.ParseFromString((tmp_path / "s.perfetto-trace").read_bytes())
    described = [packet.track_descriptor for packet in trace.packet if packet.HasField("track_descriptor")]
    tracks = {track.uuid: track for track in described}
    events = [(packet.timestamp, packet.track_event) for packet in trace.packet if packet.HasField("track_event")]
    assert len(tracks) + len(events) == len(trace.packet), "nothing that Perfetto does not know"

    begun: dict[int, list[tuple[int, str]]] = {}
    slices: list[tuple[str, str, int, int]] = []
    curves: dict[str, int] = {}
    for at, event in events:
        track = tracks[event.track_uuid]
        parent = tracks[track.parent_uuid].name if track.parent_uuid else ""
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            assert not begun.get(event.track_uuid), "what overlaps has lanes of its own"
            begun.setdefault(event.track_uuid, []).append((at, event.name))
        elif event.type == TrackEvent.TYPE_SLICE_END:
            since, name = begun[event.track_uuid].pop()
            assert since <= at
            slices.append((parent, name, since, at))
        else:
            assert event.type == TrackEvent.TYPE_COUNTER
            curves[track.name] = curves.get(track.name, 0) + 1
    assert not any(begun.values()), "what begins ends"
    assert [one for one in slices if one[0] == "faults"] == [("faults", "link-down", 2_000, 11_000)]
    # A ring AllReduce has 2 (16 - 1) = 30 steps. In each step, each of the 16 ranks sends a chunk to the next host.
    assert sum(parent.startswith("host ") and name.startswith("to ") for parent, name, *_ in slices) >= 16 * 30
    assert [name for name in curves if "queue_depth_bytes" in name]
