// Agreement: the ranks compare checksums first and exchange the facts only if these differ.
#include "train/agreement.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/version.h"
#include "train/files.h"

namespace yoke {
namespace {

/// Keys that may differ between machines.
constexpr std::string_view kOfMachine[] = {"node.threads", "node.pin", "data.memory_limit",
                                           "model.algorithms"};

/// The keys of all jobs whose values are paths.
std::set<std::string> PathKeys() {
  std::set<std::string> keys;
  for (const KeyGroup& group : AllKeys())
    for (const OptionSpec& key : group.options)
      if (key.type == OptionType::kPath || key.type == OptionType::kPaths)
        keys.insert(group.section + "." + key.name);
  return keys;
}

/// A value short enough for a message: a long text becomes its beginning and a checksum.
std::string Brief(const std::string& text) {
  constexpr size_t kLongest = 100, kShown = 40;
  if (text.size() <= kLongest) return text;
  return fmt::format("{}... (checksum {})", text.substr(0, kShown), ChecksumOf(text));
}

/// Adds each value of a table as a fact named by its dotted key.
void Flatten(const std::string& key, const Value& value, Facts& facts) {
  if (std::count(std::begin(kOfMachine), std::end(kOfMachine), key) > 0) return;
  const List* list = value.AsList();
  if (const Table* table = value.AsTable()) {
    for (const auto& [name, item] : *table)
      Flatten(key.empty() ? name : fmt::format("{}.{}", key, name), item, facts);
  } else if (list && !list->empty() && list->front().AsTable()) {
    for (size_t i = 0; i < list->size(); ++i)
      Flatten(fmt::format("{}[{}]", key, i), (*list)[i], facts);
  } else {
    facts.push_back({key, Brief(FormatValue(value))});
  }
}

std::string ContentOf(const std::string& path) {
  if (!std::filesystem::is_regular_file(path)) return "no file";
  return fmt::format("a file with the checksum {}", ChecksumOf(MapWhole(path).bytes));
}

/// Paths may differ between machines: removes paths of data and replaces those of a model by the
/// file's checksum.
void ResolvePathFacts(const Job& job, Facts& facts) {
  const std::set<std::string> paths = PathKeys();
  std::erase_if(facts, [&](const Fact& fact) { return paths.count(fact.name) > 0; });
  for (const auto& [name, value] : *job.model().AsTable())
    if (value.AsString() && paths.count("model." + name))
      facts.push_back({"model." + name, ContentOf(*value.AsString())});
}

std::string Encode(const Facts& facts) {
  std::string text;
  for (const Fact& fact : facts) text += fact.name + '\0' + fact.value + '\0';
  return text;
}

/// The checksum does not depend on the order of the facts.
std::string SumOf(Facts facts) {
  std::sort(facts.begin(), facts.end(),
            [](const Fact& a, const Fact& b) { return a.name < b.name; });
  return ChecksumOf(Encode(facts));
}

Facts Decode(std::string_view text) {
  const auto cut = [&text] {
    const size_t end = text.find('\0');
    std::string word(text.substr(0, end));
    text.remove_prefix(end + 1);
    return word;
  };
  Facts facts;
  while (!text.empty()) {
    std::string name = cut();
    facts.push_back({std::move(name), cut()});
  }
  return facts;
}

/// Returns a rank of the largest group with equal sums and a rank outside it.
std::pair<int, int> Opponents(const std::vector<std::string>& sums) {
  std::map<std::string, int> votes;
  for (const std::string& sum : sums) ++votes[sum];
  const auto usual = std::max_element(
      sums.begin(), sums.end(),
      [&](const std::string& a, const std::string& b) { return votes[a] < votes[b]; });
  const auto odd =
      std::find_if(sums.begin(), sums.end(), [&](const auto& sum) { return sum != *usual; });
  return {usual - sums.begin(), odd - sums.begin()};
}

const std::string* Find(const Facts& facts, const std::string& name) {
  for (const Fact& fact : facts)
    if (fact.name == name) return &fact.value;
  return nullptr;
}

/// The names of the facts that differ, in the order of `usual`.
std::vector<std::string> Differences(const Facts& usual, const Facts& odd) {
  std::vector<std::string> names;
  for (const Fact& fact : usual)
    if (const std::string* other = Find(odd, fact.name); !other || *other != fact.value)
      names.push_back(fact.name);
  for (const Fact& fact : odd)
    if (!Find(usual, fact.name)) names.push_back(fact.name);
  return names;
}

struct Party {
  int rank = 0;
  Facts facts;

