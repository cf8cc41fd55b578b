// Any bytes as the files of a checkpoint: as they are, and once more with a checksum that fits, so
// that what lies behind it is reached. Those that begin with a brace are a checkpoint.json, whose
// job and model are made, all others a .safetensors file.
// guards: src/train/checkpoint src/base/json.cc
#include <cstdint>
#include <string>

#include "base/check.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/safetensors.h"
#include "train/files.h"
#include "train/replica.h"

namespace yoke {
namespace {

void Read(const std::string& bytes) {
  try {
    if (bytes.starts_with('{')) {
      const CheckpointHeader header = DecodeHeader(bytes, "checkpoint.json").header;
      const Job job = MakeJob(header.job, "job", /*folder=*/"");
      if (!job.model().Find("file")) BuildModel(job.model(), TaskOf(header.data));
    } else {
      const Safetensors file(bytes, "model.safetensors");
      for (const StoredTensor& tensor : file.tensors())
        ChecksumOf({static_cast<const char*>(tensor.data), static_cast<size_t>(tensor.Bytes())});
    }
  } catch (const UserError&) {  // Nothing else may come out.
  }
}

/// With a checksum that fits, where one stands.
std::string Sealed(std::string bytes) {
  const std::string key = bytes.starts_with('{') ? "\"checksum\": \"" : "\"checksum\":\"";
  const size_t at = bytes.find(key);
  if (at != bytes.npos && at + key.size() + 16 <= bytes.size()) Seal(bytes, at + key.size());
  return bytes;
}

}  // namespace
}  // namespace yoke

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  yoke::Read(bytes);
  yoke::Read(yoke::Sealed(bytes));
  return 0;
}
