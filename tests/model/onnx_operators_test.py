#!/usr/bin/env python3
"""The ONNX project's own tests of every operator that becomes a layer: yoke's numbers are theirs, or it refuses with a sentence.

Weights and settings, inputs of those tests, become constants of the file; several data inputs are cut out of one by products;
what comes out is flattened to scores. OUT_OF_SCOPE holds what is refused, and why."""
import os
import sys
import tempfile
import unittest
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from onnx_support import Refused, np, onnx, relative_error, yoke_scores  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

warnings.filterwarnings("ignore")
from onnx.backend.test.case.node import collect_testcases  # noqa: E402

ELEMENTWISE = {"Clip", "Dropout", "Gelu", "HardSigmoid", "HardSwish", "Identity", "LeakyRelu", "Relu", "Sigmoid", "Tanh"}
JOINS = {"Add", "Concat", "Mul", "Sum"}
VIEWS = {"Flatten", "Reshape", "Squeeze", "Unsqueeze"}
WINDOWS = {"AveragePool", "Conv", "GlobalAveragePool", "GlobalMaxPool", "LRN", "MaxPool", "Pad", "ReduceMean", "Slice", "Split", "Transpose"}
OPERATORS = ELEMENTWISE | JOINS | VIEWS | WINDOWS | {"BatchNormalization", "Gemm", "LayerNormalization", "LogSoftmax", "MatMul", "Softmax"}

# A part of the sentence, yoke's or this harness's, that says why tests are not run -> these tests.
OUT_OF_SCOPE = {
    "no 32-bit floats":
        """add_int8 add_int16 add_uint8 add_uint16 add_uint32 add_uint64 clip_default_int8_min clip_default_int8_max
        clip_default_int8_inbounds identity_sequence identity_opt maxpool_2d_uint8 edge_pad reflect_pad wrap_pad mul_int8
        mul_int16 mul_uint8 mul_uint16 mul_uint32 mul_uint64""",
    "inputs of different shapes":
        """add_bcast mul_bcast""",
    "no numbers at all":
        """split_zero_size_splits_opset13 split_zero_size_splits_opset18 reshape_allowzero_reordered
        reduce_mean_default_axes_keepdims_example reduce_mean_default_axes_keepdims_random""",
    "dilations":
        """averagepool_2d_dilations maxpool_2d_dilations""",
    "outputs; expected one, the scores":
        """batchnorm_example_training_mode batchnorm_epsilon_training_mode dropout_default_mask dropout_default_mask_ratio
        training_dropout_default_mask training_dropout_mask training_dropout_zero_ratio_mask
        maxpool_with_argmax_2d_precomputed_pads maxpool_with_argmax_2d_precomputed_strides""",
    "expected more than minimum":
        """clip_min_greater_than_max""",
    "neither rows nor images":
        """concat_1d_axis_0 concat_1d_axis_negative_1 concat_3d_axis_0 concat_3d_axis_1 concat_3d_axis_2
        concat_3d_axis_negative_3 concat_3d_axis_negative_2 concat_3d_axis_negative_1""",
    "the first axis does not stay":
        """concat_2d_axis_0 concat_2d_axis_negative_2 flatten_axis0 flatten_axis2 flatten_axis3 flatten_negative_axis4
        flatten_negative_axis2 flatten_negative_axis1 gemm_transposeA gemm_all_attributes matmul_1d_3d matmul_1d_1d
        reshape_reordered_all_dims
        reshape_one_dim reshape_negative_extended_dims slice slice_neg_steps squeeze unsqueeze_axis_0
        split_equal_parts_1d_opset13 split_variable_parts_1d_opset13 split_equal_parts_default_axis_opset13
        split_variable_parts_default_axis_opset13 split_equal_parts_1d_opset18 split_variable_parts_1d_opset18
        split_equal_parts_default_axis_opset18 split_variable_parts_default_axis_opset18 split_1d_uneven_split_opset18
        transpose_default transpose_all_permutations_2 transpose_all_permutations_3 transpose_all_permutations_4
        transpose_all_permutations_5""",
    "a channel shuffle":
        """transpose_all_permutations_0 transpose_all_permutations_1""",
    # Drawn at random in training; yoke computes what comes after it.
    "relative error":
        """training_dropout_default training_dropout""",
    "not a number for each":
        """gemm_default_matrix_bias""",
    "only the mean over height and width":
        """reduce_mean_do_not_keepdims_example reduce_mean_do_not_keepdims_random reduce_mean_keepdims_example
        reduce_mean_keepdims_random reduce_mean_negative_axes_keepdims_example reduce_mean_negative_axes_keepdims_random""",
    "no layer computes":
        """sum_one_input""",
    "axes for an example":
        """averagepool_1d_default averagepool_3d_default averagepool_3d_dilations_small
        averagepool_3d_dilations_large_count_include_pad_is_0_ceil_mode_is_True
        averagepool_3d_dilations_large_count_include_pad_is_0_ceil_mode_is_False
        averagepool_3d_dilations_large_count_include_pad_is_1_ceil_mode_is_True
        averagepool_3d_dilations_large_count_include_pad_is_1_ceil_mode_is_False logsoftmax_axis_0 logsoftmax_axis_1
        logsoftmax_axis_2 logsoftmax_negative_axis logsoftmax_default_axis matmul_3d matmul_4d matmul_bcast matmul_4d_1d
        maxpool_1d_default maxpool_3d_default maxpool_3d_dilations maxpool_3d_dilations_use_ref_impl
        maxpool_3d_dilations_use_ref_impl_large softmax_axis_0 softmax_axis_1 softmax_axis_2
        softmax_negative_axis softmax_default_axis""",
    "it normalizes from axis":
        """layer_normalization_2d_axis0 layer_normalization_2d_axis_negative_2 layer_normalization_3d_axis0_epsilon
        layer_normalization_3d_axis_negative_3_epsilon layer_normalization_3d_axis2_epsilon
        layer_normalization_3d_axis_negative_1_epsilon layer_normalization_4d_axis0 layer_normalization_4d_axis_negative_4
        layer_normalization_4d_axis2 layer_normalization_4d_axis3 layer_normalization_4d_axis_negative_1
        layer_normalization_4d_axis_negative_2 layer_normalization_default_axis""",
    "some of the channels":
        """slice_default_axes slice_default_steps slice_negative_axes""",
    "it takes no channel":
        """slice_start_out_of_bounds""",
}
REASONS = {f"test_{name}": reason for reason, names in OUT_OF_SCOPE.items() for name in names.split()}
ROUNDED = {"test_averagepool_2d_ceil_last_window_starts_on_pad"}  # its expected numbers have four digits


