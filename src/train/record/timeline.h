// Timeline file: the picture of a simulated run's time line, in timeline.json of its directory.
#pragma once

#include <optional>
#include <string>

#include "comm/simulated/timeline.h"

namespace yoke {

/// The names in the file, by Activity.
inline constexpr ByActivity<const char*> kActivityNames = {"computing", "waiting", "sending"};

/// Throws Error with the file if it cannot be written.
void WriteTimeline(const std::string& run, const TimelinePicture& picture);

/// The text of the file; nothing if there is none, or it is damaged.
std::optional<std::string> ReadTimeline(const std::string& run);
/// Nothing if the text is damaged.
std::optional<TimelinePicture> ParseTimeline(const std::string& text);

}  // namespace yoke
