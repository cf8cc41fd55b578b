// Checkpoint: model.safetensors (weights), optimizer.safetensors (the rule's state),
// checkpoint.json (everything else).
#include "train/checkpoint/checkpoint.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <future>
#include <map>
#include <utility>

#include "base/check.h"
#include "base/thread.h"
#include "comm/lost.h"
#include "train/files.h"

namespace yoke {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModel = "/model.safetensors";
constexpr const char* kOptimizer = "/optimizer.safetensors";
constexpr const char* kHeaderFile = "/checkpoint.json";
constexpr const char* kUnfinished = "unfinished";

std::vector<StoredTensor> ModelTensors(const ParamLayout& layout, const float* values) {
  std::vector<StoredTensor> tensors;
  for (const Slice& slice : layout.slices())
    tensors.push_back({slice.name, DType::kF32, slice.shape, values + slice.offset});
  return tensors;
}

/// Throws UserError if a tensor read from a file has a non-finite value.
void RequireFinite(const StoredTensor& tensor, const std::string& file) {
  const std::span numbers(static_cast<const float*>(tensor.data),
                          static_cast<size_t>(tensor.shape.Count()));
  const auto bad = std::ranges::find_if_not(numbers, [](float x) { return std::isfinite(x); });
  Require(bad == numbers.end(), "{}: '{}' holds {}: expected finite numbers", file, tensor.name,
          bad == numbers.end() ? 0 : *bad);
}

/// Calls visit(tensor) for each piece of the rule's state: `layer.parameter.momentum`, ..., in
/// `copies`, the clocks of rows, and `rule.numbers`.
template <typename State, typename Visit>
void VisitState(const ParamLayout& layout, State& state, HostCopies& copies, const Visit& visit) {
  std::vector<std::span<float>> arrays;
  for (size_t a = 0; a < state.names().size(); ++a)
    arrays.push_back(copies.Of(state.array(static_cast<int>(a))));
  for (size_t i = 0; i < layout.slices().size(); ++i) {
    const Slice& slice = layout.slices()[i];
    if (slice.kind == SliceKind::kBuffer) continue;
    for (size_t a = 0; a < state.names().size(); ++a)
      visit(StoredTensor{slice.name + "." + state.names()[a], DType::kF32, slice.shape,
                         arrays[a].data() + slice.offset});
    const auto& clocks = state.row_steps(static_cast<int>(i));
    if (clocks.empty()) continue;
    visit(StoredTensor{slice.name + ".row_steps", DType::kI32,
                       Shape{static_cast<int64_t>(clocks.size())}, clocks.data()});
  }
  if (const auto numbers = state.all_numbers(); !numbers.empty())
    visit(StoredTensor{"rule.numbers", DType::kF32, Shape{std::ssize(numbers)}, numbers.data()});
}

StoredTensor Stored(const StateTensor& tensor) {
  return {"state." + tensor.name, tensor.type, tensor.shape, tensor.data};
}

std::vector<StoredTensor> StateTensors(const CheckpointParts& parts, HostCopies& copies) {
  std::vector<StoredTensor> tensors;
  VisitState(parts.layout, parts.state, copies,
             [&](const StoredTensor& tensor) { tensors.push_back(tensor); });
  for (const StateTensor& tensor : parts.layers) tensors.push_back(Stored(tensor));
  return tensors;
}

/// Finished checkpoints, newest first: folders whose name is a step number.
std::map<int64_t, std::string, std::greater<>> Newest(const std::string& run) {
  std::map<int64_t, std::string, std::greater<>> found;
  const std::string folder = run + "/checkpoints";
  std::error_code problem;
  const fs::directory_iterator entries(folder, problem);
  Require(!problem || problem == std::errc::no_such_file_or_directory, "cannot read {}: {}", folder,
          problem.message());
  for (const auto& entry : entries) {
    const std::string name = entry.path().filename();
    const bool number =
        !name.empty() && name.size() < 19 && name.find_first_not_of("0123456789") == name.npos;
    if (number) found[std::stoll(name)] = entry.path();
  }
  return found;
}

/// Throws DamagedError unless the tensors are those that the header was written with.
void CheckBelongs(const Safetensors& file, const std::string& checksum, const std::string& name) {
  if (file.checksum() != checksum)
    throw DamagedError(name + " is damaged: it does not match the folder's " + (kHeaderFile + 1));
}

/// Renames a damaged checkpoint and returns its new name. Removes the link `best` if it is
/// dangling.
std::string SetAside(const std::string& run, int64_t step) {
  std::string aside = fmt::format("{}/checkpoints/damaged-{}", run, step);
  ReplaceFolder(fmt::format("{}/checkpoints/{}", run, step), aside);
  if (!fs::exists(run + "/best")) fs::remove(run + "/best");
  return aside;
}

void RemoveOld(const CheckpointPlace& place) {
  std::error_code none;
  const fs::path best = fs::canonical(place.run + "/best", none);
  int seen = 0;
  for (const auto& [step, folder] : Newest(place.run))
    if (++seen > place.keep && fs::canonical(folder, none) != best) fs::remove_all(folder, none);
}

std::string OwnFile(int rank) { return fmt::format("/replica-{}.safetensors", rank); }

void WriteParts(const std::string& folder, const CheckpointParts& parts) {
  fs::create_directories(folder);
  std::future<std::string> model;  // beside the other file: checksums take time
  {
    const std::lock_guard lock(StartingThreads());
    model = std::async([&] {
      return WriteSafetensors(folder + kModel, ModelTensors(parts.layout, parts.values));
    });
  }
  HostCopies copies;
  std::string optimizer;
  try {
    optimizer = WriteSafetensors(folder + kOptimizer, StateTensors(parts, copies));
  } catch (const Error&) {
    model.get();  // if both fail, this one tells why
    throw;
  }
  const std::string model_sum = model.get();
  CheckpointHeader header = parts.header;
  for (int rank = 0; rank < parts.replicas; ++rank)
    header.replicas.push_back(WriteSafetensors(folder + OwnFile(rank), parts.own(rank)));
  WriteDurably(folder + kHeaderFile, EncodeHeader(header, model_sum, optimizer));
  SyncFolder(folder);
}

}  // namespace

