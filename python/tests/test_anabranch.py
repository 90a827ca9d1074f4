"""The public functions of the package. The command at the path in `ANABRANCH` must print the same digests and sentences."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import anabranch

SMALL: dict[str, Any] = {
    "title": "Small",
    "schemes": ["reps", "ecmp"],
    "seeds": [1, 2],
    "topology": {"kind": "fat-tree", "hosts": 16, "link": "100Gbps"},
    "workload": {"kind": "permutation", "bytes": "256KB"},
}
#: A scenario whose run takes minutes, so that a test can interrupt it.
LONG = {**SMALL, "schemes": ["reps"], "seeds": [1], "workload": {"kind": "permutation", "bytes": "8GB"}}
TEXT = """
title = "Small"
schemes = ["reps", "ecmp"]
seeds = [1, 2]
topology = { kind = "fat-tree", hosts = 16, link = "100Gbps" }
workload = { kind = "permutation", bytes = "256KB" }
"""


def command(*args: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    program = os.environ.get("ANABRANCH")
    if not program:
        pytest.skip("ANABRANCH does not name the command")
    return subprocess.run([program, *args], cwd=cwd, capture_output=True, text=True, check=False)


def test_digests_and_verdict_are_those_of_the_command(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(TEXT)
    told = json.loads(command("run", "small.toml", "--json", cwd=tmp_path).stdout)
    by_command = [run["digest"] for run in told["runs"]]
    for source in (SMALL, TEXT, tmp_path / "small.toml"):
        result = anabranch.run(source)
        assert result.digests == by_command
    printed = command("run", "small.toml", cwd=tmp_path).stdout
    assert all(sentence in " ".join(printed.split()) for sentence in result.verdict)


def test_what_is_saved_loads_and_runs_again_with_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sizes").mkdir()
    (tmp_path / "sizes" / "small.txt").write_text("1000 0\n64000 50\n256000 100\n")
    monkeypatch.chdir(tmp_path)
    workload = {"kind": "poisson", "sizes": "sizes/small.txt", "load": 0.3, "duration": "20us"}
    first = anabranch.run({**SMALL, "workload": workload})
    folder = first.save(tmp_path / "kept" / "x=1")
    monkeypatch.chdir(tmp_path.parent)
    assert anabranch.run(folder / "scenario.toml").digests == first.digests
    assert anabranch.run(str(folder / "scenario.toml")).digests == first.digests, "a path may have an equals sign"
    again = anabranch.load(folder)
    assert (again.digests, again.title, len(again.flows)) == (first.digests, first.title, len(first.flows))
    assert again.verdict == first.verdict
    anew = again.save(tmp_path / "anew")
    assert (anew / "inputs" / "small.txt").read_text() == (tmp_path / "sizes" / "small.txt").read_text()
    told = command("report", str(folder), cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    with pytest.raises(FileNotFoundError, match="no scenario 'none=1.toml'"):
        anabranch.run("none=1.toml")


def test_what_comes_with_the_package_is_listed() -> None:
    assert "strack" in anabranch.schemes() and anabranch.schemes()["ecmp"]
    assert "common" in anabranch.setups()


def test_a_lone_run_has_all_threads_and_the_same_digest() -> None:
    large = {**SMALL, "schemes": ["reps"], "seeds": [1]}
    large["topology"] = {"kind": "fat-tree", "hosts": 128, "link": "100Gbps"}
    assert anabranch.run(large, threads=4).digests == anabranch.run(large, threads=1).digests


def test_tables_go_into_polars_pandas_arrow_and_duckdb() -> None:
    result = anabranch.run(SMALL)
    import duckdb
    import polars
    import pyarrow

    assert polars.DataFrame(result.flows).height == len(result.flows) == 64
    runs = result.runs.to_pandas()
    assert list(runs["scheme"]) == ["reps", "reps", "ecmp", "ecmp"]
    assert list(runs["digest"]) == result.digests
    flows = pyarrow.table(result.flows)
    assert flows.num_rows == 64 and flows["fct_ps"].null_count == 0
    found = duckdb.sql("SELECT scheme, count(*), max(path_changes) FROM flows GROUP BY ALL ORDER BY ALL")
    assert found is not None
    rows = found.fetchall()
    assert rows[0] == ("ecmp", 32, 0) and rows[1][2] > 0
    for table in (result.jobs, result.parts, result.series, result.faults):
        assert len(table) == 0 and "scheme" in table.names


def test_errors_have_their_place_and_their_cure(tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(TEXT.replace("schemes", "scheems"))
    with pytest.raises(anabranch.ScenarioError) as error:
        anabranch.run(path)
    assert (error.value.line, error.value.file) == (3, str(path))
    assert error.value.help == 'schemes (did you mean "schemes"?)'
    assert command("check", str(path), cwd=tmp_path).stderr.strip().endswith(str(error.value))
    with pytest.raises(anabranch.ScenarioError, match=r"no \[topology\]"):
        anabranch.check({"schemes": ["reps"]})
    with pytest.raises(anabranch.ScenarioError, match="<dict>: unknown key") as of_dict:
        anabranch.check({"scheems": ["reps"]})
    assert of_dict.value.line is None
    with pytest.raises(TypeError, match=r"write \['reps'\]"):
        anabranch.run(SMALL, schemes="reps")
    with pytest.raises(FileNotFoundError):
        anabranch.run("nowhere.toml")
    with pytest.raises(ValueError, match="None"):
        anabranch.run({**SMALL, "setup": None})


def test_what_is_wrong_in_a_file_is_told_of_the_file_as_people_have_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "a.xml").write_text(
        '<algo name="a" nchunksperloop="1" coll="allgather" proto="Simple" ngpus="2" inplace="0">\n'
        '<gpu id="0" i_chunks="1" o_chunks="2" s_chunks="0">\n<tb id="0" send="1" recv="-1" chan="0">\n'
        '<step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="-1" depid="-1" deps="-1" hasdep="0"/>\n'
        '</tb></gpu>\n<gpu id="1" i_chunks="1" o_chunks="2" s_chunks="0"></gpu>\n</algo>\n'
    )
    monkeypatch.chdir(tmp_path)
    scenario = {**SMALL, "workload": {"kind": "trace", "format": "msccl", "file": "traces/a.xml", "bytes": "1MB"}}
    plan = tmp_path / "plan.toml"
    plan.write_text(
        TEXT.replace(
            '{ kind = "permutation", bytes = "256KB" }',
            '{ kind = "trace", format = "msccl", file = "traces/a.xml", bytes = "1MB" }',
        )
    )
    for source in (scenario, plan):
        with pytest.raises(anabranch.ScenarioError, match="cnt must not be negative") as error:
            anabranch.run(source)
        assert (error.value.file, error.value.line) == ("traces/a.xml", 4)
        with pytest.raises(anabranch.ScenarioError, match="^traces/a.xml:4: "):
            anabranch.campaign(source, tmp_path / "out")
    told = command("check", "plan.toml", cwd=tmp_path).stderr
    assert told.strip().endswith(str(error.value))


def test_a_run_that_fails_says_why_and_keeps_the_others() -> None:
    stuck = {**SMALL, "fault": [{"kind": "link-down", "links": "tor:0/up", "at": "2us"}], "seeds": [1]}
    with pytest.raises(anabranch.RunFailed, match="no path is left") as error:
        anabranch.run(stuck)
    assert error.value.result is not None and error.value.result.missing
    assert anabranch.run(stuck, allow_missing=True).missing == error.value.result.missing


def test_a_sweep_gives_each_result_as_it_ends() -> None:
    scenario = (
        anabranch.Scenario("Sizes", schemes=["reps"], seeds=[1, 2])
        .topology("fat-tree", hosts=16, link="100Gbps")
        .workload("permutation", bytes="64KB")
        .sweep("workload.bytes", ["64KB", "128KB", "256KB"])
    )
    under_way = anabranch.sweep(scenario, threads=2)
    digests = [result.digests[0] for result in under_way]
    assert len(under_way) == len(digests) == 6
    whole = under_way.result()
    assert sorted(digests) == sorted(whole.digests) and whole.digests == anabranch.run(scenario).digests


def test_the_lock_is_free_while_runs_go_on() -> None:
    under_way = anabranch.sweep(LONG)
    other = anabranch.sweep({**LONG, "schemes": ["ecmp"]})
    begin, turns = time.monotonic(), 0
    while time.monotonic() - begin < 0.5:
        turns += 1
    assert turns > 10_000
    hops = [sweep._job.progress()[0] for sweep in (under_way, other)]
    assert all(count > 0 for count in hops), hops
    results: list[anabranch.Result] = []
    threads = [threading.Thread(target=lambda: results.append(anabranch.run(SMALL))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results[0].digests == results[1].digests
    under_way.cancel()
    other.cancel()


def test_ctrl_c_ends_a_run_at_once_and_keeps_what_is_finished(tmp_path: Path) -> None:
    script = textwrap.dedent(f"""
        import anabranch, time
        scenario = {LONG!r}
        scenario["sweep"] = {{"workload.bytes": ["64KB", "8GB"]}}
        print("begun", flush=True)
        try:
            anabranch.run(scenario, threads=1)
        except KeyboardInterrupt as stop:
            print(len(stop.result.digests), len(stop.result.missing), flush=True)
    """)
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout and process.stdout.readline() == "begun\n"
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    begin = time.monotonic()
    assert process.stdout.readline() == "1 1\n"
    assert time.monotonic() - begin < 1
    assert process.wait(10) == 0


def test_results_are_saved_as_the_command_saves_them(tmp_path: Path) -> None:
    result = anabranch.run(SMALL)
    folder = result.save(tmp_path / "out" / "small")
    assert {"runs.parquet", "flows.parquet", "scenario.toml", "report.html", "manifest.json"} <= set(os.listdir(folder))
    assert os.listdir(folder.parent) == ["small"]
    with pytest.raises(FileExistsError):
        result.save(folder)
    assert "Small" in command("report", str(folder), cwd=tmp_path).stdout
    page = result._repr_html_()
    assert page.startswith("<iframe") and "anabranch 0.1.0 in Python" in page and "seeds 1, 2" in page
    assert "reps" in str(result) and "4 runs" in repr(result)


class Sticky:
    """Keeps the entropy value until `patience` of its ACKs came back marked, or until a timeout."""

    parameters = {"patience": 1}

    def __init__(self, patience: float, seed: int) -> None:
        self.patience, self.marks, self.ev = patience, 0, seed & 0xFFFF

    def next_ev(self, now_us: float, window_bytes: int) -> int:
        return self.ev

    def handle_ack(self, now_us: float, ev: int, marked: bool, rtt_us: float) -> None:
        self.marks += marked and ev == self.ev
        if self.marks >= self.patience:
            self.handle_timeout(now_us)

    def handle_timeout(self, now_us: float) -> None:
        self.ev, self.marks = (self.ev * 31 + 7) & 0xFFFF, 0


def test_a_balancer_of_ones_own_runs_and_its_exception_is_an_error() -> None:
    scenario = {**SMALL, "schemes": ["ecmp"], "seeds": [1]}
    scenario["scheme"] = [{"name": "sticky", "base": "reps", "set": {"lb": {"kind": "sticky", "patience": 4}}}]
    result = anabranch.run(scenario, balancers={"sticky": Sticky})
    assert list(result.runs.to_polars()["scheme"]) == ["ecmp", "sticky"]
    again = anabranch.run(scenario, balancers={"sticky": Sticky}, threads=1)
    assert result.digests == again.digests

    class Broken(Sticky):
        def next_ev(self, now_us: float, window_bytes: int) -> int:
            raise ArithmeticError("no path today")

    with pytest.raises(anabranch.RunFailed, match="no path today"):
        anabranch.run(scenario, balancers={"sticky": Broken})


def test_progress_is_told() -> None:
    told: list[tuple[int, int, int]] = []
    anabranch.run(SMALL, progress=lambda done, runs, hops: told.append((done, runs, hops)))
    assert told[-1][:2] == (4, 4) and told[-1][2] > 0
    checked = anabranch.check(SMALL)
    assert checked.runs == ["reps, seed 1", "reps, seed 2", "ecmp, seed 1", "ecmp, seed 2"]
    assert "queue" in checked.resolved and checked.warnings == []


def test_a_sweep_tells_its_progress() -> None:
    told: list[tuple[int, int, int]] = []
    under_way = anabranch.sweep(SMALL, progress=lambda done, runs, hops: told.append((done, runs, hops)))
    next(iter(under_way))
    under_way.result()
    assert told[-1][:2] == (4, 4) and told[-1][2] > 0
    assert [done for done, _, _ in told] == sorted(done for done, _, _ in told)


def test_a_notebook_shows_the_first_rows_of_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    result = anabranch.run(SMALL)
    shown = result.flows._repr_html_()
    assert shown.count("<tr>") == 11 and "64 rows, the first 10 shown" in shown and "<th>fct_ps</th>" in shown
    shown = result.runs._repr_html_()
    assert "<td>ecmp</td>" in shown and "<p>4 rows</p>" in shown
    monkeypatch.setitem(sys.modules, "polars", None)
    assert result.runs._repr_html_() == shown, "PyArrow gives the same"
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install polars" in result.runs._repr_html_()
