// ModelFile: a checkpoint's model ready to compute, shared by eval, predict and info.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/output.h"
#include "model/bf16_copy.h"
#include "model/output_tables.h"
#include "train/checkpoint/checkpoint.h"
#include "train/replica.h"

namespace yoke {

class Arguments;

/// How to compute and rank outputs.
struct SearchOptions {
  std::string search = "exact";  ///< exact, tables, trained
  OutputTableSettings settings;
  int threads = 0;  ///< From 1 to 4096; 0: as in the job.

  /// Declares `--search`, `--hashes`, `--tables` and `--bucket` for it, and `--threads`.
  void Declare(Arguments& arguments);
};

/// A checkpoint's model with its weights.
class ModelFile {
 public:
  /// Throws UserError if the checkpoint is damaged.
  explicit ModelFile(const std::string& path);

  const CheckpointHeader& header() const { return checkpoint_.header(); }
  const Job& job() const { return job_; }
  const Graph& graph() const { return graph_; }
  /// Values for forward passes, in the job's arithmetic.
  const ParamView& params() const { return view_; }
  const std::string& folder() const { return checkpoint_.folder(); }
  /// Reads the hash tables by which the output layer was trained; null if there are none.
  std::shared_ptr<const OutputSearch> TrainedTables() const;

 private:
  Checkpoint checkpoint_;
  Job job_;
  Graph graph_;
  ParamStore params_;
  Bf16Copy bf16_;
  ParamView view_;
};

/// A model's values where its job trained them, if that was a device other than the CPU that this
/// machine has, and the model is not ranked (IsRanked); otherwise on the CPU.
class PlacedValues {
 public:
  explicit PlacedValues(const ModelFile& model);
  const ParamView& params() const { return view_; }
  Device& device() const { return *view_.values.device; }

 private:
  std::optional<Devices> devices_;
  Buffer values_;
  ParamView view_;
};

/// Opens `files` (empty: the job's test data; `-`: standard input) as data for the model. `format`
/// overrides the job's format unless it is "".
struct OpenFiles {
  std::vector<std::string> files;
  std::string format;
  bool labels_optional = false;
  bool notes_aside = false;                                         ///< As in Output::Note.
  std::function<std::string(const std::string&)> rename = nullptr;  ///< Of files in notes.
};
/// `out` gets notes about the data.
std::unique_ptr<Reader> OpenFor(const ModelFile& model, const OpenFiles& request, Output& out);

/// The model's hash tables, those of the training or built for the reader's examples; null for an
/// exact search. Notes (Output::Note) where those of the training are older than it. Throws
/// UserError if options and model do not fit.
std::shared_ptr<const OutputSearch> TablesFor(const ModelFile& model, const Reader& reader,
                                              const SearchOptions& options, bool aside,
                                              Output& out);

}  // namespace yoke
