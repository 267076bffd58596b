"""A pytest plugin for zarr's own tests: switch cyzarr on or hide it, and write down the outcomes.

``CYZARR_UPSTREAM_MODE`` is ``with`` or ``without``; ``CYZARR_UPSTREAM_RESULT`` names the file to
write. Under xdist each worker switches cyzarr on for itself and sends its counts home.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

WITH = os.environ["CYZARR_UPSTREAM_MODE"] == "with"
RESULT = Path(os.environ["CYZARR_UPSTREAM_RESULT"])


def is_ours(found: importlib.metadata.Distribution) -> bool:
    """Told by the entry points: one of zarr's tests adds a distribution that lacks even a name."""
    return any(entry.value.startswith("cyzarr:") for entry in found.entry_points)


def hide() -> None:
    """Make this process one where cyzarr is not installed: no entry points, no import."""
    distributions = importlib.metadata.distributions

    def without_ours(**params: Any) -> Iterator[importlib.metadata.Distribution]:
        return (found for found in distributions(**params) if not is_ours(found))

    importlib.metadata.distributions = without_ours  # type: ignore[assignment]
    sys.modules["cyzarr"] = None  # type: ignore[assignment]


# zarr.testing is a pytest plugin, too, and zarr collects entry points when imported. Plugins named
# by -p come first, so that hiding is early enough.
if not WITH:
    hide()


class Outcomes:
    """The outcome of each test, and cyzarr's counts summed over the workers."""

    def __init__(self) -> None:
        self.tests: dict[str, str] = {}
        self.reads: Counter[str] = Counter()
        self.fallbacks: Counter[str] = Counter()
        self.always_on = True

    def add_report(self, report: Any) -> None:
        """The first phase that is not a plain pass decides."""
        outcome = report.outcome
        if hasattr(report, "wasxfail"):
            outcome = "xfailed" if report.skipped else "xpassed"
        # Memory addresses in names differ between runs.
        name = re.sub(r" at 0x[0-9a-f]+", "", report.nodeid)
        if self.tests.get(name, "passed") == "passed":
            self.tests[name] = outcome

    def add_counts(self, counts: dict[str, Any]) -> None:
        self.reads.update(counts["reads"])
        self.fallbacks.update(counts["fallbacks"])
        self.always_on &= counts["enabled"]

    def write(self) -> None:
        content = {
            "tests": self.tests,
            "reads": self.reads,
            "fallbacks": self.fallbacks,
            "always_on": self.always_on,
        }
        RESULT.write_text(json.dumps(content))


outcomes = Outcomes()


def counts_here() -> dict[str, Any]:
    import cyzarr

    status = cyzarr.status()
    return {
        "enabled": status.enabled,
        "reads": dict(status.reads),
        "fallbacks": dict(status.fallbacks),
    }


def pytest_configure(config: Any) -> None:
    if WITH:
        import cyzarr

        cyzarr.enable()
    if config.pluginmanager.hasplugin("xdist"):
        config.pluginmanager.register(FromWorkers())


def pytest_runtest_logreport(report: Any) -> None:
    outcomes.add_report(report)


class FromWorkers:
    """Hooks that only exist where xdist does."""

    def pytest_testnodedown(self, node: Any) -> None:
        counts = getattr(node, "workeroutput", {}).get("cyzarr")
        if counts is not None:
            outcomes.add_counts(counts)


def pytest_sessionfinish(session: Any) -> None:
    workeroutput = getattr(session.config, "workeroutput", None)
    if WITH and workeroutput is not None:
        workeroutput["cyzarr"] = counts_here()


def pytest_unconfigure(config: Any) -> None:
    if hasattr(config, "workerinput"):
        return
    if WITH:
        outcomes.add_counts(counts_here())
    outcomes.write()