class NotPossible(Exception):
    """The test asks for something that no model of examples with scores can be."""


def constant(name, value):
    return numpy_helper.from_array(np.asarray(value), name)


def cut_out(graph, node, arrays):
    """One input [batch, all numbers]; a product each gives the node its inputs as rows."""
    batch = arrays[0].shape[0]
    if any(a.shape != arrays[0].shape and node.op_type != "Concat" or a.shape[:1] != (batch,) for a in arrays):
        raise NotPossible("inputs of different shapes")
    if node.op_type == "Concat" and arrays[0].ndim != 2:
        raise NotPossible("concatenation of neither rows nor images")
    rows = [a.reshape(batch, -1) for a in arrays]
    whole, begin, products = np.concatenate(rows, 1), 0, []
    for i, row in enumerate(rows):
        choice = np.eye(whole.shape[1], dtype=np.float32)[:, begin:begin + row.shape[1]]
        begin += row.shape[1]
        graph.initializer.append(constant(f"choice{i}", choice))
        products.append(helper.make_node("Gemm", ["data", f"choice{i}"], [node.input[i]]))
    return whole, products


def as_model(case):
    """The test as a model with one input and scores; its examples, and the scores expected."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    graph, node = model.graph, model.graph.node[0]
    arrays, expected = case.data_sets[0]
    parts = expected if node.op_type == "Split" and np.ndim(expected[0]) == 2 else []
    arrays, expected = [np.asarray(a) for a in arrays], np.concatenate(parts[::-1], 1) if parts else np.asarray(expected[0])
    if any(i.type.tensor_type.elem_type not in (TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL) for i in graph.input) or \
            graph.input[0].type.tensor_type.elem_type != TensorProto.FLOAT:
        raise NotPossible("no 32-bit floats")
    if not all(a.size for a in arrays):
        raise NotPossible("no numbers at all")
    names = [i.name for i in graph.input]
    data = len(arrays) if node.op_type in JOINS else 1
    for name, value in list(zip(names, arrays))[data:]:
        graph.initializer.append(constant(name, value))
    examples, before = arrays[0], []
    if examples.ndim == 1 and node.op_type in ELEMENTWISE | JOINS - {"Concat"}:
        arrays, expected = [a.reshape(-1, 1) if a.ndim == 1 else a for a in arrays], expected.reshape(-1, 1)
        examples = arrays[0]
    if data > 1:
        examples, before = cut_out(graph, node, arrays[:data])
    elif node.op_type in ("Softmax", "LogSoftmax") and examples.ndim == 2:
        graph.initializer.append(constant("choice", np.eye(examples.shape[1], dtype=np.float32)))
        before = [helper.make_node("Gemm", ["data", "choice"], [names[0]])]
    else:
        node.input[0] = "data"
    if expected.shape[:1] != examples.shape[:1]:
        raise NotPossible("the first axis does not stay that of the batch")
    after, output, others = [], node.output[0], list(node.output)[1:]
    if node.op_type == "LayerNormalization":
        others = []  # mean and deviation, which nothing reads
    if expected.ndim != 2 or data > 1:
        after, output = [helper.make_node("Flatten", [output], ["flat"])], "flat"
    if parts:  # one behind the other again, the last first
        after, output, others = [helper.make_node("Concat", list(node.output)[::-1], ["joined"], axis=1)], "joined", []
    nodes = before + [node] + after
    result = helper.make_graph(nodes, "test", [helper.make_tensor_value_info("data", TensorProto.FLOAT, examples.shape)],
                               [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in
                                [output] + [o for o in others if o]], list(graph.initializer))
    model.graph.CopyFrom(result)
    return model, examples, expected.reshape(len(examples), -1)


def softmax(scores):
    powers = np.exp(scores - scores.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


class OperatorsTest(unittest.TestCase):
    def prepare(self, case, file):
        """The examples and the scores expected of the model that is written to `file`; or why there is none."""
        try:
            model, examples, expected = as_model(case)
        except NotPossible as reason:
            return str(reason), None, None
        onnx.save(model, file)
        return "", examples, expected

    def outcome(self, case, found, expected):
        """Why it is out of scope, or "" when the numbers are right."""
        if isinstance(found, Refused):
            return str(found)
        operator = case.model.graph.node[0].op_type
        if operator in ("Softmax", "LogSoftmax"):  # what the loss takes the place of
            found = softmax(found)
            expected = np.exp(expected) if operator == "LogSoftmax" else expected
        error = relative_error(found, expected)
        return "" if error < (1e-3 if case.name in ROUNDED else 1e-4) else f"relative error {error}"

    def test_every_operator(self):
        cases = [case for case in collect_testcases(None) if len(case.model.graph.node) == 1 and
                 case.model.graph.node[0].op_type in OPERATORS and "_expanded" not in case.name]
        with tempfile.TemporaryDirectory() as folder:
            files = [os.path.join(folder, f"{case.name}.onnx") for case in cases]
            prepared = [self.prepare(case, file) for case, file in zip(cases, files)]
            requests = [(file, examples, None) for file, (reason, examples, _) in zip(files, prepared) if not reason]
            found = iter(yoke_scores(requests, folder))
            outcomes = {case.name: reason or self.outcome(case, next(found), expected)
                        for case, (reason, _, expected) in zip(cases, prepared)}
        for name, reason in outcomes.items():
            with self.subTest(name):
                self.assertEqual(bool(reason), name in REASONS, reason or "it runs and is said to be out of scope")
                self.assertIn(REASONS.get(name, ""), reason)
        ran = [case for case in cases if not outcomes[case.name]]
        operators = {case.model.graph.node[0].op_type for case in ran}
        print(f"{len(ran)} tests of {len(operators)} operators ran, {len(cases) - len(ran)} are out of scope")
        self.assertGreaterEqual(len(ran), 80)
        self.assertEqual(OPERATORS - operators, {"ReduceMean", "Transpose"}, "theirs are not of images")


class HalvesTest(unittest.TestCase):
    """Numbers of 16 bits, as bytes and as integers, are read as what they are; so is a model that computes in them."""

    def test_weights(self):
        random = np.random.default_rng(3)
        for kind, bits in ((TensorProto.FLOAT16, lambda a: a.astype(np.float16).view(np.uint16)),
                           (TensorProto.BFLOAT16, lambda a: (a.view(np.uint32) >> 16).astype(np.uint16))):
            weight, bias = (random.standard_normal(n).astype(np.float32) for n in ((4, 3), 3))
            weight[0, :2] = 6e-8, 0  # the least number of 16 bits
            tensors = [helper.make_tensor("w", kind, (4, 3), bits(weight).tobytes(), raw=True), TensorProto(
                name="b", data_type=kind, dims=[3], int32_data=[int(b) for b in bits(bias)])]
            nodes = [helper.make_node("Cast", ["x"], ["h"], to=kind), helper.make_node("Gemm", ["h", "w", "b"], ["y"])]
            graph = helper.make_graph(nodes, "halves", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4])],
                                      [helper.make_tensor_value_info("y", kind, ["N", 3])], tensors)
            examples = random.standard_normal((5, 4)).astype(np.float32)
            with tempfile.TemporaryDirectory() as folder:
                onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), folder + "/m.onnx")
                (found,) = yoke_scores([(folder + "/m.onnx", examples, None)], folder)
            read = [numpy_helper.to_array(tensor).astype(np.float32) for tensor in tensors]
            self.assertNotIsInstance(found, Refused, found)
            self.assertLess(relative_error(found, examples @ read[0] + read[1]), 1e-6)


if __name__ == "__main__":
    unittest.main()
