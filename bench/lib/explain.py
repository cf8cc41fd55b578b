"""What a benchmark lacks is told in one sentence, with exit status 2."""
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import tomllib

from lib.places import BUILD, DATA, ROOT

DEFAULT = sys.excepthook


def in_data(path):
    return DATA.resolve() in [path.resolve(), *path.resolve().parents]


def missing_data(words):
    """The files below YOKE_DATA that the job files among these words name and that are not there."""
    jobs = [path for path in map(pathlib.Path, words) if path.suffix == ".toml" and path.is_file()]
    names = [name for job in jobs for name in re.findall(r"\$YOKE_DATA/([^\s\"']+)", job.read_text(encoding="utf-8"))]
    return [DATA / name for name in names if not (DATA / name).exists()]


def fetch_hint(files):
    """The command that fetches these files, if it knows their sets."""
    names = sorted({file.resolve().relative_to(DATA.resolve()).parts[0] for file in files if in_data(file) and file.resolve() != DATA.resolve()})
    sets = {set_of(name) for name in names} - {None}
    return f"; to get it: tools/fetch-data {' '.join(sorted(sets))}" if sets else ""


def set_of(folder):
    """The set of tools/fetch-data that fills this folder of YOKE_DATA, or None."""
    sets = tomllib.loads((ROOT / "tools/data_sets.toml").read_text(encoding="utf-8"))
    return next((name for name, one in sets.items() if name == folder or f"{folder}/" in str(one.get("files"))), None)


def sentence(error):
    """What is missing and what to do; None for a fault of the benchmark itself."""
    if isinstance(error, ModuleNotFoundError):
        return f"the Python module {error.name} is missing: tools/bench bench/{pathlib.Path(sys.argv[0]).name} installs what benchmarks need"
    if isinstance(error, subprocess.CalledProcessError):
        words = error.cmd.split() if isinstance(error.cmd, str) else list(map(str, error.cmd))
        return f"`{' '.join(words)}` ended with status {error.returncode}" + fetch_hint(missing_data(words))
    if isinstance(error, RuntimeError):
        return str(error)
    if not isinstance(error, OSError):
        return None
    if not error.filename:
        return error.strerror or str(error) or type(error).__name__
    file = pathlib.Path(os.fsdecode(error.filename))
    text = f"{file}: {error.strerror}"
    if file.parent.name in ("bench", "tests") and "build" in file.parts:
        return text + f"; build it: cmake --build {BUILD} --target {file.name}"
    if file.name == "yoke":
        return text + "; build it: make build"
    return text + ("; YOKE_DATA names the folder of the data sets" if in_data(file) else "") + fetch_hint([file])


def explain(kind, error, trace):
    if kind is KeyboardInterrupt:
        os._exit(128 + signal.SIGINT)
    told = sentence(error)
    if not told:
        return DEFAULT(kind, error, trace)
    with contextlib.suppress(OSError):  # nobody reads it, or its disk is full
        sys.stdout.flush()
    sys.stderr.write(f"{pathlib.Path(sys.argv[0]).name}: {told}\n")  # at once, beside other workers
    os._exit(2)


sys.excepthook = explain
