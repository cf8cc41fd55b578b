// OutputTables: hash tables over the rows of a wide output layer, to find the few outputs that are
// worth scoring for a hidden activation.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lsh/family.h"
#include "lsh/marks.h"
#include "lsh/tables.h"
#include "model/graph.h"

namespace yoke {

/// A value of 0 is derived from the number of outputs: see docs/layers/lsh_linear.md.
struct OutputTableSettings {
  std::string family = "simhash";
  int hashes = 0;  ///< K: hashes per key.
  int tables = 0;  ///< L
  int bucket = 0;  ///< Capacity of a bucket in ids.
};

/// Searches for the greatest scores w x + b (maximum inner products) by hashing. Hashing sees only
/// angles, so rows are ranked by the greatest score that they can reach: the first few are
/// candidates of every query (as in Yan et al., "Norm-ranging LSH", 2018), and the others are in
/// hash tables whose full buckets keep the highest-ranked rows. The mean row is subtracted from all
/// rows, which does not change the order of scores. The common direction of the queries is removed
/// from both sides before hashing; in its place a row gets one more coordinate, its score along
/// this direction including the bias. Immutable: threads may share it.
class OutputTables {
 public:
  /// Hashes all rows on the caller's kernel threads. `sample` holds some inputs of the model, to
  /// estimate typical queries; it affects which outputs are found, not their scores. Throws
  /// UserError unless the graph IsRanked.
  OutputTables(const Graph& graph, const ParamView& params, const Batch& sample,
               const OutputTableSettings& settings = {});

  /// Computes the keys [count, L] of hidden activations [count, inputs], in the calling thread.
  void Keys(const float* hidden, int64_t count, std::vector<uint32_t>& keys) const;
  /// Replaces `ids` by the distinct outputs that a query with these L keys finds.
  void Find(const uint32_t* keys, Marks& marks, std::vector<int32_t>& ids) const;

  /// The settings in use, without zeros.
  const OutputTableSettings& settings() const { return settings_; }
  /// Outputs that every query finds.
  int64_t always() const { return always_; }
  int64_t bytes() const { return tables_->bytes(); }

 private:
  struct Rows;
  void LookAt(const Graph& graph, const ParamView& params, const Batch& sample);
  void Choose(const OutputTableSettings& settings);
  void Rank(const Rows& rows);
  void Fill(const Rows& rows);

  OutputProduct output_;
  OutputTableSettings settings_;
  int64_t always_ = 0;
  std::vector<float> common_;      ///< [inputs]: direction of the mean query, of length 1 or 0.
  double along_ = 0, across_ = 0;  ///< Typical length of a query along it, and perpendicular to it.
  double unit_ = 1;                ///< A query's value of the extra coordinate.
  std::vector<int32_t> order_;     ///< Outputs by promise, lowest first.
  std::unique_ptr<Hasher> hasher_;
  std::unique_ptr<HashTables> tables_;  ///< Their ids are positions in order_.
};

}  // namespace yoke
