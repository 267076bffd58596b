"""The commands, their arguments and their help. Loads nothing that takes time."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

DESCRIPTION = """\
Would cyzarr, whose compiled kernels read Zarr arrays, make your reads faster? What does a read cost, and why?
Nothing is ever written to your arrays, and no code of yours must change to find out.
"""

EPILOG = """\
examples:
  cyzarr demo                              try cyzarr on a volume of its own making
  cyzarr bench scans/brain.zarr            time reads of an array of yours, and count their bytes
  cyzarr explain scans/brain.zarr "3, ::8" what this selection would cost, and why
  cyzarr validate scans.zarr               judge the metadata of all arrays below a folder
  cyzarr info                              what runs here, to be pasted into a report
  cyzarr bench --help                      each command says more of itself

PATH is a folder, a .zip file or a URL; an array in a group is named as PATH::ARRAY. A group alone is
answered with the names of its arrays, so start with what you have.

exit status: 0 all is well; 1 something was found or failed; 2 the command was wrong, or PATH is no array;
130 interrupted. Errors are one line on standard error.

From Python: `import cyzarr.auto`, or cyzarr.enable(), switches cyzarr on.
"""

PATHS = """\
PATH is a folder, a .zip file, or a URL (s3://, https://, memory:// and others, through fsspec where
that is installed; options for it are given with --storage-option). An array within a group is named
behind it, as PATH ARRAY or as PATH::ARRAY; a group alone is answered with the names of its arrays.
"""

STATUSES = """
exit status: 0 {fine}; 1 {bad};
2 the command was wrong, or PATH is not an array; 130 interrupted. Errors are one line on standard error.
"""

DEMO = (
    """\
Read the same parts of an array through zarr's default pipeline, through zarr's fused
pipeline (where this zarr has it) and through cyzarr; check that every result is the same,
bit for bit; print times, bytes read and ratios.

These are read: one item, one inner chunk, a plane across each axis, a box that is aligned to
nothing, and everything (the leading part of an array too large for that, or of too many
chunks; a line below the table says so).

Without PATH a sharded uint16 volume is written to a temporary folder first, and removed at
the end. With PATH nothing is written anywhere. `cyzarr bench` can do more with an array of yours.

"""
    + PATHS
)

DEMO_EPILOG = """\
the table:
  times        milliseconds, the least of several reads; the engines take turns
  ratios       zarr's time over cyzarr's: above 1, cyzarr is faster
  bytes        of the result, then what each engine read from the store for it
               (K, M, G are powers of 1024; the array's metadata isn't counted)
""" + STATUSES.format(
    fine="all results equal", bad="a result differs, a read failed, or cyzarr could not be switched on"
)

BENCH = (
    """\
Would cyzarr help with this array? Representative reads are taken from the array's own grid: one item,
one chunk (or inner chunk), a plane across each axis, a box that is aligned to nothing, points here and
there, and everything, or as much of it as --max-bytes allows. Each is read through zarr's default
pipeline, its fused one (where this zarr has it), and cyzarr; with --peers through zarrs, zarrista and
tensorstore, too, where they are installed and can. All results are compared, bit for bit. Nothing is
written to PATH.

"""
    + PATHS
)

BENCH_EPILOG = """\
examples:
  cyzarr bench brain.zarr
  cyzarr bench brain.zarr --peers --plot brain.svg
  cyzarr bench s3://bucket/scans.zarr labels --storage-option anon=true --rounds 3
  cyzarr bench brain.zarr --json > brain.json

