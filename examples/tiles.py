"""A tile server: an ASGI application that serves a zarr image as PNG or raw tiles, by ranges of its shards.

    GET /info                      JSON: shape, data type, tile edge
    GET /ROW/COLUMN.png            a tile; .raw: its bytes in C order, with its shape in X-Shape

The application does its own I/O, concurrently, and knows nothing of zarr's stores: `cyzarr.plan` says which bytes of
which objects a tile needs and decodes them. Indexes of shards are kept. Any ASGI server runs it:

    uvicorn --factory tiles:application     # ZARR_IMAGE names the folder
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import struct
import tempfile
import zlib
from pathlib import Path
from typing import Any

import gain
import numpy as np
import zarr

import cyzarr


def png(image: np.ndarray) -> bytes:
    """An image of (rows, columns) or (rows, columns, 3) of uint8 or uint16 as PNG."""
    rows, columns = image.shape[:2]
    depth, color = 8 * image.itemsize, 2 if image.ndim == 3 else 0

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    # A filter number, 0 for none, before each row; numbers are big-endian.
    lines = np.zeros((rows, 1 + image[0].nbytes), np.uint8)
    lines[:, 1:] = np.ascontiguousarray(image.astype(image.dtype.newbyteorder(">"))).view(np.uint8).reshape(rows, -1)
    header = struct.pack(">IIBBBBB", columns, rows, depth, color, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(lines.tobytes(), 1))
        + chunk(b"IEND", b"")
    )


class Folder:
    """Objects in a folder; whatever has this `get` will do, such as a client of an object store."""

    def __init__(self, root: Path) -> None:
        self.root, self.requests, self.nbytes = Path(root), 0, 0

    def _get(self, wanted: cyzarr.ByteRange) -> bytes | None:
        try:
            with open(self.root / wanted.key, "rb") as file:
                file.seek(wanted.start, os.SEEK_SET if wanted.start >= 0 else os.SEEK_END)
                return file.read() if wanted.stop is None else file.read(wanted.stop - wanted.start)
        except FileNotFoundError:
            return None

    async def get(self, wanted: cyzarr.ByteRange) -> bytes | None:
        """Bytes of an object; None where there is none."""
        found = await asyncio.to_thread(self._get, wanted)
        self.requests += 1
        self.nbytes += 0 if found is None else len(found)
        return found


class Tiles:
    """The ASGI application.

    Parameters
    ----------
    objects : Folder
        Of an array of (rows, columns) or (rows, columns, 3).
    edge : int
        Of a tile; those at the image's end are smaller.
    """

    def __init__(self, objects: Any, edge: int = 256) -> None:
        self.objects, self.edge = objects, edge
        self.metadata = json.loads(objects._get(cyzarr.ByteRange("zarr.json", 0, None)) or b"{}")
        whole = cyzarr.plan(self.metadata, (slice(0, 0),))
        self.shape, self.dtype = tuple(self.metadata["shape"]), whole.dtype
        self.indexes: dict[cyzarr.ByteRange, bytes | None] = {}

    async def tile(self, row: int, column: int) -> np.ndarray | None:
        """The pixels of a tile; None outside of the image."""
        start = (row * self.edge, column * self.edge)
        if start[0] >= self.shape[0] or start[1] >= self.shape[1]:
            return None
        plan = cyzarr.plan(self.metadata, tuple(slice(at, at + self.edge) for at in start))
        unknown = [one for one in plan.index_requests if one not in self.indexes]
        found = await asyncio.gather(*[self.objects.get(one) for one in unknown])
        self.indexes |= zip(unknown, found, strict=True)
        ranges = plan.requests([self.indexes[one] for one in plan.index_requests], max_gap_nbytes=1 << 14)
        buffers = await asyncio.gather(*[self.objects.get(one) for one in ranges])
        return await asyncio.to_thread(plan.decode, buffers)

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            while (await receive())["type"] != "lifespan.shutdown":
                await send({"type": "lifespan.startup.complete"})
            await send({"type": "lifespan.shutdown.complete"})
            return
        status, headers, body = await self.answer(scope["method"], scope["path"])
        headers["content-length"] = str(len(body))
        pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": status, "headers": pairs})
        await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})

    async def answer(self, method: str, path: str) -> tuple[int, dict[str, str], bytes]:
        """(status, headers, body)."""
        if method not in ("GET", "HEAD"):
            return 405, {"allow": "GET, HEAD"}, b""
        if path == "/info":
            info = {"shape": self.shape, "dtype": str(self.dtype), "edge": self.edge}
            return 200, {"content-type": "application/json"}, json.dumps(info).encode()
        named = re.fullmatch(r"/(\d{1,9})/(\d{1,9})\.(png|raw)", path, re.ASCII)
        image = None if named is None else await self.tile(int(named[1]), int(named[2]))
        if named is None or image is None:
            return 404, {"content-type": "text/plain"}, b"no such tile"
        if named[3] == "png":
            return 200, {"content-type": "image/png"}, await asyncio.to_thread(png, image)
        shape = {"x-shape": ",".join(map(str, image.shape)), "x-dtype": image.dtype.str}
        return 200, {"content-type": "application/octet-stream", **shape}, image.tobytes()


def application() -> Tiles:
    """For a server's --factory."""
    return Tiles(Folder(Path(os.environ["ZARR_IMAGE"])))


