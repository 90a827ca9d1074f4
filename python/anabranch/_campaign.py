"""Campaigns: the runs of one scenario, with all its sweeps, on one machine, on Ray, or as an array of Slurm.

Each run is written into a folder of its own, whole or not at all. What is there is not run again, so that a campaign that was
killed, on whichever machine, goes on where it was. A run's digest is the same wherever it ran.
"""

from __future__ import annotations

import argparse
import importlib
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Union

import anabranch

from . import _anabranch
from ._places import Folder, Place, place

__all__ = ["Dataset", "campaign", "slurm_script"]

#: Most runs of a task of Ray: with fewer, short runs would cost more than they take.
RUNS_A_TASK = 10
#: How often a task of Ray whose worker ends is sent again without a run done in between.
ATTEMPTS = 5
#: A run that failed, by name, with why.
Failure = tuple[str, Union[str, None]]


class Dataset:
    """The results of a campaign in a folder or in object storage: a folder per run, `task=000017`, with the Parquet files of
    the command."""

    def __init__(self, folder: str | os.PathLike[str], runs: int) -> None:
        self._place = place(folder)
        #: Where it is: a folder, or the URL of object storage.
        self.folder = self._place.folder if isinstance(self._place, Folder) else os.fspath(folder)
        #: How many runs there are to be.
        self.runs = runs

    @property
    def done(self) -> list[int]:
        """The runs that are there, by number."""
        return self._place.done()

    @property
    def missing(self) -> list[int]:
        """The runs that are not."""
        return sorted(set(range(self.runs)) - set(self.done))

    def paths(self, table: str) -> list[Path | str]:
        """The files of a table: runs, flows, jobs, parts, series or faults."""
        return [self._place.file(number, f"{table}.parquet") for number in self.done]

    def scan(self, table: str) -> Any:
        """A table of all runs as a Polars lazy frame, with the number of the run as `task`."""
        import polars

        return polars.scan_parquet(
            [str(path) for path in self.paths(table)], hive_partitioning=True, missing_columns="insert"
        )

    @property
    def digests(self) -> dict[int, str]:
        """The digest of each run, by number."""
        frame = self.scan("runs").select("task", "digest").collect()
        return {int(task): digest for task, digest in frame.iter_rows()}

    def __repr__(self) -> str:
        return f"<anabranch.Dataset {str(self.folder)!r}: {len(self.done)} of {self.runs} runs>"


def campaign(
    plan: anabranch.Source,
    out: str | os.PathLike[str],
    *,
    threads: int = 0,
    share: tuple[int, int] = (0, 1),
    sample: int | None = None,
    sample_seed: int = 1,
    ray: str | None = None,
    progress: bool | anabranch.Progress = False,
) -> Dataset:
    """Carries out every run of a scenario (schemes x points of its sweep x seeds) that is not in the folder `out` yet.

    `sample` takes so many of the runs, drawn under `sample_seed`; `missing` of what is given counts all of them still.

    `share` is which part of how many this call does: `(3, 8)` the fourth of eight, as a task of a Slurm array does. `ray` is
    the address of a Ray cluster (`"auto"`, or `"local"` to start one); its machines must see `out` under the same path, and
    have this package; `threads` are then the cores of a task (0: one). A task whose machine dies is done again elsewhere; a run
    whose worker ends each time, as one without the memory for it, is given up and named. Ctrl-C ends the tasks.

    `out` may be object storage, such as `"s3://bucket/name"` (`pip install obstore`; keys and addresses come from the
    environment, `AWS_ACCESS_KEY_ID` and the like, on every machine).

    Raises `ScenarioError`, `ValueError` where `out` holds another campaign, and `RunFailed` where runs failed; the others
    are there, and a later call tries those again.
    """
    number, of = share
    if not 0 <= number < of:
        raise ValueError(f"share is (number, of) with a number from 0 to of - 1, not {share}")
    job = anabranch._read(plan, (), (), None)
    dataset = Dataset(out, job.actual())
    dataset._place.claim(job)
    text, shown, folder = anabranch._text(plan)
    asked = set(range(job.actual()) if sample is None else _anabranch.sample(job.actual(), sample, sample_seed))
    numbers = [run for run in dataset.missing if run in asked and run % of == number]
    if ray is None:
        failed = _here(job, dataset._place, numbers, threads, progress)
    else:
        failed = _on_ray(ray, (text, shown, folder), dataset, numbers, job.name, threads=threads, progress=progress)
    if failed:
        raise anabranch.RunFailed(_told(failed, dataset.runs), None)
    return dataset


