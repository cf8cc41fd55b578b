"""The smallest part of each kind, named idle: what tools/parts_check.py adds to a copy of the tree.

PARTS: kind -> path -> the text of a new file, or (place, text) pairs for one that is there: `text` goes in front of `place`, which
occurs once; at the file's end if `place` is empty.
"""


def line_of(list_path, macro):
    """The last entry of a .def list."""
    return {list_path: [("", f"YOKE_{macro}(idle)\n")]}


def source(includes, summary, body, entry, of, make, more=""):
    """A part of a list: the class Idle in `body`, and its entry."""
    return f"""// Idle: {summary}.
{"".join(f'#include "{header}"' + chr(10) for header in includes)}
namespace yoke::{of} {{
namespace {{

{body.strip()}

}}  // namespace

{entry}Entry idle() {{
  return {{.name = "idle",
          .summary = "{summary}",
          .options = {{}},{more}
          .make = [](const Options& /*options*/{make}) -> std::unique_ptr<{entry}> {{
            return std::make_unique<Idle>({"context" if "context" in make else ""});
          }}}};
}}

}}  // namespace yoke::{of}
"""


def test(folder_include, body):
    return f"""// The part idle: it is known by its name.
#include <gtest/gtest.h>

#include "{folder_include}"

namespace yoke::idle_test {{

{body.strip()}

}}  // namespace yoke::idle_test
"""


LAYER = source(["model/layer.h"], "passes its input on", """
class IdlePlan : public LayerPlan {
 public:
  explicit IdlePlan(const PlanRequest& request) {
    output = request.input;
    output_is_input = true;
    reads_input = reads_output = false;
    kernel = "none";
  }
  void Forward(const LayerCall& /*call*/) override {}
  void Backward(const LayerCall& /*call*/) override {}
};

class Idle : public Layer {
 public:
  explicit Idle(const LayerContext& context) : shape_(context.input.shape) {}
  Edge Output() const override { return {.shape = shape_}; }
  Cost Price(int64_t /*batch*/) const override { return {}; }
  std::unique_ptr<LayerPlan> Plan(const PlanRequest& request) const override {
    return std::make_unique<IdlePlan>(request);
  }

 private:
  Shape shape_;
};
""", "Layer", "layer", ", const LayerContext& context")

STRATEGY = source(["strategy/strategy.h"], "exchanges and updates nothing", """
class Idle : public Strategy {
 public:
  explicit Idle(const StrategyContext& context) : context_(context) {}
  ParamView View(const StrategyStep& /*step*/) override {
    return context_.params.View(&context_.gradients);
  }
  void Step(const StrategyStep& /*step*/) override {}
  Array<const float> Model() override { return context_.params.values(); }

 private:
  StrategyContext context_;
};
""", "Strategy", "strategy", ", const StrategyContext& context", """
          .estimate = [](const Options&, const ExchangeSize&) { return Cost{}; },""")

EXECUTOR = source(["node/executor.h", "node/plans.h"], "gives gradients of zero", """
class Idle : public Executor {
 public:
  StepResult Step(const Batch& /*batch*/, const ParamView& params,
                  const ExecutorStep& step) override {
    return StepOfNothing(params, step.ready);
  }
};
""", "Executor", "executor", ", const ExecutorContext& /*environment*/")

RULE = source(["optim/rule.h"], "leaves the values alone", """
class Idle : public UpdateRule {
 public:
  const char* name() const override { return "idle"; }
  std::vector<std::string> StateNames() const override { return {}; }
  void Update(const UpdateSpan& /*span*/, const UpdateStep& /*step*/) const override {}
};
""", "Rule", "rule", "").replace("unique_ptr<Rule>", "unique_ptr<UpdateRule>")

FORMAT = """// Idle: two examples of one zero each.
#include "data/memory_reader.h"

namespace yoke {
namespace {

LoadedData LoadIdle(const Options& /*options*/, const ReadFiles& files) {
  LoadedData data(files.memory_limit);
  data.info.input = {1};
  data.info.outputs = 2;
  data.info.label_names = {"0", "1"};
  for (MemoryData* set : {&data.train, &data.test})
    for (set->size = 0; set->size < 2; ++set->size) {
      set->floats.push_back(0);
      set->classes.push_back(static_cast<int32_t>(set->size));
    }
  return data;
}

}  // namespace

FormatEntry idle_format() {
  return {.name = "idle", .summary = "two examples of zeros", .synthetic = true, .load = LoadIdle};
}

}  // namespace yoke
"""

WORLD_HEADER = """// A world of one rank, whose messages go nowhere.
#pragma once

#include "comm/communicator.h"

namespace yoke {

/// Runs body(world) in the calling thread.
void RunIdle(const std::function<void(const Communicator&)>& body);

}  // namespace yoke
"""
WORLD = """// A world of one rank, whose messages go nowhere.
#include "comm/idle.h"

#include "comm/mailbox.h"
#include "comm/spawned.h"

namespace yoke {
namespace {

class IdleTransport : public RealTransport<IdleTransport> {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  double timeout() const override { return 0; }
  void Send(int /*to*/, uint64_t /*context*/, int /*tag*/,
            std::span<const std::byte> /*bytes*/) override {}
  Message Receive(const MessageKey& key, const char* operation) override {
    throw Error(TimeoutSentence(*this, key, operation));
  }
  bool TryReceive(const MessageKey& /*key*/, double /*seconds*/, Message& /*message*/) override {
    return false;
  }
  void GiveUp() {}
  template <typename Work>
  void Guard(const Work& work) {
    work();
  }
};

}  // namespace

void RunIdle(const std::function<void(const Communicator&)>& body) {
  body(Communicator(std::make_shared<IdleTransport>()));
}

}  // namespace yoke
"""
RUN_THREADS = "  RunThreads(threads, body);"

