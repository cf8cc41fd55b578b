// Top scores by blocks of outputs: a product of the library gives a block's scores, an output a
// row, so that the lanes of vectors are examples; each block is looked at while it lies in the
// cache and then forgotten.
#include "kernels/top_scores/top_scores.h"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/algorithms.h"
#include "kernels/best_scores.h"
#include "kernels/convert.h"
#include "kernels/cpu/exponential.h"
#include "kernels/cpu/onednn.h"
#include "kernels/cpu/vector.h"
#include "kernels/threads.h"
#include "tensor/device.h"

namespace yoke::cpu {
namespace {

constexpr int64_t kLanes = 16;             // examples are filled up to a multiple of it
constexpr int64_t kBlockScores = 1 << 16;  // 256 KiB, a part of a core's cache
constexpr int64_t kMostRows = 1024;        // of a block: sums in f32 stay exact enough
constexpr int64_t kSegments = 64;          // sums are taken by segment, whatever the threads
constexpr float kNothing = -std::numeric_limits<float>::infinity();

using V = Vector<8>;

/// log(1 + x) for x in [0, 1] within 2e-7 of itself: 2 atanh(z) with z = x / (2 + x), by its
/// series.
V::Floats LogOnePlus(V::Floats x) {
  const V::Floats z = x / (2.0F + x), square = z * z;
  V::Floats sum = {};
  for (float divisor : {13.0F, 11.0F, 9.0F, 7.0F, 5.0F, 3.0F, 1.0F})
    sum = sum * square + 1 / divisor;
  return 2.0F * z * sum;
}

/// What is done with a row of scores, one an example.
void AddTo(float* __restrict scores, float bias, int64_t lanes) {
#pragma omp simd
  for (int64_t n = 0; n < lanes; ++n) scores[n] += bias;
}

void KeepGreatest(const float* __restrict scores, float* __restrict greatest, int64_t lanes) {
#pragma omp simd
  for (int64_t n = 0; n < lanes; ++n)
    greatest[n] = scores[n] > greatest[n] ? scores[n] : greatest[n];
}

void SumExponentials(const float* scores, const float* shift, float* sum, int64_t lanes) {
  for (int64_t n = 0; n < lanes; n += 8)
    V::Store(V::Load(sum + n) + Exponential(V::Load(scores + n) - V::Load(shift + n)), sum + n);
}

/// log(1 + exp(s)) = max(s, 0) + log(1 + exp(-|s|)), the first in double, because the targets'
/// scores are subtracted from it.
void SumSoftplus(const float* scores, double* positive, float* logs, int64_t lanes) {
  for (int64_t n = 0; n < lanes; n += 8) {
    const V::Floats s = V::Load(scores + n);
    const V::Floats more = LogOnePlus(Exponential(s > 0.0F ? -s : s));
    V::Store(V::Load(logs + n) + more, logs + n);
  }
  for (int64_t n = 0; n < lanes; ++n) positive[n] += scores[n] > 0 ? double(scores[n]) : 0.0;
}

/// A segment's part of an example's sum: sum times exp(greatest) for kLogExp.
struct ScorePart {
  float greatest = kNothing;
  double sum = 0;
};

/// A score that the caller wants.
struct Wanted {
  int32_t id;
  int64_t example, position;
};

/// The products of one thread and what it holds.
struct Worker {
  Operation whole, last;  ///< For a full block, and for the last one.
  Buffer scores, scratch;
  std::vector<float> weight;                ///< Of a block, if it is stored in bf16.
  std::vector<float> greatest, shift, sum;  ///< Of a block, an example a lane.
  std::vector<double> positive;             ///< Likewise.
  std::vector<BestScores> best;             ///< By example.
};

class BlockedScores : public TopScoresKernel {
 public:
  explicit BlockedScores(const TopScoresShape& shape)
      : s_(shape),
        engine_(dnnl::engine::kind::cpu, 0),
        lanes_(RoundUp(s_.batch, kLanes)),
        rows_(std::min(s_.outputs, std::clamp(kBlockScores / lanes_, kLanes, kMostRows))),
        blocks_((s_.outputs + rows_ - 1) / rows_),
        segments_(std::min(blocks_, kSegments)),
        input_(Cpu(), lanes_ * s_.inputs * SizeOf(DType::kF32)),
        parts_(segments_ * lanes_) {
    const int threads = KernelThreads();
    SetKernelThreads(1);  // the library divides a product by the threads it sees when it is made
    Prepare(std::min<int64_t>(threads, segments_));
    SetKernelThreads(threads);
  }

