"""The command line of a benchmark: its parts, their options, a folder for runs, and the line of conditions at the end.

    @part(epochs=4, replicas=[4, 8], quick={"epochs": 1})
    def twins(arguments): ...               # returns words on its runs for the line of conditions

    if __name__ == "__main__":
        main(__doc__)

Every part has --threads, --runs DIR (keep runs there, and use those that are there) and --quick: a try of seconds, not a measurement.
An option's type is that of its default: numbers, words, lists separated by commas (words that hold commas: by semicolons), True or
False; `...` is a word that must be given; `set` takes KEY=VALUE several times.
"""
import argparse
import contextlib
import pathlib
import shutil
import tempfile

from lib import explain  # noqa: F401: from here on a benchmark tells what it lacks
from lib.runner import QUICK
from lib.tables import conditions

PARTS = {}  # by name: function, options, those of --quick
ROOM = 8e9  # bytes: a checkpoint of the largest model has gigabytes


def part(quick=None, **options):
    """Makes a function of the arguments a part of its benchmark."""
    def add(function):
        if function.__module__ == "__main__" or function.__module__.startswith("papers."):  # not of a benchmark that one imports
            PARTS[function.__name__] = function, {"threads": 1, "runs": "", **options}, quick or {}
        return function
    return add


def default_of(part, option):
    """The default of a part's option."""
    return PARTS[part][1][option]


def list_of(default):
    """Reads such a list."""
    kind, separator = type(default[0]), ";" if any("," in str(one) for one in default) else ","
    return lambda text: [kind(one) for one in text.split(separator)]


def add_option(parser, name, default):
    flag = "--" + name.replace("_", "-")
    if default is ...:
        parser.add_argument(name)
    elif name == "set":
        parser.add_argument(flag, action="append", default=[], metavar="KEY=VALUE", help="change the job")
    elif isinstance(default, bool):
        parser.add_argument(flag, action="store_true")
    else:
        parser.add_argument(flag, default=default, type=list_of(default) if isinstance(default, list) else type(default))


def add_part(parser, function, options, quick):
    for name, default in options.items():
        add_option(parser, name, default)
    parser.add_argument("--quick", action="store_true", help="a try of seconds, not a measurement")
    parser.set_defaults(part=function, **(quick if QUICK else {}))


def parse(doc, words=None):
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    if len(PARTS) == 1:
        add_part(parser, *next(iter(PARTS.values())))
    else:
        parts = parser.add_subparsers(required=True, metavar="PART")
        for name, (function, *more) in PARTS.items():
            add_part(parts.add_parser(name, help=function.__doc__.replace("%", "%%"), description=function.__doc__), function, *more)
    return parser.parse_args(words)


@contextlib.contextmanager
def folder_of(name):
    """The folder of this name, made where it is missing; without a name one that goes away, in memory if there is room."""
    if name:
        folder = pathlib.Path(name).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
        return
    memory = pathlib.Path("/dev/shm")
    if memory.is_dir() and shutil.disk_usage(memory).free > ROOM:
        tempfile.tempdir = str(memory)
    with tempfile.TemporaryDirectory(prefix="yoke-bench-") as temporary:
        yield pathlib.Path(temporary)


def main(doc):
    """Runs the part that the command line names; `arguments.runs` is a folder."""
    arguments = parse(doc)
    with folder_of(arguments.runs) as arguments.runs:
        said = arguments.part(arguments)
    print("\n" + conditions(arguments.threads, said + ("; --quick, not a measurement" if arguments.quick else "")), flush=True)
