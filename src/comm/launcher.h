// Launcher: the world of the processes that mpirun or srun started, this one among them. The
// program itself knows no MPI: a small library for each one (comm/mpi.cc) lies beside it, and the
// one that fits the launcher is loaded.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "comm/wire_transport.h"

namespace yoke {

class Mpi;

/// What started this process, as its environment tells.
struct Launch {
  std::string launcher = {};  ///< "mpirun of Open MPI 4"; empty: no launcher.
  std::string library = {};   ///< How the names of libraries begin that speak its language, such as
                              ///< "openmpi4"; empty: it gives its processes no way to meet.
  int rank = 0;
  int size = 1;
  std::string rank_variable = {};  ///< Of the environment, which holds the rank.
  int local_size = 1;              ///< Ranks on this machine.
};
/// Open MPI 4 and 5, MPICH (hydra), Slurm's srun.
Launch FindLaunch();
/// From now on no launcher started this process: it works alone.
void LeaveLauncher();

/// Whether a launcher started this process (alone or with others): then the world is RunMpi's.
bool LaunchedByMpi();
/// Whether this process prints: rank 0 of its launcher, or there is none. No MPI is needed to know.
bool PrintsForAll();

/// The MPI libraries that this build has, by name: "mpich4", "openmpi4", ...
std::vector<std::string> MpiLibraries();

struct MpiRanks {
  int ranks = 0;        ///< The first so many processes take part; 0: all.
  double timeout = 60;  ///< Seconds of one wait.
  AllReduceWay all_reduce = AllReduceWay::kAuto;
  bool survive = false;  ///< Goes on without a lost process, where the MPI can (WireRanks).
  const std::atomic<int>* stop = nullptr;  ///< Becomes the number of a signal that ends the process
                                           ///< at once while it joins the others.
};

/// Runs body(world) in each process of the launcher, each a rank; returns when all have ended. When
/// one throws, the others' waits end at once, and all ranks throw WorldError with its sentence and
/// exit status, to be printed where PrintsForAll(). If then a rank does not answer within two
/// seconds, one that does prints the sentence and ends the job (MPI_Abort). Throws UserError when
/// the library for this launcher was not built. Once in a process.
void RunMpi(const MpiRanks& options, const std::function<void(const Communicator&)>& body);

/// The same for several worlds, one after the other: MPI is started by the first MpiJob of a
/// process and ended by its destruction.
class MpiJob {
 public:
  /// Joins the others; ends the process with a sentence that names who is missing when that takes
  /// four times `timeout` seconds (at least 10), or when one of them has ended. `stop` as in
  /// MpiRanks.
  explicit MpiJob(double timeout = 60, const std::atomic<int>* stop = nullptr);
  ~MpiJob();
  MpiJob(const MpiJob&) = delete;
  MpiJob& operator=(const MpiJob&) = delete;

  int rank() const;
  int size() const;
  /// As RunMpi; all processes call it.
  void Run(const MpiRanks& options, const std::function<void(const Communicator&)>& body);

 private:
  double timeout_;
  std::unique_ptr<Mpi> mpi_;
};

}  // namespace yoke
