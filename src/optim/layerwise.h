// LayerwiseRule: an update rule that looks at a whole parameter before it changes it: at its
// length, or at the matrix that it is.
#pragma once

#include <memory>

#include "optim/rule.h"

namespace yoke {

/// One dense parameter of a model, as such a rule updates it.
struct LayerUpdate {
  const ParamLayout& layout;
  size_t slice;
  UpdateSpan span;  ///< All its elements.
  UpdateStep step;
};

/// Runs on the host, in executor single. Rows of row-sparse parameters are updated one by one, by a
/// rule of elements, whose state arrays this rule has.
class LayerwiseRule : public UpdateRule {
 public:
  explicit LayerwiseRule(std::shared_ptr<const UpdateRule> elements)
      : elements_(std::move(elements)) {}

  /// Updates a parameter, on the caller's team of threads.
  virtual void UpdateLayer(const LayerUpdate& update) const = 0;

  std::vector<std::string> StateNames() const override { return elements_->StateNames(); }
  void Update(const UpdateSpan& span, const UpdateStep& step) const override {
    elements_->Update(span, step);
  }
  std::unique_ptr<UpdateRule> Spread(int times) const override { return elements_->Spread(times); }
  void ApplyMomentum(const UpdateSpan& span, const UpdateStep& step, int updates) const override {
    elements_->ApplyMomentum(span, step, updates);
  }
  /// Of elements. Throws UserError for a device other than the host.
  std::unique_ptr<Kernel<UpdateCall>> MakeKernel(const Target& target) const override;

 protected:
  /// Update, on the caller's team of threads.
  void UpdateElements(const UpdateSpan& span, const UpdateStep& step) const;

 private:
  std::shared_ptr<const UpdateRule> elements_;
};

/// Elements [begin, end) of a run.
UpdateSpan PartOf(UpdateSpan span, int64_t begin, int64_t end);

/// Below this many elements a team of threads costs more than it saves.
inline constexpr int64_t kParallelCount = 1 << 14;

}  // namespace yoke
