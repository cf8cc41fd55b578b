// FitSpeedCurve: a line through one point, divided among memory, arithmetic and starts of kernels.
#include "measure/speed_fit.h"

#include <algorithm>

#include "base/check.h"

namespace yoke {
namespace {

/// Of a step's seconds: the most for its bytes, and the least for its operations.
constexpr double kMostForBytes = 0.9, kLeastForOperations = 0.1;

/// Growth per example of a number, seen from the point that the curve passes through:
/// sum w x y / sum w x^2 with x, y from that point and w = 1 / seconds^2.
template <typename Number>
double Slope(const FitRequest& request, const Number& number) {
  const StepPoint& at = request.points[request.at];
  double xy = 0, xx = 0;
  for (const StepPoint& point : request.points) {
    const auto x = static_cast<double>(point.batch - at.batch);
    const double w = 1 / (point.seconds * point.seconds);
    xy += w * x * (number(point) - number(at));
    xx += w * x * x;
  }
  return xx > 0 ? xy / xx : number(at) / static_cast<double>(at.batch);
}

/// At which the points' operations take what the curve's other parts leave of the seconds.
std::vector<SpeedCurve::Utilization> UtilizationsOf(const FitRequest& request,
                                                    const SpeedCurve& curve) {
  std::vector<SpeedCurve::Utilization> utilizations;
  for (const StepPoint& point : request.points) {
    const double others = point.pass.kernels * curve.launch_seconds +
                          (point.pass.bytes + request.update.bytes) / curve.bytes_per_second;
    const double computing = std::max(point.seconds - others, kLeastForOperations * point.seconds);
    const double operations = std::max(1.0, point.pass.operations + request.update.operations);
    utilizations.push_back(
        {.examples = std::max(1.0, static_cast<double>(point.batch) / request.threads),
         .of_peak = operations / (computing * curve.operations_per_second)});
  }
  std::ranges::sort(utilizations, {}, &SpeedCurve::Utilization::examples);
  return utilizations;
}

}  // namespace

SpeedCurve FitSpeedCurve(const FitRequest& request) {
  const StepPoint& at = request.points.at(request.at);
  Check(at.batch > 0 && at.seconds > 0 && request.bytes_per_second > 0,
        "a fit needs a batch, its seconds and the speed of memory");
  const double bytes = at.pass.bytes + request.update.bytes;
  const double operations = std::max(1.0, at.pass.operations + request.update.operations);
  const double bandwidth = std::max(request.bytes_per_second, bytes / (kMostForBytes * at.seconds));
  const double rest = at.seconds - bytes / bandwidth;
  const double growth = Slope(request, [](const StepPoint& p) { return p.seconds; }) -
                        Slope(request, [](const StepPoint& p) { return p.pass.bytes; }) / bandwidth;
  double computing =
      std::clamp(growth * static_cast<double>(at.batch), kLeastForOperations * rest, rest);
  if (at.pass.kernels == 0) computing = rest;
  SpeedCurve curve = {
      .operations_per_second = operations / computing,
      .bytes_per_second = bandwidth,
      .launch_seconds = at.pass.kernels > 0 ? (rest - computing) / at.pass.kernels : 0,
      .threads = request.threads};
  if (request.through_all) curve.utilizations = UtilizationsOf(request, curve);
  return curve;
}

SpeedCurve WithMemory(SpeedCurve curve, double bytes_per_second, const Cost& step) {
  const double whole =
      step.operations / curve.operations_per_second + step.bytes / curve.bytes_per_second;
  curve.bytes_per_second = std::max(bytes_per_second, step.bytes / (kMostForBytes * whole));
  curve.operations_per_second =
      std::max(1.0, step.operations) / (whole - step.bytes / curve.bytes_per_second);
  return curve;
}

SpeedCurve Slower(SpeedCurve curve, double factor) {
  curve.operations_per_second /= factor;
  curve.bytes_per_second /= factor;
  curve.thread_bytes_per_second /= factor;
  curve.launch_seconds *= factor;
  return curve;
}

}  // namespace yoke
