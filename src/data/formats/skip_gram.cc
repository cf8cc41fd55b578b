// skip-gram: text as examples of a word and the words around it (Mikolov et al. 2013, "Distributed
// Representations of Words and Phrases and their Compositionality", arXiv 1310.4546).
#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "base/random.h"
#include "base/utf8.h"
#include "data/memory_reader.h"
#include "data/text.h"

namespace yoke {
namespace {

constexpr int32_t kUnknownWord = -1;
constexpr size_t kLongestWord = 4096;  // bytes

// Purposes of random streams, after those of the synthetic formats.
enum class WordDraw : uint64_t { kKeep = 6, kRadius };

bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

char LowerCased(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// The words of a file. Unlike LineReader it needs no line in memory: Text8 is a single one.
class WordReader {
 public:
  explicit WordReader(ByteSource& source) : source_(source) {}

  // The next word, valid until the next call; false at the end of the file. A byte order mark
  // before the first one is no part of it.
  bool Next(std::string_view& word) {
    if (!Read(word)) return false;
    if (std::exchange(first_, false) && word.starts_with(kByteOrderMark))
      word.remove_prefix(kByteOrderMark.size());
    return !word.empty() || Read(word);
  }

  // Throws UserError "file:line: sentence".
  template <typename... Args>
  [[noreturn]] void Fail(fmt::format_string<Args...> sentence, Args&&... args) const {
    throw UserError(fmt::format("{}:{}: {}", source_.Name(), line_,
                                fmt::format(sentence, std::forward<Args>(args)...)));
  }

 private:
  // The next bytes between blanks.
  bool Read(std::string_view& word) {
    carried_.clear();
    for (;;) {
      if (carried_.empty()) SkipSpace();
      const auto end = std::find_if(piece_.begin(), piece_.end(), IsSpace);
      word = piece_.substr(0, static_cast<size_t>(end - piece_.begin()));
      piece_.remove_prefix(word.size());
      if (!carried_.empty() || piece_.empty()) word = carried_ += word;
      if (word.size() > kLongestWord)
        Fail("a word of more than {} bytes; expected text, words with blanks between",
             kLongestWord);
      if (!piece_.empty()) return true;
      piece_ = source_.Next();
      if (piece_.empty()) return !carried_.empty();
    }
  }

  void SkipSpace() {
    size_t skipped = 0;
    for (; skipped < piece_.size() && IsSpace(piece_[skipped]); ++skipped)
      line_ += piece_[skipped] == '\n';
    piece_.remove_prefix(skipped);
  }

  ByteSource& source_;
  std::string_view piece_;
  std::string carried_;  // beginning of a word that started in an earlier piece
  int64_t line_ = 1;
  bool first_ = true;  // no word has been read
};

// Numbers words: in order of appearance, then by frequency, the most frequent first.
class WordList {
 public:
  WordList() = default;
  explicit WordList(const std::vector<std::string>& names) : closed_(true) {
    for (const std::string& name : names) Add(name);
  }

  // The number of a word; of an unknown one, a new number while open, kUnknownWord when closed.
  int32_t Find(std::string_view word, const WordReader& words) {
    const auto found = ids_.find(word);
    if (found != ids_.end()) return found->second;
    if (!IsPlain(word))
      words.Fail("{} is no word: expected UTF-8 text, words with blanks between", Quoted(word));
    return closed_ ? kUnknownWord : Add(word);
  }

  // Keeps words that occur `least` times or more in `text`, of them the `most` most frequent, ties
  // by text, and numbers `text` anew.
  void Close(int64_t least, int64_t most, std::span<int32_t> text) {
    std::vector<int64_t> counts(names_.size());
    for (const int32_t id : text) ++counts[id];
    std::vector<int32_t> order;
    for (size_t id = 0; id < counts.size(); ++id)
      if (counts[id] >= least) order.push_back(static_cast<int32_t>(id));
    std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      return counts[a] != counts[b] ? counts[a] > counts[b] : names_[a] < names_[b];
    });
    if (std::ssize(order) > most) order.resize(static_cast<size_t>(most));
    const std::vector<int32_t> rank = Renumber(order);
    for (int32_t& id : text) id = rank[id];
  }

