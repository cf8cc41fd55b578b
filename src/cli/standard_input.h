// StandardInput: the file `-` of a command line as a path that can be opened and read again.
#pragma once

#include <string>

namespace yoke {

/// Copies standard input to a temporary file without a name, unless it is a file from its
/// beginning.
class StandardInput {
 public:
  /// Throws UserError if it is closed or endless, Error without disk space.
  StandardInput();
  StandardInput(const StandardInput&) = delete;
  StandardInput& operator=(const StandardInput&) = delete;
  ~StandardInput();

  /// Valid while this object lives.
  const std::string& path() const { return path_; }
  /// A text in which the path stands for what it is.
  std::string Named(std::string text) const;

 private:
  void Copy() const;

  int file_ = -1;  // the copy
  std::string path_;
};

}  // namespace yoke
