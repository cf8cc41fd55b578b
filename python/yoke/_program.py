"""Where the program `yoke` is."""
import pathlib
import sys


def program() -> str:
    """The path of the program that was built with this package."""
    folder = pathlib.Path(__file__).resolve().parent
    for path in (folder / "bin/yoke", folder.parents[1] / "build/bin/yoke"):
        if path.is_file():
            return str(path)
    sys.exit("yoke: the program is not beside the package: install it with pip, or run `make build` in the clone")
