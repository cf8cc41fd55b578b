// The library that reads and writes Parquet files: Apache Arrow decodes their columns to lines of
// CSV and back, so that a table is the same whichever file it is in.
#include <arrow/array.h>
#include <arrow/compute/api.h>
#include <arrow/csv/api.h>
#include <arrow/csv/writer.h>
#include <arrow/io/file.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/writer.h>

#include <algorithm>
#include <span>

#include "base/check.h"
#include "data/parquet.h"

namespace yoke {
namespace {

constexpr int64_t kRowsAPiece = 1 << 14;

/// The result, or what is wrong with the file.
template <typename T>
T Good(arrow::Result<T> result, const std::string& path) {
  if (!result.ok()) throw UserError(fmt::format("{}: {}", path, result.status().message()));
  return std::move(result).ValueUnsafe();
}

void Succeed(const arrow::Status& status, const std::string& path) {
  if (!status.ok()) throw UserError(fmt::format("{}: {}", path, status.message()));
}

bool IsCell(const arrow::DataType& type) {
  return arrow::is_primitive(type.id()) || arrow::is_base_binary_like(type.id()) ||
         arrow::is_decimal(type.id()) || type.id() == arrow::Type::NA;
}

class ParquetLines : public ByteSource {
 public:
  ParquetLines(const std::string& path, char delimiter) : path_(path) {
    auto file = Good(arrow::io::ReadableFile::Open(path), path);
    reader_ = Good(parquet::arrow::OpenFile(file, arrow::default_memory_pool()), path);
    reader_->set_use_threads(true);
    reader_->set_batch_size(kRowsAPiece);
    batches_ = Good(reader_->GetRecordBatchReader(), path);
    options_.delimiter = delimiter;
    schema_ = PlainSchema(*batches_->schema());
  }

  std::string_view Next() override {
    do {
      std::shared_ptr<arrow::RecordBatch> batch;
      Succeed(batches_->ReadNext(&batch), path_);
      if (!batch && !options_.include_header) return {};
      Write(batch.get());
    } while (lines_->size() == 0);
    return {reinterpret_cast<const char*>(lines_->data()), static_cast<size_t>(lines_->size())};
  }

  const std::string& Name() const override { return path_; }

 private:
  // Null: a file without rows has a header, too.
  void Write(const arrow::RecordBatch* batch) {
    auto sink = Good(arrow::io::BufferOutputStream::Create(), path_);
    auto writer = Good(arrow::csv::MakeCSVWriter(sink, schema_, options_), path_);
    if (batch) Succeed(writer->WriteRecordBatch(*Plain(*batch)), path_);
    Succeed(writer->Close(), path_);
    const int64_t rows = (batch ? batch->num_rows() : 0) + (options_.include_header ? 1 : 0);
    options_.include_header = false;
    lines_ = Good(sink->Finish(), path_);
    const std::span text(reinterpret_cast<char*>(lines_->mutable_data()),
                         static_cast<size_t>(lines_->size()));
    if (std::ranges::count(text, '\n') != rows) DropLineEnds(text);
  }

  // Those in texts become blanks.
  static void DropLineEnds(std::span<char> text) {
    bool quoted = false;
    for (char& c : text) {
      quoted ^= c == '"';
      if (quoted && (c == '\n' || c == '\r')) c = ' ';
    }
  }

  // Dictionaries become their values.
  std::shared_ptr<arrow::Schema> PlainSchema(const arrow::Schema& schema) const {
    arrow::FieldVector fields;
    for (const auto& field : schema.fields()) {
      auto type = field->type();
      if (type->id() == arrow::Type::DICTIONARY)
        type = static_cast<const arrow::DictionaryType&>(*type).value_type();
      Require(IsCell(*type),
              "{}: column '{}' holds {}; expected numbers, texts or booleans: write the file "
              "without it",
              path_, field->name(), type->ToString());
      fields.push_back(arrow::field(field->name(), type));
    }
    return arrow::schema(fields);
  }

  std::shared_ptr<arrow::RecordBatch> Plain(const arrow::RecordBatch& batch) const {
    arrow::ArrayVector columns;
    for (int i = 0; i < batch.num_columns(); ++i) {
      const auto& column = batch.column(i);
      columns.push_back(column->type_id() == arrow::Type::DICTIONARY ? Decoded(*column) : column);
    }
    return arrow::RecordBatch::Make(schema_, batch.num_rows(), std::move(columns));
  }

  std::shared_ptr<arrow::Array> Decoded(const arrow::Array& column) const {
    const auto& coded = static_cast<const arrow::DictionaryArray&>(column);
    return Good(arrow::compute::Take(*coded.dictionary(), *coded.indices()), path_);
  }

  std::string path_;
  std::unique_ptr<parquet::arrow::FileReader> reader_;
  std::shared_ptr<arrow::RecordBatchReader> batches_;
  std::shared_ptr<arrow::Schema> schema_;
  arrow::csv::WriteOptions options_ = arrow::csv::WriteOptions::Defaults();
  std::shared_ptr<arrow::Buffer> lines_;
};

std::unique_ptr<ByteSource> Open(const std::string& path, char delimiter) {
  return std::make_unique<ParquetLines>(path, delimiter);
}

std::string BytesOf(const std::string& lines, const std::string& path) {
  auto reader =
      Good(arrow::csv::TableReader::Make(
               arrow::io::default_io_context(),
               std::make_shared<arrow::io::BufferReader>(std::make_shared<arrow::Buffer>(lines)),
               arrow::csv::ReadOptions::Defaults(), arrow::csv::ParseOptions::Defaults(),
               arrow::csv::ConvertOptions::Defaults()),
           path);
  const auto table = Good(reader->Read(), path);
  auto sink = Good(arrow::io::BufferOutputStream::Create(), path);
  Succeed(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), sink), path);
  return Good(sink->Finish(), path)->ToString();
}

}  // namespace
}  // namespace yoke

/// Named by kParquet.
extern "C" __attribute__((visibility("default"))) const yoke::ParquetLibrary yoke_parquet;
const yoke::ParquetLibrary yoke_parquet = {.open = yoke::Open, .bytes_of = yoke::BytesOf};
