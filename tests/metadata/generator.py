"""Documents by chance, from a seed: valid ones, ones with something broken, and any JSON at all."""

from __future__ import annotations

import copy
from random import Random

from metadata.documents import CRC32C, base, cast, codec, rectilinear, regular, shard, transpose

TYPES = {
    "bool": False, "int8": -1, "uint8": 3, "int16": 5, "uint16": 0, "int32": 1, "uint32": 9, "int64": -4, "uint64": 7,
    "float16": 0.5, "float32": "NaN", "float64": "0x7ff8000000000000", "complex64": [0, "NaN"],
    "complex128": [1.5, "0x7ff8000000000000"], "r8": [1], "r16": [1, 2], "r24": [0, 0, 0], "string": "",
    "bytes": "QUE=",
}  # fmt: skip
SINGLE = ("bool", "int8", "uint8", "r8")
UNKNOWN_NAMES = ("acme.x", "acme.aa", "https://purl.org/x", "vlen-utf8", "lz4", "r*", "r12", "r0", "r008", "bfloat16")
SCALARS = (
    None, True, False, 0, 1, 2, 3, 4, 8, -1, 12, 2**31, 2**63, 2**64, -(2**70), 10**30, 1.0, 4.0, 0.5, -0.0, 1e300,
    float("nan"), float("inf"), "", "x", "little", "big", "end", "start", "bytes", "crc32c", "gzip", "transpose", "C",
    "sharding_indexed", "uint8", "float32", "struct", "NaN", "Infinity", "0x7fc0", "0x7fc00000", "NaT", "QQ==",
    "Bad.name", "acme.x", "regular", "default", "/", ".", "clamp", "wrap", "nearest-even", "noshuffle",
    "shuffle", "ns", "inline",
)  # fmt: skip
KEYS = (
    "name", "configuration", "must_understand", "endian", "level", "order", "chunk_shape", "chunk_shapes", "codecs",
    "index_codecs", "index_location", "data_type", "shape", "foo", "attributes", "dimension_names", "fill_value",
    "storage_transformers", "scalar_map", "out_of_range", "offset", "scale", "separator", "typesize", "kind",
    "checksum",
)  # fmt: skip


