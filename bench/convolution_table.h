// The convolutions of the published networks, for images of 224x224 (CaffeNet: 227x227).
#pragma once

#include <string>
#include <vector>

#include "kernels/convolution/convolution.h"

namespace yoke {

/// A square convolution that occurs `count` times.
struct BenchConvolution {
  int64_t count, channels, size, outputs, kernel, stride = 1, padding = 0, groups = 1;

  ConvolutionShape Shape(int64_t batch) const {
    const Window window{.size = kernel, .stride = stride, .padding = padding};
    return {.batch = batch,
            .channels = channels,
            .height = size,
            .width = size,
            .outputs = outputs,
            .groups = groups,
            .rows = window,
            .columns = window,
            .bias = false,
            .training = true,
            .input_gradient = channels > 3};  // nobody wants that of the images
  }
};

struct BenchNetwork {
  std::string name;
  std::vector<BenchConvolution> convolutions;
};

/// Channels of an inception module: its input, then of each branch.
struct Inception {
  int64_t size, in, one, three_in, three, five_in, five, pool;
};

inline BenchNetwork GoogLeNet() {
  BenchNetwork net{"googlenet", {{1, 3, 224, 64, 7, 2, 3}, {1, 64, 56, 64, 1}}};
  net.convolutions.push_back({1, 64, 56, 192, 3, 1, 1});
  const Inception modules[] = {
      {28, 192, 64, 96, 128, 16, 32, 32},     {28, 256, 128, 128, 192, 32, 96, 64},
      {14, 480, 192, 96, 208, 16, 48, 64},    {14, 512, 160, 112, 224, 24, 64, 64},
      {14, 512, 128, 128, 256, 24, 64, 64},   {14, 512, 112, 144, 288, 32, 64, 64},
      {14, 528, 256, 160, 320, 32, 128, 128}, {7, 832, 256, 160, 320, 32, 128, 128},
      {7, 832, 384, 192, 384, 48, 128, 128}};
  for (const Inception& m : modules) {
    for (int64_t outputs : {m.one, m.three_in, m.five_in, m.pool})
      net.convolutions.push_back({1, m.in, m.size, outputs, 1});
    net.convolutions.push_back({1, m.three_in, m.size, m.three, 3, 1, 1});
    net.convolutions.push_back({1, m.five_in, m.size, m.five, 5, 1, 2});
  }
  return net;
}

inline BenchNetwork CaffeNet() {
  return {"caffenet",
          {{1, 3, 227, 96, 11, 4},
           {1, 96, 27, 256, 5, 1, 2, 2},
           {1, 256, 13, 384, 3, 1, 1},
           {1, 384, 13, 384, 3, 1, 1, 2},
           {1, 384, 13, 256, 3, 1, 1, 2}}};
}

inline std::vector<BenchNetwork> BenchNetworks() {
  return {{"vgg11",
           {{1, 3, 224, 64, 3, 1, 1},
            {1, 64, 112, 128, 3, 1, 1},
            {1, 128, 56, 256, 3, 1, 1},
            {1, 256, 56, 256, 3, 1, 1},
            {1, 256, 28, 512, 3, 1, 1},
            {1, 512, 28, 512, 3, 1, 1},
            {2, 512, 14, 512, 3, 1, 1}}},
          {"resnet18",
           {{1, 3, 224, 64, 7, 2, 3},
            {4, 64, 56, 64, 3, 1, 1},
            {1, 64, 56, 128, 3, 2, 1},
            {3, 128, 28, 128, 3, 1, 1},
            {1, 64, 56, 128, 1, 2},
            {1, 128, 28, 256, 3, 2, 1},
            {3, 256, 14, 256, 3, 1, 1},
            {1, 128, 28, 256, 1, 2},
            {1, 256, 14, 512, 3, 2, 1},
            {3, 512, 7, 512, 3, 1, 1},
            {1, 256, 14, 512, 1, 2}}},
          {"resnet50",
           {{1, 3, 224, 64, 7, 2, 3},   {1, 64, 56, 64, 1},         {3, 64, 56, 64, 3, 1, 1},
            {4, 64, 56, 256, 1},        {2, 256, 56, 64, 1},        {1, 256, 56, 128, 1},
            {1, 128, 56, 128, 3, 2, 1}, {4, 128, 28, 512, 1},       {1, 256, 56, 512, 1, 2},
            {3, 512, 28, 128, 1},       {3, 128, 28, 128, 3, 1, 1}, {1, 512, 28, 256, 1},
            {1, 256, 28, 256, 3, 2, 1}, {6, 256, 14, 1024, 1},      {1, 512, 28, 1024, 1, 2},
            {5, 1024, 14, 256, 1},      {5, 256, 14, 256, 3, 1, 1}, {1, 1024, 14, 512, 1},
            {1, 512, 14, 512, 3, 2, 1}, {3, 512, 7, 2048, 1},       {1, 1024, 14, 2048, 1, 2},
            {2, 2048, 7, 512, 1},       {2, 512, 7, 512, 3, 1, 1}}},
          GoogLeNet(),
          CaffeNet()};
}

}  // namespace yoke
