// Served: a worker's side of a server, as a strategy. Families of strategies are made of it.
#pragma once

#include <optional>

#include "strategy/server.h"

namespace yoke {

/// Options that a server takes: servers, rate_scale, slow_start, scale_by_staleness, but for racing
/// ones staleness_bound, and those of compression.
std::vector<OptionSpec> ServerOptions(bool racing);
/// `workers`: of the communicator in which one serves.
ServerSettings ReadServerOptions(const Options& options, const StrategyContext& context,
                                 int workers, bool racing = false);
/// StrategyEntry::servers, by the option of that name.
int ServersOf(const Options& options, int world);
/// What the entries of strategies have in common where every rank but a server's own pushes.
StrategyEntry ServedEntry(bool racing);
/// A gradient to the server and values back, for each of so many that push.
Cost CostOfServed(const Options& options, int workers, int64_t bytes);

/// Every rank of context.world is a worker, but for rank 0 where that only serves: it takes its
/// gradient at the values that it was sent last and pushes it; the next View waits for the answer.
/// From Quiesce to rank 0's next call (of View, Idle, Quiesce or Finish) the server is at rest, and
/// its values and state may be read there: the others' next View waits for that call. Rank 0's
/// values are the server's then.
class Served : public Strategy {
 public:
  Served(const StrategyContext& context, const ServerSettings& settings)
      : context_(context),
        settings_(settings),
        exchanged_(context.params.layout(), settings.head_slice),
        compressor_(settings.compression, exchanged_.dense()) {}
  ~Served() override;

  void Prepare() override { server_.emplace(context_, settings_); }
  ParamView View(const StrategyStep& step) override;
  void Step(const StrategyStep& step) override;
  void Idle() override;
  void Quiesce() override;
  /// The server's values.
  const float* Model() override;
  ExchangeCounts Counts() const override;
  /// What compression has kept back of this worker's gradients.
  std::vector<KeptTensor> Tensors() override;
  void Finish() override;
  /// The server's values, or those that it sent last.
  Rescued Recover() override;

 private:
  enum class Values { kOld, kAskedFor, kHere };

  void Ask(const RequestHead& head);
  void TakeAnswer();
  void Leave(Request what);
  void Open();
  bool works() const { return context_.world.rank() >= settings_.servers; }

  StrategyContext context_;
  ServerSettings settings_;
  Exchanged exchanged_;
  Compressor compressor_;
  std::optional<Server> server_;
  std::vector<std::byte> message_;
  int64_t version_ = 0;  // of the values here
  Values values_ = Values::kOld;
  bool at_rest_ = false;
  ExchangeCounts counts_;  // of the server when it was last at rest; traffic: once it has ended
};

}  // namespace yoke