class Generator:
    """All that it gives follows from ``seed``."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def document(self):
        """A valid document, or one that was, or (rarely) anything."""
        if self.chance(0.02):
            return self.any_json(4)
        document = copy.deepcopy(self.valid())
        if self.chance(0.7):
            for _ in range(self.random.choice((1, 1, 1, 2, 3))):
                document = self.mutated(document)
        return document

    # -- valid ones ----------------------------------------------------------------------------

    def valid(self):
        """A document that says nothing wrong on purpose (a scalar may still not suit its data type)."""
        rank = self.random.choice((0, 1, 1, 2, 2, 2, 3))
        extents = [self.random.choice((0, 1, 7, 16, 24, 48)) for _ in range(rank)]
        data_type, fill_value = self.data_type()
        grid, lengths = self.grid(extents)
        codecs = self.pipeline(lengths, _name(data_type), self.random.choice((0, 1, 1, 2, 3)))
        more = {}
        if self.chance(0.1):
            more["attributes"] = {"a": self.any_json(2), "nan": float("nan")}
        if self.chance(0.1):
            more["dimension_names"] = [self.random.choice(("x", None)) for _ in extents]
        if self.chance(0.05):
            more["storage_transformers"] = [codec("acme.transformer")]
        if self.chance(0.05):
            more["acme_member"] = {"must_understand": self.chance(0.3), "x": float("inf")}
        document = base(codecs, grid=grid, shape=extents, data_type=data_type, fill_value=fill_value, **more)
        if self.chance(0.2):
            document["chunk_key_encoding"] = codec("v2", separator=self.random.choice("/."))
        return document

    def data_type(self):
        """A data type's field and a fill value."""
        if self.chance(0.08):
            fields = [self.data_type() for _ in range(self.random.randint(1, 3))]
            listed = [{"name": f"f{index}", "data_type": field} for index, (field, _) in enumerate(fields)]
            return codec("struct", fields=listed), {f"f{index}": fill for index, (_, fill) in enumerate(fields)}
        if self.chance(0.08):
            name = self.random.choice(("numpy.datetime64", "numpy.timedelta64"))
            return codec(name, unit="ns", scale_factor=1), self.random.choice((0, "NaT"))
        if self.chance(0.03):
            return self.random.choice(UNKNOWN_NAMES), None
        name = self.random.choice(tuple(TYPES))
        return (codec(name) if self.chance(0.1) else name), TYPES[name]

    def grid(self, extents):
        """A grid's field, and all lengths of its chunks along each axis (sets; None where unknown)."""
        if self.chance(0.05):
            return codec("acme.grid", a=1), [None] * len(extents)
        if self.chance(0.3) and extents:
            return self.rectilinear(extents)
        chunks = [self.random.choice((1, 4, 6, 8, 12, 16, 24)) for _ in extents]
        return regular(*chunks), [{chunk} for chunk in chunks]

    def rectilinear(self, extents):
        axes, lengths = [], []
        for extent in extents:
            if self.chance(0.2):
                axes.append(self.random.choice((4, 8, 12)))
                lengths.append({axes[-1]})
                continue
            runs = []
            while sum(length * count for length, count in runs) < extent or not runs:
                runs.append((self.random.choice((4, 8, 12, 16, 24)), self.random.randint(1, 3)))
            axes.append([length if count == 1 else [length, count] for length, count in runs])
            lengths.append({length for length, _ in runs})
        return rectilinear(*axes), lengths

    def pipeline(self, lengths, data_type, depth):
        """Codecs for a chunk of these lengths (None if the rank is unknown), shards ``depth`` deep."""
        codecs = []
        while self.chance(0.35):
            step, lengths, data_type = self.array_codec(lengths, data_type)
            codecs.append(step)
        codecs.append(self.shard(lengths, data_type, depth) if depth else self.bytes(data_type))
        while self.chance(0.3):
            codecs.append(self.bytes_codec())
        if self.chance(0.04):
            codecs.insert(self.random.randint(0, len(codecs)), self.random.choice(UNKNOWN_NAMES[:4]))
        return codecs

    def array_codec(self, lengths, data_type):
        """An array-to-array codec, and what it hands on."""
        if self.chance(0.7):
            order = list(range(len(lengths)))
            self.random.shuffle(order)
            return transpose(*order), [lengths[i] for i in order], data_type
        if self.chance(0.5):
            target = self.random.choice(("uint8", "int16", "float32", "acme.x", "numpy.datetime64"))
            made = cast(target)
            if self.chance(0.3):
                made["configuration"]["scalar_map"] = {"encode": [["NaN", 0]], "decode": [[0, "NaN"], [1, 2]]}
            if self.chance(0.3):
                made["configuration"]["out_of_range"] = self.random.choice(("clamp", "wrap"))
            return made, lengths, target
        made = self.random.choice(("scale_offset", codec("scale_offset", offset=1), codec("scale_offset", scale="NaN")))
        return made, lengths, data_type

    def shard(self, lengths, data_type, depth):
        inner = [self.divisor(axis) for axis in lengths]
        index = self.pipeline_of_index(len(lengths))
        codecs = self.pipeline([{length} for length in inner], data_type, depth - 1)
        more = {"index_location": self.random.choice(("start", "end"))} if self.chance(0.2) else {}
        return shard(inner, codecs, index, **more)

    def pipeline_of_index(self, rank):
        index = [codec("bytes", endian=self.random.choice(("little", "big")))]
        if self.chance(0.15):
            order = list(range(rank + 1))
            self.random.shuffle(order)
            index.insert(0, transpose(*order))
        if self.chance(0.7):
            index.append(self.random.choice((CRC32C, "crc32c")))
        return index

    def divisor(self, lengths):
        """A length that divides all of ``lengths``; rarely one that needn't."""
        if not lengths or self.chance(0.03):
            return self.random.choice((1, 2, 3, 4, 5))
        divisors = [n for n in range(1, min(lengths) + 1) if all(length % n == 0 for length in lengths)]
        return self.random.choice(divisors)

    def bytes(self, data_type):
        if data_type in SINGLE and self.chance(0.5):
            return self.random.choice(("bytes", codec("bytes")))
        return codec("bytes", endian=self.random.choice(("little", "big")))

    def bytes_codec(self):
        return self.random.choice(
            (
                CRC32C,
                "crc32c",
                codec("gzip", level=self.random.randint(0, 9)),
                codec("zstd", level=self.random.randint(-5, 22), checksum=self.chance(0.5)),
                codec("blosc", cname="lz4", clevel=5, shuffle="shuffle", typesize=2, blocksize=0),
                codec("blosc", cname="zstd", clevel=1, shuffle="noshuffle", blocksize=0),
            )
        )

    # -- broken ones ---------------------------------------------------------------------------

    def mutated(self, document):
        """``document`` with one change at a random place."""
        if not isinstance(document, (dict, list)):
            return document
        places = list(_containers(document))
        # Deep places outnumber all others: half of the time, choose among codecs and the root.
        holder = self.random.choice(places)
        if self.chance(0.3):
            holder = document
        (self.change_object if isinstance(holder, dict) else self.change_array)(holder, places)
        return document

    def change_object(self, holder, places):
        key = self.random.choice(list(holder)) if holder else None
        choice = self.random.random()
        if key is None or choice < 0.2:
            holder[self.random.choice(KEYS)] = self.value(places)
        elif choice < 0.4:
            del holder[key]
        elif choice < 0.5 and "name" in holder:
            holder["must_understand"] = self.random.choice((False, True, 0, None))
        elif choice < 0.6 and isinstance(holder.get("name"), str):
            holder["name"] = self.random.choice((*UNKNOWN_NAMES, "bytes", "transpose", "gzip", "crc32c", "Bad", "x", 7))
        else:
            holder[key] = self.nudged(holder[key]) if self.chance(0.5) else self.value(places)

    def change_array(self, holder, places):
        choice = self.random.random()
        if not holder or choice < 0.2:
            holder.insert(self.random.randint(0, len(holder)), self.value(places))
            return
        index = self.random.randrange(len(holder))
        if choice < 0.4:
            del holder[index]
        elif choice < 0.55:
            self.random.shuffle(holder)
        elif choice < 0.65:
            holder.append(copy.deepcopy(holder[index]))
        else:
            holder[index] = self.nudged(holder[index]) if self.chance(0.6) else self.value(places)

    def nudged(self, value):
        """Something near ``value``."""
        if isinstance(value, bool) or value is None:
            return self.random.choice(SCALARS)
        if isinstance(value, (int, float)):
            return self.random.choice((value + 1, value - 1, value * 2, -value, float(value), str(value), [value]))
        if isinstance(value, str):
            return self.random.choice((value + "x", value.upper(), {"name": value}, self.random.choice(SCALARS)))
        if isinstance(value, dict) and isinstance(value.get("name"), str) and self.chance(0.5):
            return value["name"]
        return [] if self.chance(0.2) else self.random.choice(SCALARS)

    def value(self, places):
        """A value from elsewhere in the document, a known field, or any JSON."""
        choice = self.random.random()
        if choice < 0.3:
            return copy.deepcopy(self.random.choice(places))
        if choice < 0.45:
            return copy.deepcopy(self.bytes_codec())
        if choice < 0.55:
            return self.bytes("uint8")
        if choice < 0.65:
            return self.data_type()[0]
        return self.any_json(2)

    def any_json(self, depth):
        choice = self.random.random()
        if depth == 0 or choice < 0.5:
            return self.random.choice(SCALARS)
        if choice < 0.75:
            return [self.any_json(depth - 1) for _ in range(self.random.randint(0, 4))]
        return {self.random.choice(KEYS): self.any_json(depth - 1) for _ in range(self.random.randint(0, 4))}


def _name(data_type):
    return data_type if isinstance(data_type, str) else data_type["name"]


def _containers(value):
    """All objects and arrays in ``value``, itself included."""
    yield value
    for item in value.values() if isinstance(value, dict) else value:
        if isinstance(item, (dict, list)):
            yield from _containers(item)
