// What eval and predict share: data that fits a model, and how its outputs are searched.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/model_file.h"
#include "cli/output.h"
#include "model/output_tables.h"

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

/// Opens `files` (empty: the job's test data; `-`: standard input) as data for the model. `format`
/// overrides the job's format unless it is "".
struct OpenFiles {
  std::vector<std::string> files;
  std::string format;
  bool labels_optional = false;
  bool training = false;     ///< Without files: the job's training data, not augmented.
  bool notes_aside = false;  ///< As in Output::Note.
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
