// MeasuredJob: what is left of a job where one replica trains alone.
#include "plan/measured_job.h"

#include <gtest/gtest.h>

#include "plan/support/small_job.h"

namespace yoke::measured_job_test {

TEST(OneReplicaOf, KeepsTheStrategysVelocity) {
  for (const char* rule : {"momentum", "nesterov", "sgd"}) {
    const auto of = [rule](const char* form) {
      return OneReplicaOf(test::SmallJob({{"cluster.replicas", "4"},
                                          {"cluster.strategy", "async_msgd"},
                                          {"cluster.form", form},
                                          {"train.rule", rule}}));
    };
    const Job published = of("paper");
    EXPECT_EQ(published.train.String("velocity"), "steps") << rule;
    EXPECT_EQ(published.cluster.Int("replicas"), 1);
    EXPECT_FALSE(of("yoke").train.Has("velocity")) << rule;
  }
}

}  // namespace yoke::measured_job_test
