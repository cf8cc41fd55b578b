"""Starts a test again in the virtual environment of the Python module, with the module of this build; skips it where there is none."""
import os
import sys

CACHE = os.environ.get("YOKE_CACHE") or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "yoke")
PYTHON = os.path.join(CACHE, "venv-python/bin/python")
MODULE = os.path.abspath(os.environ.get("YOKE_MODULE", "build/release/python"))
SKIPPED = 77


def need():
    if sys.executable == PYTHON:
        sys.path.insert(0, MODULE)
        os.environ["PYTHONPATH"] = MODULE
        return
    if not os.path.exists(PYTHON) or not os.path.isdir(MODULE):
        print("skipped: no Python module is built; run tools/setup python")
        sys.exit(SKIPPED)
    os.execv(PYTHON, [PYTHON, *sys.argv])
