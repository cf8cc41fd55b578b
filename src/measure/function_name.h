// FunctionName: what the function at an address is called, also one that no library exports.
#pragma once

#include <string>

namespace yoke {

/// Without arguments and namespaces, such as "HashTables::Build"; "?" where the file has no names.
/// The function that the compiler made of a parallel region has the name of the one around it.
std::string FunctionName(const void* function);

}  // namespace yoke