  std::string Of(const std::string& name) const {
    const std::string* value = Find(facts, name);
    return value ? *value : "none";
  }
};

std::string Sentence(const Party& usual, const Party& odd, const std::string& advice) {
  constexpr size_t kNamed = 4;
  std::vector<std::string> names = Differences(usual.facts, odd.facts);
  const std::string name = names.front();
  names.erase(names.begin());
  const bool all = names.size() < kNamed;
  if (!all) names.resize(kNamed - 1);
  const std::string more = names.empty() ? ""
                                         : fmt::format(" (other differences: {}{})",
                                                       fmt::join(names, ", "), all ? "" : ", ...");
  return fmt::format("rank {} has {} = {}, but rank {} has {}{}: {}", odd.rank, name, odd.Of(name),
                     usual.rank, usual.Of(name), more, advice);
}

}  // namespace

std::vector<std::string> GatherTexts(const Communicator& world, const std::string& mine) {
  std::vector<std::string> all;
  for (const auto& bytes : world.AllGather(std::as_bytes(std::span(mine))))
    all.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return all;
}

Facts JobFacts(const Job& job) {
  Facts facts = {{"the version of yoke", fmt::format("{} ({})", Version(), Commit())}};
  Flatten("", job.resolved, facts);
  ResolvePathFacts(job, facts);
  for (Fact& fact : facts)
    if (std::ranges::count(job.open, fact.name) > 0) fact.value = "auto";
  return facts;
}

Job OnThisMachine(Value theirs, const Job& mine) {
  std::set<std::string> keys = PathKeys();
  keys.insert(std::begin(kOfMachine), std::end(kOfMachine));
  theirs.Set("data", mine.data());
  for (const std::string& key : keys) {  // the model's and the node's
    const size_t dot = key.find('.');
    const std::string section = key.substr(0, dot), name = key.substr(dot + 1);
    Value* theirs_section = theirs.Find(section);
    const Value* own = mine.resolved.Find(section)->Find(name);
    if (theirs_section && own)
      theirs_section->Set(name, *own);
    else if (theirs_section)
      theirs_section->Erase(name);
  }
  return MakeJob(std::move(theirs), mine.name, "");
}

Facts DataFacts(const DataSets& data) {
  const auto size = [](const auto& reader) { return std::to_string(reader ? reader->Size() : 0); };
  Facts facts = {{"the number of training examples", size(data.train)},
                 {"the number of validation examples", size(data.validation)},
                 {"the number of test examples", size(data.test)}};
  Facts info;
  Flatten("", InfoAsValue(data.train->Info()), info);
  for (Fact& fact : info) {
    std::replace(fact.name.begin(), fact.name.end(), '_', ' ');
    facts.push_back({"the data's " + fact.name, std::move(fact.value)});
  }
  for (const auto& [name, sum] :
       {std::pair("training", data.training_files), {"test", data.test_files}}) {
    facts.push_back(
        {fmt::format("the checksum of the {} labels", name), fmt::format("{:016x}", sum.labels)});
    facts.push_back(
        {fmt::format("the checksum of the {} inputs", name), fmt::format("{:016x}", sum.inputs)});
  }
  return facts;
}

void CheckAgreement(const Communicator& world, const Facts& facts, const std::string& advice) {
  if (world.size() == 1) return;
  const std::vector<std::string> sums = GatherTexts(world, SumOf(facts));
  const auto [usual, odd] = Opponents(sums);
  if (odd == world.size()) return;
  const std::vector<std::string> texts = GatherTexts(world, Encode(facts));
  throw UserError(Sentence({usual, Decode(texts[usual])}, {odd, Decode(texts[odd])}, advice));
}

}  // namespace yoke