  const std::vector<std::string>& names() const { return names_; }

 private:
  int32_t Add(std::string_view word) {
    const auto id = static_cast<int32_t>(names_.size());
    names_.emplace_back(word);
    ids_.emplace(word, id);
    return id;
  }

  // Returns the new number of each word.
  std::vector<int32_t> Renumber(const std::vector<int32_t>& order) {
    std::vector<int32_t> rank(names_.size(), kUnknownWord);
    const std::vector<std::string> names = std::exchange(names_, {});
    ids_.clear();
    closed_ = true;
    for (const int32_t id : order) rank[id] = Add(names[id]);
    return rank;
  }

  bool closed_ = false;
  std::vector<std::string> names_;
  std::unordered_map<std::string, int32_t, TextHash, std::equal_to<>> ids_;
};

// Word w, of frequency f(w) in the text, is kept with probability min(1, sqrt(subsample / f(w))).
class Subsampling {
 public:
  Subsampling(double subsample, size_t words, std::span<const int32_t> text) : keep_(words) {
    for (const int32_t id : text) ++keep_[id];
    for (double& count : keep_)
      count = std::sqrt(subsample * static_cast<double>(text.size()) / count);
  }
  bool Keeps(int32_t word, Random& random) const { return random.Uniform() < keep_[word]; }

 private:
  std::vector<double> keep_;  // by word
};

class SkipGramLoader {
 public:
  SkipGramLoader(const Options& options, const ReadFiles& files)
      : options_(options),
        files_(files),
        lowercase_(options.Bool("lowercase")),
        window_(static_cast<uint64_t>(options.Int("window"))) {
    Require(!options.Has("features"), "{} has no effect here: features are the words; expected {}",
            options.Where("features"), "data.vocabulary");
    if (files.like) words_ = WordList(files.like->label_names);
  }

  LoadedData Load() {
    LoadedData loaded(files_.memory_limit);
    GrowingArray<int32_t> text = ReadText(files_.train);
    if (!files_.like) CloseWords(text);
    AddExamples(files_.train, text.span(), loaded.train);
    text = ReadText(files_.test);
    AddExamples(files_.test, text.span(), loaded.test);
    const auto words = static_cast<int64_t>(words_.names().size());
    loaded.info = {.input = {words},
                   .sparse = true,
                   .multi_label = true,
                   .outputs = words,
                   .label_names = words_.names(),
                   .labelled = !files_.labels_optional};
    return loaded;
  }

 private:
  GrowingArray<int32_t> ReadText(const std::vector<std::string>& paths) {
    GrowingArray<int32_t> text(files_.memory_limit);
    for (const std::string& path : paths) ReadFile(*files_.open(path), text);
    return text;
  }

  void ReadFile(ByteSource& source, GrowingArray<int32_t>& text) {
    WordReader words(source);
    const int64_t before = text.size();
    std::string lower;
    for (std::string_view word; words.Next(word);) {
      if (lowercase_) {
        lower.resize(word.size());
        std::transform(word.begin(), word.end(), lower.begin(), LowerCased);
        word = lower;
      }
      text.push_back(words_.Find(word, words));
      if (files_.labels_optional && text[text.size() - 1] == kUnknownWord)
        words.Fail("{} is none of the {} words that the model knows", Quoted(word),
                   words_.names().size());
    }
    Require(text.size() > before, "{}: the file is empty; expected text", source.Name());
  }

  void CloseWords(GrowingArray<int32_t>& text) {
    const int64_t least = options_.Int("min_count");
    const int64_t most = options_.Has("vocabulary") ? options_.Int("vocabulary") : INT64_MAX;
    words_.Close(least, most, text.span());
    Require(words_.names().size() > 1,
            "{}: too few different words occur {} times or more: {}; expected two at least "
            "(data.min_count)",
            files_.train.front(), least, words_.names().size());
  }

