// Lanes: a timeline as inline SVG, a lane for each rank.
#pragma once

#include <string>

#include "comm/simulated/timeline.h"

namespace yoke {

/// An <svg> element; "" if the window is empty. Its hatching is defined by LanesKey, once per page.
std::string DrawLanes(const std::string& title, const TimelinePicture& picture);

/// The legend as a list.
std::string LanesKey(bool sends);

}  // namespace yoke
