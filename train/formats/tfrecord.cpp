#include "train/formats/tfrecord.h"

#include <algorithm>
#include <cstring>

#include "formats/example.pb.h"
#include "registry/base/error.h"
#include "train/data/input_file.h"
#include "train/formats/crc32c.h"

namespace halyard::dataset {
namespace {

// Reads the records of a file in order.
class RecordReader {
public:
    RecordReader(const std::string &path, int64_t max_bytes)
        : path_(path), max_bytes_(uint64_t(max_bytes)), file_(path) {}

    // Reads the next record. Returns false at the end. Without `data` it checks only the length.
    bool next(std::string *data) {
        if (offset_ == file_.length) return false;
        at_ = offset_;
        number_++;
        constexpr uint64_t frame =
            16;  // the bytes of length, its checksum and the message's checksum
        unsigned char head[12];
        // The rest of the file can't be found after a wrong length.
        const uint64_t left = file_.length - std::exchange(offset_, file_.length);
        if (left < frame) fail("has " + std::to_string(left) + " bytes, expected at least 16");
        read(head, sizeof head);
        uint64_t length;
        std::memcpy(&length, head, 8);
        check("length", head, 8, word(head + 8));
        if (length > left - frame) {
            fail("has a length of " + std::to_string(length) + ", but " +
                 std::to_string(left - frame) + " bytes are left");
        }
        if (length > max_bytes_) {
            fail("has a length of " + std::to_string(length) + ", the limit is " +
                 std::to_string(max_bytes_));
        }
        offset_ = at_ + frame + length;
        if (!data) {
            file_.stream.seekg((std::streamoff)offset_);
            return true;
        }
        data->resize(length);
        unsigned char end[4];
        read(data->data(), length);
        read(end, sizeof end);
        check("message", data->data(), length, word(end));
        return true;
    }

    std::string where() const {
        return path_ + ": record " + std::to_string(number_) + " at byte " + std::to_string(at_);
    }

private:
    static uint32_t word(const unsigned char *p) {
        uint32_t w;
        std::memcpy(&w, p, 4);
        return w;
    }
    void read(void *to, uint64_t bytes) {
        if (bytes && !file_.stream.read(static_cast<char *>(to), (std::streamsize)bytes))
            fail("can't be read");
    }
    void check(const char *what, const void *data, uint64_t bytes, uint32_t expected) {
        if (masked_crc32c({static_cast<const char *>(data), bytes}) != expected)
            fail(std::string("is damaged: its ") + what + " hasn't the checksum that stands there");
    }
    [[noreturn]] void fail(const std::string &what) const { throw IoError(where(), what); }

    std::string path_;
    uint64_t max_bytes_;
    InputFile file_;
    uint64_t offset_ = 0, at_ = 0;  // the positions of the next and of the current record
    int64_t number_ = -1;           // the number of the current record, from 0
};

tf::Example example_in(const std::string &where, const std::string &data) {
    tf::Example example;
    if (!example.ParseFromString(data)) throw IoError(where, "is no tf.train.Example");
    return example;
}

template<class T, class List> Tensor tensor_of(const List &values, DType dtype) {
    const Tensor t = Tensor::empty({int64_t(values.size())}, dtype);
    std::copy(values.begin(), values.end(), t.data<T>());
    return t;
}

Tensor column_of(const std::string &where, const TFColumn &column, const tf::Example &example) {
    const auto &features = example.features().feature();
    const auto found = std::find_if(
        features.begin(), features.end(),
        [&](const tf::Features::Entry &e) { return e.name() == column.name; });
    const auto fail = [&](const std::string &what) {
        throw IoError(where, "feature " + column.name + " " + what);
    };
    if (found == features.end()) fail("isn't there");
    const tf::Feature &f = found->value();
    Tensor t;
    switch (f.kind_case()) {
    case tf::Feature::kInt64List: t = tensor_of<int64_t>(f.int64_list().value(), DType::i64); break;
    case tf::Feature::kFloatList: t = tensor_of<float>(f.float_list().value(), DType::f32); break;
    case tf::Feature::kBytesList:
        if (f.bytes_list().value_size() != 1) {
            fail("has " + std::to_string(f.bytes_list().value_size()) +
                 " byte strings, expected 1");
        }
        t = tensor_of<uint8_t>(f.bytes_list().value(0), DType::u8);
        break;
    default: fail("has no value");
    }
    if (column.shape) {
        if (column.shape->elements() != t.elements()) {
            fail("has " + std::to_string(t.elements()) + " values, expected " +
                 column.shape->text());
        }
        t = t.reshape(*column.shape);
    }
    return column.dtype ? t.to(*column.dtype) : t;
}

std::vector<TFColumn> columns_of_first(const std::vector<std::string> &files, int64_t max_bytes) {
    for (const std::string &path : files) {
        RecordReader reader(path, max_bytes);
        std::string data;
        if (!reader.next(&data)) continue;
        std::map<std::string, TFColumn> by_name;
        const tf::Example example = example_in(reader.where(), data);
        for (const tf::Features::Entry &e : example.features().feature())
            by_name[e.name()] = {e.name()};
        std::vector<TFColumn> columns;
        for (auto &[name, column] : by_name)
            columns.push_back(column);
        if (columns.empty()) throw IoError(reader.where(), "has no feature");
        return columns;
    }
    throw AttrError("TFRecordDataset", "no file has a record");
}

std::vector<std::string> names_of(const std::vector<TFColumn> &columns) {
    std::vector<std::string> names;
    for (const TFColumn &c : columns)
        names.push_back(c.name);
    return names;
}

struct TFRecordNode : RecordFilesNode {
    TFRecordNode(const std::vector<std::string> &all, const RecordOptions &o,
                 std::vector<TFColumn> s)
        : RecordFilesNode("TFRecordDataset", all, names_of(s), o), schema(std::move(s)) {}
    std::unique_ptr<Source> read(const std::string &path) const override {
        return std::make_unique<File>(*this, path);
    }

    struct File : Source {
        File(const TFRecordNode &n, const std::string &path)
            : node(n), reader(path, n.options.max_bytes) {}
        bool next(Row &row) override {
            std::string data;
            if (!reader.next(&data)) return false;
            const auto where = std::make_shared<const std::string>(reader.where());
            const tf::Example example = example_in(*where, data);
            Tensors tensors;
            for (const TFColumn &column : node.schema)
                tensors.push_back(column_of(*where, column, example));
            row = Row(node.columns, std::move(tensors), where);
            return true;
        }
        int64_t skip(int64_t n) override {
            int64_t skipped = 0;
            while (skipped < n && reader.next(nullptr))
                skipped++;
            return skipped;
        }
        const TFRecordNode &node;
        RecordReader reader;
    };
    std::vector<TFColumn> schema;
};

}  // namespace

TFRecordDataset::TFRecordDataset(const std::vector<std::string> &files,
                                 const std::vector<TFColumn> &schema, const RecordOptions &options)
    : Dataset(std::make_shared<TFRecordNode>(
          files, options, schema.empty() ? columns_of_first(files, options.max_bytes) : schema)) {}

}  // namespace halyard::dataset
