"""The extension module, as mypy sees it. native/build.py makes it."""
from typing import Any

class _Lib:
    DOOR_RECEIVER: int
    DOOR_SENDER: int
    ZCRP_OK: int
    ZCRP_ERROR_COUNT: int
    def __getattr__(self, name: str) -> Any: ...

ffi: Any
lib: _Lib
