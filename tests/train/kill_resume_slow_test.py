#!/usr/bin/env python3
"""Kills a run at 20 random moments and resumes it each time: weights and optimizer state equal those of a run left alone, byte for
byte. A full disk (a small tmpfs, where one may be mounted; else a limit on file sizes): exit status 1, the last checkpoint is good.

guards: src/train/checkpoint src/train/files src/train/record (60 s)"""
import os, random, resource, shutil, signal, subprocess, sys, tempfile, time

YOKE = os.environ.get("YOKE", "build/bin/yoke")
JOB = """[data]
format = "synthetic-digits"
train_size = 1500
test_size = 200
[model]
name = "lenet"
[train]
epochs = 3
batch = 25
rule = "adam"
learning_rate = 0.001
[node]
threads = 1
[checkpoint]
every_steps = 7
"""
KILLS = 20


def train(folder, *words, **more):
    return subprocess.Popen([YOKE, "train", *words, "--quiet"], cwd=folder, stderr=subprocess.PIPE, text=True, **more)


def finish(process):
    error = process.communicate()[1]
    assert process.returncode == 0, f"exit {process.returncode}: {error}"


def read(path):
    with open(path, "rb") as file:
        return file.read()


def kill_and_resume(folder):
    began = time.time()
    finish(train(folder, "job.toml", "--run", "alone"))
    alone = time.time() - began
    process = train(folder, "job.toml", "--run", "killed")
    kills = 0
    while kills < KILLS:
        while not os.path.exists(folder + "/killed/job.toml") and process.poll() is None:
            time.sleep(0.002)
        time.sleep(random.uniform(0, alone / 6))
        assert process.poll() in (None, 0), f"a resumed run failed: {process.communicate()[1]}"
        kills += process.poll() is None
        process.kill()
        process.communicate()
        if process.returncode == 0:  # It came to its end: what follows is killed in a new run's middle.
            shutil.rmtree(folder + "/killed")
            process = train(folder, "job.toml", "--run", "killed")
            continue
        process = train(folder, "--resume", "killed")
    finish(process)
    for file in ("model.safetensors", "optimizer.safetensors"):
        assert read(f"{folder}/alone/last/{file}") == read(f"{folder}/killed/last/{file}"), f"{file} differs after {KILLS} kills"
    lines = [line for line in open(folder + "/killed/metrics.jsonl") if '"epoch"' in line and '"event":"epoch"' in line]
    assert len(lines) == 3, f"{len(lines)} epochs in metrics.jsonl after {KILLS} kills, expected 3"
    print(f"{KILLS} kills of a run of {alone:.1f} s: the same bytes")


def mount(folder):
    os.makedirs(folder)
    return os.geteuid() == 0 and subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", folder], capture_output=True).returncode == 0


def limit_files():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))


def full_disk(folder):
    """LeNet's checkpoint takes 5 MB: one fits into 8 MB, a second does not."""
    run, mounted = folder + "/small/run", mount(folder + "/small")
    try:
        if not mounted:
            finish(train(folder, "job.toml", "--run", run, "--set", "train.epochs=1", "--set", "checkpoint.every_steps=0"))
        more = ["--resume", run, "--set", "train.epochs=3"] if not mounted else ["job.toml", "--run", run]
        process = train(folder, *more, preexec_fn=None if mounted else limit_files)
        error = process.communicate()[1]
        assert process.returncode == 1 and len(error.strip().splitlines()) == 1, f"exit {process.returncode}: {error}"
        assert "safetensors" in error and "is good" in error and "--resume" in error, error
        check = subprocess.run([YOKE, "eval", run + "/last"], cwd=folder, capture_output=True, text=True)
        assert check.returncode == 0, check.stderr
        print("full disk:", error.strip())
    finally:
        if mounted:
            subprocess.run(["umount", folder + "/small"], check=True)


with tempfile.TemporaryDirectory(prefix="yoke-kill-") as place:
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else random.randrange(1 << 30)
    print("seed", seed, flush=True)
    random.seed(seed)
    with open(place + "/job.toml", "w") as out:
        out.write(JOB)
    kill_and_resume(place)
    full_disk(place)
