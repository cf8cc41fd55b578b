// Schedule: builds a job's schedule by name, with an optional warm-up before it.
#include "optim/schedule.h"

#include <algorithm>
#include <utility>

#include "base/registry.h"

namespace yoke {
namespace {

/// factor = start + (1 - start) * epoch / warmup during the warm-up; then the named schedule,
/// whose epochs count from the warm-up's end or, if it names epochs, from the start.
class WarmUp : public Schedule {
 public:
  WarmUp(double epochs, double start, std::unique_ptr<Schedule> course, bool from_start)
      : epochs_(epochs), start_(start), course_(std::move(course)), from_start_(from_start) {}

  double Factor(const Progress& progress) const override {
    if (progress.epoch < epochs_) return start_ + (1 - start_) * progress.epoch / epochs_;
    if (from_start_) return course_->Factor(progress);
    return course_->Factor(
        {.epoch = progress.epoch - epochs_, .epochs = std::max(progress.epochs - epochs_, 0.0)});
  }

 private:
  double epochs_;
  double start_;
  std::unique_ptr<Schedule> course_;
  bool from_start_;
};

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
  std::unique_ptr<Schedule> course = entry.make(options);
  const double warmup = options.Float("warmup_epochs");
  if (warmup == 0) return course;
  return std::make_unique<WarmUp>(warmup, options.Float("warmup_start"), std::move(course),
                                  entry.counts_from_start);
}

}  // namespace yoke
