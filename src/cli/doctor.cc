// yoke doctor: reports this machine's features and what they mean for speed.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "cli/command.h"
#include "cli/doctor.h"
#include "cli/growth.h"
#include "cli/signals.h"
#include "comm/launcher.h"
#include "kernels/threads.h"
#include "tensor/devices.h"
#include "train/number_format.h"
#include "train/record/machine.h"

namespace yoke {
namespace {

/// One line of the report.
struct Finding {
  std::string topic;
  std::string found;
  std::string meaning;
};

std::string Plural(int64_t count, const std::string& noun) {
  return fmt::format("{} {}{}", Count(count), noun, count == 1 ? "" : "s");
}

Finding ProcessorFinding() {
  return {
      "processor", fmt::format("{}: {}", CpuModel(), fmt::join(CpuFeatures(), " ")),
      fmt::format("yoke is built for {}; oneDNN uses newer instructions if the processor has them.",
                  DescribeKernelLibrary().level == "portable" ? "any arm64" : "AVX2")};
}

Finding InstructionsFinding() {
  const KernelLibrary library = DescribeKernelLibrary();
  std::string meaning = library.level == "portable" ? "Four elements per instruction. "
                        : library.level == "avx2"
                            ? "Eight elements per instruction: about half the speed of AVX-512. "
                            : "Sixteen elements per instruction: full speed in f32. ";
  meaning += library.fast_bf16
                 ? "bf16 is native: --precision bf16 is worth trying on large models."
                 : "bf16 is not native: --precision bf16 is refused, it would be slower than f32.";
  return {"instructions",
          fmt::format("{}{}; oneDNN uses {}", library.level, library.limited ? " (YOKE_ISA)" : "",
                      library.isa),
          meaning};
}

Finding CoresFinding(const Hardware& h) {
  const std::string found =
      fmt::format("{} usable of {} ({} threads); affinity allows {}", h.usable,
                  Plural(h.physical, "core"), h.logical, h.affinity);
  if (h.usable < h.affinity)
    return {"cores", found,
            fmt::format("A cgroup quota limits this process to {}: more threads would only wait.",
                        h.usable)};
  return {"cores", found, "Other busy programs share these cores."};
}

Finding ThreadsFinding(const Hardware& h) {
  std::string found = fmt::format("{} by default", Plural(h.threads.threads, "thread"));
  std::vector<std::string> places;
  for (const Place& place : h.threads.places) places.push_back(fmt::format("{}", place.id));
  if (!places.empty()) found += fmt::format(", on processors {}", fmt::join(places, " "));
  return {"threads", found, h.threads.reason};
}

Finding CachesFinding(const Hardware& h) {
  std::vector<std::string> texts;
  for (const CacheInfo& c : h.caches)
    texts.push_back(fmt::format("L{} {} for {}", c.level, BinaryBytes(double(c.bytes)),
                                Plural(c.shared_by, "thread")));
  if (texts.empty()) return {"caches", "unknown", "The system does not report their sizes."};
  const double last = static_cast<double>(h.caches.back().bytes);
  // A momentum step touches weight, gradient and momentum: 12 bytes per parameter.
  return {"caches", fmt::format("{}", fmt::join(texts, ", ")),
          fmt::format("Up to about {} parameters stay in cache during an update; beyond that, "
                      "memory bandwidth limits the speed.",
                      Short(last / 12))};
}

Finding MemoryFinding(const Hardware& h) {
  std::string found =
      fmt::format("{}, {} available, {}", BinaryBytes(double(h.memory)),
                  BinaryBytes(double(h.memory_available)), Plural(h.memory_nodes, "NUMA node"));
  if (h.memory_limit > 0)
    found += fmt::format(", cgroup limit {}", BinaryBytes(double(h.memory_limit)));
  const double room = static_cast<double>(
      h.memory_limit > 0 ? std::min(h.memory_limit, h.memory_available) : h.memory_available);
  return {
      "memory", found,
      fmt::format(
          "Data sets well below {} are kept in memory; `yoke info JOB` shows what a model needs.",
          BinaryBytes(room))};
}

Finding GpuFinding(const Hardware& h) {
  if (!h.cuda.empty()) {
    std::vector<std::string> texts;
    for (const CudaGpu& gpu : h.cuda) texts.push_back(gpu.Text());
    const auto usable =
        std::ranges::find(h.cuda, "", [](const CudaGpu& gpu) { return gpu.says.why_not; });
    return {"GPUs", fmt::format("{}", fmt::join(texts, "; ")),
            usable == h.cuda.end()
                ? "Training takes the CPU."
                : fmt::format("`--devices {}` trains there; `make gpu-check` tests it.",
                              usable->says.device)};
  }
  if (h.gpus.empty())
    return {"GPUs", fmt::format("none found; {}", h.no_cuda), "Not needed: yoke trains on CPUs."};
  return {"GPUs", fmt::format("{}; {}", fmt::join(h.gpus, ", "), h.no_cuda),
          "They stay idle: yoke takes NVIDIA GPUs, with their driver, if it is built with CUDA."};
}

/// Of what the environment asks for; empty: nothing.
std::vector<Finding> DevicesFindings() {
  const std::vector<std::string> asked = AskedDevices();
  if (asked.empty()) return {};
  return {
      {"devices",
       fmt::format("{} (YOKE_DEVICES)",
                   fmt::join(DeviceNames(asked, "the environment variable YOKE_DEVICES"), ", ")),
       "Every job trains there, whatever its node.devices."}};
}

Finding MpiFinding(const Hardware& h) {
  const std::vector<std::string> built = MpiLibraries();
  const std::string launchers =
      h.launchers.empty() ? "no launcher in PATH" : fmt::format("{}", fmt::join(h.launchers, ", "));
  if (built.empty())
    return {"MPI", fmt::format("none built in; {}", launchers),
            "Replicas are threads of one process; for several machines install an MPI's compiler "
            "and headers and build yoke again."};
  return {"MPI", fmt::format("{} built in; {}", fmt::join(built, ", "), launchers),
          "The launcher decides which one is used; `mpirun -n 2 yoke doctor --network` measures "
          "its latency and bandwidth."};
}

Finding LibrariesFinding() {
  std::vector<std::string> texts;
  for (const auto& [name, version] : Libraries())
    texts.push_back(fmt::format("{} {}", name, version));
  return {"libraries", fmt::format("{}", fmt::join(texts, ", ")),
          "oneDNN sets the speed; the others matter only while data is read."};
}

std::vector<Finding> Findings(const Hardware& h) {
  std::vector<Finding> all = {ProcessorFinding(), InstructionsFinding(), CoresFinding(h),
                              ThreadsFinding(h),  CachesFinding(h),      MemoryFinding(h),
                              GpuFinding(h),      MpiFinding(h),         LibrariesFinding()};
  const std::vector<Finding> devices = DevicesFindings();
  all.insert(all.end(), devices.begin(), devices.end());
  return all;
}

Table ToTable(const Hardware& h) {
  List cuda;
  for (const CudaGpu& gpu : h.cuda) cuda.push_back(gpu.Row());
  List places, caches;
  for (const Place& place : h.threads.places) places.push_back(place.id);
  for (const CacheInfo& c : h.caches)
    caches.push_back(Table{
        {"level", c.level}, {"bytes", c.bytes}, {"shared_by", c.shared_by}, {"count", c.count}});
  return {{"cores", Table{{"usable", h.usable},
                          {"affinity", h.affinity},
                          {"physical", h.physical},
                          {"logical", h.logical}}},
          {"threads",
           Table{{"count", h.threads.threads}, {"places", places}, {"reason", h.threads.reason}}},
          {"caches", caches},
          {"memory", Table{{"total", h.memory},
                           {"available", h.memory_available},
                           {"limit", h.memory_limit},
                           {"nodes", h.memory_nodes}}},
          {"gpus", ListOf(h.gpus)},
          {"cuda", cuda},
          {"no_cuda", h.no_cuda},
          {"launchers", ListOf(h.launchers)},
          {"mpi", ListOf(MpiLibraries())}};
}

Finding GrowthFinding(const std::string& path, const Growth& growth) {
  const std::string end = EndOfGrowth(growth);
  return {
      "growth", fmt::format("{}: {}", path, end.empty() ? "to 64 threads and more" : end),
      fmt::format("If each has a core; `yoke bench {} --growth` says what keeps more back.", path)};
}

List ToList(const std::vector<Finding>& findings) {
  List list;
  for (const Finding& f : findings)
    list.push_back(Table{{"topic", f.topic}, {"found", f.found}, {"meaning", f.meaning}});
  return list;
}

constexpr double kLongestWait = 1e6;  // seconds

class DoctorCommand : public Command {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Place(
        "JOB", &job_,
        "A job file (TOML): also train a copy for 10 s, to say to how many threads its step grows");
    arguments.Flag("--network", &network_,
                   "Measure messages instead, between ranks of mpirun or srun, else threads");
    arguments.Option("--replicas", "N", &replicas_,
                     "With --network: ranks as threads (default: 2)");
    arguments.Option("--timeout", "SECONDS", &timeout_,
                     "With --network: seconds before a wait fails (default: 60)");
  }

