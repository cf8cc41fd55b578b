// MockCuda: streams as threads, graphs as lists of functions.
#include "tensor/support/mock_cuda.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "tensor/support/arena.h"
#include "tensor/support/mock_statuses.h"

using MockWork = std::function<void()>;

struct CUgraph_st {
  std::vector<MockWork> work;
  std::thread::id thread;
  CUstream_st* origin = nullptr;
  std::set<CUstream_st*> joined, unjoined;  // others whose work is captured too
  bool broken = false;
};

struct CUgraphExec_st {
  std::vector<MockWork> work;
};

struct CUevent_st {
  int64_t last = 0, past = 0;  // points that were recorded, and that streams have passed
  double time = 0;
  CUgraph_st* captured = nullptr;
  CUstream_st* stream = nullptr;  // that recorded it last
};

struct CUstream_st {
  std::deque<MockWork> queue;
  bool closing = false;
  CUgraph_st* capture = nullptr;
  std::jthread worker;
};

namespace yoke {

using namespace mock;  // NOLINT(google-build-using-namespace): its own statuses

/// All state, under one mutex; work runs outside of it.
class MockCuda::Runtime {
 public:
  explicit Runtime(const Settings& settings) : settings_(settings), lost_(settings.no_driver) {}

  static Runtime& Current() { return *current; }
  static inline Runtime* current = nullptr;

  /// Runs a call under the lock: its status, unless the GPU is lost.
  template <typename Call>
  int Do(const char* name, const Call& call) {
    const std::lock_guard lock(mutex_);
    ++calls_[name];
    return lost_ ? lost_ : call();
  }

  // Memory.
  int Allocate(void** memory, size_t bytes) {
    if (CapturesHere("cudaMalloc")) return kForbidden;
    if (bytes > static_cast<size_t>(settings_.memory - there_.bytes())) return kCudaNoMemory;
    *memory = there_.Take(bytes);
    return kCudaSuccess;
  }
  int Free(void* memory) {
    if (CapturesHere("cudaFree")) return kForbidden;
    return there_.Return(memory) ? kCudaSuccess : kInvalid;
  }
  int AllocatePinned(void** memory, size_t bytes) {
    if (CapturesHere("cudaHostAlloc")) return kForbidden;
    *memory = pinned_.Take(bytes);
    return kCudaSuccess;
  }
  int FreePinned(void* memory) {
    if (CapturesHere("cudaFreeHost")) return kForbidden;
    return pinned_.Return(memory) ? kCudaSuccess : kInvalid;
  }
  int Memory(size_t* free, size_t* total) const {
    *total = static_cast<size_t>(settings_.memory);
    *free = *total - static_cast<size_t>(there_.bytes());
    return kCudaSuccess;
  }

  // Streams.
  int CreateStream(CUstream_st** stream) {
    *stream = new CUstream_st;
    (*stream)->worker = std::jthread([this, own = *stream] { Work(*own); });
    return kCudaSuccess;
  }
  void DestroyStream(CUstream_st* stream) {
    {
      const std::lock_guard lock(mutex_);
      ++calls_["destroy_stream"];
      stream->closing = true;
      if (CUgraph_st* const graph = stream->capture; graph && graph->origin == stream) {
        captures_.erase(graph);
        delete graph;
      }
    }
    changed_.notify_all();
    delete stream;  // its thread finishes what is left
  }
  int Copy(void* to, const void* from, size_t bytes, CUstream_st* stream) {
    if (stream->capture && (IsPageable(to) || IsPageable(from)))
      return Break(*stream->capture, "a pageable copy in a capture");
    if (!IsLive(to, bytes) || !IsLive(from, bytes)) return Lost(kIllegalAddress, "a copy");
    return Push(*stream, [this, to, from, bytes] {
      if (StaysLive(to, bytes) && StaysLive(from, bytes)) std::memmove(to, from, bytes);
    });
  }
  int Clear(void* memory, size_t bytes, CUstream_st* stream) {
    if (!there_.Has(memory, bytes)) return Lost(kIllegalAddress, "a clear");
    return Push(*stream, [this, memory, bytes] {
      if (StaysLive(memory, bytes)) std::memset(memory, 0, bytes);
    });
  }
  int LaunchHost(CUstream_st* stream, void (*run)(void*), void* argument) {
    return Push(*stream, [run, argument] { run(argument); });
  }

