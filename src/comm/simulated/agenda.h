// Agenda: which task of a simulation runs next.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace yoke {

/// Things that wait for their times: a binary heap that knows where each thing is. A thing has
/// members `wake`, its time, `order`, which decides between equal times, and `place`, which is the
/// agenda's. All but First and Empty take time O(log n).
template <typename Thing>
class Agenda {
 public:
  /// Null if there is none.
  Thing* First() const { return heap_.empty() ? nullptr : heap_.front(); }

  bool Empty() const { return heap_.empty(); }

  void Add(Thing& thing) {
    heap_.push_back(&thing);
    thing.place = heap_.size() - 1;
    Rise(thing.place);
  }

  void Remove(Thing& thing) {
    const size_t hole = thing.place;
    Put(hole, heap_.back());
    heap_.pop_back();
    if (hole < heap_.size()) Move(*heap_[hole]);
  }

  /// After a change of its time.
  void Move(Thing& thing) {
    Rise(thing.place);
    Sink(thing.place);
  }

  /// Nothing waits for a later time than this one. O(n).
  void WakeAllBy(double time) {
    WakeBy(time, [](const Thing&) { return true; });
  }

  /// The same of those that are meant.
  template <typename Meant>
  void WakeBy(double time, const Meant& meant) {
    for (Thing* thing : heap_)
      if (meant(*thing)) thing->wake = std::min(thing->wake, time);
    for (size_t at = heap_.size() / 2; at-- > 0;) Sink(at);
  }

 private:
  static bool Before(const Thing& a, const Thing& b) {
    return a.wake != b.wake ? a.wake < b.wake : a.order < b.order;
  }

  void Put(size_t at, Thing* thing) {
    heap_[at] = thing;
    thing->place = at;
  }

  void Exchange(size_t a, size_t b) {
    Thing* const thing = heap_[a];
    Put(a, heap_[b]);
    Put(b, thing);
  }

  void Rise(size_t at) {
    for (; at > 0 && Before(*heap_[at], *heap_[(at - 1) / 2]); at = (at - 1) / 2)
      Exchange(at, (at - 1) / 2);
  }

  void Sink(size_t at) {
    for (size_t child = 2 * at + 1; child < heap_.size(); child = 2 * at + 1) {
      if (child + 1 < heap_.size() && Before(*heap_[child + 1], *heap_[child])) ++child;
      if (!Before(*heap_[child], *heap_[at])) return;
      Exchange(at, child);
      at = child;
    }
  }

  std::vector<Thing*> heap_;
};

}  // namespace yoke
