"""Switch cyzarr on in the workers of a dask cluster. The only module that needs `distributed`.

What runs in the process that calls compute(), as under dask's threaded scheduler, needs none of this:
`cyzarr.enable()` is enough there.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from distributed.diagnostics.plugin import WorkerPlugin

from cyzarr.activate import enabled

if TYPE_CHECKING:
    from distributed.worker import Worker

__all__ = ["Plugin"]


class Plugin(WorkerPlugin):  # type: ignore[misc]
    """Has cyzarr switched on in each worker, those that join later and restarted ones included.

    Registered twice it is there once. When it is unregistered, workers are as they were before. Each worker needs
    cyzarr installed. A worker whose zarr cyzarr doesn't know, or that can't load the kernels, warns once in its log
    and reads by zarr.

    Examples
    --------
    >>> client.register_plugin(cyzarr.dask.Plugin())
    >>> client.run(cyzarr.status)
    """

    name = "cyzarr"
    idempotent = True

    def __init__(self) -> None:
        self._open = ExitStack()

    def setup(self, worker: Worker) -> None:
        """Switch on. Workers that share a process share the switch, too: the last of them to leave puts it back."""
        self._open.enter_context(enabled())

    def teardown(self, worker: Worker) -> None:
        """Put back."""
        self._open.close()
