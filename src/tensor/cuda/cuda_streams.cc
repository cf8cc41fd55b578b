// CudaStream: copies, kernels and events in the order of one of the runtime's streams, and captures
// of them as graphs.
#include "tensor/cuda/cuda_context.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/countdown.h"
#include "tensor/cuda/cuda_stream.h"
#include "tensor/device.h"
#include "tensor/emulated.h"

namespace yoke {
namespace {

/// Work on the host and where its failure goes. Kept by a graph, or gone once it has run.
struct HostWork {
  std::shared_ptr<CudaContext> context;
  std::function<void()> run;

  void Run() const {
    try {
      run();
    } catch (...) {
      context->Fail(std::current_exception());
    }
  }
  static void RunKept(void* work) { static_cast<HostWork*>(work)->Run(); }
  static void RunOnce(void* work) {
    const std::unique_ptr<HostWork> own(static_cast<HostWork*>(work));
    own->Run();
  }
};

using KeptWork = std::deque<HostWork>;  // whose addresses stay

/// Work of graphs that are gone, whose last launch may still run: the stream keeps it to the end of
/// its next wait.
struct RetiredWork {
  std::mutex mutex;
  std::vector<KeptWork> works;

  void Add(KeptWork work) {
    const std::lock_guard lock(mutex);
    works.push_back(std::move(work));
  }
  std::vector<KeptWork> Take() {
    const std::lock_guard lock(mutex);
    return std::exchange(works, {});
  }
};

/// What a wait finds retired: gone after it, or given back if it does not come to its end.
class RetiredBefore {
 public:
  explicit RetiredBefore(std::shared_ptr<RetiredWork> all)
      : all_(std::move(all)), works_(all_->Take()) {}
  RetiredBefore(RetiredBefore&&) = default;
  RetiredBefore& operator=(RetiredBefore&&) = delete;
  ~RetiredBefore() {
    for (KeptWork& work : works_) all_->Add(std::move(work));
  }
  void End() { works_.clear(); }

 private:
  std::shared_ptr<RetiredWork> all_;
  std::vector<KeptWork> works_;
};

/// A capture: of a stream, and of those that join it by an event.
struct Capture {
  std::atomic<bool> over = false;
  KeptWork kept = {};
};

class CudaEvent : public Event {
 public:
  explicit CudaEvent(std::shared_ptr<CudaContext> context) : context_(std::move(context)) {
    context_->Require({"cudaEventCreate", context_->Use().create_event(&event_)});
  }
  ~CudaEvent() override { context_->driver().destroy_event(event_); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  void Wait() override {
    context_->Require({"cudaEventSynchronize", context_->Use().wait(event_)});
    context_->ThrowFailure();
  }
  /// Whether it is past.
  bool Past() const {
    const int status = context_->Use().query(event_);
    if (status == kCudaNotReady) return false;
    context_->Require({"cudaEventQuery", status});
    context_->ThrowFailure();
    return true;
  }
  CUevent_st* native() const { return event_; }
  /// The capture in which it was recorded last, or null.
  std::shared_ptr<Capture> capture;

 private:
  std::shared_ptr<CudaContext> context_;
  CUevent_st* event_ = nullptr;
};

class CudaStream;

/// An instantiated graph and what its launches need.
class CudaGraph : public CapturedWork {
 public:
  CudaGraph(std::shared_ptr<CudaContext> context, CudaStream& stream, CUgraph_st* graph,
            KeptWork kept, std::shared_ptr<RetiredWork> retired)
      : context_(std::move(context)),
        stream_(stream),
        graph_(graph),
        kept_(std::move(kept)),
        retired_(std::move(retired)) {
    const CudaDriver& driver = context_->Use();
    const int counted = driver.nodes(graph_, &nodes_);
    const int made = driver.instantiate(&launchable_, graph_);
    if (made != kCudaSuccess) driver.destroy_graph(graph_);
    context_->Require({"cudaGraphInstantiate", made});
    context_->Require({"cudaGraphGetNodes", counted});
  }
  ~CudaGraph() override {
    context_->driver().destroy_launchable(launchable_);
    context_->driver().destroy_graph(graph_);
    retired_->Add(std::move(kept_));
  }
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  void Launch() override;
  int64_t nodes() const override { return static_cast<int64_t>(nodes_); }

