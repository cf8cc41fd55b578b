// OwnEntries: a list of parts that programs can add parts of their own to.
#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"

namespace yoke {

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
