"""Anabranch in Python: simulate RDMA fabrics packet by packet, and take the results as Arrow tables.

>>> import anabranch
>>> result = anabranch.run({
...     "schemes": ["reps", "ecmp"],
...     "seeds": [1],
...     "topology": {"kind": "fat-tree", "hosts": 16, "link": "100Gbps"},
...     "workload": {"kind": "permutation", "bytes": "256KB"},
... })
>>> len(result.runs), result.missing
(2, [])
"""

from __future__ import annotations

import datetime
import html
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Union

from . import _anabranch
from ._anabranch import VERSION as __version__
from ._anabranch import ScenarioError
from .builders import Builder, OwnBalancer

__all__ = [
    "Checked",
    "Dataset",
    "OwnBalancer",
    "Result",
    "RunFailed",
    "Scenario",
    "ScenarioError",
    "Sweep",
    "Table",
    "__version__",
    "campaign",
    "check",
    "load",
    "run",
    "schemes",
    "setups",
    "sweep",
]

#: The forms of a scenario: a dict of its keys, a path to a TOML file, or TOML text, which must contain a line break. Relative
#: paths in a TOML file are relative to the folder of the file. In a dict or a text they are relative to the working directory.
Source = Union["Scenario", Mapping[str, Any], str, "os.PathLike[str]"]
#: A function that is called with the number of runs that have ended, the number of all runs, and the packet-hops so far.
Progress = Callable[[int, int, int], None]
#: The largest number of rows that a notebook shows of a table.
ROWS_SHOWN = 10
#: The user's own load balancers: the name of each, and a class or function that makes the load balancer of a queue pair.
Balancers = Mapping[str, Callable[..., Any]]


class Scenario(Builder):
    """A scenario that is built by method calls. It is a dict of the scenario's keys; `anabranch.builders` has the methods.

    >>> scenario = (
    ...     Scenario("Permutation", schemes=["reps", "ops"], seeds=[1, 2, 3])
    ...     .topology("fat-tree", hosts=32, link="400Gbps")
    ...     .workload("permutation", bytes="1MB")
    ...     .fault("link-down", links="tor:0/up:0", at="5us", duration="50us")
    ... )
    """

    def __init__(
        self,
        title: str = "",
        *,
        schemes: Sequence[str] = (),
        seeds: Sequence[int] = (),
        setup: str | None = None,
    ) -> None:
        super().__init__()
        for key, value in (("title", title), ("schemes", list(schemes)), ("seeds", list(seeds)), ("setup", setup)):
            if value:
                self[key] = value

    def settings(self, settings: Mapping[str, Any]) -> Scenario:
        """Sets parameters of schemes, such as ``{"*.fabric.routing_delay": "10us"}``."""
        self.setdefault("set", {}).update(settings)
        return self

    def sweep(self, parameter: str, values: Sequence[Any]) -> Scenario:
        """Runs every scheme and seed with each of these values of a parameter, such as ``"workload.bytes"``."""
        self.setdefault("sweep", {})[parameter] = list(values)
        return self


class RunFailed(RuntimeError):
    """The error if a run stalled, hit a limit, or failed otherwise. `result` has the results of the other runs."""

    def __init__(self, message: str, result: Result | None) -> None:
        super().__init__(message)
        #: The results of the other runs. It is None for a campaign, which stores results in its folder.
        self.result = result


class Table:
    """A table, stored by columns. Polars, pandas, PyArrow, DuckDB and others read it without a copy."""

    def __init__(self, columns: _anabranch.Columns) -> None:
        self._columns = columns

    @property
    def names(self) -> list[str]:
        """The names of the columns, each with the unit at its end, such as `fct_max_us`."""
        return self._columns.names()

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        return f"<anabranch.Table of {len(self)} rows: {', '.join(self.names)}>"

    def _repr_html_(self) -> str:
        """The table in a notebook. It shows the first rows if Polars or PyArrow is installed to read them."""
        names, rows = self.names, self._first(ROWS_SHOWN)
        head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
        body = "".join(
            "<tr>" + "".join(f"<td>{'' if cell is None else html.escape(str(cell))}</td>" for cell in row) + "</tr>"
            for row in rows or []
        )
        if rows is None:
            note = f"{len(self):,} rows; with Polars or PyArrow their values are shown (<code>pip install polars</code>)"
        else:
            note = f"{len(self):,} rows" + (f", the first {len(rows)} shown" if len(rows) < len(self) else "")
        return (
            f'<div style="overflow-x:auto"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
            f"<p>{note}</p>"
        )

    def _first(self, rows: int) -> list[tuple[object, ...]] | None:
        """At most the first `rows` rows. None if neither Polars nor PyArrow is installed."""
        try:
            import polars
        except ImportError:
            pass
        else:
            return list(polars.DataFrame(self).head(rows).iter_rows())
        try:
            import pyarrow
        except ImportError:
            return None
        columns = pyarrow.table(self).slice(0, rows).to_pydict()
        return list(zip(*columns.values(), strict=True))

    def __arrow_c_schema__(self) -> object:
        return self._columns.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._columns.__arrow_c_stream__(requested_schema)

    def to_polars(self) -> Any:
        """The table as a Polars data frame."""
        import polars

        return polars.DataFrame(self)

    def to_arrow(self) -> Any:
        """The table as a PyArrow table. A DuckDB query can use the name of the Python variable as the table's name."""
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self) -> Any:
        """The table as a pandas data frame."""
        return self.to_arrow().to_pandas()


