"""Numbers as people read them: lengths in bytes, and so many of something.

Units of bytes are powers of 1024 everywhere, with three digits that count: ``64.2 KiB``, ``256 MiB``. Tables, whose
heads say "bytes", have the unit's first letter alone: ``64.2K``, ``256M``. Exact lengths are written out.
"""

from __future__ import annotations

UNITS = ("K", "M", "G", "T", "P", "E")


def nbytes_text(nbytes: int) -> str:
    """A length in bytes, for sentences: ``512 B``, ``64.2 KiB``, ``256 MiB``."""
    amount, unit = _scaled(nbytes)
    return f"{amount} {unit}iB" if unit else f"{amount} B"


def short_nbytes(nbytes: int) -> str:
    """A length in bytes, for tables, in five characters at most up to an EiB: ``512``, ``64.2K``, ``256M``."""
    return "".join(_scaled(nbytes))


def so_many(count: int, what: str) -> str:
    """So many of something that has a plain plural: ``1 chunk``, ``2,048 inner chunks``."""
    return f"{count:,} {what}{'s' if count != 1 else ''}"


def _scaled(nbytes: int) -> tuple[str, str]:
    """A number of at least 1, or 0, and the letter of its unit."""
    if nbytes < 1000:
        return str(nbytes), ""
    amount = float(nbytes)
    for unit in UNITS:
        amount /= 1024
        if amount < 999.5:
            return f"{amount:.3g}", unit
    return f"{amount:.0f}", UNITS[-1]