  // Unknown words, then those that subsampling drops, are taken out of the text first.
  void AddExamples(const std::vector<std::string>& paths, std::span<int32_t> text,
                   MemoryData& data) const {
    if (paths.empty()) return;
    if (files_.labels_optional) return AddWords(text, data);
    std::span<int32_t> known(text.begin(), std::remove(text.begin(), text.end(), kUnknownWord));
    const double subsample = options_.Float("subsample");
    if (subsample > 0) known = Subsampled(subsample, known);
    AddWindows(known, data);
    Require(data.size > 0,
            "{}: fewer than two words are left of the text, whose words must be in the vocabulary "
            "(data.min_count, data.subsample)",
            paths.front());
  }

  std::span<int32_t> Subsampled(double subsample, std::span<int32_t> text) const {
    const Subsampling subsampling(subsample, words_.names().size(), text);
    Random random = Stream(WordDraw::kKeep);
    const auto end = std::remove_if(text.begin(), text.end(),
                                    [&](int32_t word) { return !subsampling.Keeps(word, random); });
    return {text.begin(), end};
  }

  // An example a word: the words at a distance up to a radius, drawn from 1 to the window.
  void AddWindows(std::span<const int32_t> text, MemoryData& data) const {
    const auto size = std::ssize(text);
    Random random = Stream(WordDraw::kRadius);
    std::vector<int32_t> context;
    for (int64_t at = 0; size > 1 && at < size; ++at) {
      const auto radius = 1 + static_cast<int64_t>(random.Below(window_));
      const int64_t begin = std::max<int64_t>(at - radius, 0);
      const int64_t end = std::min(at + radius + 1, size);
      context.assign(text.begin() + begin, text.begin() + at);
      context.insert(context.end(), text.begin() + at + 1, text.begin() + end);
      AddLabels(context, data.labels);
      AddWord(text[at], data);
    }
  }

  static void AddLabels(std::vector<int32_t>& context, SparseArrays& labels) {
    std::sort(context.begin(), context.end());
    context.erase(std::unique(context.begin(), context.end()), context.end());
    labels.ids.Append(context);
    labels.EndRow();
  }

  static void AddWord(int32_t word, MemoryData& data) {
    data.sparse.ids.push_back(word);
    data.sparse.EndRow();
    ++data.size;
  }

  static void AddWords(std::span<const int32_t> text, MemoryData& data) {
    for (const int32_t word : text) AddWord(word, data);
  }

  // The same for both sets, so that a text gives the same examples as either.
  Random Stream(WordDraw draw) const {
    return Random({static_cast<uint64_t>(options_.Int("seed")), Word(Draw::kSynthetic),
                   static_cast<uint64_t>(draw)});
  }

  const Options& options_;
  const ReadFiles& files_;
  bool lowercase_;
  uint64_t window_;
  WordList words_;
};

LoadedData LoadSkipGram(const Options& options, const ReadFiles& files) {
  return SkipGramLoader(options, files).Load();
}

std::vector<OptionSpec> SkipGramOptions() {
  return {{.name = "vocabulary",
           .type = OptionType::kInt,
           .help = "At most so many words, the most frequent ones; without it no limit.",
           .minimum = 2,
           .maximum = INT32_MAX - 1},
          {.name = "min_count",
           .type = OptionType::kInt,
           .fallback = 5,
           .help = "Words that occur less often are left out of the text.",
           .minimum = 1,
           .maximum = kMostCount},
          {.name = "window",
           .type = OptionType::kInt,
           .fallback = 5,
           .help = "Labels are the words at a distance of at most a number drawn from 1 to this.",
           .minimum = 1,
           .maximum = 1000},
          {.name = "subsample",
           .type = OptionType::kFloat,
           .fallback = 1e-3,
           .help = "A word of frequency f stays in the text with probability sqrt(subsample / f); "
                   "0: all stay.",
           .minimum = 0,
           .maximum = 1},
          {.name = "lowercase",
           .type = OptionType::kBool,
           .fallback = false,
           .help = "Whether the letters A to Z become a to z."},
          {.name = "seed",
           .type = OptionType::kInt,
           .fallback = 1,
           .help = "Which words and windows are drawn; train.seed does not change it.",
           .minimum = 0,
           .maximum = 1e9}};
}

}  // namespace

FormatEntry skip_gram_format() {
  return {.name = "skip-gram",
          .summary = "text: a word, and the words around it as labels; sparse",
          .options = SkipGramOptions(),
          .load = &LoadSkipGram};
}

}  // namespace yoke
