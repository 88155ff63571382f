"""Old names of this package, which still work. Each use of one warns, and the warning tells the new name."""
from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any


def warn(old: str, new: str, stacklevel: int) -> None:
    """Warns the caller that is this many calls away, 1 being the one that calls this."""
    warnings.warn(f"{old} is deprecated: it is named {new} now", DeprecationWarning, stacklevel=stacklevel + 1)


def getter(module: str, new_names: Mapping[str, str]) -> Callable[[str], Any]:
    """A module's ``__getattr__``, which finds what has a new name by its old name. Type checkers do not see it, and
    so take an old name for an error."""
    def find(name: str) -> Any:
        new = new_names.get(name)
        if new is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        warn(f"{module}.{name}", f"{module}.{new}", 2)
        return getattr(sys.modules[module], new)

    return find
