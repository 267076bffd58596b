"""The codec chain of an array as stages, in the order of encoding, and what decodes each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from zarr.abc.codec import ArrayArrayCodec, ArrayBytesCodec
from zarr.codecs import TransposeCodec
from zarr.codecs._v2 import V2Codec

from cyzarr.kernels import decompress
from cyzarr.planning import foreign
from cyzarr.planning.program import DECODERS, describe_index, kind_of

NATIVE = "native"
STRIDES = "native: strides, costs nothing"
TWIN = "numcodecs' Python function (no C function, or cyzarr.native is off)"
OWN = "its own codec, in Python"
OWN_BY_ITEM = "its own codec, in Python, on the block that is wanted"


@dataclass(frozen=True)
class Stage:
    """One codec of a chain.

    Attributes
    ----------
    depth : int
        0 around the chunk, 1 within a shard's inner chunks, and so on.
    part : str
        Where it stands: "array to array", "array to bytes", "bytes to bytes" or "index".
    name : str
    configuration : dict
        Its own, without the chains of a shard, which are stages.
    decoded_by : str
        Begins with "native" where the kernels do it.
    """

    depth: int
    part: str
    name: str
    configuration: dict[str, Any] = field(default_factory=dict)
    decoded_by: str = NATIVE

    @property
    def is_native(self) -> bool:
        """Whether kernels decode it."""
        return self.decoded_by.startswith(NATIVE)


def stages_of(codecs: Any, depth: int = 0, part: str = "") -> list[Stage]:
    """The stages of a chain, those of a shard's inner chunks and index right after the shard."""
    found = []
    for codec in codecs:
        if type(codec) is V2Codec:
            return _v2(codec)
        found.append(Stage(depth, part or _part(codec), *_named(codec), _decoded_by(codec)))
        if kind_of(codec) == "shard":
            found += stages_of(codec.codecs, depth + 1)
            found += stages_of(codec.index_codecs, depth + 1, "index")
    return found


def _part(codec: Any) -> str:
    if isinstance(codec, ArrayArrayCodec):
        return "array to array"
    return "array to bytes" if isinstance(codec, ArrayBytesCodec) else "bytes to bytes"


def _named(codec: Any) -> tuple[str, dict[str, Any]]:
    try:
        document = codec.to_dict()
    except Exception:  # a third party's may have none
        return type(codec).__name__, {}
    own = {
        name: getattr(value, "value", value)
        for name, value in document.get("configuration", {}).items()
        if name not in ("codecs", "index_codecs")
    }
    return str(document.get("name", type(codec).__name__)), own


def _decoded_by(codec: Any) -> str:
    if type(codec) is TransposeCodec:
        return STRIDES
    if kind_of(codec) == "shard":
        return OWN if describe_index(codec) is None else NATIVE
    if kind_of(codec) == "bytes":
        return NATIVE
    if type(codec) in DECODERS:
        return NATIVE if decompress.native().get(DECODERS[type(codec)][0]) else TWIN
    return OWN_BY_ITEM if type(codec) in foreign.ELEMENTWISE else OWN


def _v2(codec: V2Codec) -> list[Stage]:
    """A chunk of format 2: filters, items in either order, and at most one compressor."""
    filters = codec.filters or ()
    found = [Stage(0, "array to array", *_numcodec(one), OWN) for one in filters]
    found.append(Stage(0, "array to bytes", "bytes", {}, OWN if filters else NATIVE))
    if codec.compressor is not None:
        how = _decoded_by(codec.compressor)
        found.append(Stage(0, "bytes to bytes", *_numcodec(codec.compressor), OWN if how == OWN_BY_ITEM else how))
    return found


def _numcodec(codec: Any) -> tuple[str, dict[str, Any]]:
    document = dict(codec.get_config())
    return str(document.pop("id", type(codec).__name__)), document
