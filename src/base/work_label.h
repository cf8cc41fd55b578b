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
/// What it is told last.
inline thread_local Work current_work;

/// While it lives, this thread does such work. Costs two copies of a Work where nobody listens.
class WorkLabel {
 public:
  explicit WorkLabel(Work work) : before_(current_work) { TurnTo(work); }
  ~WorkLabel() { TurnTo(before_); }
  WorkLabel(const WorkLabel&) = delete;
  WorkLabel& operator=(const WorkLabel&) = delete;

 private:
  static void TurnTo(Work work) {
    current_work = work;
    if (work_listener) work_listener->TurnTo(work);
  }

  Work before_;
};

}  // namespace yoke
