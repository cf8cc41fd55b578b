// UTF-8: checks of texts from outside, and their forms for a line of a message.
#pragma once

#include <string>
#include <string_view>

namespace yoke {

/// Whether `text` is well-formed UTF-8 (RFC 3629): what JSON can hold.
bool IsUtf8(std::string_view text);

/// What a text in another encoding of Unicode is called ("UTF-16", "UTF-32"), by its first
/// characters, which a mark or ASCII begins; "" for any other text.
std::string_view WideEncoding(std::string_view text);

/// Whether `text` is UTF-8 without control characters: what a name may be.
bool IsPlain(std::string_view text);

/// `text` as one line of a message: control characters and bytes that are not UTF-8 are written as
/// \x0A. A word of more than 400 bytes and a text of more than 4,000 lose their middle.
std::string OneLine(std::string_view text);

/// A name in at most `width` bytes: ".." replaces its middle.
std::string Shortened(const std::string& name, size_t width);

}  // namespace yoke