 private:
  std::shared_ptr<CudaContext> context_;
  CudaStream& stream_;
  CUgraph_st* graph_;
  CUgraphExec_st* launchable_ = nullptr;
  size_t nodes_ = 0;
  KeptWork kept_;
  std::shared_ptr<RetiredWork> retired_;
};

/// Its thread enqueues; others may wait meanwhile. Events of waits are used again.
class CudaStream : public Stream, public CapturingStream, public WorkQueue {
 public:
  explicit CudaStream(std::shared_ptr<CudaContext> context) : context_(std::move(context)) {
    context_->Require({"cudaStreamCreate", context_->Use().create_stream(&stream_)});
  }
  ~CudaStream() override {
    if (own_capture_) Abandon();
    Stream::End();
    context_->driver().destroy_stream(stream_);
  }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  void Copy(void* to, const void* from, int64_t bytes) override {
    if (bytes == 0) return;
    context_->Require({"cudaMemcpyAsync", Begin().copy(to, from, Size(bytes), stream_)});
  }
  void Clear(void* memory, int64_t bytes) override {
    if (bytes == 0) return;
    context_->Require({"cudaMemsetAsync", Begin().clear(memory, Size(bytes), stream_)});
  }

  void Record(std::shared_ptr<Event>& event) override {
    auto own = std::dynamic_pointer_cast<CudaEvent>(event);
    if (!own) event = own = std::make_shared<CudaEvent>(context_);
    RecordAt(*own);
  }
  void Await(std::shared_ptr<Event> event) override {
    const auto* const own = dynamic_cast<CudaEvent*>(event.get());
    if (!own) return Launch([event = std::move(event)] { event->Wait(); });
    context_->Require({"cudaStreamWaitEvent", context_->Use().await(stream_, own->native())});
    if (own->capture && !own->capture->over) Join(own->capture);
  }
  void Wait() override {
    Waiting waiting = BeginWait();
    waiting.point->Wait();
    End(waiting);
  }
  bool WaitFor(double seconds) override {
    Waiting waiting = BeginWait();
    Countdown left(seconds);
    for (bool past = waiting.point->Past(); !past; past = waiting.point->Past()) {
      if (left.Over()) return false;  // the event is still awaited: it is not used again
      std::this_thread::sleep_for(std::min(left.Slice(), WaitTime(kLook)));
    }
    End(waiting);
    return true;
  }
  double busy_seconds() const override {
    const std::lock_guard lock(mutex_);
    return busy_seconds_;
  }

  /// On a mock driver the CPU's kernels run here.
  WorkQueue* work_queue() override { return runs_on_host() ? this : nullptr; }
  void Enqueue(std::function<void()> work) override { Launch(std::move(work)); }

  void BeginCapture() override {
    Check(!capturing(), "one capture at a time");
    context_->Require({"cudaStreamBeginCapture", context_->Use().begin_capture(stream_)});
    Join(std::make_shared<Capture>());
    own_capture_ = true;
  }
  std::unique_ptr<CapturedWork> EndCapture() override {
    Check(own_capture_, "a capture begins before it ends");
    const std::shared_ptr<Capture> capture = Over();
    CUgraph_st* graph = nullptr;
    context_->Require({"cudaStreamEndCapture", context_->Use().end_capture(stream_, &graph)});
    return std::make_unique<CudaGraph>(context_, *this, graph, std::move(capture->kept), retired_);
  }
  void AbandonCapture() override { Abandon(); }
  void LaunchGraph(CUgraphExec_st* graph) {
    context_->Require({"cudaGraphLaunch", Begin().launch(graph, stream_)});
  }

  void Fail(const std::exception_ptr& failure) { context_->Fail(failure); }

  bool capturing() const { return UnderWay() != nullptr; }
  bool runs_on_host() const { return context_->driver().runs_kernels_on_host; }
  /// For a kernel's launch.
  CUstream_st* native() {
    Begin();
    return stream_;
  }
  void Launch(std::function<void()> work) {
    HostWork host{context_, std::move(work)};
    if (const std::shared_ptr<Capture> capture = UnderWay()) {
      HostWork& kept = capture->kept.emplace_back(std::move(host));
      context_->Require(
          {"cudaLaunchHostFunc", Begin().launch_host(stream_, HostWork::RunKept, &kept)});
      return;
    }
    auto own = std::make_unique<HostWork>(std::move(host));
    context_->Require(
        {"cudaLaunchHostFunc", Begin().launch_host(stream_, HostWork::RunOnce, own.get())});
    (void)own.release();  // it deletes itself
  }

 private:
  static constexpr double kLook = 1e-4;  // seconds between two looks of WaitFor