  int Run(Output& out) override {
    Require(network_ || !replicas_, "--replicas needs --network");
    Require(timeout_ > 0 && timeout_ <= kLongestWait,
            "--timeout: expected seconds above 0, at most {}, got {}", kLongestWait, timeout_);
    Require(!network_ || job_.empty(), "--network measures no job: leave out {}", job_);
    if (network_)
      ReportNetwork({.replicas = replicas_, .timeout = timeout_}, out);
    else if (PrintsForAll())
      return Look(out);
    return 0;
  }

 private:
  int Look(Output& out) const {
    constexpr double kSeconds = 10;
    std::optional<Growth> growth;
    if (!job_.empty()) {
      LetWaitingThreadsSleep();
      const Job job = LoadJob(job_, {});
      const std::atomic<int>& signal = CatchStopSignals();
      growth = GrowthOf(job, {1, 2, 4, 8, 16, 32, 64}, kSeconds, signal);
      if (signal != 0) return 128 + signal;
    }
    const Hardware hardware = FindHardware();
    std::vector<Finding> findings = Findings(hardware);
    if (growth) findings.push_back(GrowthFinding(job_, *growth));
    const Table software = Join(Conditions(), {{"instructions", DescribeKernelLibrary().isa}});
    out.Event("doctor",
              Join(Join(software, ToTable(hardware)),
                   {{"libraries", TableOf(Libraries())}, {"findings", ToList(findings)}}));
    const auto width = static_cast<size_t>(std::clamp(out.Columns() - 1, 60, 110)) - 14;
    for (const Finding& finding : findings) Print(finding, width, out);
    return 0;
  }

  static void Print(const Finding& finding, size_t width, Output& out) {
    std::string margin = fmt::format("{:<14}", finding.topic);
    for (const std::string& text : {finding.found, "-> " + finding.meaning}) {
      for (const std::string& line : Wrap(text, width, text == finding.found ? 0 : 3)) {
        out.Text(margin + line);
        margin.assign(14, ' ');
      }
    }
  }

  std::string job_;
  bool network_ = false;
  std::optional<int> replicas_;
  double timeout_ = 60;
};

}  // namespace

CommandEntry doctor_command() {
  return {"doctor",
          "Look into things",
          "Report the machine's features and what they mean for speed",
          "Looks at processor, cores, caches, memory, GPUs, MPI launchers and libraries; changes "
          "nothing. With --network it measures\nlatency and bandwidth of each pair of ranks and of "
          "each collective, and reports outliers.\n\n"
          "Examples:\n  yoke doctor\n  yoke doctor job.toml\n  yoke doctor --json | python3 -m "
          "json.tool\n"
          "  yoke doctor --network --replicas 4\n  mpirun -n 4 yoke doctor --network",
          [] { return std::unique_ptr<Command>(new DoctorCommand); },
          /*together=*/true};
}

}  // namespace yoke
