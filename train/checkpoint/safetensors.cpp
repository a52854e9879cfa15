#include "train/checkpoint/safetensors.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <set>

#include "registry/base/atomic_file.h"
#include "registry/base/error.h"
#include "train/checkpoint/safetensors_header.h"
#include "train/data/input_file.h"

namespace halyard {
namespace {

constexpr uint64_t max_header = 100'000'000;  // the limit of the format's own reader
// The key in files of older versions: a checksum of the tensors' bytes only.
const std::string data_checksum_key = "halyard.xxh3_64";
// The key of the checksum of the whole file, with zeros in place of its own digits. The second key
// states that there is one: a damaged bit can remove only one of the two.
const std::string checksum_key = "halyard.checksum", checksum_of_key = "halyard.checksum_of";
const std::string before_digits = "\"" + checksum_key + "\":\"";
const std::string no_digits(16, '0');

constexpr std::pair<const char *, DType> dtypes[] = {
    {"F64", DType::f64},   {"F32", DType::f32}, {"F16", DType::f16},
    {"BF16", DType::bf16}, {"I64", DType::i64}, {"I32", DType::i32},
    {"I8", DType::i8},     {"U8", DType::u8},   {"BOOL", DType::boolean}};

DType dtype_in(const std::string &path, const SafetensorsHeader::Entry &e) {
    for (auto &[text, t] : dtypes)
        if (e.dtype == text) return t;
    throw DTypeError(path,
                     "'" + e.name + "' has type " + e.dtype +
                         ", which no dtype is: there are F64 F32 F16 BF16 I64 I32 I8 U8 BOOL");
}
std::string text_of(DType t) {
    for (auto &[text, dtype] : dtypes)
        if (dtype == t) return text;
    return "";
}

// Returns XXH3 as 16 hexadecimal digits.
class Checksum {
public:
    Checksum() : state_(XXH3_createState(), XXH3_freeState) { XXH3_64bits_reset(state_.get()); }
    void add(const void *data, size_t bytes) { XXH3_64bits_update(state_.get(), data, bytes); }
    void add(const Tensor &t) { add(t.bytes_to_read(), t.bytes()); }
    std::string text() const {
        char digits[20];
        std::snprintf(digits, sizeof digits, "%016llx",
                      (unsigned long long)XXH3_64bits_digest(state_.get()));
        return digits;
    }

private:
    std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t *)> state_;
};

// Sorts the entries by their bytes, which must be adjacent up to the end of the file.
void check_layout(const std::string &path, std::vector<SafetensorsHeader::Entry> &entries,
                  uint64_t data) {
    std::stable_sort(entries.begin(), entries.end(),
                     [](auto &a, auto &b) { return a.offsets < b.offsets; });
    uint64_t at = 0;
    for (auto &e : entries) {
        if (e.offsets[0] != at || e.offsets[1] < at) {
            throw IoError(path, "'" + e.name + "' is at bytes " + std::to_string(e.offsets[0]) +
                                    " to " + std::to_string(e.offsets[1]) +
                                    ", expected to begin at " + std::to_string(at));
        }
        const uint64_t bytes = uint64_t(checked_elements(path.c_str(), *e.shape)) *
                               bytes_of(dtype_in(path, e));
        if (e.offsets[1] - at != bytes) {
            throw IoError(path, "'" + e.name + "' has " + std::to_string(e.offsets[1] - at) +
                                    " bytes, but " + e.dtype + " " + e.shape->text() + " takes " +
                                    std::to_string(bytes));
        }
        at = e.offsets[1];
    }
    if (at != data) {
        throw IoError(path, "has " + std::to_string(data) + " bytes of data, its tensors have " +
                                std::to_string(at));
    }
}

uint64_t little_endian(const unsigned char *b) {
    uint64_t n = 0;
    for (int i = 8; i-- > 0;)
        n = n << 8 | b[i];
    return n;
}

std::string little_endian(uint64_t n) {
    std::string bytes;
    for (int i = 0; i < 8; i++)
        bytes += char(n >> 8 * i);
    return bytes;
}

// Reads the header's text.
std::string read_header(const std::string &path, InputFile &file) {
    std::array<unsigned char, 8> start;
    if (file.length < start.size() || !file.stream.read((char *)start.data(), start.size())) {
        throw IoError(path, "truncated: " + std::to_string(file.length) +
                                " bytes, the header's length alone has 8");
    }
    const uint64_t n = little_endian(start.data());
    if (n > std::min(file.length - start.size(), max_header)) {
        throw IoError(path, "truncated, or no safetensors file: a header of " + std::to_string(n) +
                                " bytes in a file of " + std::to_string(file.length));
    }
    std::string text(n, ' ');
    if (!file.stream.read(text.data(), (std::streamsize)n)) throw IoError(path, "can't be read");
    return text;
}

// The checksum that a file states, and the one computed up to the first tensor.
struct Check {
    std::string expected;  // "" if the file has none
    Checksum sum;

