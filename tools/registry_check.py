#!/usr/bin/env python3
"""Fails where an entry of a .def list or a row of a table lacks its source, its test or its page.

usage: registry_check.py [--self-test]      run anywhere; prints one line an offence, exit status 1 when there is any
An entry `YOKE_LAYER(linear)` of src/model/layers.def needs src/model/layers/linear.cc (or linear/linear.cc, or another file there that
defines `LayerEntry linear()`), a test linear_test.cc below tests/model/ (or its name in a *conformance_test.cc there), and
docs/layers/linear.md. So does a row `.name = "step", .summary = ...` of a table, which is its own source.
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
    "data/formats.def": "data/formats",
    "node/executors.def": "node/executors",
    "tensor/devices.def": "tensor/devices",
    "strategy/strategies.def": "strategy",
    "lsh/families.def": "lsh/families",
}
# Lists whose entries have neither sources nor pages of their names.
INTERNAL = {"kernels/operations.def"}
# Source below src/ that holds a table -> the folder of its rows' pages.
TABLES = {"optim/schedules.cc": "schedules", "lsh/samplers.cc": "samplers"}
ENTRY = re.compile(r"^\s*YOKE_[A-Z_]+\(\s*(\w+)")
ROW = re.compile(r'\.name = "(\w+)",\s*\.summary')


def is_tested(root, folder, name):
    tests = root / "tests" / folder
    if any(tests.rglob(f"{name}_test.cc")):
        return True
    return any(re.search(rf"\b{name}\b", file.read_text()) for file in tests.rglob("*conformance_test.cc"))


def has_source(folder, name):
    if (folder / f"{name}.cc").is_file() or (folder / name / f"{name}.cc").is_file():
        return True
    return any(re.search(rf"Entry {name}(_[a-z]+)?\(\) {{", file.read_text()) for file in folder.rglob("*.cc"))


def lacks(root, path, name, kind):
    """The sentences for the test and the page that the part `name` of the list or table `path` lacks."""
    folder, page = path.split("/")[0], f"docs/{kind}/{name}.md"
    if not is_tested(root, folder, name):
        yield f"src/{path}: {name} has no {name}_test.cc below tests/{folder}/, and no conformance test names it"
    if not (root / page).is_file():
        yield f"src/{path}: {name} has no page {page}"


def offences(root):
    for file in sorted((root / "src").rglob("*.def")):
        path = file.relative_to(root / "src").as_posix()
        if path in INTERNAL:
            continue
        if path not in SOURCES:
            yield f"src/{path}: say in tools/registry_check.py where the sources of this list lie"
            continue
        names = [found[1] for found in map(ENTRY.match, file.read_text().splitlines()) if found]
        if not names:
            yield f"src/{path}: holds no entry of the form YOKE_SOMETHING(name)"
        for name in names:
            if not has_source(root / "src" / SOURCES[path], name):
                yield f"src/{path}: {name} has no source src/{SOURCES[path]}/{name}.cc"
            yield from lacks(root, path, name, file.stem)
    for path, kind in TABLES.items():
        file = root / "src" / path
        names = ROW.findall(file.read_text()) if file.is_file() else []
        if not names:
            yield f"src/{path}: holds no row of the form .name = ..., .summary = ..."
        for name in names:
            yield from lacks(root, path, name, kind)


def self_test():
    """Complete entries and rows pass; one without source, test or page, an empty list or table and an unknown list are found."""
    files = {"src/model/layers.def": "YOKE_LAYER(good)\nYOKE_LAYER(bare)\nYOKE_LAYER(named)\nYOKE_LAYER(other)\n",
             "src/model/layers/good.cc": "", "tests/model/layers/good_test.cc": "", "docs/layers/good.md": "",
             "src/model/layers/named/named.cc": "", "tests/model/layers_conformance_test.cc": '{"named"}', "docs/layers/named.md": "",
             "src/model/layers/others.cc": "LayerEntry other() {", "tests/model/other_test.cc": "", "docs/layers/other.md": "",
             "src/optim/schedules.cc": '{.name = "step",\n .summary = ""}, {.name = "lost", .summary = ""}',
             "tests/optim/step_test.cc": "", "docs/schedules/step.md": "", "docs/schedules/lost.md": "",
             "src/data/formats.def": "// nothing\n", "src/base/others.def": "YOKE_OTHER(a)\n"}
    expected = ["formats.def: holds no", "others.def: say", "bare has no source", "bare has no bare_test", "bare has no page",
                "lost has no lost_test", "samplers.cc: holds no row"]
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            file = pathlib.Path(folder, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        found = list(offences(pathlib.Path(folder)))
    if len(found) != len(expected) or not all(any(part in line for line in found) for part in expected):
        raise SystemExit(f"self-test: expected {len(expected)} offences, found\n" + "\n".join(found))


if __name__ == "__main__":
    check.run(__doc__, offences, self_test, "every entry has its source, test and page")
