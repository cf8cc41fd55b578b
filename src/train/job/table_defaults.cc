// The defaults were chosen on the tables of bench/tables.py.
#include "train/job/table_defaults.h"

#include <string>
#include <tuple>

#include "data/reader.h"

namespace yoke {
namespace {

void SetMissing(Value& section, const char* key, Value value) {
  if (!section.Find(key)) section.Set(key, std::move(value));
}

bool HasAny(const Value& section, std::initializer_list<const char*> keys) {
  for (const char* key : keys)
    if (section.Find(key)) return true;
  return false;
}

/// What the job's own keys look at, or the loss.
std::string WatchedMetric(const Value& root) {
  for (const auto& [section, key, option] : {std::tuple("checkpoint", "best", ""),
                                             {"train", "early_stopping", "metric"},
                                             {"train", "schedule", "metric"}}) {
    const Value* found = root.Find(section);
    if (found) found = found->Find(key);
    if (found && *option) found = found->Find(option);
    if (found && found->AsString()) return *found->AsString();
  }
  return "loss";
}

}  // namespace

void AddTableDefaults(Value& root) {
  const Value* given = root.Find("data");
  if (root.Find("model") || !given || !given->AsTable()) return;
  if (!IsOfKind(*given, FormatKind::kTable)) return;
  if (root.Find("train") && !root.Find("train")->AsTable()) return;
  // Of words there are many features, so that a wide first layer would make large checkpoints.
  root.Set("model",
           Table{{"name", "mlp"}, {"widths", given->Find("text") ? List{32} : List{128, 64}}});
  if (!root.Find("train")) root.Set("train", Table{});
  Value &train = *root.Find("train"), &data = *root.Find("data");
  const std::string metric = WatchedMetric(root);
  const bool has_rate = HasAny(train, {"rule", "learning_rate"});
  const bool has_length = HasAny(train, {"epochs", "target", "early_stopping"});
  if (!has_rate) {
    train.Set("rule", "adamw");
    train.Set("learning_rate", 0.003);
    SetMissing(train, "weight_decay", 0.3);
    SetMissing(train, "schedule",
               Table{{"name", "plateau"}, {"patience", 4}, {"factor", 0.3}, {"metric", metric}});
  }
  if (!has_length) {
    train.Set("epochs", 200);
    train.Set("early_stopping", Table{{"patience", 12}, {"metric", metric}});
  }
  if ((!has_rate || !has_length) && !HasAny(data, {"validation", "validation_share"}))
    data.Set("validation_share", 0.1);
}

}  // namespace yoke
