#include "train/safetensors.h"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>

#include "registry/error.h"
#include "train/atomic_file.h"
#include "train/input_file.h"
#include "train/safetensors_header.h"

namespace halyard {
namespace {

constexpr uint64_t most_header = 100'000'000;  // as in the format's own reader
const std::string checksum_key = "halyard.xxh3_64";

constexpr std::pair<const char *, DType> dtypes[] = {{"F64", DType::f64},   {"F32", DType::f32}, {"F16", DType::f16},
                                                     {"BF16", DType::bf16}, {"I64", DType::i64}, {"I32", DType::i32},
                                                     {"I8", DType::i8},     {"U8", DType::u8},   {"BOOL", DType::boolean}};

DType dtype_in(const std::string &path, const SafetensorsHeader::Entry &e) {
    for (auto &[text, t] : dtypes)
        if (e.dtype == text) return t;
    throw DTypeError(path, "'" + e.name + "' has type " + e.dtype + ", which no dtype is: there are F64 F32 F16 BF16 I64 I32 I8 U8 BOOL");
}
std::string text_of(DType t) {
    for (auto &[text, dtype] : dtypes)
        if (dtype == t) return text;
    return "";
}

// XXH3 of all tensors' bytes, as 16 hexadecimal digits.
class Checksum {
public:
    Checksum() : state_(XXH3_createState(), XXH3_freeState) { XXH3_64bits_reset(state_.get()); }
    void add(const Tensor &t) { XXH3_64bits_update(state_.get(), t.raw(), t.bytes()); }
    std::string text() const {
        char digits[20];
        std::snprintf(digits, sizeof digits, "%016llx", (unsigned long long)XXH3_64bits_digest(state_.get()));
        return digits;
    }

private:
    std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t *)> state_;
};

// In the order of their bytes, which have to follow one another up to the file's end.
void check_layout(const std::string &path, std::vector<SafetensorsHeader::Entry> &entries, uint64_t data) {
    std::stable_sort(entries.begin(), entries.end(), [](auto &a, auto &b) { return a.offsets < b.offsets; });
    uint64_t at = 0;
    for (auto &e : entries) {
        if (e.offsets[0] != at || e.offsets[1] < at)
            throw IoError(path, "'" + e.name + "' is at bytes " + std::to_string(e.offsets[0]) + " to " + std::to_string(e.offsets[1]) +
                                    ", expected to begin at " + std::to_string(at));
        const uint64_t bytes = (uint64_t)checked_elements(path.c_str(), *e.shape) * bytes_of(dtype_in(path, e));
        if (e.offsets[1] - at != bytes)
            throw IoError(path, "'" + e.name + "' has " + std::to_string(e.offsets[1] - at) + " bytes, but " + e.dtype + " " + e.shape->text() + " takes " +
                                    std::to_string(bytes));
        at = e.offsets[1];
    }
    if (at != data) throw IoError(path, "has " + std::to_string(data) + " bytes of data, its tensors have " + std::to_string(at));
}

uint64_t little_endian(const unsigned char *b) {
    uint64_t n = 0;
    for (int i = 8; i-- > 0;) n = n << 8 | b[i];
    return n;
}

}  // namespace

NamedTensors load_safetensors(const std::string &path) {
    InputFile input(path);
    std::ifstream &file = input.stream;
    const uint64_t length = input.length;
    unsigned char start[8];
    if (length < 8 || !file.read((char *)start, 8)) throw IoError(path, "truncated: " + std::to_string(length) + " bytes, the header's length alone has 8");
    const uint64_t n = little_endian(start);
    if (n > std::min(length - 8, most_header))
        throw IoError(path, "truncated, or no safetensors file: a header of " + std::to_string(n) + " bytes in a file of " + std::to_string(length));
    std::string text(n, ' ');
    if (!file.read(text.data(), (std::streamsize)n)) throw IoError(path, "can't be read");
    SafetensorsHeader header = parse_safetensors_header(path, text);
    check_layout(path, header.entries, length - 8 - n);

    NamedTensors all{{}, std::move(header.metadata)};
    Checksum sum;
    const auto expected = all.metadata.find(checksum_key);
    for (auto &e : header.entries) {
        const Tensor t = Tensor::empty(*e.shape, dtype_in(path, e));
        if (!file.read((char *)t.raw(), (std::streamsize)t.bytes())) throw IoError(path, "'" + e.name + "' can't be read");
        check_truth(path, e.name, t);
        if (expected != all.metadata.end()) sum.add(t);
        all.tensors.emplace_back(e.name, t);
    }
    if (expected != all.metadata.end() && expected->second != sum.text())
        throw IoError(path, "damaged: its data has checksum " + sum.text() + ", expected " + expected->second);
    all.metadata.erase(checksum_key);
    return all;
}

void save_safetensors(const std::string &path, const NamedTensors &all) {
    SafetensorsHeader header{{}, all.metadata};
    std::set<std::string> names;
    std::vector<Tensor> dense;
    Checksum sum;
    uint64_t at = 0;
    for (auto &[name, t] : all.tensors) {
        take_name(path, name, names);
        if (name == "__metadata__") throw IoError(path, "no tensor can be called __metadata__");
        dense.push_back(t.contiguous());
        header.entries.push_back({name, text_of(t.dtype()), t.shape(), {at, at + dense.back().bytes()}});
        at += dense.back().bytes();
        sum.add(dense.back());
    }
    header.metadata[checksum_key] = sum.text();
    std::string text = text_of(header);
    text.resize((text.size() + 7) / 8 * 8, ' ');  // data begins on 8 bytes
    unsigned char start[8];
    for (int i = 0; i < 8; i++) start[i] = (unsigned char)(text.size() >> 8 * i);
    AtomicFile file(path);
    file.write(start, sizeof start);
    file.write(text.data(), text.size());
    for (const Tensor &t : dense) file.write(t.raw(), t.bytes());
    file.commit();
}

}  // namespace halyard
