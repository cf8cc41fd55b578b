// StalenessNote: which rates are too high for late gradients, and what is said of them.
#include "train/notes.h"

#include <gtest/gtest.h>

#include "train/job/parts.h"

namespace yoke::staleness_note_test {

std::string NoteFor(const std::string& strategy, const std::string& train,
                    const std::string& cluster = "", int world = 8) {
  const std::string text =
      "[data]\nformat = \"synthetic-digits\"\n[model]\nname = \"mlp\"\n[train]\n" + train +
      "\n[cluster]\nstrategy = \"" + strategy + "\"\n" + cluster + "\n";
  const Job job = MakeJob(ParseToml(text, "job.toml"), "job", "/");
  return StalenessNote(job, StrategyOf(job), world);
}

TEST(StalenessNote, NamesRateMomentumAndStaleness) {
  EXPECT_EQ(NoteFor("async_sgd", "learning_rate = 0.3"),
            "train.learning_rate = 0.3 with momentum 0.9 is high for async_sgd with gradients that "
            "are about 7 updates old: the model may not learn; if the loss does not fall, try "
            "train.learning_rate = 0.2 or cluster.strategy = \"allreduce\"");
  EXPECT_EQ(NoteFor("hogwild_sgd", "rule = \"adam\"\nlearning_rate = 0.02"),
            "train.learning_rate = 0.02 with rule adam is high for hogwild_sgd with gradients that "
            "are about 7 updates old: the model may not learn; if the loss does not fall, try "
            "train.learning_rate = 0.01 or cluster.strategy = \"allreduce\"");
}

TEST(StalenessNote, IsSilentWhereTheRateIsLowEnough) {
  EXPECT_EQ(NoteFor("async_sgd", "learning_rate = 0.2"), "");
  EXPECT_EQ(NoteFor("async_sgd", "rule = \"sgd\"\nlearning_rate = 0.1"), "");
  EXPECT_EQ(NoteFor("async_sgd", "rule = \"sgd\"\nlearning_rate = 0.3"), "");
  EXPECT_NE(NoteFor("async_sgd", "rule = \"sgd\"\nlearning_rate = 0.4"), "");
  EXPECT_NE(NoteFor("async_msgd", "rule = \"sgd\"\nlearning_rate = 0.4"), "");
  EXPECT_EQ(NoteFor("async_sgd", "rule = \"adam\"\nlearning_rate = 0.01"), "");
  EXPECT_EQ(NoteFor("async_sgd", "learning_rate = 0.3", "rate_scale = 0.03"), "");
  EXPECT_NE(NoteFor("async_sgd", "learning_rate = 0.03", "rate_scale = 1"), "");
  EXPECT_EQ(NoteFor("async_sgd", "learning_rate = 0.1", "scale_by_staleness = true"), "");
  EXPECT_NE(NoteFor("async_sgd", "learning_rate = 0.3", "scale_by_staleness = true"), "");
}

TEST(StalenessNote, KnowsThatThePapersFormTakesTheFullRate) {
  const std::string paper = "form = \"paper\"";
  EXPECT_NE(NoteFor("async_sgd", "learning_rate = 0.03", paper), "");
  EXPECT_EQ(NoteFor("async_sgd", "learning_rate = 0.003", paper), "");
}

TEST(StalenessNote, KnowsWhatPredictionBrings) {
  const std::string without = "predict_weights = false";
  EXPECT_NE(NoteFor("async_sgd", "learning_rate = 0.1", without), "");
  EXPECT_EQ(NoteFor("async_sgd", "learning_rate = 0.03", without), "");
}

TEST(StalenessNote, IsSilentWhereNoGradientIsLate) {
  EXPECT_EQ(NoteFor("allreduce", "learning_rate = 1"), "");
  EXPECT_EQ(NoteFor("easgd_sync1", "learning_rate = 1"), "");
  EXPECT_EQ(NoteFor("async_sgd", "learning_rate = 1", "", 1), "");
  EXPECT_EQ(NoteFor("async_sgd", "learning_rate = 1", "servers = 1", 2), "");
  EXPECT_EQ(NoteFor("compute_groups", "learning_rate = 1", "groups = 1"), "");
}

}  // namespace yoke::staleness_note_test
