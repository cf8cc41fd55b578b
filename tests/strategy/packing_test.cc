// Packing: what is packed comes out again, and a message of another model is refused.
#include "strategy/packing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "strategy/rows.h"

namespace yoke::packing_test {

ParamLayout Layout(int64_t width) {
  ParamLayout layout;
  layout.Add({.name = "mean", .shape = {3}, .kind = SliceKind::kBuffer});
  layout.Add({.name = "table", .shape = {9, width}, .kind = SliceKind::kRowSparse});
  layout.Add({.name = "weight", .shape = {5}});
  layout.Pack();
  return layout;
}

TEST(Packing, GivesBackGradientRowsAndStatistics) {
  ParamStore params(Layout(2), Cpu());
  Gradients gradients(params.layout(), Cpu()), theirs(params.layout(), Cpu());
  for (int i = 0; i < 5; ++i) gradients.dense().Host()[i] = static_cast<float>(i);
  gradients.rows(1) = {.ids = {4, 7}, .values = {1, 2, 3, 4}};
  const int64_t begin = params.layout().statistics_begin();
  std::fill_n(params.values().Host().data() + begin, 3, 6.0F);

  std::vector<std::byte> message;
  Compressor plain({});
  AppendGradient(message, params.View(&gradients), Exchanged(params.layout()), plain);
  Unpacker unpacker(message);
  std::vector<float> statistics;
  unpacker.TakeGradient(Exchanged(params.layout()), plain, theirs, statistics);
  EXPECT_TRUE(std::equal(theirs.dense().Host().data(), theirs.dense().Host().data() + 5,
                         gradients.dense().Host().data()));
  EXPECT_EQ(theirs.rows(1).ids, gradients.rows(1).ids);
  EXPECT_EQ(theirs.rows(1).values, gradients.rows(1).values);
  EXPECT_EQ(static_cast<int64_t>(statistics.size()), params.layout().size() - begin);
  EXPECT_EQ(statistics[2], 6);
  unpacker.End();
  EXPECT_THROW(unpacker.Take<char>(), Error);
}

TEST(Packing, RefusesAMessageThatBreaksOff) {
  ParamStore small(Layout(2), Cpu()), large(Layout(40), Cpu());
  Gradients gradients(small.layout(), Cpu()), theirs(large.layout(), Cpu());
  gradients.rows(1) = {.ids = {4}, .values = {1, 2}};
  std::vector<std::byte> message;
  Compressor plain({});
  AppendGradient(message, small.View(&gradients), Exchanged(small.layout()), plain);
  std::vector<float> statistics;
  EXPECT_THROW(Unpacker(message).TakeGradient(Exchanged(large.layout()), plain, theirs, statistics),
               Error);
}

TEST(Packing, CompressesTheDenseGradientAlone) {
  ParamStore params(Layout(2), Cpu());
  Gradients gradients(params.layout(), Cpu()), theirs(params.layout(), Cpu());
  gradients.dense().Host()[1] = 3;
  gradients.dense().Host()[4] = -7;
  theirs.dense().Host()[2] = 100;  // of a message before
  gradients.rows(1) = {.ids = {4}, .values = {1, 1.0F / 3}};
  std::fill_n(params.values().Host().data() + params.layout().statistics_begin(), 3, 1.0F / 3);
  const Exchanged exchanged(params.layout());
  Compressor largest({.kind = Compression::kTopK, .top_share = 1.0 / 16}, exchanged.dense());
  std::vector<float> statistics;
  for (const std::vector<float>& wanted : {std::vector<float>{0, 0, 0, 0, -7}, {0, 6, 0, 0, 0}}) {
    std::vector<std::byte> message;
    AppendGradient(message, params.View(&gradients), exchanged, largest);
    Unpacker unpacker(message);
    unpacker.TakeGradient(exchanged, largest, theirs, statistics);
    unpacker.End();
    EXPECT_TRUE(std::ranges::equal(wanted, std::span(theirs.dense().Host().data(), 5)));
    EXPECT_EQ(theirs.rows(1).values, gradients.rows(1).values);
    EXPECT_EQ(statistics[2], 1.0F / 3);
    gradients.dense().Host()[4] = 0;
  }
}

/// Elements of a part as [begin, end) pairs, empty ones left out.
std::vector<std::pair<int64_t, int64_t>> Part(const Exchanged& exchanged, int part) {
  std::vector<float> values(exchanged.layout().size());
  std::vector<std::pair<int64_t, int64_t>> found;
  int64_t count = 0;
  for (const std::span<float> span : exchanged.PartOf(values, part)) {
    count += std::ssize(span);
    if (span.empty()) continue;
    const int64_t begin = span.data() - values.data();
    found.emplace_back(begin, begin + std::ssize(span));
  }
  EXPECT_EQ(exchanged.PartCount(part), count);
  return found;
}

TEST(Packing, PartsLeaveOutAServedHead) {
  using Spans = std::vector<std::pair<int64_t, int64_t>>;
  ParamLayout layout;
  layout.Add({.name = "mean", .shape = {3}, .kind = SliceKind::kBuffer});
  layout.Add({.name = "below", .shape = {16}});
  layout.Add({.name = "middle", .shape = {16}});
  const int head = layout.Add({.name = "head", .shape = {5}});
  layout.Pack();
  const int64_t rest = layout.dense_size(), end = layout.size();
  ASSERT_EQ(rest, 48);
  const Exchanged served(layout, head, {16});
  EXPECT_EQ(served.parts(), 2);
  EXPECT_EQ(served.dense(), 32);
  EXPECT_EQ(Part(served, 0), (Spans{{0, 16}}));
  EXPECT_EQ(Part(served, 1), (Spans{{16, 32}, {rest, end}}));
  EXPECT_EQ(Part(served.UpTo(16), 0), (Spans{{0, 16}, {rest, end}}));
  const Exchanged all(layout, SliceRange::kEnd, {16, 32});
  EXPECT_EQ(all.parts(), 3);
  EXPECT_EQ(Part(all, 1), (Spans{{16, 32}}));
  EXPECT_EQ(Part(all, 2), (Spans{{32, end}}));
  EXPECT_EQ(Part(all.UpTo(32), 0), (Spans{{0, 32}, {rest, end}}));
  EXPECT_EQ(Part(all.UpTo(all.dense()), 0), (Spans{{0, end}}));
}

TEST(Packing, RowsTravelWeighed) {
  const auto message = PackRows({.ids = {4, 7}, .values = {1, 2, 3, 4}}, 0.5);
  RowGradient rows;
  UnpackRows(message, 2, rows);
  EXPECT_EQ(rows.ids, (std::vector<int32_t>{4, 7}));
  EXPECT_EQ(rows.values, (std::vector<float>{0.5, 1, 1.5, 2}));
  UnpackRows(PackRows({}, 0.5), 2, rows);
  EXPECT_TRUE(rows.ids.empty());
}

TEST(Packing, RefusesRowsOfAnotherWidthOrNumber) {
  std::vector<std::byte> message = PackRows({.ids = {4, 7}, .values = {1, 2, 3, 4}}, 1);
  RowGradient rows;
  EXPECT_THROW(UnpackRows(message, 1, rows), Error);  // something is left over
  EXPECT_THROW(UnpackRows(message, 3, rows), Error);
  const int32_t fewer_than_none = -1;
  std::memcpy(message.data(), &fewer_than_none, sizeof fewer_than_none);
  EXPECT_THROW(UnpackRows(message, 2, rows), Error);
}

}  // namespace yoke::packing_test
