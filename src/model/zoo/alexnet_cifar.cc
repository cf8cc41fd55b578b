// A small AlexNet for CIFAR, after Caffe's "cifar10_quick": 116,906 parameters for 32x32 colour
// images of 10 classes (pooling rounds down: 32, 15, 7, 3). Krizhevsky, "cuda-convnet" (2011).
#include "model/zoo/tables.h"

namespace yoke::zoo {
namespace {

Value Convolution(int outputs) {
  return Layer("convolution", {{"outputs", outputs}, {"kernel", List{5}}, {"padding", List{2}}});
}

Value Pool(const char* type) { return Layer(type, {{"kernel", List{3}}, {"stride", List{2}}}); }

List BuildAlexnetCifar(const Options& /*options*/, const ModelTask& task) {
  RequireImage("alexnet-cifar", task, 15);
  return {Convolution(32),
          Pool("max_pool"),
          Layer("relu"),
          Convolution(32),
          Layer("relu"),
          Pool("average_pool"),
          Convolution(64),
          Layer("relu"),
          Pool("average_pool"),
          Layer("flatten"),
          Layer("linear", {{"outputs", 64}}),
          Layer("linear", {{"outputs", task.outputs}})};
}

}  // namespace

ModelEntry alexnet_cifar() {
  return {.name = "alexnet-cifar",
          .summary = "Caffe's quick CIFAR network: three 5x5 convolutions (32, 32, 64), 64 units",
          .options = {},
          .build = BuildAlexnetCifar};
}

}  // namespace yoke::zoo
