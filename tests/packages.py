"""Runs a test with the Python packages that `tools/setup test` installs."""
import importlib.util
import os
import sys

CACHE = os.environ.get("YOKE_CACHE") or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "yoke")
PYTHON = os.path.join(CACHE, "venv-test/bin/python")


def need(*names):
    """Starts the script again in the virtual environment of the tests, if that is there: the system's modules may be old ones."""
    if sys.executable != PYTHON and os.path.exists(PYTHON):
        os.execv(PYTHON, [PYTHON, *sys.argv])
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        sys.exit(f"missing packages: {', '.join(missing)}; run tools/setup test")