  /// False when the product would be slow loops of the library.
  bool fast() const { return fast_; }
  std::string name() const override { return name_; }

  void Forward(const TopScoresCall& call) override {
    PackInput(call.input);
    SortWanted(call.wanted);
    int team = 1;
#pragma omp parallel num_threads(static_cast <int>(workers_.size())) if (workers_.size() > 1)
    {
      const int thread = omp_get_thread_num(), threads = omp_get_num_threads();
      if (thread == 0) team = threads;
      Work(call, workers_[thread], segments_ * thread / threads,
           segments_ * (thread + 1) / threads);
    }
    for (int64_t n = 0; n < s_.batch; ++n) {
      WriteTop(call, n, team);
      if (s_.sum != ScoreSum::kNone) call.sums[n] = Total(n);
    }
  }

 private:
  void Prepare(int64_t threads) {
    const dnnl::matmul::primitive_desc product = ProductOf(rows_);
    fast_ = IsFast(product) && IsFast(ProductOf(LastRows()));
    if (!fast_) return;
    name_ = std::string("onednn ") + product.impl_info_str() + " by blocks";
    const Description columns({s_.inputs, lanes_}, dnnl::memory::data_type::f32,
                              dnnl::memory::format_tag::ba);
    packed_description_ = product.weights_desc();
    const dnnl::reorder::primitive_desc pack(engine_, columns, engine_, packed_description_,
                                             Attributes());
    pack_ = MakeOperation<dnnl::reorder>(
        engine_, pack, {{DNNL_ARG_FROM, columns}, {DNNL_ARG_TO, packed_description_}});
    packed_ = Buffer(Cpu(), static_cast<int64_t>(packed_description_.get_size()));
    pack_scratch_ = Buffer(Cpu(), pack_.scratch_bytes());
    for (int64_t i = 0; i < threads; ++i) workers_.push_back(NewWorker());
  }

  Worker NewWorker() const {
    Worker worker;
    worker.whole = MakeProduct(rows_);
    worker.last = MakeProduct(LastRows());
    worker.scores = Buffer(Cpu(), rows_ * lanes_ * SizeOf(DType::kF32));
    worker.scratch =
        Buffer(Cpu(), std::max(worker.whole.scratch_bytes(), worker.last.scratch_bytes()));
    for (auto* state : {&worker.greatest, &worker.shift, &worker.sum}) state->resize(lanes_);
    worker.positive.resize(lanes_);
    worker.best.assign(s_.batch, BestScores(s_.top));
    return worker;
  }

  int64_t LastRows() const { return s_.outputs - (blocks_ - 1) * rows_; }

  /// scores [rows, lanes] = weight [rows, inputs] * input^T [inputs, lanes]; the input in the
  /// layout that the full block's product chose.
  dnnl::matmul::primitive_desc ProductOf(int64_t rows) const {
    const Description input = packed_description_.is_zero()
                                  ? DescribeAny({s_.inputs, lanes_}, s_.type)
                                  : packed_description_;
    return {engine_,      Describe({rows, s_.inputs}, s_.type),
            input,        Describe({rows, lanes_}, DType::kF32),
            Attributes(), true};
  }

