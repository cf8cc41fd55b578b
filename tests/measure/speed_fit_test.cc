// FitSpeedCurve: points of a known curve give it back, and others give a curve through the batch.
#include "measure/speed_fit.h"

#include <gtest/gtest.h>

#include "base/check.h"

namespace yoke::speed_fit_test {

Cost Pass(double batch) {
  return {.operations = 1e6 * batch, .bytes = 1e4 + 1e3 * batch, .kernels = 5};
}

constexpr Cost kUpdate = {.operations = 2e4, .bytes = 5e4};

FitRequest Points(const SpeedCurve& device) {
  FitRequest request = {.points = {},
                        .at = 2,
                        .update = kUpdate,
                        .bytes_per_second = device.bytes_per_second,
                        .threads = 2};
  for (const int64_t batch : {4, 8, 16, 32}) {
    const Cost pass = Pass(static_cast<double>(batch));
    request.points.push_back(
        {.batch = batch,
         .seconds = device.Seconds(pass, {.examples = batch}) + device.Seconds(kUpdate, {}),
         .pass = pass});
  }
  return request;
}

double StepSeconds(const SpeedCurve& curve, const Cost& pass) {
  return curve.Seconds(pass, {.examples = 16}) + curve.Seconds(kUpdate, {});
}

TEST(SpeedFit, FindsTheDeviceOfItsPoints) {
  const SpeedCurve device = {
      .operations_per_second = 1e10, .bytes_per_second = 2e9, .launch_seconds = 1e-5, .threads = 2};
  const SpeedCurve found = FitSpeedCurve(Points(device));
  EXPECT_NEAR(found.operations_per_second / 1e10, 1, 0.01);
  EXPECT_NEAR(found.bytes_per_second / 2e9, 1, 1e-9);
  EXPECT_NEAR(found.launch_seconds / 1e-5, 1, 0.05);
  EXPECT_EQ(found.threads, 2);
}

TEST(SpeedFit, PassesThroughTheJobsBatch) {
  const SpeedCurve device = {.operations_per_second = 1e10, .bytes_per_second = 2e9};
  FitRequest request = Points(device);
  for (const double factor : {0.01, 0.5, 3.0}) {  // memory too slow, or a bent line
    request.points[2].seconds *= factor;
    const StepPoint& at = request.points[2];
    EXPECT_NEAR(StepSeconds(FitSpeedCurve(request), at.pass) / at.seconds, 1, 1e-9) << factor;
  }
  request.points = {request.points[2]};  // nothing to tell growth from
  request.at = 0;
  const StepPoint& only = request.points[0];
  EXPECT_NEAR(StepSeconds(FitSpeedCurve(request), only.pass) / only.seconds, 1, 1e-9);
}

TEST(SpeedFit, PassesThroughAllPointsWhereAsked) {
  const SpeedCurve device = {.operations_per_second = 1e10, .bytes_per_second = 2e9, .threads = 2};
  FitRequest request = Points(device);
  request.points[0].seconds *= 1.3;  // small batches are slower, and so are the largest
  request.points[3].seconds *= 1.2;
  request.through_all = true;
  const SpeedCurve curve = FitSpeedCurve(request);
  const auto seconds = [&](double batch) {
    return curve.Seconds(Pass(batch), {.examples = static_cast<int64_t>(batch)}) +
           curve.Seconds(kUpdate, {});
  };
  for (const StepPoint& point : request.points)
    EXPECT_NEAR(seconds(static_cast<double>(point.batch)) / point.seconds, 1, 0.01) << point.batch;
  EXPECT_GT(seconds(24), request.points[2].seconds);  // between two points
  EXPECT_LT(seconds(24), request.points[3].seconds);
  const double beyond = seconds(64) / request.points[3].seconds;
  EXPECT_NEAR(beyond, 2, 0.05);  // as fast as the last point
  EXPECT_NEAR(Slower(curve, 3).Seconds(Pass(32), {.examples = 32}),
              3 * curve.Seconds(Pass(32), {.examples = 32}), 1e-9);
}

TEST(SpeedFit, AStepTakesAsLongWithAnotherMemory) {
  const SpeedCurve device = {
      .operations_per_second = 1e10, .bytes_per_second = 2e9, .launch_seconds = 1e-5};
  Cost step = Pass(16);
  step += kUpdate;
  const double seconds = device.Seconds(step, {});
  for (const double bytes_per_second : {1e9, 4e9}) {
    const SpeedCurve curve = WithMemory(device, bytes_per_second, step);
    EXPECT_EQ(curve.bytes_per_second, bytes_per_second);
    EXPECT_NEAR(curve.Seconds(step, {}) / seconds, 1, 1e-9);
  }
  const SpeedCurve slow = WithMemory(device, 1e3, step);  // its bytes would take longer
  EXPECT_NEAR(slow.Seconds(step, {}) / seconds, 1, 1e-9);
}

TEST(SpeedFit, ASlowerDeviceTakesTimesAsLong) {
  const SpeedCurve device = {
      .operations_per_second = 1e10, .bytes_per_second = 2e9, .launch_seconds = 1e-5, .threads = 2};
  EXPECT_DOUBLE_EQ(StepSeconds(Slower(device, 3), Pass(16)), 3 * StepSeconds(device, Pass(16)));
  FitRequest none = Points(device);
  none.points[2].seconds = 0;
  EXPECT_THROW(FitSpeedCurve(none), Error);
}

}  // namespace yoke::speed_fit_test
