"""Readings, ours and zarr-metadata's, as plain values that can be compared."""

from __future__ import annotations

from collections import Counter


def problems(found):
    """The multiset of (loc, kind): messages are for people."""
    return Counter((tuple(problem.loc), problem.kind) for problem in found)


def lengths(axes):
    """Lengths as sorted tuples, None where unknown."""
    return None if axes is None else tuple(None if axis is None else tuple(sorted(axis)) for axis in axes)


def stages(reading):
    """Of each of our stages, at every depth: where, which codec, its state, what it is handed."""
    return {loc: (*of(stage.codec), handed(stage.incoming, of)) for loc, stage in reading.stages()}


def of(field):
    return None if field is None else (field.state, field.name)


def handed(chunk, of):
    return None if chunk is None else (lengths(chunk.lengths), of(chunk.data_type))


def fields(reading):
    """Of all fields: where, and what became of them."""
    return {loc: of(field) for loc, field in reading.fields()}


def written_stages(case):
    """The stages that a case lists; a case names data types, not what became of them."""
    return {
        tuple(stage["loc"]): (
            stage["codec"],
            stage["incoming"] and (lengths(stage["incoming"]["lengths"]), stage["incoming"]["data_type"]),
        )
        for stage in case["stages"]
    }


def named_stages(reading):
    """Our stages with no more than a case lists."""
    return {
        loc: (
            stage.codec.name,
            stage.incoming
            and (lengths(stage.incoming.lengths), stage.incoming.data_type and stage.incoming.data_type.name),
        )
        for loc, stage in reading.stages()
    }
