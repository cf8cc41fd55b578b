// Recorder: a stream whose kernels are listed and not run, so that a step's work can be printed.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "kernels/kernel.h"

namespace yoke {

/// Calls of one kernel, one after the other.
struct RecordedCalls {
  std::string layer = {};      ///< "": of no layer.
  std::string operation = {};  ///< "linear", or the stream's own: "copy" and "clear".
  std::string kernel = {};
  bool backward = false;  ///< Calls of Kernel::Backward.
  int64_t calls = 1;
  double bytes = 0;  ///< Read and written, as far as the calls tell.
};

/// Kernels that are made for it are listed when they are called. All else happens on the stream
/// that it is made for.
class Recorder : public Stream {
 public:
  explicit Recorder(Stream& stream) : Recorder(stream, "", *this) {}

  /// A recorder of the same list, for a layer's kernels.
  Recorder& Of(const std::string& layer) {
    const std::lock_guard lock(mutex_);
    auto& own = layers_[layer];
    if (!own) own.reset(new Recorder(stream_, layer, list_));
    return *own;
  }

  /// Thread-safe. Adds to the last entry if it is of the same kernel.
  void Add(RecordedCalls calls) {
    const std::lock_guard lock(list_.mutex_);
    calls.layer = layer_;
    std::vector<RecordedCalls>& list = list_.calls_;
    if (list.empty() || !Same(list.back(), calls)) return list.push_back(std::move(calls));
    list.back().calls += calls.calls;
    list.back().bytes += calls.bytes;
  }
  /// What was recorded since the last call.
  std::vector<RecordedCalls> Take() { return std::exchange(calls_, {}); }

  Stream& stream() { return stream_; }
  void Copy(void* to, const void* from, int64_t bytes) override {
    Add({.operation = "copy", .kernel = "stream", .bytes = 2.0 * static_cast<double>(bytes)});
    stream_.Copy(to, from, bytes);
  }
  void Clear(void* memory, int64_t bytes) override {
    Add({.operation = "clear", .kernel = "stream", .bytes = static_cast<double>(bytes)});
    stream_.Clear(memory, bytes);
  }
  void Record(std::shared_ptr<Event>& event) override { stream_.Record(event); }
  void Await(std::shared_ptr<Event> event) override { stream_.Await(std::move(event)); }
  void Wait() override { stream_.Wait(); }
  bool WaitFor(double seconds) override { return stream_.WaitFor(seconds); }
  WorkQueue* work_queue() override { return stream_.work_queue(); }

 private:
  Recorder(Stream& stream, std::string layer, Recorder& list)
      : stream_(stream), layer_(std::move(layer)), list_(list) {}

  static bool Same(const RecordedCalls& a, const RecordedCalls& b) {
    return a.layer == b.layer && a.operation == b.operation && a.kernel == b.kernel &&
           a.backward == b.backward;
  }

  Stream& stream_;
  std::string layer_;
  Recorder& list_;  // where the calls are: itself, if it is of no layer
  std::mutex mutex_;
  std::vector<RecordedCalls> calls_;
  std::map<std::string, std::unique_ptr<Recorder>> layers_;
};

/// A kernel that is listed in place of being run.
template <typename Call>
class Recorded : public Kernel<Call> {
 public:
  Recorded(std::string operation, std::unique_ptr<Kernel<Call>> kernel, Recorder& recorder)
      : operation_(std::move(operation)), kernel_(std::move(kernel)), recorder_(recorder) {}

  void Forward(const Call& call) override { Add(call, false); }
  void Backward(const Call& call) override { Add(call, true); }
  int64_t scratch_bytes() const override { return kernel_->scratch_bytes(); }
  int64_t saved_bytes() const override { return kernel_->saved_bytes(); }
  std::string name() const override { return kernel_->name(); }

 private:
  void Add(const Call& call, bool backward) {
    double bytes = 0;
    if constexpr (requires { call.Bytes(); }) bytes = static_cast<double>(call.Bytes());
    recorder_.Add(
        {.operation = operation_, .kernel = kernel_->name(), .backward = backward, .bytes = bytes});
  }

  std::string operation_;
  std::unique_ptr<Kernel<Call>> kernel_;
  Recorder& recorder_;
};

}  // namespace yoke
