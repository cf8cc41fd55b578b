// FlatStep: a hashed layer's step in plain loops over flat arrays. Keys come from the family's
// plain path, which has vectors of its own.
#pragma once

#include <array>

#include "bench/slide_loops.h"
#include "bench/slide_step.h"

namespace yoke::bench {

class FlatStep : public Step {
 public:
  /// apart: each row of weights and of Adam's moments is an allocation of its own.
  FlatStep(int64_t outputs, int64_t features, int64_t batch, const FlatLoops& loops, bool apart)
      : Step(outputs, features, batch),
        loops_(loops),
        places_({std::vector<int32_t>(features, kNone), std::vector<int32_t>(outputs, kNone)}),
        counts_(outputs) {
    for (int slice = 0; slice < 2; ++slice)
      for (int array = 0; array < 3; ++array) LayOut(slice, array, apart);
  }

 protected:
  void InputForward(int64_t n, bool /*plain*/) override {
    loops_.input_forward(Rows(n), rows_[0][0], bias_.As<float>(), Hidden(n));
  }

  void InputBackward(int64_t n, bool /*plain*/) override {
    const SparseRows input = Rows(n);
    const std::span<const int32_t> ids(input.ids + input.offsets[0],
                                       input.ids + input.offsets[input.rows]);
    in_rows_[n].Clear();
    TakePlaces(ids, 0, in_rows_[n]);
    ClearSums(in_rows_[n]);
    loops_.input_backward(input, input_gradients_.As<float>(), places_[0].data(),
                          in_rows_[n].values.data(), bias_gradient_);
    LeavePlaces(0, in_rows_[n]);
  }

  void Forward(int64_t n, bool /*plain*/) override {
    ForGroups(n, [&](Work& work, int64_t g) {
      const int64_t scores = settings_.group * Columns(work) * 4;
      Grow(work.values, scores), Grow(work.gradient, scores);
      Grow(work.input_gradient, settings_.group * kHidden * 4);
      loops_.scores(Group(n, work, g));
    });
  }

  void Loss(int64_t n, bool /*plain*/) override {
    ForGroups(n, [&](Work& work, int64_t g) {
      work.losses.resize(settings_.group);
      loops_.loss(Group(n, work, g));
    });
  }

  /// Gradients of rows are added to one sum, with no merge after it.
  void Backward(int64_t n, bool /*plain*/) override {
    out_rows_[n].Clear();
    ForGroups(n, [&](Work& work, int64_t) { TakePlaces(work.ids, 1, out_rows_[n]); });
    ClearSums(out_rows_[n]);
    ForGroups(n, [&](Work& work, int64_t g) { loops_.backward(Group(n, work, g)); });
    LeavePlaces(1, out_rows_[n]);
  }

  /// Counts by id, and the most frequent ones first.
  void PlainQuery(const SampleRequest& request, std::vector<int32_t>& ids) override {
    found_.clear();
    for (int64_t i = 0; i < request.examples; ++i)
      for (int t = 0; t < settings_.tables; ++t)
        for (const int32_t id : tables_.Bucket(t, request.keys[i * settings_.tables + t]))
          if (counts_[id]++ == 0) found_.push_back(id);
    for (const int32_t id : ids) counts_[id] = 0;
    const auto wanted = std::min<int64_t>(request.wanted, std::ssize(found_));
    std::ranges::nth_element(found_, found_.begin() + wanted, {},
                             [&](int32_t id) { return std::pair(-counts_[id], id); });
    for (int64_t i = 0; i < wanted; ++i)
      if (counts_[found_[i]] > 0) ids.push_back(found_[i]);
    for (const int32_t id : found_) counts_[id] = 0;
  }

  void PlainUpdate() override {
    for (int slice = 0; slice < 2; ++slice) {
      const RowGradient& rows = gradients_->rows(slice);
      const std::array<FlatRows, 3>& arrays = rows_[slice];
      for (size_t r = 0; r < rows.ids.size(); ++r) {
        const int32_t id = rows.ids[r];
        const auto [first, second] = CorrectionsAt(++state_->row_steps(slice).data[id]);
        loops_.update({.gradient = rows.values.data() + r * kHidden,
                       .values = arrays[0][id],
                       .first = arrays[1][id],
                       .second = arrays[2][id],
                       .rate = rate / first,
                       .inverse = 1 / second});
      }
    }
  }

 private:
  static constexpr int32_t kNone = -1;

  void LayOut(int slice, int array, bool apart) {
    float* all =
        array == 0 ? params_->values().Host().data() : state_->array(array - 1).Host().data();
    all += layout_.slices()[slice].offset;
    rows_[slice][array].all = all;
    if (!apart) return;
    auto& pieces = pieces_[slice * 3 + array];
    auto& pointers = pointers_[slice * 3 + array];
    for (int64_t row = 0; row < layout_.slices()[slice].shape[0]; ++row) {
      pieces.push_back(std::make_unique<float[]>(kHidden));
      std::copy_n(all + row * kHidden, kHidden, pieces.back().get());
      pointers.push_back(pieces.back().get());
    }
    rows_[slice][array].apart = pointers.data();
  }

  /// Gives ids that have none a place in the gradient.
  void TakePlaces(std::span<const int32_t> ids, int slice, RowGradient& rows) {
    for (const int32_t id : ids) {
      if (places_[slice][id] != kNone) continue;
      places_[slice][id] = static_cast<int32_t>(rows.ids.size());
      rows.ids.push_back(id);
    }
  }
  static void ClearSums(RowGradient& rows) { rows.values.assign(rows.ids.size() * kHidden, 0.0F); }
  void LeavePlaces(int slice, const RowGradient& rows) {
    for (const int32_t id : rows.ids) places_[slice][id] = kNone;
  }

  FlatGroup Group(int64_t n, Work& work, int64_t g) {
    return {.examples = settings_.group,
            .columns = Columns(work),
            .ids = work.ids,
            .rows = rows_[1][0],
            .hidden = Hidden(n) + g * settings_.group * kHidden,
            .scores = work.values.As<float>(),
            .gradient = work.gradient.As<float>(),
            .labels = work.labels.Targets().sets,
            .losses = work.losses.data(),
            .input_gradient = work.input_gradient.As<float>(),
            .places = places_[1].data(),
            .sums = out_rows_[n].values.data()};
  }

  std::pair<float, float> CorrectionsAt(int32_t t) {
    for (auto at = static_cast<double>(corrections_.size()); at <= t; ++at)
      corrections_.emplace_back(1 - std::pow(0.9, at), std::sqrt(1 - std::pow(0.999, at)));
    return corrections_[t];
  }

  FlatLoops loops_;
  std::array<std::array<FlatRows, 3>, 2> rows_;  // by slice: weights and moments
  std::array<std::vector<std::unique_ptr<float[]>>, 6> pieces_;
  std::array<std::vector<float*>, 6> pointers_;
  std::array<std::vector<int32_t>, 2> places_;  // by slice and id
  std::vector<int32_t> counts_, found_;
  std::vector<std::pair<float, float>> corrections_;
};

}  // namespace yoke::bench
