// Form: whether a method that we changed runs as its paper has it.
#pragma once

#include "base/options.h"

namespace yoke {

/// The option `form` of a method that has two: "paper", as published, and `other`. `help` says
/// what differs.
inline OptionSpec FormOption(const char* other, bool paper_by_default, const char* help) {
  return {.name = "form",
          .type = OptionType::kString,
          .fallback = paper_by_default ? "paper" : other,
          .help = help,
          .choices = {"paper", other}};
}
inline bool IsPaperForm(const Options& options) { return options.String("form") == "paper"; }

}  // namespace yoke
