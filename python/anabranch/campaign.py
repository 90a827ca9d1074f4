"""`python -m anabranch.campaign`, and what belongs to the function `anabranch.campaign`.

The package does not import this module, so that it can be run; where it is imported, it takes the place of the function and is
called as that.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from ._campaign import Dataset, campaign, main, slurm_script

__all__ = ["Dataset", "campaign", "main", "slurm_script"]


class _Callable(ModuleType):
    """A module that is called as its function is."""

    def __call__(self, *args: Any, **keys: Any) -> Dataset:
        return campaign(*args, **keys)


if __name__ == "__main__":
    sys.exit(main())

sys.modules[__name__].__class__ = _Callable