def _told(failed: Sequence[Failure], runs: int) -> str:
    """The message for failed runs: the first with its error, and the names of up to ten others."""
    (name, why), *others = failed
    text = f"{len(failed)} of {runs} runs failed: {name}: {why}"
    if others:
        more = f" and {len(others) - 10} more" if len(others) > 10 else ""
        text += f"\nand: {'; '.join(name for name, _ in others[:10])}{more}"
    return text


def slurm_script(plan: str | os.PathLike[str], out: str | os.PathLike[str], shares: int, *options: str) -> str:
    """A job script for `sbatch`: an array of so many tasks, each of which does its share of a campaign.

    `options` are for Slurm, such as `"--time=02:00:00"`.
    """
    if shares < 1:
        raise ValueError(f"an array has a task at least, not {shares}")
    lines = ["#!/bin/bash", "#SBATCH --job-name=anabranch", f"#SBATCH --array=0-{shares - 1}", "#SBATCH --ntasks=1"]
    lines += [f"#SBATCH {option}" for option in options]
    words = [sys.executable, "-m", "anabranch.campaign", str(Path(plan).resolve()), "--out", _absolute(out)]
    run = " ".join(shlex.quote(word) for word in words)
    lines += [f'exec {run} --threads "${{SLURM_CPUS_PER_TASK:-1}}" --share "$SLURM_ARRAY_TASK_ID/{shares}"', ""]
    return "\n".join(lines)


def _absolute(out: str | os.PathLike[str]) -> str:
    name = os.fspath(out)
    return name if "://" in name else str(Path(name).resolve())


def _here(
    job: _anabranch.Job,
    out: Place,
    numbers: Sequence[int],
    threads: int,
    progress: bool | anabranch.Progress = False,
) -> list[Failure]:
    """Carries out these runs in this process; those that failed, with why."""
    failed: list[Failure] = []
    job.start(threads, list(numbers))
    report = anabranch._printed if progress is True else (progress or None)
    for number in anabranch._ended(job, report, len(numbers)):
        result = anabranch.Result(job.result(number))
        if result.missing:
            failed += result.missing
            continue
        # Another machine may have done the same run, as happens when a task is done again: then nothing changes.
        out.put(number, result._results, job.resolved(), anabranch._today())
    return failed


#: What a scenario was read from: its text, what messages call it, and its folder.
_Source = tuple[str, str, Path]
#: Carries out runs on a worker; those that failed, and packet-hops.
_Task = Callable[[_Source, Union[Path, str], Sequence[int], int], tuple[list[Failure], int]]


def _task(source: _Source, out: Path | str, numbers: Sequence[int], threads: int) -> tuple[list[Failure], int]:
    text, shown, folder = source
    job = _anabranch.read(text, shown, folder)
    there = place(out)
    failed = _here(job, there, [number for number in numbers if not there.has(number)], threads)
    return failed, job.progress()[0]