    Check(const std::string &path, std::string text,
          const std::map<std::string, std::string> &metadata) {
        const auto whole = metadata.find(checksum_key);
        const auto of = metadata.find(checksum_of_key);
        const auto data = metadata.find(data_checksum_key);
        if (whole == metadata.end() && of == metadata.end()) {
            if (data != metadata.end()) expected = data->second;
            return;
        }
        const size_t digits = whole == metadata.end()
                                  ? std::string::npos
                                  : text.find(before_digits + whole->second + "\"");
        if (digits == std::string::npos || whole->second.size() != no_digits.size())
            throw IoError(path, "damaged: its checksum is incomplete");
        expected = whole->second;
        text.replace(digits + before_digits.size(), no_digits.size(), no_digits);
        const std::string start = little_endian(text.size());
        sum.add(start.data(), start.size());
        sum.add(text.data(), text.size());
    }
};

void remove_checksums(std::map<std::string, std::string> &metadata) {
    for (const std::string &key : {data_checksum_key, checksum_key, checksum_of_key})
        metadata.erase(key);
}

}  // namespace

NamedTensors load_safetensors(const std::string &path) {
    InputFile input(path);
    std::ifstream &file = input.stream;
    std::string text = read_header(path, input);
    const uint64_t n = text.size();
    SafetensorsHeader header = parse_safetensors_header(path, text);
    check_layout(path, header.entries, input.length - 8 - n);
    Check check(path, std::move(text), header.metadata);

    NamedTensors all{{}, std::move(header.metadata)};
    for (auto &e : header.entries) {
        const Tensor t = Tensor::empty(*e.shape, dtype_in(path, e));
        if (!file.read((char *)t.raw(), (std::streamsize)t.bytes()))
            throw IoError(path, "'" + e.name + "' can't be read");
        check_bools(path, e.name, t);
        if (!check.expected.empty()) check.sum.add(t);
        all.tensors.emplace_back(e.name, t);
    }
    if (!check.expected.empty() && check.expected != check.sum.text()) {
        throw IoError(path, "damaged: its content has checksum " + check.sum.text() +
                                ", expected " + check.expected);
    }
    remove_checksums(all.metadata);
    return all;
}

std::map<std::string, std::string> load_safetensors_metadata(const std::string &path) {
    InputFile input(path);
    SafetensorsHeader header = parse_safetensors_header(path, read_header(path, input));
    remove_checksums(header.metadata);
    return std::move(header.metadata);
}

void save_safetensors(const std::string &path, const NamedTensors &all) {
    SafetensorsHeader header{{}, all.metadata};
    std::set<std::string> names;
    std::vector<Tensor> dense;
    uint64_t at = 0;
    for (auto &[name, t] : all.tensors) {
        take_name(path, name, names);
        if (name == "__metadata__") throw IoError(path, "no tensor can be called __metadata__");
        dense.push_back(t.contiguous());
        header.entries.push_back(
            {name, text_of(t.dtype()), t.shape(), {at, at + dense.back().bytes()}});
        at += dense.back().bytes();
    }
    remove_checksums(header.metadata);
    header.metadata[checksum_key] = no_digits;
    header.metadata[checksum_of_key] = "file";
    std::string text = text_of(header);
    text.resize((text.size() + 7) / 8 * 8, ' ');  // aligns the data to 8 bytes
    const std::string start = little_endian(text.size());
    Checksum sum;
    sum.add(start.data(), start.size());
    sum.add(text.data(), text.size());
    for (const Tensor &t : dense)
        sum.add(t);
    const size_t digits = text.find(before_digits + no_digits) + before_digits.size();
    text.replace(digits, no_digits.size(), sum.text());
    AtomicFile file(path);
    file.write(start);
    file.write(text);
    for (const Tensor &t : dense)
        file.write(t.bytes_to_read(), t.bytes());
    file.commit();
}

}  // namespace halyard
