// The estimates of hogwild, hogbatch and adaptive_hogbatch: rates, or the rule followed in time.
#include "node/hogbatch.h"

#include <algorithm>

namespace yoke {
namespace {

/// The seconds of an update by a worker.
class UpdateSeconds {
 public:
  explicit UpdateSeconds(const EstimateRequest& request) : request_(request) {
    const bool cpu = std::ranges::count(request.devices, "cpu") > 0;
    threads_ = cpu ? request.Workers() : 1;
  }
  int Workers(size_t device) const { return OnCpu(device) ? threads_ : 1; }
  bool OnCpu(size_t device) const { return request_.devices[device] == "cpu"; }
  double operator()(size_t device, int64_t batch) const {
    const WorkPlace thread = {.examples = batch, .threads = threads_};
    if (!OnCpu(device)) {
      Cost on_host = request_.update;
      on_host += CostOfStaging(request_.graph.layout());
      return request_.PassSeconds(request_.devices[device], batch) +
             request_.Seconds(on_host, thread);
    }
    Cost cost = request_.graph.Price(batch);
    cost += request_.update;
    return request_.Seconds(cost, thread);
  }

 private:
  const EstimateRequest& request_;
  int threads_ = 1;
};

/// A CPU thread or a device, and its work in hand.
struct Worker {
  size_t device = 0;
  int64_t batch = 0, batches = 0;
  double ends = 0, seconds_a_batch = 0;
  int64_t next = 0;  ///< A device asks for its next batch when it begins one.
};

/// Workers in virtual time, without their arithmetic.
class Round {
 public:
  Round(const BatchSizes::Settings& settings, bool measure_least, bool paper_form,
        const EstimateRequest& request)
      : request_(request),
        paper_form_(paper_form),
        seconds_(request),
        sizes_(settings),
        done_(request.devices.size()) {
    for (const bool on_cpu : {false, true})
      for (size_t d = 0; d < request.devices.size(); ++d)
        for (int i = 0; seconds_.OnCpu(d) == on_cpu && i < seconds_.Workers(d); ++i)
          Start({.device = d}, measure_least && !on_cpu);
  }

  /// The estimate from the means over `examples`.
  ExecutorEstimate Run(int64_t examples) {
    constexpr int kMostPieces = 100'000;
    int64_t all = 0;
    double now = 0;
    for (int piece = 0; piece < kMostPieces && all < examples; ++piece) {
      Worker& worker = *std::ranges::min_element(workers_, {}, &Worker::ends);
      now = worker.ends;
      all += Finish(worker);
      Begin(worker, now);
    }
    ExecutorEstimate estimate{.seconds_per_example = now / double(all)};
    for (size_t d = 0; d < done_.size(); ++d)
      estimate.devices.push_back(
          {.name = request_.devices[d],
           .updates_per_second = done_[d].updates / now,
           .examples_per_update = done_[d].updates > 0 ? done_[d].examples / done_[d].updates : 0,
           .busy = std::min(1.0, done_[d].busy / now)});
    return estimate;
  }

 private:
  struct Done {
    double updates = 0, examples = 0, busy = 0;
  };

  void Start(Worker worker, bool measures) {
    double now = 0;
    if (measures) {
      const int64_t most = sizes_.most(worker.device);
      const int64_t least = LeastBatch(most, [&](int64_t size) {
        const double seconds = request_.PassSeconds(request_.devices[worker.device], size);
        now += seconds;
        return seconds;
      });
      sizes_.SetLeast(worker.device, least);
    }
    worker.next = sizes_.of(worker.device);
    Begin(worker, now);
    workers_.push_back(worker);
  }

  void Begin(Worker& worker, double now) {
    const size_t d = worker.device;
    if (seconds_.OnCpu(d)) {
      worker.batch = sizes_.Ask(d);
      worker.batches = paper_form_ ? 1 : BatchesPerRequest(worker.seconds_a_batch);
    } else {
      worker.batch = paper_form_ ? sizes_.Ask(d) : worker.next;
      worker.batches = 1;
      if (!paper_form_) worker.next = sizes_.Ask(d);
    }
    worker.seconds_a_batch = seconds_(d, worker.batch);
    worker.ends = now + double(worker.batches) * worker.seconds_a_batch;
  }

  /// Returns the examples that are done.
  int64_t Finish(const Worker& worker) {
    Done& done = done_[worker.device];
    const int64_t examples = worker.batch * worker.batches;
    done.updates += double(worker.batches);
    done.examples += double(examples);
    done.busy += double(worker.batches) * worker.seconds_a_batch / seconds_.Workers(worker.device);
    sizes_.Updated(worker.device, worker.batches);
    return examples;
  }

  const EstimateRequest& request_;
  bool paper_form_;
  UpdateSeconds seconds_;
  BatchSizes sizes_;
  std::vector<Done> done_;  ///< By device.
  std::vector<Worker> workers_;
};

}  // namespace

ExecutorEstimate EstimateHogbatch(const BatchSizes::Settings& sizes,
                                  const EstimateRequest& request) {
  const UpdateSeconds seconds(request);
  ExecutorEstimate estimate;
  double examples_per_second = 0;
  for (size_t d = 0; d < request.devices.size(); ++d) {
    const int64_t batch = BatchSizes(sizes).of(d);
    const double updates = seconds.Workers(d) / seconds(d, batch);
    estimate.devices.push_back({.name = request.devices[d],
                                .updates_per_second = updates,
                                .examples_per_update = double(batch),
                                .busy = 1});
    examples_per_second += updates * double(batch);
  }
  estimate.seconds_per_example = 1 / examples_per_second;
  return estimate;
}

ExecutorEstimate EstimateAdaptiveHogbatch(const BatchSizes::Settings& sizes, bool measure_least,
                                          bool paper_form, const EstimateRequest& request) {
  return Round(sizes, measure_least, paper_form, request).Run(request.epoch);
}

}  // namespace yoke
