"""What the tests of ONNX share: yoke's scores for a file (by the program $ONNX_SCORES) and ONNX Runtime's."""
import os
import subprocess
import sys

SCORES = os.path.abspath(os.environ.get("ONNX_SCORES", "build/release/tests/onnx_scores"))

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from packages import CACHE, need  # noqa: E402

need("numpy", "onnx", "onnxruntime")
import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402


class Refused(Exception):
    """The program's sentence; exit status 2."""


def yoke_scores(requests, folder, train=False):
    """For each (file, examples, copy) the scores [examples, outputs] or Refused; `copy`, a path or None, is where the model is
    written as ONNX again; with `train` (and a copy) a step of training must lower the loss as its gradient says."""
    lines = []
    for i, (file, examples, copy) in enumerate(requests):
        given, found = (os.path.join(folder, f"{name}{i}") for name in ("given", "found"))
        np.ascontiguousarray(examples, np.float32).tofile(given)
        lines.append("\t".join([file, given, found] + ([copy] if copy else []) + (["train"] if train else [])))
    done = subprocess.run([SCORES], input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=300)
    answers = done.stdout.splitlines()
    if done.returncode or len(answers) != len(lines):
        raise RuntimeError(f"{done.returncode} after {len(answers)} of {len(lines)} files: {done.stderr}")
    return [np.fromfile(line.split("\t")[2], np.float32).reshape(len(request[1]), -1) if answer == "ok" else Refused(answer)
            for line, request, answer in zip(lines, requests, answers)]


def runtime_scores(model, examples):
    """The same by ONNX Runtime, for a model or a file with one input."""
    session = onnxruntime.InferenceSession(model if isinstance(model, str) else model.SerializeToString())
    return session.run(None, {session.get_inputs()[0].name: examples})[0].reshape(len(examples), -1)


def relative_error(found, expected):
    return float(abs(found - expected).max() / max(abs(expected).max(), 1e-6))
