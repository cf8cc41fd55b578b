// The library that reads and writes Parquet files: Apache Arrow decodes their columns to lines of
// CSV and back, so that a table is the same whichever file it is in.
#include <arrow/array.h>
#include <arrow/array/builder_binary.h>
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
#include <utility>

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

// The index of a DataFrame, where it has no name.
bool IsPandasIndex(const std::string& name) {
  return name.starts_with("__index_level_") && name.ends_with("__");
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
    const bool has_returns = std::ranges::find(text, '\r') != text.end();
    if (has_returns || std::ranges::count(text, '\n') != rows) DropLineEnds(text);
  }

  // Those in texts become blanks, CR without LF too.
  static void DropLineEnds(std::span<char> text) {
    bool quoted = false;
    for (char& c : text) {
      quoted ^= c == '"';
      if (quoted && (c == '\n' || c == '\r')) c = ' ';
    }
  }

  // Dictionaries become their values, and an only column texts.
  std::shared_ptr<arrow::Schema> PlainSchema(const arrow::Schema& schema) {
    arrow::FieldVector fields;
    for (int i = 0; i < schema.num_fields(); ++i) {
      const auto& field = schema.field(i);
      if (IsPandasIndex(field->name())) continue;
      auto type = field->type();
      if (type->id() == arrow::Type::DICTIONARY)
        type = static_cast<const arrow::DictionaryType&>(*type).value_type();
      Require(IsCell(*type),
              "{}: column '{}' holds {}; expected numbers, texts or booleans: write the file "
              "without it",
              path_, field->name(), type->ToString());
      fields.push_back(arrow::field(field->name(), type));
      columns_.push_back(i);
    }
    Require(!fields.empty(), "{}: the file holds no column", path_);
    if (fields.size() == 1) fields[0] = fields[0]->WithType(arrow::utf8());
    return arrow::schema(fields);
  }

  std::shared_ptr<arrow::RecordBatch> Plain(const arrow::RecordBatch& batch) const {
    arrow::ArrayVector columns;
    for (const int i : columns_) {
      const auto& column = batch.column(i);
      columns.push_back(column->type_id() == arrow::Type::DICTIONARY ? Decoded(*column) : column);
    }
    if (columns.size() == 1) columns[0] = Texts(*columns[0]);
    return arrow::RecordBatch::Make(schema_, batch.num_rows(), std::move(columns));
  }

  std::shared_ptr<arrow::Array> Decoded(const arrow::Array& column) const {
    const auto& coded = static_cast<const arrow::DictionaryArray&>(column);
    return Good(arrow::compute::Take(*coded.dictionary(), *coded.indices()), path_);
  }

  // Null as the empty text, which has quotes: the line of an only column must not be blank.
  std::shared_ptr<arrow::Array> Texts(const arrow::Array& column) const {
    auto options = arrow::compute::CastOptions::Safe(arrow::utf8());
    options.allow_invalid_utf8 = true;
    const auto cast = Good(arrow::compute::Cast(column, arrow::utf8(), options), path_);
    const auto& texts = static_cast<const arrow::StringArray&>(*cast);
    arrow::StringBuilder filled;
    for (int64_t i = 0; i < texts.length(); ++i)
      Succeed(filled.Append(texts.IsNull(i) ? "" : texts.GetView(i)), path_);
    return Good(filled.Finish(), path_);
  }

  std::string path_;
  std::vector<int> columns_;  // that are read
  std::unique_ptr<parquet::arrow::FileReader> reader_;
  std::shared_ptr<arrow::RecordBatchReader> batches_;
  std::shared_ptr<arrow::Schema> schema_;
  arrow::csv::WriteOptions options_ = arrow::csv::WriteOptions::Defaults();
  std::shared_ptr<arrow::Buffer> lines_;
};

std::unique_ptr<ByteSource> Open(const std::string& path, char delimiter) {
  return std::make_unique<ParquetLines>(path, delimiter);
}

// What Arrow wrote, until it is taken.
class TakenBytes : public arrow::io::OutputStream {
 public:
  std::string Take() { return std::exchange(bytes_, {}); }

  arrow::Status Write(const void* data, int64_t size) override {
    bytes_.append(static_cast<const char*>(data), static_cast<size_t>(size));
    size_ += size;
    return arrow::Status::OK();
  }
  arrow::Result<int64_t> Tell() const override { return size_; }
  arrow::Status Close() override {
    closed_ = true;
    return arrow::Status::OK();
  }
  bool closed() const override { return closed_; }

 private:
  std::string bytes_;
  int64_t size_ = 0;  // of all
  bool closed_ = false;
};

std::shared_ptr<arrow::DataType> TypeOf(ParquetColumn::Kind kind) {
  if (kind == ParquetColumn::Kind::kText) return arrow::utf8();
  return kind == ParquetColumn::Kind::kIndex ? arrow::int64() : arrow::float64();
}

class ArrowWriter : public ParquetWriter {
 public:
  ArrowWriter(std::string path, const std::vector<ParquetColumn>& columns)
      : path_(std::move(path)) {
    parse_.newlines_in_values = true;
    arrow::FieldVector fields;
    for (const ParquetColumn& column : columns) {
      const auto type = TypeOf(column.kind);
      // Two columns may have one name, but types are by names.
      read_.column_names.push_back(std::to_string(fields.size()));
      convert_.column_types[read_.column_names.back()] = type;
      fields.push_back(arrow::field(column.name, type));
    }
    schema_ = arrow::schema(fields);
    writer_ = Good(parquet::arrow::FileWriter::Open(*schema_, arrow::default_memory_pool(), bytes_),
                   path_);
  }

  std::string Write(const std::string& lines) override {
    const auto input =
        std::make_shared<arrow::io::BufferReader>(std::make_shared<arrow::Buffer>(lines));
    const auto reader = Good(arrow::csv::TableReader::Make(arrow::io::default_io_context(), input,
                                                           read_, parse_, convert_),
                             path_);
    const auto table = Good(reader->Read(), path_);
    Succeed(writer_->WriteTable(*arrow::Table::Make(schema_, table->columns())), path_);
    return bytes_->Take();
  }

  std::string End() override {
    Succeed(writer_->Close(), path_);
    return bytes_->Take();
  }

 private:
  std::string path_;
  std::shared_ptr<TakenBytes> bytes_ = std::make_shared<TakenBytes>();
  std::shared_ptr<arrow::Schema> schema_;
  std::unique_ptr<parquet::arrow::FileWriter> writer_;
  arrow::csv::ReadOptions read_ = arrow::csv::ReadOptions::Defaults();
  arrow::csv::ParseOptions parse_ = arrow::csv::ParseOptions::Defaults();
  arrow::csv::ConvertOptions convert_ = arrow::csv::ConvertOptions::Defaults();
};

std::unique_ptr<ParquetWriter> Create(const std::string& path,
                                      const std::vector<ParquetColumn>& columns) {
  return std::make_unique<ArrowWriter>(path, columns);
}

}  // namespace
}  // namespace yoke

/// Named by kParquet.
extern "C" __attribute__((visibility("default"))) const yoke::ParquetLibrary yoke_parquet;
const yoke::ParquetLibrary yoke_parquet = {.open = yoke::Open, .create = yoke::Create};
