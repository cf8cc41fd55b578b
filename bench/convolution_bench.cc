// Measures convolutions and prints Markdown: the networks' forward, weight gradient and data
// gradient as fractions of a large matrix product's rate at the same time; single shapes beside the
// direct kernels; and lowering over partitions and images lowered together (Omnivore's experiment).
//
// usage: convolution_bench networks THREADS f32|bf16 ALGORITHM [NETWORK]
//        convolution_bench shapes THREADS auto|winograd    (lowered gradients, Winograd)
//        convolution_bench lowering THREADS BATCH [ALGORITHM PARTITIONS IMAGES]    (one
//        point: its seconds)
//        convolution_bench parts TEAM BATCH    (what one thread of a team does in lowering)
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <dnnl.hpp>
#include <string>
#include <vector>

#include "base/algorithms.h"
#include "base/check.h"
#include "base/clock.h"
#include "bench/convolution_table.h"
#include "bench/rate.h"
#include "kernels/convolution/cpu_lowering.h"

namespace {

using namespace yoke;  // NOLINT(google-build-using-namespace): a program of one file

constexpr int kRounds = 7;

/// Seconds of one call, repeated to last a few milliseconds at least.
template <typename Call>
double Seconds(const Call& call) {
  const double start = Now();
  int64_t calls = 0;
  double elapsed = 0;
  do {
    call();
    elapsed = Now() - start;
    ++calls;
  } while (elapsed < 0.01);
  return elapsed / static_cast<double>(calls);
}

/// One convolution with its memory.
class Convolution {
 public:
  explicit Convolution(ConvolutionShape shape)
      : shape_(WithLayout(shape)),
        kernel_(MakeConvolution(shape_)),
        input_(RandomValues(shape_.Input().Count(), 1, 1, shape_.type)),
        weight_(RandomValues(shape_.Weight().Count(), 1, 2, shape_.type)),
        output_(RandomValues(shape_.Output().Count(), 1, 3, shape_.type)),
        output_gradient_(RandomValues(shape_.Output().Count(), 1, 4, shape_.type)),
        input_gradient_(Cpu(), input_.bytes()),
        weight_gradient_(Cpu(), shape_.Weight().Count() * 4),
        scratch_(Cpu(), kernel_->scratch_bytes() + 64) {}

  void Forward() { kernel_->Forward(Call(false)); }
  void Backward(bool input) { kernel_->Backward(Call(input)); }
  const ConvolutionShape& shape() const { return shape_; }
  std::string name() const { return kernel_->name(); }
  /// Of one of the three passes.
  double Operations() const {
    const Shape weight = shape_.Weight();
    return 2.0 * static_cast<double>(shape_.Output().Count() * weight[1] * weight[2] * weight[3]);
  }

 private:
  static ConvolutionShape WithLayout(ConvolutionShape shape) {
    shape.layout = PreferredLayout(shape);
    return shape;
  }
  ConvolutionCall Call(bool input) const {
    return {.input = input_.data(),
            .weight = weight_.data(),
            .output = output_.data(),
            .output_gradient = output_gradient_.data(),
            .input_gradient = input ? input_gradient_.data() : nullptr,
            .weight_gradient = weight_gradient_.As<float>(),
            .scratch = scratch_.data()};
  }

  ConvolutionShape shape_;
  std::unique_ptr<ConvolutionKernel> kernel_;
  Buffer input_, weight_, output_, output_gradient_, input_gradient_, weight_gradient_, scratch_;
};

/// Seconds of a convolution's passes, and at full speed.
struct Times {
  double forward = 0, weights = 0, data = 0;
  double best_pass = 0;  ///< Of one pass at the product's rate of the same seconds.
  double best_data = 0;  ///< The same, 0 when no data gradient is wanted.

