// Values: one case a kind.
#include "values.h"

#include <nanobind/stl/string.h>

#include "base/check.h"

namespace nb = nanobind;

namespace yoke::python {
namespace {

Value TableFrom(nb::handle dict, const std::string& where) {
  Value table = Table();
  for (const auto& [key, item] : nb::borrow<nb::dict>(dict)) {
    Require(nb::isinstance<nb::str>(key), "{}: expected keys that are strings", where);
    const auto name = nb::cast<std::string>(key);
    if (!item.is_none()) table.Set(name, FromPython(item, where + "." + name));
  }
  return table;
}

Value ListFrom(nb::handle items, const std::string& where) {
  List list;
  for (const nb::handle item : items) list.push_back(FromPython(item, where));
  return list;
}

nb::object DictOf(const Table& table) {
  nb::dict dict;
  for (const auto& [key, value] : table) dict[key.c_str()] = ToPython(value);
  return dict;
}

nb::object ListOf(const List& items) {
  nb::list list;
  for (const Value& item : items) list.append(ToPython(item));
  return list;
}

}  // namespace

Value FromPython(nb::handle object, const std::string& where) {
  if (nb::isinstance<nb::dict>(object)) return TableFrom(object, where);
  if (nb::isinstance<nb::str>(object)) return nb::cast<std::string>(object);
  if (nb::isinstance<nb::bool_>(object)) return nb::cast<bool>(object);
  if (nb::isinstance<nb::int_>(object)) return nb::cast<int64_t>(object);
  if (nb::isinstance<nb::float_>(object)) return nb::cast<double>(object);
  if (nb::isinstance<nb::list>(object) || nb::isinstance<nb::tuple>(object))
    return ListFrom(object, where);
  if (nb::hasattr(object, "__fspath__"))
    return nb::cast<std::string>(nb::str(object.attr("__fspath__")()));
  if (nb::hasattr(object, "tolist")) return FromPython(object.attr("tolist")(), where);
  throw UserError(fmt::format("{}: expected a plain value, a list or a dict, got {}", where,
                              nb::cast<std::string>(nb::repr(object.type()))));
}

nb::object ToPython(const Value& value) {
  if (const bool* truth = value.AsBool()) return nb::cast(*truth);
  if (const int64_t* whole = value.AsInt()) return nb::cast(*whole);
  if (const double* number = value.AsFloat()) return nb::cast(*number);
  if (const std::string* text = value.AsString()) return nb::cast(*text);
  if (const List* list = value.AsList()) return ListOf(*list);
  if (const Table* table = value.AsTable()) return DictOf(*table);
  return nb::none();
}

}  // namespace yoke::python
