// Served: a strategy that is the client of a server. Families of strategies are made of it.
#pragma once

#include <functional>
#include <optional>

#include "strategy/server.h"

namespace yoke {

/// The options of a server: form, servers, rate_scale, slow_start, scale_by_staleness,
/// predict_weights, staleness_bound (except for racing ones), and those of compression.
std::vector<OptionSpec> ServerOptions(bool racing, const char* form_help);
/// The highest rate at which no model that was tried was worse off for late gradients: what P of
/// them move the model by is at most 0.3 (docs/strategies/async_sgd.md, Rates). 0: not known.
double SteadyRate(const UpdateRule& rule, int workers);
/// Whether a strategy has these options.
bool HasServerOptions(const StrategyEntry& strategy);
/// The part of a learning rate with which the server takes each gradient where so many push: with
/// scale_by_staleness of one that is as late as there are others.
double EffectiveRateScale(const Options& options, const UpdateRule& rule, double learning_rate,
                          int pushers);
/// Whether a strategy with these options answers with predicted values, where several push.
bool PredictsWeights(const Options& options);
/// `workers`: the workers in the server's communicator.
ServerSettings ReadServerOptions(const Options& options, const StrategyContext& context,
                                 int workers, bool racing = false);
/// StrategyEntry::servers from the option of that name.
int ServersOf(const Options& options, int world);
/// Cost of a gradient to the server and the values back, for this many pushing workers.
Cost CostOfServed(const Options& options, int workers, int64_t bytes);

/// Every rank of context.world is a worker, except rank 0 if it only serves. A worker computes its
/// gradient at the values that it received last and pushes it; the next View waits for the answer.
/// From Quiesce until rank 0's next call (of View, Idle, Quiesce or Finish) the server is at rest,
/// and rank 0 may read its values and state; the other ranks' next View waits for that call. Rank
/// 0's values are then the server's.
class Served : public Strategy {
 public:
  Served(const StrategyContext& context, const ServerSettings& settings)
      : context_(context),
        settings_(settings),
        exchanged_(context.params.layout(), settings.head_slice, settings.cuts),
        compressor_(settings.compression, exchanged_.dense()),
        to_push_(exchanged_.dense()) {}
  ~Served() override;

  void Prepare() override { server_.emplace(context_, settings_); }
  ParamView View(const StrategyStep& step) override;
  /// View in the parts of the values: `arrived(part)` is called when one is there, also where no
  /// answer is due.
  void Fetch(const StrategyStep& step, const std::function<void(int part)>& arrived);
  /// Before Step, on a thread with this communicator: sends the gradient's dense elements from
  /// `begin` to those sent before. Without compression alone.
  void PushAhead(const Communicator& thread, int64_t begin);
  void Step(const StrategyStep& step) override;
  void Idle() override;
  void Quiesce() override;
  /// The server's values.
  Array<const float> Model() override;
  ExchangeCounts Counts() const override;
  /// The compression error of this worker's gradients.
  std::vector<SavedTensor> Tensors() override;
  void Finish() override;
  /// The server's values, or the last ones received from it.
  Rescued Recover() override;

 private:
  enum class Values { kOld, kAskedFor, kHere };

  void Ask(const RequestHeader& header);
  void Push(const RequestHeader& header);
  void TakePart(int part);
  void SkipAnswer();
  void Leave(Request what);
  void Open();
  void ChargeDeviceCopy(int64_t elements);
  bool works() const { return context_.world.rank() >= settings_.servers; }

  StrategyContext context_;
  ServerSettings settings_;
  Exchanged exchanged_;
  Compressor compressor_;
  std::optional<Server> server_;
  std::vector<std::byte> message_;
  int64_t to_push_;                    // dense elements that PushAhead has left
  std::optional<Communicator> ahead_;  // PushAhead's
  TrafficMirror ahead_traffic_;
  int64_t version_ = 0;  // of the local values
  Values values_ = Values::kOld;
  bool at_rest_ = false;
  double seconds_copying_ = 0;  // between host and device, on the training thread
  ExchangeCounts counts_;       // of the server when it was last at rest; traffic after its end
};

}  // namespace yoke
