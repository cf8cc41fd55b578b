// EpochCursor: more replicas than examples are refused, and a short epoch is told.
#include "train/epoch_cursor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "train/files.h"

namespace yoke::epoch_cursor_test {

using testing::HasSubstr;

constexpr const char* kJob = R"([data]
format = "synthetic-digits"
train_size = 40
test_size = 10
[model]
name = "mlp"
[train]
batch = 10
[cluster]
strategy = "allreduce"
replicas = 2
)";

/// What is said of so many replicas.
std::string NoteFor(int world) {
  const std::string path = testing::TempDir() + "/yoke-course.toml";
  ReplaceFile(path, kJob);
  const Job job = LoadJob(path, {});
  const DataSets data = OpenData(job.data(), job.seed());
  return EpochCursor(job, *data.train, {.world = world}, 1).Note();
}

TEST(EpochCursor, TellsWhenAnEpochIsTooShortForAllReplicas) {
  EXPECT_EQ(NoteFor(1), "");
  EXPECT_EQ(NoteFor(4), "");
  EXPECT_THAT(NoteFor(5), HasSubstr("40 examples, fewer than a step of 10 for each of 5 replicas"));
  EXPECT_NE(NoteFor(40), "");
}

TEST(EpochCursor, RemembersTheHighestRateOfAResumedRun) {
  const std::string path = testing::TempDir() + "/yoke-course.toml";
  ReplaceFile(path, kJob);
  const Job job = LoadJob(path, {{.key = "train.epochs", .value = "4"},
                                 {.key = "train.learning_rate", .value = "0.5"},
                                 {.key = "train.schedule", .value = "{ name = \"cosine\" }"}});
  const DataSets data = OpenData(job.data(), job.seed());
  EpochCursor cursor(job, *data.train, {.world = 2}, 1);
  cursor.position.epoch = 3;
  cursor.position.examples = 40;
  cursor.PlanEpoch();
  EXPECT_LT(cursor.LearningRateAt(0), 0.1);
  EXPECT_DOUBLE_EQ(cursor.HighestRateUpTo(0), 0.5);
}

TEST(EpochCursor, RefusesMoreReplicasThanExamples) {
  try {
    NoteFor(41);
    FAIL() << "it was taken";
  } catch (const UserError& refusal) {
    EXPECT_THAT(refusal.what(), HasSubstr("cluster.replicas"));
    EXPECT_THAT(refusal.what(), HasSubstr("41 replicas train, and an epoch has only 40 examples"));
  }
}

}  // namespace yoke::epoch_cursor_test
