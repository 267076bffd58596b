"""What keeps cyzarr from doing its work: warned of once in a process, and kept for status()."""

from __future__ import annotations

import warnings

notes: list[str] = []
# What is wrong with the settings as they are now.
settings: list[str] = []
_warned: set[str] = set()


def warn_once(message: str) -> None:
    """Keep a note; the first one of a process is a RuntimeWarning, too."""
    if message in notes:
        return
    notes.append(message)
    if len(notes) == 1:
        warnings.warn(message, RuntimeWarning, stacklevel=4)


def tell_of_settings(messages: list[str]) -> None:
    """Keep notes on the settings; each that is new to this process is a RuntimeWarning."""
    settings[:] = messages
    for message in messages:
        if message not in _warned:
            _warned.add(message)
            warnings.warn(message, RuntimeWarning, stacklevel=4)
