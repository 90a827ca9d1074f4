"""Campaigns on one machine, and with a stand-in for Ray. `test_clusters.py` tests them on real clusters."""

import os
import signal
import subprocess
import sys
import time
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import anabranch
from anabranch import _campaign
from anabranch.campaign import main, slurm_script

PLAN = """
schemes = ["reps", "ecmp"]
seeds = [1, 2]
topology = { kind = "fat-tree", hosts = 16, link = "100Gbps" }
workload = { kind = "permutation", bytes = "64KB" }
[sweep]
"workload.bytes" = ["16KB", "64KB", "256KB"]
"""


def test_a_campaign_is_complete_and_has_the_digests_of_a_run(tmp_path: Path) -> None:
    dataset = anabranch.campaign(PLAN, tmp_path / "out")
    assert (dataset.runs, dataset.missing) == (12, [])
    assert list(dataset.digests.values()) == anabranch.run(PLAN).digests
    flows = dataset.scan("flows").collect()
    assert flows.height == 12 * 16 and set(flows["workload.bytes"]) == {"16KB", "64KB", "256KB"}
    with pytest.raises(ValueError, match="holds another campaign"):
        anabranch.campaign(PLAN.replace("[1, 2]", "[3]"), tmp_path / "out")


def test_shares_make_up_the_whole_and_what_is_there_is_not_run_again(tmp_path: Path) -> None:
    for number in range(5):
        dataset = anabranch.campaign(PLAN, tmp_path / "out", share=(number, 5))
    assert dataset.missing == []
    before = {path: os.stat(path).st_mtime_ns for path in dataset.paths("runs")}
    assert repr(anabranch.campaign(PLAN, tmp_path / "out")).endswith("12 of 12 runs>")
    assert before == {path: os.stat(path).st_mtime_ns for path in dataset.paths("runs")}
    with pytest.raises(ValueError, match="share"):
        anabranch.campaign(PLAN, tmp_path / "out", share=(5, 5))


def test_the_command_and_python_write_and_read_the_same_folder(tmp_path: Path) -> None:
    program = os.environ.get("ANABRANCH")
    if not program:
        pytest.skip("ANABRANCH does not name the command")
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)

    def by_command(*args: str) -> str:
        line = [program, "campaign", str(plan), "--out", str(tmp_path / "out"), *args]
        return subprocess.run(line, capture_output=True, text=True, check=True).stdout

    assert by_command("--share", "0/3").startswith("4 of 12 runs in ")
    dataset = anabranch.campaign(plan, tmp_path / "out", share=(1, 3))
    assert dataset.done == [0, 1, 3, 4, 6, 7, 9, 10]
    assert by_command("--status").startswith("8 of 12 runs in ")
    assert by_command().startswith("12 of 12 runs in ")
    assert list(dataset.digests.values()) == anabranch.run(plan).digests
    drawn = anabranch.campaign(plan, tmp_path / "some", sample=5, sample_seed=3)
    assert len(drawn.done) == 5
    line = [program, "campaign", str(plan), "--out", str(tmp_path / "some"), "--sample", "5", "--sample-seed", "3"]
    assert subprocess.run(line, capture_output=True, text=True, check=True).stdout.startswith("5 of 5 runs in ")
    assert len(drawn.done) == 5, "the same five"


