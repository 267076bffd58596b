"""The command line: ``cyzarr demo [PATH]`` and ``cyzarr validate PATH``.

Importing this module loads neither zarr nor anything compiled, so that ``--help`` and
``--version`` answer at once and work where the kernels can't be loaded.
"""

import argparse
from collections.abc import Sequence

DESCRIPTION = "Compiled kernels that make reading Zarr arrays fast."

EPILOG = """\
examples:
  cyzarr demo                    try cyzarr on a volume of its own making
  cyzarr demo scans/brain.zarr   the same reads on an array of yours
  cyzarr demo --help             what is read, and how to read the table
  cyzarr validate scans.zarr     judge the metadata of all arrays below a folder
"""

DEMO_DESCRIPTION = """\
Read the same parts of an array through zarr's default pipeline, through zarr's fused
pipeline (where this zarr has it) and through cyzarr; check that every result is the same,
bit for bit; print times, bytes read and ratios.

Read are: one item, one inner chunk, a plane across each axis, a box that is aligned to
nothing, and everything (the leading part of an array too large for that, or of too many
chunks; a line below the table says so).

Without PATH a sharded uint16 volume is written to a temporary folder first, and removed at
the end. With PATH nothing is written anywhere.
"""

DEMO_EPILOG = """\
the table:
  times        milliseconds, the least of several reads; the engines take turns
  ratios       zarr's time over cyzarr's: above 1, cyzarr is faster
  bytes        of the result, then what each engine read from the store for it
               (K, M, G are powers of 1024; the array's metadata isn't counted)

exit status: 0 all results equal; 1 a result differs, a read failed, or cyzarr could not be
switched on; 2 the command was wrong or PATH is not an array.
"""

VALIDATE_DESCRIPTION = """\
Judge the metadata of an array, or of every array below a group: each codec by the chunk that
it is handed, inside shards, too. All problems are listed, each with its place in the document.

PATH is a folder, a zarr.json, a URL (read through fsspec, where that is installed), or - for a
document on standard input. Nothing is ever changed, and no chunk is read.
"""

VALIDATE_EPILOG = """\
the output, a line for each array:
  ok    valid
  BAD   not valid; the problems follow, as PLACE: MESSAGE [KIND]
  skip  not judged (Zarr format 2)
  note  what keeps a decoder from trusting the document though it may be valid, such as a codec
        that nobody here knows

exit status: 0 no problems; 1 problems; 2 the command was wrong, or there was nothing to judge.
"""


def version() -> str:
    """The installed version; ``unknown`` when run from a folder that isn't installed."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("cyzarr")
    except PackageNotFoundError:
        return "unknown"


def positive(text: str) -> int:
    """An argparse type: a whole number above zero."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, found {number}")
    return number


def run_demo(options: argparse.Namespace) -> int:
    from cyzarr.cli.demo import run

    return run(options.path, edge=options.edge, seconds=options.seconds)


def run_validate(options: argparse.Namespace) -> int:
    from cyzarr.cli.validate import run

    return run(options.path, as_json=options.json)


def parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    top = argparse.ArgumentParser(prog="cyzarr", description=DESCRIPTION, epilog=EPILOG, formatter_class=raw)
    top.add_argument("--version", action="version", version=f"cyzarr {version()}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND")
    demo = commands.add_parser(
        "demo",
        help="time the same reads through zarr and cyzarr, and compare the results",
        description=DEMO_DESCRIPTION,
        epilog=DEMO_EPILOG,
        formatter_class=raw,
    )
    demo.add_argument("path", nargs="?", metavar="PATH", help="a Zarr array: a folder, a .zip file or a URL")
    demo.add_argument(
        "--edge",
        type=positive,
        default=512,
        metavar="N",
        help="the demo's own volume has N x N x N items (default %(default)s: 256 MiB)",
    )
    demo.add_argument(
        "--seconds",
        type=float,
        default=1.0,
        metavar="S",
        help="how long to go on timing each read (default %(default)s)",
    )
    demo.set_defaults(run=run_demo)
    add_validate(commands)
    return top


def add_validate(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    validate = commands.add_parser(
        "validate",
        help="judge the metadata of arrays, and list all problems with their places",
        description=VALIDATE_DESCRIPTION,
        epilog=VALIDATE_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    validate.add_argument("path", metavar="PATH", help="a folder, a zarr.json, a URL, or -")
    validate.add_argument("--json", action="store_true", help="print JSON instead of text")
    validate.set_defaults(run=run_validate)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status (argparse itself exits with 2)."""
    top = parser()
    options = top.parse_args(argv)
    if not hasattr(options, "run"):
        top.print_help()
        return 2
    return int(options.run(options))