  void Add(const Times& t, double count) {
    forward += count * t.forward;
    weights += count * t.weights;
    data += count * t.data;
    best_pass += count * t.best_pass;
    best_data += count * t.best_data;
  }
  std::string Text() const {
    const double all = forward + weights + data, best = 2 * best_pass + best_data;
    const std::string of_data = data > 0 ? fmt::format("{:.0f} %", 100 * best_data / data) : "-";
    return fmt::format("{:.0f} % | {:.0f} % | {} | {:.0f} % | {:.2f}", 100 * best_pass / forward,
                       100 * best_pass / weights, of_data, 100 * best / all, 1000 * all);
  }
};

Times Measure(Convolution& convolution, const SquareProduct& product) {
  const bool input = convolution.shape().input_gradient;
  std::vector<double> forward, weights, both, rate;
  for (int round = 0; round < kRounds; ++round) {
    forward.push_back(Seconds([&] { convolution.Forward(); }));
    weights.push_back(Seconds([&] { convolution.Backward(false); }));
    if (input) both.push_back(Seconds([&] { convolution.Backward(true); }));
    rate.push_back(product.Operations() / Seconds([&] { product.Run(); }));
  }
  const double best = convolution.Operations() / Median(rate);
  return {.forward = Median(forward),
          .weights = Median(weights),
          .data = input ? Median(both) - Median(weights) : 0,
          .best_pass = best,
          .best_data = input ? best : 0};
}

/// Prints the network's line of the table, or, with `details`, one for each convolution too.
void MeasureNetwork(const BenchNetwork& network, DType type, ConvolutionAlgorithm algorithm,
                    bool details) {
  const SquareProduct product(1024, type);
  Times sum;
  for (const BenchConvolution& c : network.convolutions) {
    ConvolutionShape shape = c.Shape(16);
    shape.type = type;
    shape.algorithm = algorithm;
    Convolution convolution(shape);
    const Times times = Measure(convolution, product);
    sum.Add(times, static_cast<double>(c.count));
    if (details)
      fmt::print("| {} x {} to {}, {}x{} by {}, {} groups, {}x{} | {} |\n", c.count, c.channels,
                 c.outputs, c.kernel, c.kernel, c.stride, c.groups, c.size, c.size, times.Text());
    std::fflush(stdout);
  }
  fmt::print("| {} | {} |\n", network.name, sum.Text());
  std::fflush(stdout);
}

/// The median of three.
template <typename Call>
double UsualSeconds(const Call& call) {
  std::vector<double> seconds(3);
  for (double& s : seconds) s = Seconds(call);
  return Median(seconds);
}

/// Of forward and backward.
double LoweredSeconds(const BenchConvolution& c, int64_t batch, ConvolutionAlgorithm algorithm,
                      int64_t partitions, int64_t images) {
  ConvolutionShape shape = c.Shape(batch);
  shape.algorithm = algorithm;
  shape.partitions = partitions;
  shape.lowered_images = images;
  Convolution convolution(shape);
  return UsualSeconds([&] {
    convolution.Forward();
    convolution.Backward(shape.input_gradient);
  });
}

/// Of CaffeNet's convolutions.
double LoweredSeconds(int64_t batch, ConvolutionAlgorithm algorithm, int64_t partitions,
                      int64_t images) {
  double sum = 0;
  for (const BenchConvolution& c : CaffeNet().convolutions)
    sum += LoweredSeconds(c, batch, algorithm, partitions, images);
  return sum;
}

void MeasureLowering(int64_t batch) {
  const double caffe = LoweredSeconds(batch, ConvolutionAlgorithm::kLowerImage, 0, 0);
  const double direct = LoweredSeconds(batch, ConvolutionAlgorithm::kDirect, 0, 0);
  fmt::print("| algorithm, batch {} | seconds | times |\n| --- | --- | --- |\n", batch);
  fmt::print("| an image at a time | {:.3f} | 1 |\n", caffe);
  for (int64_t partitions = 1; partitions <= KernelThreads(); partitions *= 2)
    for (int64_t images = 1; images <= batch / partitions; images *= 4) {
      const double lowered =
          LoweredSeconds(batch, ConvolutionAlgorithm::kLowerBatch, partitions, images);
      fmt::print("| {} partitions, b_p {} | {:.3f} | {:.2f}x |\n", partitions, images, lowered,
                 caffe / lowered);
      std::fflush(stdout);
    }
  fmt::print("| direct | {:.3f} | {:.2f}x |\n", direct, caffe / direct);
}

/// Row-major matrices: c = a b.
struct Product {
  int64_t rows = 0, columns = 0, inner = 0;
  bool a_transposed = false, b_transposed = false;
};

/// Of the part of one thread, where a team divides the longer side of c.
double SecondsOf(Product p, int team) {
  int64_t& longer = p.rows > p.columns ? p.rows : p.columns;
  longer = (longer + team - 1) / team;
  const Buffer a = RandomValues(p.rows * p.inner, 1, 1),
               b = RandomValues(p.inner * p.columns, 1, 2),
               c = RandomValues(p.rows * p.columns, 1, 3);
  return UsualSeconds([&] {
    dnnl_sgemm(p.a_transposed ? 'T' : 'N', p.b_transposed ? 'T' : 'N', p.rows, p.columns, p.inner,
               1, a.As<float>(), p.a_transposed ? p.rows : p.inner, b.As<float>(),
               p.b_transposed ? p.inner : p.columns, 0, c.As<float>(), p.columns);
  });
}

/// Of a batch's lowering, with `images` in a matrix, and of what each partition adds to the
/// weights' gradient; its products image by image, by one thread and by a thread of a team.
class LoweringParts {
 public:
  explicit LoweringParts(const ConvolutionShape& shape)
      : s_(shape), out_(shape.Output()), input_(RandomValues(s_.Input().Count(), 1, 1)) {
    for (int64_t g = 0; g < s_.groups; ++g) groups_.emplace_back(s_, g);
  }

