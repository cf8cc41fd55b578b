#!/usr/bin/env python3
"""Accuracy of ResNet-20 on CIFAR-10 in yoke and in PyTorch with one recipe: examples/resnet20-cifar10.toml.

usage: bench/resnet.py [--epochs N] [--seeds 1,2,3] [--threads N] [--precision f32|bf16] [--only yoke,pytorch] [--set KEY=VALUE] [--runs DIR]

Both read the same files ($YOKE_DATA), normalize, flip and shift alike, and follow the same schedule; drawing differs. Tested on the
1,000 lossless test images and on all 10,000 as JPEG. Prints a line a run on standard error, then the means of the seeds, and the range
of the 10,000.
"""
import contextlib
import io
import lzma
import math
import pathlib
import sys
import tarfile
import time
from statistics import fmean

from lib.options import main, part
from lib.places import CORES, DATA, ROOT
from lib.runner import events, from_words, trained
from lib.tables import listed, print_table

JPEG = DATA / "cifar10-jpeg/cifar10-jpeg-test.tar.xz"
JOB = ROOT / "examples/resnet20-cifar10.toml"
BATCH, RATE, DECAY, WARMUP = 128, 0.1, 1e-4, 0.5


def ours(seed, arguments):
    """Accuracies of one run of our job: (1,000 images, 10,000 images, seconds)."""
    settings = {"train.epochs": arguments.epochs, "train.seed": seed, "node.precision": arguments.precision, **from_words(arguments.set)}
    run = trained(JOB, settings, arguments.runs, "--threads", arguments.threads, keep=True)
    whole = run.accuracy if arguments.quick else events("eval", run.folder / "last", JPEG, "--format", "image-folder")[-1]["metrics"]["accuracy"]
    return run.accuracy, whole, run.end["seconds"]


def records(numpy, path):
    table = numpy.frombuffer(lzma.open(path).read(), dtype=numpy.uint8).reshape(-1, 3073)
    return table[:, 1:].reshape(-1, 3, 32, 32), table[:, 0].astype(numpy.int64)


def jpegs(numpy):
    from PIL import Image
    images, labels = [], []
    with tarfile.open(JPEG) as archive:
        files = [member for member in archive.getmembers() if member.name.endswith(".jpg")]
        classes = sorted({pathlib.PurePath(member.name).parent.name for member in files})
        for member in files:
            image = Image.open(io.BytesIO(archive.extractfile(member).read())).convert("RGB")
            images.append(numpy.asarray(image).transpose(2, 0, 1))
            labels.append(classes.index(pathlib.PurePath(member.name).parent.name))
    return numpy.stack(images), numpy.array(labels)