async def request(app: Any, path: str, method: str = "GET") -> tuple[int, dict[str, str], bytes]:
    """What an ASGI application answers, without a server."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(event: dict[str, Any]) -> None:
        sent.append(event)

    await app({"type": "http", "method": method, "path": path, "headers": [], "query_string": b""}, receive, send)
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], headers, b"".join(event.get("body", b"") for event in sent[1:])


def make(folder: Path, edge: int) -> np.ndarray:
    """A picture in shards of 1024 squared, inner chunks of 128 squared."""
    rows, columns = np.mgrid[0:edge, 0:edge]
    picture = np.stack([rows // 7 % 256, columns // 5 % 256, (rows ^ columns) % 256], axis=-1).astype("u1")
    picture ^= np.random.default_rng(0).integers(0, 4, picture.shape, dtype="u1")
    array = zarr.create_array(folder, shape=picture.shape, shards=(1024, 1024, 3), chunks=(128, 128, 3), dtype="u1")
    array[...] = picture
    return picture


def main(edge: int = 2048, n_tiles: int = 40) -> dict[str, float]:
    """Compare with the same tiles taken from a zarr array."""
    with tempfile.TemporaryDirectory() as folder:
        picture = make(Path(folder), edge)
        app = Tiles(Folder(Path(folder)), 256)
        array = zarr.open_array(folder, mode="r")
        places = np.random.default_rng(1).integers(0, edge // 256, (n_tiles, 2)).tolist()

        async def served() -> list[bytes]:
            return [(await request(app, f"/{row}/{column}.raw"))[2] for row, column in places]

        async def by_zarr() -> list[bytes]:
            boxes = [(slice(256 * r, 256 * r + 256), slice(256 * c, 256 * c + 256)) for r, c in places]
            # What such a server does with plain zarr: it reads in a thread, too.
            return [(await asyncio.to_thread(array.__getitem__, box)).tobytes() for box in boxes]

        assert asyncio.run(served()) == asyncio.run(by_zarr())
        assert asyncio.run(request(app, "/0/0.raw"))[2] == picture[:256, :256].tobytes()
        print(f"{app.objects.requests} requests, {app.objects.nbytes / len(places) / 1e3:.0f} KB for each tile")
        return gain.table(
            f"{n_tiles} tiles of 256 x 256 x 3",
            {"zarr": lambda: asyncio.run(by_zarr()), "tiles": lambda: asyncio.run(served())},
        )


if __name__ == "__main__":
    main()