the tables:
  times        milliseconds, the least of the rounds; the engines take turns within each
  zarr/cyzarr  zarr's time over cyzarr's: above 1, cyzarr is faster
  requests     asked of the file system or store for one read, and the bytes that came back
               (K, M, G are powers of 1024; the array's metadata isn't counted; peers don't tell theirs)
  -            this peer can't do this read; a line below says why

Files are read warm: what the operating system caches is in its cache. Over a network the first reads
of all engines may find a cold cache somewhere; the least time is what counts.
""" + STATUSES.format(
    fine="all results equal", bad="a result differs, a read failed, or cyzarr could not be switched on"
)

EXPLAIN = (
    """\
How is this array read, and what would this selection cost? Printed are the chain of codecs, and what
decodes each; which parts of a stored object a read can do with; the requests and bytes that the
selection needs, by the plan that a read would make, against its own size and that of whole objects;
a drawing of the grid with the touched chunks; and advice, where the layout costs more than it must.

No data is read for the plan: shard indexes are, and objects are asked for their lengths. Local files
and memory need less than the plan says, because they are read directly: selections of up to 64 MiB
are read once, to count that (--no-read: not; --read: in any case, from any store).

"""
    + PATHS
)

EXPLAIN_EPILOG = """\
SELECTION is what stands between the brackets of array[...]: for each axis an integer, a slice
start:stop:step, or a list of integers, and ... for all axes between. Negative numbers count from
the end. Lists for all axes are points; beside slices one list is taken. Quote it for the shell.
Without a selection everything is planned, or as much as --max-chunks allows.

examples:
  cyzarr explain brain.zarr "0, 10:20, ::2"
  cyzarr explain brain.zarr "..., 100"
  cyzarr explain brain.zarr "-1"
  cyzarr explain scans.zarr image/0 "[1, 5, 9], 0:64"
  cyzarr explain https://example.org/scans.zarr::image/0 ":64, :64" --json
""" + STATUSES.format(fine="explained", bad="an index is damaged, or the store failed")

VALIDATE = """\
Judge the metadata of an array, or of every array below a group: each codec by the chunk that
it is handed, inside shards, too. All problems are listed, each with its place in the document.

PATH is a folder, a .zip file, a zarr.json, a URL (read through fsspec, where that is installed), or -
for a document on standard input. What lies within may be named behind it, as PATH ARRAY or as
PATH::ARRAY. Nothing is ever changed, and no chunk is read.
"""

VALIDATE_EPILOG = """\
examples:
  cyzarr validate scans.zarr
  cyzarr validate scans.zarr image/0
  cyzarr validate s3://bucket/scans.zarr --storage-option anon=true
  cyzarr validate - < zarr.json
  cyzarr validate scans.zarr --json

the output, a line for each array:
  ok    valid
  BAD   not valid; the problems follow, as PLACE: MESSAGE [KIND]
  skip  not judged (Zarr format 2)
  note  what keeps a decoder from trusting the document though it may be valid, such as a codec
        that nobody here knows

exit status: 0 no problems; 1 problems; 2 the command was wrong, or there was nothing to judge.
"""

INFO = """\
What runs here, to be pasted into a report: versions, which codecs are decoded by C functions, threads,
settings, whether cyzarr can be switched on and which way reads go, and what else is installed.
"""

INFO_EPILOG = """\
examples:
  cyzarr info
  ZARR_CYZARR__THREADS=1 cyzarr info
  cyzarr info --json

exit status: 0 cyzarr can be switched on; 1 it can't, and a note says why.
"""


class Parser(argparse.ArgumentParser):
    """One whose errors are one line, as those of the commands are."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see `{self.prog} --help`\n")


RAW = argparse.RawDescriptionHelpFormatter


