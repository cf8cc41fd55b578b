// CapturedWork: a step's work, enqueued once and launched again and again as a whole.
#pragma once

#include <cstdint>
#include <memory>

namespace yoke {

class CapturedWork {
 public:
  virtual ~CapturedWork() = default;
  /// Enqueues all of it on the stream that it was captured from. Addresses and numbers are those of
  /// the capture; the memory's contents are those at that time.
  virtual void Launch() = 0;
  virtual int64_t nodes() const = 0;  ///< Kernels, copies and the like.
};

/// A stream whose work can be captured.
class CapturingStream {
 public:
  virtual ~CapturingStream() = default;
  /// From now on work is listed and does not run. Until the end nothing may wait for the stream, no
  /// memory of the device may be taken or freed, and pageable memory may not be copied; awaited
  /// events are those recorded since.
  virtual void BeginCapture() = 0;
  /// Throws Error if the capture broke a rule.
  virtual std::unique_ptr<CapturedWork> EndCapture() = 0;
  /// Ends a capture that failed; its work is gone.
  virtual void AbandonCapture() = 0;
};

}  // namespace yoke
