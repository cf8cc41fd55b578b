"""What a benchmark lacks is told in one sentence, with exit status 2."""
import contextlib
import os
import pathlib
import subprocess
import sys

from lib.places import DATA

DEFAULT = sys.excepthook


def sentence(error):
    """What is missing and what to do; None for a fault of the benchmark itself."""
    if isinstance(error, ModuleNotFoundError):
        return f"the Python module {error.name} is missing: tools/bench bench/{pathlib.Path(sys.argv[0]).name} installs what benchmarks need"
    if isinstance(error, subprocess.CalledProcessError):
        words = error.cmd if isinstance(error.cmd, str) else " ".join(map(str, error.cmd))
        return f"`{words}` ended with status {error.returncode}"
    if isinstance(error, RuntimeError):
        return str(error)
    if not isinstance(error, OSError):
        return None
    if not error.filename:
        return error.strerror or str(error) or type(error).__name__
    file = pathlib.Path(os.fsdecode(error.filename))
    text = f"{file}: {error.strerror}"
    if file.parent.name in ("bench", "tests") and "build" in file.parts:
        return text + f"; build it: cmake --build build/release --target {file.name}"
    if file.name == "yoke":
        return text + "; build it: make build"
    data = DATA.resolve()
    return text + ("; YOKE_DATA names the folder of the data sets" if data in [*file.resolve().parents, file.resolve()] else "")


def explain(kind, error, trace):
    told = sentence(error)
    if not told:
        return DEFAULT(kind, error, trace)
    with contextlib.suppress(OSError):  # nobody reads it, or its disk is full
        sys.stdout.flush()
    sys.stderr.write(f"{pathlib.Path(sys.argv[0]).name}: {told}\n")  # at once, beside other workers
    os._exit(2)


sys.excepthook = explain
