// Finds the ranks of this machine by the launcher's variables in their environment and the
// launcher's process above them. A thread's name marks a waiting process: others can read it, and
// it ends with the process.
#include "comm/local_ranks.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <thread>

namespace yoke {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMark = "yoke-joins";

/// Programs that start ranks. A process above one of them belongs to another job, even if its
/// environment looks the same.
constexpr std::string_view kLaunchers[] = {
    "mpirun", "mpirun.openmpi", "mpiexec",         "orterun",       "orted",     "prterun",
    "prted",  "prte",           "hydra_pmi_proxy", "mpiexec.hydra", "slurmstepd"};

std::string FileOf(int process, const std::string& name) {
  std::ifstream file(fmt::format("/proc/{}/{}", process, name));
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string Line(std::string text) {
  text.resize(std::min(text.size(), text.find('\n')));
  return text;
}

/// The fields after a process's name, which may itself contain blanks and brackets.
struct Status {
  char state = '?';
  int parent = 0;
};
Status StatusOf(int process) {
  const std::string text = FileOf(process, "stat");
  const size_t end = text.rfind(')');
  if (end == text.npos || end + 4 >= text.size()) return {};
  return {text[end + 2], std::atoi(text.c_str() + end + 4)};
}

/// A process's rank, from the launcher's variable.
std::optional<int> RankOf(int process, const std::string& variable) {
  const std::string environment = '\0' + FileOf(process, "environ");
  const std::string wanted = '\0' + variable + '=';
  const size_t at = environment.find(wanted);
  if (at == environment.npos) return {};
  return std::atoi(environment.c_str() + at + wanted.size());
}

/// The launcher's process above a rank, or 0 if it cannot be seen.
int LauncherOf(int process, int rank, const std::string& variable) {
  for (int depth = 0; depth < 100; ++depth) {
    process = StatusOf(process).parent;
    if (process <= 1) return 0;
    const std::string name = Line(FileOf(process, "comm"));
    if (std::find(std::begin(kLaunchers), std::end(kLaunchers), name) != std::end(kLaunchers) ||
        RankOf(process, variable) != rank)
      return process;
  }
  return 0;
}

bool IsMarked(int process) {
  std::error_code gone;
  for (const auto& thread : fs::directory_iterator(fmt::format("/proc/{}/task", process), gone)) {
    std::ifstream file(thread.path() / "comm");
    std::string name;
    if (std::getline(file, name) && name == kMark) return true;
  }
  return false;
}

std::vector<int> Processes() {
  std::vector<int> processes;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator("/proc", none))
    if (const int process = std::atoi(entry.path().filename().c_str()); process > 0)
      processes.push_back(process);
  return processes;
}

bool AllAreHere(const Launch& launch) { return launch.local_size == launch.size; }

std::string Missing(const LocalRankStatus& one) {
  return fmt::format("rank {} (process {}) {}", one.rank, one.process,
                     one.stopped ? "is stopped" : "has not joined yet");
}

}  // namespace

void MarkAsJoining() { pthread_setname_np(pthread_self(), kMark); }

std::vector<LocalRankStatus> FindLocalRanks(const Launch& launch, int own) {
  const int above = LauncherOf(own == 0 ? getpid() : own, launch.rank, launch.rank_variable);
  if (above == 0) return {};
  std::map<int, LocalRankStatus> found;
  for (const int process : Processes()) {
    const std::optional<int> rank = RankOf(process, launch.rank_variable);
    if (!rank || LauncherOf(process, *rank, launch.rank_variable) != above) continue;
    const char state = StatusOf(process).state;
    if (state == 'Z' || state == 'X' || state == '?') continue;
    LocalRankStatus& one = found[*rank];
    one.rank = *rank;
    one.process = std::max(one.process, process);
    one.joining = one.joining || IsMarked(process);
    one.stopped = one.stopped || state == 'T' || state == 't';
  }
  std::vector<LocalRankStatus> local_ranks;
  local_ranks.reserve(found.size());
  for (const auto& [rank, one] : found) local_ranks.push_back(one);
  return local_ranks;
}

std::string NameMissing(const Launch& launch, const std::vector<LocalRankStatus>& local_ranks) {
  if (local_ranks.empty()) return "";
  std::vector<std::string> names;
  std::vector<bool> here(launch.size);
  for (const LocalRankStatus& one : local_ranks) {
    if (one.rank < launch.size) here[one.rank] = true;
    if (one.stopped || !one.joining) names.push_back(Missing(one));
  }
  for (int rank = 0; rank < launch.size && AllAreHere(launch); ++rank)
    if (!here[rank]) names.push_back(fmt::format("rank {} has ended", rank));
  const int ended = launch.local_size - static_cast<int>(local_ranks.size());
  if (!AllAreHere(launch) && ended > 0)
    names.push_back(fmt::format("{} of the {} ranks of this machine {} ended", ended,
                                launch.local_size, ended == 1 ? "has" : "have"));
  if (names.empty() && launch.local_size > 0 && !AllAreHere(launch))
    return fmt::format("the {} of this machine are here, so one of another machine is missing",
                       launch.local_size);
  return fmt::format("{}", fmt::join(names, ", "));
}

bool OneHasEnded(const Launch& launch, const std::vector<LocalRankStatus>& local_ranks) {
  return AllAreHere(launch) && !local_ranks.empty() &&
         static_cast<int>(local_ranks.size()) < launch.size;
}

bool IsFirstToJoin(const Launch& launch, const std::vector<LocalRankStatus>& local_ranks) {
  return std::none_of(local_ranks.begin(), local_ranks.end(), [&](const LocalRankStatus& one) {
    return one.rank < launch.rank && one.joining && !one.stopped;
  });
}

bool IsFirstToFail(const Launch& launch) {
  constexpr int kLooks = 50;
  constexpr int kGone = 3;  // looks in a row: a process that starts is not seen at once
  constexpr std::chrono::milliseconds kPause(100);
  for (int look = 0, gone = 0; look < kLooks; ++look) {
    const std::vector<LocalRankStatus> local_ranks = FindLocalRanks(launch);
    const auto count = [&](bool joining) {
      return std::count_if(local_ranks.begin(), local_ranks.end(), [&](const LocalRankStatus& one) {
        return one.rank < launch.rank && one.joining == joining;
      });
    };
    const bool lower_is_gone =
        OneHasEnded(launch, local_ranks) && count(true) + count(false) < launch.rank;
    gone = lower_is_gone ? gone + 1 : 0;
    if (gone == kGone) return false;
    if (!lower_is_gone && count(false) == 0) return true;
    std::this_thread::sleep_for(kPause);
  }
  return true;
}

}  // namespace yoke
