#!/usr/bin/env python3
"""Exports small networks from PyTorch by both of its exporters: onnx_exports.py FOLDER [NAME...]

Needs torch, onnx and onnxscript (tools/setup bench); onnx_torch_slow_test.py reads what it writes."""
import os
import sys
import warnings

import torch
import torch.nn.functional as F
from torch import nn

warnings.filterwarnings("ignore")


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.down = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.down = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        return F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))) + self.down(x))


class ResNet(nn.Module):
    """ResNet-18 but for its widths and its last stage."""

    def __init__(self, width=4):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        blocks, inputs = [], width
        for stage in range(3):
            outputs = width << stage
            blocks += [Block(inputs, outputs, 1 if stage == 0 else 2), Block(outputs, outputs, 1)]
            inputs = outputs
        self.layers, self.pool, self.fc = nn.Sequential(*blocks), nn.AdaptiveAvgPool2d(1), nn.Linear(inputs, 10)

    def forward(self, x):
        return self.fc(torch.flatten(self.pool(self.layers(self.stem(x))), 1))


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 16), nn.Tanh(),
                                 nn.Linear(16, 16), nn.Sigmoid(), nn.Linear(16, 10), nn.Softmax(1))

    def forward(self, x):
        return self.net(x)


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(1, 6, 5), nn.Conv2d(6, 12, 5, padding=2)
        self.l1, self.l2 = nn.Linear(12 * 3 * 3, 32), nn.Linear(32, 10)

    def forward(self, x):
        x = F.avg_pool2d(F.relu(self.c2(F.max_pool2d(self.c1(x), 2))), 2)
        return F.log_softmax(self.l2(F.relu(self.l1(x.view(x.size(0), -1)))), 1)


class Mobile(nn.Module):
    """Depthwise convolutions and the activations of mobile networks."""

    def __init__(self):
        super().__init__()

        def part(inputs, outputs, kernel, stride, groups, activation):
            return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
                                 nn.BatchNorm2d(outputs, eps=1e-3, momentum=0.01), activation)

        self.features = nn.Sequential(part(3, 8, 3, 2, 1, nn.Hardswish()), part(8, 8, 3, 1, 8, nn.ReLU6()),
                                      part(8, 16, 1, 1, 1, nn.SiLU()), part(16, 16, 3, 2, 16, nn.GELU()),
                                      part(16, 16, 3, 1, 1, nn.LeakyReLU(0.1)))
        self.classifier = nn.Sequential(nn.Linear(16, 32), nn.Hardswish(), nn.Dropout(), nn.Linear(32, 10))

    def forward(self, x):
        return self.classifier(self.features(x).mean([2, 3]))


