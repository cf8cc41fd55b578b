// LongWaitNote: compares the longest wait with the job's timeout.
#include "train/long_wait_note.h"

#include <fmt/core.h>

namespace yoke {

std::string LongWaitNote(const Timeline* timeline, const Job& job) {
  const double timeout = job.cluster.Float("timeout");
  if (!timeline || timeline->longest_wait() <= timeout) return "";
  return fmt::format(
      "a rank waited {:.4g} virtual seconds for another: on real nodes set cluster.timeout, now "
      "{:.4g} s, above that",
      timeline->longest_wait(), timeout);
}

}  // namespace yoke
