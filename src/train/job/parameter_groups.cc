// ParameterGroups: patterns are matched as file names are in a shell.
#include "train/job/parts.h"

#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>

#include "base/check.h"
#include "train/job/keys.h"

namespace yoke {
namespace {

bool Trains(const Slice& slice) { return slice.kind != SliceKind::kBuffer; }

std::vector<std::string> NamesOf(const ParamLayout& layout) {
  std::vector<std::string> names;
  for (const Slice& slice : layout.slices())
    if (Trains(slice)) names.push_back(slice.name);
  return names;
}

/// Sets what the parameters that match a pattern have of their own.
class Groups {
 public:
  explicit Groups(const ParamLayout& layout) : layout_(layout), settings_(layout.slices().size()) {}

  template <typename Change>
  void Set(const Options& options, const char* key, const Change& change) {
    for (const std::string& pattern : options.Strings(key))
      Require(SetMatching([&](const Slice& slice) { return Matches(pattern, slice); }, change),
              "{}: '{}' matches no parameter; the model has {}", options.Where(key), pattern,
              fmt::join(NamesOf(layout_), ", "));
  }

  template <typename Matching, typename Change>
  bool SetMatching(const Matching& matching, const Change& change) {
    bool any = false;
    for (size_t i = 0; i < settings_.size(); ++i) {
      const Slice& slice = layout_.slices()[i];
      if (!Trains(slice) || !matching(slice)) continue;
      change(settings_[i]);
      any = true;
    }
    return any;
  }

  bool AllFrozen() const {
    for (size_t i = 0; i < settings_.size(); ++i)
      if (Trains(layout_.slices()[i]) && !settings_[i].frozen()) return false;
    return true;
  }

  std::vector<SliceSettings> Take() { return std::move(settings_); }

 private:
  static bool Matches(const std::string& pattern, const Slice& slice) {
    return fnmatch(pattern.c_str(), slice.name.c_str(), 0) == 0;
  }

  const ParamLayout& layout_;
  std::vector<SliceSettings> settings_;
};

void RequireDecay(const Job& job) {
  const Value* decay = job.resolved.Find("train")->Find("weight_decay");
  Require(decay && decay->AsNumber().value_or(0) > 0,
          "{} has no effect: rule {} has no weight_decay here", job.train.Where("no_decay"),
          job.train.String("rule"));
}

void SetNoDecay(const Job& job, Groups& groups) {
  if (!job.train.Has("no_decay")) return;
  RequireDecay(job);
  const auto change = [](SliceSettings& settings) { settings.decay = 0; };
  if (job.train.Strings("no_decay") != std::vector<std::string>{"vectors"})
    return groups.Set(job.train, "no_decay", change);
  groups.SetMatching([](const Slice& slice) { return slice.shape.rank() == 1; }, change);
}

void SetGroups(const Job& job, Groups& groups) {
  if (!job.train.Has("groups")) return;
  const List& tables = *job.train.Raw("groups").AsList();
  for (size_t i = 0; i < tables.size(); ++i) {
    const Options group(fmt::format("train.groups[{}]", i), tables[i], group_keys());
    groups.Set(group, "parameters", [&](SliceSettings& settings) {
      settings = {.rate = group.Float("rate"), .decay = group.Float("decay")};
    });
  }
}

}  // namespace

std::vector<SliceSettings> SliceSettingsOf(const Job& job, const ParamLayout& layout) {
  const auto has = [&](const char* key) { return job.train.Has(key); };
  if (!has("freeze") && !has("no_decay") && !has("groups")) return {};
  Groups groups(layout);
  SetGroups(job, groups);
  SetNoDecay(job, groups);
  if (has("freeze"))
    groups.Set(job.train, "freeze", [](SliceSettings& settings) { settings.rate = 0; });
  Require(!groups.AllFrozen(), "{}: all parameters are frozen, and nothing is left to train",
          job.train.Where(has("freeze") ? "freeze" : "groups"));
  return groups.Take();
}

}  // namespace yoke
