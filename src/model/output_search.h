// OutputSearch: finds by hash tables the few outputs of a wide layer that are worth scoring for a
// hidden activation.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lsh/marks.h"

namespace yoke {

class LayerStates;

/// A value of 0 is derived from the number of outputs: see docs/layers/lsh_linear.md.
struct OutputTableSettings {
  std::string family = "simhash";
  int hashes = 0;  ///< K: hashes per key.
  int tables = 0;  ///< L
  int bucket = 0;  ///< Capacity of a bucket in ids.
};

/// Immutable while it is used: threads may share it.
class OutputSearch {
 public:
  virtual ~OutputSearch() = default;
  /// Whether it has tables; call nothing else without.
  virtual bool ready() const { return true; }
  /// Whether the tables hold the weights as they were before training.
  virtual bool untrained() const { return false; }
  /// Computes the keys [count, L] of hidden activations [count, inputs], in the calling thread.
  virtual void Keys(const float* hidden, int64_t count, std::vector<uint32_t>& keys) const = 0;
  /// Replaces `ids` by the distinct outputs that a query with these L keys finds.
  virtual void Find(const uint32_t* keys, Marks& marks, std::vector<int32_t>& ids) const = 0;

  /// A sentence if training would find too little by its settings, else "".
  virtual std::string Advice() const { return ""; }

  /// The settings in use, without zeros.
  virtual OutputTableSettings search_settings() const = 0;
  /// Outputs that every query finds.
  virtual int64_t always() const { return 0; }
  virtual int64_t table_bytes() const = 0;
};

/// The advice of a model's layers.
std::vector<std::string> AdviceOf(const LayerStates& states);
/// False if a layer with tables has none: a checkpoint's are of other hash functions.
bool TablesAreReady(const LayerStates& states);

}  // namespace yoke