  /// The end of a wait, and the beginning of the work that it ends; none: there was none.
  struct Waiting {
    std::shared_ptr<CudaEvent> point, began;
    RetiredBefore retired;
  };

  static size_t Size(int64_t bytes) { return static_cast<size_t>(bytes); }
  void RecordAt(CudaEvent& event) {
    context_->Require({"cudaEventRecord", context_->Use().record(event.native(), stream_)});
    // Another thread may read it meanwhile in Await, of an event that no capture records.
    if (auto capture = UnderWay(); event.capture != capture) event.capture = std::move(capture);
  }

  /// The capture that what is enqueued now becomes a part of, or null.
  std::shared_ptr<Capture> UnderWay() const {
    const std::lock_guard lock(capture_mutex_);
    return capture_ && !capture_->over ? capture_ : nullptr;
  }
  void Join(std::shared_ptr<Capture> capture) {
    const std::lock_guard lock(capture_mutex_);
    capture_ = std::move(capture);
  }
  /// The stream's own, which ends.
  std::shared_ptr<Capture> Over() {
    own_capture_ = false;
    std::shared_ptr<Capture> capture = UnderWay();
    capture->over = true;
    return capture;
  }
  void Abandon() {
    CUgraph_st* graph = nullptr;
    const std::shared_ptr<Capture> capture = Over();
    if (context_->driver().end_capture(stream_, &graph) == kCudaSuccess)
      context_->driver().destroy_graph(graph);
  }

  /// The driver, for work. The first since the last wait begins the time in which it is busy.
  const CudaDriver& Begin() {
    const CudaDriver& driver = context_->Use();
    const std::lock_guard lock(mutex_);
    if (began_ || capturing()) return driver;
    auto began = Idle();
    RecordAt(*began);
    began_ = std::move(began);
    return driver;
  }
  Waiting BeginWait() {
    if (capturing())
      throw Error(fmt::format("{}: a step that is captured cannot wait", context_->name()));
    const std::lock_guard lock(mutex_);
    Waiting waiting{.point = Idle(),
                    .began = std::exchange(began_, nullptr),
                    .retired = RetiredBefore(retired_)};
    RecordAt(*waiting.point);
    return waiting;
  }
  void End(Waiting& waiting) {
    waiting.retired.End();
    const std::lock_guard lock(mutex_);
    if (waiting.began) {
      double seconds = 0;
      const int status = context_->driver().seconds_between(&seconds, waiting.began->native(),
                                                            waiting.point->native());
      if (status == kCudaSuccess) busy_seconds_ += seconds;
      idle_.push_back(waiting.began);
    }
    idle_.push_back(waiting.point);
  }
  std::shared_ptr<CudaEvent> Idle() {
    if (idle_.empty()) return std::make_shared<CudaEvent>(context_);
    auto event = std::move(idle_.back());
    idle_.pop_back();
    return event;
  }

  const std::shared_ptr<CudaContext> context_;
  CUstream_st* stream_ = nullptr;
  mutable std::mutex capture_mutex_;
  std::shared_ptr<Capture> capture_;  // the last one; null: none so far
  bool own_capture_ = false;
  const std::shared_ptr<RetiredWork> retired_ = std::make_shared<RetiredWork>();
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<CudaEvent>> idle_;
  std::shared_ptr<CudaEvent> began_;  // null: no work since the last wait
  double busy_seconds_ = 0;
};

void CudaGraph::Launch() { stream_.LaunchGraph(launchable_); }

CudaStream& CudaStreamOf(Stream& stream) {
  auto* const own = dynamic_cast<CudaStream*>(&stream);
  Check(own, "the stream is of a CUDA device");
  return *own;
}

}  // namespace

std::unique_ptr<Stream> NewCudaStream(std::shared_ptr<CudaContext> context) {
  return std::make_unique<CudaStream>(std::move(context));
}

CUstream_st* NativeStream(Stream& stream) { return CudaStreamOf(stream).native(); }

bool RunsOnHost(Stream& stream) { return CudaStreamOf(stream).runs_on_host(); }

bool IsCaptured(Stream& stream) { return CudaStreamOf(stream).capturing(); }

void FailStream(Stream& stream, const std::exception_ptr& failure) {
  CudaStreamOf(stream).Fail(failure);
}

void LaunchOnHost(Stream& stream, std::function<void()> work) {
  CudaStreamOf(stream).Launch(std::move(work));
}

}  // namespace yoke
