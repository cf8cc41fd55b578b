// Launcher: the world of the processes that mpirun or srun started. The program itself is not
// linked to MPI: there is a small library for each MPI (comm/mpi.cc), and the one that fits the
// launcher is loaded.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "comm/wire_transport.h"

namespace yoke {

class Mpi;

/// The launcher of this process, found in its environment.
struct Launch {
  std::string launcher = {};  ///< "mpirun of Open MPI 4"; empty: no launcher.
  std::string library = {};   ///< Prefix of the names of matching libraries, such as "openmpi4";
                              ///< empty: its processes have no way to connect.
  int rank = 0;
  int size = 1;
  std::string rank_variable = {};  ///< The environment variable with the rank.
  int local_size = 1;              ///< Ranks on this machine.
  bool guarded = false;            ///< An mpirun, which may kill a process at any time.
  bool kills = false;              ///< It kills soon after it passes a stop on.
};
/// Open MPI 4 and 5, MPICH (hydra), Slurm's srun.
Launch FindLaunch();
/// From now on this process behaves as if no launcher had started it.
void LeaveLauncher();

/// Whether a launcher started this process (alone or with others); then the world is that of
/// RunMpi.
bool LaunchedByMpi();
/// Whether this process prints: it is rank 0 of its launcher, or has no launcher. Needs no MPI.
bool PrintsForAll();

/// The names of the MPI libraries in this build: "mpich4", "openmpi4", ...
std::vector<std::string> MpiLibraries();

struct MpiRanks {
  int ranks = 0;        ///< Number of participating processes, the first ones; 0: all.
  double timeout = 60;  ///< Seconds of one wait.
  AllReduceAlgorithm all_reduce = AllReduceAlgorithm::kAuto;
  bool survive = false;  ///< Continue without a lost process if the MPI can (WireRanks).
  const std::atomic<int>* stop = nullptr;  ///< Becomes the number of a signal that ends the process
                                           ///< at once while it joins the others.
};

/// Runs body(world) in each process of the launcher, each as a rank; returns when all have ended.
/// If one throws, the others' waits end immediately, and all ranks throw WorldError with its
/// sentence and exit status, to be printed where PrintsForAll(). If then a rank does not answer
/// within two seconds, one that does prints the sentence and ends the job (MPI_Abort). Throws
/// UserError if the library for this launcher was not built. Call it at most once per process.
void RunMpi(const MpiRanks& options, const std::function<void(const Communicator&)>& body);

/// The same for several worlds, one after the other or one inside another: in the same order on all
/// processes. The first MpiJob of a process starts MPI, and its destruction ends it.
class MpiJob {
 public:
  /// Joins the other processes. Ends this process with a message that names the missing ones if
  /// that takes four times `timeout` seconds (at least 10), or if one of them has ended. `stop` as
  /// in MpiRanks.
  explicit MpiJob(double timeout = 60, const std::atomic<int>* stop = nullptr);
  ~MpiJob();
  MpiJob(const MpiJob&) = delete;
  MpiJob& operator=(const MpiJob&) = delete;

  int rank() const;
  int size() const;
  /// Like RunMpi; all processes call it.
  void Run(const MpiRanks& options, const std::function<void(const Communicator&)>& body);

 private:
  double timeout_;
  std::unique_ptr<Mpi> mpi_;
};

}  // namespace yoke
