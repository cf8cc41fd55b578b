#!/usr/bin/env python3
"""Fails where a strategy takes threads, time or chance from elsewhere than its communicator and its seed.

usage: strategy_check.py [--self-test]      run anywhere; prints one line an offence, exit status 1 when there is any
In a simulated world ranks run one at a time in virtual time: a strategy that started a thread, read a clock or drew from
the process's generator would not be the same strategy there.
"""
import pathlib
import re
import tempfile

import check

# What src/strategy may not name -> where it comes from instead.
REFUSED = {
    r"std::(thread|jthread|async|this_thread)\b|<(thread|future)>|\bpthread_": "threads come from Communicator::Spawn",
    r"std::chrono\b|<chrono>|<ctime>|\w+_clock\b|\bclock_gettime\b|base/clock\.h|\btime\(": "time comes from Communicator::Now and Sleep",
    r"\bs?rand\(|std::(mt19937|random_device)|<random>": "draws come from base/random.h, by the context's seed",
    r"\bthread_local\b": "ranks of a simulation share one thread's memory",
}


def offences(root):
    for file in sorted((root / "src/strategy").rglob("*")):
        if file.suffix not in (".cc", ".h", ".def"):
            continue
        for number, line in enumerate(file.read_text().splitlines(), 1):
            code = line.split("//")[0]
            for pattern, instead in REFUSED.items():
                found = re.search(pattern, code)
                if found:
                    yield f"{file.relative_to(root).as_posix()}:{number}: {found[0]}: {instead}"


def self_test():
    """Each refused word is found, in code alone, and what is allowed passes."""
    bad = ["#include <thread>", "std::thread t;", "std::jthread t;", "std::this_thread::yield();", "#include <chrono>",
           "std::chrono::seconds(1);", "steady_clock::now();", '#include "base/clock.h"', "int x = rand();", "srand(1);",
           "#include <random>", "std::mt19937 g;", "thread_local int x;", "auto f = std::async(g);", "time(nullptr);"]
    good = ["// a thread, by steady_clock and rand()", '#include "base/random.h"', "world.Spawn(body);", "world.Now();",
            "Random random({seed, 1});", "int operand(int);", "Runtime(3);", "SetKernelThreads(1);"]
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "src/strategy/a.cc")
        file.parent.mkdir(parents=True)
        file.write_text("\n".join(bad + good))
        found = {int(line.split(":")[1]) for line in offences(pathlib.Path(folder))}
    expected = set(range(1, len(bad) + 1))
    if found != expected:
        raise SystemExit(f"self-test: missed lines {sorted(expected - found)}, wrongly blamed {sorted(found - expected)}")


if __name__ == "__main__":
    check.run(__doc__, offences, self_test, "strategies take threads, time and chance from their context")
