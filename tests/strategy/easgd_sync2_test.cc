// easgd_sync2: the bits of easgd_sync1, and nothing that crosses between a device and its host.
#include <gtest/gtest.h>

#include <atomic>

#include "strategy/support/lab.h"
#include "strategy/support/worlds.h"
#include "tensor/emulated.h"

namespace yoke::easgd_sync2_test {

using test::Lab;

class EasgdSync2 : public testing::TestWithParam<test::WorldKind> {};
INSTANTIATE_TEST_SUITE_P(Worlds, EasgdSync2, test::Worlds(),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(EasgdSync2, HasTheBitsOfTheFirst) {
  for (int ranks : {2, 3, 5})
    GetParam().run(ranks, [](const Communicator& world) {
      const auto lab = [&world](const char* strategy) {
        return Lab(world, {.strategy = strategy,
                           .options = {{"period", 2}},
                           .rule = "momentum",
                           .gradient = test::PullToRank});
      };
      Lab first = lab("easgd_sync1"), second = lab("easgd_sync2");
      for (int step = 0; step < 6; ++step) {
        first.Step();
        second.Step();
        ASSERT_EQ(first.Values(), second.Values()) << "step " << step;
        ASSERT_EQ(first.Model(), second.Model()) << "step " << step;
      }
    });
}

/// An emulated device that counts the bytes of its copies to and from the host.
class CountingDevice : public Device {
 public:
  const std::string& name() const override { return inner_->name(); }
  void* Allocate(int64_t bytes) override { return inner_->Allocate(bytes); }
  void Free(void* memory, int64_t bytes) override { inner_->Free(memory, bytes); }
  std::unique_ptr<Stream> NewStream() override {
    return std::make_unique<Counting>(inner_->NewStream(), *this);
  }
  std::atomic<int64_t> copied = 0;

 private:
  class Counting : public Stream {
   public:
    Counting(std::unique_ptr<Stream> inner, CountingDevice& device)
        : inner_(std::move(inner)), device_(device) {}
    void Copy(void* to, const void* from, int64_t bytes) override {
      if (!IsHere(to) || !IsHere(from)) device_.copied += bytes;
      inner_->Copy(to, from, bytes);
    }
    void Clear(void* memory, int64_t bytes) override { inner_->Clear(memory, bytes); }
    void Wait() override { inner_->Wait(); }
    bool WaitFor(double seconds) override { return inner_->WaitFor(seconds); }
    void Record(std::shared_ptr<Event>& event) override { inner_->Record(event); }
    void Await(std::shared_ptr<Event> event) override { inner_->Await(std::move(event)); }
    WorkQueue* work_queue() override { return inner_->work_queue(); }

   private:
    bool IsHere(const void* address) { return work_queue()->Reach(address) != address; }
    std::unique_ptr<Stream> inner_;
    CountingDevice& device_;
  };

  std::unique_ptr<Device> inner_ = NewEmulatedDevice(0, {});
};

/// Values, gradient and state on a device, which a step moves by a gradient of ones.
struct OnDevice {
  OnDevice(const Communicator& world, const char* name, bool everywhere, Device& device)
      : params(Layout(), device), gradients(params.layout(), device), rule(Rule()) {
    Copy(params.values(), OnHost(std::span<const float>(Drawn(params.layout().size()))));
    state.emplace(params.layout(), *rule, device);
    const StrategyEntry& entry = FindEntry(strategies(), "strategy", name);
    const Options options("cluster", Table{{"centre_everywhere", everywhere}}, entry.options);
    strategy = entry.make(options, {.world = world.Duplicate(),
                                    .params = params,
                                    .gradients = gradients,
                                    .rule = *rule,
                                    .state = *state});
    strategy->Prepare();
  }
  ~OnDevice() { params.values().device->stream().Wait(); }  // its memory goes
  void Step(int64_t number) {
    const StrategyStep step = {.step = number, .learning_rate = 0.1, .examples = 1};
    strategy->View(step);
    strategy->Step(step);
  }
  std::vector<float> Model() {
    strategy->Quiesce();
    HostCopy copy;
    const std::span<const float> model = copy.Read(strategy->Model());
    return {model.begin(), model.end()};
  }
  static ParamLayout Layout() {
    ParamLayout layout;
    layout.Add({.name = "w", .shape = {1000}});
    layout.Pack();
    return layout;
  }
  static std::vector<float> Drawn(int64_t count) {
    std::vector<float> values(static_cast<size_t>(count));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7);
    return values;
  }
  static std::unique_ptr<UpdateRule> Rule() {
    const RuleEntry& entry = FindEntry(rules(), "rule", "sgd");
    return entry.make(Options("train", {}, entry.options));
  }

  ParamStore params;
  Gradients gradients;
  std::unique_ptr<UpdateRule> rule;
  std::optional<RuleState> state;
  std::unique_ptr<Strategy> strategy;
};

struct Moved {
  double per_step = 0;  ///< Bytes between host and device, by an exchange of a rank other than 0.
  std::vector<float> model;
};

Moved AfterSteps(const char* name, bool everywhere) {
  constexpr int kSteps = 5;
  Moved moved;
  RunThreads({.ranks = 3}, [&](const Communicator& world) {
    CountingDevice device;
    OnDevice replica(world, name, everywhere, device);
    const int64_t before = device.copied;
    for (int step = 0; step < kSteps; ++step) replica.Step(step);
    if (world.rank() == 1) moved.per_step = static_cast<double>(device.copied - before) / kSteps;
    world.Barrier();
    const std::vector<float> model = replica.Model();
    if (world.rank() == 0) moved.model = model;
    replica.strategy->Finish();
  });
  return moved;
}

// The batch is the executor's to move: of an exchange nothing else crosses but in easgd_sync1,
// whose W_i goes to the host and whose force comes back.
TEST(EasgdSync2OnADevice, MovesNothingBetweenHostAndDevice) {
  const double model = 4.0 * static_cast<double>(OnDevice::Layout().size());
  for (const bool everywhere : {false, true}) {
    const Moved first = AfterSteps("easgd_sync1", everywhere);
    EXPECT_EQ(first.per_step, 2 * model);
    for (const char* name : {"easgd_sync2", "easgd_sync3"}) {
      const Moved later = AfterSteps(name, everywhere);
      EXPECT_EQ(later.per_step, 0) << name;
      EXPECT_EQ(later.model, first.model) << name;
    }
  }
}

}  // namespace yoke::easgd_sync2_test
