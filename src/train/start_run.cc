// StartRun: the run's folder, and the size of its data.
#include "train/start_run.h"

#include <filesystem>
#include <map>

#include "base/resources.h"
#include "train/job/parts.h"
#include "train/load_watch.h"
#include "train/record/record.h"

namespace yoke {
namespace {

/// Bytes of the files that [data] names; 0 if one of them is not a plain file, -1: it names none.
int64_t DataBytes(const Value& data) {
  int64_t sum = 0;
  bool any = false;
  for (const char* key : {"train", "test"}) {
    const Value* paths = data.Find(key);
    any = any || (paths && !paths->IsNone() && *paths != Value(List{}));
    if (!paths || !paths->AsList()) continue;
    for (const Value& path : *paths->AsList()) {
      std::error_code unknown;
      const auto bytes = std::filesystem::file_size(*path.AsString(), unknown);
      if (unknown) return 0;
      sum += static_cast<int64_t>(bytes);
    }
  }
  return any ? sum : -1;
}

std::string ThreadAdvice(const Job& job) {
  const int cores = UsableCores();
  const int64_t threads = job.node.Has("threads") ? job.node.Int("threads") : 0;
  if (threads <= cores) return "";
  return fmt::format(
      "node.threads: {} threads on {} that this process may use, which is slower than one each",
      threads, cores == 1 ? "the one core" : fmt::format("the {} cores", cores));
}

}  // namespace

void Lead(const Job& job, const RunRequest& request, RunContext& context) {
  if (std::string advice = ThreadAdvice(job); !advice.empty())
    context.messages.push_back(std::move(advice));
  if (!request.resume)
    if (std::string advice = FileAdvice(job.model()); !advice.empty())
      context.messages.push_back(std::move(advice));
  if (context.run) {  // it was opened before its job was decided
    context.run->WriteJob(job);
    context.folder = std::filesystem::absolute(context.run->path());
    context.began = request.resume;
    return;
  }
  const std::string old = request.resume ? request.run : context.folder;
  context.run.emplace(old.empty() ? RunDirectory::Create(request.run, job)
                                  : RunDirectory::Resume(old));
  context.folder = std::filesystem::absolute(context.run->path());
  context.began = !old.empty();
  if (request.resume && !context.run->HasJob())
    context.messages.emplace_back("job.toml is missing: the job is that of the newest checkpoint");
  if (context.began) context.checkpoint = RecoverNewest(old, context.messages);
}

void LeadAgain(RunContext& context) {
  context.began = true;
  context.pending.reset();
  context.checkpoint = RecoverNewest(context.run->path(), context.messages);
}

void TakeOver(const std::string& progress, RunContext& context) {
  namespace fs = std::filesystem;
  for (const char* name : {"checkpoints", "last"})
    fs::copy(fs::path(progress) / name, fs::path(context.folder) / name,
             fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  CopyEpochs(progress, context.folder);
  LeadAgain(context);
  context.took_over = true;
}

AllReduceAlgorithm AllReduceOf(const Job& job) {
  static const std::map<std::string, AllReduceAlgorithm> algorithms = {
      {"auto", AllReduceAlgorithm::kAuto},
      {"ring", AllReduceAlgorithm::kRing},
      {"tree", AllReduceAlgorithm::kTree},
      {"halving", AllReduceAlgorithm::kHalving},
      {"mpi", AllReduceAlgorithm::kMpi}};
  return algorithms.at(job.cluster.String("all_reduce"));
}

ThreadRanks ThreadRanksOf(const Job& job) {
  const AllReduceAlgorithm asked = AllReduceOf(job);
  return {.ranks = static_cast<int>(job.cluster.Int("replicas")),
          .timeout = job.cluster.Float("timeout"),
          .all_reduce = asked == AllReduceAlgorithm::kMpi ? AllReduceAlgorithm::kAuto : asked};
}

void ReadData(const Job& job, const RunRequest& request, RunContext& context) {
  if (request.data) {
    context.data = *request.data;
  } else {
    const LoadWatch watch(request, context.run.has_value(), DataBytes(job.data()), [&] {
      if (context.run && !context.began) context.run->Abandon();
    });
    context.data = OpenData(job.data(), job.seed());
  }
  context.class_weights = ClassWeightsOf(job, *context.data.train);
  context.before_model = ResidentMemory();
}

}  // namespace yoke
