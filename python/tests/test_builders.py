"""The typed methods that build a scenario: their file is fresh, their words are those of the program, and type checkers reject
others."""

import subprocess
import sys
import typing
from pathlib import Path
from typing import Any

import pytest

import anabranch
from anabranch import builders

PYTHON = Path(__file__).parents[1]

#: Calls without type errors.
GOOD = """
from anabranch import OwnBalancer, Scenario

(
    Scenario("All", schemes=["reps"], seeds=[1])
    .topology("fat-tree", hosts=16, link="100Gbps", tier=[{}, {"link": "200Gbps"}])
    .topology("fat-tree", file="x.topo")
    .workload("permutation", bytes="1MB")
    .workload("poisson", sizes="websearch", load=0.3, duration="1ms", incast={"degree": 8, "bytes": "64KB", "load": 0.1})
    .workload("messages", message=[{"from": 0, "to": 1, "bytes": "1MB"}])
    .workload("collective", algorithm="alltoall", bytes="1MB", placement="spread")
    .workload("trace", format="goal", file="x.goal", server={"ranks": 8, "link": "2.4Tbps", "link_latency": "1us"})
    .workload("jobs", job=[{"format": "msccl", "file": "x.xml", "bytes": "1MB"}, {"format": "goal", "file": "y.goal"}])
    .fault("link-down", links="tor:0/up:0", at=["5us", "60us"], duration="50us")
    .measure("queue-depth", links="tor:0/up")
    .measure("queue-delay", links="tor:0/up", above="8us")
    .measure("sender-rtt", qps="all")
    .scheme("a", "reps", lb={"buffer": 16}, fabric={"queue": "2MB"})
    .scheme("b", base="reps", lb={"kind": "ops", "evs": 16}, qps=2)
    .scheme("c", "reps", parameters={"lb.buffer": 4})
    .scheme("d", "reps", lb=OwnBalancer("sticky", patience=8))
    .scheme("e", "reps", mix={"every": 10, "lb": {"kind": "ops", "evs": 16}})
    .limits(max_time="2s")
    .find(parameter="*.fabric.queue", smallest=["16KB", "1MB"], where="drops(scheme) == 0")
    .settings({"*.fabric.routing_delay": "10us"})
    .sweep("workload.bytes", ["64KB"])
)
"""
#: Calls with a type error in each line.
BAD = """
topology("fat-tre", hosts=16, link="100Gbps")
topology("fat-tree", hostz=16, link="100Gbps")
topology("fat-tree", hosts=16)
topology("fat-tree", hosts="16", link="100Gbps")
topology("fat-tree", hosts=16, link="100Gbps", tiers=4)
topology("dumbbell", hosts=16, link="100Gbps", tiers=2)
workload("permutations", bytes="1MB")
workload("permutation", byts="1MB")
workload("collective", algorithm="allreduce", bytes="1MB")
workload("trace", format="gaol", file="x.goal")
workload("jobs", job=[{"format": "goal", "fil": "x.goal"}])
fault("link-donw", links="all")
fault("link-down", link="all")
measure("queue-depht", links="tor:0/up")
measure("queue-depth", switches="tor:0")
measure("queue-depth", links="tor:0/up", above="8us")
scheme("a", "rep")
scheme("a", "reps", lb={"bufer": 16})
scheme("a", "reps", lb={"kind": "opps", "evs": 16})
scheme("a", "reps", lb={"kind": "ops", "buffer": 16})
scheme("a", "reps", fabric={"queues": "2MB"})
scheme("a", "reps", parameters={"lb.bufer": 16})
limits(max_tim="2s")
find(parameter="*.fabric.queue", smallest=["16KB", "1MB"])
""".strip().splitlines()


def test_the_file_is_fresh() -> None:
    told = subprocess.run([sys.executable, PYTHON / "tools" / "builders.py", "--check"], capture_output=True, text=True)
    assert told.returncode == 0, told.stdout + told.stderr


def test_a_type_checker_takes_what_is_right_and_refuses_every_line_that_is_wrong(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    from mypy import api

    lines = [*GOOD.splitlines(), "scenario = Scenario()", *(f"scenario.{call}" for call in BAD)]
    path = tmp_path / "scenarios.py"
    path.write_text("\n".join(lines) + "\n")
    cache = str(tmp_path / "cache")
    out, err, _ = api.run(["--strict", "--follow-imports=silent", "--cache-dir", cache, str(path)])
    assert not err, err
    refused = {int(line.split(":")[1]) for line in out.splitlines() if ": error: " in line}
    begin = len(lines) - len(BAD) + 1
    assert refused == set(range(begin, len(lines) + 1)), out


def wrong(scenario: dict[str, Any]) -> str:
    """The message of the error that `check` raises for a scenario."""
    with pytest.raises(anabranch.ScenarioError) as error:
        anabranch.check(scenario)
    return str(error.value)


def test_the_words_are_those_of_the_program() -> None:
    fabric = anabranch.Scenario(schemes=["ecmp"], seeds=[1]).topology("rails", servers=4, nics=4, link="100Gbps")
    server = {"link": "400Gbps", "link_latency": "1us"}
    for algorithm in typing.get_args(builders.Algorithm):
        collective = {"kind": "collective", "algorithm": algorithm, "bytes": "1MB", "server": server}
        anabranch.check({**fabric, "workload": collective})
    for placement in typing.get_args(builders.Placement):
        collective = {"kind": "collective", "algorithm": "alltoall", "bytes": "1MB", "ranks": 4, "placement": placement}
        anabranch.check({**fabric, "workload": collective})
    assert set(typing.get_args(builders.Base)) == set(anabranch.schemes())
    traffic = {**fabric, "workload": {"kind": "permutation", "bytes": "64KB"}}
    told = wrong({**traffic, "measure": [{"series": "none", "links": "all"}]})
    for series in ("link-utilisation", "pause-victims", "table-entries", "flow-throughput", "sender-ecn"):
        assert series in told and series in (builders.Builder.measure.__doc__ or "")
    told = wrong({**traffic, "workload": {"kind": "none"}})
    for kind in ("permutation", "ns3-flows", "trace"):
        assert kind in told and kind in (builders.Builder.workload.__doc__ or "")


def test_calls_of_before_there_were_types_build_what_they_built() -> None:
    scenario = anabranch.Scenario("Old").topology("single-switch", hosts=4, link="100Gbps")
    scenario.workload("permutation", bytes="64KB").fault("rate", links="all", rate="50Gbps")
    settings: dict[str, Any] = {"lb.buffer": 4, "lb": {"kind": "own", "paths": 2}}
    scenario.scheme("mine", base="reps", **settings)
    assert scenario["topology"] == {"kind": "single-switch", "hosts": 4, "link": "100Gbps"}
    assert scenario["fault"] == [{"kind": "rate", "links": "all", "rate": "50Gbps"}]
    assert scenario["scheme"] == [{"name": "mine", "base": "reps", "set": settings}]
    assert anabranch.OwnBalancer("sticky", patience=8) == {"kind": "sticky", "patience": 8}
    assert scenario.limits(stall="1ms")["limits"] == {"stall": "1ms"}
