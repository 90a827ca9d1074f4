"""The program `python -m anabranch.campaign`, and the names that belong to the function `anabranch.campaign`.

The package does not import this module, so that it can be run as a program. If a user imports it, the module replaces the
function of the same name in the package. So the module can be called like the function.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from ._campaign import Dataset, campaign, main, slurm_script

__all__ = ["Dataset", "campaign", "main", "slurm_script"]


class _Callable(ModuleType):
    """A module that can be called like the function `campaign` in it."""

    def __call__(self, *args: Any, **keys: Any) -> Dataset:
        return campaign(*args, **keys)


if __name__ == "__main__":
    sys.exit(main())

sys.modules[__name__].__class__ = _Callable
