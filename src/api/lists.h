// Lists: the parts that a job can name, and every key that it can set.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/options.h"
#include "base/value.h"

namespace yoke {

/// A part or a key.
struct ListedItem {
  std::string name;
  std::string summary;
  OptionSpec form =
      {};              ///< The option that chooses between its forms; without choices: it has one.
  Table details = {};  ///< More for programs.
};

/// A kind of list.
struct ListedKind {
  std::string name;
  std::string summary;
  std::function<std::vector<ListedItem>()> items;
};

/// Layers, models, formats, ..., and the kinds themselves.
const std::vector<ListedKind>& ListedKinds();

/// An item for programs: name and summary; for a part with several forms also these and what
/// differs.
Table ToTable(const ListedItem& item);

}  // namespace yoke
