"""The C decoders against numcodecs' own functions, and against bytes meant to do harm."""

import ctypes
import gzip
import itertools
import mmap
import os
import random
import shutil
import struct
import subprocess
import sys
import textwrap
import zlib
from concurrent.futures import ThreadPoolExecutor

import google_crc32c
import numcodecs
import numcodecs.blosc
import numcodecs.lz4
import numcodecs.zstd
import numpy as np
import pytest

from cyzarr.kernels import decompress
from cyzarr.kernels.decompress import decode, decode_each, decode_into

GUARD = 64
LIMIT = 1 << 22
CNAMES = ("blosclz", "lz4", "lz4hc", "zlib", "zstd")


# ---------------------------------------------------------------- oracles


def crc32c_oracle(data: bytes) -> bytes:
    if google_crc32c.value(data[:-4]).to_bytes(4, "little") != data[-4:]:
        raise ValueError("checksum")
    return data[:-4]


ORACLES = {
    "zstd": lambda data: bytes(numcodecs.zstd.decompress(data)),
    "blosc": lambda data: bytes(numcodecs.blosc.decompress(data)),
    "lz4": lambda data: bytes(numcodecs.lz4.decompress(data)),
    "gzip": lambda data: bytes(numcodecs.GZip().decode(data)),
    "zlib": lambda data: bytes(numcodecs.Zlib().decode(data)),
    "crc32c": crc32c_oracle,
}


@pytest.fixture(autouse=True)
def blosc_in_one_thread(monkeypatch):
    monkeypatch.setattr(numcodecs.blosc, "use_threads", False)


def zstd_frame(data: bytes) -> tuple[int, bool]:
    """The stored length of the first frame, 0 where it is not whole, and whether it has no size."""
    if len(data) < 8 or data[:4] != b"\x28\xb5\x2f\xfd":
        skip = data[1:4] == b"\x2a\x4d\x18" and data[0] >> 4 == 5 and len(data) >= 8
        nbytes = 8 + int.from_bytes(data[4:8], "little") if skip else 0
        return (nbytes if nbytes <= len(data) else 0), False
    descriptor = data[4]
    single = descriptor >> 5 & 1
    at = 5 + (1 - single) + (0, 1, 2, 4)[descriptor & 3]
    at += (single, 2, 4, 8)[descriptor >> 6]
    last = 0
    while not last:
        block = int.from_bytes(data[at : at + 3], "little")
        if at + 3 > len(data) or block >> 1 & 3 == 3:
            return 0, False
        last = block & 1
        at += 3 + (1 if block >> 1 & 3 == 1 else block >> 3)
    at += 4 * (descriptor >> 2 & 1)
    return (at if at <= len(data) else 0), descriptor & 0xE0 == 0


def zstd_may_hang(data: bytes) -> bool:
    """Part of a frame after a frame without a content size: numcodecs may ask for more for ever."""
    streamed = False
    while data:
        nbytes, unsized = zstd_frame(data)
        if nbytes == 0:
            return streamed
        streamed = streamed or unsized
        data = data[nbytes:]
    return False


def oracle_may_see(name: str, data: bytes) -> bool:
    """Whether numcodecs is safe to ask; where it is not, we have to raise.

    It hands c-blosc a pointer without a length, so that would read past shorter bytes.
    """
    if name == "zstd":
        return not zstd_may_hang(data)
    if name != "blosc":
        return True
    return len(data) >= 16 and 16 <= int.from_bytes(data[12:16], "little", signed=True) <= len(data)


def attempt(function, *args, **options):
    """The result, or None where it raised."""
    try:
        return function(*args, **options)
    except (ValueError, RuntimeError, SystemError, MemoryError, EOFError, OSError, zlib.error):
        return None


def ours(data: bytes, name: str, nbytes: int | None = None) -> bytes | None:
    """Our result; None for ValueError, and nothing else may be raised."""
    try:
        return decode(name, data, nbytes) if nbytes is not None else decode(name, data, limit=LIMIT)
    except ValueError:
        return None


