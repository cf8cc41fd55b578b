// WriteWordVectors: a model's vectors of words as text for other programs (yoke export).
#pragma once

#include "api/model_file.h"
#include "data/writers.h"

namespace yoke {

/// Writes what the layers below the output give for each word of a model that was trained on text
/// (format skip-gram), in the text format of word2vec: a line "words dimensions", then "word v1 v2
/// ..." for each, the most frequent word first. Returns the dimensions. Throws UserError if the
/// model has no words or no linear output layer.
int64_t WriteWordVectors(const ModelFile& model, OutputFile& file);

}  // namespace yoke
