#!/usr/bin/env python3
"""Random small graphs with views between their layers: yoke's scores are ONNX Runtime's, or it refuses the file by name.

onnx_views_test.py [GRAPHS [SEED]] tries more of them. Each graph is a random walk over tensors of known dimensions: other
dimensions, activations, cuts, joins, windows, norms and products, along any axis, in the forms of opset 7 to 17."""
import os
import random
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from onnx_support import Refused, np, onnx, relative_error, runtime_scores, yoke_scores  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

GRAPHS, SEED, BATCH = 600, 1, 3
ELEMENTWISE = ("Relu", "Tanh", "Sigmoid", "LeakyRelu", "HardSigmoid")


def softmax(scores):
    powers = np.exp(scores - scores.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


class Walk:
    """A graph as it grows. `name` and `dims` are the last tensor and its dimensions for an example."""

    def __init__(self, seed):
        self.random, self.numbers = random.Random(seed), np.random.default_rng(seed)
        self.opset, self.nodes, self.tensors, self.count = self.random.randint(7, 17), [], [], 0
        self.dims = self.random.choice([(24,), (2, 12), (4, 6), (2, 3, 4), (4, 4, 4), (3, 6, 6), (6, 1, 1), (4, 2, 6)])
        self.input, self.name, self.softmax = self.dims, "x", False
        self.free = self.random.random() < 0.8  # the batch axis of the file

    def node(self, kind, inputs, outputs=1, **attributes):
        self.count += 1
        names = [f"t{self.count}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, f"n{self.count}", **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, value):
        value, name = np.asarray(value), f"c{len(self.tensors)}"
        self.tensors.append(numpy_helper.from_array(value, name))
        return name

    def weights(self, *shape):
        return self.constant((self.numbers.standard_normal(shape) / max(1, np.prod(shape[1:])) ** 0.5).astype(np.float32))

    def settle(self, name, dims):
        self.name, self.dims = name, tuple(int(d) for d in dims)

    def axis(self, first=1):
        """An axis of the batched tensor, from the front or from the end, and its place in dims."""
        place = self.random.randint(first, len(self.dims))
        return (place if self.random.random() < 0.5 or self.opset < 11 else place - len(self.dims) - 1), place - 1

    def axes_form(self, kind, inputs, axes, **attributes):
        """Axes as an input from opset 13 on, an attribute before."""
        if self.opset < 13:
            return self.node(kind, inputs, axes=axes, **attributes)
        return self.node(kind, inputs + [self.constant(np.int64(axes))], **attributes)

    # The steps of a walk. Each returns without a change where it does not fit.

    def elementwise(self):
        self.settle(self.node(self.random.choice(ELEMENTWISE), [self.name]), self.dims)

    def clip(self):
        if self.opset < 11:
            return self.settle(self.node("Clip", [self.name], min=-0.5, max=0.75), self.dims)
        self.settle(self.node("Clip", [self.name, self.constant(np.float32(-0.5)), self.constant(np.float32(0.75))]), self.dims)

    def dropout(self):
        if self.opset < 12:
            return self.settle(self.node("Dropout", [self.name], ratio=0.25), self.dims)
        self.settle(self.node("Dropout", [self.name, self.constant(np.float32(0.25))]), self.dims)

    def other_dims(self):
        count, dims = int(np.prod(self.dims)), []
        for _ in range(self.random.randint(0, 3)):
            factor = self.random.choice([f for f in range(1, count + 1) if count % f == 0])
            dims.append(factor)
            count //= factor
        return (*dims, count)

    def reshape(self):
        dims = self.other_dims()
        target = [-1 if self.free or self.random.random() < 0.3 else BATCH, *dims]
        if target[0] != -1 and self.random.random() < 0.5:
            target[self.random.randint(1, len(dims))] = -1
        elif target[0] == -1 and self.random.random() < 0.3:
            target[0] = 0
        self.settle(self.node("Reshape", [self.name, self.constant(np.int64(target))]), dims)

    def computed_reshape(self):
        """x.view(x.size(0), x.size(k) // 2, ...), whole or with the batch in place of another length."""
        if len(self.dims) < 2:
            return
        shape = self.node("Shape", [self.name])
        lengths = [self.node("Gather", [shape, self.constant(np.int64([i]))], axis=0) for i in range(len(self.dims) + 1)]
        if self.random.random() < 0.3:  # half of all lengths, the batch's too
            halves = self.node("Div", [shape, self.constant(np.int64([self.random.choice([1, 2])]))])
            lengths = [self.node("Gather", [halves, self.constant(np.int64([0]))], axis=0)] + lengths[1:]
        even = [i for i, d in enumerate(self.dims) if d % 2 == 0]
        if not even:
            return
        place = self.random.choice(even)
        lengths[place + 1] = self.node("Div", [lengths[place + 1], self.constant(np.int64([2]))])
        target = self.node("Concat", lengths + [self.constant(np.int64([-1]))], axis=0)
        dims = [*self.dims, 2]
        dims[place] //= 2
        self.settle(self.node("Reshape", [self.name, target]), dims)

    def flatten(self):
        attributes = {"axis": -len(self.dims)} if self.opset >= 11 and self.random.random() < 0.5 else {"axis": 1}
        self.settle(self.node("Flatten", [self.name], **attributes), (np.prod(self.dims),))

    def unsqueeze(self):
        place = self.random.randint(1, len(self.dims) + 1)
        self.settle(self.axes_form("Unsqueeze", [self.name], [place]), (*self.dims[:place - 1], 1, *self.dims[place - 1:]))

    def squeeze(self):
        ones = [i for i, d in enumerate(self.dims) if d == 1]
        if ones and len(self.dims) > 1:
            place = self.random.choice(ones)
            self.settle(self.axes_form("Squeeze", [self.name], [place + 1]), self.dims[:place] + self.dims[place + 1:])

    def cut(self):
        """Halves along an axis, multiplied or joined: a gated linear unit; or one of them alone."""
        axis, place = self.axis()
        if self.dims[place] % 2:
            return
        half = (*self.dims[:place], self.dims[place] // 2, *self.dims[place + 1:])
        if self.random.random() < 0.5:
            parts = self.node("Split", [self.name], 2, axis=axis)
        else:
            parts = [self.slice(axis, 0, half[place]), self.slice(axis, half[place], 1 << 40)]
        way = self.random.choice(["glu", "swap", "one"])
        if way == "one":
            return self.settle(parts[self.random.randint(0, 1)], half)
        if way == "swap":
            return self.settle(self.node("Concat", parts[::-1], axis=axis), self.dims)
        self.settle(self.node("Mul", [parts[0], self.node("Sigmoid", [parts[1]])]), half)

    def slice(self, axis, begin, end):
        if self.opset < 10:
            return self.node("Slice", [self.name], axes=[axis % (len(self.dims) + 1)], starts=[begin], ends=[min(end, 1 << 30)])
        return self.node("Slice", [self.name, *(self.constant(np.int64([i])) for i in (begin, end, axis))])

    def join(self):
        """With another view of the same numbers; dimensions may be stretched."""
        other = self.node(self.random.choice(ELEMENTWISE), [self.name])
        dims = self.dims if self.random.random() < 0.5 else self.other_dims()
        if dims != self.dims:
            other = self.node("Reshape", [other, self.constant(np.int64([-1, *dims]))])
        try:
            result = np.broadcast_shapes((BATCH, *self.dims), (BATCH, *dims))
        except ValueError:
            return
        if result[0] == BATCH and np.prod(result) < 2000:
            self.settle(self.node(self.random.choice(["Add", "Mul", "Sum"] if self.opset >= 8 else ["Add", "Mul"]), [self.name, other]),
                        result[1:])

    def concat(self):
        axis, place = self.axis()
        other = self.node("Tanh", [self.name])
        if np.prod(self.dims) < 200:
            self.settle(self.node("Concat", [self.name, other], axis=axis),
                        (*self.dims[:place], 2 * self.dims[place], *self.dims[place + 1:]))

    def gate(self):
        if len(self.dims) == 3:
            mean = self.node("GlobalAveragePool", [self.name])
            self.settle(self.node("Mul", [self.name, self.node("Sigmoid", [mean])]), self.dims)

    def convolution(self):
        if len(self.dims) == 3 and min(self.dims[1:]) > 1:
            bias = self.random.choice([[], [self.weights(4)]])
            out = self.node("Conv", [self.name, self.weights(4, self.dims[0], 3, 3)] + bias, pads=[1, 1, 1, 1])
            if not bias and self.random.random() < 0.5:
                out = self.node("Add", [out, self.weights(4, 1, 1)])
            self.settle(out, (4, *self.dims[1:]))

    def pool(self):
        if len(self.dims) != 3 or min(self.dims[1:]) < 2:
            return
        kernel, stride = [self.random.randint(1, 2) for _ in range(2)], [self.random.randint(1, 3) for _ in range(2)]
        up, dims = self.opset >= 10 and self.random.random() < 0.5, [self.dims[0]]
        for d, k, s in zip(self.dims[1:], kernel, stride):
            dims.append((d - k + (s - 1 if up else 0)) // s + 1)
            if (dims[-1] - 1) * s >= d:  # what a last window is that starts past the image, ONNX leaves open
                return
        self.settle(self.node(self.random.choice(["MaxPool", "AveragePool"]), [self.name], kernel_shape=kernel, strides=stride,
                              **({"ceil_mode": 1} if up else {})), dims)

    def mean(self):
        if len(self.dims) == 3:
            keep = self.random.randint(0, 1)
            self.settle(self.node("ReduceMean", [self.name], axes=[2, 3] if self.opset < 11 else [-1, -2], keepdims=keep),
                        (self.dims[0], 1, 1) if keep else self.dims[:1])

    def pad(self):
        if len(self.dims) == 3 and self.dims[1] * self.dims[2] < 60:
            pads = [0, 0, 1, 0, 0, 0, 0, 1]
            inputs, attributes = ([self.name], {"pads": pads}) if self.opset < 11 else ([self.name, self.constant(np.int64(pads))], {})
            self.settle(self.node("Pad", inputs, **attributes), (self.dims[0], self.dims[1] + 1, self.dims[2] + 1))

    def norm(self):
        kind = self.random.choice(["BatchNormalization", "LRN", "LayerNormalization"])
        if kind == "BatchNormalization":
            channels = self.dims[0]
            parts = [self.weights(channels) for _ in range(3)] + [self.constant(np.full(channels, 0.5, np.float32))]
            self.settle(self.node(kind, [self.name] + parts), self.dims)
        elif kind == "LRN" and len(self.dims) == 3:
            self.settle(self.node(kind, [self.name], size=3, alpha=0.5), self.dims)
        elif kind == "LayerNormalization" and self.opset == 17:
            axis, place = self.axis()
            self.settle(self.node(kind, [self.name, self.weights(*self.dims[place:])], axis=axis), self.dims)

    def own_norm(self):
        """x / (1 + mean of squares)^0.75, over neighbouring channels or over something else."""
        if len(self.dims) != 3:
            return
        square = self.node("Mul", [self.name, self.name])
        c, h, w = self.dims
        view = self.random.choice([(1, c, h, w), (1, c, h, w), (1, h, c, w), (c, h, w)])
        at = self.random.choice([len(view) - 2, len(view) - 3])
        begin, end = self.random.choice([(1, 1), (1, 1), (2, 0)])
        pads, kernel = [0] * (2 * len(view) + 2), [1] * (len(view) - len(self.dims) + 2)
        if at < len(view) - len(kernel):
            return
        pads[at + 1], pads[at + 1 + len(view) + 1] = begin, end
        kernel[at - len(view)] = 3
        apart = self.node("Reshape", [square, self.constant(np.int64([-1, *view]))])
        padded = self.node("Pad", [apart], pads=pads) if self.opset < 11 else self.node("Pad", [apart, self.constant(np.int64(pads))])
        mean = self.node("AveragePool", [padded], kernel_shape=kernel, strides=[1] * len(kernel))
        whole = self.node("Reshape", [mean, self.constant(np.int64([-1, c, h, w]))])
        numbers = [self.constant(np.float32(i)) for i in (0.5, 1, 0.75)]
        power = self.node("Pow", [self.node("Add", [self.node("Mul", [whole, numbers[0]]), numbers[1]]), numbers[2]])
        self.settle(self.node("Div", [self.name, power]), self.dims)

    def shuffle(self):
        if len(self.dims) >= 2:
            order = list(range(len(self.dims) + 1))
            a, b = self.random.sample(order[1:], 2)
            order[a], order[b] = order[b], order[a]
            self.settle(self.node("Transpose", [self.name], perm=order), [self.dims[i - 1] for i in order[1:]])

    def product(self):
        """A bias is computed from constants that are stretched."""
        if len(self.dims) != 1:
            return
        bias = self.node(self.random.choice(["Add", "Mul", "Sub"]), [self.weights(12), self.weights(1, 12)])
        if self.random.random() < 0.3:  # 3x4 numbers from 3x1 and 1x4
            stretched = self.node("Mul", [self.weights(3, 1), self.weights(1, 4)])
            bias = self.node("Reshape", [stretched, self.constant(np.int64([12]))])
        if self.random.random() < 0.5:
            return self.settle(self.node("Gemm", [self.name, self.weights(self.dims[0], 12), bias]), (12,))
        self.settle(self.node("Add", [self.node("MatMul", [self.name, self.weights(self.dims[0], 12)]), bias]), (12,))

    STEPS = (elementwise, elementwise, clip, dropout, reshape, reshape, reshape, computed_reshape, flatten, unsqueeze, squeeze, cut, cut,
             join, join, concat, gate, convolution, convolution, pool, mean, pad, norm, norm, own_norm, shuffle, product)

    def model(self):
        self.elementwise()
        for _ in range(self.random.randint(2, 6)):
            self.random.choice(self.STEPS)(self)
        if len(self.dims) != 1:
            self.flatten()
        if self.random.random() < 0.3:
            self.softmax = True
            self.settle(self.node("Softmax", [self.name], axis=1), self.dims)
        batch = "N" if self.free else BATCH
        graph = helper.make_graph(self.nodes, "walk", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, *self.input])],
                                  [helper.make_tensor_value_info(self.name, TensorProto.FLOAT, None)], self.tensors)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)