  double LoweringSeconds(int64_t images) const {
    const int64_t matrix = Pixels() * Width(), image = s_.Input().Count() / s_.batch;
    const Buffer rows(Cpu(), images * matrix * 4);
    return UsualSeconds([&] {
      for (int64_t n = 0; n < s_.batch; ++n)
        for (const cpu::Lowering& group : groups_) {
          float* const its = rows.As<float>() + n % images * matrix;
          float* const its_image = input_.As<float>() + n * image;
          for (int pass = 0; pass < 2; ++pass) group.Lower(its_image, its);  // and for the weights
          if (s_.input_gradient) group.AddBack(its, its_image);
        }
    });
  }

  double ProductSeconds(int team) const {
    const int64_t outputs = s_.outputs / s_.groups;
    double sum = SecondsOf({Pixels(), outputs, Width(), false, true}, team) +
                 SecondsOf({outputs, Width(), Pixels(), true, false}, team);
    if (s_.input_gradient) sum += SecondsOf({Pixels(), Width(), outputs}, team);
    return sum * static_cast<double>(s_.groups * s_.batch);
  }

  double AddingSeconds() const {
    const Buffer packed = RandomValues(s_.Weight().Count(), 1, 2);
    const Buffer sum = RandomValues(s_.Weight().Count(), 1, 3);
    return UsualSeconds([&] { groups_[0].AddWeights(packed.As<float>(), sum.As<float>()); });
  }

 private:
  int64_t Pixels() const { return out_[2] * out_[3]; }
  int64_t Width() const { return groups_[0].width(); }

