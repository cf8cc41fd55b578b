#!/usr/bin/env python3
"""The tables and figures of a paper, measured again beside its own values.

usage: bench/paper.py NAME [--quick] [options]      NAME: a file of bench/papers/; --quick takes less than 5 minutes   (make paper-NAME)

A file of bench/papers/ has one function with @part, which prints its tables by lib.comparison and returns words on its runs.
"""
import importlib
import sys

from lib.options import main
from lib.places import ROOT


def names():
    return sorted(path.stem for path in (ROOT / "bench/papers").glob("[a-z]*.py"))


def run(words):
    listed = ", ".join(names())
    if words in (["-h"], ["--help"]):
        return print(f"{__doc__}\nNAME is one of: {listed}")
    if not words or words[0] not in names():
        raise RuntimeError(f"no paper {words[0]}; there are {listed}" if words else f"name a paper: {listed}")
    module = importlib.import_module(f"papers.{sys.argv.pop(1)}")
    main(module.__doc__)


if __name__ == "__main__":
    run(sys.argv[1:])
