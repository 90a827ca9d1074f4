"""Where the runs of a campaign go: a folder that every machine sees, or object storage."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from . import _anabranch

#: The scenario of a campaign, resolved.
PLAN = "plan.toml"
#: A run in object storage is there when this one of its files is, which is written last.
LAST = "runs.parquet"


class Place(Protocol):
    """A place that takes runs, each whole or not at all."""

    def claim(self, job: _anabranch.Job) -> None:
        """Says there that it holds the runs of this scenario; raises `ValueError` where it holds another's."""

    def put(self, number: int, results: _anabranch.Results, plan: str, date: str) -> None:
        """Puts a run there. Where another machine was faster nothing changes: both have the same."""

    def has(self, number: int) -> bool:
        """Whether that run is there."""

    def done(self) -> list[int]:
        """The runs that are there, by number."""

    def file(self, number: int, name: str) -> Path | str:
        """A file of a run, as readers of Parquet name it."""


def place(out: str | os.PathLike[str]) -> Place:
    """The place of this name: a folder, or object storage where it is a URL such as `s3://bucket/campaign`."""
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
    """Object storage, by obstore: S3, Google's, Azure's. Keys and addresses are in the environment, as those have them."""

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
                # The plan comes last and where there is none: what another machine wrote meanwhile is compared.
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
        """Refusals of the storage, in a line that names it."""
        from obstore.exceptions import BaseError

        try:
            yield
        except (BaseError, OSError) as error:
            raise OSError(f"{self.url}: {str(error).partition(chr(10))[0]}") from error


def _task(number: int) -> str:
    return f"task={number:06}"


def _number(name: str) -> int:
    return int(name.removeprefix("task="))
