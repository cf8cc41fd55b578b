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

/// Nothing if there is no such file, or it is damaged.
std::optional<TimelinePicture> ReadTimeline(const std::string& run);

}  // namespace yoke
