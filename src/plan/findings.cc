// Findings: written as TOML.
#include "plan/findings.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace yoke {
namespace {

/// Rate, momentum and schedule of the decided job, as far as they were open.
Overrides TunedKeys(const Findings& found, const Job& job) {
  const Setting setting = SettingOf(job);
  Overrides keys;
  const bool planned = found.plan && std::ranges::any_of(found.plan->keys, [](const Override& key) {
                         return key.key == "train.learning_rate";
                       });
  if (planned)  // and maybe lowered since
    keys = KeysOf(setting);
  else if (!found.tried.empty())
    keys = KeysOf(found.tunes_momentum ? setting : Setting{.rate = setting.rate});
  if (found.chose_schedule) keys.push_back(CosineSchedule());
  return keys;
}

Table TriedTable(const TriedSetting& one) {
  Table table = {{"learning_rate", Value(one.setting.rate)}};
  if (one.setting.momentum) table.emplace_back("momentum", Value(*one.setting.momentum));
  if (std::isfinite(one.loss))
    table.emplace_back("loss", Value(one.loss));
  else
    table.emplace_back("diverged", Value(true));
  if (one.steps > 0) table.emplace_back("steps", Value(one.steps));
  return table;
}

Value TriedList(const std::vector<TriedSetting>& tried) {
  List list;
  for (const TriedSetting& one : tried) list.emplace_back(TriedTable(one));
  return Value(std::move(list));
}

}  // namespace

Override CosineSchedule() { return PlanKey("train.schedule", R"({ name = "cosine" })"); }

std::string Findings::Text(const Job& decided) const {
  if (!plan && tried.empty()) return "";
  const Overrides tuned = TunedKeys(*this, decided);
  std::string text = "# Written by: yoke train\n";
  Table root;
  if (plan) {
    Plan whole = *plan;
    whole.keys.insert(whole.keys.end(), tuned.begin(), tuned.end());
    text = FormatPlan(whole, "yoke train");
  } else {
    root.emplace_back("use", UseTable(tuned));
  }
  if (!tried.empty()) root.emplace_back("tried", TriedList(tried));
  return text + FormatToml(Value(std::move(root)));
}

}  // namespace yoke
