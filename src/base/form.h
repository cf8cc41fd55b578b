// Form: whether a method that we changed runs as its paper has it.
#pragma once

#include <string>
#include <utility>

#include "base/options.h"

namespace yoke {

/// The option `form` of a method that has two: "paper", as published, and `other`. `help` says what
/// differs.
inline OptionSpec FormOption(const std::string& fallback, const std::string& other,
                             std::string help) {
  return {.name = "form",
          .type = OptionType::kString,
          .fallback = fallback,
          .help = std::move(help),
          .choices = {"paper", other}};
}
inline bool IsPaperForm(const Options& options) { return options.String("form") == "paper"; }

}  // namespace yoke
