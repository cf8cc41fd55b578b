// FormatCluster: tables with their comments, line by line.
#include "measure/cluster_writer.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/value.h"
#include "measure/speed_fit.h"

namespace yoke {
namespace {

std::string Quoted(const std::string& text) { return FormatValue(Value(text)); }

/// In one line of a comment.
std::string Plain(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7F') c = ' ';
  return text;
}

/// `key = number`, and a comment.
std::string Line(const char* key, double number, const std::string& comment) {
  return fmt::format("{} = {:.4g}  # {}\n", key, number, comment);
}

std::string Milliseconds(const StepTime& step) {
  return fmt::format("batch {}: {:.4g} ms ({} steps)", step.batch, 1000 * step.seconds, step.steps);
}

std::string StepComments(const MachineProfile& profile) {
  std::string text = "# Measured: seconds of a training step without exchange, medians.\n";
  for (const StepTime& step : profile.steps) text += fmt::format("#   {}\n", Milliseconds(step));
  if (!(profile.step.steps == 0 || profile.steps.empty()))
    text += fmt::format("#   what training takes, with the job's executor: {}\n",
                        Milliseconds(profile.step));
  return text;
}

std::string NodeText(const MeasuredNode& node) {
  const MachineProfile& profile = node.profile;
  const SpeedCurve curve = node.Curve();
  const double sigma = profile.step.sigma;
  std::string text = "\n" + StepComments(profile) + "[[nodes]]\n";
  text += fmt::format("title = {}\ncount = 1\n", Quoted(node.host));
  text += fmt::format("ranks = {}  # replicas on this machine\n", node.ranks);
  text += fmt::format("cores = {}  # of {} usable; a replica has {} thread{}\n", node.Cores(),
                      node.usable_cores, profile.threads, profile.threads == 1 ? "" : "s");
  text += sigma > 0 ? fmt::format("jitter = {{ kind = \"lognormal\", sigma = {:.3g} }}", sigma)
                    : std::string("jitter = { kind = \"constant\" }");
  text += fmt::format("  # measured: steps vary by {:.1f} %\n\n", 100 * profile.step.sigma);
  if (node.crowding > 1)
    text += fmt::format("# Where all replicas share the cores, steps take {:.3g} times as long.\n",
                        node.crowding);
  text += "# Fitted to these steps; the memory's is that of the measured arithmetic on values.\n";
  text += fmt::format("[nodes.curve]\ntitle = {}\nsource = {}\n", Quoted(curve.title),
                      Quoted("Measured by yoke simulate --profile"));
  text += Line("operations_per_second", curve.operations_per_second, "of all threads");
  text += Line("bytes_per_second", curve.bytes_per_second,
               fmt::format("measured: {:.4g}", profile.bytes_per_second));
  text += Line("launch_seconds", curve.launch_seconds, "what does not grow with the batch");
  return text + fmt::format("threads = {}\n", curve.threads);
}

/// { 1 = 1, 4 = 3.5 }
std::string GrowthText(const std::map<int, double>& growth) {
  std::string text;
  for (const auto& [threads, times] : growth)
    text += fmt::format("{} {} = {:.4g}", text.empty() ? "" : ",", threads, times);
  return "{" + text + " }";
}

std::string ComputedText(const MeasuredNode& node) {
  const SpeedCurve curve = node.Curve();
  std::string text = fmt::format(
      "\n# {}\n[[nodes]]\ntitle = {}\ncount = 1\n\n[nodes.curve]\ntitle = {}\nsource = {}\n",
      Plain(node.computed), Quoted(node.host), Quoted(curve.title), Quoted(Plain(node.computed)));
  text += Line("operations_per_second", curve.operations_per_second, "of all threads");
  text += Line("bytes_per_second", curve.bytes_per_second, "not computed: edit it");
  text += fmt::format("threads = {}\ngrowth = {}  # each thread with as many examples\n",
                      curve.threads, GrowthText(curve.growth));
  if (curve.memory_nodes == 1) return text;
  return text + fmt::format("memory_nodes = {}\n", curve.memory_nodes) +
         Line("far_bytes_per_second", curve.far_bytes_per_second, "assumed: edit it");
}

std::string NetworkText(const MeasuredNetwork& network) {
  const char* how = network.measured ? "measured" : "assumed: edit it";
  std::string text = fmt::format("\n# {}\n[network]\n", Plain(network.source));
  text += Line("latency", network.latency, how);
  text += Line("bytes_per_second", network.bytes_per_second, how);
  if (network.copy_bytes_per_second > 0)
    text += Line("copy_bytes_per_second", network.copy_bytes_per_second,
                 "measured: a message is copied when it is sent and when it is received");
  if (network.polling > 0)
    text += Line("polling", network.polling,
                 "measured: part of a core that a waiting replica takes from one that computes");
  return text;
}

}  // namespace

int MeasuredNode::AtOnce() const {
  return std::max(1, usable_cores / std::max(1, profile.threads));
}

SpeedCurve MeasuredNode::Curve() const {
  SpeedCurve curve = Slower(profile.curve, crowding);
  curve.title = fmt::format("{}, {} thread{}", cpu, curve.threads, curve.threads == 1 ? "" : "s");
  return curve;
}

std::string FormatCluster(const MeasuredCluster& cluster) {
  std::string text = fmt::format("# Written by: {}\n# {}, for {}\n", Plain(cluster.command),
                                 Plain(cluster.when), Plain(cluster.subject));
  text += "# The speeds are those of this model and batch. Prices and slow nodes are not known.\n";
  text +=
      "# docs/simulate.md explains the keys; count = 8 in place of 1 makes eight such machines.\n";
  text += fmt::format("title = {}\nsource = {}\n", Quoted(cluster.title),
                      Quoted(Plain(cluster.command) + ", " + Plain(cluster.when)));
  for (const MeasuredNode& node : cluster.nodes)
    text += node.computed.empty() ? NodeText(node) : ComputedText(node);
  return text + NetworkText(cluster.network);
}

}  // namespace yoke
