// Registry: the list of parts of a kind (layers, rules, formats, ...), in which a part is found by
// its name, and to which programs can add parts of their own.
#pragma once

#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/options.h"

namespace yoke {

/// Finds an entry by its `name`, or throws UserError with the known names and the nearest one.
/// `kind` names the entries in the message ("layer").
template <typename Entry>
const Entry& FindEntry(const std::vector<Entry>& entries, std::string_view kind,
                       std::string_view name) {
  std::vector<std::string> known;
  for (const Entry& entry : entries) {
    if (entry.name == name) return entry;
    known.push_back(entry.name);
  }
  throw UserError(UnknownName(kind, name, known));
}

/// A list of parts that programs can add parts of their own to.
template <typename Entry>
class OwnEntries {
 public:
  /// `kind` names the entries in messages ("strategy").
  OwnEntries(std::string kind, std::vector<Entry> ours)
      : kind_(std::move(kind)), entries_(std::move(ours)), ours_(entries_.size()) {
    entries_.reserve(ours_ + kMostOwn);  // entries keep their places
  }

  const std::vector<Entry>& all() const { return entries_; }

  /// Appends an entry, or replaces a program's own entry of that name. To be called while nothing
  /// reads the list or uses the entry. Throws UserError for a name of ours, for none, and for more
  /// than kMostOwn entries.
  void Add(Entry entry) {
    const std::lock_guard lock(mutex_);
    Require(!entry.name.empty(), "a {} of one's own needs a name", kind_);
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (entries_[i].name != entry.name) continue;
      Require(i >= ours_, "{} '{}' is one of yoke's: choose another name", kind_, entry.name);
      entries_[i] = std::move(entry);
      return;
    }
    Require(entries_.size() < ours_ + kMostOwn,
            "there are {} parts of the kind {} besides ours already", kMostOwn, kind_);
    entries_.push_back(std::move(entry));
  }

 private:
  static constexpr size_t kMostOwn = 256;

  std::mutex mutex_;
  std::string kind_;
  std::vector<Entry> entries_;
  size_t ours_;
};

}  // namespace yoke
