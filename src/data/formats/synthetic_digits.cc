// synthetic-digits: handwriting-like digits, drawn when the job starts; nothing is downloaded.
#include "base/random.h"
#include "base/resources.h"
#include "base/thread.h"
#include "data/digits.h"
#include "data/memory_reader.h"

namespace yoke {
namespace {

void Generate(const DigitKey& first, int64_t size, MemoryData& data) {
  data.size = size;
  uint8_t* images = data.bytes.Extend(size * kDigitPixels);
  int32_t* classes = data.classes.Extend(size);
  ParallelFor(size, UsableCores(), [&](int64_t begin, int64_t end) {
    DigitKey key = first;
    for (int64_t i = begin; i < end; ++i) {
      key.index = i;
      classes[i] = DrawDigit(key, images + i * kDigitPixels);
    }
  });
}

LoadedData LoadDigits(const Options& options, const ReadFiles& files) {
  LoadedData data(files.memory_limit);
  data.info.input = {1, kDigitSide, kDigitSide};
  data.info.outputs = 10;
  for (int digit = 0; digit < 10; ++digit) data.info.label_names.push_back(std::to_string(digit));
  data.info.normalization.scale = 1.0 / 255;
  if (files.like) data.info = *files.like;
  const auto seed = static_cast<uint64_t>(options.Int("seed"));
  if (!files.test_only)
    Generate({.seed = seed, .test = false}, options.Int("train_size"), data.train);
  Generate({.seed = seed, .test = true}, options.Int("test_size"), data.test);
  return data;
}

}  // namespace

FormatEntry synthetic_digits_format() {
  return {.name = "synthetic-digits",
          .kind = FormatKind::kImages,
          .summary = "28x28 handwriting-like digits, drawn from strokes when the job starts",
          .options = {{.name = "train_size",
                       .type = OptionType::kInt,
                       .fallback = 12000,
                       .help = "Training images to draw.",
                       .minimum = 1,
                       .maximum = 1e9},
                      {.name = "test_size",
                       .type = OptionType::kInt,
                       .fallback = 2000,
                       .help = "Test images to draw; 0: no test data.",
                       .minimum = 0,
                       .maximum = 1e9},
                      {.name = "seed",
                       .type = OptionType::kInt,
                       .fallback = 1,
                       .help = "Which images are drawn; train.seed does not change them.",
                       .minimum = 0}},
          .synthetic = true,
          .load = &LoadDigits};
}

}  // namespace yoke
