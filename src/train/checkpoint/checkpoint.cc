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
#include "base/files.h"
#include "base/thread.h"
#include "comm/communicator.h"
#include "kernels/losses.h"
#include "kernels/vectors.h"
#include "tensor/counting.h"
#include "train/divergence.h"
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
    tensors.push_back({slice.name, slice.type, slice.shape, values + slice.offset});
  return tensors;
}

template <typename T>
std::optional<float> NotFiniteOf(const StoredTensor& tensor) {
  const std::span values(static_cast<const T*>(tensor.data),
                         static_cast<size_t>(tensor.shape.Count()));
  const int64_t bad = FirstNonFinite(values);
  return bad < 0 ? std::nullopt : std::optional(static_cast<float>(values[bad]));
}

/// "'fc.weight' holds nan", of the first non-finite value; "" if there is none.
std::string NotFiniteIn(std::span<const StoredTensor> tensors) {
  for (const StoredTensor& tensor : tensors) {
    std::optional<float> bad;
    if (tensor.type == DType::kF32) bad = NotFiniteOf<float>(tensor);
    if (tensor.type == DType::kBf16) bad = NotFiniteOf<Bf16>(tensor);
    if (bad) return fmt::format("'{}' holds {}", tensor.name, *bad);
  }
  return "";
}

/// Throws DamagedError if a tensor that was read from a file has a non-finite value.
void RequireFinite(std::span<const StoredTensor> tensors, const std::string& file) {
  if (const std::string bad = NotFiniteIn(tensors); !bad.empty())
    throw DamagedError(fmt::format("{}: {}: expected finite numbers", file, bad));
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
      visit(StoredTensor{slice.name + "." + state.names()[a], slice.type, slice.shape,
                         arrays[a].data() + slice.offset});
    const std::span<int32_t> clocks = copies.Of(state.row_steps(static_cast<int>(i)));
    if (clocks.empty()) continue;
    visit(StoredTensor{slice.name + ".row_steps", DType::kI32, Shape{std::ssize(clocks)},
                       clocks.data()});
  }
  if (const auto scalars = state.all_scalars(); !scalars.empty())
    visit(StoredTensor{"rule.numbers", DType::kF32, Shape{std::ssize(scalars)}, scalars.data()});
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

/// Renames a checkpoint to "<why>-<step>" and returns its new name. Removes the links `best` and
/// `good` if they are dangling.
std::string SetAside(const std::string& run, int64_t step, const char* why) {
  std::string aside = fmt::format("{}/checkpoints/{}-{}", run, why, step);
  ReplaceFolder(fmt::format("{}/checkpoints/{}", run, step), aside);
  for (const std::string& link : {run + "/best", run + "/good"})
    if (!fs::exists(link)) fs::remove(link);
  return aside;
}

CheckpointHeader HeaderIn(const std::string& folder) {
  return DecodeHeader(ReadWhole(folder + kHeaderFile), folder + kHeaderFile).header;
}

/// Throws DamagedError if the weights' own test loss shows that training had diverged, which
/// earlier versions did not judge.
void RequireSane(const CheckpointHeader& header, const std::string& folder) {
  const auto loss = std::ranges::find(header.test, "loss", &Metrics::value_type::first);
  if (loss == header.test.end()) return;
  if (!IsPossibleLoss(loss->second) ||
      Exploded(LossOverAll(header.position.untrained_loss, header.data), loss->second, header.test))
    throw DamagedError(fmt::format("{} is ruined: its test loss is {:.4g}", folder, loss->second));
}

/// Before a checkpoint that is not good becomes `last`: points `good` at the one before, if it is.
void PointAtGood(const std::string& run) {
  std::error_code none;
  const fs::path last = fs::read_symlink(run + "/last", none);
  if (last.empty() || fs::exists(run + "/good")) return;
  if (HeaderIn(run + "/" + last.string()).good) ReplaceLink(run + "/good", last);
}

/// Whether a folder holds a checkpoint. `checkpoints` may be a link to where others keep folders
/// with numbers.
bool IsCheckpoint(const std::string& folder) {
  std::error_code none;
  return !IsLink(folder) && fs::is_regular_file(folder + kHeaderFile, none) &&
         fs::is_regular_file(folder + kModel, none);
}

void RemoveOld(const CheckpointPlace& place) {
  std::error_code none;
  const fs::path best = fs::canonical(place.run + "/best", none),
                 good = fs::canonical(place.run + "/good", none);
  int seen = 0;
  for (const auto& [step, folder] : Newest(place.run)) {
    const fs::path own = fs::canonical(folder, none);
    if (++seen > place.keep && own != best && own != good && IsCheckpoint(folder))
      fs::remove_all(folder, none);
  }
}

std::string OwnFile(int rank) { return fmt::format("/replica-{}.safetensors", rank); }

/// Throws NotFiniteError after all ranks have sent their tensors.
void WriteParts(const std::string& folder, const CheckpointParts& parts) {
  fs::create_directories(fs::path(folder).parent_path());
  Check(fs::create_directory(folder), "an unfinished checkpoint is in the way");
  std::future<std::string> model;  // beside the other file: checksums take time
  {
    const std::lock_guard lock(StartingThreads());
    model = std::async([&] {
      return WriteSafetensors(folder + kModel, ModelTensors(parts.layout, parts.values));
    });
  }
  HostCopies copies;
  std::string optimizer, bad;
  try {
    const std::vector<StoredTensor> state = StateTensors(parts, copies);
    bad = NotFiniteIn(state);
    optimizer = WriteSafetensors(folder + kOptimizer, state);
  } catch (const Error&) {
    model.get();  // if both fail, this one tells why
    throw;
  }
  const std::string model_sum = model.get();
  CheckpointHeader header = parts.header;
  for (int rank = 0; rank < parts.replicas; ++rank) {
    const std::vector<StoredTensor> own = parts.own(rank);
    header.replicas.push_back(WriteSafetensors(folder + OwnFile(rank), own));
    if (const std::string found = NotFiniteIn(own); bad.empty() && !found.empty())
      bad = fmt::format("{} of replica {}", found, rank);
  }
  if (!bad.empty()) throw NotFiniteError(bad);
  WriteDurably(folder + kHeaderFile, EncodeHeader(header, model_sum, optimizer));
  SyncFolder(folder);
}

}  // namespace