def _guided(numbers: Sequence[int], workers: int) -> list[list[int]]:
    """Runs in tasks that get smaller to the end, so that no worker waits for ten runs of another."""
    tasks: list[list[int]] = []
    at = 0
    while at < len(numbers):
        size = max(1, min(RUNS_A_TASK, (len(numbers) - at) // (2 * workers)))
        tasks.append(list(numbers[at : at + size]))
        at += size
    return tasks


def _on_ray(
    address: str,
    source: _Source,
    dataset: Dataset,
    numbers: Sequence[int],
    name: Callable[[int], str],
    *,
    threads: int = 0,
    progress: bool | anabranch.Progress = False,
    task: _Task = _task,
) -> list[Failure]:
    """Carries out these runs on a Ray cluster; those that failed, with why."""
    try:
        # Of its functions some have types and some have not.
        ray: Any = importlib.import_module("ray")
    except ImportError as error:
        raise ImportError("Ray is not installed; write: pip install ray") from error
    if not ray.is_initialized():
        ray.init(address=None if address == "local" else address, log_to_driver=False)
    out = dataset.folder.resolve() if isinstance(dataset.folder, Path) else dataset.folder
    cores = max(1, threads)
    # Ray would try a run that takes all memory for ever, and say nothing: tasks are sent again from here.
    remote = ray.remote(num_cpus=cores, max_retries=0)(task)
    workers = max(1, int(ray.cluster_resources().get("CPU", 1)) // cores)
    #: The tasks under way, each with its runs and how often it ended without one of them done.
    waiting: dict[Any, tuple[list[int], int]] = {}

    def send(runs: list[int], attempts: int) -> None:
        waiting[remote.remote(source, out, runs, cores)] = (runs, attempts)

    report = anabranch._printed if progress is True else (progress or None)
    failed: list[Failure] = []
    done, hops = 0, 0
    try:
        for runs in _guided(numbers, workers):
            send(runs, 0)
        while waiting:
            for ended in ray.wait(list(waiting), timeout=0.5)[0]:
                runs, attempts = waiting.pop(ended)
                try:
                    failures, more_hops = ray.get(ended)
                except (ray.exceptions.RayTaskError, ray.exceptions.TaskCancelledError):
                    raise
                except ray.exceptions.RayError as error:
                    # The worker or its machine ended. What it has done stays.
                    left = [run for run in runs if not dataset._place.has(run)]
                    done += len(runs) - len(left)
                    attempts = attempts + 1 if len(left) == len(runs) else 1
                    if attempts < ATTEMPTS:
                        send(left, attempts) if left else None
                    elif len(left) > 1:
                        # Which of them it was: each alone.
                        for run in left:
                            send([run], ATTEMPTS - 2)
                    else:
                        why = f"its worker ended each time, as without memory: {str(error).strip().partition(chr(10))[0]}"
                        failed += [(name(run), why) for run in left]
                        done += len(left)
                else:
                    failed += failures
                    done, hops = done + len(runs), hops + more_hops
            if report:
                report(done, len(numbers), hops)
    except BaseException:
        for under_way in waiting:
            ray.cancel(under_way)
        raise
    return failed


def main(words: Iterable[str] | None = None) -> int:
    """`python -m anabranch.campaign`."""
    parser = argparse.ArgumentParser(prog="python -m anabranch.campaign", description="Carries out the runs of a scenario.")
    parser.add_argument("plan", help="a scenario's TOML file, with its sweep")
    parser.add_argument("--out", required=True, help="the folder of the results, or object storage: s3://BUCKET/NAME")
    parser.add_argument(
        "--threads", type=int, default=0, help="runs beside each other (0: one per core); with --ray, the cores of a task (0: one)"
    )
    parser.add_argument("--share", default="0/1", help="which part of how many: 3/8 is the fourth of eight")
    parser.add_argument("--sample", type=int, metavar="N", help="carry out so many of the runs, drawn by --sample-seed")
    parser.add_argument("--sample-seed", type=int, default=1, help="the seed of the sample")
    parser.add_argument("--ray", metavar="ADDRESS", help="a Ray cluster: auto, local, or an address")
    parser.add_argument("--slurm", type=int, metavar="TASKS", help="print a job script for sbatch instead, of so many tasks")
    asked = parser.parse_args(None if words is None else list(words))
    number, slash, of = asked.share.partition("/")
    if not (slash and number.isdigit() and of.isdigit() and int(number) < int(of)):
        parser.error(f"--share {asked.share}: write NUMBER/OF with a number from 0 to OF - 1, such as 3/8")
    try:
        if asked.slurm is not None:
            anabranch.check(asked.plan)
            print(slurm_script(asked.plan, asked.out, asked.slurm), end="")
            return 0
        share = (int(number), int(of))
        shows = sys.stderr.isatty()
        dataset = campaign(
            asked.plan,
            asked.out,
            threads=asked.threads,
            share=share,
            sample=asked.sample,
            sample_seed=asked.sample_seed,
            ray=asked.ray,
            progress=shows,
        )
    except (anabranch.ScenarioError, anabranch.RunFailed, ValueError, OSError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; what was finished stays, and the same command goes on", file=sys.stderr)
        return 130
    print(f"{len(dataset.done)} of {dataset.runs} runs in {dataset.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