DEVICE = """// A device with memory and copies, without kernels.
#include <cstring>

#include "tensor/devices.h"

namespace yoke {
namespace {

class IdleStream : public Stream {
 public:
  void Copy(void* to, const void* from, int64_t bytes) override { std::memmove(to, from, bytes); }
  void Clear(void* memory, int64_t bytes) override { std::memset(memory, 0, bytes); }
  void Wait() override {}
  bool WaitFor(double) override { return true; }
  void Record(std::shared_ptr<Event>& event) override { CpuStream().Record(event); }
  void Await(std::shared_ptr<Event> event) override { event->Wait(); }
};

class IdleDevice : public Device {
 public:
  const std::string& name() const override { return name_; }
  void* Allocate(int64_t bytes) override { return Cpu().Allocate(bytes); }
  void Free(void* memory, int64_t bytes) override { Cpu().Free(memory, bytes); }
  std::unique_ptr<Stream> NewStream() override { return std::make_unique<IdleStream>(); }

 private:
  std::string name_ = "idle";
};

}  // namespace

namespace device {

DeviceEntry idle() {
  return {.name = "idle",
          .summary = "Does nothing",
          .chosen_by_all = false,
          .usable = [] { return std::vector{0}; },
          .make = [](int, const DeviceSettings&) -> std::shared_ptr<Device> {
            return std::make_shared<IdleDevice>();
          }};
}

}  // namespace device

}  // namespace yoke
"""
PAGE = "# idle\n\nDoes nothing.\n"

PARTS = {
    "layer": {
        "src/model/layers/idle.cc": LAYER, **line_of("src/model/layers.def", "LAYER"), "docs/layers/idle.md": PAGE + "It has no counterpart in ONNX.\n",
        "tests/model/layers_conformance_test.cc": [('      {.type = "linear", .options = "outputs = 5",', '      {.type = "idle", .input = {7}},\n')]},
    "strategy": {
        "src/strategy/idle.cc": STRATEGY, **line_of("src/strategy/strategies.def", "STRATEGY"), "docs/strategies/idle.md": PAGE,
        "tests/strategy/idle_test.cc": test("strategy/support/lab.h", """
TEST(Idle, LeavesTheValuesAlone) {
  RunThreads({.ranks = 2}, [](const Communicator& world) {
    test::Lab lab(world, {.strategy = "idle", .gradient = test::PullToRank});
    const std::vector<float> before = lab.Values();
    lab.Step();
    EXPECT_EQ(lab.Values(), before);
  });
}""")},
    "executor": {
        "src/node/executors/idle.cc": EXECUTOR, **line_of("src/node/executors.def", "EXECUTOR"), "docs/executors/idle.md": PAGE,
        "tests/node/idle_test.cc": test("node/support/job.h", """
TEST(Idle, LeavesTheValuesAlone) {
  testing_support::Job job({.model = "mlp", .executor = "idle"});
  const std::vector<float> before = job.Values();
  job.Step(testing_support::DrawnBatch(8, 0));
  EXPECT_EQ(job.Values(), before);
}""")},
    "rule": {
        "src/optim/rules/idle.cc": RULE, **line_of("src/optim/rules.def", "RULE"), "docs/rules/idle.md": PAGE,
        "tests/optim/rules_conformance_test.cc": [('      {"sgd", [](Number& x', '      {"idle", [](Number&, double, double, int) {}},\n'),
                                                  ('{"sgd", 0}', '{"idle", 0}, ')]},
    "format": {
        "src/data/formats/idle.cc": FORMAT, **line_of("src/data/formats.def", "FORMAT"), "docs/formats/idle.md": PAGE,
        "tests/data/formats/idle_test.cc": test("data/memory_reader.h", """
TEST(Idle, HasTwoExamples) {
  for (const FormatEntry& format : formats())
    if (format.name == "idle") EXPECT_EQ(format.load({}, {}).train.size, 2);
}""")},
    "communicator": {
        "src/comm/idle.h": WORLD_HEADER, "src/comm/idle.cc": WORLD,
        "src/train/trainer.cc": [('#include "comm/launcher.h"', '#include "comm/idle.h"\n'),
                                 (RUN_THREADS, "  if (threads.ranks == 1) {\n    RunIdle(body);\n    return end;\n  }\n")],
        "tests/comm/support/worlds.cc": [
            ('#include "comm/launcher.h"', '#include "comm/idle.h"\n'),
            ('          {"simulated",', '          {"idle",\n           [](int ranks, double /*timeout*/, const WorldBody& body) {\n'
             '             if (ranks == 1) RunIdle(body);\n             return ranks == 1;\n           }},\n')],
        "docs/communicators.md": [("| `simulated` |", "| `idle` | one | the clock's | `RunIdle` |\n")]},
    "device": {
        "src/tensor/devices/idle.cc": DEVICE, **line_of("src/tensor/devices.def", "DEVICE"), "docs/devices/idle.md": PAGE,
        "tests/tensor/idle_test.cc": test("tensor/devices.h", """
TEST(IdleDevice, IsKnownByItsName) {
  EXPECT_EQ(Devices({"idle"}, "node.devices").names(), std::vector<std::string>{"idle"});
}""")},
}
