"""What keeps cyzarr from doing its work: warned of once in a process, and kept for status()."""

from __future__ import annotations

import warnings

notes: list[str] = []
# What is wrong with the settings.
settings: list[str] = []


def warn_once(message: str) -> None:
    """Keep a note; the first one of a process is a RuntimeWarning, too."""
    if message in notes:
        return
    notes.append(message)
    if len(notes) == 1:
        warnings.warn(message, RuntimeWarning, stacklevel=4)


def warn_of_setting(message: str) -> None:
    """Keep a note on a setting; each that is new is a RuntimeWarning."""
    if message in settings:
        return
    settings.append(message)
    warnings.warn(message, RuntimeWarning, stacklevel=5)
