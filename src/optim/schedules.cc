// The schedules: each is a factor on the learning rate. With p the fraction of training that is
// over:
//   constant    1
//   step        factor^floor(epoch / every_epochs)
//   multi_step  factor^(number of at_epochs reached)
//   cosine      end + (1 - end) (1 + cos(pi p)) / 2: Loshchilov and Hutter, "SGDR: Stochastic
//               Gradient Descent with Warm Restarts" (2017), without restarts
//   plateau     max(end, factor^plateaus): PyTorch's ReduceLROnPlateau
//   polynomial  end + (1 - end) (1 - p)^power: linear with power 1; Caffe's "poly" has end = 0
#include "optim/schedules.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "base/check.h"
#include "base/registry.h"

namespace yoke {
namespace {

/// Fraction of the schedule that is over, in [0, 1].
double Done(const Progress& progress) {
  return progress.epochs > 0 ? std::clamp(progress.epoch / progress.epochs, 0.0, 1.0) : 1.0;
}

RateFactor Constant(const Options& /*options*/) {
  return [](const Progress&) { return 1.0; };
}

RateFactor Step(const Options& options) {
  return [every = options.Float("every_epochs"),
          factor = options.Float("factor")](const Progress& progress) {
    return std::pow(factor, std::floor(progress.epoch / every));
  };
}

RateFactor MultiStep(const Options& options) {
  const std::vector<double> at = options.Floats("at_epochs");
  for (double epoch : at)
    Require(epoch > 0, "{}: every epoch must be above 0", options.Where("at_epochs"));
  return [at, factor = options.Float("factor")](const Progress& progress) {
    double product = 1;
    for (double epoch : at)
      if (progress.epoch >= epoch) product *= factor;
    return product;
  };
}

RateFactor Cosine(const Options& options) {
  return [end = options.Float("end")](const Progress& progress) {
    return end + (1 - end) * (1 + std::cos(std::numbers::pi * Done(progress))) / 2;
  };
}

RateFactor Polynomial(const Options& options) {
  return [power = options.Float("power"), end = options.Float("end")](const Progress& progress) {
    return end + (1 - end) * std::pow(1 - Done(progress), power);
  };
}

RateFactor Plateau(const Options& options) {
  return [factor = options.Float("factor"), end = options.Float("end")](const Progress& progress) {
    return std::max(end, std::pow(factor, static_cast<double>(progress.plateaus)));
  };
}

/// During the warm-up start + (1 - start) * epoch / warmup; then the schedule `after`, whose epochs
/// count from the warm-up's end or, if it names epochs, from the start.
RateFactor WarmUp(double warmup, double start, RateFactor after, bool from_start) {
  return [=](const Progress& progress) {
    if (progress.epoch < warmup) return start + (1 - start) * progress.epoch / warmup;
    if (from_start) return after(progress);
    return after({.epoch = progress.epoch - warmup,
                  .epochs = std::max(progress.epochs - warmup, 0.0),
                  .plateaus = progress.plateaus});
  };
}

OptionSpec EndOption() {
  return {.name = "end",
          .type = OptionType::kFloat,
          .fallback = 0.0,
          .help = "Fraction of the learning rate that is left at the end.",
          .minimum = 0,
          .maximum = 1};
}

OptionSpec FactorOption() {
  return {.name = "factor",
          .type = OptionType::kFloat,
          .fallback = 0.1,
          .help = "Factor on the rate at each drop.",
          .minimum = 0,
          .exclusive_minimum = true};
}

std::string NameIn(const Value& table) {
  const Value* name = table.Find("name");
  if (!name) return "constant";
  Require(name->AsString(), "{}: train.schedule.name must be a string in quotes", name->place());
  return *name->AsString();
}

/// The entry that the table names; an error begins with its place.
const ScheduleEntry& Chosen(const Value& table) {
  const std::string wanted = NameIn(table);
  try {
    return FindEntry(schedules(), "schedule", wanted);
  } catch (const UserError& unknown) {
    const Value* name = table.Find("name");
    if (!name || name->place().empty()) throw;
    throw UserError(fmt::format("{}: train.schedule.name: {}", name->place(), unknown.what()));
  }
}

}  // namespace

const std::vector<ScheduleEntry>& schedules() {
  static const std::vector<ScheduleEntry> entries = {
      {.name = "constant", .summary = "The rate does not change", .options = {}, .make = Constant},
      {.name = "step",
       .summary = "The rate drops by a factor at regular intervals",
       .options = {{.name = "every_epochs",
                    .type = OptionType::kFloat,
                    .fallback = {},
                    .help = "Epochs between two drops.",
                    .minimum = 0,
                    .exclusive_minimum = true,
                    .required = true},
                   FactorOption()},
       .make = Step,
       .counts_from_start = true},
      {.name = "multi_step",
       .summary = "The rate drops by a factor at each of the given epochs",
       .options = {{.name = "at_epochs",
                    .type = OptionType::kFloats,
                    .fallback = {},
                    .help = "The epochs at which the rate drops, in any order.",
                    .required = true},
                   FactorOption()},
       .make = MultiStep,
       .counts_from_start = true},
      {.name = "cosine",
       .summary = "The rate falls along half a cosine until the last epoch",
       .options = {EndOption()},
       .make = Cosine},
      {.name = "polynomial",
       .summary = "The rate falls with a power of the remaining fraction of training (1: linearly)",
       .options = {{.name = "power",
                    .type = OptionType::kFloat,
                    .fallback = 1.0,
                    .help = "The exponent.",
                    .minimum = 0,
                    .exclusive_minimum = true},
                   EndOption()},
       .make = Polynomial},
      {.name = "plateau",
       .summary = "The rate drops by a factor each time a metric has not improved for a while",
       .options = {{.name = "patience",
                    .type = OptionType::kInt,
                    .fallback = 2,
                    .help = "Evaluations in a row without a better value before a drop.",
                    .minimum = 1,
                    .maximum = kMostCount},
                   {.name = "metric",
                    .type = OptionType::kString,
                    .fallback = "loss",
                    .help = "The metric that is to improve, measured as for train.target."},
                   FactorOption(),
                   EndOption()},
       .make = Plateau}};
  return entries;
}

const std::vector<OptionSpec>& common_schedule_options() {
  static const std::vector<OptionSpec> specs = {
      {.name = "name",
       .type = OptionType::kString,
       .fallback = "constant",
       .help = "How the learning rate changes over the epochs."},
      {.name = "warmup_epochs",
       .type = OptionType::kFloat,
       .fallback = 0.0,
       .help = "Epochs, possibly fractional, over which the rate first rises linearly.",
       .minimum = 0},
      {.name = "warmup_start",
       .type = OptionType::kFloat,
       .fallback = 0.1,
       .help = "Fraction of the learning rate at which the warm-up starts.",
       .minimum = 0,
       .maximum = 1}};
  return specs;
}

std::unique_ptr<Schedule> MakeSchedule(const Value& table) {
  const ScheduleEntry& entry = Chosen(table);
  std::vector<OptionSpec> specs = common_schedule_options();
  specs.insert(specs.end(), entry.options.begin(), entry.options.end());
  const Options options("train.schedule", table, specs);
  RateFactor factor = entry.make(options);
  if (const double warmup = options.Float("warmup_epochs"); warmup > 0)
    factor =
        WarmUp(warmup, options.Float("warmup_start"), std::move(factor), entry.counts_from_start);
  return std::make_unique<Schedule>(std::move(factor));
}

}  // namespace yoke
