#!/usr/bin/env python3
"""Runs every job of examples/ and examples/strategies on real data ($YOKE_DATA) and compares the end with what it must reach. Words name single jobs.

guards: examples src/data src/model src/kernels src/optim (150 s)"""
import glob, json, os, subprocess, sys, tempfile, time

YOKE = os.path.abspath(os.environ.get("YOKE", "build/bin/yoke"))
EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples")
# Least values of the test metrics at the end. rcv1 and kdd99 say only that the job works.
MUST_REACH = {
    "demo": {"accuracy": 0.98},
    "lenet-fashion-mnist": {"accuracy": 0.90},
    "mlp-fashion-mnist": {"accuracy": 0.88},
    "sector": {"accuracy": 0.92},
    "w8a": {"accuracy": 0.985, "auc": 0.95},
    "delicious": {"p_at_1": 0.65},
    "citeulike": {"p_at_1": 0.53},
    "covtype": {"accuracy": 0.80},
    "sign-digits": {"accuracy": 0.90},
    "rcv1": {"accuracy": 0.95},
    "kdd99": {"accuracy": 0.90},
    "resnet20-cifar10": {"accuracy": 0.50},  # after one epoch of its five
}
# Examples for every strategy: whatever lies there, one epoch of four.
STRATEGIES = sorted(os.path.splitext(os.path.basename(file))[0] for file in glob.glob(f"{EXAMPLES}/strategies/*.toml"))
MUST_REACH.update({f"strategies/{name}": {"accuracy": 0.80} for name in STRATEGIES})
SHORTER = {"resnet20-cifar10": ["--set", "train.epochs=1"]}  # five minutes otherwise
SHORTER.update({f"strategies/{name}": ["--set", "train.epochs=1"] for name in STRATEGIES})


def run(name, folder):
    """The last event of the job, and what is wrong with it."""
    began = time.time()
    words = [YOKE, "train", f"{EXAMPLES}/{name}.toml", "--run", f"{folder}/{name}", "--json", *SHORTER.get(name, [])]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        return f"exit {done.returncode}: {done.stderr.strip()}"
    test = json.loads(done.stdout.splitlines()[-1])["test"]
    print(f"{name:22s} {time.time() - began:6.1f} s  " + "  ".join(f"{key} {value:.4f}" for key, value in test.items()), flush=True)
    missed = [f"{key} {test.get(key)}, expected {least}" for key, least in MUST_REACH[name].items() if not test.get(key, 0) >= least]
    return ", ".join(missed)


if "YOKE_DATA" not in os.environ:
    print("skipped: the real data sets are not here (YOKE_DATA names their folder)")
    sys.exit(77)
names = sorted(os.path.relpath(path, EXAMPLES)[:-5] for folder in ("", "strategies/") for path in glob.glob(f"{EXAMPLES}/{folder}*.toml"))
assert names == sorted(MUST_REACH), f"examples/ holds {names}, this test knows {sorted(MUST_REACH)}"
with tempfile.TemporaryDirectory(prefix="yoke-examples-") as place:
    failures = {name: problem for name in sys.argv[1:] or names if (problem := run(name, place))}
for name, problem in failures.items():
    print(f"{name}: {problem}")
sys.exit(1 if failures else 0)
