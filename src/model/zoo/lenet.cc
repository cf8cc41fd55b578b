// LeNet as Caffe defines it for MNIST (no activation after the convolutions): 431,080 parameters
// for 28x28 grey images of 10 classes. After LeCun et al., "Gradient-Based Learning Applied to
// Document Recognition" (1998).
#include "model/zoo/tables.h"

namespace yoke::zoo {
namespace {

List BuildLenet(const Options& /*options*/, const ModelTask& task) {
  RequireImage("lenet", task, 16);
  return {Layer("convolution", {{"outputs", 20}, {"kernel", List{5}}}),
          Layer("max_pool", {{"kernel", List{2}}, {"stride", List{2}}}),
          Layer("convolution", {{"outputs", 50}, {"kernel", List{5}}}),
          Layer("max_pool", {{"kernel", List{2}}, {"stride", List{2}}}),
          Layer("flatten"),
          Layer("linear", {{"outputs", 500}}),
          Layer("relu"),
          Layer("linear", {{"outputs", task.outputs}})};
}

}  // namespace

ModelEntry lenet() {
  return {.name = "lenet",
          .summary = "LeNet as in Caffe: two 5x5 convolutions (20, 50), 500 hidden units",
          .options = {},
          .build = BuildLenet};
}

}  // namespace yoke::zoo
