// xmc-binary: extreme classification data as arrays in a file that is mapped, not read. A
// compressed file is unpacked into memory. Checks are passes without branches.
#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "data/xmc.h"
#include "data/xmc_binary.h"

namespace yoke {
namespace {

// The whole file, mapped if it is a plain one.
SharedBytes WholeFile(ByteSource& source, int64_t memory_limit) {
  if (const std::string path = source.PlainPath(); !path.empty()) return MapFile(path);
  auto bytes = std::make_shared<GrowingArray<char>>(memory_limit);
  for (std::string_view piece; !(piece = source.Next()).empty();) bytes->Append(piece);
  return {{bytes->data(), static_cast<size_t>(bytes->size())}, bytes};
}

// Rows in a file, their name in messages, and the limit of their ids.
struct Rows {
  std::span<const int64_t> offsets;
  std::span<const int32_t> ids;
  std::span<const float> values;  // for features only
  const char* what;               // "feature"
  int64_t limit;
};

int64_t Descents(std::span<const int64_t> values) {
  int64_t count = 0;
  for (size_t i = 1; i < values.size(); ++i) count += values[i] < values[i - 1];
  return count;
}

bool AllBelow(std::span<const int32_t> ids, int64_t limit) {
  uint32_t largest = 0;
  for (const int32_t id : ids) largest = std::max(largest, static_cast<uint32_t>(id));
  return ids.empty() || largest < limit;
}

// Whether ids ascend within each row: counts descents, and subtracts those between rows.
bool AllAscend(const Rows& rows) {
  int64_t falls = 0;
  for (size_t i = 1; i < rows.ids.size(); ++i) falls += rows.ids[i] <= rows.ids[i - 1];
  for (size_t r = 1; r + 1 < rows.offsets.size(); ++r) {
    const auto begin = static_cast<size_t>(rows.offsets[r]);
    if (rows.offsets[r] == rows.offsets[r + 1] || begin == 0) continue;
    falls -= rows.ids[begin] <= rows.ids[begin - 1];
  }
  return falls == 0;
}

bool AllFinite(std::span<const float> values) {
  constexpr uint32_t kExponent = 0x7F800000;
  int64_t bad = 0;
  for (const float value : values) bad += (std::bit_cast<uint32_t>(value) & kExponent) == kExponent;
  return bad == 0;
}

class XmcBinaryFile {
 public:
  XmcBinaryFile(const std::string& name, SharedBytes file) : name_(name), file_(std::move(file)) {
    CheckHeader();
    const XmcBinaryPlaces places = PlacesOf(header_);
    const auto size = static_cast<int64_t>(file_.bytes.size());
    Require(size >= places.end, "{}: the file ends at byte {}; its header declares {} bytes", name_,
            size, places.end);
    Require(size == places.end, "{}: more bytes follow at byte {}; expected the end", name_,
            places.end);
    features_ = {.offsets = Section<int64_t>(places.feature_offsets, header_.examples + 1),
                 .ids = Section<int32_t>(places.feature_ids, header_.feature_entries),
                 .values = Section<float>(places.feature_values, header_.feature_entries),
                 .what = "feature",
                 .limit = header_.features};
    labels_ = {.offsets = Section<int64_t>(places.label_offsets, header_.examples + 1),
               .ids = Section<int32_t>(places.label_ids, header_.label_entries),
               .values = {},
               .what = "label",
               .limit = header_.labels};
  }

  // `like`: the model's features and labels may be fewer than the file's.
  void Check(const DataInfo* like) {
    if (like) features_.limit = std::min(features_.limit, like->input[0]);
    if (like) labels_.limit = std::min(labels_.limit, like->outputs);
    CheckRows(features_);
    CheckRows(labels_);
    Require(header_.checksum == XmcBinaryChecksum(file_.bytes),
            "{}: the checksum is not that of the content, so the file is damaged; expected one as "
            "`yoke convert` wrote it",
            name_);
  }

  void MoveInto(MemoryData& data) const {
    Put(features_, data.sparse);
    Put(labels_, data.labels);
    data.size += header_.examples;
  }

  XmcWidths widths() const { return {.features = header_.features, .labels = header_.labels}; }

