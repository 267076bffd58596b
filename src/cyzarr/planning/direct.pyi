from typing import Any

from typing_extensions import disjoint_base

from cyzarr.kernels.program import Program

PLAIN: dict[type, dict[str, Any]]
WATCHED: tuple[str, ...]
MAX_EXTENT: int
LATER: object

@disjoint_base
class Compiled:
    """What is known of one AsyncArray; kept in its __dict__, pickled as an empty dict."""

    @property
    def program(self) -> Program | None: ...
    @property
    def reason(self) -> str | None: ...
    def __reduce__(self) -> tuple[type[dict[Any, Any]], tuple[()]]: ...

# These take the place of zarr.Array's own methods, with their signatures.
def get_orthogonal_selection(
    self: Any, selection: Any, *, out: Any = None, fields: Any = None, prototype: Any = None
) -> Any: ...
def get_coordinate_selection(
    self: Any, selection: Any, *, out: Any = None, fields: Any = None, prototype: Any = None
) -> Any: ...
def get_mask_selection(self: Any, mask: Any, *, out: Any = None, fields: Any = None, prototype: Any = None) -> Any: ...
def get_block_selection(
    self: Any, selection: Any, *, out: Any = None, fields: Any = None, prototype: Any = None
) -> Any: ...
def getitem(self: Any, selection: Any) -> Any: ...
def get_basic_selection(
    self: Any, selection: Any = ..., *, out: Any = None, prototype: Any = None, fields: Any = None
) -> Any: ...
def read_basic(async_array: Any, selection: Any, prototype: Any, brief: bool) -> Any: ...
def read_picked(
    async_array: Any,
    normalize: Any,
    selection: Any,
    points: bool,
    out: Any,
    fields: Any,
    prototype: Any,
    brief: bool,
) -> Any: ...
def in_memory(async_array: Any, out: Any, prototype: Any) -> bool | None: ...
def set_zarr_function(name: str, function: object) -> None: ...
def set_active(on: bool) -> None: ...
def is_active() -> bool: ...
def set_tracing(on: bool) -> None: ...
def served_reads() -> int:
    """How many reads took the direct road since the process started."""
