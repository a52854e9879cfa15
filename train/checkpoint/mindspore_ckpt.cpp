#include "train/checkpoint/mindspore_ckpt.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/wire_format_lite.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <set>

#include "checkpoint/checkpoint.pb.h"
#include "registry/base/atomic_file.h"
#include "registry/base/error.h"
#include "registry/base/log.h"
#include "train/data/input_file.h"

namespace halyard {
namespace {

constexpr std::string_view mark = "crc_num";
// The first text of our files. A file that has it but no checksum is truncated.
const std::string checked_tag = "halyard.checked";
// Protobuf allocates some 70 bytes for a value of two bytes in the file.
constexpr int64_t max_values = 100'000;
constexpr size_t trailer = 17, crc_bytes = 10;
constexpr uint32_t max_text = 1 << 16;  // longer values are tensors
// The bytes of a tensor in one message, as MindSpore writes it.
constexpr int64_t part_bytes = int64_t{512} << 20;

constexpr std::pair<const char *, DType> types[] = {
    {"Float64", DType::f64},   {"Float32", DType::f32}, {"Float16", DType::f16},
    {"BFloat16", DType::bf16}, {"Int64", DType::i64},   {"Int32", DType::i32},
    {"Int8", DType::i8},       {"UInt8", DType::u8},    {"Bool", DType::boolean}};

DType type_in(const std::string &path, const std::string &tag, const std::string &text) {
    for (auto &[name, t] : types)
        if (text == name) return t;
    throw DTypeError(path, "'" + tag + "' has type " + text + ", which no dtype is");
}

Shape shape_in(const std::string &path, const std::string &tag, const ckpt::TensorProto &t) {
    if (t.dims_size() == 1 && t.dims(0) == 0 && !t.tensor_content().empty()) return {};
    if (t.dims_size() > max_rank) {
        throw ShapeError(path, "'" + tag + "' has " + std::to_string(t.dims_size()) +
                                   " dimensions, the limit is 8");
    }
    return Shape(t.dims().begin(), t.dims().end());
}

// Converts UTF-32, NumPy's encoding of texts, to UTF-8.
std::string text_in(const std::string &path, const std::string &tag, const std::string &content) {
    if (content.size() % 4) {
        throw IoError(path, "'" + tag + "' is a text of " + std::to_string(content.size()) +
                                " bytes, expected a multiple of 4");
    }
    std::string text;
    for (size_t i = 0; i < content.size(); i += 4) {
        uint32_t c;
        std::memcpy(&c, content.data() + i, 4);
        if (c > 0x10FFFF) throw IoError(path, "'" + tag + "' is no text");
        if (c < 0x80)
            text += char(c);
        else if (c < 0x800)
            text += {char(0xC0 | c >> 6), char(0x80 | (c & 63))};
        else if (c < 0x10000)
            text += {char(0xE0 | c >> 12), char(0x80 | (c >> 6 & 63)), char(0x80 | (c & 63))};
        else {
            text += {char(0xF0 | c >> 18), char(0x80 | (c >> 12 & 63)), char(0x80 | (c >> 6 & 63)),
                     char(0x80 | (c & 63))};
        }
    }
    return text;
}

bool has_trailer(InputFile &file) {
    std::array<char, mark.size()> start;
    if (file.length < trailer || !file.stream.seekg((std::streamoff)(file.length - trailer)))
        return false;
    return file.stream.read(start.data(), start.size()) &&
           std::string_view(start.data(), start.size()) == mark;
}

struct Content {
    uint64_t length;  // the number of bytes before the trailer
    bool checked;     // true if there is a trailer whose checksum is right
};
Content checked_content(const std::string &path, InputFile &input) {
    std::ifstream &file = input.stream;
    const uint64_t length = input.length;
    if (!has_trailer(input)) return {length, false};
    std::array<unsigned char, crc_bytes> end;
    if (!file.read((char *)end.data(), end.size())) throw IoError(path, "can't be read");
    if (end[0] || end[1]) throw IoError(path, "damaged: its CRC has more than 64 bits");
    uint64_t expected = 0;
    for (const unsigned char byte : end)
        expected = expected << 8 | byte;
    std::vector<unsigned char> part(1 << 16);
    unsigned long sum = crc32(0, nullptr, 0);
    file.seekg(0);
    for (uint64_t left = length - trailer; left > 0;) {
        const size_t n = std::min<uint64_t>(left, part.size());
        if (!file.read((char *)part.data(), (std::streamsize)n))
            throw IoError(path, "can't be read");
        sum = crc32(sum, part.data(), unsigned(n));
        left -= n;
    }
    if (sum != expected) {
        throw IoError(path, "damaged: its content has CRC " + std::to_string(sum) + ", expected " +
                                std::to_string(expected));
    }
    return {length - trailer, true};
}

enum class Level { checkpoint, value, map, tensor };

// The message type of a field, or none.
std::optional<Level> inner(Level of, int field) {
    if (of == Level::checkpoint && field == ckpt::Checkpoint::kValueFieldNumber)
        return Level::value;
    if (of == Level::value && field == ckpt::Checkpoint::Value::kTensorFieldNumber)
        return Level::tensor;
    if (of == Level::value && field == ckpt::Checkpoint::Value::kMaptensorFieldNumber)
        return Level::map;
    if (of == Level::map && field == ckpt::MapTensorProto::kTensorFieldNumber) return Level::tensor;
    return {};
}

// Returns true if every field with a length ends within its message. Protobuf would otherwise
// reserve up to 50 MB for a wrong length. `values` counts the values of the whole checkpoint.
bool lengths_fit(google::protobuf::io::CodedInputStream &in, Level level, int64_t &values) {
    using Wire = google::protobuf::internal::WireFormatLite;
    while (const uint32_t tag = in.ReadTag()) {
        if (Wire::GetTagWireType(tag) != Wire::WIRETYPE_LENGTH_DELIMITED) {
            if (!Wire::SkipField(&in, tag)) return false;
            continue;
        }
        uint32_t n;
        if (!in.ReadVarint32(&n) || n > uint32_t(in.BytesUntilLimit())) return false;
        if (const auto message = inner(level, Wire::GetTagFieldNumber(tag))) {
            values += *message == Level::value;
            const auto outer = in.PushLimit(int(n));
            if (!lengths_fit(in, *message, values)) return false;
            in.PopLimit(outer);
        } else if (!in.Skip(int(n)))
            return false;
    }
    return in.ConsumedEntireMessage();
}

// Parses the first `content` bytes of the file. Throws IoError if they are no complete checkpoint.
// `checked`: the file's checksum is right.
ckpt::Checkpoint parsed(const std::string &path, std::ifstream &file, uint64_t content,
                        bool checked) {
    if (content > INT32_MAX) {
        throw IoError(path,
                      "has " + std::to_string(content) + " bytes, protobuf reads at most 2^31-1");
    }
    const auto from_start = [&](const auto &f) {
        file.clear();
        file.seekg(0);
        google::protobuf::io::IstreamInputStream stream(&file);
        return f(stream);
    };
    int64_t values = 0;
    const int limit = int(content);
    const bool fits = from_start([&](auto &stream) {
        google::protobuf::io::CodedInputStream in(&stream);
        in.PushLimit(limit);
        return lengths_fit(in, Level::checkpoint, values);
    });
    if (fits && values > max_values) {
        throw IoError(path, "has " + std::to_string(values) + " values, the limit is " +
                                std::to_string(max_values));
    }
    if (fits && values == 0 && !checked)
        throw IoError(path, "is empty, or was cut before its first value");
    // Parsing accepts partial messages, because protobuf would print what is missing. The check
    // follows.
    ckpt::Checkpoint read;
    const bool parses = fits && from_start([&](auto &stream) {
                            return read.ParsePartialFromBoundedZeroCopyStream(&stream, limit);
                        });
    if (!parses || !read.IsInitialized())
        throw IoError(path, "no MindSpore checkpoint, or damaged or encrypted");
    return read;
}

// Returns the tensor of a value whose content is in `first` and the parts after it.
Tensor tensor_in(const std::string &path, const std::string &tag, const ckpt::TensorProto &first,
                 const std::vector<std::string> &more) {
    const DType dtype = type_in(path, tag, first.tensor_type());
    const Shape shape = shape_in(path, tag, first);
    uint64_t bytes = first.tensor_content().size();
    for (auto &part : more)
        bytes += part.size();
    const uint64_t needed = uint64_t(checked_elements(path.c_str(), shape)) * bytes_of(dtype);
    if (bytes != needed) {
        throw IoError(path, "'" + tag + "' has " + std::to_string(bytes) + " bytes, but " +
                                first.tensor_type() + " " + shape.text() + " takes " +
                                std::to_string(needed));
    }
    const Tensor t = Tensor::empty(shape, dtype);
    char *to = static_cast<char *>(t.raw());
    to = std::copy(first.tensor_content().begin(), first.tensor_content().end(), to);
    for (auto &part : more)
        to = std::copy(part.begin(), part.end(), to);
    check_bools(path, tag, t);
    return t;
}

}  // namespace

NamedTensors load_mindspore_ckpt(const std::string &path) {
    InputFile input(path);
    const auto [content, checked] = checked_content(path, input);
    ckpt::Checkpoint read = parsed(path, input.stream, content, checked);
    NamedTensors all;
    std::set<std::string> names;
    for (int i = 0; i < read.value_size();) {
        const std::string tag = read.value(i).tag();
        if (!read.value(i).has_tensor())
            throw IoError(path, "'" + tag + "' is a map parameter, or nothing");
        take_name(path, tag, names);
        const ckpt::TensorProto first = std::move(*read.mutable_value(i)->mutable_tensor());
        std::vector<std::string> more;  // the parts after the first
        for (i++; i < read.value_size() && read.value(i).tag() == tag; i++) {
            more.push_back(
                std::move(*read.mutable_value(i)->mutable_tensor()->mutable_tensor_content()));
        }
        if (first.tensor_type() == "str")
            all.metadata[tag] = text_in(path, tag, first.tensor_content());
        else
            all.tensors.emplace_back(tag, tensor_in(path, tag, first, more));
    }
    const bool ours = all.metadata.erase(checked_tag) > 0;
    if (ours && !checked) throw IoError(path, "was cut: the checksum at its end is missing");
    if (!checked) {
        log(LogLevel::warning, "checkpoint",
            path + " has no checksum: that it is whole can't be known");
    }
    return all;
}

std::map<std::string, std::string> load_mindspore_metadata(const std::string &path) {
    InputFile input(path);
    const uint64_t content = input.length - (has_trailer(input) ? trailer : 0);
    if (content > INT32_MAX) {
        throw IoError(path,
                      "has " + std::to_string(content) + " bytes, protobuf reads at most 2^31-1");
    }
    input.stream.clear();
    input.stream.seekg(0);
    google::protobuf::io::IstreamInputStream stream(&input.stream);
    google::protobuf::io::CodedInputStream in(&stream);
    in.PushLimit(int(content));
    std::map<std::string, std::string> metadata;
    const uint32_t value_tag =
        ckpt::Checkpoint::kValueFieldNumber << 3 |
        uint32_t(google::protobuf::internal::WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
    std::string text;
    while (const uint32_t tag = in.ReadTag()) {
        uint32_t bytes = 0;
        if (tag != value_tag || !in.ReadVarint32(&bytes))
            throw IoError(path, "no MindSpore checkpoint, or damaged");
        if (bytes > max_text) {
            if (!in.Skip(int(bytes))) throw IoError(path, "no MindSpore checkpoint, or damaged");
            continue;
        }
        ckpt::Checkpoint::Value value;
        if (!in.ReadString(&text, int(bytes)) || !value.ParsePartialFromString(text))
            throw IoError(path, "no MindSpore checkpoint, or damaged");
        if (value.tensor().tensor_type() == "str")
            metadata[value.tag()] = text_in(path, value.tag(), value.tensor().tensor_content());
    }
    metadata.erase(checked_tag);
    return metadata;
}

void save_mindspore_ckpt(const std::string &path, const NamedTensors &all) {
    AtomicFile file(path);
    unsigned long sum = crc32(0, nullptr, 0);
    const auto write = [&](const std::string &tag, const std::string &type, const Shape &shape,
                           const char *data, int64_t bytes) {
        int64_t at = 0;
        do {
            ckpt::Checkpoint message;
            ckpt::Checkpoint::Value &value = *message.add_value();
            value.set_tag(tag);
            value.mutable_tensor()->set_tensor_type(type);
            for (int64_t extent : shape)
                value.mutable_tensor()->add_dims(extent);
            const int64_t n = std::min(part_bytes, bytes - at);
            value.mutable_tensor()->set_tensor_content(data + at, size_t(n));
            const std::string text = message.SerializeAsString();
            sum = crc32_z(sum, (const unsigned char *)text.data(), text.size());
            file.write(text.data(), text.size());
            at += n;
        } while (at < bytes);
    };
    const auto write_text = [&](const std::string &key, const std::string &value) {
        const std::u32string wide(value.begin(), value.end());
        if (std::any_of(wide.begin(), wide.end(), [](char32_t c) { return c > 127; })) {
            throw IoError(
                path, "'" + key + "' has a text that isn't ASCII, which this writer doesn't keep");
        }
        write(key, "str", {0}, (const char *)wide.data(), int64_t(4 * wide.size()));
    };
    std::set<std::string> names;
    write_text(checked_tag, "crc32");
    for (auto &[name, t] : all.tensors) {
        take_name(path, name, names);
        const Tensor dense = t.contiguous();
        const auto type = std::find_if(std::begin(types), std::end(types),
                                       [&](auto &x) { return x.second == t.dtype(); });
        write(name, type->first, t.shape(), static_cast<const char *>(dense.bytes_to_read()),
              int64_t(dense.bytes()));
    }
    for (auto &[key, value] : all.metadata)
        write_text(key, value);
    std::array<unsigned char, crc_bytes> end = {};
    for (size_t i = 0; i < 4; i++)
        end[crc_bytes - 1 - i] = (unsigned char)(sum >> 8 * i);
    file.write(mark.data(), mark.size());
    file.write(end.data(), end.size());
    file.commit();
}

}  // namespace halyard
