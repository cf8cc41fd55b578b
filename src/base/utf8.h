// UTF-8: whether a text from outside is one, and a form of it that fits a line of a message.
#pragma once

#include <string>
#include <string_view>

namespace yoke {

/// Whether `text` is well-formed UTF-8 (RFC 3629): what JSON can hold.
bool IsUtf8(std::string_view text);

/// `text` on one line: control characters and bytes that are no UTF-8 are written as \x0A.
std::string OneLine(std::string_view text);

}  // namespace yoke
