// WorkLabel: what this thread works on, for an instrument that listens.
#pragma once

#include <string_view>

namespace yoke {

/// A part of a training step. The texts outlive the label.
struct Work {
  std::string_view layer;  ///< "": no layer's.
  std::string_view part;   ///< "forward", "backward", "update".
  bool operator==(const Work&) const = default;
};

class WorkListener {
 public:
  virtual ~WorkListener() = default;
  /// The thread's work from now on.
  virtual void TurnTo(Work work) = 0;
};
/// Who is told of this thread's work; null: nobody.
inline thread_local WorkListener* work_listener = nullptr;

/// While it lives, this thread does such work. Costs a comparison where nobody listens.
class WorkLabel {
 public:
  explicit WorkLabel(Work work) {
    if (work_listener) work_listener->TurnTo(work);
  }
  ~WorkLabel() {
    if (work_listener) work_listener->TurnTo({});
  }
  WorkLabel(const WorkLabel&) = delete;
  WorkLabel& operator=(const WorkLabel&) = delete;
};

}  // namespace yoke
