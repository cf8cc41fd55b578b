// OutputTables: a search by hash tables that are built for it from the rows of the output layer.
#pragma once

#include <memory>
#include <vector>

#include "lsh/family.h"
#include "lsh/tables.h"
#include "model/graph.h"
#include "model/output_search.h"

namespace yoke {

/// Searches for the greatest scores w x + b (maximum inner products) by hashing. Hashing sees only
/// angles, so rows are ranked by the greatest score that they can reach: the first few are
/// candidates of every query (as in Yan et al., "Norm-ranging LSH", 2018), and the others are in
/// hash tables whose full buckets keep the highest-ranked rows. The mean row is subtracted from all
/// rows, which does not change the order of scores. The common direction of the queries is removed
/// from both sides before hashing; in its place a row gets one more coordinate, its score along
/// this direction including the bias.
class OutputTables : public OutputSearch {
 public:
  /// Hashes all rows on the caller's kernel threads. `sample` holds some inputs of the model, to
  /// estimate typical queries; it affects which outputs are found, not their scores. Throws
  /// UserError unless the graph IsRanked.
  OutputTables(const Graph& graph, const ParamView& params, const Batch& sample,
               const OutputTableSettings& settings = {});

  void Keys(const float* hidden, int64_t count, std::vector<uint32_t>& keys) const override;
  void Find(const uint32_t* keys, Marks& marks, std::vector<int32_t>& ids) const override;
  OutputTableSettings search_settings() const override { return settings_; }
  int64_t always() const override { return always_; }
  int64_t table_bytes() const override { return tables_->bytes(); }

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
