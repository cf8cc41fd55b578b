// Strategies that are classes of Python. Their code runs on a thread of each rank (RankThread).
#include "strategy/strategy.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <memory>
#include <optional>

#include "base/check.h"
#include "module.h"
#include "rank_thread.h"
#include "strategy/add_strategy.h"
#include "strategy/replicas.h"
#include "strategy/update.h"
#include "values.h"

namespace nb = nanobind;
using namespace nb::literals;  // NOLINT(google-build-using-namespace)

namespace yoke::python {
namespace {

using Floats = nb::ndarray<float, nb::c_contig, nb::device::cpu>;

std::span<float> SpanOf(const Floats& array) { return {array.data(), array.size()}; }
std::span<std::byte> BytesOf(const Floats& array) { return std::as_writable_bytes(SpanOf(array)); }

/// One rank's replica, for Python: parameters, the rule's update, and messages to other ranks.
class Replica {
 public:
  Replica(const StrategyContext& context, RankThread& thread)
      : context_(context), thread_(thread), update_(context) {}

  const StrategyContext& context() const { return context_; }
  const Update& counted() const { return update_; }

  /// One step of the rule with the gradient times `scale`.
  void Apply(double scale) {
    Check(step_, "update outside of step()");
    Ask([&] { update_.Step(*step_, scale); });
    if (step_->examples > 0) update_.Count(step_->examples);
  }
  void SetStep(const StrategyStep* step) { step_ = step; }

  void AllReduce(const Floats& values) const {
    Ask([&] { context_.world.AllReduce(SpanOf(values)); });
  }
  void Reduce(const Floats& values, int root) const {
    Ask([&] { context_.world.Reduce(SpanOf(values), Rank(root)); });
  }
  void Broadcast(const Floats& values, int root) const {
    Ask([&] { context_.world.Broadcast(BytesOf(values), Rank(root)); });
  }
  void Send(const Floats& values, int to, int tag) const {
    RequireTag(tag);
    Ask([&] { context_.world.Send(BytesOf(values), Rank(to), tag); });
  }
  int Receive(const Floats& into, int from, int tag) const {
    RequireTag(tag);
    int source = 0;
    Ask([&] {
      source = context_.world.Receive(BytesOf(into), from == kAnySource ? from : Rank(from), tag);
    });
    return source;
  }
  void Barrier() const {
    Ask([&] { context_.world.Barrier(); });
  }
  double Now() const { return context_.world.Now(); }
  /// Seconds of computation that a simulation counts.
  void Charge(double operations, double bytes) const {
    Ask([&] { context_.world.Charge({.operations = operations, .bytes = bytes}); });
  }

  /// The packed values, or the dense gradients, as an array that keeps `owner`.
  static nb::object View(Array<float> array, const nb::handle& owner) {
    const size_t count = static_cast<size_t>(array.count);
    return nb::cast(
        nb::ndarray<nb::numpy, float>(array.Host().data(), 1, &count, nb::handle(owner)));
  }

 private:
  void Ask(const std::function<void()>& call) const { thread_.Ask(call); }
  int Rank(int rank) const {
    Require(rank >= 0 && rank < context_.world.size(), "there is no rank {}: the ranks are 0 to {}",
            rank, context_.world.size() - 1);
    return rank;
  }
  static void RequireTag(int tag) { Require(tag >= 0, "tag: expected at least 0, got {}", tag); }

  StrategyContext context_;
  RankThread& thread_;
  Update update_;
  const StrategyStep* step_ = nullptr;
};

/// Where the classes are: `strategies`, a dict by name, and `make(replica)`.
nb::module_ Classes() { return nb::module_::import_("yoke._strategy"); }

class PythonStrategy : public Strategy {
 public:
  PythonStrategy(const Options& options, const StrategyContext& context)
      : context_(context), replica_(std::make_unique<Replica>(context, thread_)) {
    Require(!context.params.layout().HasRows(),
            "{} = \"{}\": strategies of Python train dense layers, and this model has a sparse one",
            options.Where("strategy"), options.String("strategy"));
    thread_.Run([&] {
      const nb::object replica = nb::cast(replica_.get(), nb::rv_policy::reference);
      own_ =
          Classes().attr("make")(options.String("strategy"), replica, ToPython(options.Resolved()));
    });
  }
  ~PythonStrategy() override {
    const nb::gil_scoped_acquire acquire;
    own_.reset();
  }
  PythonStrategy(const PythonStrategy&) = delete;
  PythonStrategy& operator=(const PythonStrategy&) = delete;

  void Prepare() override { Call("prepare"); }

  ParamView View(const StrategyStep& step) override {
    ParamView view = context_.params.View(&context_.gradients);
    bool copied = false;
    thread_.Run([&] { copied = CopyInto(own_.attr("view")(Facts(step)), view_); });
    if (copied) view.values = view.writable = AllOf<float>(view_);
    return view;
  }

  void Step(const StrategyStep& step) override {
    replica_->SetStep(&step);
    thread_.Run([&] { own_.attr("step")(Facts(step)); });
    replica_->SetStep(nullptr);
    context_.params.Publish();
  }

  void Quiesce() override { Call("quiesce"); }

  Array<const float> Model() override {
    bool copied = false;
    thread_.Run([&] { copied = CopyInto(own_.attr("model")(), model_); });
    if (copied) return AllOf<float>(model_);
    return strategy::MeanOfReplicas(context_.world, context_.params, model_);
  }

