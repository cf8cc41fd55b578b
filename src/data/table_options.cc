// The keys of [data] that all tables have: which columns are what, and what texts become.
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "data/table_file.h"
#include "data/word_column.h"

namespace yoke {

std::vector<OptionSpec> TableOptions() {
  std::vector<OptionSpec> options = {
      {.name = "label",
       .type = OptionType::kColumns,
       .fallback = -1,
       .help = "Column of the class or target, by its name or number; numbers count from 0, "
               "negative ones from the end (-1: the last). A list: the targets of a "
               "regression, or the labels, of 0 and 1, of task `multi_label`.",
       .minimum = -kMostCount,
       .maximum = kMostCount},
      {.name = "task",
       .fallback = "auto",
       .help = "What labels are: classes, the target of a regression, or sets of labels. auto: "
               "texts are classes, and so are whole numbers of at most 100 kinds; decimals are "
               "targets.",
       .choices = {"auto", "classes", "regression", "multi_label"}},
      {.name = "label_delimiter",
       .fallback = ";",
       .help = "The character between the labels of a cell, of task `multi_label`."},
      {.name = "columns",
       .type = OptionType::kColumns,
       .help = "The columns to learn from; by default all others."},
      {.name = "drop", .type = OptionType::kColumns, .help = "Columns to leave out."},
      {.name = "categories",
       .type = OptionType::kColumns,
       .help = "Columns whose numbers or dates are categories, as texts are."},
      {.name = "weight",
       .type = OptionType::kColumns,
       .help = "Column that says how much an example counts in training; the mean counts 1."},
      {.name = "category_encoding",
       .fallback = "one_hot",
       .help = "What categories become: one_hot, a feature of 0 and 1 each; embedding, a vector "
               "that is learned, which the model's first layer looks up.",
       .choices = {"one_hot", "embedding"}},
      {.name = "text",
       .type = OptionType::kColumns,
       .help = "Columns of free text, whose words become sparse features."}};
  options.insert(options.end(), WordOptions().begin(), WordOptions().end());
  return options;
}

std::vector<std::string> NotesOfStart(const Options& options, const std::vector<OptionSpec>& keys) {
  constexpr std::string_view kOther[] = {"label", "task", "label_delimiter", "weight"};
  std::vector<std::string> set;
  for (const OptionSpec& key : keys)
    if (std::ranges::find(kOther, key.name) == std::end(kOther) && options.Has(key.name) &&
        options.Raw(key.name) != key.fallback)
      set.push_back("data." + key.name);
  if (set.empty()) return {};
  return {fmt::format("{}: no effect, as the features are those of the model to start from",
                      fmt::join(set, ", "))};
}

}  // namespace yoke