class Inception(nn.Module):
    """Branches and local response normalization, as in GoogLeNet."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 7, 2, 3)
        self.a, self.b, self.p = nn.Conv2d(8, 4, 1), nn.Conv2d(8, 6, 3, padding=1), nn.Conv2d(8, 2, 1)
        self.fc = nn.Linear(12, 10)

    def forward(self, x):
        x = F.local_response_norm(F.max_pool2d(F.relu(self.stem(x)), 3, 2, ceil_mode=True), 5)
        x = torch.cat([F.relu(self.a(x)), F.relu(self.b(x)), F.relu(self.p(F.max_pool2d(x, 3, 1, 1, ceil_mode=True)))], 1)
        return self.fc(torch.flatten(F.dropout(F.adaptive_avg_pool2d(x, (1, 1)), 0.2, self.training), 1))


class Gates(nn.Module):
    """Squeeze-and-excitation by convolutions and by products, the GELU by a hyperbolic tangent, windows that are not plain."""

    def __init__(self):
        super().__init__()
        self.stem, self.wide = nn.Conv2d(3, 16, 3, 2, 1), nn.Conv2d(16, 16, 3, padding=2, dilation=2, groups=16)
        self.squeeze, self.excite = nn.Conv2d(16, 4, 1), nn.Conv2d(4, 16, 1)
        self.rows = nn.Sequential(nn.Linear(16, 4), nn.ReLU(), nn.Linear(4, 16), nn.Sigmoid())
        self.pad, self.last, self.fc = nn.ConstantPad2d((0, 1, 1, 2), 0.5), nn.Conv2d(16, 8, 3, 2), nn.Linear(8, 10)

    def forward(self, x):
        x = F.gelu(self.stem(x), approximate="tanh")
        x = x * F.hardsigmoid(self.excite(F.silu(self.squeeze(F.adaptive_avg_pool2d(x, 1)))))
        x = self.wide(x) * F.gelu(x)
        x = self.rows(x.mean([2, 3]))[:, :, None, None] * x
        x = F.avg_pool2d(self.last(self.pad(x)), 3, 2, 1, count_include_pad=False)
        return self.fc(x.mean([2, 3]))


class Shuffle(nn.Module):
    """Halves of channels, joined and shuffled, as in ShuffleNetV2."""

    def __init__(self):
        super().__init__()
        self.stem, self.branch, self.fc = nn.Conv2d(3, 12, 3, 2, 1), nn.Conv2d(6, 6, 3, 1, 1, groups=6), nn.Linear(12, 10)

    def forward(self, x):
        for _ in range(2):
            x = self.stem(x) if x.size(1) == 3 else x
            left, right = x.chunk(2, dim=1)
            x = torch.cat([left, F.relu(self.branch(right))], 1)
            x = x.view(x.size(0), 2, 6, x.size(2), x.size(3)).transpose(1, 2).contiguous().view(x.size(0), 12, x.size(2), x.size(3))
        return self.fc(x.mean([2, 3]))


class Norms(nn.Module):
    """Normalization of each pixel's channels, as in ConvNeXt, of whole examples and of rows."""

    def __init__(self):
        super().__init__()
        self.stem, self.channels, self.example = nn.Conv2d(3, 16, 4, 4), nn.LayerNorm(16, 1e-6), nn.LayerNorm([16, 8, 8])
        self.row, self.fc = nn.LayerNorm(16), nn.Linear(16, 10)
        for norm in (self.channels, self.example, self.row):
            nn.init.uniform_(norm.weight, 0.5, 2)
            nn.init.normal_(norm.bias)

    def forward(self, x):
        x = self.channels(self.stem(x).permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        return self.fc(self.row(self.example(F.gelu(x)).mean([2, 3])))


NETWORKS = {"mlp": (Mlp, (1, 8, 8)), "lenet": (LeNet, (1, 16, 16)), "resnet": (ResNet, (3, 32, 32)),
            "mobile": (Mobile, (3, 32, 32)), "inception": (Inception, (3, 32, 32)), "gates": (Gates, (3, 32, 32)),
            "shuffle": (Shuffle, (3, 32, 32)), "norms": (Norms, (3, 32, 32))}


def export(folder, name, way):
    """Way: script, dynamo; or train, by which normalization and dropout stay what they are in training."""
    torch.manual_seed(1)
    make, shape = NETWORKS[name]
    model = make().eval()
    for module in model.modules():  # equal statistics stay equal: the exporter then shares them
        if isinstance(module, nn.BatchNorm2d) and name != "resnet":
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2)
    options = dict(dynamic_axes={"input": {0: "batch"}, "output": {0: "batch"}}, dynamo=False)
    if way == "dynamo":
        options = dict(dynamic_shapes=({0: torch.export.Dim("batch")},), dynamo=True, verbose=False)
    if way == "train":
        options |= dict(training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False, opset_version=13)
    torch.onnx.export(model, (torch.randn(2, *shape),), os.path.join(folder, f"{name}_{way}.onnx"), input_names=["input"],
                      output_names=["output"], **options)


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    for chosen in sys.argv[2:] or NETWORKS:
        for chosen_way in ("script", "dynamo") + (("train",) if chosen in ("resnet", "mobile", "gates") else ()):
            export(sys.argv[1], chosen, chosen_way)
