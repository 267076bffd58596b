"""The leaves as C function pointers, for ctypes, cffi and anything else that calls an address.

    from cyzarr.kernels import c_table

    fill = c_table.FUNCTIONS["fill_nd"]
    fill.address        # of a plain C function that needs no GIL
    fill.declaration    # "void fill_nd(int, Py_ssize_t const *, ...)"
    c_table.HEADER      # C declarations of all of them, and of the structures that they take

They check nothing: pointers, lengths and positions are the caller's to vouch for. What each takes stands in the `.pxd`
of its module, which is installed beside this file.
"""

from __future__ import annotations

import ctypes
import importlib
import re
from types import MappingProxyType
from typing import NamedTuple

__all__ = ["DECODERS", "FUNCTIONS", "HEADER", "STATUS", "CFunction"]

# What is offered: leaves whose arguments are numbers, bytes and the structures below.
_LEAVES = {
    "blocks": ("copy_nd", "swap_nd", "fill_nd", "place_spans", "fill_spans", "place_points", "fill_points"),
    "checksum": ("crc32c", "check_crc32c"),
    "decompress": ("decode_exact", "decode_grow"),
    "natives": ("context_init", "context_free", "decoder_native"),
    "intersect": ("touched_bound", "cut_affine", "cut_indexed", "sort_by_key"),
    "shardindex": ("index_verify", "index_entry", "check_entry"),
    "windows": ("find_windows", "window_at", "pick_point", "points_hull", "span_first", "span_last"),
}

# As in types.pxd, shardindex.pxd, windows.pxd and natives.pxd; tests hold their sizes to what was compiled.
_STRUCTS = """\
typedef ptrdiff_t Py_ssize_t;
typedef struct {
    Py_ssize_t chunk, start, step, count, out;
    const Py_ssize_t *index, *place;
} Span;
typedef struct {
    Py_ssize_t offset, width, repeat;
} Component;
typedef struct {
    Py_ssize_t itemsize;
    int n_swaps;
    Component *swaps;
} ItemPlan;
typedef struct {
    Py_ssize_t entries, nbytes;
    int checksums, big, at_start;
    Py_ssize_t pair;
    Py_ssize_t strides[32];
} IndexSpec;
typedef struct {
    int outer;
    int axes[32];
    Py_ssize_t first, base, length, ranges, needed;
} Windows;
typedef struct {
    void *zstd, *inflater;
} Context;
"""

# What functions that return a status return, by its number; 0 is success.
STATUS = (
    *("OK", "E_NOMEM", "E_DECODE", "E_SIZE", "E_LIMIT", "E_NATIVE", "E_OS", "E_AGAIN", "E_NOT_REGULAR", "E_SHORT"),
    *("E_CHECKSUM", "E_INDEX_SHORT", "E_INDEX_CHECKSUM", "E_ENTRY", "E_ENTRY_SIZE", "E_STORED_SIZE", "E_PYTHON"),
    *("E_CANCELLED", "E_SEGMENT"),
)
# The decoders of `decode_exact` and `decode_grow`, by their numbers.
DECODERS = ("zstd", "blosc", "lz4", "gzip", "zlib", "crc32c")


class CFunction(NamedTuple):
    """One leaf.

    Attributes
    ----------
    name : str
    address : int
        Of a C function, callable without the GIL.
    declaration : str
        In C, without the semicolon.
    """

    name: str
    address: int
    declaration: str


def _plain(signature: str, name: str) -> str:
    """A signature as Cython spells it, as a declaration: structures by the names that they have here."""

    def struct_name(found: re.Match[str]) -> str:
        # The name of the module that declares it, after its length, then an underscore.
        return found[2][int(found[1]) + 1 :]

    named = re.sub(r"struct __pyx_t_6cyzarr_7kernels_(\d+)(\w+)", struct_name, signature)
    result, arguments = named.split("(", 1)
    return f"{result}{name}({arguments}"


# Of our own: the prototypes that hang on ctypes.pythonapi are the whole process's.
_NAME_OF = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_POINTER_OF = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def _look_up(module: str, name: str) -> CFunction:
    """A leaf, from the table that `cimport` reads."""
    capsule = importlib.import_module(f"cyzarr.kernels.{module}").__pyx_capi__[name]
    signature = _NAME_OF(capsule)
    return CFunction(name, _POINTER_OF(capsule, signature), _plain(signature.decode(), name))


FUNCTIONS = MappingProxyType({name: _look_up(module, name) for module, names in _LEAVES.items() for name in names})
HEADER = _STRUCTS + "".join(
    # A pointer to the function, as a type of its own: `fill_nd_t`.
    re.sub(r"^(.*?)(\w+)\(", r"typedef \1(*\2_t)(", one.declaration, count=1) + ";\n"
    for one in FUNCTIONS.values()
)