 private:
  void CheckHeader() {
    constexpr int64_t kMostEntries = int64_t{1} << 48;
    const XmcBinaryHeader expected;
    const size_t size = file_.bytes.size();
    Require(size > 0, "{}: the file is empty; expected one that `yoke convert` wrote", name_);
    std::memcpy(&header_, file_.bytes.data(), std::min(size, sizeof(header_)));
    Require(size >= sizeof(header_.magic) && header_.magic == expected.magic,
            "{}: wrong magic number at byte 0; expected a file that `yoke convert` wrote "
            "(YOKE-XMC)",
            name_);
    Require(size >= sizeof(header_),
            "{}: the file ends in its header at byte {}; expected {} bytes", name_, size,
            sizeof(header_));
    Require(header_.version == expected.version && header_.reserved == 0,
            "{}: version {} of the format; expected version {} (`yoke convert` writes it)", name_,
            header_.version, expected.version);
    for (const int64_t count : {header_.examples, header_.features, header_.labels})
      Require(
          count > 0 && count <= INT32_MAX,
          "{}: its header says {} examples, {} features and {} labels; expected 1 to {} of each",
          name_, header_.examples, header_.features, header_.labels, INT32_MAX);
    for (const int64_t count : {header_.feature_entries, header_.label_entries})
      Require(count >= 0 && count <= kMostEntries,
              "{}: its header says {} entries; expected 0 to {}", name_, count, kMostEntries);
  }

  template <typename T>
  std::span<const T> Section(int64_t begin, int64_t count) const {
    return {reinterpret_cast<const T*>(file_.bytes.data() + begin), static_cast<size_t>(count)};
  }

  void CheckRows(const Rows& rows) const {
    const auto entries = static_cast<int64_t>(rows.ids.size());
    Require(rows.offsets.front() == 0 && rows.offsets.back() == entries,
            "{}: the offsets of its {}s go from {} to {}; expected 0 to {}", name_, rows.what,
            rows.offsets.front(), rows.offsets.back(), entries);
    if (Descents(rows.offsets) > 0) FailOffsets(rows);
    if (!AllBelow(rows.ids, rows.limit) || !AllAscend(rows) || !AllFinite(rows.values))
      FailRows(rows);
  }

  [[noreturn]] void FailOffsets(const Rows& rows) const {
    const auto fall =
        std::adjacent_find(rows.offsets.begin(), rows.offsets.end(), std::greater<>());
    throw UserError(fmt::format(
        "{}: the offsets of its {}s fall from {} to {} at example {}; expected them to rise", name_,
        rows.what, *fall, fall[1], fall - rows.offsets.begin()));
  }

  // Finds the invalid entry that a pass has detected.
  [[noreturn]] void FailRows(const Rows& rows) const {
    for (size_t r = 0; r + 1 < rows.offsets.size(); ++r)
      for (int64_t i = rows.offsets[r]; i < rows.offsets[r + 1]; ++i)
        CheckEntry(rows, r, static_cast<size_t>(i));
    throw Error("a bad entry was seen and not found");
  }

  void CheckEntry(const Rows& rows, size_t row, size_t i) const {
    const int32_t id = rows.ids[i];
    const int32_t previous = static_cast<int64_t>(i) == rows.offsets[row] ? -1 : rows.ids[i - 1];
    Require(id >= 0 && id < rows.limit, "{}: example {}: {} {} is outside; expected 0 to {}", name_,
            row, rows.what, id, rows.limit - 1);
    Require(previous < id, "{}: example {}: {} {} follows {}; expected them to ascend", name_, row,
            rows.what, id, previous);
    Require(AllFinite(rows.values.empty() ? rows.values : rows.values.subspan(i, 1)),
            "{}: example {}: feature {} has no finite value; expected one", name_, row, id);
  }

  // The first file is used in place; further files of the set are copied behind it.
  void Put(const Rows& rows, SparseArrays& to) const {
    if (to.rows() == 0) {
      to.offsets.Adopt(rows.offsets, file_.owner);
      to.ids.Adopt(rows.ids, file_.owner);
      if (!rows.values.empty()) to.values.Adopt(rows.values, file_.owner);
      return;
    }
    const int64_t before = to.ids.size();
    to.ids.Append(rows.ids);
    to.values.Append(rows.values);
    for (const int64_t end : rows.offsets.subspan(1)) to.offsets.push_back(before + end);
  }

  std::string name_;
  SharedBytes file_;
  XmcBinaryHeader header_;
  Rows features_{};
  Rows labels_{};
};

XmcWidths ReadBinary(ByteSource& source, const ReadFiles& files, MemoryData& data) {
  XmcBinaryFile file(source.Name(), WholeFile(source, files.memory_limit));
  file.Check(files.like);
  file.MoveInto(data);
  return file.widths();
}

LoadedData LoadXmcBinary(const Options& options, const ReadFiles& files) {
  return LoadXmcSets(options, files, ReadBinary);
}

}  // namespace

FormatEntry xmc_binary_format() {
  return {.name = "xmc-binary",
          .summary = "binary form of XMC text from `yoke convert`: mapped, not parsed; sparse",
          .load = LoadXmcBinary};
}

}  // namespace yoke