  Operation MakeProduct(int64_t rows) const {
    return MakeOperation<dnnl::matmul>(engine_, ProductOf(rows),
                                       {{DNNL_ARG_SRC, Describe({rows, s_.inputs}, s_.type)},
                                        {DNNL_ARG_WEIGHTS, packed_description_},
                                        {DNNL_ARG_DST, Describe({rows, lanes_}, DType::kF32)}});
  }

  void PackInput(const float* input) {
    std::copy_n(input, s_.batch * s_.inputs, input_.As<float>());
    pack_.Run({input_.data(), packed_.data()}, pack_scratch_.data());
  }

  /// By id, so that each block finds its own.
  void SortWanted(const SparseRows& rows) {
    wanted_.clear();
    for (int64_t n = 0; n < rows.rows; ++n)
      for (int64_t i = rows.offsets[n]; i < rows.offsets[n + 1]; ++i)
        wanted_.push_back({rows.ids[i], n, i - rows.offsets[0]});
    std::sort(wanted_.begin(), wanted_.end(),
              [](const Wanted& a, const Wanted& b) { return a.id < b.id; });
  }

  void Work(const TopScoresCall& call, Worker& worker, int64_t begin, int64_t end) {
    for (BestScores& best : worker.best) best.Clear();
    for (int64_t segment = begin; segment < end; ++segment) {
      ScorePart* parts = parts_.data() + segment * lanes_;
      std::fill_n(parts, lanes_, ScorePart{});
      for (int64_t block = blocks_ * segment / segments_;
           block < blocks_ * (segment + 1) / segments_; ++block)
        Look(call, worker, block * rows_, parts);
    }
  }

  /// Computes the scores of the block of outputs from `first` on and takes from them what is asked
  /// for.
  void Look(const TopScoresCall& call, Worker& worker, int64_t first, ScorePart* parts) const {
    const int64_t rows = std::min(rows_, s_.outputs - first);
    const void* weight = WeightOf(call, first, rows, worker);
    float* scores = worker.scores.As<float>();
    (rows == rows_ ? worker.whole : worker.last)
        .Run({weight, packed_.data(), scores}, worker.scratch.data());
    if (call.bias) AddBias(call.bias, first, rows, scores);
    FindGreatest(rows, worker);
    TakeBest(first, rows, worker);
    TakeWanted(call, first, rows, scores);
    if (s_.sum == ScoreSum::kLogExp) AddExponentials(rows, worker, parts);
    if (s_.sum == ScoreSum::kSoftplus) AddSoftplus(rows, worker, parts);
  }

  /// The block's, in the type of the product.
  const void* WeightOf(const TopScoresCall& call, int64_t first, int64_t rows,
                       Worker& worker) const {
    const int64_t at = first * s_.inputs;
    if (s_.weight_type == s_.type)
      return static_cast<const char*>(call.weight) + at * SizeOf(s_.type);
    return InF32({.type = s_.weight_type, .data = call.weight}, at, rows * s_.inputs,
                 worker.weight);
  }

  void AddBias(const void* bias, int64_t first, int64_t rows, float* scores) const {
    for (int64_t r = 0; r < rows; ++r) {
      const float b = s_.type == DType::kBf16
                          ? static_cast<float>(static_cast<const Bf16*>(bias)[first + r])
                          : static_cast<const float*>(bias)[first + r];
      AddTo(scores + r * lanes_, b, lanes_);
    }
  }

  /// NaN left out.
  void FindGreatest(int64_t rows, Worker& worker) const {
    float* greatest = worker.greatest.data();
    std::fill_n(greatest, lanes_, kNothing);
    for (int64_t r = 0; r < rows; ++r)
      KeepGreatest(worker.scores.As<float>() + r * lanes_, greatest, lanes_);
  }

  void TakeBest(int64_t first, int64_t rows, Worker& worker) const {
    for (int64_t n = 0; n < s_.batch; ++n) {
      BestScores& best = worker.best[n];
      if (!best.Wants(worker.greatest[n])) continue;
      const float* score = worker.scores.As<float>() + n;
      for (int64_t r = 0; r < rows; ++r)
        best.Offer(score[r * lanes_], static_cast<int32_t>(first + r));
    }
  }