std::string HowToGoOn(const std::string& run) {
  std::error_code none;
  if (!fs::exists(run + "/last", none)) return "there is no checkpoint yet";
  return fmt::format(
      "the checkpoint {}/last is good; make room, then continue with: yoke train --resume {}", run,
      run);
}

std::string WriteCheckpoint(const CheckpointPlace& place, const CheckpointParts& parts) {
  const std::string folder = fmt::format("checkpoints/{}", parts.header.position.step);
  const std::string unfinished = place.run + "/checkpoints/" + kUnfinished;
  try {
    fs::remove_all(unfinished);
    WriteParts(unfinished, parts);
    ReplaceFolder(unfinished, place.run + "/" + folder);
    if (place.best) ReplaceLink(place.run + "/best", folder);
    ReplaceLink(place.run + "/last", folder);
  } catch (const RankLost&) {
    throw;  // the next checkpoint removes the unfinished folder
  } catch (const std::exception& problem) {
    std::error_code none;
    fs::remove_all(unfinished, none);
    throw Error(fmt::format("{}; {}", problem.what(), HowToGoOn(place.run)));
  }
  RemoveOld(place);
  return place.run + "/" + folder;
}

Checkpoint::Checkpoint(std::string folder, DecodedHeader decoded, Safetensors model)
    : folder_(std::move(folder)),
      header_(std::move(decoded.header)),
      optimizer_checksum_(std::move(decoded.optimizer)),
      model_(std::move(model)) {}

