"""The place where the runs of a campaign are stored: a folder that every machine sees, or object storage."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from . import _anabranch

#: The file with the resolved scenario of a campaign.
PLAN = "plan.toml"
#: The file of a run that is written last. A run in object storage is complete if this file exists.
LAST = "runs.parquet"


class Place(Protocol):
    """A place that stores either all files of a run or none."""

    def claim(self, job: _anabranch.Job) -> None:
        """Marks the place as the one that holds the runs of this scenario.

        Raises `ValueError` if it holds the runs of another scenario.
        """

    def put(self, number: int, results: _anabranch.Results, plan: str, date: str) -> None:
        """Stores a run. If another machine has stored it already, nothing changes, since the results are the same."""

    def has(self, number: int) -> bool:
        """Whether the run with this number is stored."""

    def done(self) -> list[int]:
        """The numbers of the stored runs, in ascending order."""

    def file(self, number: int, name: str) -> Path | str:
        """The path or URL of a file of a run, in the form that readers of Parquet files take."""


def place(out: str | os.PathLike[str]) -> Place:
    """The object storage at the URL `out`, such as `s3://bucket/campaign`, or the folder with the path `out`."""
    name = os.fspath(out)
    return Bucket(name) if "://" in name else Folder(Path(name))


class Folder:
    """A folder on a file system."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def claim(self, job: _anabranch.Job) -> None:
        job.claim(self.folder)

    def put(self, number: int, results: _anabranch.Results, plan: str, date: str) -> None:
        results.put(self.folder, number, plan, date)

    def has(self, number: int) -> bool:
        return (self.folder / _task(number)).exists()

    def done(self) -> list[int]:
        names = (entry.name for entry in self.folder.iterdir()) if self.folder.exists() else ()
        return sorted(_number(name) for name in names if name.startswith("task="))

    def file(self, number: int, name: str) -> Path:
        return self.folder / _task(number) / name


class Bucket:
    """Object storage of Amazon (S3), Google or Azure, accessed with obstore.

    Keys and addresses are in the environment variables that these services define.
    """

    def __init__(self, url: str) -> None:
        try:
            from obstore.exceptions import BaseError
            from obstore.store import from_url
        except ImportError as error:
            raise ImportError("object storage needs obstore; write: pip install obstore") from error
        self.url = url.rstrip("/")
        try:
            self._store: Any = from_url(self.url)
        except BaseError as error:
            reason = str(error).partition("\n")[0]
            raise ValueError(f"{url}: {reason}; write s3://BUCKET/NAME, gs://BUCKET/NAME or az://CONTAINER/NAME") from error

    def claim(self, job: _anabranch.Job) -> None:
        from obstore.exceptions import AlreadyExistsError

        with self._told(), tempfile.TemporaryDirectory() as scratch:
            job.claim(Path(scratch))
            plan = job.resolved().encode()
            if (there := self._plan()) is None:
                # The plan is written last, and only if there is none. If another machine has written a plan meanwhile,
                # its plan is compared with the plan of this machine.
                self._upload(Path(scratch), "", but=PLAN)
                try:
                    self._store.put(PLAN, plan, mode="create")
                    return
                except AlreadyExistsError:
                    there = self._plan()
            if there != plan:
                raise ValueError(f"{self.url} holds another campaign ({self.url}/{PLAN}); name another place")

    def put(self, number: int, results: _anabranch.Results, plan: str, date: str) -> None:
        with self._told(), tempfile.TemporaryDirectory() as scratch:
            results.put(Path(scratch), number, plan, date)
            folder, task = Path(scratch) / _task(number), _task(number)
            self._upload(folder, f"{task}/", but=LAST)
            self._store.put(f"{task}/{LAST}", folder / LAST)

    def has(self, number: int) -> bool:
        with self._told():
            try:
                self._store.head(f"{_task(number)}/{LAST}")
            except FileNotFoundError:
                return False
            return True

    def done(self) -> list[int]:
        with self._told():
            paths = (Path(each["path"]) for batch in self._store.list() for each in batch)
            ended = (path.parent.name for path in paths if path.name == LAST)
            return sorted(_number(name) for name in ended if name.startswith("task="))

    def file(self, number: int, name: str) -> str:
        return f"{self.url}/{_task(number)}/{name}"

    def _plan(self) -> bytes | None:
        try:
            return bytes(self._store.get(PLAN).bytes())
        except FileNotFoundError:
            return None

    def _upload(self, folder: Path, prefix: str, but: str) -> None:
        files = (path for path in sorted(folder.rglob("*")) if path.is_file())
        for path in files:
            if (name := path.relative_to(folder).as_posix()) != but:
                self._store.put(prefix + name, path)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Turns errors of the storage into an `OSError` with a message of one line that contains the URL."""
        from obstore.exceptions import BaseError

        try:
            yield
        except (BaseError, OSError) as error:
            raise OSError(f"{self.url}: {str(error).partition(chr(10))[0]}") from error


def _task(number: int) -> str:
    return f"task={number:06}"


def _number(name: str) -> int:
    return int(name.removeprefix("task="))
