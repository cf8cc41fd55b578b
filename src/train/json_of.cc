// JsonOf: one recursion over lists and tables.
#include "train/json_of.h"

#include <nlohmann/json.hpp>

namespace yoke {

nlohmann::ordered_json JsonOf(const Value& value) {
  using Json = nlohmann::ordered_json;
  if (value.AsBool()) return *value.AsBool();
  if (value.AsInt()) return *value.AsInt();
  if (value.AsFloat()) return *value.AsFloat();
  if (value.AsString()) return *value.AsString();
  if (const List* list = value.AsList()) {
    Json json = Json::array();
    for (const Value& item : *list) json.push_back(JsonOf(item));
    return json;
  }
  if (!value.AsTable()) return nullptr;
  Json json = Json::object();
  for (const auto& [key, item] : *value.AsTable()) json[key] = JsonOf(item);
  return json;
}

}  // namespace yoke
