// OutputTables: hash tables over the rows of a wide output, in which a hidden activation finds the
// few outputs that are worth scoring.
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

/// What is 0 follows from the number of outputs: see docs/layers/lsh_linear.md.
struct OutputTableSettings {
  std::string family = "simhash";
  int hashes = 0;  ///< K: hashes that make a table's key.
  int tables = 0;  ///< L
  int bucket = 0;  ///< Most ids a bucket holds.
};

/// Search for the greatest scores w x + b (maximum inner products) by hashing, which knows angles
/// only. So rows are ranked by promise, the greatest score that they may reach: the most promising
/// few are candidates of every query (as in Yan et al., "Norm-ranging LSH", 2018), the others lie
/// in hash tables whose full buckets keep the most promising. Ranks do not change when the mean row
/// is subtracted from all rows; and what queries have in common, their mean's direction, is taken
/// out of both sides before hashing: along it a row has one more coordinate instead, its bias.
/// Immutable: threads may share it.
class OutputTables {
 public:
  /// Hashes all rows, on the kernel threads of the caller. `sample`: some inputs of the model, from
  /// which typical queries follow; it has no part in what is right, only in what is found. Throws
  /// UserError unless the graph IsRanked.
  OutputTables(const Graph& graph, const ParamView& params, const Batch& sample,
               const OutputTableSettings& settings = {});

  /// The keys [count, L] of hidden activations [count, inputs], in the calling thread.
  void Keys(const float* hidden, int64_t count, std::vector<uint32_t>& keys) const;
  /// Replaces `ids` by the distinct outputs that a query of these L keys finds.
  void Find(const uint32_t* keys, Marks& marks, std::vector<int32_t>& ids) const;

  /// As chosen.
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
  std::vector<float> common_;      ///< [inputs]: direction of the queries' mean, of length 1 or 0.
  double along_ = 0, across_ = 0;  ///< A query's typical length along it, and across.
  double unit_ = 1;                ///< What a query has where rows have their bias.
  std::vector<int32_t> order_;     ///< Outputs from the least promising to the most.
  std::unique_ptr<Hasher> hasher_;
  std::unique_ptr<HashTables> tables_;  ///< Their ids are places in order_.
};

}  // namespace yoke