def test_after_a_kill_it_goes_on_where_it_was(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN.replace('"256KB"', '"256KB", "40MB", "41MB"'))
    command = [sys.executable, "-m", "anabranch.campaign", str(plan), "--out", str(tmp_path / "out"), "--threads", "1"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    dataset = anabranch.Dataset(tmp_path / "out", 20)
    while not dataset.done:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = dataset.done
    assert 0 < len(kept) < 20
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("20 of 20 runs in ")
    assert list(dataset.digests.values()) == anabranch.run(plan).digests


def test_runs_that_fail_are_told_and_the_others_are_there(tmp_path: Path) -> None:
    fault = '[[fault]]\nkind = "link-down"\nlinks = "tor:0/up"\nat = "2us"\n'
    sweep = '"fault.0.at" = ["2us", "5ms"]\n'
    with pytest.raises(anabranch.RunFailed, match="(?s)4 of 8 runs failed: .* no path is left"):
        anabranch.campaign(PLAN.partition('"workload')[0] + sweep + fault, tmp_path / "out")
    assert len(list((tmp_path / "out").glob("task=*"))) == 4


def test_the_command_says_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    with pytest.raises(SystemExit):
        main([str(plan), "--out", str(tmp_path / "out"), "--share", "8/8"])
    assert "such as 3/8" in capsys.readouterr().err
    assert main([str(plan), "--out", str(tmp_path / "out"), "--slurm", "8"]) == 0
    script = capsys.readouterr().out
    assert "#SBATCH --array=0-7\n" in script and '--share "$SLURM_ARRAY_TASK_ID/8"' in script
    plan.write_text(PLAN.replace("schemes", "scheems"))
    assert main([str(plan), "--out", str(tmp_path / "out")]) == 1
    assert 'did you mean "schemes"?' in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert "--time=01:00:00" in slurm_script(plan, tmp_path / "out", 2, "--time=01:00:00")
    assert os.access(sys.executable, os.X_OK)


def test_the_module_runs_without_a_word_on_standard_error_and_the_function_stays(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    command = [sys.executable, "-m", "anabranch.campaign", str(plan), "--out", str(tmp_path / "out"), "--sample", "1"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (ended.stdout.partition(" ")[0], ended.stderr) == ("1", "")
    script = """
import sys, anabranch
plan, out = sys.argv[1:]
before = anabranch.campaign
anabranch.campaign(plan, out, sample=2)
import anabranch.campaign as module
print(len(anabranch.campaign(plan, out, sample=3).done), module.slurm_script is not None, callable(before))
"""
    command = [sys.executable, "-c", script, str(plan), str(tmp_path / "two")]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ended.stdout.split()[1:] == ["True", "True"] and ended.stderr == ""


def test_tasks_get_smaller_to_the_end() -> None:
    tasks = _campaign._guided(range(100), 2)
    sizes = [len(task) for task in tasks]
    assert [run for task in tasks for run in task] == list(range(100))
    assert sizes == sorted(sizes, reverse=True) and sizes[0] == _campaign.RUNS_A_TASK and sizes[-4:] == [1, 1, 1, 1]
    assert _campaign._guided([7], 64) == [[7]] and _campaign._guided([], 2) == []


class RayError(Exception):
    """The base class of errors in the stand-in for Ray, `stand_in`."""


class WorkerCrashedError(RayError):
    """The error of a task whose worker ended."""


class RayTaskError(RayError):
    """The error of a task that raised an exception."""


class Sent:
    """A task that was sent to the stand-in for Ray, with its arguments."""

    def __init__(self, task: Any, args: Any) -> None:
        self.task, self.args = task, args


def stand_in(cancelled: list[Any]) -> Any:
    """A module with the functions of Ray that a campaign uses. Tasks run in this process.

    If a task raises `MemoryError`, the campaign gets the error of a worker that ended. Cancelled tasks go to `cancelled`.
    """
    ray: Any = types.ModuleType("ray")
    ray.exceptions = types.SimpleNamespace(
        RayError=RayError, RayTaskError=RayTaskError, TaskCancelledError=type("TaskCancelledError", (RayError,), {})
    )

    def remote(**options: Any) -> Any:
        assert options == {"num_cpus": 1, "max_retries": 0}
        return lambda task: types.SimpleNamespace(remote=lambda *args: Sent(task, args))

    def get(sent: Sent) -> Any:
        try:
            return sent.task(*sent.args)
        except MemoryError as error:
            raise WorkerCrashedError("The worker died unexpectedly.\nMore words.") from error

    ray.remote, ray.get, ray.cancel = remote, get, cancelled.append
    ray.is_initialized = lambda: True
    ray.cluster_resources = lambda: {"CPU": 2.0}
    ray.wait = lambda sent, timeout: (sent[:1], sent[1:])
    return ray


def test_a_run_that_ends_its_worker_each_time_is_given_up_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cancelled: list[Any] = []
    monkeypatch.setitem(sys.modules, "ray", stand_in(cancelled))
    crashes: list[int] = []

    def on_a_worker(source: Any, out: Any, numbers: Sequence[int], threads: int) -> Any:
        for number in numbers:
            if number == 1:
                crashes.append(number)
                raise MemoryError
            _campaign._task(source, out, [number], threads)
        return [], 100

    job = anabranch._read(PLAN, (), (), None)
    dataset = anabranch.Dataset(tmp_path / "out", job.actual())
    dataset._place.claim(job)
    told: list[tuple[int, int, int]] = []

    def progress(done: int, runs: int, hops: int) -> None:
        told.append((done, runs, hops))

    source = anabranch._text(PLAN)
    failed = _campaign._on_ray("auto", source, dataset, range(12), job.name, progress=progress, task=on_a_worker)
    assert [name for name, _ in failed] == [job.name(1)] and "The worker died unexpectedly." in str(failed[0][1])
    assert dataset.missing == [1] and 1 < len(crashes) < 10
    assert told[-1][:2] == (12, 12) and [done for done, _, _ in told] == sorted(done for done, _, _ in told)
    assert cancelled == []

    def interrupted(done: int, runs: int, hops: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _campaign._on_ray("auto", source, dataset, range(12), job.name, progress=interrupted, task=on_a_worker)
    assert len(cancelled) > 3, "what was under way is cancelled"


def test_failures_are_named() -> None:
    failed: list[_campaign.Failure] = [(f"reps, seed {seed}", "it stalled") for seed in range(1, 14)]
    text = _campaign._told(failed, 20)
    assert text.startswith("13 of 20 runs failed: reps, seed 1: it stalled\nand: reps, seed 2; ") and text.endswith(" and 2 more")
