// Detects launchers by the environment variables that they set.
#include "comm/launcher.h"

#include <dlfcn.h>
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/topology.h"
#include "comm/join_watch.h"
#include "comm/wire.h"

namespace yoke {
namespace {

namespace fs = std::filesystem;

std::string Text(const char* variable) {
  const char* text = std::getenv(variable);
  return text ? text : "";
}

std::optional<int> Number(const char* variable) {
  const std::string text = Text(variable);
  if (text.empty() || text[0] < '0' || text[0] > '9') return {};
  return std::atoi(text.c_str());
}

/// Folders of the libraries: YOKE_MPI_LIBRARIES, else beside the program, else where it was
/// installed.
std::vector<fs::path> Folders() {
  const std::string given = Text("YOKE_MPI_LIBRARIES");
  if (!given.empty()) return {given};
  std::error_code unknown;
  const fs::path program = fs::read_symlink("/proc/self/exe", unknown).parent_path();
  return {program / "yoke-mpi", program.parent_path() / "libexec" / "yoke-mpi"};
}

std::vector<fs::path> LibraryFiles() {
  std::vector<fs::path> files;
  for (const fs::path& folder : Folders()) {
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator(folder, missing))
      if (entry.path().extension() == ".so") files.push_back(entry.path());
    if (!files.empty()) break;
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// The oldest that matches: usually the system's, which fits the system's launchers.
fs::path FindLibrary(const Launch& launch) {
  for (const fs::path& file : LibraryFiles())
    if (file.stem().string().rfind(launch.library, 0) == 0) return file;
  const std::vector<std::string> names = MpiLibraries();
  throw UserError(fmt::format(
      "{} started this process, and this yoke was built without the library for it ({}): run "
      "`tools/setup build`, or install that MPI's headers, and build yoke again; it has {}",
      launch.launcher, launch.library,
      names.empty() ? "no MPI" : fmt::format("{}", fmt::join(names, ", "))));
}

StartMpi Load(const fs::path& file) {
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);  // MPI cannot be unloaded
  if (!library) throw Error(fmt::format("cannot load {}", dlerror()));
  void* start = dlsym(library, kStartMpi);
  if (!start) throw Error(fmt::format("{} is not a yoke library: {}", file.string(), dlerror()));
  return reinterpret_cast<StartMpi>(start);
}

// PMIx is the protocol between Open MPI and its launcher. The library belongs to the MPI in use, so
// it is looked up among the loaded ones; the standard fixes its types and numbers.

constexpr const char* kPmixLibrary = "libpmix.so.2";
constexpr int kLostConnection = -61;   // PMIX_ERR_LOST_CONNECTION
constexpr int kActionComplete = -334;  // PMIX_EVENT_ACTION_COMPLETE: no other handler runs

using Told = void (*)(int status, void* results, size_t count, void* done, void* context,
                      void* event);
using Handler = void (*)(size_t handler, int status, const void* source, void* info, size_t count,
                         void* results, size_t result_count, Told told, void* event);
/// PMIx_Register_event_handler.
using Register = int (*)(int* codes, size_t code_count, void* info, size_t info_count,
                         Handler handler, void* registered, void* context);

// NOLINTNEXTLINE(readability-function-size): the standard's parameters
void LiveOn(size_t /*handler*/, int /*status*/, const void* /*source*/, void* /*info*/,
            size_t /*count*/, void* /*results*/, size_t /*result_count*/, Told told, void* event) {
  if (told) told(kActionComplete, nullptr, 0, nullptr, nullptr, event);
}

/// Call after MPI has started. Open MPI aborts a process whose launcher has died; from now on this
/// process continues. Does nothing under other MPIs.
void OutliveLauncher() {
  void* library = dlopen(kPmixLibrary, RTLD_LAZY | RTLD_NOLOAD);
  if (!library) return;
  if (void* function = dlsym(library, "PMIx_Register_event_handler")) {
    int code = kLostConnection;
    reinterpret_cast<Register>(function)(&code, 1, nullptr, 0, LiveOn, nullptr, nullptr);
  }
}

std::unique_ptr<Mpi> Start(double timeout, const std::atomic<int>* stop) {
  const Launch launch = FindLaunch();
  Require(!launch.launcher.empty(),
          "no launcher started this process: start it with mpirun -n RANKS");
  Require(!launch.library.empty(),
          "{} started {} processes that cannot find each other: start them with srun --mpi=pmix "
          "(Open MPI) or --mpi=pmi2 (MPICH); `srun --mpi=list` lists what is available",
          launch.launcher, launch.size);
  const StartMpi start = Load(FindLibrary(launch));
  const StartWatch watch(launch, timeout, stop);
  std::unique_ptr<Mpi> mpi(start());
  OutliveLauncher();
  if (mpi->size() != launch.size)
    throw Error(
        fmt::format("{} started {} processes, but the MPI of {} found {}: they do not match",
                    launch.launcher, launch.size, FindLibrary(launch).string(), mpi->size()));
  return mpi;
}

/// A step of Slurm. A single task gets no launch: it is often a shell that runs programs in
/// sequence, of which only the first could join.
Launch FindStep() {
  const auto rank = Number("SLURM_PROCID"), size = Number("SLURM_STEP_NUM_TASKS");
  if (!rank || !size || *size == 1) return {};
  const char* library = Number("PMI_RANK") ? "mpich" : Number("PMIX_RANK") ? "openmpi" : "";
  return {.launcher = "srun",
          .library = library,
          .rank = *rank,
          .size = *size,
          .rank_variable = "SLURM_PROCID"};
}

Launch FindLauncher() {
  if (const auto rank = Number("OMPI_COMM_WORLD_RANK"), size = Number("OMPI_COMM_WORLD_SIZE");
      rank && size) {
    const char* version = Text("PRTE_LAUNCHED").empty() ? "4" : "5";
    return {.launcher = fmt::format("mpirun of Open MPI {}", version),
            .library = fmt::format("openmpi{}", version),
            .rank = *rank,
            .size = *size,
            .rank_variable = "OMPI_COMM_WORLD_RANK",
            .guarded = true,
            .kills = true};
  }
  const bool step = Number("SLURM_STEP_ID").has_value();
  const bool hydra = !step || Number("MPI_LOCALNRANKS");  // hydra may run inside a step
  if (const auto rank = Number("PMI_RANK"), size = Number("PMI_SIZE"); hydra && rank && size)
    return {.launcher = "mpirun of MPICH",
            .library = "mpich",
            .rank = *rank,
            .size = *size,
            .rank_variable = "PMI_RANK",
            .guarded = true};
  return step ? FindStep() : Launch{};
}

}  // namespace

Launch FindLaunch() {
  Launch launch = FindLauncher();
  launch.local_size = FindLocalRank().size;
  return launch;
}

void LeaveLauncher() {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "PMI_RANK",
                               "PMIX_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID", "SLURM_STEP_ID"})
    unsetenv(variable);
}

