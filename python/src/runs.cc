// Runs: train, simulate and plan jobs, list what jobs can name, draw runs. A run trains on a thread
// of its own. The thread that called handles Python's signals meanwhile.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <exception>
#include <filesystem>
#include <future>
#include <iterator>
#include <optional>

#include "api/examples.h"
#include "api/lists.h"
#include "api/run_job.h"
#include "base/check.h"
#include "base/files.h"
#include "base/json.h"
#include "base/log.h"
#include "base/registry.h"
#include "base/thread.h"
#include "data/reader.h"
#include "data/storage.h"
#include "kernels/threads.h"
#include "module.h"
#include "plan/omnivore.h"
#include "train/files.h"
#include "train/job/job.h"
#include "train/record/record.h"
#include "train/record/run_directory.h"
#include "train/report/report.h"
#include "values.h"

namespace nb = nanobind;
using namespace nb::literals;  // NOLINT(google-build-using-namespace)

namespace yoke::python {
namespace {

using Keys = std::vector<std::pair<std::string, std::string>>;
using Stop = std::atomic<int>;

Table ToTable(const StepEvent& e) {
  return {{"event", "step"},
          {"step", e.step},
          {"epoch", e.epoch},
          {"epochs", e.epochs},
          {"loss", e.loss},
          {"seconds", e.seconds},
          {"learning_rate", e.learning_rate},
          {"examples_per_second", e.examples_per_second},
          {"seconds_left", e.seconds_left}};
}

/// Calls a function of Python with each event. A run stops in order where it returns true or
/// raises.
class Teller : public Observer {
 public:
  Teller(const nb::object& tell, Stop& stop) : tell_(tell), stop_(stop) {}

  void Start(const StartEvent& event) override { TellText(ToJson(event)); }
  void Step(const StepEvent& event) override { Tell(ToTable(event)); }
  void Evaluation(const EvaluationEvent& event) override { TellText(ToJson(event)); }
  void Epoch(const EpochEvent& event) override { TellText(ToJson(event)); }
  void Message(const std::string& text) override {
    Tell(Table{{"event", "message"}, {"message", text}});
  }
  void End(const EndEvent& event) override { TellText(ToJson(event)); }

  /// Raises what the function raised.
  void Rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void TellText(const std::string& json) { Tell(ParseJson(json)); }

  void Tell(const Value& event) {
    const nb::gil_scoped_acquire acquire;
    try {
      if (nb::cast<bool>(tell_(ToPython(event)))) stop_ = SIGINT;
    } catch (...) {
      if (!failure_) failure_ = std::current_exception();
      stop_ = SIGINT;
    }
  }

  nb::object tell_;
  Stop& stop_;
  std::exception_ptr failure_;
};

/// Runs work() on another thread, without Python's lock, and handles signals. Where a handler
/// raises (KeyboardInterrupt), it asks for a stop and raises that once work() has returned.
template <typename Work>
void OnThread(Stop& stop, const Work& work) {
  constexpr std::chrono::milliseconds kLook(50);
  std::exception_ptr failure;
  std::optional<nb::python_error> interrupt;
  {
    const nb::gil_scoped_release release;
    std::promise<void> promise;
    const std::future<void> over = promise.get_future();
    std::thread thread = StartThread([&] {
      try {
        work();
      } catch (...) {
        failure = std::current_exception();
      }
      promise.set_value();
    });
    while (over.wait_for(kLook) != std::future_status::ready) {
      const nb::gil_scoped_acquire acquire;
      if (PyErr_CheckSignals() == 0) continue;
      stop = SIGINT;
      interrupt.emplace();
    }
    thread.join();
  }
  if (interrupt) throw nb::python_error(*interrupt);
  if (failure) std::rethrow_exception(failure);
}

/// Takes the files of [data] out, and the keys of their format: a program's arrays stand for them.
void UseArrays(Value& job) {
  Value* data = job.Find("data");
  if (!data) return job.Set("data", Table{{"format", "memory"}});
  if (!data->AsTable()) return;  // MakeJob refuses it
  const Value* format = data->Find("format");
  const std::string name = format && format->AsString() ? *format->AsString() : "memory";
  for (const char* key : {"train", "test", "validation"}) data->Erase(key);
  if (name != "memory")
    for (const OptionSpec& key : FindEntry(formats(), "format", name).options)
      if (key.name != "task") data->Erase(key.name);
  data->Set("format", "memory");
}

Overrides OverridesOf(const Keys& keys) {
  Overrides overrides;
  for (const auto& [key, value] : keys) overrides.push_back({.key = key, .value = value});
  return overrides;
}

/// What a job is: a file, or a table with the folder of its paths.
struct JobGiven {
  nb::object job;
  std::string folder;
  Keys keys;
  bool arrays = false;  ///< In place of the files of its data.

