"""The command line: ``cyzarr demo``, ``bench``, ``explain``, ``validate`` and ``info``.

    arguments   the commands and their help
    ending      exit statuses and errors
    progress    the bar
    selection, fitting    selections as text, and whether they fit an array
    source      an array by its path
    reads, engines, peers, measure    what is read, through what, and how that is measured
    report, drawing, plot             what is printed and drawn
    nodes, volume, urls               documents below a folder; the demo's own array; URLs
    demo, bench, explain, validate, info    a module for each command

Importing this module loads neither zarr nor anything compiled, so that ``--help`` and
``--version`` answer at once and work where the kernels can't be loaded.
"""

from __future__ import annotations

import argparse
import logging
import sys
import warnings
from collections.abc import Sequence
from typing import NoReturn

import cyzarr
from cyzarr.cli import ending
from cyzarr.cli.arguments import parse, parser


def run_demo(options: argparse.Namespace) -> int:
    from cyzarr.cli.demo import run

    name = next(iter(options.given), None)
    return run(
        options.path, name, options.storage_option, edge=options.edge, seconds=options.seconds, as_json=options.json
    )


def run_bench(options: argparse.Namespace) -> int:
    from cyzarr.cli.bench import run

    return run(
        options.path,
        next(iter(options.given), None),
        options.storage_option,
        with_peers=options.peers,
        rounds=options.rounds,
        max_nbytes=options.max_bytes,
        plot=options.plot,
        as_json=options.json,
    )


def run_explain(options: argparse.Namespace) -> int:
    from cyzarr.cli.explain import run

    return run(
        options.path,
        options.given,
        options.storage_option,
        options.max_chunks,
        options.read,
        as_json=options.json,
        width=options.width,
    )


def run_validate(options: argparse.Namespace) -> int:
    from cyzarr.cli.validate import run

    return run("::".join([options.path, *options.given]), options.storage_option, as_json=options.json)


def run_info(options: argparse.Namespace) -> int:
    from cyzarr.cli.info import run

    return run(as_json=options.json)


COMMANDS = {"demo": run_demo, "bench": run_bench, "explain": run_explain, "validate": run_validate, "info": run_info}


def script() -> NoReturn:
    """What the command `cyzarr` runs."""
    # Where a read fails or is interrupted, tasks of zarr or of a store's client may be left, and complain at any time:
    # the command says what is wrong, in a line.
    for name in ("asyncio", "zarr.core.sync"):
        logging.getLogger(name).disabled = True
    status = main()
    if status != ending.FINE:
        warnings.simplefilter("ignore")  # of coroutines that nobody awaits any more
        sys.unraisablehook = lambda _: None
    sys.exit(status)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status (argparse itself exits with 2)."""
    top = parser(cyzarr.__version__)
    options = parse(top, sys.argv[1:] if argv is None else argv)
    if options.command is None:
        top.print_help()
        return ending.WRONG

    def work() -> int:
        from cyzarr.cli import progress

        progress.ask(options.progress)
        return COMMANDS[options.command](options)

    return ending.run(options.command, work)
