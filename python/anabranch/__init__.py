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

#: What is given as a scenario: a dict of its keys, a path to a TOML file, or TOML text (which has a line break). Files that
#: it names are looked for in the folder of that file; those of a dict or a text in the working directory.
Source = Union["Scenario", Mapping[str, Any], str, "os.PathLike[str]"]
#: Is told how many runs are done, how many there are, and the packet-hops so far.
Progress = Callable[[int, int, int], None]
#: Rows of a table that a notebook shows.
ROWS_SHOWN = 10
#: Names of own load balancers, with what makes one for a queue pair.
Balancers = Mapping[str, Callable[..., Any]]


class Scenario(Builder):
    """A scenario, built up call by call. It is the dict of its keys; `anabranch.builders` has those of each kind.

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
        """Runs everything at each of these values of a parameter, such as ``"workload.bytes"``."""
        self.setdefault("sweep", {})[parameter] = list(values)
        return self


class RunFailed(RuntimeError):
    """A run stalled, hit a limit, or failed otherwise. What the others came to is in `result`."""

    def __init__(self, message: str, result: Result | None) -> None:
        super().__init__(message)
        #: What there is; none of a campaign, whose folder has it.
        self.result = result


class Table:
    """Rows as columns. Polars, pandas, PyArrow, DuckDB and others take it as it is, without a copy."""

    def __init__(self, columns: _anabranch.Columns) -> None:
        self._columns = columns

    @property
    def names(self) -> list[str]:
        """The columns' names, which carry units."""
        return self._columns.names()

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        return f"<anabranch.Table of {len(self)} rows: {', '.join(self.names)}>"

    def _repr_html_(self) -> str:
        """As a notebook shows it: the first rows, where Polars, pandas or PyArrow is there to read them."""
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
        """The first rows; none where nothing is there that reads Arrow."""
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
        """As a Polars data frame."""
        import polars

        return polars.DataFrame(self)

    def to_arrow(self) -> Any:
        """As a PyArrow table, which DuckDB queries by its variable's name."""
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self) -> Any:
        """As a pandas data frame."""
        return self.to_arrow().to_pandas()


class Result:
    """What runs came to."""

    def __init__(self, results: _anabranch.Results) -> None:
        self._results = results

    @property
    def title(self) -> str:
        """The scenario's title."""
        return self._results.title()

    @property
    def runs(self) -> Table:
        """A row per run: scheme, seed, swept values, and what it came to."""
        return Table(self._results.table("runs"))

    @property
    def flows(self) -> Table:
        """A row per message. Collectives have none."""
        return Table(self._results.table("flows"))

    @property
    def jobs(self) -> Table:
        """A row per job of a collective or a trace."""
        return Table(self._results.table("jobs"))

    @property
    def parts(self) -> Table:
        """A row per rank and collective of a job from a trace: what it computes, and what is exposed."""
        return Table(self._results.table("parts"))

    @property
    def series(self) -> Table:
        """A row per point of a measured curve."""
        return Table(self._results.table("series"))

    @property
    def faults(self) -> Table:
        """A row per fault of each run: what it did."""
        return Table(self._results.table("faults"))

    @property
    def digests(self) -> list[str]:
        """The digest of each run, the same wherever it ran."""
        return self._results.digests()

    @property
    def verdict(self) -> list[str]:
        """Which scheme is fastest, by how much, and how sure that is: the sentences of the command."""
        return self._results.verdict()

    @property
    def missing(self) -> list[tuple[str, str | None]]:
        """Runs that failed or never ran, with why."""
        return self._results.missing()

    @property
    def warnings(self) -> list[str]:
        """What cannot mean much."""
        return self._results.warnings()

    @property
    def scenario(self) -> str:
        """The resolved scenario, as TOML with every default."""
        return self._results.scenario()

    def page(self) -> str:
        """The page of the report, which stands by itself."""
        return self._results.page(_today())

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Writes Parquet files, the resolved scenario with the files that it names, and the page into a new folder.

        The command and `load` read it; `run(folder / "scenario.toml")` gives the same digests. Raises `FileExistsError` where something of that name is there. Nothing is half-written.
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
    """What there is to say of a scenario before it runs."""

    def __init__(self, job: _anabranch.Job) -> None:
        #: What cannot mean much, a sentence each.
        self.warnings: list[str] = job.warnings()
        #: The runs by name.
        self.runs: list[str] = [job.name(index) for index in range(job.actual())]
        #: The resolved scenario, as TOML with every default.
        self.resolved: str = job.resolved()


class Sweep:
    """Runs under way. Iterating gives the result of each as it ends, in whatever order; `result` what all came to."""

    def __init__(self, job: _anabranch.Job, threads: int, progress: bool | Progress = False) -> None:
        self._job = job
        self._progress = _printed if progress is True else (progress or None)
        #: How many have ended, over all iterations.
        self._done = 0
        job.start(threads)

    def __len__(self) -> int:
        return self._job.actual()

    def __iter__(self) -> Iterator[Result]:
        for index in self._rest():
            if index < self._job.actual():
                yield Result(self._job.result(index))

    def result(self) -> Result:
        """Waits for the rest, and gives all."""
        for _ in self._rest():
            pass
        return Result(self._job.results())

    def _rest(self) -> Iterator[int]:
        for index in _ended(self._job, self._progress, done=self._done):
            self._done += 1
            yield index

    def cancel(self) -> None:
        """Ends the runs soon. What is finished stays."""
        self._job.cancel()


def check(
    scenario: Source,
    *,
    schemes: Sequence[str] = (),
    seeds: Sequence[int] = (),
    balancers: Balancers | None = None,
) -> Checked:
    """Reads a scenario and builds its fabrics, without running it. Raises `ScenarioError`."""
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
    """Simulates a scenario, and the same without its faults where it has some.

    `schemes` and `seeds` stand in place of the scenario's own; without seeds it is 1, 2 and 3. `threads` are for
    all runs (0: one per core); with fewer runs than threads each has several. `balancers` are load balancers of your own, which the scenario names as
    ``lb = { kind = "..." }``; they are slow, as each packet asks the interpreter.

    Raises `ScenarioError` where the scenario is wrong, `RunFailed` where a run failed (unless `allow_missing`), and
    `KeyboardInterrupt` within a moment of Ctrl-C, with what was finished in its attribute `result`.
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
    """Starts all runs of a scenario; iterate over it to take each as it ends. `progress` is told meanwhile."""
    return Sweep(_read(scenario, schemes, seeds, balancers), threads, progress)


def load(folder: str | os.PathLike[str]) -> Result:
    """What is in a folder of results, of `Result.save` or of the command. Raises `OSError` where it is not whole."""
    return Result(_anabranch.load(folder))


def schemes() -> dict[str, str]:
    """The schemes that come with the package: what each is, by its name."""
    return dict(_anabranch.schemes())


def setups() -> dict[str, str]:
    """The setups that come with the package: what each is, by its name."""
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
    """The TOML of a scenario, what messages call it, and the folder of the files that it names."""
    if isinstance(scenario, Mapping):
        return _anabranch.to_toml(json.dumps(scenario)), "<dict>", Path.cwd()
    if isinstance(scenario, str) and "\n" in scenario:
        return scenario, "<text>", Path.cwd()
    path = Path(scenario)
    if not path.exists():
        raise FileNotFoundError(f"there is no scenario {str(path)!r}; give a path, a dict, or TOML text with line breaks")
    return path.read_text(encoding="utf-8"), str(path), path.parent.resolve()


# At the end, as it is made of what stands above.
from ._campaign import Dataset, campaign  # noqa: E402
