"""A format of one's own: frames of one size in one file, a camera's say, read by the window kernels.

The file is a line of JSON, padded to 4096 bytes, and then frame after frame, uncompressed. `block_window` says which
bytes of a frame hold a region; these alone are read, into scratch where the region is narrower than they are, and
`copy_block` places them. Nothing of zarr is used but to compare with.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Self

import gain
import numpy as np
import zarr

from cyzarr import kernels

if TYPE_CHECKING:
    from collections.abc import Iterable

HEADER_NBYTES = 4096


class FrameFile:
    """Reads regions of frames.

    Attributes
    ----------
    shape : tuple of int
        (frames, rows, columns)
    dtype : dtype
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDONLY)
        header = json.loads(os.pread(self._file, HEADER_NBYTES, 0))
        self.shape, self.dtype = tuple(header["shape"]), np.dtype(header["dtype"])
        self._frame_nbytes = self.shape[1] * self.shape[2] * self.dtype.itemsize
        stored = os.fstat(self._file).st_size - HEADER_NBYTES
        if stored != self.shape[0] * self._frame_nbytes:
            raise ValueError(f"{path}: expected {self.shape[0]} frames of {self._frame_nbytes} bytes, found {stored}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        os.close(self._file)

    def read(self, frames: Iterable[int], rows: slice, columns: slice, out: np.ndarray | None = None) -> np.ndarray:
        """The region of each of some frames, into `out` of shape (frames, rows, columns), of any strides."""
        frames = list(frames)
        # The same for every frame: which block of it to read, and what of the block is wanted.
        offset, block, within = kernels.block_window((rows, columns), self.shape[1:])
        picked = np.empty(block, self.dtype)
        region = picked[within]
        if out is None:
            out = np.empty((len(frames), *region.shape), self.dtype)
        for slot, frame in zip(out, frames, strict=True):
            if not 0 <= frame < self.shape[0]:
                raise IndexError(f"frame {frame}: expected 0 to {self.shape[0] - 1}")
            at = HEADER_NBYTES + frame * self._frame_nbytes + offset * self.dtype.itemsize
            direct = slot.flags.c_contiguous and region.shape == picked.shape
            target = slot if direct else picked
            if os.preadv(self._file, [target.reshape(-1).view(np.uint8)], at) != target.nbytes:
                raise OSError(f"frame {frame}: the file ends before it")
            if not direct:
                kernels.copy_block(region, slot)
        return out


def write(path: Path, values: np.ndarray) -> None:
    """Store frames."""
    header = json.dumps({"shape": values.shape, "dtype": values.dtype.str}).encode()
    path.write_bytes(header.ljust(HEADER_NBYTES) + values.tobytes())


def main(frames: int = 200, edge: int = 512) -> dict[str, float]:
    """Compare with the same frames as a zarr array, a chunk for each frame."""
    values = np.random.default_rng(0).integers(0, 4096, (frames, edge, edge), dtype="u2")
    rows, columns = slice(edge // 4, edge // 4 + 64), slice(edge // 2, edge // 2 + 64)
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / "frames.bin", values)
        array = zarr.create_array(
            Path(folder) / "frames.zarr", shape=values.shape, chunks=(1, edge, edge), dtype="u2", compressors=None
        )
        array[...] = values
        with FrameFile(Path(folder) / "frames.bin") as file:
            assert (file.read(range(frames), rows, columns) == values[:, rows, columns]).all()
            assert (array[:, rows, columns] == values[:, rows, columns]).all()
            return gain.table(
                f"64 x 64 of each of {frames} frames of {edge} x {edge}",
                {
                    "zarr, a chunk for each frame": lambda: array[:, rows, columns],
                    "frames": lambda: file.read(range(frames), rows, columns),
                },
            )


if __name__ == "__main__":
    main()