bool LaunchedByMpi() { return !FindLaunch().launcher.empty(); }

bool PrintsForAll() { return FindLaunch().rank == 0; }

std::vector<std::string> MpiLibraries() {
  std::vector<std::string> names;
  for (const fs::path& file : LibraryFiles()) names.push_back(file.stem().string());
  return names;
}

void RunMpi(const MpiRanks& options, const std::function<void(const Communicator&)>& body) {
  MpiJob(options.timeout, options.stop).Run(options, body);
}

MpiJob::MpiJob(double timeout, const std::atomic<int>* stop)
    : timeout_(timeout), mpi_(Start(timeout, stop)) {}

MpiJob::~MpiJob() {
  const JoinWatch watch(timeout_);
  mpi_.reset();
}

int MpiJob::rank() const { return mpi_->rank(); }
int MpiJob::size() const { return mpi_->size(); }

void MpiJob::Run(const MpiRanks& options, const std::function<void(const Communicator&)>& body) {
  std::unique_ptr<Wire> wire;
  {
    const JoinWatch watch(options.timeout);
    wire = mpi_->Open();
  }
  RunOverWire(*wire,
              {.ranks = options.ranks > 0 ? options.ranks : size(),
               .timeout = options.timeout,
               .all_reduce = options.all_reduce,
               .survive = options.survive},
              body);
}

}  // namespace yoke
