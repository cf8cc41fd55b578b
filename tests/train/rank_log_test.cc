// RankLog: each rank but 0 writes its own file, where it sees the run's folder.
#include "train/record/rank_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <stdexcept>

#include "comm/threads.h"
#include "train/files.h"

namespace yoke::rank_log_test {

namespace fs = std::filesystem;
using testing::ContainsRegex;
using testing::HasSubstr;

class RankLogTest : public testing::Test {
 protected:
  RankLogTest() : run_(testing::TempDir() + fmt::format("yoke-rank-log-{}", getpid())) {
    fs::remove_all(run_);
    fs::create_directories(run_);
  }
  ~RankLogTest() override { fs::remove_all(run_); }

  std::string Text(int rank) const { return ReadWhole(fmt::format("{}/log-{}.txt", run_, rank)); }
  /// Ranks 1 and 2 of three.
  template <typename Body>
  void Log(const std::string& run, const Body& body) const {
    RunThreads({.ranks = 3}, [&](const Communicator& world) {
      if (world.rank() == 0) return;
      RankLog log(world, run, 1 + world.rank());
      body(world.rank(), log);
    });
  }

  std::string run_;
};

TEST_F(RankLogTest, TellsStartRoundsAndEndOfEachRankButTheFirst) {
  Log(run_, [](int rank, RankLog& log) {
    log.Round({.epoch = 1,
               .step = 2000,
               .totals = {.loss_sum = 600.0 * rank, .examples = 1200},
               .seconds = 2.5,
               .waited = 0.25});
    log.Round({.epoch = 2, .step = 2010, .totals = {.signal = 15}, .seconds = 12, .waited = 5.25});
    log.End(143);
  });
  EXPECT_THAT(Text(1), ContainsRegex(
                           fmt::format("rank 1 of 3 on [^ ]+, process {}, 2 threads\n", getpid())));
  EXPECT_THAT(Text(2), HasSubstr("process"));
  EXPECT_THAT(Text(1),
              HasSubstr("epoch 1, step 2,000: 1,200 examples with mean loss 0.5000 in 2.50 s, "
                        "0.25 s of these waiting\n"));
  EXPECT_THAT(Text(2), HasSubstr("loss 1.0000"));
  EXPECT_THAT(Text(2),
              HasSubstr("no examples in 12 s, 5.00 s of these waiting; received signal 15\n"));
  EXPECT_THAT(Text(2), HasSubstr("ended normally, status 143\n"));
}

TEST_F(RankLogTest, GoesOnInTheFileOfTheSessionBefore) {
  Log(run_, [](int, RankLog& log) {
    log.Round({.epoch = 1, .step = 1, .totals = {.bad_step = 7, .bad_loss = -HUGE_VAL}});
    log.End(std::runtime_error("rank 0 is lost"));
  });
  Log(run_, [](int, RankLog& log) { log.End(0); });
  EXPECT_THAT(Text(1), ContainsRegex("at step 7 the loss became -inf\n.*"
                                     "ended by an error: rank 0 is lost\n.*"
                                     "rank 1 of 3.*\n.*ended normally, status 0\n$"));
}

TEST_F(RankLogTest, IsSilentWhereThereIsNoSuchFolder) {
  const std::string elsewhere = run_ + "/of another machine";
  Log(elsewhere, [](int, RankLog& log) { log.End(0); });
  EXPECT_FALSE(fs::exists(elsewhere));
}

}  // namespace yoke::rank_log_test