  // Events.
  int Record(CUevent_st* event, CUstream_st* stream) {
    event->captured = stream->capture;
    event->stream = stream;
    if (stream->capture) return kCudaSuccess;
    return Push(*stream, [this, event, point = ++event->last] {
      const std::lock_guard lock(mutex_);
      event->past = std::max(event->past, point);
      event->time = Now();
    });
  }
  int Await(CUstream_st* stream, CUevent_st* event) {
    CUgraph_st* const graph = stream->capture;
    if (graph && event->captured == graph) {
      if (stream == graph->origin) graph->unjoined.erase(event->stream);
      return kCudaSuccess;
    }
    if (graph) return Break(*graph, "a capture awaits an event from outside", kIsolated);
    if (event->captured && !captures_.contains(event->captured)) {
      broken_.emplace_back("an event of an ended capture is awaited");
      return kInvalid;
    }
    if (event->captured) {
      stream->capture = event->captured;
      event->captured->joined.insert(stream);
      event->captured->unjoined.insert(stream);
      return kCudaSuccess;
    }
    return Push(*stream, [this, event, point = event->last] {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return event->past >= point || lost_; });
    });
  }
  int Wait(CUevent_st* event) {
    std::unique_lock lock(mutex_);
    ++calls_["wait"];
    if (CapturesHere("cudaEventSynchronize")) return kForbidden;
    if (event->captured) {
      broken_.emplace_back("the host waits for an event of a capture");
      return kInvalid;
    }
    changed_.wait(lock, [&] { return event->past >= event->last || lost_; });
    return lost_;
  }
  int Query(const CUevent_st* event) {
    if (CapturesHere("cudaEventQuery")) return kForbidden;
    return event->past >= event->last ? kCudaSuccess : kCudaNotReady;
  }
  int DestroyEvent(CUevent_st* event) {  // streams may still await it
    events_.emplace_back(event);
    return kCudaSuccess;
  }

  // Captures.
  int BeginCapture(CUstream_st* stream) {
    if (stream->capture) return kInvalid;
    auto* const graph = new CUgraph_st;
    graph->thread = std::this_thread::get_id();
    graph->origin = stream;
    stream->capture = graph;
    captures_.insert(graph);
    return kCudaSuccess;
  }
  int EndCapture(CUstream_st* stream, CUgraph_st** graph) {
    std::unique_ptr<CUgraph_st> own(stream->capture);
    if (!own || own->origin != stream) return (void)own.release(), kInvalid;
    captures_.erase(own.get());
    stream->capture = nullptr;
    for (CUstream_st* const other : own->joined) other->capture = nullptr;
    if (!own->broken && !own->unjoined.empty()) {
      broken_.emplace_back("a capture ends before another stream has joined it");
      return kUnjoined;
    }
    if (own->broken) return kBrokenCapture;
    *graph = own.release();
    return kCudaSuccess;
  }
  int Launch(const CUgraphExec_st* launchable, CUstream_st* stream) {
    if (stream->capture) return Break(*stream->capture, "a graph is launched in a capture");
    for (const MockWork& work : launchable->work) Push(*stream, work);
    return kCudaSuccess;
  }

  void Lose(int status) {
    std::unique_lock lock(mutex_);
    lost_ = status;
    changed_.notify_all();
    changed_.wait_for(lock, std::chrono::seconds(1), [this] { return running_ == 0; });
  }
  template <typename Of>
  auto Look(const Of& of) const {
    const std::lock_guard lock(mutex_);
    return of(*this);
  }

  // NOLINTBEGIN(readability-identifier-naming): private to this file
  const Settings settings_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int lost_ = 0;
  int running_ = 0;  // pieces of work
  Arena there_, pinned_;
  std::set<CUgraph_st*> captures_;
  std::vector<std::unique_ptr<CUevent_st>> events_;  // that are destroyed
  std::map<std::string, int64_t> calls_;
  std::vector<std::string> broken_;
  // NOLINTEND(readability-identifier-naming)

 private:
  int Push(CUstream_st& stream, MockWork work) {
    if (stream.capture) {
      if (&stream != stream.capture->origin) stream.capture->unjoined.insert(&stream);
      stream.capture->work.push_back(std::move(work));
    } else {
      stream.queue.push_back(std::move(work));
      changed_.notify_all();
    }
    return kCudaSuccess;
  }
  int Break(CUgraph_st& graph, const std::string& how, int status = kForbidden) {
    graph.broken = true;
    broken_.push_back(how);
    return status;
  }
  /// Whether this thread captures, which the call then breaks.
  bool CapturesHere(const char* call) {
    bool here = false;
    for (CUgraph_st* const graph : captures_) {
      if (graph->thread != std::this_thread::get_id()) continue;
      here = true;
      Break(*graph, fmt::format("{} while a step is captured", call));
    }
    return here;
  }
  int Lost(int status, const std::string& how) {
    broken_.push_back(how + " outside of memory in use");
    return lost_ = status;
  }
  bool IsPageable(const void* address) const {
    return !there_.Covers(address) && !pinned_.Covers(address);
  }
  bool IsLive(const void* address, size_t bytes) const {
    return IsPageable(address) || there_.Has(address, bytes) || pinned_.Has(address, bytes);
  }
  /// The same when the work runs.
  bool StaysLive(const void* address, size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (!IsLive(address, bytes)) Lost(kIllegalAddress, "queued work");
    return lost_ == 0;
  }

  /// What lost GPUs had to do, as long as the process.
  static std::vector<MockWork>& NeverRun() {
    static auto* const all = new std::vector<MockWork>;
    return *all;
  }

  void Work(CUstream_st& stream) {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return stream.closing || !stream.queue.empty(); });
      if (stream.queue.empty()) return;
      const MockWork work = std::move(stream.queue.front());
      stream.queue.pop_front();
      if (lost_ != 0) {
        NeverRun().push_back(work);
        continue;
      }
      ++running_;
      lock.unlock();
      work();
      lock.lock();
      --running_;
      changed_.notify_all();
    }
  }
};