class Fenced:
    """Memory that ends where a page begins that may be neither read nor written."""

    def __init__(self, nbytes: int):
        self.nbytes = -(-nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
        self.map = mmap.mmap(-1, self.nbytes + mmap.PAGESIZE)
        anchor = ctypes.c_char.from_buffer(self.map)
        start = ctypes.addressof(anchor)
        del anchor
        page = ctypes.c_void_p(start + self.nbytes)
        assert ctypes.CDLL(None).mprotect(page, ctypes.c_size_t(mmap.PAGESIZE), 0) == 0

    def last(self, nbytes: int) -> memoryview:
        """The nbytes before the fence."""
        return memoryview(self.map)[self.nbytes - nbytes : self.nbytes]

    def holding(self, data: bytes) -> memoryview:
        self.last(len(data))[:] = data
        return self.last(len(data))


def decode_guarded(name: str, data: bytes, nbytes: int) -> bytes | None:
    """Decode into the middle of a larger buffer, of which the rest must stay as it was."""
    base = bytearray(b"\xa5" * (nbytes + 2 * GUARD))
    result = None
    try:
        decode_into(name, data, memoryview(base)[GUARD : GUARD + nbytes])
        result = bytes(base[GUARD : GUARD + nbytes])
    except ValueError:
        pass
    assert base[:GUARD] == b"\xa5" * GUARD
    assert base[GUARD + nbytes :] == b"\xa5" * GUARD
    return result


def check_equal(name: str, data: bytes, usual_nbytes: int) -> None:
    """All our ways to decode agree with numcodecs: the same bytes, or all raise."""
    if not oracle_may_see(name, data):
        assert ours(data, name) is None
        assert decode_guarded(name, data, usual_nbytes) is None
        return
    expected = attempt(ORACLES[name], data)
    assert ours(data, name) == expected
    nbytes = usual_nbytes if expected is None else len(expected)
    assert decode_guarded(name, data, nbytes) == expected
    if nbytes != usual_nbytes:
        assert decode_guarded(name, data, usual_nbytes) is None


# ---------------------------------------------------------------- sources


def plain_bytes(nbytes: int, seed: int = 0, kind: str = "mixed") -> bytes:
    rng = np.random.default_rng(seed)
    if kind == "zeros":
        return bytes(nbytes)
    if kind == "noise":
        return rng.bytes(nbytes)
    ramp = (np.arange(nbytes // 2 + 1, dtype="<u2") // 3) + rng.integers(0, 2, nbytes // 2 + 1)
    return ramp.astype("<u2").tobytes()[:nbytes]


def blosc(plain: bytes, cname="lz4", shuffle=1, typesize=4, clevel=5, blocksize=0) -> bytes:
    return numcodecs.blosc.compress(plain, cname.encode(), clevel, shuffle, blocksize=blocksize, typesize=typesize)


def without_content_size(frame: bytes) -> bytes:
    """The same zstd frame as a streaming writer makes it: a window of 1 MiB, no content size."""
    descriptor = frame[4]
    size_nbytes = (1 if descriptor & 0x20 else 0, 2, 4, 8)[descriptor >> 6]
    body = 5 + (0 if descriptor & 0x20 else 1)
    assert descriptor & 3 == 0, "a dictionary id is not expected"
    return frame[:4] + bytes([descriptor & 0x1F, 10 << 3]) + frame[body + size_nbytes :]


def skippable(payload: bytes) -> bytes:
    return struct.pack("<II", 0x184D2A53, len(payload)) + payload


def gzip_member(plain: bytes, flags: int = 0, level: int = 6) -> bytes:
    """A gzip member with any of the optional header fields."""
    packer = zlib.compressobj(level, zlib.DEFLATED, -15)
    head = b"\x1f\x8b\x08" + bytes([flags]) + bytes(6)
    head += b"\x05\x00extra" if flags & 4 else b""
    head += b"a name\0" if flags & 8 else b""
    head += b"a comment\0" if flags & 16 else b""
    head += b"\x12\x34" if flags & 2 else b""
    body = packer.compress(plain) + packer.flush()
    return head + body + struct.pack("<II", zlib.crc32(plain), len(plain))


def small_sources() -> dict[tuple[str, str], bytes]:
    """Short good sources of every kind, for trying every flip on."""
    text = plain_bytes(300, 1)
    zstd = numcodecs.zstd.compress
    summed = zstd(text, 3, True)
    sources = {
        ("zstd", "one frame"): zstd(text, 1),
        ("zstd", "checksum"): summed,
        ("zstd", "raw block"): zstd(plain_bytes(90, 2, "noise"), 1),
        ("zstd", "run"): zstd(bytes(5000), 1),
        ("zstd", "two frames"): zstd(text[:150], 1) + zstd(text[150:], 1, True),
        ("zstd", "skippable"): skippable(b"hello") + summed + skippable(b""),
        ("zstd", "no size"): without_content_size(zstd(text, 1)),
        ("zstd", "no size, checksum"): without_content_size(summed),
        ("zstd", "sized, then not"): summed + without_content_size(zstd(text, 1)),
        ("lz4", "text"): numcodecs.lz4.compress(text),
        ("lz4", "noise"): numcodecs.lz4.compress(plain_bytes(60, 3, "noise")),
        ("lz4", "run"): numcodecs.lz4.compress(bytes(5000)),
        ("zlib", "text"): zlib.compress(text, 9),
        ("zlib", "stored"): zlib.compress(text[:100], 0),
        ("zlib", "trailing"): zlib.compress(text, 6) + b"more",
        ("gzip", "text"): gzip.compress(text, mtime=0),
        ("gzip", "all fields"): gzip_member(text, 2 | 4 | 8 | 16),
        ("gzip", "two members"): gzip_member(text[:99]) + bytes(7) + gzip_member(text[99:]),
        ("gzip", "padded"): gzip_member(text) + bytes(5),
        ("gzip", "empty members"): gzip_member(b"") + gzip_member(b"x") + gzip_member(b""),
        ("blosc", "memcpyed"): blosc(plain_bytes(70, 4, "noise")),
        ("crc32c", "text"): text[:50] + google_crc32c.value(text[:50]).to_bytes(4, "little"),
    }
    for cname, shuffle in itertools.product(CNAMES, (0, 1, 2)):
        sources["blosc", f"{cname} {shuffle}"] = blosc(plain_bytes(600, 5), cname, shuffle)
    sources["blosc", "blocks"] = blosc(plain_bytes(700, 6), "lz4", 1, 2, 5, 256)
    sources["blosc", "splits"] = blosc(plain_bytes(1100, 7), "blosclz", 1, 2, 5, 512)
    sources["blosc", "trailing"] = blosc(plain_bytes(600, 8), "zstd") + b"more"
    return sources


SOURCES = small_sources()
each_source = pytest.mark.parametrize(
    ("name", "data"), [(key[0], data) for key, data in SOURCES.items()], ids=map(", ".join, SOURCES)
)


# ---------------------------------------------------------------- good bytes


def test_every_decoder_is_native_here():
    assert decompress.native() == dict.fromkeys(decompress.NAMES, True)


@pytest.mark.parametrize("name", decompress.NAMES)
def test_known_answers(name):
    source = bytes.fromhex(decompress.ANSWERS[name])
    expected = decompress.KNOWN[:9] if name == "crc32c" else decompress.KNOWN
    assert decode(name, source) == expected
    assert decode(name, source, len(expected)) == expected
    assert ORACLES[name](source) == expected


@each_source
def test_small_sources(name, data):
    check_equal(name, data, len(ORACLES[name](data)))


@pytest.mark.parametrize("kind", ["mixed", "noise", "zeros"])
@pytest.mark.parametrize("nbytes", [1, 2, 7, 127, 128, 1000, 65536, 65537, 300_001])
def test_lengths(nbytes, kind):
    plain = plain_bytes(nbytes, nbytes, kind)
    stored = {
        "zstd": [numcodecs.zstd.compress(plain, level) for level in (-5, 1, 9)],
        "lz4": [numcodecs.lz4.compress(plain)],
        "gzip": [numcodecs.GZip(level).encode(plain) for level in (0, 1, 9)],
        "zlib": [zlib.compress(plain, level) for level in (0, 1, 9)],
        "blosc": [blosc(plain, cname) for cname in CNAMES],
        "crc32c": [plain + google_crc32c.value(plain).to_bytes(4, "little")],
    }
    stored["zstd"] += [without_content_size(stored["zstd"][1])]
    for name, sources in stored.items():
        for data in sources:
            assert decode(name, data) == plain
            assert decode_guarded(name, data, nbytes) == plain
            assert decode(name, data, limit=nbytes) == plain


@pytest.mark.parametrize("shuffle", [0, 1, 2])
@pytest.mark.parametrize("cname", CNAMES)
def test_blosc_settings(cname, shuffle):
    for typesize, clevel, blocksize in itertools.product((1, 2, 3, 4, 8, 16, 17, 255), (0, 1, 5, 9), (0, 128, 4096)):
        plain = plain_bytes(10_000 + typesize, typesize)
        data = blosc(plain, cname, shuffle, typesize, clevel, blocksize)
        assert numcodecs.blosc.decompress(data) == plain
        assert decode_guarded("blosc", data, len(plain)) == plain
        assert decode("blosc", data) == plain


def test_longer_than_a_first_buffer():
    plain = plain_bytes(3 << 20, 1, "zeros") + plain_bytes(100_000, 2)
    for name, data in {
        "zstd": numcodecs.zstd.compress(plain, 1),
        "gzip": gzip_member(plain[:70_000]) + gzip_member(plain[70_000:]),
        "zlib": zlib.compress(plain),
    }.items():
        assert decode(name, data) == plain
        assert decode(name, data, limit=len(plain)) == plain
        assert attempt(decode, name, data, limit=len(plain) - 1) is None
    unsized = without_content_size(numcodecs.zstd.compress(plain, 1))
    assert decode("zstd", unsized) == plain
    assert attempt(decode, "zstd", unsized, limit=len(plain) - 1) is None


def test_no_bytes():
    """gzip takes nothing for no members at all; a zstd frame that declares 0 bytes is refused."""
    for name in ORACLES:
        check_equal(name, b"", 0)
    check_equal("zstd", numcodecs.zstd.compress(b""), 0)
    check_equal("zstd", without_content_size(numcodecs.zstd.compress(b"")), 0)
    check_equal("zstd", skippable(b"only"), 0)
    check_equal("lz4", bytes(4), 0)
    check_equal("lz4", bytes(5), 0)
    check_equal("zlib", zlib.compress(b""), 0)
    check_equal("gzip", gzip_member(b""), 0)
    check_equal("blosc", numcodecs.blosc.compress(b"", b"lz4", 5), 0)
    check_equal("crc32c", bytes(4), 0)


@pytest.mark.parametrize("name", ["zstd", "gzip", "zlib"])
@pytest.mark.parametrize("tail", [b"\0", bytes(9), b"\x1f", b"\x1f\x8b", b"garbage", b"\x28\xb5"])
def test_trailing_bytes(name, tail):
    text = plain_bytes(300, 1)
    good = {
        "zstd": numcodecs.zstd.compress(text, 1),
        "gzip": gzip_member(text),
        "zlib": zlib.compress(text),
    }[name]
    check_equal(name, good + tail, 300)
    if name == "zstd":
        check_equal(name, without_content_size(good) + tail, 300)


def test_zstd_window_over_128_mib():
    """numcodecs streams a frame without a content size, and streams refuse such a window."""
    frame = bytearray(without_content_size(numcodecs.zstd.compress(plain_bytes(300, 1), 1)))
    for window in (17 << 3, 17 << 3 | 1, 18 << 3, 21 << 3):
        frame[5] = window
        check_equal("zstd", bytes(frame), 300)


def test_zstd_run_longer_than_a_block():
    """One call would decode this; numcodecs streams it, as it declares no length, and refuses."""
    frame = without_content_size(numcodecs.zstd.compress(plain_bytes(300, 1), 1))[:6]
    block = ((2_000_000 << 3) | 1 << 1 | 1).to_bytes(3, "little") + b"a"
    check_equal("zstd", frame + block, 2_000_000)
    assert ours(frame + block, "zstd") is None


def test_zstd_part_of_a_frame_after_one_without_size():
    """numcodecs 0.16 and 0.17 ask for the missing part for ever."""
    frame = without_content_size(numcodecs.zstd.compress(plain_bytes(300, 1), 1))
    for stop in range(1, len(frame)):
        assert ours(frame + frame[:stop], "zstd") is None
        assert decode_guarded("zstd", frame + frame[:stop], 300) is None
    assert ours(frame + frame, "zstd") == 2 * plain_bytes(300, 1)


def test_zlib_preset_dictionary():
    packer = zlib.compressobj(zdict=b"a dictionary of words")
    check_equal("zlib", packer.compress(b"a dictionary") + packer.flush(), 12)


# ---------------------------------------------------------------- bad bytes


@each_source
def test_every_truncation(name, data):
    nbytes = len(ORACLES[name](data))
    for stop in range(len(data)):
        check_equal(name, data[:stop], nbytes)


def refused_by_us_only(name: str, data: bytes) -> bool:
    """Damage that numcodecs may take and we do not; no encoder writes either.

    A blosc block that starts inside the header or the table of starts: c-blosc decodes it where a
    good stream happens to be there. Blosc blocks that are no whole number of splits: numcodecs
    returns bytes that nothing wrote.
    """
    if name != "blosc":
        return False
    flags, typesize = data[2], data[3]
    nbytes, blocksize = struct.unpack("<ii", data[4:12])
    if flags & 2 or typesize == 0 or not 0 < blocksize <= nbytes or nbytes // blocksize > 9999:
        return False
    split = not flags & 0x10 and typesize <= 16 and blocksize // typesize >= 128
    uneven = split and blocksize % typesize != 0
    blocks = -(-nbytes // blocksize)
    starts = struct.unpack_from(f"<{blocks}i", data, 16) if 16 + 4 * blocks <= len(data) else ()
    return uneven or any(start < 16 + 4 * blocks for start in starts)


@each_source
def test_every_flip(name, data):
    nbytes = len(ORACLES[name](data))
    masks = [1 << bit for bit in range(8)] + [255]
    for at, mask in itertools.product(range(len(data)), masks):
        flipped = bytearray(data)
        flipped[at] ^= mask
        flipped = bytes(flipped)
        if oracle_may_see(name, flipped) and refused_by_us_only(name, flipped):
            assert ours(flipped, name) is None
            assert decode_guarded(name, flipped, nbytes) is None
        else:
            check_equal(name, flipped, nbytes)


@pytest.mark.parametrize("name", decompress.NAMES)
def test_random_damage(name):
    """Many changes at once: no crash, nothing read or written outside what was given."""
    rng = random.Random(name)
    stored, out = Fenced(8000), Fenced(8000)
    sources = [(data, len(ORACLES[name](data))) for key, data in SOURCES.items() if key[0] == name]
    for _ in range(4000):
        data, nbytes = rng.choice(sources)
        damaged = bytearray(data)
        for _ in range(rng.randint(1, 6)):
            at = rng.randrange(len(damaged))
            damaged[at] = rng.choice((0, 255, 127, 128, rng.randrange(256)))
        damaged = bytes(damaged[: rng.choice((len(damaged), rng.randrange(len(damaged) + 1)))])
        source = stored.holding(damaged)
        result = ours(source, name)
        assert decode_guarded(name, source, nbytes) in (None, result)
        attempt(decode_into, name, source, out.last(nbytes))


def test_random_damage_in_parts_of_blosc():
    """Nothing is read beyond the container, and a part is what decoding all gives."""
    rng = random.Random(5)
    stored = Fenced(8000)
    sources = [(data, len(ORACLES["blosc"](data))) for key, data in SOURCES.items() if key[0] == "blosc"]
    right = 0
    for turn in range(4000):
        data, nbytes = rng.choice(sources)
        damaged = bytearray(data)
        for _ in range(rng.randint(0, 4)):
            damaged[rng.randrange(min(len(data), rng.choice((16, 60, 8000))))] = rng.choice((0, 255, 128, 1))
        source = stored.holding(bytes(damaged[: len(data) if turn % 3 else rng.randrange(len(data) + 1)]))
        first = rng.randrange(nbytes)
        count = rng.randrange(nbytes - first + 1)
        part = attempt(decompress.decode_blosc_part, source, nbytes, first, count)
        whole = ours(source, "blosc", nbytes)
        assert part is None or whole is None or part == whole[first : first + count]
        right += part is not None
    assert right > 400


@pytest.mark.parametrize("name", decompress.NAMES)
def test_random_bytes(name):
    rng = random.Random(name)
    for length in list(range(40)) * 10:
        check_equal(name, rng.randbytes(length), 100)


@each_source
def test_wrong_expected_length(name, data):
    nbytes = len(ORACLES[name](data))
    for wrong in {0, 1, nbytes - 1, nbytes + 1, 2 * nbytes, nbytes + 65536} - {nbytes, -1}:
        with pytest.raises(ValueError, match=f"^{name}: .*expected {wrong}"):
            decode(name, data, wrong)
        assert decode_guarded(name, data, wrong) is None


def test_blosclz_length_that_runs_over():
    """A match's length of more than 2**31: c-blosc's own check misses it."""
    nbytes = 32 << 20
    for row in (8_421_600, 4 << 20, 17_000_000):
        stream = b"\0a\xe0" + b"\xff" * row + b"\0\0" + b"\0a"
        cbytes = 16 + 4 + 4 + len(stream)
        head = struct.pack("<BBBBiii", 2, 1, 0x10, 1, nbytes, nbytes, cbytes)
        data = head + struct.pack("<ii", 20, len(stream)) + stream
        for pad in (b"", b"\0" * 1000):
            with pytest.raises(ValueError, match="corrupt"):
                decode("blosc", data + pad, nbytes)


def test_blosc_large_blosclz_blocks():
    """Blocks so large that the check for such lengths runs, on good data."""
    plain = plain_bytes(1 << 20, 1, "noise") * 2
    plain = (plain[: 5 << 19] + b"\xff" * 1000) * 5
    data = blosc(plain, "blosclz", 0, 1, 9, len(plain))
    assert decode("blosc", data, len(plain)) == plain


# ---------------------------------------------------------------- bombs


def test_limits():
    zeros = bytes(2_000_000)
    sources = {
        "zstd": numcodecs.zstd.compress(zeros),
        "blosc": blosc(zeros),
        "lz4": numcodecs.lz4.compress(zeros),
        "gzip": gzip_member(zeros),
        "zlib": zlib.compress(zeros),
        "crc32c": zeros + google_crc32c.value(zeros).to_bytes(4, "little"),
    }
    for name, data in sources.items():
        assert decode(name, data, limit=len(zeros)) == zeros
        for limit in (0, 1000, len(zeros) - 1):
            with pytest.raises(ValueError, match=f"{name}: .*limit of {limit} bytes"):
                decode(name, data, limit=limit)
    with pytest.raises(ValueError, match="limit"):
        decode("zstd", without_content_size(sources["zstd"]), limit=1000)
    for limit in (-1, -(2**60)):
        with pytest.raises(ValueError):
            decode("gzip", sources["gzip"], limit=limit)


def run(code: str, env: dict[str, str] | None = None) -> str:
    """Run code in a fresh interpreter; its output."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        env={**os.environ, **(env or {}), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_declared_lengths_take_no_memory():
    """Lies about a length end in ValueError even where there is no memory for what they declare."""
    code = """
        import resource, struct
        from cyzarr.kernels.decompress import decode
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20),) * 2)
        lies = [
            ("zstd", bytes.fromhex("28b52ffde0") + struct.pack("<Q", 1 << 40) + b"\\1\\0\\0"),
            ("zstd", bytes.fromhex("28b52ffde0") + struct.pack("<Q", 1 << 40) + b"\\3\\0\\1a"),
            ("lz4", struct.pack("<I", 2**31 - 1) + bytes(100)),
            ("blosc", struct.pack("<BBBBiiiii", 2, 1, 0x91, 4, 2**31 - 17, 1 << 20, 24, 20, 0)),
            ("blosc", struct.pack("<BBBBiiiii", 2, 1, 0x91, 4, 600 << 20, 600 << 20, 24, 20, 0)),
        ]
        for name, data in lies:
            try:
                decode(name, data)
            except ValueError:
                print("refused")
    """
    if not sys.platform.startswith("linux"):
        pytest.skip("needs /proc")
    assert run(code).split() == ["refused"] * 5


# ---------------------------------------------------------------- the table


@pytest.fixture
def table_off():
    decompress.set_native(False)
    yield
    decompress.set_native(True)


def test_switched_off(table_off):
    assert not any(decompress.native().values())
    for name in decompress.NAMES:
        with pytest.raises(RuntimeError, match=name):
            decode(name, b"")
        with pytest.raises(RuntimeError, match=name):
            decode(name, b"", 0)


def test_checksum_by_our_tables(table_off):
    data = plain_bytes(5000, 1, "noise")
    for start, length in itertools.product(range(9), (0, 1, 3, 7, 8, 9, 15, 16, 17, 64, 4000)):
        part = data[start : start + length]
        assert decompress.checksum(part) == google_crc32c.value(part)


def test_checksum_native():
    for length in (0, 1, 8, 9, 4000):
        data = plain_bytes(length, length, "noise")
        assert decompress.checksum(data) == google_crc32c.value(data)


REPORT = """
    import sys, warnings
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        {before}
        from cyzarr.kernels import decompress
    ours = [w for w in caught if "cyzarr" in str(w.message)]
    print(len(ours), ours[0].category.__name__ if ours else "-")
    missing = [name for name, there in decompress.native().items() if not there]
    print(*missing)
    print(all(name in str(ours[0].message) for name in missing))
    print(decompress.checksum(b"123456789") == 0xE3069283)
"""


@pytest.mark.parametrize(
    ("before", "missing"),
    [
        ("import numcodecs; sys.modules['numcodecs.zstd'] = None", "zstd"),
        ("import numcodecs; sys.modules['numcodecs.blosc'] = None", "blosc gzip zlib"),
        ("sys.modules['google_crc32c'] = None", "crc32c"),
        ("sys.modules['numcodecs'] = None", "zstd blosc lz4 gzip zlib"),
        (
            "from numcodecs import lz4, zstd; zstd.__file__ = lz4.__file__",
            "zstd",
        ),
        ("import numcodecs.lz4; numcodecs.lz4.__file__ = '/no/such/file'", "lz4"),
        ("import numcodecs.lz4; numcodecs.lz4.__file__ = None", "lz4"),
    ],
)
def test_one_warning_names_what_is_missing(before, missing):
    lines = run(REPORT.format(before=before)).splitlines()
    assert lines == ["1 RuntimeWarning", missing, "True", "True"]


def test_no_warning_where_all_is_there():
    code = "import warnings; warnings.simplefilter('error'); import cyzarr.kernels.decompress"
    assert run(code) == ""


def test_a_decoder_with_wrong_answers_is_not_used(tmp_path):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    source, library = tmp_path / "wrong.c", tmp_path / "wrong.so"
    source.write_text(
        "int LZ4_decompress_safe(const char* s, char* d, int n, int m) { return m; }\n"
        "unsigned crc32c_extend(unsigned c, const void* p, unsigned long n) { return 7; }\n"
    )
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    before = (
        f"import numcodecs.lz4, google_crc32c._crc32c as crc; numcodecs.lz4.__file__ = crc.__file__ = {str(library)!r}"
    )
    lines = run(REPORT.format(before=before)).splitlines()
    assert lines == ["1 RuntimeWarning", "lz4 crc32c", "True", "True"]


# ---------------------------------------------------------------- contexts, threads, arguments


def test_contexts_are_as_new_after_failures():
    """One worker's contexts serve every decoder in any order, good and bad sources mixed."""
    rng = random.Random(1)
    jobs, expected = [], []
    for _ in range(600):
        (name, _label), data = rng.choice(list(SOURCES.items()))
        plain = ORACLES[name](data)
        nbytes = rng.choice((None, len(plain), len(plain) + 1))
        cut = rng.choice((len(data), len(data) // 2))
        jobs.append((name, data[:cut], nbytes))
        good = nbytes != len(plain) + 1 and cut == len(data)
        expected.append(plain if good else attempt(decode, *jobs[-1]))
    for job, result, wanted in zip(jobs, decode_each(jobs), expected, strict=True):
        assert isinstance(result, ValueError) if wanted is None else result == wanted, job[0]


def test_threads():
    plain = plain_bytes(200_000, 1)
    sources = [
        ("zstd", numcodecs.zstd.compress(plain)),
        ("blosc", blosc(plain)),
        ("gzip", gzip_member(plain)),
    ]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda job: decode(*job, len(plain)), sources * 20))
    assert all(result == plain for result in results)


def test_arguments():
    data = numcodecs.zstd.compress(b"abc" * 50)
    assert decode("zstd", np.frombuffer(data, "u1")) == b"abc" * 50
    assert decode("zstd", np.frombuffer(data + data, "V2")) == b"abc" * 100
    assert decode("zstd", memoryview(b"--" + data)[2:]) == b"abc" * 50
    with pytest.raises(ValueError, match="unknown decoder 'lzma'"):
        decode("lzma", data)
    with pytest.raises(ValueError, match="negative"):
        decode("zstd", data, -1)
    with pytest.raises(BufferError):
        decode("zstd", memoryview(data)[::2])
    with pytest.raises(TypeError):
        decode(None, data)
    with pytest.raises(BufferError):
        decode_into("zstd", data, bytes(150))
    shared = bytearray(data + bytes(150))
    with pytest.raises(ValueError, match="share memory"):
        decode_into("zstd", memoryview(shared)[: len(data)], memoryview(shared)[len(data) - 1 :])