class Theirs:
    """PyTorch's run of the recipe."""

    def __init__(self, arguments):
        import numpy
        import torch
        from torch_step import resnet20
        torch.set_num_threads(arguments.threads)
        self.torch, self.model_of, self.arguments = torch, resnet20, arguments
        batches = [records(numpy, path) for path in sorted((DATA / "cifar10").glob("data_batch_*"))]
        train = numpy.concatenate([images for images, _ in batches])
        self.labels = torch.from_numpy(numpy.concatenate([labels for _, labels in batches]))
        scaled = train.astype(numpy.float32) / 255
        self.mean, self.deviation = scaled.mean((0, 2, 3), keepdims=True), scaled.std((0, 2, 3), keepdims=True)
        self.images = self.normal(train)
        tests = [records(numpy, next((DATA / "cifar10").glob("test_batch*"))), jpegs(numpy)]
        self.tests = [(self.normal(images), torch.from_numpy(labels)) for images, labels in tests]

    def normal(self, images):
        return self.torch.from_numpy((images.astype("float32") / 255 - self.mean) / self.deviation)

    def augmented(self, index):
        """A batch flipped and shifted by up to four pixels at random; black comes from outside, as in ours."""
        torch = self.torch
        black = torch.from_numpy(-self.mean / self.deviation)
        padded = torch.nn.functional.pad(self.images[index] - black, (4, 4, 4, 4)) + black
        batch = torch.empty(len(index), 3, 32, 32)
        corners, flips = torch.randint(9, (len(index), 2)), torch.rand(len(index)) < 0.5
        for i, (y, x) in enumerate(corners.tolist()):
            part = padded[i, :, y:y + 32, x:x + 32]
            batch[i] = part.flip(2) if flips[i] else part
        return batch.contiguous(memory_format=torch.channels_last)

    def rate(self, epoch):
        """Warm-up from a tenth, then half a cosine, as our schedule has it."""
        if epoch < WARMUP:
            return RATE * (0.1 + 0.9 * epoch / WARMUP)
        return RATE * 0.5 * (1 + math.cos(math.pi * (epoch - WARMUP) / (self.arguments.epochs - WARMUP)))

    def context(self):
        bf16 = self.arguments.precision == "bf16"
        return self.torch.autocast("cpu", self.torch.bfloat16) if bf16 else contextlib.nullcontext()

    def accuracy(self, model, images, labels):
        model.eval()
        with self.torch.no_grad(), self.context():
            right = sum(int((model(images[i:i + 500].contiguous(memory_format=self.torch.channels_last)).argmax(1) == labels[i:i + 500]).sum())
                        for i in range(0, len(images), 500))
        return right / len(images)

    def run(self, seed):
        torch = self.torch
        torch.manual_seed(seed)
        model = self.model_of(10).to(memory_format=torch.channels_last)
        for module in model.modules():
            if isinstance(module, torch.nn.Conv2d):
                torch.nn.init.kaiming_normal_(module.weight)
        optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=0.9, weight_decay=DECAY, fused=True)
        loss_of, began, steps = torch.nn.CrossEntropyLoss(), time.time(), math.ceil(len(self.images) / BATCH)
        for epoch in range(self.arguments.epochs):
            model.train()
            for step, index in enumerate(torch.randperm(len(self.images)).split(BATCH)):
                optimizer.param_groups[0]["lr"] = self.rate(epoch + step / steps)
                optimizer.zero_grad(set_to_none=True)
                with self.context():
                    loss = loss_of(model(self.augmented(index)), self.labels[index])
                loss.backward()
                optimizer.step()
        seconds = time.time() - began
        return (*(self.accuracy(model, *test) for test in self.tests), seconds)


@part(epochs=5, seeds=[1, 2, 3], precision="f32", only=["yoke", "pytorch"], threads=CORES, set=[],
      quick={"epochs": 1, "seeds": [1], "only": ["yoke"]})
def resnet(arguments):
    """Runs both sides, a seed after the other, and prints what comes."""
    sides = {"yoke": lambda seed: ours(seed, arguments)} if "yoke" in arguments.only else {}
    if "pytorch" in arguments.only:
        sides["PyTorch"] = Theirs(arguments).run
    runs = {name: [] for name in sides}
    for seed in arguments.seeds:
        for name, run in sides.items():
            runs[name].append(run(seed))
            small, whole, seconds = runs[name][-1]
            print(f"{name:8s} seed {seed}  {small:.4f} of 1,000 lossless  {whole:.4f} of 10,000 JPEG  {seconds:.0f} s", file=sys.stderr)
    columns = {name: list(zip(*rows)) for name, rows in runs.items()}
    print_table(["", "1,000 lossless images, mean", "10,000 JPEG images, mean", "their range"],
                ([name, f"{fmean(small):.4f}", f"{fmean(whole):.4f}", f"{min(whole):.3f} to {max(whole):.3f}"]
                 for name, (small, whole, _) in columns.items()))
    return f"{arguments.epochs} epochs, {arguments.precision}, seeds {listed(arguments.seeds)}"


if __name__ == "__main__":
    main(__doc__)