namespace {

using Runtime = MockCuda::Runtime;

Runtime& Mock() { return Runtime::Current(); }

int MockProperties(int device, CudaProperties* found) {
  return Mock().Do("properties", [device, found] {
    *fmt::format_to_n(found->bus, sizeof found->bus - 1, "0000:{:02x}:00.0", device).out = 0;
    std::strcpy(found->name, "Mock GPU");
    const MockCuda::Settings& settings = Mock().settings_;
    const int capability = device == settings.old ? 61 : settings.capability;
    found->major = capability / 10;
    found->minor = capability % 10;
    found->multiprocessors = 2;
    found->clock_hertz = 1e9;
    return kCudaSuccess;
  });
}

constexpr CudaDriver kMock = {
    .device_count =
        [](int* count) {
          return Mock().Do("device_count", [count] {
            *count = Mock().settings_.devices;
            return kCudaSuccess;
          });
        },
    .set_device =
        [](int device) {
          return Mock().Do("set_device", [device] {
            return device < Mock().settings_.devices ? kCudaSuccess : kInvalid;
          });
        },
    .properties = MockProperties,
    .memory =
        [](size_t* free, size_t* total) {
          return Mock().Do("memory", [=] { return Mock().Memory(free, total); });
        },
    .allocate =
        [](void** memory, size_t bytes) {
          return Mock().Do("allocate", [=] { return Mock().Allocate(memory, bytes); });
        },
    .free = [](void* memory) { return Mock().Do("free", [=] { return Mock().Free(memory); }); },
    .allocate_pinned =
        [](void** memory, size_t bytes) {
          return Mock().Do("allocate_pinned", [=] { return Mock().AllocatePinned(memory, bytes); });
        },
    .free_pinned =
        [](void* memory) {
          return Mock().Do("free_pinned", [=] { return Mock().FreePinned(memory); });
        },
    .create_stream =
        [](CUstream_st** stream) {
          return Mock().Do("create_stream", [=] { return Mock().CreateStream(stream); });
        },
    .destroy_stream =
        [](CUstream_st* stream) {
          Mock().DestroyStream(stream);
          return kCudaSuccess;
        },
    .copy =
        [](void* to, const void* from, size_t bytes, CUstream_st* stream) {
          return Mock().Do("copy", [=] { return Mock().Copy(to, from, bytes, stream); });
        },
    .clear =
        [](void* memory, size_t bytes, CUstream_st* stream) {
          return Mock().Do("clear", [=] { return Mock().Clear(memory, bytes, stream); });
        },
    .launch_host =
        [](CUstream_st* stream, void (*run)(void*), void* argument) {
          return Mock().Do("launch_host", [=] { return Mock().LaunchHost(stream, run, argument); });
        },
    .create_event =
        [](CUevent_st** event) {
          return Mock().Do("create_event", [=] {
            *event = new CUevent_st;
            return kCudaSuccess;
          });
        },
    .destroy_event =
        [](CUevent_st* event) {
          const std::lock_guard lock(Mock().mutex_);
          return Mock().DestroyEvent(event);
        },
    .record =
        [](CUevent_st* event, CUstream_st* stream) {
          return Mock().Do("record", [=] { return Mock().Record(event, stream); });
        },
    .await =
        [](CUstream_st* stream, CUevent_st* event) {
          return Mock().Do("await", [=] { return Mock().Await(stream, event); });
        },
    .wait = [](CUevent_st* event) { return Mock().Wait(event); },
    .query =
        [](CUevent_st* event) { return Mock().Do("query", [=] { return Mock().Query(event); }); },
    .seconds_between =
        [](double* seconds, CUevent_st* begin, CUevent_st* end) {
          return Mock().Do("seconds_between", [=] {
            *seconds = end->time - begin->time;
            return kCudaSuccess;
          });
        },
    .begin_capture =
        [](CUstream_st* stream) {
          return Mock().Do("begin_capture", [=] { return Mock().BeginCapture(stream); });
        },
    .end_capture =
        [](CUstream_st* stream, CUgraph_st** graph) {
          return Mock().Do("end_capture", [=] { return Mock().EndCapture(stream, graph); });
        },
    .instantiate =
        [](CUgraphExec_st** launchable, CUgraph_st* graph) {
          return Mock().Do("instantiate", [=] {
            *launchable = new CUgraphExec_st{graph->work};
            return kCudaSuccess;
          });
        },
    .nodes =
        [](CUgraph_st* graph, size_t* count) {
          return Mock().Do("nodes", [=] {
            *count = graph->work.size();
            return kCudaSuccess;
          });
        },
    .launch =
        [](CUgraphExec_st* launchable, CUstream_st* stream) {
          return Mock().Do("launch", [=] { return Mock().Launch(launchable, stream); });
        },
    .destroy_graph =
        [](CUgraph_st* graph) {
          delete graph;
          return kCudaSuccess;
        },
    .destroy_launchable =
        [](CUgraphExec_st* launchable) {
          delete launchable;
          return kCudaSuccess;
        },
    .text = TextOf,
    .missing = [] { return Mock().settings_.missing; },
    .least_capability = 80,
    .runs_kernels_on_host = true};

}  // namespace

MockCuda::MockCuda(const Settings& settings)
    : runtime_(std::make_unique<Runtime>(settings)),
      outer_(std::exchange(Runtime::current, runtime_.get())) {}

MockCuda::~MockCuda() { Runtime::current = outer_; }

const CudaDriver& MockCuda::driver() const { return kMock; }

void MockCuda::Lose(int status) { runtime_->Lose(status); }

int64_t MockCuda::allocated() const {
  return runtime_->Look([](const Runtime& r) { return r.there_.bytes(); });
}

int64_t MockCuda::pinned() const {
  return runtime_->Look([](const Runtime& r) { return r.pinned_.bytes(); });
}

std::map<std::string, int64_t> MockCuda::calls() const {
  return runtime_->Look([](const Runtime& r) { return r.calls_; });
}

std::vector<std::string> MockCuda::broken() const {
  return runtime_->Look([](const Runtime& r) { return r.broken_; });
}

}  // namespace yoke