Checkpoint Checkpoint::Open(const std::string& folder) {
  Require(fs::is_directory(folder),
          "there is no checkpoint at {} (expected a folder such as runs/NAME/last)", folder);
  DecodedHeader decoded = DecodeHeader(ReadWhole(folder + kHeaderFile), folder + kHeaderFile);
  Safetensors model = Safetensors::Open(folder + kModel);
  CheckBelongs(model, decoded.model, folder + kModel);
  return {folder, std::move(decoded), std::move(model)};
}

const Safetensors& Checkpoint::Optimizer() const {
  if (!optimizer_) {
    Safetensors file = Safetensors::Open(folder_ + kOptimizer);
    CheckBelongs(file, optimizer_checksum_, folder_ + kOptimizer);
    optimizer_ = std::move(file);
  }
  return *optimizer_;
}

Safetensors Checkpoint::OpenOwn(int rank) const {
  Safetensors file = Safetensors::Open(folder_ + OwnFile(rank));
  CheckBelongs(file, header_.replicas[rank], folder_ + OwnFile(rank));
  return file;
}

void Checkpoint::Verify() const {
  Optimizer();
  for (size_t rank = 0; rank < header_.replicas.size(); ++rank) OpenOwn(static_cast<int>(rank));
}

void Checkpoint::Load(ParamStore& params) const {
  Staged<float> values(params.values());
  for (const StoredTensor& tensor : ModelTensors(params.layout(), values.Host().data())) {
    model_.CopyTo(tensor);
    RequireFinite(tensor, folder_ + kModel);
  }
  values.Write();
  params.Publish();
}

bool Checkpoint::Load(const ParamLayout& layout, RuleState& state) const {
  const Safetensors& file = Optimizer();
  HostCopies copies;
  std::vector<StoredTensor> tensors;
  VisitState(layout, state, copies, [&](const StoredTensor& tensor) { tensors.push_back(tensor); });
  if (!std::ranges::all_of(tensors, [&](const StoredTensor& tensor) { return file.Has(tensor); }))
    return false;
  for (const StoredTensor& tensor : tensors) file.CopyTo(tensor);
  copies.Write();
  state.steps = header_.rule_steps;
  return true;
}

bool Checkpoint::Load(const std::vector<StateTensor>& layers) const {
  if (layers.empty()) return true;
  const Safetensors& file = Optimizer();
  for (const StateTensor& tensor : layers)
    if (!file.Has(Stored(tensor))) return false;
  for (const StateTensor& tensor : layers) file.CopyTo(Stored(tensor));
  return true;
}

std::optional<CheckpointHeader> NewestHeader(const std::string& run) {
  for (const auto& [step, folder] : Newest(run)) {
    try {
      return DecodeHeader(ReadWhole(folder + kHeaderFile), folder + kHeaderFile).header;
    } catch (const DamagedError&) {  // try the one before
    }
  }
  return {};
}

std::optional<Checkpoint> RecoverNewest(const std::string& run,
                                        std::vector<std::string>& messages) {
  fs::remove_all(run + "/checkpoints/" + kUnfinished);
  std::vector<std::pair<int64_t, std::string>> damaged;  // step and message
  for (const auto& [step, folder] : Newest(run)) {
    try {
      Checkpoint checkpoint = Checkpoint::Open(folder);
      checkpoint.Verify();
      ReplaceLink(run + "/last", fmt::format("checkpoints/{}", step));
      for (const auto& [bad, sentence] : damaged)
        messages.push_back(
            fmt::format("{}; it was renamed to {}, and the checkpoint before it is used", sentence,
                        SetAside(run, bad)));
      return checkpoint;
    } catch (const DamagedError& damage) {
      damaged.emplace_back(step, damage.what());
    }
  }
  Require(damaged.empty(),
          "every checkpoint in {}/checkpoints is damaged ({}); to start again, train {}/job.toml "
          "with another --run",
          run, damaged.empty() ? "" : damaged.front().second, run);
  return {};
}

}  // namespace yoke
