// UTF-8: checks of texts from outside, and their forms for a line of a message.
#pragma once

#include <string>
#include <string_view>

namespace yoke {

/// Whether `text` is well-formed UTF-8 (RFC 3629), as JSON requires.
bool IsUtf8(std::string_view text);

/// The name of the encoding of text that is UTF-16 or UTF-32 ("UTF-16", "UTF-32"), recognized by a
/// byte order mark or leading ASCII; "" for other text.
std::string_view WideEncoding(std::string_view text);

/// Whether `text` is UTF-8 without control characters, as required for names.
bool IsPlain(std::string_view text);

/// `text` as one line of a message: control characters and bytes that are not UTF-8 are written as
/// \x0A. Shortens words of more than 400 bytes, and text of more than 4,000, in the middle.
std::string OneLine(std::string_view text);

/// A name in at most `width` bytes, with its middle replaced by "..".
std::string Shortened(const std::string& name, size_t width);

}  // namespace yoke
