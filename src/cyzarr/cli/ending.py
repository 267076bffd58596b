"""How commands end: an exit status, and where something is wrong one line that says what."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

# Exit statuses, as every command's --help lists them.
FINE, BAD, WRONG, INTERRUPTED = 0, 1, 2, 130


class UsageError(Exception):
    """The command can't be carried out as given: status 2. The message is one line."""


class FailedError(Exception):
    """It was tried, and failed: status 1. The message is one line."""


def run(command: str, work: Callable[[], int]) -> int:
    """The exit status of a command's work; its errors are printed as one line."""
    try:
        status = work()
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # Who reads has seen enough; nothing is to be flushed into the pipe when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return FINE
    except UsageError as error:
        return failed(command, error, WRONG)
    except (FailedError, OSError, MemoryError) as error:
        return failed(command, error, BAD)
    except KeyboardInterrupt:
        return failed(command, "interrupted", INTERRUPTED)


def failed(command: str, why: object, status: int) -> int:
    """Print why, and return the status."""
    print(f"cyzarr {command}: {one_line(why)}", file=sys.stderr)
    return status


def one_line(what: object) -> str:
    """A text without line breaks; of an exception without a text its class."""
    text = " ".join(str(what).split())
    return text or (type(what).__name__ if isinstance(what, BaseException) else "")


def reason(error: BaseException) -> str:
    """An exception of somebody else's, in one line."""
    return one_line(f"{type(error).__name__}: {error}")


def print_json(document: Any) -> None:
    """Print a document for programs; what JSON doesn't know becomes text."""
    print(json.dumps(document, indent=2, default=str))