  ExchangeCounts Counts() const override {
    ExchangeCounts counts = replica_->counted().counts();
    counts.traffic = context_.world.traffic();
    counts.seconds_waiting = counts.traffic.seconds_waited;
    return counts;
  }

  Value State() const override {
    Value state;
    thread_.Run([&] { state = FromPython(own_.attr("state")(), "the state of the strategy"); });
    return state;
  }
  void Restore(const Value& state) override {
    thread_.Run([&] { own_.attr("restore")(ToPython(state)); });
  }

  void Finish() override { Call("finish"); }

 private:
  void Call(const char* name) {
    thread_.Run([&] { own_.attr(name)(); });
  }

  static nb::object Facts(const StrategyStep& step) {
    return Classes().attr("Step")(step.step, step.learning_rate, step.examples, step.last);
  }

  /// Copies an array of all values, unless it is None.
  bool CopyInto(const nb::object& given, Buffer& to) const {
    if (given.is_none()) return false;
    const Array<const float> like = context_.params.values();
    const auto array = nb::cast<Floats>(given);
    Require(static_cast<int64_t>(array.size()) == like.count,
            "the strategy gave {} values; expected {}, as many as `values` has", array.size(),
            like.count);
    if (to.bytes() == 0) to = BufferLike(like);
    std::memcpy(AllOf<float>(to).Host().data(), array.data(), array.size() * sizeof(float));
    return true;
  }

  StrategyContext context_;
  mutable RankThread thread_;
  std::unique_ptr<Replica> replica_;
  nb::object own_;
  Buffer view_, model_;
};

Cost Estimate(const Options& /*options*/, const ExchangeSize& size) {
  return size.world == 1 ? Cost{} : CostOfAllReduce(size.bytes, size.world);
}

OptionSpec OptionOf(const std::string& name, const nb::handle& fallback) {
  OptionSpec spec{.name = name, .fallback = FromPython(fallback, "the option " + name)};
  if (nb::isinstance<nb::bool_>(fallback))
    spec.type = OptionType::kBool;
  else if (nb::isinstance<nb::int_>(fallback))
    spec.type = OptionType::kInt;
  else if (nb::isinstance<nb::float_>(fallback))
    spec.type = OptionType::kFloat;
  else
    Require(nb::isinstance<nb::str>(fallback),
            "the option {}: expected a bool, int, float or text as its default", name);
  return spec;
}

/// `replicas_differ`, `deterministic`: as in StrategyEntry.
void Register(const std::string& name, const std::string& summary, const nb::dict& options,
              bool replicas_differ, bool deterministic) {
  StrategyEntry entry = {.name = name,
                         .summary = summary,
                         .deterministic = deterministic,
                         .replicas_differ = replicas_differ,
                         .rule_alone = false,
                         .whole_layers = true,
                         .estimate = Estimate,
                         .make = [](const Options& chosen,
                                    const StrategyContext& context) -> std::unique_ptr<Strategy> {
                           return std::make_unique<PythonStrategy>(chosen, context);
                         }};
  for (const auto& [key, fallback] : options)
    entry.options.push_back(OptionOf(nb::cast<std::string>(key), fallback));
  AddStrategy(std::move(entry));
}

}  // namespace

void AddStrategies(nb::module_& module) {
  nb::class_<Replica>(module, "Replica", "One rank's replica, for its strategy.")
      .def_prop_ro("rank", [](const Replica& self) { return self.context().world.rank(); })
      .def_prop_ro("size", [](const Replica& self) { return self.context().world.size(); })
      .def_prop_ro("seed", [](const Replica& self) { return self.context().seed; })
      .def_prop_ro("values",
                   [](const nb::object& self) {
                     return Replica::View(nb::cast<Replica&>(self).context().params.values(), self);
                   })
      .def_prop_ro("gradient",
                   [](const nb::object& self) {
                     return Replica::View(nb::cast<Replica&>(self).context().gradients.dense(),
                                          self);
                   })
      .def_prop_ro("slices",
                   [](const Replica& self) {
                     nb::list slices;
                     for (const Slice& slice : self.context().params.layout().slices())
                       slices.append(nb::make_tuple(slice.name, slice.offset,
                                                    std::vector<int64_t>(slice.shape.axes().begin(),
                                                                         slice.shape.axes().end()),
                                                    slice.kind == SliceKind::kDense));
                     return slices;
                   })
      .def("update", &Replica::Apply, "scale"_a)
      .def("all_reduce", &Replica::AllReduce, "values"_a.noconvert())
      .def("reduce", &Replica::Reduce, "values"_a.noconvert(), "root"_a)
      .def("broadcast", &Replica::Broadcast, "values"_a.noconvert(), "root"_a)
      .def("send", &Replica::Send, "values"_a.noconvert(), "to"_a, "tag"_a)
      .def("receive", &Replica::Receive, "into"_a.noconvert(), "source"_a, "tag"_a)
      .def("barrier", &Replica::Barrier)
      .def("now", &Replica::Now)
      .def("charge", &Replica::Charge, "operations"_a, "bytes"_a);
  module.def("register_strategy", Register, "name"_a, "summary"_a, "options"_a, "replicas_differ"_a,
             "deterministic"_a);
}

}  // namespace yoke::python
