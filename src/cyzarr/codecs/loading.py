"""How the codecs, which zarr loads at any time, come by the compiled code: when a read first asks for it."""

from __future__ import annotations

from typing import Any

# What is given where the kernels don't hold a chunk: zarr's own code decodes it.
NOT_NATIVE: Any = object()


class _Nothing:
    """Stands for the functions of `partial` where the kernels can't be loaded."""

    @staticmethod
    def decode_sync(*_: Any) -> Any:
        return NOT_NATIVE

    decode_whole = decode_sync

    @staticmethod
    async def decode_async(*_: Any) -> Any:
        return NOT_NATIVE

    decode_whole_async = decode_async


def load_partial() -> Any:
    """The functions that decode by the kernels; after one warning, where these can't be loaded, ones that don't."""
    try:
        from cyzarr.codecs import partial
    except ImportError as error:
        from cyzarr.notes import warn_once

        warn_once(f"cyzarr's kernels can't be loaded, zarr reads as it did: {error}")
        return _Nothing
    return partial
