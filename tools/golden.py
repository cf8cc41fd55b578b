#!/usr/bin/env python3
"""Trains short jobs with two programs and compares their checkpoints byte by byte.

usage: tools/golden.py BEFORE [AFTER] [--only NAMES]

BEFORE and AFTER are programs (`../before/build/bin/yoke`); AFTER is build/bin/yoke if left out. Both train the same jobs with the
same seed and threads; the files compared are model.safetensors and optimizer.safetensors of the last checkpoint. Where they
differ, BEFORE trains once more: a job that differs from itself proves nothing and is named so. Jobs in virtual time need
`virtual_run` of both builds (`cmake --build build/release --target virtual_run`) and are left out without it, as are jobs in
bf16 where the programs refuse it. NAMES are parts of jobs' names, separated by commas. Everything takes about 2 minutes on 2 cores;
data sets are those of $YOKE_DATA. Exit status 1 where a job differs.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

REFUSED = "bf16 would be slower than f32 here"
ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = pathlib.Path(os.environ.get("YOKE_DATA", ROOT / "../shared/data")).resolve()

DIGITS = ["data.format=synthetic-digits", "data.train_size=2000", "data.test_size=100", "train.epochs=2"]
COLOURS = ["data.format=cifar", f"data.train={DATA}/cifar10/test_batch_first1000.bin.xz", "data.normalize=standard",
           "data.augment={ flip = true, crop = 4 }", "train.epochs=2", "train.batch=64"]
W8A = ["data.format=libsvm", f"data.train={DATA}/w8a/w8a.gz", "model.name=mlp", "model.widths=[32]", "train.epochs=1"]
TAGS = ["data.format=xmc", f"data.train={DATA}/delicious/delicious_train.txt.gz", "model.name=xmc", "model.hidden=32",
        "train.epochs=1", "train.rule=adam", "train.learning_rate=0.003"]
MANY = ["data.format=synthetic-xmc", "data.labels=20000", "data.train_size=4000", "data.test_size=100", "model.name=xmc",
        "model.hidden=32", "model.output=lsh", "model.loss=softmax", "train.epochs=2", "train.rule=adam"]
LENET, MLP = [*DIGITS, "model.name=lenet"], [*DIGITS, "model.name=mlp", "model.widths=[64]"]


def jobs():
    """Name, settings and words of the command line of each job."""
    both = [("lenet", LENET, []), ("mlp", MLP, []), ("resnet20", [*COLOURS, "model.name=resnet20"], []),
            ("alexnet-cifar", [*COLOURS, "model.name=alexnet-cifar"], []), ("w8a", W8A, []), ("xmc dense", TAGS, []),
            ("lenet bf16", LENET, ["--precision", "bf16"]),
            ("resnet20 bf16", [*COLOURS, "model.name=resnet20", "train.epochs=1"], ["--precision", "bf16"]),
            ("lenet split", LENET, ["--executor", "split", "--set", "node.parts=2"])]
    for rule in ("sgd", "momentum", "nesterov", "adam", "adamw"):
        both.append((f"mlp {rule}", [*MLP, f"train.rule={rule}", "train.learning_rate=0.005"], []))
    for threads in (1, 2):
        for name, settings, words in both:
            yield f"{name}, {threads} threads" if threads > 1 else f"{name}, 1 thread", settings, [*words, "--threads", threads]
    yield "xmc lsh, 1 thread", MANY, ["--threads", 1]
    for data, settings in (("lenet", LENET), ("w8a", W8A)):
        yield f"{data} hogwild, 1 thread", settings, ["--executor", "hogwild", "--threads", 1]
    for strategy in ("allreduce", "easgd_sync1", "easgd_sync2", "easgd_sync3", "easgd_original", "local_sgd", "slowmo", "sgp", "diloco"):
        yield f"lenet {strategy}, 2 replicas", LENET, ["--strategy", strategy, "--replicas", 2, "--threads", 1]


def virtual_jobs():
    """Those whose order of messages is the same twice in virtual time alone."""
    for strategy in ("gossip_pull", "gossip_push", "ad_psgd", "async_sgd", "async_msgd", "hogwild_sgd", "compute_groups", "easgd_async",
                     "easgd_async_momentum", "easgd_hogwild"):
        yield f"mlp {strategy}, 2 replicas, virtual time", MLP, ["--strategy", strategy, "--replicas", 2, "--threads", 1]


def train(command, job, folder):
    """The bytes of the last checkpoint's tensors, or a sentence."""
    _, settings, words = job
    run = folder / "run"
    shutil.rmtree(run, ignore_errors=True)
    sets = [word for setting in settings for word in ("--set", quoted(setting))]
    (folder / "job.toml").write_text("")
    done = subprocess.run([*command, folder / "job.toml", "--run", run, *sets, *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip() or f"status {done.returncode}"
    return [(run / "last" / f"{part}.safetensors").read_bytes() for part in ("model", "optimizer")]


def quoted(setting):
    """KEY=VALUE, the value as TOML has it."""
    key, value = setting.split("=", 1)
    return setting if value[0] in "[{0123456789" else f'{key}="{value}"'


def verdict(before, after, job, folder):
    first, second = train(before, job, folder), train(after, job, folder)
    if all(isinstance(result, str) and REFUSED in result for result in (first, second)):
        return "left out: this processor has no instructions for bf16"
    for who, result in (("BEFORE", first), ("AFTER", second)):
        if isinstance(result, str):
            return f"failed: {who}: {result}"
    if first == second:
        return f"equal ({sum(map(len, first))} bytes)"
    if train(before, job, folder) != first:
        return "not reproducible: BEFORE differs from itself"
    return "DIFFERS: " + " and ".join(name for name, a, b in zip(("model", "optimizer"), first, second) if a != b)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=pathlib.Path)
    parser.add_argument("after", type=pathlib.Path, nargs="?", default=ROOT / "build/bin/yoke")
    parser.add_argument("--only", default="", help="parts of jobs' names, separated by commas")
    arguments = parser.parse_args()
    programs = [path.resolve() for path in (arguments.before, arguments.after)]
    virtual = [path.parent.parent / "release/bench/virtual_run" for path in programs]
    work = [([[path, "train", "--quiet"] for path in programs], job) for job in jobs()]
    if all(path.exists() for path in virtual):
        work += [([[path] for path in virtual], job) for job in virtual_jobs()]
    else:
        print("left out: jobs in virtual time: a build has no virtual_run", file=sys.stderr)
    equal = asked = 0
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
        for (before, after), job in work:
            if any(part in job[0] for part in arguments.only.split(",")):
                said = verdict(before, after, job, pathlib.Path(folder))
                print(f"{job[0]:48} {said}", flush=True)
                asked, equal = asked + (not said.startswith("left out")), equal + said.startswith("equal")
    print(f"{equal} of {asked} jobs have equal checkpoints")
    sys.exit(equal < asked or not asked)


if __name__ == "__main__":
    main()
