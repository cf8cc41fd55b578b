// XMC text (extreme classification repository): a header `N F L`, then `l1,l2,... f1:v1 f2:v2 ...`
// per line, both counted from 0.
#include <algorithm>

#include "data/text.h"
#include "data/xmc.h"

namespace yoke {
namespace {

// The numbers in a file's first line.
struct Header {
  int64_t examples = 0;
  int64_t features = 0;
  int64_t labels = 0;
};

Header ReadHeader(LineReader& lines) {
  std::string_view line;
  Require(lines.Next(line),
          "{}: the file is empty; expected a first line 'examples features labels'", lines.Name());
  const char* begin = line.data();
  const char* end = begin + line.size();
  Header header;
  bool good = true;
  for (int64_t* number : {&header.examples, &header.features, &header.labels}) {
    while (begin != end && IsBlank(*begin)) ++begin;
    good = good && ScanIndex(begin, end, INT32_MAX, *number) && *number > 0;
  }
  if (!good || !Trimmed({begin, static_cast<size_t>(end - begin)}).empty())
    lines.Fail("expected three whole numbers above 0 (examples features labels), got {}",
               Quoted(line));
  return header;
}

// One file: its lines, and the limits of features and labels in it.
class XmcFile {
 public:
  XmcFile(ByteSource& source, const DataInfo* like) : lines_(source), header_(ReadHeader(lines_)) {
    feature_limit_ = like ? std::min(header_.features, like->input[0]) : header_.features;
    label_limit_ = like ? std::min(header_.labels, like->outputs) : header_.labels;
  }

  // Reads the lines after the header. Blank lines count as examples until the promised number is
  // reached.
  void Read(MemoryData& data) {
    std::string_view line;
    for (int64_t i = 0; i < header_.examples; ++i, ++data.size) {
      if (!lines_.Next(line))
        lines_.Fail("the file ends after {} examples; its first line promises {}", i,
                    header_.examples);
      ReadLine(line, data);
    }
    if (lines_.NextFilled(line))
      lines_.Fail("expected the end after {} examples", header_.examples);
  }

  const Header& header() const { return header_; }

 private:
  void ReadLine(std::string_view line, MemoryData& data) {
    const char* begin = line.data();
    const char* end = begin + line.size();
    ReadLabels(begin, end, data.labels);
    const int64_t row = data.sparse.ids.size();
    while (ReadPair(begin, end, data.sparse)) {
    }
    EndSparseRow(lines_, row, data.sparse);
  }

  void ReadLabels(const char*& begin, const char* end, SparseArrays& labels) {
    const int64_t row = labels.ids.size();
    const char* word = begin;
    bool more = begin != end && !IsBlank(*begin);
    while (more) {
      int64_t label = 0;
      const bool good = ScanIndex(begin, end, INT32_MAX, label);
      more = good && begin != end && *begin == ',';
      if (!good || (!more && begin != end && !IsBlank(*begin)))
        lines_.Fail("expected labels 'l1,l2,...' (or a blank where there are none), got {}",
                    Quoted(WordAt(word, end)));
      if (label >= label_limit_)
        lines_.Fail("label {} is outside; expected labels from 0 to {}", label, label_limit_ - 1);
      labels.ids.push_back(static_cast<int32_t>(label));
      begin += more;
    }
    EndSparseRow(lines_, row, labels);
  }

  bool ReadPair(const char*& begin, const char* end, SparseArrays& rows) {
    while (begin != end && IsBlank(*begin)) ++begin;
    if (begin == end) return false;
    const char* word = begin;
    int64_t id = 0;
    float value = 0;
    if (!ScanIndex(begin, end, INT32_MAX, id) || begin == end || *begin++ != ':' ||
        !ScanFloat(begin, end, value) || (begin != end && !IsBlank(*begin)))
      lines_.Fail("expected 'feature:value' with a whole feature and a finite value, got {}",
                  Quoted(WordAt(word, end)));
    if (id >= feature_limit_)
      lines_.Fail("feature {} is outside; expected features from 0 to {}", id, feature_limit_ - 1);
    rows.ids.push_back(static_cast<int32_t>(id));
    rows.values.push_back(value);
    return true;
  }

  LineReader lines_;
  Header header_;
  int64_t feature_limit_ = 0;
  int64_t label_limit_ = 0;
};

XmcWidths ReadText(ByteSource& source, const ReadFiles& files, MemoryData& data) {
  XmcFile file(source, files.like);
  file.Read(data);
  return {.features = file.header().features, .labels = file.header().labels};
}

LoadedData LoadXmc(const Options& options, const ReadFiles& files) {
  return LoadXmcSets(options, files, ReadText);
}

}  // namespace

FormatEntry xmc_format() {
  return {.name = "xmc",
          .summary = "XMC text: a set of labels and feature:value pairs per line; sparse",
          .load = LoadXmc};
}

}  // namespace yoke
