#!/usr/bin/env python3
"""Fails on an include that climbs the ladder of src/CMakeLists.txt, or on a foreign header outside its home.

usage: ladder.py [--self-test]      run anywhere; prints one line an offence, exit status 1 when there is any
"""
import pathlib
import re
import tempfile

import check

# Where a foreign header may be included: pattern of the header -> pattern of the file below src/.
HOMES = {
    r"(oneapi/dnnl/)?dnnl.*\.hp*": r"kernels/(cpu/|\w+/cpu).*",
    r"mpi\.h": r"comm/mpi(_\w+)?\.(cc|h)",
    r"(arrow|parquet)/.*": r"data/parquet_arrow\.cc",
    r"hwloc.*\.h": r"base/topology\.cc",
    r"nccl\.h": r"comm/nccl\.cc",
    r"cu(da|blas|dnn|rand|sparse).*\.h": r"tensor/cuda.*|kernels/(cuda/|\w+/cuda).*|comm/nccl\.cc",
    # What only one backend may use.
    **{rf"kernels/({backend}/|\w+/{backend}).*": rf"kernels/({backend}/|\w+/{backend}).*" for backend in ("cpu", "reference", "cuda")},
    # Heavy to parse: never in a header that others include.
    r"nlohmann/.*": r"base/json\.cc",
    r"CLI/.*": r"cli/command\.cc",
    r"(toml\+\+/|spdlog/).*": r".*\.cc",
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def read_ladder(build_file):
    """The folders each folder may include, itself among them, from the yoke_folder(...) calls."""
    reachable = {}
    for call in re.findall(r"^yoke_folder\(([^)]*)\)", build_file.read_text(), re.M):
        folder, *words = call.split()
        below = []
        if words and words[0] == "ON":
            below = words[1:next((i for i, w in enumerate(words) if w in ("PUBLIC", "PRIVATE")), len(words))]
        unknown = [name for name in below if name not in reachable]
        if unknown:
            raise SystemExit(f"{build_file}: {folder} stands on {unknown[0]}, which is not below it")
        reachable[folder] = {folder}.union(*(reachable[name] for name in below))
    if not reachable:
        raise SystemExit(f"{build_file}: holds no yoke_folder(...)")
    return reachable


def offence(path, line, reachable):
    """What is wrong with this line of the file at `path` (relative to src/), or None."""
    if re.match(r"^\s*#\s*(if|ifdef|ifndef|elif)\b", line):
        return "conditional compilation: let CMake choose a file instead"
    found = INCLUDE.match(line)
    if not found:
        return None
    quote, header = found.groups()
    folder, target = path.split("/")[0], header.split("/")[0]
    if quote == '"' and "/" not in header:
        return f'"{header}" is not written from src/'
    if target in reachable and target not in reachable[folder]:
        return f"{folder} may not include {target} ({header}); it may include {' '.join(sorted(reachable[folder]))}"
    for pattern, home in HOMES.items():
        if re.fullmatch(pattern, header) and not re.fullmatch(home, path):
            return f"{header} belongs in {home}"
    return None


def offences(root):
    source = root / "src"
    reachable = read_ladder(source / "CMakeLists.txt")
    for file in sorted(source.rglob("*")):
        path = file.relative_to(source).as_posix()
        if file.suffix not in (".cc", ".h", ".cu", ".cuh", ".def"):
            continue
        if path.split("/")[0] not in reachable:
            yield f"src/{path}: its folder is not in the ladder"
            continue
        for number, line in enumerate(file.read_text().splitlines(), 1):
            wrong = offence(path, line, reachable)
            if wrong:
                yield f"src/{path}:{number}: {wrong}"


def self_test():
    """The good lines pass and each bad one is found, in a tree of their own."""
    good = {"kernels/cpu/a.cc": "#include <dnnl.hpp>", "model/a.h": '#include "base/b.h"', "base/a.cc": "#include <toml++/toml.h>"}
    bad = {"base/b.cc": '#include "model/a.h"', "optim/a.cc": '#include "model/a.h"', "model/b.cc": "#include <dnnl.hpp>",
           "base/b.h": "#include <toml++/toml.h>", "base/c.cc": "#include <nlohmann/json.hpp>", "base/d.cc": "#include <CLI/CLI.hpp>", "comm/a.cc": "#include <mpi.h>", "tensor/a.h": "#ifdef __linux__",
           "other/a.cc": "", "tensor/b.h": '#include "a.h"', "kernels/linear/cpu.cc": "#include <cuda_runtime.h>", "model/c.cc": '#include "kernels/cpu/a.h"',
           "kernels/linear/linear.cc": '#include "kernels/linear/reference_a.h"'}
    ladder = ("yoke_folder(base PUBLIC x::x)\nyoke_folder(tensor ON base)\nyoke_folder(kernels ON tensor)\nyoke_folder(comm ON kernels)\n"
              "yoke_folder(model ON kernels\n PRIVATE y::y)\nyoke_folder(optim ON kernels)\n")
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for path, text in {**good, **bad, "CMakeLists.txt": ladder}.items():
            (root / "src" / path).parent.mkdir(parents=True, exist_ok=True)
            (root / "src" / path).write_text(text + "\n")
        found = {line.split(":")[0].removeprefix("src/") for line in offences(root)}
    if found != set(bad):
        raise SystemExit(f"self-test: missed {sorted(set(bad) - found)}, wrongly blamed {sorted(found - set(bad))}")


if __name__ == "__main__":
    check.run(__doc__, offences, self_test, "the ladder holds")
