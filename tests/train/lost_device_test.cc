// A GPU that is lost in a whole run, on a mock: the run ends with one sentence, and its last
// checkpoint goes on elsewhere.
#include <gmock/gmock.h>

#include "base/log.h"
#include "tensor/support/mock_cuda.h"
#include "train/files.h"
#include "train/record/run_directory.h"
#include "train/support/trainer_fixture.h"

namespace yoke::lost_device_test {

using testing::HasSubstr;
using testing::IsEmpty;

class LostDeviceTest : public test::TrainerTest {
 protected:
  LostDeviceTest() { GiveCudaDriver(&mock_.driver()); }
  ~LostDeviceTest() override { GiveCudaDriver(nullptr); }

  /// Trains until the GPUs are lost after so many steps; the sentence with which the run ends.
  std::string TrainUntil(int64_t step, const Overrides& overrides) {
    notes_ = {};
    int64_t steps = 0;
    notes_.at_step = [&] {
      if (++steps == step) mock_.Lose(719);
    };
    try {
      Train(MakeNew(overrides), {.run = Path("run"),
                                 .stop_signal = &signal_,
                                 .observers = {&notes_},
                                 .tell_each_step = true});
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_status(), 1);
      return error.what();
    }
    return "";
  }

  MockCuda mock_{{.devices = 2}};
};

TEST_F(LostDeviceTest, ARunTrainsInCaptures) {
  EXPECT_EQ(TrainUntil(0, {{"node.devices", "cuda:0"}}), "");
  EXPECT_EQ(notes_.epochs.size(), 3U);
  EXPECT_GE(mock_.calls()["launch"], 21 - 2);  // of two batch sizes the first step each
  EXPECT_THAT(mock_.broken(), IsEmpty());
}

TEST_F(LostDeviceTest, ARunEndsWithItsLastCheckpoint) {
  testing::internal::CaptureStderr();
  const std::string sentence = TrainUntil(12, {{"node.devices", "cuda:0"}});
  EXPECT_THAT(testing::internal::GetCapturedStderr(), IsEmpty());
  EXPECT_THAT(sentence, HasSubstr("cuda:0 failed: unspecified launch failure"));
  EXPECT_EQ(notes_.epochs.size(), 1U);
  Resume("run", {{"node.devices", "cpu"}});
  ASSERT_EQ(notes_.epochs.size(), 2U);
  EXPECT_EQ(notes_.epochs[0].epoch, 2);
  EXPECT_EQ(notes_.ends.size(), 1U);
}

TEST_F(LostDeviceTest, RanksOfOneProcessEndTogether) {
  EXPECT_THAT(TrainUntil(12, {{"node.devices", "cuda:0"}, {"cluster.replicas", "2"}}),
              HasSubstr("cuda:0 failed: unspecified launch failure"));
  Resume("run", {{"node.devices", "cpu"}});
  EXPECT_EQ(notes_.ends.size(), 1U);
}

}  // namespace yoke::lost_device_test
