// Every model of the zoo (mlp, linear, lenet, alexnet_cifar, xmc, caffenet, vgg11, vgg16,
// vgg19, googlenet, resnet18, resnet34, resnet50, resnet20, resnet56): its parameters counted, data
// that it refuses, and that those of small images learn a batch by heart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/check.h"
#include "base/random.h"
#include "base/registry.h"
#include "kernels/threads.h"
#include "model/graph.h"

namespace yoke::zoo_conformance_test {

ModelTask Images(int64_t channels, int64_t size) {
  return {.input = {.shape = {channels, size, size}}, .outputs = 10};
}

ModelTask Sparse(int64_t features, int64_t outputs, bool multi_label) {
  return {.input = {.shape = {features}, .sparse = true},
          .outputs = outputs,
          .multi_label = multi_label};
}

Graph Build(const Table& section, const ModelTask& task) { return BuildModel(section, task); }

std::string Refusal(const Table& section, const ModelTask& task) {
  try {
    Build(section, task);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(Zoo, CountsTheParametersOfTheContract) {
  EXPECT_EQ(Build({{"name", "lenet"}}, Images(1, 28)).layout().Parameters(), 431'080);
  EXPECT_EQ(Build({{"name", "alexnet-cifar"}}, Images(3, 32)).layout().Parameters(), 116'906);
  EXPECT_EQ(Build({{"name", "mlp"}}, Images(1, 28)).layout().Parameters(), 669'706);
  EXPECT_EQ(Build({{"name", "mlp"}, {"widths", List{}}}, Images(1, 28)).layout().Parameters(),
            7'850);
  EXPECT_EQ(Build({{"name", "linear"}}, Images(1, 28)).layout().Parameters(), 7'850);
  EXPECT_EQ(Build({{"name", "xmc"}}, Sparse(500, 983, true)).layout().Parameters(),
            500 * 128 + 128 + 129 * 983);
}

/// Parameters for the images and classes that the network was published with.
int64_t Published(const Table& section, int64_t size = 224, int64_t classes = 1000) {
  ModelTask task = Images(3, size);
  task.outputs = classes;
  return Build(section, task).layout().Parameters();
}

TEST(Zoo, CountsThePublishedParameters) {
  EXPECT_EQ(Published({{"name", "caffenet"}}), 60'965'224);
  EXPECT_EQ(Published({{"name", "caffenet"}}, 227), 60'965'224);
  EXPECT_EQ(Published({{"name", "vgg11"}}), 132'863'336);
  EXPECT_EQ(Published({{"name", "vgg16"}}), 138'357'544);
  EXPECT_EQ(Published({{"name", "vgg19"}}), 143'667'240);
  EXPECT_EQ(Published({{"name", "resnet18"}}), 11'689'512);
  EXPECT_EQ(Published({{"name", "resnet34"}}), 21'797'672);
  EXPECT_EQ(Published({{"name", "resnet50"}}), 25'557'032);
  EXPECT_EQ(Published({{"name", "resnet20"}}, 32, 10), 269'722);
  EXPECT_EQ(Published({{"name", "resnet56"}}, 32, 10), 853'018);
  EXPECT_EQ(Published({{"name", "googlenet"}}), 6'998'552);
  EXPECT_EQ(Published({{"name", "googlenet"}, {"auxiliary", true}}), 13'378'280);
  EXPECT_EQ(Published({{"name", "googlenet"}, {"batch_norm", true}}), 6'624'904);
  EXPECT_EQ(Published({{"name", "googlenet"}, {"batch_norm", true}, {"auxiliary", true}}),
            13'004'888);
}

TEST(Zoo, TheFirstLayerFollowsTheData) {
  const Graph dense = Build({{"name", "mlp"}}, Images(1, 28));
  const Graph sparse = Build({{"name", "mlp"}}, Sparse(300, 2, false));
  EXPECT_EQ(dense.Info()[0].type, "linear+relu");
  EXPECT_THAT(sparse.Info()[0].type, testing::StartsWith("sparse_linear"));
  EXPECT_EQ(sparse.layout().slices()[0].kind, SliceKind::kRowSparse);
}

TEST(Zoo, TheLossFollowsTheData) {
  const auto loss = [](const Table& section, const ModelTask& task) {
    return Build(section, task).Info().back().type;
  };
  EXPECT_EQ(loss({{"name", "linear"}}, Sparse(300, 2, false)), "softmax_cross_entropy");
  EXPECT_EQ(loss({{"name", "linear"}}, Sparse(300, 20, true)), "sigmoid_cross_entropy");
  EXPECT_EQ(loss({{"name", "xmc"}}, Sparse(300, 20, true)), "sigmoid_cross_entropy");
  EXPECT_EQ(loss({{"name", "xmc"}, {"loss", "softmax"}}, Sparse(300, 20, true)),
            "softmax_cross_entropy");
}

TEST(Zoo, RefusesDataThatDoesNotFit) {
  using testing::HasSubstr;
  EXPECT_THAT(Refusal({{"name", "lenet"}}, Sparse(300, 2, false)), HasSubstr("needs images"));
  EXPECT_THAT(Refusal({{"name", "lenet"}}, Images(1, 12)), HasSubstr("16x16"));
  EXPECT_THAT(Refusal({{"name", "alexnet-cifar"}}, Images(3, 14)), HasSubstr("15x15"));
  EXPECT_THAT(Refusal({{"name", "xmc"}}, Images(1, 28)), HasSubstr("sparse"));
  EXPECT_THAT(Refusal({{"name", "mlp"}, {"widths", List{0}}}, Images(1, 28)), HasSubstr("widths"));
  EXPECT_THAT(Refusal({{"name", "mpl"}}, Images(1, 28)), HasSubstr("mlp"));
  EXPECT_THAT(Refusal({{"name", "mlp"}, {"hidden", 3}}, Images(1, 28)), HasSubstr("hidden"));
  EXPECT_THAT(Refusal({}, Images(1, 28)), HasSubstr("layer"));
  EXPECT_THAT(Refusal({{"name", "mlp"}, {"layer", List{}}}, Images(1, 28)), HasSubstr("several"));
}

TEST(Zoo, OptionsOfTheHashedLayerHaveTheirOwnName) {
  const auto refusal = [](const Table& options) {
    return Refusal({{"name", "xmc"}, {"output", "lsh"}, {"lsh", options}}, Sparse(300, 20, true));
  };
  EXPECT_EQ(refusal({{"hard", 5}}), "");
  for (const auto& option : Table{{"slots", 3000}, {"hashes", 0}, {"slot", 16}, {"threshold", 3}})
    EXPECT_THAT(refusal({option}), testing::HasSubstr("model.lsh." + option.first));
}

TEST(Zoo, TheSmallestImagesPass) {
  EXPECT_EQ(Refusal({{"name", "lenet"}}, Images(1, 16)), "");
  EXPECT_EQ(Refusal({{"name", "alexnet-cifar"}}, Images(3, 15)), "");
  EXPECT_EQ(Refusal({{"name", "caffenet"}}, Images(3, 67)), "");
  EXPECT_EQ(Refusal({{"name", "vgg11"}}, Images(3, 32)), "");
  EXPECT_EQ(Refusal({{"name", "googlenet"}}, Images(3, 47)), "");
  EXPECT_EQ(Refusal({{"name", "googlenet"}, {"auxiliary", true}}, Images(3, 193)), "");
  EXPECT_EQ(Refusal({{"name", "resnet18"}}, Images(3, 32)), "");
  EXPECT_EQ(Refusal({{"name", "resnet20"}}, Images(3, 16)), "");
}

/// A batch of random examples with random labels that fits the task.
Batch Drawn(const ModelTask& task, int64_t size) {
  Random random{3};
  Batch batch;
  batch.size = size;
  batch.is_sparse = task.input.sparse;
  batch.sparse = {.width = task.input.shape[0], .offsets = {0}, .ids = {}, .values = {}};
  batch.labels = {.width = task.outputs, .offsets = {0}, .ids = {}, .values = {}};
  batch.ResizeDense(task.input.shape);
  for (int64_t i = 0; i < batch.dense.Count(); ++i)
    batch.dense.As<float>()[i] = static_cast<float>(random.Uniform());
  for (int64_t i = 0; i < size; ++i) {
    batch.examples.push_back(i);
    for (int32_t j = 0; j < 5; ++j) {
      const auto step = static_cast<uint64_t>(task.input.shape[0] / 5 + 1);
      if (task.input.sparse)
        batch.sparse.ids.push_back(
            static_cast<int32_t>(j * 20 + random.Below(std::min<uint64_t>(step, 20))));
      batch.sparse.values.push_back(1);
    }
    batch.sparse.offsets.push_back(static_cast<int64_t>(batch.sparse.ids.size()));
    if (task.multi_label)
      batch.labels.ids.push_back(static_cast<int32_t>(random.Below(task.outputs)));
    else
      batch.classes.push_back(static_cast<int32_t>(random.Below(task.outputs)));
    batch.labels.offsets.push_back(static_cast<int64_t>(batch.labels.ids.size()));
  }
  return batch;
}

/// Losses of a few steps of plain descent on one batch of four.
std::vector<double> Losses(const Table& model, const ModelTask& task, int steps, float rate) {
  const Graph graph = Build(model, task);
  ParamStore params(graph.layout(), Cpu());
  Gradients gradients(graph.layout(), Cpu());
  Initialize(params, 1);
  const auto plan = graph.Compile({.batch = 4, .training = true});
  const Batch batch = Drawn(task, 4);
  std::vector<double> losses;
  for (int step = 0; step < steps; ++step) {
    plan->PrepareAndForward(batch, params.View(&gradients));
    plan->Backward(batch, params.View(&gradients), {});
    losses.push_back(plan->Loss());
    for (int64_t i = 0; i < graph.layout().dense_size(); ++i)
      params.values().Host()[i] -= rate * gradients.dense().Host()[i];
  }
  return losses;
}

TEST(Zoo, SmallModelsLearnABatchByHeart) {
  SetKernelThreads(1);  // small work: waiting for threads would take longer
  const std::map<std::string, ModelTask> tasks = {
      {"mlp", Images(1, 28)},         {"linear", Sparse(100, 4, false)},
      {"lenet", Images(1, 16)},       {"alexnet-cifar", Images(3, 15)},
      {"xmc", Sparse(100, 30, true)}, {"googlenet", Images(3, 47)},
      {"resnet18", Images(3, 32)},    {"resnet20", Images(3, 16)}};
  for (const auto& [name, task] : tasks) {
    const bool deep = name == "googlenet" || name.starts_with("resnet");
    Table model = {{"name", name}};
    if (name == "googlenet") model.emplace_back("batch_norm", true);  // it learns faster
    const std::vector<double> losses = Losses(model, task, deep ? 6 : 30, deep ? 0.05F : 0.1F);
    EXPECT_LT(losses.back(), 0.8 * losses.front()) << name;
  }
}

}  // namespace yoke::zoo_conformance_test
