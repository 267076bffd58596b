"""copy_block, fill_block and gather against their twins, and on arguments that don't fit."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided

import reference
from cyzarr import kernels
from support.kernel_strategies import (
    DTYPES,
    STRUCT,
    dtypes,
    index_arrays,
    placed,
    random_items,
    same_items,
    shapes,
)

REFUSED = (TypeError, ValueError)


@st.composite
def copies(draw):
    """A source and a destination of the same shape, each strided in its own way."""
    shape = draw(shapes())
    dtype = draw(dtypes)
    other = dtype.newbyteorder() if draw(st.booleans()) else dtype
    return draw(placed(shape, dtype)), draw(placed(shape, other))


@settings(deadline=None)
@given(copies())
def test_copy_equals_twin(arguments):
    src, dst = arguments
    expected = dst.view.copy()
    reference.copy_block(src.view, expected)
    kernels.copy_block(src.view, dst.view)
    assert same_items(dst.view, expected)
    assert dst.untouched()
    assert same_items(src.base, src._before)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("swap", [False, True], ids=["same", "swapped"])
def test_copy_long_runs(dtype, swap):
    """Long enough for any wide loop, with a ragged end, at addresses that are not aligned."""
    src = random_items((3, 259), dtype, 1)
    out_dtype = dtype.newbyteorder() if swap else dtype
    base = np.zeros(3 * 300 * dtype.itemsize + 1, dtype="u1")
    dst = base[1:].view(out_dtype).reshape(3, 300)[:, 7:266]
    kernels.copy_block(src, dst)
    assert same_items(dst, src)
    assert not base[1:].view(out_dtype).reshape(3, 300)[:, 266:].tobytes().strip(b"\0")
    assert not base[1:].view(out_dtype).reshape(3, 300)[:, :7].tobytes().strip(b"\0")


def test_copy_keeps_every_bit():
    """NaN payloads and signed zeros are bits like others."""
    bits = np.array([0x7FF8000000000123, 0x7FF0000000000001, 1 << 63, 0], dtype="u8")
    src = bits.view("f8")
    for out_dtype in ("<f8", ">f8"):
        dst = np.zeros(4, dtype=out_dtype)
        kernels.copy_block(src, dst)
        assert dst.view(out_dtype.replace("f", "u")).tolist() == bits.tolist()


def test_complex_is_swapped_by_component():
    src = np.array([1 + 2j, 3 - 4j], dtype=">c8")
    dst = np.zeros(2, dtype="<c8")
    kernels.copy_block(src, dst)
    assert dst.tolist() == [1 + 2j, 3 - 4j]


def test_struct_is_swapped_by_field():
    src = np.array([(1.5, 7, 200, (1j, 2))], dtype=STRUCT)
    dst = np.zeros(1, dtype=STRUCT.newbyteorder())
    kernels.copy_block(src, dst)
    assert same_items(dst, src)
    assert dst["mask"] == 7


def test_copy_of_broadcast_source():
    src = np.broadcast_to(np.arange(5, dtype="i4"), (3, 4, 5))
    dst = np.zeros((3, 4, 5), dtype="i4")
    kernels.copy_block(src, dst)
    assert np.array_equal(src, dst)


def test_copy_in_many_dimensions():
    shape = (1, 2) * 16
    src = np.arange(2**16, dtype="i4").reshape(shape).transpose()
    dst = np.zeros(src.shape, dtype="i4")
    kernels.copy_block(src, dst)
    assert np.array_equal(src, dst)


@pytest.mark.parametrize("ndim", [31, 32, 33, 64])
@pytest.mark.parametrize("dtype", ["<i4", ">i4", ">U2"])
def test_copy_up_to_the_most_dimensions(ndim, dtype):
    """NumPy has up to 64; fewer may be supported, by an error."""
    shape = (3,) + (1,) * (ndim - 3) + (2, 2)
    src = random_items(shape, "<" + dtype[1:], 1)
    dst = np.zeros(shape, dtype=dtype)
    try:
        kernels.copy_block(src.transpose(), dst.transpose())
    except ValueError:
        assert ndim > 32
        return
    assert same_items(src, dst)


def test_items_without_bytes():
    dtype = np.dtype([])
    src, dst = np.zeros((2, 3), dtype=dtype), np.zeros((2, 3), dtype=dtype)
    kernels.copy_block(src, dst)
    kernels.fill_block(dst, b"")
    kernels.gather(src, (np.array([1, 0]), np.array([2, 2, 0])), dst)


def test_copy_0d():
    dst = np.zeros((), dtype="i4")
    kernels.copy_block(np.array(7, dtype="i4"), dst)
    assert dst == 7


def test_copy_of_nothing():
    """An empty block is copied without looking at its memory or multiplying its sides."""
    giant = (2**30, 0, 2**20)
    src = as_strided(np.zeros(0, "i8"), giant, (2**60, 2**60, 2**60))
    dst = as_strided(np.zeros(0, "i8"), giant, (-(2**60), 2**60, 8))
    kernels.copy_block(src, dst)


@pytest.mark.parametrize(
    ("src_shape", "dst_shape"),
    [((3,), (4,)), ((4,), (3,)), ((2, 3), (3, 2)), ((6,), (2, 3)), ((), (1,)), ((1,), (5,)),
     ((0,), (1,)), ((2, 0), (0, 2))],
)  # fmt: skip
def test_copy_refuses_other_shape(src_shape, dst_shape):
    dst = np.full(dst_shape, 5, dtype="i4")
    with pytest.raises(ValueError):
        kernels.copy_block(np.ones(src_shape, dtype="i4"), dst)
    assert (dst == 5).all()


def test_copy_refuses_giant_of_other_shape():
    giant = as_strided(np.zeros(1, "u1"), (2**31, 2**31), (0, 0))
    small = np.zeros((2, 2), "u1")
    for src, dst in [(giant, small), (small, giant)]:
        with pytest.raises(ValueError):
            kernels.copy_block(src, dst)
    with pytest.raises(ValueError):
        kernels.gather(small, (np.arange(2), np.arange(2)), giant)


def test_gather_from_a_giant():
    """Items of a source that is far larger than its memory."""
    giant = as_strided(np.array([7], "u1"), (2**31, 2**31), (0, 0), writeable=False)
    dst = np.zeros((1, 2), "u1")
    kernels.gather(giant, (np.array([2**31 - 1]), np.array([0, 2**30])), dst)
    assert dst.tolist() == [[7, 7]]


@pytest.mark.parametrize(
    ("src", "dst"),
    [("i4", "i8"), ("i4", "u4"), ("i4", "f4"), ("S3", "S4"), ("S4", "V4"), ("M8[s]", "M8[ms]"),
     ("M8[s]", "i8"), ("c8", "f8"), ("u1", "?"), ("U2", "S8"), ([("a", "i4")], "i4"),
     ([("a", "i4")], [("b", "i4")]), ([("a", "i4"), ("b", "i4")], [("b", "i4"), ("a", "i4")]),
     ([("a", "i2"), ("b", "i4")], {"names": ["a", "b"], "formats": ["i2", "i4"], "offsets": [4, 0],
                                   "itemsize": 6})],
)  # fmt: skip
def test_copy_refuses_other_dtype(src, dst):
    target = np.zeros(3, dtype=dst)
    before = target.copy()
    with pytest.raises(REFUSED):
        kernels.copy_block(np.ones(3, dtype=src), target)
    assert target.tobytes() == before.tobytes()


@pytest.mark.parametrize("dtype", [object, [("a", "i4"), ("b", object)], np.dtypes.StringDType()], ids=str)
def test_objects_are_refused(dtype):
    """Their bytes are counted references."""
    a, b = np.zeros(2, dtype=dtype), np.zeros(2, dtype=dtype)
    item = bytes(a.dtype.itemsize)
    with pytest.raises(REFUSED):
        kernels.copy_block(a, b)
    with pytest.raises(REFUSED):
        kernels.fill_block(a, item)
    with pytest.raises(REFUSED):
        kernels.gather(a, (np.array([0, 1]),), b)


def test_read_only_destination_is_refused():
    dst = np.zeros(3, dtype="i4")
    dst.flags.writeable = False
    with pytest.raises(REFUSED):
        kernels.copy_block(np.ones(3, dtype="i4"), dst)
    with pytest.raises(REFUSED):
        kernels.fill_block(dst, b"\1\0\0\0")
    with pytest.raises(REFUSED):
        kernels.gather(np.ones(3, dtype="i4"), (np.arange(3),), dst)
    assert dst.tolist() == [0, 0, 0]


@pytest.mark.parametrize("wrong", [None, 3, b"abcd", [1, 2], "text"], ids=repr)
def test_what_is_no_array_is_refused(wrong):
    array = np.zeros(2, dtype="i4")
    with pytest.raises(REFUSED):
        kernels.copy_block(array, wrong)
    with pytest.raises(REFUSED):
        kernels.fill_block(wrong, b"\0\0\0\0")
    with pytest.raises(REFUSED):
        kernels.gather(array, (np.arange(2),), wrong)


@pytest.mark.parametrize(
    ("src", "dst"),
    [(slice(0, 6), slice(2, 8)), (slice(2, 8), slice(0, 6)), (slice(0, 6), slice(5, None, -1)),
     (slice(0, 8, 2), slice(0, 4)), (slice(0, 6), slice(0, 6))],
)  # fmt: skip
def test_overlap_is_copied_as_numpy_does_or_refused(src, dst):
    base = np.arange(8, dtype="i4")
    expected = base.copy()
    expected[dst] = base[src].copy()
    before = base.copy()
    try:
        kernels.copy_block(base[src], base[dst])
    except ValueError:
        assert np.array_equal(base, before)
    else:
        assert np.array_equal(base, expected)


def test_what_takes_long_to_be_told_apart_is_refused():
    base, strides = np.zeros(2, "u1"), [7 * 3**k + 1_000_000 for k in range(12)]
    src, dst = (as_strided(base[at:], (2,) * 12, strides) for at in (0, 1))
    with pytest.raises(ValueError, match="share memory"):
        kernels.copy_block(src, dst)


def test_interleaved_arrays_are_no_overlap():
    """The memory of the two interlocks, but no byte belongs to both."""
    base = np.arange(20, dtype="i4")
    try:
        kernels.copy_block(base[0::2], base[1::2])
    except ValueError:
        assert base.tolist() == list(range(20))
    else:
        assert base[1::2].tolist() == base[0::2].tolist() == list(range(0, 20, 2))


# fill_block


@settings(deadline=None)
@given(shapes().flatmap(lambda s: dtypes.flatmap(lambda d: placed(s, d))), st.integers(0, 2**32))
def test_fill_equals_twin(dst, seed):
    assume(dst.view.dtype.char not in "gG")  # NumPy's own fill drops the padding of a long double
    value = random_items((1,), dst.view.dtype, seed).tobytes()
    expected = dst.view.copy()
    reference.fill_block(expected, value)
    kernels.fill_block(dst.view, value)
    assert same_items(dst.view, expected)
    assert dst.untouched()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_fill_long_runs(dtype):
    base = np.zeros((3, 300), dtype=dtype)
    value = random_items((1,), dtype, 3)
    kernels.fill_block(base[:, 5:264], value.tobytes())
    assert same_items(base[:, 5:264], np.broadcast_to(value, (3, 259)))
    assert not base[:, :5].tobytes().strip(b"\0")
    assert not base[:, 264:].tobytes().strip(b"\0")


@pytest.mark.parametrize("dtype", ["<f8", ">f8", "<i2", ">c16", "?", "M8[s]"])
def test_fill_by_scalar(dtype):
    value = np.ones(1, dtype="i8").astype(dtype)[0]
    dst = np.zeros((2, 3), dtype=dtype)
    kernels.fill_block(dst, value)
    assert (dst == value).all()


def test_fill_keeps_every_bit():
    for bits in (0x7FF8000000000123, 1 << 63):
        dst = np.zeros(3, dtype="f8")
        kernels.fill_block(dst, bits.to_bytes(8, "little"))
        assert dst.view("u8").tolist() == [bits] * 3


@pytest.mark.parametrize("nbytes", [0, 1, 3, 5, 8])
def test_fill_refuses_other_itemsize(nbytes):
    dst = np.full(3, 7, dtype="i4")
    with pytest.raises(REFUSED):
        kernels.fill_block(dst, bytes(nbytes))
    assert dst.tolist() == [7, 7, 7]


def test_fill_of_nothing():
    kernels.fill_block(np.zeros((3, 0), dtype="i4"), b"\1\0\0\0")
    kernels.fill_block(as_strided(np.zeros(0, "i8"), (2**40, 0), (2**60, 2**60)), bytes(8))


# gather


@st.composite
def gathers(draw):
    shape = draw(shapes(min_dims=1, max_dims=3, min_side=1))
    dtype = draw(dtypes)
    other = dtype.newbyteorder() if draw(st.booleans()) else dtype
    indices = tuple(draw(index_arrays(size)).astype("i8") for size in shape)
    dst_shape = tuple(len(index) for index in indices)
    return draw(placed(shape, dtype)), indices, draw(placed(dst_shape, other))


@settings(deadline=None)
@given(gathers())
def test_gather_equals_twin(arguments):
    src, indices, dst = arguments
    expected = dst.view.copy()
    reference.gather(src.view, indices, expected)
    kernels.gather(src.view, indices, dst.view)
    assert same_items(dst.view, expected)
    assert dst.untouched()


@pytest.mark.parametrize("index_dtype", ["i8", "i4", "u1", "u8", ">i8"])
def test_gather_takes_any_integers(index_dtype):
    dst = np.zeros(3, dtype="i4")
    kernels.gather(np.arange(5, dtype="i4"), (np.array([4, 0, 4], dtype=index_dtype),), dst)
    assert dst.tolist() == [4, 0, 4]


def test_gather_takes_strided_indices():
    index = np.array([4, 9, 0, 9, 2, 9])[::2]
    dst = np.zeros(3, dtype="i4")
    kernels.gather(np.arange(5, dtype="i4"), (index,), dst)
    assert dst.tolist() == [4, 0, 2]


@pytest.mark.parametrize("bad", [5, 6, 2**31, 2**32, 2**62, -6, -(2**62), -(2**63)])
def test_gather_checks_bounds(bad):
    dst = np.full((2, 3), -1, dtype="i4")
    src = np.arange(20, dtype="i4").reshape(4, 5)
    with pytest.raises(IndexError):
        kernels.gather(src, (np.array([0, 1]), np.array([0, bad, 1])), dst)
    assert (dst == -1).all()


def test_gather_checks_bounds_of_unsigned():
    with pytest.raises((IndexError, *REFUSED)):
        index = np.array([2**64 - 1], dtype="u8")
        kernels.gather(np.arange(5, dtype="i4"), (index,), np.zeros(1, dtype="i4"))


def test_gather_from_nothing():
    with pytest.raises(IndexError):
        kernels.gather(np.zeros(0, "i4"), (np.array([0]),), np.zeros(1, "i4"))
    kernels.gather(np.zeros(0, "i4"), (np.zeros(0, "i8"),), np.zeros(0, "i4"))


@pytest.mark.parametrize(
    ("indices", "dst"),
    [((np.arange(2),), np.zeros((2, 2), "i4")), ((np.arange(2),) * 3, np.zeros((2, 2), "i4")),
     ((np.arange(2), np.arange(3)), np.zeros((2, 2), "i4")),
     ((np.arange(2), np.arange(1)), np.zeros((2, 2), "i4")),
     ((np.arange(2), np.arange(2)), np.zeros((2, 2), "i8")),
     ((np.arange(2), np.arange(2)), np.zeros(4, "i4")),
     ((np.arange(2.0), np.arange(2)), np.zeros((2, 2), "i4")),
     ((np.arange(4).reshape(2, 2), np.arange(2)), np.zeros((2, 2), "i4")),
     ((np.array([True, False]), np.arange(2)), np.zeros((2, 2), "i4"))],
)  # fmt: skip
def test_gather_refuses_what_does_not_fit(indices, dst):
    with pytest.raises((IndexError, *REFUSED)):
        kernels.gather(np.ones((4, 5), dtype="i4"), indices, dst)
    assert (dst == 0).all()


def test_gather_from_too_many_dimensions():
    with pytest.raises(ValueError, match="at most 32 axes, found 33"):
        kernels.gather(np.ones((1,) * 33, "i4"), (np.array([0]),) * 33, np.zeros(1, "i4"))


def test_gather_does_not_alias():
    """Gathered into its own source: as NumPy does, or refused."""
    base = np.arange(5, dtype="i4")
    index = np.array([4, 3, 2, 1, 0])
    try:
        kernels.gather(base, (index,), base)
    except ValueError:
        assert base.tolist() == [0, 1, 2, 3, 4]
    else:
        assert base.tolist() == [4, 3, 2, 1, 0]
