// Subset: some examples of a reader, renumbered.
#include "base/check.h"
#include "data/reader.h"

namespace yoke {
namespace {

class SubsetReader : public Reader {
 public:
  SubsetReader(std::shared_ptr<const Reader> source, std::vector<int64_t> examples)
      : source_(std::move(source)), examples_(std::move(examples)) {}

  const DataInfo& Info() const override { return source_->Info(); }
  int64_t Size() const override { return static_cast<int64_t>(examples_.size()); }

  std::string FileOf(int64_t example) const override {
    return source_->FileOf(examples_[static_cast<size_t>(example)]);
  }

  // The source gets its own example indices. They are in the batch's scratch, which is moved out
  // meanwhile, because the source may be a SubsetReader too.
  void Read(const ReadRequest& request, Batch& batch) const override {
    std::vector<int64_t> indices = std::move(batch.scratch);
    indices.clear();
    for (const int64_t example : request.examples) {
      Check(example >= 0 && example < Size(), "an example was asked for that does not exist");
      indices.push_back(examples_[static_cast<size_t>(example)]);
    }
    ReadRequest of_source = request;
    of_source.examples = indices;
    source_->Read(of_source, batch);
    batch.examples.assign(request.examples.begin(), request.examples.end());
    batch.scratch = std::move(indices);
  }

 private:
  std::shared_ptr<const Reader> source_;  // shared with other subsets of the same file
  std::vector<int64_t> examples_;
};

}  // namespace

std::unique_ptr<Reader> Subset(std::shared_ptr<const Reader> source,
                               std::vector<int64_t> examples) {
  return std::make_unique<SubsetReader>(std::move(source), std::move(examples));
}

}  // namespace yoke