def graph_of(shape, nodes, tensors=(), opset=17, outputs=("y",)):
    result = helper.make_graph([helper.make_node(kind, inputs.split(","), made.split(","), **attributes)
                                for kind, inputs, made, attributes in nodes], "case",
                               [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", *shape])],
                               [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
                               [numpy_helper.from_array(np.asarray(value), name) for name, value in tensors])
    return helper.make_model(result, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


class KnownCasesTest(unittest.TestCase):
    """What was silently another network, or was refused for the wrong reason."""

    def found(self, model, shape):
        examples = np.random.default_rng(1).standard_normal((BATCH, *shape)).astype(np.float32)
        with tempfile.TemporaryDirectory() as folder:
            onnx.save(model, folder + "/m.onnx")
            return yoke_scores([(folder + "/m.onnx", examples, None)], folder)[0], examples

    def same(self, model, shape):
        scores, examples = self.found(model, shape)
        self.assertNotIsInstance(scores, Refused, scores)
        self.assertLess(relative_error(scores, runtime_scores(model, examples)), 1e-4)

    def refused(self, model, shape, *parts):
        scores, _ = self.found(model, shape)
        self.assertIsInstance(scores, Refused)
        for part in parts:
            self.assertIn(part, str(scores))

    def test_a_gate_over_half_of_a_view(self):
        nodes = [("Reshape", "x,s", "v", {}), ("Tanh", "v", "t", {}), ("Split", "t", "a,b", {"axis": -1}), ("Sigmoid", "b", "g", {}),
                 ("Mul", "a,g", "m", {}), ("Flatten", "m", "y", {})]
        self.refused(graph_of((24,), nodes, [("s", np.int64([-1, 2, 12]))]), (24,), "neither a row nor an image")

    def test_a_folded_image(self):
        weight = np.ones((2, 2, 1, 1), np.float32)
        nodes = [("Reshape", "x,s", "v", {}), ("Conv", "v,w", "c", {}), ("Flatten", "c", "y", {})]
        self.refused(graph_of((2, 2, 6), nodes, [("s", np.int64([-1, 2, 3, 4])), ("w", weight)]), (2, 2, 6),
                     "its input is 2x3x4 for an example, a view of 2x2x6")

    def test_sums_that_stretch(self):
        for kind in ("Add", "Sum"):
            nodes = [("Reshape", "x,a", "v", {}), ("Reshape", "x,b", "w", {}), (kind, "v,w", "s", {}), ("Flatten", "s", "y", {})]
            self.refused(graph_of((4,), nodes, [("a", np.int64([-1, 4, 1])), ("b", np.int64([-1, 1, 4]))]), (4,),
                         "different shapes (4x1 and 1x4 for an example)")

    def test_constants_that_stretch(self):
        nodes = [("Sum", "a,b", "s", {}), ("Reshape", "s,t", "c", {}), ("Gemm", "x,w,c", "y", {})]
        self.same(graph_of((4,), nodes, [("a", np.float32([[1], [2]])), ("b", np.float32([[1, 2, 3]])), ("t", np.int64([6])),
                                         ("w", np.ones((4, 6), np.float32))]), (4,))

    def test_half_of_the_batch(self):
        nodes = [("Shape", "x", "s", {}), ("Div", "s,two", "h", {}), ("Reshape", "x,h", "v", {}), ("Flatten", "v", "y", {})]
        self.refused(graph_of((4, 6), nodes, [("two", np.int64([2]))]), (4, 6), "does not keep the batch axis")

    def test_operators_of_old_opsets(self):
        draw = np.random.default_rng(2).standard_normal
        nodes = [("Conv", "x,w", "c", {"auto_pad": "SAME_UPPER"}), ("Add", "c,b", "d", {}), ("Clip", "d", "e", {"max": 2.0}),
                 ("Pad", "e", "f", {"pads": [0, 0, 1, 0, 0, 0, 0, 1]}), ("Split", "f", "g,h", {"axis": 1, "split": [1, 3]}),
                 ("Slice", "h", "i", {"axes": [1], "starts": [1], "ends": [3]}), ("Dropout", "i", "j", {"ratio": 0.5}),
                 ("Reshape", "j,s", "y", {})]
        for opset in (7, 8, 9):
            self.same(graph_of((2, 5, 5), nodes, [("w", draw((4, 2, 3, 3)).astype(np.float32)), ("b", draw((4, 1, 1)).astype(np.float32)),
                                                  ("s", np.int64([-1, 72]))], opset), (2, 5, 5))

    def test_a_part_of_a_split_that_leads_nowhere(self):
        nodes = [("Split", "x", "a,b", {"axis": 1}), ("Erf", "a", "dead", {}), ("Relu", "b", "y", {})]
        self.same(graph_of((6,), nodes), (6,))

    def test_the_unknown_operator_comes_first(self):
        weights = [(name, np.ones(shape, np.float32)) for name, shape in (("w", (1, 16, 3)), ("r", (1, 16, 4)), ("k", (2, 2, 2, 2)))]
        nodes = [("Transpose", "x", "t", {"perm": [1, 0, 2]}), ("LSTM", "t,w,r", "l", {"hidden_size": 4}), ("Flatten", "l", "y", {})]
        self.refused(graph_of((5, 3), nodes, weights), (5, 3), "unknown operator 'LSTM'")
        nodes = [("MaxPool", "x", "p", {"kernel_shape": [2, 2], "strides": [2, 2]}),
                 ("ConvTranspose", "p,k", "u", {"strides": [2, 2]}), ("Concat", "x,u", "y", {"axis": 1})]
        self.refused(graph_of((2, 4, 4), nodes, weights), (2, 4, 4), "unknown operator 'ConvTranspose'")


class ViewsTest(unittest.TestCase):
    def test_scores_are_those_of_the_file_or_it_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            walks, requests, expected = [], [], []
            for seed in range(SEED * 100000, SEED * 100000 + GRAPHS):
                walk = Walk(seed)
                model, file = walk.model(), os.path.join(folder, f"{seed}.onnx")
                examples = walk.numbers.standard_normal((BATCH, *walk.input)).astype(np.float32)
                try:
                    expected.append(runtime_scores(model, examples))
                except Exception:  # shapes that do not fit, which ONNX Runtime refuses too
                    continue
                onnx.save(model, file)
                walks.append(walk)
                requests.append((file, examples, file + ".copy"))
            found = yoke_scores(requests, folder)
            read = 0
            for walk, (file, examples, copy), scores, truth in zip(walks, requests, found, expected):
                with self.subTest(os.path.basename(file)):
                    if isinstance(scores, Refused):
                        self.assertIn(file, str(scores))
                        continue
                    read += 1
                    written = runtime_scores(copy, examples)
                    if walk.softmax:
                        scores, written = softmax(scores), softmax(written)
                    self.assertEqual(scores.shape, truth.shape)
                    self.assertLess(relative_error(scores, truth), 1e-4)
                    self.assertLess(relative_error(written, truth), 1e-4)
        print(f"{read} of {len(requests)} graphs were read, the others refused")
        self.assertGreater(len(requests), 0.9 * GRAPHS)
        self.assertGreater(read, len(requests) / 3)


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        GRAPHS, SEED = int(sys.argv[1]), int((sys.argv + ["1"])[2] if len(sys.argv) > 2 else 1)
        del sys.argv[1:]
    unittest.main()