def positive(text: str) -> int:
    """An argparse type: a whole number above zero."""
    number = whole(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, found {number}")
    return number


def whole(text: str) -> int:
    """A whole number, or what argparse says of any other text."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a whole number, found {text!r}") from None


def seconds(text: str) -> float:
    """An argparse type: a number of seconds, 0 or more."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < math.inf:
        raise argparse.ArgumentTypeError(f"expected a number of seconds, 0 or more, found {text!r}")
    return number


def nbytes(text: str) -> int:
    """An argparse type: a number of bytes, with K, M, G or T (powers of 1024) behind it."""
    units = {"K": 10, "M": 20, "G": 30, "T": 40}
    digits = text.strip().upper().removesuffix("B").removesuffix("I")
    unit = digits[-1:] if digits[-1:] in units else ""
    try:
        number = float(digits.removesuffix(unit)) * (1 << units.get(unit, 0))
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a number of bytes, as 64M or 2G, found {text!r}") from None
    if not 1 <= number < 1 << 62:
        raise argparse.ArgumentTypeError(f"must be at least 1 and below 4 EiB, found {text}")
    return int(number)


def common(command: argparse.ArgumentParser) -> None:
    """What every command takes."""
    command.add_argument("--json", action="store_true", help="print JSON instead of text")
    command.add_argument(
        "--progress",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="show progress on standard error (without: where that is a terminal and it takes over a second)",
    )


def add_places(command: argparse.ArgumentParser, usage: str, what: str) -> None:
    """An array's place, and what may follow it. Which is which is told apart by who opens the first."""
    command.usage = f"{command.prog} [options] {usage}"
    command.add_argument("places", nargs="*", metavar=usage, help=what)
    command.add_argument(
        "--storage-option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="for fsspec, such as anon=true; may be given several times",
    )


def add_demo(command: argparse.ArgumentParser) -> None:
    add_places(command, "[PATH [ARRAY]]", "an array of yours, to be read instead of the demo's own")
    command.add_argument(
        "--edge",
        type=positive,
        default=512,
        metavar="N",
        help="the demo's own volume has N x N x N items (default %(default)s: 256 MiB)",
    )
    command.add_argument(
        "--seconds",
        type=seconds,
        default=1.0,
        metavar="S",
        help="how long to go on timing each read (default %(default)s)",
    )


def add_bench(command: argparse.ArgumentParser) -> None:
    add_places(command, "PATH [ARRAY]", "the array to read")
    command.add_argument("--peers", action="store_true", help="read through zarrs, zarrista and tensorstore, too")
    command.add_argument(
        "--rounds", type=positive, default=5, metavar="N", help="how often each engine reads (default %(default)s)"
    )
    command.add_argument(
        "--max-bytes",
        type=nbytes,
        default=256 << 20,
        metavar="N",
        help="the largest result of one read, as 64M or 2G (default 256M)",
    )
    command.add_argument("--plot", metavar="FILE", help="draw the times, as .png or .svg (extra: cyzarr[plot])")


def add_explain(command: argparse.ArgumentParser) -> None:
    add_places(command, "PATH [ARRAY] [SELECTION]", "the array, and what to read of it, as below")
    command.add_argument(
        "--max-chunks",
        type=positive,
        default=10_000,
        metavar="N",
        help="the most stored chunks that are planned (default %(default)s)",
    )
    command.add_argument(
        "--read",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="read the selection once, and count that (without: where it is local and small)",
    )
    command.add_argument("--width", type=positive, metavar="N", help="columns of the drawing (default: the terminal's)")


def add_validate(command: argparse.ArgumentParser) -> None:
    add_places(command, "PATH [ARRAY]", "an array, a group, or a document")


def nothing(command: argparse.ArgumentParser) -> None:
    """No arguments of its own."""


# How many places a command takes, at least and at most.
PLACES = {"demo": (0, 2), "bench": (1, 2), "explain": (1, 3), "validate": (1, 2)}


# A command's name: its line in the list, description, epilog, and what adds its arguments.
COMMANDS: dict[str, tuple[str, str, str, Callable[[argparse.ArgumentParser], None]]] = {
    "demo": ("time the same reads through zarr and cyzarr, and compare the results", DEMO, DEMO_EPILOG, add_demo),
    "bench": ("time reads of your array through zarr, cyzarr and peers", BENCH, BENCH_EPILOG, add_bench),
    "explain": ("say what a read would cost, and why", EXPLAIN, EXPLAIN_EPILOG, add_explain),
    "validate": ("judge the metadata of arrays, and list all problems", VALIDATE, VALIDATE_EPILOG, add_validate),
    "info": ("say what runs here, to be pasted into a report", INFO, INFO_EPILOG, nothing),
}


def parser(version: str) -> argparse.ArgumentParser:
    """The whole command line."""
    top = Parser(prog="cyzarr", description=DESCRIPTION, epilog=EPILOG, formatter_class=RAW)
    top.add_argument("--version", action="version", version=f"cyzarr {version}")
    commands: Any = top.add_subparsers(title="commands", metavar="COMMAND", dest="command")
    for name, (line, description, epilog, add) in COMMANDS.items():
        command = commands.add_parser(name, help=line, description=description, epilog=epilog, formatter_class=RAW)
        add(command)
        common(command)
        command.set_defaults(refuse=command.error)
    return top


def parse(top: argparse.ArgumentParser, argv: Sequence[str]) -> argparse.Namespace:
    """Parse a command line; argparse's errors end the process with 2.

    Places and options may come in any order, and a selection may begin with a minus: argparse alone takes neither.
    """
    at = list(argv).index("--") if "--" in argv else len(argv)
    options, rest = top.parse_known_args(argv[:at])
    refuse = getattr(options, "refuse", top.error)
    places = [*getattr(options, "places", ()), *rest, *argv[at + 1 :]]
    unknown = [one for one in rest if one.startswith("-") and not re.match("-[0-9]", one)]
    if unknown:
        refuse(f"unrecognized arguments: {' '.join(unknown)}")
    least, most = PLACES.get(options.command, (0, 0))
    if options.command is not None and not least <= len(places) <= most:
        refuse("PATH is missing" if not places else f"unrecognized arguments: {' '.join(places[most:])}")
    if "" in places[:1]:
        refuse("PATH is empty")
    options.path = places[0] if places else None
    options.given = places[1:]
    return options