  ConvolutionShape s_;
  Shape out_;
  Buffer input_;
  std::vector<cpu::Lowering> groups_;
};

/// Prints for each of CaffeNet's convolutions, on one thread, seconds of forward and backward:
/// image by image, of that lowering, products, and the part of the products of a thread of a team;
/// the batch at once, of that lowering; a team's partition, with the sum of all their gradients;
/// and all its operations at the rate of a large product.
void MeasureParts(int team, int64_t batch) {
  Check(team > 0 && batch >= team, "a batch needs an image for each thread of the team");
  const SquareProduct product(1024, DType::kF32);
  for (const BenchConvolution& c : CaffeNet().convolutions) {
    const double image = LoweredSeconds(c, batch, ConvolutionAlgorithm::kLowerImage, 0, 0);
    const double all = LoweredSeconds(c, batch, ConvolutionAlgorithm::kLowerBatch, 1, 0);
    const double partition =
        LoweredSeconds(c, batch / team, ConvolutionAlgorithm::kLowerBatch, 1, 0);
    const Convolution convolution(c.Shape(batch));
    const LoweringParts parts(convolution.shape());
    const double rate = product.Operations() / UsualSeconds([&] { product.Run(); });
    const double passes = convolution.shape().input_gradient ? 3 : 2;
    fmt::print("{} {} {} {} {} {} {} {}\n", image, parts.LoweringSeconds(1),
               parts.ProductSeconds(1), parts.ProductSeconds(team), all,
               parts.LoweringSeconds(batch), partition + (team - 1) * parts.AddingSeconds(),
               passes * convolution.Operations() / rate);
    std::fflush(stdout);
  }
}

/// Prints one line: forward and backward of a convolution by this algorithm and by the direct
/// kernels, in turn, the least of some calls.
void CompareWithDirect(const BenchConvolution& c, int64_t batch, ConvolutionAlgorithm algorithm) {
  ConvolutionShape shape = c.Shape(batch), direct = shape;
  shape.algorithm = algorithm, direct.algorithm = ConvolutionAlgorithm::kDirect;
  std::array<Convolution, 2> convolutions = {Convolution(shape), Convolution(direct)};
  constexpr double kNever = 1e9;
  std::array<double, 2> forward = {kNever, kNever}, backward = {kNever, kNever};
  for (int round = 0; round < 2 * kRounds; ++round)
    for (size_t i = 0; i < convolutions.size(); ++i) {
      Convolution& convolution = convolutions[i];
      forward[i] = std::min(forward[i], 1000 * Seconds([&] { convolution.Forward(); }));
      backward[i] = std::min(backward[i], 1000 * Seconds([&] { convolution.Backward(true); }));
    }
  fmt::print("| {} to {}, {}x{}, {}x{}, {} | {:.2f} | {:.2f} | {:.2f} | {:.2f} | {:.2f}x |\n",
             c.channels, c.outputs, c.kernel, c.kernel, c.size, c.size, batch, forward[0],
             forward[1], backward[0], backward[1], backward[1] / backward[0]);
  std::fflush(stdout);
}

/// The shapes that an algorithm is for; `auto`: those whose gradients it lowers.
void MeasureShapes(ConvolutionAlgorithm algorithm) {
  fmt::print(
      "| channels to outputs, window, image, batch | forward, ms | direct | backward, ms "
      "| direct | backward, times |\n| --- | --- | --- | --- | --- | --- |\n");
  if (algorithm == ConvolutionAlgorithm::kAuto) {
    for (int64_t batch : {128, 1}) CompareWithDirect({1, 20, 12, 50, 5}, batch, algorithm);
    CompareWithDirect({1, 10, 12, 20, 5}, 64, algorithm);
    CompareWithDirect({1, 24, 14, 50, 5}, 64, algorithm);
    CompareWithDirect({1, 50, 8, 50, 3}, 64, algorithm);
    CompareWithDirect({1, 10, 10, 24, 3}, 128, algorithm);
    return;
  }
  for (const BenchConvolution& c : {BenchConvolution{1, 64, 56, 64, 3, 1, 1},
                                    {1, 128, 28, 128, 3, 1, 1},
                                    {1, 256, 14, 256, 3, 1, 1},
                                    {1, 512, 7, 512, 3, 1, 1},
                                    {1, 256, 56, 256, 3, 1, 1},
                                    {1, 512, 28, 512, 3, 1, 1}})
    CompareWithDirect(c, 16, algorithm);
}

ConvolutionAlgorithm AlgorithmOf(const std::string& name) {
  const auto& names = ConvolutionAlgorithmNames();
  const auto at = std::find(names.begin(), names.end(), name);
  Check(at != names.end(), "an algorithm is auto, direct, lower_batch, lower_image or winograd");
  return static_cast<ConvolutionAlgorithm>(at - names.begin());
}

}  // namespace

int main(int argc, char** argv) {
  BeginProgram(argv);
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() >= 3) SetKernelThreads(std::stoi(words[1]));
  if (words.size() == 3 && words[0] == "lowering") {
    MeasureLowering(std::stoll(words[2]));
  } else if (words.size() == 6 && words[0] == "lowering") {
    fmt::print("{:.3f}\n", LoweredSeconds(std::stoll(words[2]), AlgorithmOf(words[3]),
                                          std::stoll(words[4]), std::stoll(words[5])));
  } else if (words.size() == 3 && words[0] == "parts") {
    SetKernelThreads(1);
    MeasureParts(std::stoi(words[1]), std::stoll(words[2]));
  } else if (words.size() == 3 && words[0] == "shapes") {
    MeasureShapes(AlgorithmOf(words[2]));
  } else if (words.size() >= 4 && words[0] == "networks") {
    fmt::print(
        "| network | forward | weight gradient | data gradient | all | ms |\n"
        "| --- | --- | --- | --- | --- | --- |\n");
    for (const BenchNetwork& network : BenchNetworks())
      if (words.size() < 5 || words[4] == network.name)
        MeasureNetwork(network, words[2] == "bf16" ? DType::kBf16 : DType::kF32,
                       AlgorithmOf(words[3]), words.size() > 4);
  } else {
    fmt::print(stderr,
               "usage: convolution_bench networks THREADS f32|bf16 ALGORITHM [NETWORK]\n"
               "       convolution_bench shapes THREADS auto|winograd\n"
               "       convolution_bench lowering THREADS BATCH [ALGORITHM PARTITIONS IMAGES]\n"
               "       convolution_bench parts TEAM BATCH\n");
    return 2;
  }
  return 0;
}