  void TakeWanted(const TopScoresCall& call, int64_t first, int64_t rows,
                  const float* scores) const {
    auto it = std::lower_bound(wanted_.begin(), wanted_.end(), first,
                               [](const Wanted& w, int64_t id) { return w.id < id; });
    for (; it != wanted_.end() && it->id < first + rows; ++it)
      call.wanted_scores[it->position] = scores[(it->id - first) * lanes_ + it->example];
  }

  /// The sum is kept relative to the greatest score so far.
  void AddExponentials(int64_t rows, Worker& worker, ScorePart* parts) const {
    float* shift = worker.shift.data();
    float* sum = worker.sum.data();
    for (int64_t n = 0; n < lanes_; ++n) {
      const float greatest = std::max(parts[n].greatest, worker.greatest[n]);
      if (greatest > parts[n].greatest)
        parts[n].sum *= std::exp(double(parts[n].greatest) - greatest);
      parts[n].greatest = greatest;
      shift[n] = greatest == kNothing ? 0 : greatest;
      sum[n] = 0;
    }
    for (int64_t r = 0; r < rows; ++r)
      SumExponentials(worker.scores.As<float>() + r * lanes_, shift, sum, lanes_);
    for (int64_t n = 0; n < lanes_; ++n) parts[n].sum += sum[n];
  }

  void AddSoftplus(int64_t rows, Worker& worker, ScorePart* parts) const {
    std::ranges::fill(worker.positive, 0.0);
    std::ranges::fill(worker.sum, 0.0F);
    for (int64_t r = 0; r < rows; ++r)
      SumSoftplus(worker.scores.As<float>() + r * lanes_, worker.positive.data(), worker.sum.data(),
                  lanes_);
    for (int64_t n = 0; n < lanes_; ++n) parts[n].sum += worker.positive[n] + worker.sum[n];
  }

  double Total(int64_t n) const {
    float greatest = kNothing;
    double sum = 0;
    for (int64_t i = 0; i < segments_; ++i)
      greatest = std::max(greatest, parts_[i * lanes_ + n].greatest);
    for (int64_t i = 0; i < segments_; ++i) {
      const ScorePart& part = parts_[i * lanes_ + n];
      sum += s_.sum == ScoreSum::kSoftplus ? part.sum
                                           : part.sum * std::exp(double(part.greatest) - greatest);
    }
    return s_.sum == ScoreSum::kSoftplus ? sum : greatest + std::log(sum);
  }

  void WriteTop(const TopScoresCall& call, int64_t n, int team) const {
    std::vector<BestScores::Entry> all;
    for (int i = 0; i < team; ++i) {
      const auto& found = workers_[i].best[n].entries();
      all.insert(all.end(), found.begin(), found.end());
    }
    std::sort(all.begin(), all.end(), BestScores::Before);
    all.resize(s_.top, {0.0F, -1});
    for (int64_t k = 0; k < s_.top; ++k) {
      call.scores[n * s_.top + k] = all[k].first;
      call.ids[n * s_.top + k] = all[k].second;
    }
  }

  TopScoresShape s_;
  dnnl::engine engine_;
  int64_t lanes_;  // examples, filled up
  int64_t rows_;   // outputs of a block
  int64_t blocks_;
  int64_t segments_;  // each a range of blocks
  Buffer input_, packed_, pack_scratch_;
  Description packed_description_;
  Operation pack_;
  std::vector<Worker> workers_;
  std::vector<ScorePart> parts_;  // [segments, lanes]
  std::vector<Wanted> wanted_;
  bool fast_ = true;
  std::string name_;
};

}  // namespace

std::unique_ptr<TopScoresKernel> TopScores(const TopScoresShape& shape) {
  auto kernel = std::make_unique<BlockedScores>(shape);
  if (!kernel->fast()) return nullptr;
  return kernel;
}

}  // namespace yoke::cpu
