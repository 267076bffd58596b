"""The leaves by their addresses, through ctypes; and what the table says of them, held to the installed .pxd files."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

import numpy as np
import pytest

import cyzarr
from cyzarr.kernels import c_table
from support.process import run_python

PXD = Path(cyzarr.__file__).parent / "kernels"
LENGTHS = ctypes.POINTER(ctypes.c_ssize_t)


class Span(ctypes.Structure):
    _fields_ = (
        *[(name, ctypes.c_ssize_t) for name in ("chunk", "start", "step", "count", "out")],
        ("index", LENGTHS),
        ("place", LENGTHS),
    )


def lengths(*numbers):
    return (ctypes.c_ssize_t * len(numbers))(*numbers)


def function(name, result, *arguments):
    return ctypes.CFUNCTYPE(result, *arguments)(c_table.FUNCTIONS[name].address)


def test_fill_and_copy():
    fill = function("fill_nd", None, ctypes.c_int, LENGTHS, ctypes.c_char_p, ctypes.c_ssize_t, ctypes.c_void_p, LENGTHS)
    target = np.zeros((4, 6), "u2")
    part = target[1:3, ::2]
    fill(2, lengths(*part.shape), b"\x01\x02", 2, part.ctypes.data, lengths(*part.strides))
    want = np.zeros((4, 6), "u2")
    want[1:3, ::2] = 0x0201
    assert (target == want).all()
    copy = function(
        "copy_nd",
        None,
        *[ctypes.c_int, LENGTHS, ctypes.c_void_p, LENGTHS, ctypes.c_ssize_t, ctypes.c_void_p, LENGTHS],
    )
    source, out = np.arange(24, dtype="u2").reshape(4, 6), np.zeros((6, 4), "u2")
    copy(2, lengths(4, 6), source.ctypes.data, lengths(*source.strides), 2, out.ctypes.data, lengths(*out.T.strides))
    assert (out == source.T).all()


def test_cut_affine():
    cut = function("cut_affine", ctypes.c_ssize_t, ctypes.POINTER(Span), ctypes.c_ssize_t, ctypes.POINTER(Span))
    out = (Span * 3)()
    n = cut(ctypes.byref(Span(start=8, step=1, count=7)), 5, out)
    assert [(one.chunk, one.start, one.count, one.out) for one in out[:n]] == [(1, 3, 2, 0), (2, 0, 5, 2)]


def test_decode_exact():
    numcodecs = pytest.importorskip("numcodecs")
    data = numcodecs.Zstd().encode(b"frames" * 1000)

    class Context(ctypes.Structure):
        _fields_ = (("zstd", ctypes.c_void_p), ("inflater", ctypes.c_void_p))

    context, out, found = Context(), ctypes.create_string_buffer(6000), ctypes.c_ssize_t()
    pointer = ctypes.POINTER(Context)
    function("context_init", None, pointer)(context)
    decode = function(
        "decode_exact",
        *[ctypes.c_int, ctypes.c_int, pointer, ctypes.c_char_p, ctypes.c_ssize_t],
        *[ctypes.c_char_p, ctypes.c_ssize_t, LENGTHS],
    )
    number = c_table.DECODERS.index("zstd")
    assert function("decoder_native", ctypes.c_int, ctypes.c_int)(number)
    code = decode(number, context, data, len(data), out, 6000, ctypes.byref(found))
    assert (c_table.STATUS[code], found.value, out.raw) == ("OK", 6000, b"frames" * 1000)
    code = decode(number, context, data[:-9], len(data) - 9, out, 6000, ctypes.byref(found))
    assert c_table.STATUS[code] in ("E_DECODE", "E_SIZE")
    function("context_free", None, pointer)(context)


def enumerated(text, name):
    body = re.search(rf"cdef enum {name}:\n((?:    .*\n)+)", text)[1]
    return {name: int(number) for name, number in re.findall(r"(\w+) = (\d+)", body)}


def test_numbers_are_those_that_are_compiled():
    status = enumerated((PXD / "status.pxd").read_text(), "Status")
    assert dict(zip(c_table.STATUS, range(100), strict=False)) == status
    decoders = enumerated((PXD / "natives.pxd").read_text(), "Decoder")
    assert decoders.pop("DECODERS") == len(c_table.DECODERS)
    assert {f"DECODE_{name.upper()}": at for at, name in enumerate(c_table.DECODERS)} == decoders


def fields(text):
    """The fields' names of each structure in C or Cython."""
    found = {}
    for name, body in re.findall(r"cdef struct (\w+):\n((?:    .*\n)+)", text):
        found[name] = re.findall(r"(\w+)(?:\[\w+\])?$", re.sub(r" *#.*", "", body), re.MULTILINE)
    for body, name in re.findall(r"typedef struct \{(.*?)\} (\w+);", text, re.DOTALL):
        found[name] = re.findall(r"(\w+)(?:\[\w+\])?[,;]", body)
    return found


def test_structures_have_the_fields_that_are_compiled():
    compiled = {}
    for module in ("types", "shardindex", "windows", "natives"):
        compiled |= fields((PXD / f"{module}.pxd").read_text())
    declared = fields(c_table.HEADER)
    assert set(declared) == {"Span", "Component", "ItemPlan", "IndexSpec", "Windows", "Context"}
    assert declared == {name: compiled[name] for name in declared}


def test_no_declaration_has_a_name_of_cythons():
    assert "__pyx" not in c_table.HEADER
    assert all(one.name in one.declaration and one.address for one in c_table.FUNCTIONS.values())


def test_cffi_reads_the_header():
    ffi = pytest.importorskip("cffi").FFI()
    ffi.cdef(c_table.HEADER)
    crc = ffi.cast("crc32c_t", c_table.FUNCTIONS["crc32c"].address)
    assert crc(b"123456789", 9) == 0xE3069283
    assert ffi.sizeof("Span") == ctypes.sizeof(Span)


def test_prototypes_of_the_process_are_left_alone():
    run_python("""
        import ctypes
        names = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
        before = [(one.restype, one.argtypes) for one in names]
        from cyzarr.kernels import c_table
        assert [(one.restype, one.argtypes) for one in names] == before
        assert c_table.FUNCTIONS["crc32c"].address
    """)
