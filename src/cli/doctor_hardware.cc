// Hardware: cores and caches from the topology, the rest from /proc and /sys.
#include "cli/doctor.h"

#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/resources.h"

namespace yoke {
namespace {

namespace fs = std::filesystem;

void FindCores(Hardware& found) {
  const Topology topology = FindTopology();
  found.physical = topology.cores;
  found.logical = static_cast<int>(topology.places.size());
  found.memory_nodes = topology.nodes;
  found.caches = topology.caches;
}

int AffinityCount() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 0;
}

/// Bytes of a "Key:   123 kB" line of /proc/meminfo.
int64_t MemInfo(const std::string& key) {
  std::ifstream in("/proc/meminfo");
  for (std::string line; std::getline(in, line);)
    if (line.rfind(key + ":", 0) == 0) return std::atoll(line.c_str() + key.size() + 1) * 1024;
  return 0;
}

/// The text after "Model:" in a driver's information file.
std::string ModelIn(const fs::path& information) {
  std::ifstream in(information);
  for (std::string line; std::getline(in, line);)
    if (line.rfind("Model:", 0) == 0) return line.substr(line.find_first_not_of(" \t", 6));
  return "NVIDIA GPU";
}

std::vector<std::string> FindGpus() {
  std::vector<std::string> gpus;
  std::error_code ignored;
  for (const auto& gpu : fs::directory_iterator("/proc/driver/nvidia/gpus", ignored))
    gpus.push_back(ModelIn(gpu.path() / "information"));
  for (int i = 0; gpus.empty() && fs::exists("/dev/nvidia" + std::to_string(i)); ++i)
    gpus.emplace_back("NVIDIA GPU");
  if (gpus.empty() && fs::exists("/dev/kfd")) gpus.emplace_back("AMD GPU");
  return gpus;
}

/// Each file once, by its first name in PATH: folders and launchers are often links.
std::vector<std::string> FindLaunchers() {
  std::vector<std::string> found;
  std::set<fs::path> files;
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  std::error_code unknown;
  for (std::string folder; std::getline(folders, folder, ':');)
    for (const char* name : {"mpirun", "mpirun.openmpi", "mpirun.mpich", "srun"})
      if (const std::string file = folder + "/" + name;
          access(file.c_str(), X_OK) == 0 && files.insert(fs::canonical(file, unknown)).second)
        found.push_back(file);
  return found;
}

}  // namespace

Hardware FindHardware() {
  Hardware found;
  FindCores(found);
  found.threads = PlanThreads({});
  found.usable = UsableCores();
  found.affinity = AffinityCount();
  found.memory = MemInfo("MemTotal");
  found.memory_available = MemInfo("MemAvailable");
  found.memory_limit = UsableMemory() < found.memory ? UsableMemory() : 0;
  found.gpus = FindGpus();
  found.cuda = FindCudaGpus(LinkedCudaDriver());
  found.no_cuda = WhyNoCudaDevice(LinkedCudaDriver());
  found.launchers = FindLaunchers();
  return found;
}

}  // namespace yoke
