#!/usr/bin/env python3
"""Fails where an entry of a .def list lacks its source, its test or its page.

usage: registry_check.py [--self-test]      run anywhere; prints one line an offence, exit status 1 when there is any
An entry `YOKE_LAYER(linear)` of src/model/layers.def needs src/model/layers/linear.cc (or linear/linear.cc, or a file of that folder which
defines `LayerEntry linear()` beside its siblings), a test linear_test.cc below tests/model/ (or its name in a *conformance_test.cc there), and
docs/layers/linear.md.
"""
import pathlib
import re
import tempfile

import check

# List below src/ -> the folder of its sources below src/; the list's own name is the folder of its pages.
SOURCES = {
    "model/layers.def": "model/layers",
    "model/models.def": "model/zoo",
    "optim/rules.def": "optim/rules",
    "optim/schedules.def": "optim/schedules",
    "data/formats.def": "data/formats",
    "node/executors.def": "node/executors",
    "tensor/devices.def": "tensor/devices",
    "strategy/strategies.def": "strategy",
    "lsh/families.def": "lsh/families",
    "lsh/samplers.def": "lsh/samplers",
}
ENTRY = re.compile(r"^\s*YOKE_[A-Z_]+\(\s*(\w+)")


def is_tested(root, folder, name):
    tests = root / "tests" / folder
    if any(tests.rglob(f"{name}_test.cc")):
        return True
    return any(re.search(rf"\b{name}\b", file.read_text()) for file in tests.rglob("*conformance_test.cc"))


def has_source(folder, name):
    if any((folder / file).is_file() for file in (f"{name}.cc", f"{name}/{name}.cc")):
        return True
    return any(re.search(rf"^\w*Entry {name}(_[a-z]+)?\(\) {{", file.read_text(), re.M) for file in folder.glob("*.cc"))


def lacks(root, path, name):
    """The sentences for what the entry `name` of the list `path` lacks."""
    folder, kind = path.split("/")[0], pathlib.PurePath(path).stem
    source, page = f"src/{SOURCES[path]}/{name}.cc", f"docs/{kind}/{name}.md"
    if not has_source(root / "src" / SOURCES[path], name):
        yield f"src/{path}: {name} has no source {source}"
    if not is_tested(root, folder, name):
        yield f"src/{path}: {name} has no {name}_test.cc below tests/{folder}/, and no conformance test names it"
    if not (root / page).is_file():
        yield f"src/{path}: {name} has no page {page}"


def offences(root):
    for file in sorted((root / "src").rglob("*.def")):
        path = file.relative_to(root / "src").as_posix()
        if path not in SOURCES:
            yield f"src/{path}: say in tools/registry_check.py where the sources of this list lie"
            continue
        names = [found[1] for found in map(ENTRY.match, file.read_text().splitlines()) if found]
        if not names:
            yield f"src/{path}: holds no entry of the form YOKE_SOMETHING(name)"
        for name in names:
            yield from lacks(root, path, name)


def self_test():
    """A complete entry passes; one without source, test or page, an empty and an unknown list are found."""
    files = {"src/model/layers.def": "YOKE_LAYER(good)\nYOKE_LAYER(bare)\nYOKE_LAYER(named)\nYOKE_LAYER(twin)\n",
             "src/model/layers/good.cc": "LayerEntry twin() {\n", "tests/model/layers/twin_test.cc": "", "docs/layers/twin.md": "", "tests/model/layers/good_test.cc": "", "docs/layers/good.md": "",
             "src/model/layers/named/named.cc": "", "tests/model/layers_conformance_test.cc": '{"named"}', "docs/layers/named.md": "",
             "src/data/formats.def": "// nothing\n", "src/base/others.def": "YOKE_OTHER(a)\n"}
    expected = ["formats.def: holds no", "others.def: say", "bare has no source", "bare has no bare_test", "bare has no page"]
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            file = pathlib.Path(folder, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        found = list(offences(pathlib.Path(folder)))
    if len(found) != len(expected) or not all(any(part in line for line in found) for part in expected):
        raise SystemExit("self-test: expected five offences, found\n" + "\n".join(found))


if __name__ == "__main__":
    check.run(__doc__, offences, self_test, "every entry has its source, test and page")
