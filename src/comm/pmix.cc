// PMIx: calls one function of the PMIx standard, which fixes its types and numbers for all
// versions.
#include "comm/pmix.h"

#include <dlfcn.h>

#include <cstddef>

namespace yoke {
namespace {

constexpr const char* kLibrary = "libpmix.so.2";
constexpr int kLostConnection = -61;   // PMIX_ERR_LOST_CONNECTION
constexpr int kActionComplete = -334;  // PMIX_EVENT_ACTION_COMPLETE: no other handler runs

using Told = void (*)(int status, void* results, size_t count, void* done, void* context,
                      void* event);
using Handler = void (*)(size_t handler, int status, const void* source, void* info, size_t count,
                         void* results, size_t result_count, Told told, void* event);
/// PMIx_Register_event_handler.
using Register = int (*)(int* codes, size_t code_count, void* info, size_t info_count,
                         Handler handler, void* registered, void* context);

// NOLINTNEXTLINE(readability-function-size): the standard's parameters
void LiveOn(size_t /*handler*/, int /*status*/, const void* /*source*/, void* /*info*/,
            size_t /*count*/, void* /*results*/, size_t /*result_count*/, Told told, void* event) {
  if (told) told(kActionComplete, nullptr, 0, nullptr, nullptr, event);
}

}  // namespace

void OutliveLauncher() {
  void* library = dlopen(kLibrary, RTLD_LAZY | RTLD_NOLOAD);
  if (!library) return;
  if (void* function = dlsym(library, "PMIx_Register_event_handler")) {
    int code = kLostConnection;
    reinterpret_cast<Register>(function)(&code, 1, nullptr, 0, LiveOn, nullptr, nullptr);
  }
}

}  // namespace yoke
