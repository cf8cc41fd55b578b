// FiberWatch without a sanitizer: nothing.
#include "base/fiber.h"

namespace yoke {

void FiberWatch::BeforeResume(std::span<std::byte> /*stack*/) {}
void FiberWatch::AfterResume() {}
void FiberWatch::BeforeSuspend(bool /*ends*/) {}
void FiberWatch::AfterSuspend() {}
void FiberWatch::Ended(std::span<std::byte> /*stack*/) {}

}  // namespace yoke
