// Texts of every length keep their numbers, however many there are.
#include "data/text_ids.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace yoke::text_ids_test {

TEST(TextIds, NumbersTextsInOrder) {
  std::vector<std::string> texts = {std::string(2, '\0')};
  for (size_t length = 0; length < 20; ++length)
    for (const char c : {'a', 'b', '\0'})
      for (const size_t at : {size_t{0}, length / 2, length}) {
        std::string text(length, 'a');
        if (at < length) text[at] = c;
        if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
      }
  TextIds ids;
  EXPECT_EQ(ids.Find(""), -1);
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(ids.Find(texts[i]), -1) << texts[i];
    ids.Add(texts[i]);
    for (size_t k = 0; k <= i; ++k) EXPECT_EQ(ids.Find(texts[k]), static_cast<int32_t>(k));
  }
  EXPECT_EQ(ids.size(), texts.size());
  std::vector<int32_t> turned;
  for (size_t i = texts.size(); i > 0; --i) turned.push_back(static_cast<int32_t>(i - 1));
  ids.Renumber(turned);
  for (size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(ids.Find(texts[i]), turned[i]);
}

}  // namespace yoke::text_ids_test