class Result:
    """The results of the runs of a scenario."""

    def __init__(self, results: _anabranch.Results) -> None:
        self._results = results

    @property
    def title(self) -> str:
        """The scenario's title."""
        return self._results.title()

    @property
    def runs(self) -> Table:
        """A row per run: its scheme, its seed, its values of swept parameters, and its results."""
        return Table(self._results.table("runs"))

    @property
    def flows(self) -> Table:
        """A row per message. Messages of jobs (collectives and traces) have no rows here."""
        return Table(self._results.table("flows"))

    @property
    def jobs(self) -> Table:
        """A row per job of a collective or a trace."""
        return Table(self._results.table("jobs"))

    @property
    def parts(self) -> Table:
        """A row per rank and per collective of a job from a trace, with times of computation and exposed communication."""
        return Table(self._results.table("parts"))

    @property
    def series(self) -> Table:
        """A row per point of a measured curve."""
        return Table(self._results.table("series"))

    @property
    def faults(self) -> Table:
        """A row per fault of each run, with the numbers of packets that it affected."""
        return Table(self._results.table("faults"))

    @property
    def digests(self) -> list[str]:
        """The digest of each run. A run has the same digest on every machine."""
        return self._results.digests()

    @property
    def verdict(self) -> list[str]:
        """The sentences that the command prints: which scheme is fastest, by how much, and with what certainty."""
        return self._results.verdict()

    @property
    def missing(self) -> list[tuple[str, str | None]]:
        """The names of the runs that failed or did not start, with the reasons."""
        return self._results.missing()

    @property
    def warnings(self) -> list[str]:
        """The warnings about the scenario and its runs, a sentence each."""
        return self._results.warnings()

    @property
    def scenario(self) -> str:
        """The resolved scenario, as TOML with every default."""
        return self._results.scenario()

    def page(self) -> str:
        """The HTML text of the report, which needs no other files."""
        return self._results.page(_today())

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Writes Parquet files, the resolved scenario with the files that it names, and the page into a new folder.

        The command and `load` read the folder, and `run(folder / "scenario.toml")` gives the same digests. If writing fails,
        no folder is left behind. Raises `FileExistsError` if a file or folder of that name exists.
        """
        target = Path(folder)
        if target.exists():
            raise FileExistsError(f"{target} is there already; name a new folder")
        target.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=".anabranch-", dir=target.parent))
        try:
            self._results.write(fresh, _today())
            fresh.chmod(0o755)
            fresh.rename(target)
        except BaseException:
            shutil.rmtree(fresh, ignore_errors=True)
            raise
        return target

    def __str__(self) -> str:
        return self._results.text(120)

    def __repr__(self) -> str:
        return f"<anabranch.Result {self.title!r}: {len(self.runs)} runs>"

    def _repr_html_(self) -> str:
        page = self.page().replace("&", "&amp;").replace('"', "&quot;")
        return (
            f'<iframe srcdoc="{page}" title="Report" style="width:100%;height:40rem;border:0" '
            'sandbox="allow-scripts allow-downloads"></iframe>'
        )


class Checked:
    """The facts about a scenario that are known before it runs."""

    def __init__(self, job: _anabranch.Job) -> None:
        #: The warnings about the scenario, a sentence each.
        self.warnings: list[str] = job.warnings()
        #: The names of all runs except baselines. A baseline is a run without faults, for comparison with other runs.
        self.runs: list[str] = [job.name(index) for index in range(job.actual())]
        #: The resolved scenario, as TOML with every default.
        self.resolved: str = job.resolved()


class Sweep:
    """Runs that are under way. Iteration yields the result of each run when it ends, so in no fixed order."""

    def __init__(self, job: _anabranch.Job, threads: int, progress: bool | Progress = False) -> None:
        self._job = job
        self._progress = _printed if progress is True else (progress or None)
        #: The number of runs that have ended, counted over all iterations.
        self._done = 0
        job.start(threads)

    def __len__(self) -> int:
        return self._job.actual()

    def __iter__(self) -> Iterator[Result]:
        for index in self._rest():
            if index < self._job.actual():
                yield Result(self._job.result(index))

    def result(self) -> Result:
        """Waits until all runs have ended, and returns all results."""
        for _ in self._rest():
            pass
        return Result(self._job.results())

    def _rest(self) -> Iterator[int]:
        for index in _ended(self._job, self._progress, done=self._done):
            self._done += 1
            yield index

    def cancel(self) -> None:
        """Cancels the runs, which end soon after. The results of finished runs stay available."""
        self._job.cancel()


def check(
    scenario: Source,
    *,
    schemes: Sequence[str] = (),
    seeds: Sequence[int] = (),
    balancers: Balancers | None = None,
) -> Checked:
    """Reads a scenario and builds its fabrics, without running it. Raises `ScenarioError` if the scenario is wrong."""
    return Checked(_read(scenario, schemes, seeds, balancers))


def run(
    scenario: Source,
    *,
    schemes: Sequence[str] = (),
    seeds: Sequence[int] = (),
    threads: int = 0,
    progress: bool | Progress = False,
    balancers: Balancers | None = None,
    allow_missing: bool = False,
) -> Result:
    """Simulates a scenario. If it has faults, the runs are also carried out without faults, for comparison.

    `schemes` and `seeds` replace the schemes and seeds of the scenario. If neither the call nor the scenario has seeds, the
    seeds are 1, 2 and 3. `threads` is the number of threads for all runs (0: one per core); if there are fewer runs than
    threads, a run has several. `balancers` are your own load balancers, which the scenario selects with
    ``lb = { kind = "NAME" }``. They are slow, because every packet calls the Python interpreter.

    Raises `ScenarioError` if the scenario is wrong, and `RunFailed` if a run failed, unless `allow_missing` is true. Ctrl-C
    raises `KeyboardInterrupt`, whose attribute `result` has the results of the finished runs.
    """
    job = _read(scenario, schemes, seeds, balancers)
    job.start(threads)
    report = _printed if progress is True else (progress or None)
    try:
        for _ in _ended(job, report):
            pass
    except KeyboardInterrupt as stop:
        stop.result = Result(job.results())  # type: ignore[attr-defined]
        raise
    result = Result(job.results())
    if result.missing and not allow_missing:
        name, why = result.missing[0]
        raise RunFailed(f"{len(result.missing)} of {job.runs()} runs failed: {name}: {why}", result)
    return result


def sweep(
    scenario: Source,
    *,
    schemes: Sequence[str] = (),
    seeds: Sequence[int] = (),
    threads: int = 0,
    progress: bool | Progress = False,
    balancers: Balancers | None = None,
) -> Sweep:
    """Starts all runs of a scenario. Iterate over the returned `Sweep` to get each result when its run ends.

    `progress` is called during the iteration. The other parameters are those of `run`.
    """
    return Sweep(_read(scenario, schemes, seeds, balancers), threads, progress)


def load(folder: str | os.PathLike[str]) -> Result:
    """The results in a folder that `Result.save` or the command wrote. Raises `OSError` if files are missing or damaged."""
    return Result(_anabranch.load(folder))


def schemes() -> dict[str, str]:
    """The name and the title of each scheme that comes with the package."""
    return dict(_anabranch.schemes())


def setups() -> dict[str, str]:
    """The name and the title of each setup that comes with the package."""
    return dict(_anabranch.setups())


def _today() -> str:
    return datetime.date.today().isoformat()


def _ended(
    job: _anabranch.Job, progress: Progress | None, runs: int | None = None, done: int = 0
) -> Iterator[int]:
    all_runs = job.runs() if runs is None else runs
    while (ended := job.wait(0.2 if progress else 1e9)) is not None:
        index, is_new = ended
        done += is_new
        if progress:
            progress(done, all_runs, job.progress()[0])
        if is_new:
            yield index


def _printed(done: int, runs: int, hops: int) -> None:
    end = "\n" if done == runs else ""
    print(f"\r{done} of {runs} runs, {hops / 1e6:,.1f} M packet-hops", end=end, file=sys.stderr, flush=True)


def _read(
    scenario: Source, schemes: Sequence[str], seeds: Sequence[int], balancers: Balancers | None
) -> _anabranch.Job:
    if isinstance(schemes, str):
        raise TypeError(f"schemes is a list of names; write [{schemes!r}]")
    text, shown, folder = _text(scenario)
    return _anabranch.read(text, shown, folder, list(schemes), list(seeds), dict(balancers) if balancers else None)


def _text(scenario: Source) -> tuple[str, str, Path]:
    """The TOML text of a scenario, its name in error messages, and the folder of the files that it names."""
    if isinstance(scenario, Mapping):
        return _anabranch.to_toml(json.dumps(scenario)), "<dict>", Path.cwd()
    if isinstance(scenario, str) and "\n" in scenario:
        return scenario, "<text>", Path.cwd()
    path = Path(scenario)
    if not path.exists():
        raise FileNotFoundError(f"there is no scenario {str(path)!r}; give a path, a dict, or TOML text with line breaks")
    return path.read_text(encoding="utf-8"), str(path), path.parent.resolve()


# This import is at the end, because `_campaign` uses names that are defined above.
from ._campaign import Dataset, campaign  # noqa: E402