  Job Make(Overrides overrides, const std::vector<std::string>& open) const {
    RequireInstructions();
    std::ranges::copy(OverridesOf(keys), std::back_inserter(overrides));
    const bool is_file = nb::isinstance<nb::str>(job);
    if (is_file && !arrays) return LoadJob(nb::cast<std::string>(job), overrides, open);
    std::ranges::copy(AskedKeys(), std::back_inserter(overrides));
    Value table = is_file ? ReadToml(Path()) : FromPython(job, "the job");
    if (arrays) UseArrays(table);
    return JobOfTable(std::move(table), is_file ? OriginOfFile() : TableOrigin{.folder = folder},
                      overrides, open);
  }

 private:
  std::filesystem::path Path() const {
    return std::filesystem::absolute(nb::cast<std::string>(job));
  }
  TableOrigin OriginOfFile() const {
    return {.name = Path().stem(), .folder = Path().parent_path()};
  }
};

void SetJob(JobGiven* place, nb::object job, std::string folder, Keys keys, bool arrays) {
  new (place) JobGiven{std::move(job), std::move(folder), std::move(keys), arrays};
}

/// What labels of arrays are: [data] task.
std::string TaskOfLabels(const Job& job) {
  const Value* task = job.data().Find("task");
  return task ? *task->AsString() : "auto";
}

/// Bytes of examples that may lie in memory: [data] memory_limit.
int64_t MemoryLimitOf(const Job& job) {
  const Value* megabytes = job.data().Find("memory_limit");
  return megabytes && megabytes->AsInt() ? *megabytes->AsInt() << 20 : DefaultMemoryLimit();
}

/// What arrays of the program are read by.
nb::tuple DataFactsOf(const Job& job) {
  return nb::make_tuple(TaskOfLabels(job), MemoryLimitOf(job));
}

/// Where and how long a run trains.
struct RunPlace {
  std::string run;
  bool scratch = false;  ///< Nothing waits for the disk: the run is removed soon.
};

void TrainJob(const Job& job, RunRequest request, const RunPlace& place, const nb::object& tell,
              Examples* train, Examples* test, const ClusterFile* cluster = nullptr) {
  Stop stop = 0;
  Teller teller(tell, stop);
  request.run = place.run;
  request.stop_signal = &stop;
  request.observers = {&teller};
  OnThread(stop, [&] {
    std::optional<ScratchFiles> scratch;
    if (place.scratch) scratch.emplace();
    DataSets data;
    if (train) {
      data = OpenMemory(job.data(), LoadedFrom(std::move(*train), test), job.seed());
      request.data = &data;
    }
    RunJob(job, request, cluster);
  });
  teller.Rethrow();
}

void Train(const JobGiven& given, Examples* train, Examples* test, const std::string& run,
           bool scratch, const nb::object& tell) {
  TrainJob(given.Make({}, {"train.learning_rate"}), {}, {run, scratch}, tell, train, test);
}

void Resume(const std::string& run, const Keys& keys, Examples* train, Examples* test,
            const nb::object& tell) {
  RequireInstructions();
  TrainJob(LoadRunJob(run, OverridesOf(keys)), {.resume = true}, {run}, tell, train, test);
}

nb::tuple DataFactsOfRun(const std::string& run, const Keys& keys) {
  RequireInstructions();
  return DataFactsOf(LoadRunJob(run, OverridesOf(keys)));
}

void SimulateRun(const JobGiven& given, const std::string& cluster_path, int64_t steps,
                 bool times_only, const std::string& run, const nb::object& tell) {
  const ClusterFile file = ReadCluster(cluster_path);
  Overrides replicas;
  SetReplicasOfCluster(file, cluster_path, replicas);
  const Job job = given.Make(replicas, {});
  const SimulatedCluster cluster = ClusterOf(file, job, times_only);
  TrainJob(job, {.steps = steps, .cluster = &cluster}, {run}, tell, nullptr, nullptr, &file);
}

/// Whether the job asks for Omnivore's optimizer. Throws UserError where that cannot plan.
bool PlansByOmnivore(const Job& job, const PlanOptions& options) {
  if (!IsOmnivore(job)) return false;
  const std::string where = job.train.Where("planner");
  Require(!options.cluster && options.trial_seconds > 0,
          "{} = \"omnivore\" needs trials, which a plan {} has not", where,
          options.cluster ? "for a cluster" : "with trial_seconds = 0");
  Require(options.only.empty() && options.without.empty(),
          "{} = \"omnivore\" compares settings of compute_groups alone: leave out only and without",
          where);
  return true;
}

nb::object MakePlanOf(const JobGiven& given, const std::optional<std::string>& cluster_path,
                      const std::vector<std::string>& only, const std::vector<std::string>& without,
                      double trial_seconds) {
  std::optional<ClusterFile> cluster;
  Overrides replicas;
  if (cluster_path) {
    cluster = ReadCluster(*cluster_path);
    SetReplicasOfCluster(*cluster, *cluster_path, replicas);
  }
  const Job job = given.Make(replicas, {});
  const bool keeps_replicas =
      cluster && cluster->Ranks() == 1 && SaysReplicas(given.Make({}, {kReplicasKey}));
  const TemporaryFolder folder("yoke-plan");
  PlanOptions options{.cluster = cluster ? &*cluster : nullptr,
                      .only = only,
                      .without = without,
                      .trial_seconds = trial_seconds,
                      .keeps_replicas = keeps_replicas,
                      .folder = folder.path()};
  options.omnivore = PlansByOmnivore(job, options);
  Stop stop = 0;
  Plan plan;
  OnThread(stop, [&] { plan = PlanJob(job, options, {.stop_signal = &stop}); });
  return ToPython(ToTable(plan));
}

nb::object ListKind(const std::string& kind) {
  List entries;
  for (const ListedItem& item : FindEntry(ListedKinds(), "kind", kind).items())
    entries.emplace_back(ToTable(item));
  return ToPython(entries);
}

}  // namespace

void AddRuns(nb::module_& module) {
  nb::class_<JobGiven>(module, "Job")
      .def("__init__", SetJob, "job"_a, "folder"_a, "keys"_a, "arrays"_a)
      .def_prop_ro("data_facts",
                   [](const JobGiven& given) { return DataFactsOf(given.Make({}, {})); });
  module.def("data_facts_of_run", DataFactsOfRun, "run"_a, "keys"_a);
  module.def("train", Train, "job"_a, "train"_a.none(), "test"_a.none(), "run"_a, "scratch"_a,
             "tell"_a);
  module.def("resume", Resume, "run"_a, "keys"_a, "train"_a.none(), "test"_a.none(), "tell"_a);
  module.def("simulate", SimulateRun, "job"_a, "cluster"_a, "steps"_a, "times_only"_a, "run"_a,
             "tell"_a);
  module.def("plan", MakePlanOf, "job"_a, "cluster"_a.none(), "only"_a, "without"_a,
             "trial_seconds"_a);
  module.def("list", ListKind, "kind"_a);
  module.def("report", ReportPage, "runs"_a);
  module.def("take_warnings", TakeWarnings);
}

}  // namespace yoke::python