bool IsPartOfCheckpoint(const std::string& path) {
  const fs::path file = path;
  std::error_code none;
  const bool named =
      file.filename() == kHeaderFile + 1 || file.extension() == fs::path(kModel).extension();
  return named && fs::exists(file.parent_path().native() + kHeaderFile, none);
}

std::string HowToGoOn(const std::string& run) {
  std::error_code none;
  if (!fs::exists(run + "/last", none)) return "there is no checkpoint yet";
  return fmt::format("the checkpoint {}/last is good; continue with: yoke train --resume {}", run,
                     run);
}

std::string WriteCheckpoint(const CheckpointPlace& place, const CheckpointParts& parts) {
  const CountedAs scope("checkpoint");
  const std::string folder = fmt::format("checkpoints/{}", parts.header.position.step);
  const std::string unfinished = place.run + "/checkpoints/" + kUnfinished;
  try {
    fs::remove_all(unfinished);
    WriteParts(unfinished, parts);
    ReplaceFolder(unfinished, place.run + "/" + folder);
    if (place.best) ReplaceLink(place.run + "/best", folder);
    if (!parts.header.good) PointAtGood(place.run);
    ReplaceLink(place.run + "/last", folder);
    if (parts.header.good) fs::remove(place.run + "/good");
  } catch (const RankLost&) {
    throw;  // the next checkpoint removes the unfinished folder
  } catch (const NotFiniteError&) {
    fs::remove_all(unfinished);
    throw;
  } catch (const fs::filesystem_error& problem) {
    std::error_code none;
    fs::remove_all(unfinished, none);
    throw Error(fmt::format("cannot write {}: {}; {}", problem.path1().string(),
                            ReasonOf(problem.code().value()), HowToGoOn(place.run)));
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

std::string CheckpointFolder(const std::string& path) {
  Require(fs::exists(path), "there is no checkpoint {}", path);
  Require(fs::is_directory(path),
          "{} is not a checkpoint: expected a folder such as runs/NAME/last", path);
  if (fs::exists(path + kModel)) return path;
  if (fs::exists(path + "/last")) return path + "/last";
  Require(!fs::exists(path + "/job.toml"), "the run {} has no checkpoint yet", path);
  throw UserError(fmt::format("{} is not a checkpoint: it holds no model.safetensors", path));
}

CheckpointHeader ReadHeader(const std::string& folder) {
  return DecodeHeader(ReadWhole(folder + kHeaderFile), folder + kHeaderFile).header;
}

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
  RequireFinite(model_.tensors(), folder_ + kModel);
  RequireFinite(Optimizer().tensors(), folder_ + kOptimizer);
  for (size_t rank = 0; rank < header_.replicas.size(); ++rank) {
    const auto number = static_cast<int>(rank);
    RequireFinite(OpenOwn(number).tensors(), folder_ + OwnFile(number));
  }
}

void Checkpoint::Load(ParamStore& params) const {
  HostCopy copy;
  float* const values = copy.Of(params.values()).data();
  for (const StoredTensor& tensor : ModelTensors(params.layout(), values)) {
    model_.CopyTo(tensor);
    RequireFinite({&tensor, 1}, folder_ + kModel);
  }
  copy.Write(params.values());
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

bool Checkpoint::HasState(const std::string& name) const {
  return std::ranges::any_of(Optimizer().tensors(), [&](const StoredTensor& tensor) {
    return tensor.name.ends_with("." + name);
  });
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
      return HeaderIn(folder);
    } catch (const DamagedError&) {  // try the one before
    }
  }
  return {};
}

std::optional<Checkpoint> OpenNewest(const std::string& run) {
  for (const auto& [step, folder] : Newest(run)) {
    try {
      Checkpoint checkpoint = Checkpoint::Open(folder);
      checkpoint.Optimizer();
      return checkpoint;
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
      RequireSane(checkpoint.header(), folder);
      ReplaceLink(run + "/last", fmt::format("checkpoints/{}", step));
      for (const auto& [bad, sentence] : damaged)
        messages.push_back(
            fmt::format("{}; it was renamed to {}, and the checkpoint before it is used", sentence,
                        SetAside(run, bad, "damaged")));
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

std::optional<CheckpointHeader> FallBackToGood(const std::string& run) {
  for (const auto& [step, folder] : Newest(run)) {
    try {
      if (CheckpointHeader header = HeaderIn(folder); header.good) {
        ReplaceLink(run + "/last", fmt::format("checkpoints/{}", step));
        fs::remove(run + "/good");
        return header;
      }
    } catch (const DamagedError&) {  // as if it were not good
    }
    SetAside(run, step, "ruined");
  }
  fs::remove(run + "/last");
  return {};
}

std::string GoodCheckpoint(const std::string& run) {
  const std::string good = run + "/good";
  return fs::exists(good) ? good : "";
}

}  // namespace yoke
