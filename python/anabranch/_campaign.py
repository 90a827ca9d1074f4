"""Campaigns: the runs of one scenario with all its sweeps, on one machine, on a Ray cluster, or as a job array of Slurm.

The files of a run are written into a folder of their own, either all of them or none. Runs that are stored already are not
carried out again. So a campaign that was killed continues with the runs that are missing, even on another machine. The digest
of a run is the same on every machine.
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

#: The largest number of runs in a task of Ray. If each short run were a task, starting tasks would take longer than the runs.
RUNS_A_TASK = 10
#: The number of times in a row that workers of a Ray task may end without completing a run. After the last time, the runs of
#: the task are sent one by one. If the task has only one run, this run has failed.
ATTEMPTS = 5
#: The name of a run that failed, and the reason.
Failure = tuple[str, Union[str, None]]


class Dataset:
    """The results of a campaign in a folder or in object storage.

    Each run has a folder such as `task=000017`, with the same Parquet files that the command `anabranch run` writes.
    """

    def __init__(self, folder: str | os.PathLike[str], runs: int) -> None:
        self._place = place(folder)
        #: The folder of the results, or the URL of the object storage.
        self.folder = self._place.folder if isinstance(self._place, Folder) else os.fspath(folder)
        #: The number of runs of the whole campaign, whether they are stored already or not.
        self.runs = runs

    @property
    def done(self) -> list[int]:
        """The numbers of the runs that are stored, in ascending order. The first run of a campaign has the number 0."""
        return self._place.done()

    @property
    def missing(self) -> list[int]:
        """The numbers of the runs of the campaign that are not stored."""
        return sorted(set(range(self.runs)) - set(self.done))

    def paths(self, table: str) -> list[Path | str]:
        """The Parquet files of a table, one per stored run. `table` is runs, flows, jobs, parts, series or faults."""
        return [self._place.file(number, f"{table}.parquet") for number in self.done]

    def scan(self, table: str) -> Any:
        """A table of all stored runs as a Polars lazy frame. The column `task` has the number of the run."""
        import polars

        return polars.scan_parquet(
            [str(path) for path in self.paths(table)], hive_partitioning=True, missing_columns="insert"
        )

    @property
    def digests(self) -> dict[int, str]:
        """The digest of each stored run, with the number of the run as the key."""
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

    `sample` limits the call to this number of runs, drawn at random with `sample_seed`. `missing` of the returned `Dataset`
    nevertheless lists every run of the campaign that is not stored.

    `share` limits the call to a part of the runs: `(3, 8)` is the fourth of eight parts. Each task of a Slurm array carries
    out one part.

    `ray` is the address of a Ray cluster (`"auto"`, or `"local"` to start one). The machines of the cluster must see `out`
    under the same path and must have this package. With `ray`, `threads` is the number of cores of a task (0: one); without,
    it is the number of threads for all runs (0: one per core). If a machine dies, its task is carried out again on another
    one. If the worker of a run ends each time, for example for lack of memory, the run counts as failed. Ctrl-C ends all
    tasks.

    `out` may be object storage, such as `"s3://bucket/name"`. This needs `pip install obstore`. On every machine, environment
    variables such as `AWS_ACCESS_KEY_ID` contain the keys and addresses.

    Raises `ScenarioError` if the scenario is wrong, `ValueError` if `out` holds another campaign, and `RunFailed` if runs
    failed. The results of the other runs are stored even then, and a later call tries the failed runs again.
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
    """The message for failed runs: the first run with its error, and the names of up to ten other runs."""
    (name, why), *others = failed
    text = f"{len(failed)} of {runs} runs failed: {name}: {why}"
    if others:
        more = f" and {len(others) - 10} more" if len(others) > 10 else ""
        text += f"\nand: {'; '.join(name for name, _ in others[:10])}{more}"
    return text


def slurm_script(plan: str | os.PathLike[str], out: str | os.PathLike[str], shares: int, *options: str) -> str:
    """A job script for `sbatch`: a job array with `shares` tasks, each of which carries out one part of a campaign.

    `options` are options of `sbatch`, such as `"--time=02:00:00"`.
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
    """Carries out these runs in this process. Returns the runs that failed."""
    failed: list[Failure] = []
    job.start(threads, list(numbers))
    report = anabranch._printed if progress is True else (progress or None)
    for number in anabranch._ended(job, report, len(numbers)):
        result = anabranch.Result(job.result(number))
        if result.missing:
            failed += result.missing
            continue
        # Another machine may have stored the same run, if its task was carried out twice. Then `put` changes nothing.
        out.put(number, result._results, job.resolved(), anabranch._today())
    return failed


#: The source of a scenario: its TOML text, its name in error messages, and the folder of the files that it names.
_Source = tuple[str, str, Path]
#: A function that carries out runs on a worker and returns the runs that failed and the number of packet-hops.
_Task = Callable[[_Source, Union[Path, str], Sequence[int], int], tuple[list[Failure], int]]


def _task(source: _Source, out: Path | str, numbers: Sequence[int], threads: int) -> tuple[list[Failure], int]:
    text, shown, folder = source
    job = _anabranch.read(text, shown, folder)
    there = place(out)
    failed = _here(job, there, [number for number in numbers if not there.has(number)], threads)
    return failed, job.progress()[0]


def _guided(numbers: Sequence[int], workers: int) -> list[list[int]]:
    """Splits runs into tasks. Later tasks have fewer runs, so that at the end no worker is idle while another has many left."""
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
    """Carries out these runs on a Ray cluster. Returns the runs that failed."""
    try:
        # Only some functions of Ray have type annotations, so the module is `Any`.
        ray: Any = importlib.import_module("ray")
    except ImportError as error:
        raise ImportError("Ray is not installed; write: pip install ray") from error
    if not ray.is_initialized():
        ray.init(address=None if address == "local" else address, log_to_driver=False)
    out = dataset.folder.resolve() if isinstance(dataset.folder, Path) else dataset.folder
    cores = max(1, threads)
    # If a run needs more memory than there is, Ray would retry it for ever, without a message. So Ray does not retry tasks,
    # and this function sends them again.
    remote = ray.remote(num_cpus=cores, max_retries=0)(task)
    workers = max(1, int(ray.cluster_resources().get("CPU", 1)) // cores)
    #: The runs of each task that is under way, and the number of times in a row that a worker ended without completing any of
    #: these runs.
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
                    # The worker or its machine ended. The runs that it completed are stored.
                    left = [run for run in runs if not dataset._place.has(run)]
                    done += len(runs) - len(left)
                    attempts = attempts + 1 if len(left) == len(runs) else 1
                    if attempts < ATTEMPTS:
                        send(left, attempts) if left else None
                    elif len(left) > 1:
                        # Each run is sent alone, with two attempts, to find the one that ends the worker.
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
    """The program `python -m anabranch.campaign`. `words` are its arguments; by default, those of the command line."""
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
