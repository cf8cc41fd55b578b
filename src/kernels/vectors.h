// Vectors: named operations on whole arrays of values, for code that averages, moves and scales
// parameters. Arrays of one call are equally long; the first may be any of the others.
#pragma once

#include <span>

#include "tensor/emulated.h"
#include "tensor/target.h"

namespace yoke {

using Values = std::span<float>;
using ConstValues = std::span<const float>;

void Scale(Values y, float a);                                           ///< y = a y
void Divide(Values y, float a);                                          ///< y = y / a
void Add(Values y, ConstValues x);                                       ///< y += x
void AddScaled(Values y, float a, ConstValues x);                        ///< y += a x
void Subtract(Values y, ConstValues x);                                  ///< y -= x
void AddDifference(Values y, float a, ConstValues p, ConstValues q);     ///< y += a (p - q)
void ScaledDifference(Values y, float a, ConstValues p, ConstValues q);  ///< y = a (p - q)
void MoveTowards(Values y, float a, ConstValues x);                      ///< y = (1 - a) y + a x
/// y += a (sum - n y): towards n values with this sum, by a each.
void MoveTowardsAll(Values y, float a, ConstValues sum, float n);

/// The same, in the order of a target's stream.
class Vectors {
 public:
  explicit Vectors(const Target& target = {}) : queue_(target.stream->work_queue()) {}

  void Scale(Values y, float a) const { Run(yoke::Scale, y, a); }
  void Divide(Values y, float a) const { Run(yoke::Divide, y, a); }
  void Add(Values y, ConstValues x) const { Run(yoke::Add, y, x); }
  void AddScaled(Values y, float a, ConstValues x) const { Run(yoke::AddScaled, y, a, x); }
  void Subtract(Values y, ConstValues x) const { Run(yoke::Subtract, y, x); }
  void ScaledDifference(Values y, float a, ConstValues p, ConstValues q) const {
    Run(yoke::ScaledDifference, y, a, p, q);
  }
  void MoveTowardsAll(Values y, float a, ConstValues sum, float n) const {
    Run(yoke::MoveTowardsAll, y, a, sum, n);
  }

 private:
  template <typename... Arguments>
  void Run(void (*pass)(Arguments...), Arguments... arguments) const {
    if (!queue_) return pass(arguments...);
    queue_->Enqueue([pass, ... reached = Reached(arguments)] { pass(reached...); });
  }
  float Reached(float a) const { return a; }
  template <typename T>
  std::span<T> Reached(std::span<T> x) const {
    return {static_cast<T*>(queue_->Reach(x.data())), x.size()};
  }

  WorkQueue* queue_;
};

}  // namespace yoke
