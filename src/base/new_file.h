// New files beside others, under names that nobody can have prepared.
#pragma once

#include <string>
#include <string_view>

namespace yoke {

/// `path`, a dot, 16 random hexadecimal digits and ".new": where a file that is to replace `path`
/// is written.
std::string NameBeside(const std::string& path);

/// The name from which NameBeside has made `name`; "" if it has not.
std::string_view OriginOf(std::string_view name);

/// Whether `path` is a symbolic link, wherever it points.
bool IsLink(const std::string& path);

}  // namespace yoke
