#include "registry/tensor/npy.h"

#include <zip.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>

#include "registry/base/atomic_file.h"

namespace halyard {
namespace {

// Bytes of one array: a file, or a member of an archive.
struct Source {
    std::string name;
    uint64_t left;                                  // bytes not yet read
    std::function<bool(void *, uint64_t)> read_at;  // the next bytes; false when they aren't there

    [[noreturn]] void fail(const std::string &what) const { throw IoError(name, what); }
    void read(void *to, uint64_t n, const char *what) {
        if (n > left) {
            fail(std::string("truncated: ") + what + " takes " + std::to_string(n) +
                 " bytes, there are " + std::to_string(left));
        }
        if (!read_at(to, n)) fail(std::string("can't read ") + what);
        left -= n;
    }
};

struct Header {
    std::string descr;
    bool fortran = false;
    Shape shape;
};

// Reads the Python dictionary "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }".
class HeaderReader {
public:
    HeaderReader(const Source &source, const std::string &text) : source_(source), text_(text) {}

    Header read() {
        Header h;
        bool descr = false, order = false, shape = false;
        expect('{');
        while (!eat('}')) {
            const std::string key = quoted();
            expect(':');
            if (key == "descr" && !descr) {
                descr = true;
                h.descr = quoted();
            } else if (key == "fortran_order" && !order) {
                order = true;
                h.fortran = truth();
            } else if (key == "shape" && !shape) {
                shape = true;
                h.shape = tuple();
            } else
                fail();
            if (!eat(',')) {
                expect('}');
                break;
            }
        }
        skip();
        if (at_ != text_.size() || !descr || !order || !shape) fail();
        return h;
    }

private:
    [[noreturn]] void fail() const {
        source_.fail("bad header at " + std::to_string(at_) +
                     ", expected descr, fortran_order and shape");
    }
    void skip() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n'))
            at_++;
    }
    bool eat(char c) {
        skip();
        return at_ < text_.size() && text_[at_] == c ? (at_++, true) : false;
    }
    void expect(char c) {
        if (!eat(c)) fail();
    }
    std::string quoted() {
        const char quote = eat('\'') ? '\'' : '"';
        if (quote == '"') expect('"');
        const size_t end = text_.find(quote, at_);
        if (end == std::string::npos) fail();
        const std::string s = text_.substr(at_, end - at_);
        at_ = end + 1;
        return s;
    }
    bool truth() {
        skip();
        for (const char *word : {"True", "False"}) {
            if (text_.compare(at_, std::strlen(word), word) != 0) continue;
            at_ += std::strlen(word);
            return word[0] == 'T';
        }
        fail();
    }
    Shape tuple() {
        Shape s;
        expect('(');
        while (!eat(')')) {
            skip();
            int64_t v = 0;
            const size_t from = at_;
            for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; at_++) {
                if (__builtin_mul_overflow(v, 10, &v) ||
                    __builtin_add_overflow(v, text_[at_] - '0', &v))
                    fail();
            }
            if (at_ == from) fail();
            if (s.rank() == max_rank)
                throw ShapeError(source_.name, "rank is more than 8, the limit");
            s.push_back(v);
            if (!eat(',')) {
                expect(')');
                break;
            }
        }
        return s;
    }

    const Source &source_;
    const std::string &text_;
    size_t at_ = 0;
};

Header read_header(Source &s) {
    unsigned char start[8], length[4];
    s.read(start, 8, "the start");
    if (std::memcmp(start, "\x93NUMPY", 6) != 0) s.fail("not a .npy file");
    const int version = start[6];
    if (version < 1 || version > 3 || start[7] != 0) {
        s.fail("version is " + std::to_string(version) + "." + std::to_string(start[7]) +
               ", expected 1.0 to 3.0");
    }
    const int bytes = version == 1 ? 2 : 4;
    s.read(length, uint64_t(bytes), "the header's length");
    uint64_t n = 0;
    for (int i = bytes; i-- > 0;)
        n = n << 8 | length[i];
    if (n > 65536) s.fail("header of " + std::to_string(n) + " bytes, expected at most 65536");
    std::string text(n, ' ');
    s.read(text.data(), n, "the header");
    return HeaderReader(s, text).read();
}

// A type of NumPy's, the dtype of ours with every value it has, the size of one element in the
// file, and of integers the bits without the sign.
struct Format {
    const char *descr;
    size_t bytes;
    DType dtype;
    int bits;
};
constexpr Format formats[] = {
    {"f8", 8, DType::f64, 0},  {"f4", 4, DType::f32, 0},    {"f2", 2, DType::f16, 0},
    {"i8", 8, DType::i64, 63}, {"i4", 4, DType::i32, 31},   {"i2", 2, DType::i32, 15},
    {"i1", 1, DType::i8, 7},   {"u4", 4, DType::i64, 32},   {"u2", 2, DType::i32, 16},
    {"u1", 1, DType::u8, 8},   {"b1", 1, DType::boolean, 1}};

const Format &format_of(const Source &s, const std::string &descr) {
    if (descr.size() == 3 &&
        (descr[0] == '<' || descr[0] == '|' || (descr[0] == '>' && descr[2] == '1'))) {
        for (const Format &f : formats)
            if (descr.compare(1, 2, f.descr) == 0) return f;
    }
    throw DTypeError(s.name, "no dtype for NumPy's '" + descr +
                                 "', expected little-endian f8 f4 f2 i8 i4 i2 i1 u4 u2 u1 or b1");
}

// Does `to` hold every value of `from`?
bool holds_all(DType to, const Format &from) {
    if (to == from.dtype) return true;
    if (is_float(from.dtype))
        return to == DType::f64 || (to == DType::f32 && from.dtype == DType::f16);
    if (to == DType::u8) return from.descr[0] != 'i' && from.bits <= 8;
    // each has the integers of this many bits, by DType
    constexpr int whole[dtype_count] = {53, 24, 11, 8, 63, 31, 7, 8, 1};
    return from.bits <= whole[int(to)];
}

template<class From, class To> void widen(const Tensor &bytes, const Tensor &to) {
    const auto *p = static_cast<const From *>(bytes.raw());
    std::copy(p, p + to.elements(), to.data<To>());
}

Tensor read_array(Source s, std::optional<DType> as) {
    const Header h = read_header(s);
    const Format &f = format_of(s, h.descr);
    const std::string type = f.descr;
    const bool bits = as == DType::bf16 && type == "u2";
    if (type == "u2" && !as) {
        throw DTypeError(s.name,
                         "uint16 may be numbers or the bits of bf16: ask for dtype i32 or bf16");
    }
    if (as && !bits && !holds_all(*as, f)) {
        throw DTypeError(s.name, std::string(name_of(*as)) +
                                     " doesn't hold every value of NumPy's '" + h.descr + "'");
    }

    const uint64_t payload = uint64_t(checked_elements(s.name.c_str(), h.shape)) * f.bytes;
    if (payload > s.left) {
        s.fail("truncated: shape " + h.shape.text() + " of " + h.descr + " takes " +
               std::to_string(payload) + " bytes, there are " + std::to_string(s.left));
    }
    if (payload < s.left) {
        s.fail(std::to_string(s.left - payload) + " bytes follow the data of shape " +
               h.shape.text());
    }
    const Shape stored = h.fortran ? Shape(std::reverse_iterator(h.shape.end()),
                                           std::reverse_iterator(h.shape.begin()))
                                   : h.shape;
    const bool as_it_is = bits || bytes_of(f.dtype) == f.bytes;
    Tensor t = as_it_is ? Tensor::empty(stored, bits ? DType::bf16 : f.dtype)
                        : Tensor::empty({int64_t(payload)}, DType::u8);
    s.read(t.raw(), payload, "the data");
    if (f.dtype == DType::boolean) {
        const auto *p = static_cast<const unsigned char *>(t.raw());
        if (std::any_of(p, p + payload, [](unsigned char b) { return b > 1; }))
            s.fail("a bool is neither 0 nor 1");
    }
    if (!as_it_is) {
        const Tensor wide = Tensor::empty(stored, f.dtype);
        if (type == "i2")
            widen<int16_t, int32_t>(t, wide);
        else if (type == "u2")
            widen<uint16_t, int32_t>(t, wide);
        else
            widen<uint32_t, int64_t>(t, wide);
        t = wide;
    }
    if (h.fortran && h.shape.rank() > 1) {
        std::vector<int> reversed;
        for (int i = h.shape.rank(); i-- > 0;)
            reversed.push_back(i);
        t = t.transpose(reversed).contiguous();
    }
    return as && *as != t.dtype() ? t.to(*as) : t;
}

}  // namespace

Tensor load_npy(const std::string &path, std::optional<DType> as) {
    // asked before it is opened: a pipe without a writer would keep the program waiting
    std::error_code unknown;
    const std::filesystem::file_status status = std::filesystem::status(path, unknown);
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
        throw IoError(path, "not a regular file");
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    if (!file) throw IoError(path, "can't open");
    const auto size = int64_t(file.tellg());
    file.seekg(0);
    if (size < 0 || !file) throw IoError(path, "not a regular file");
    return read_array({path, uint64_t(size),
                       [&](void *to, uint64_t n) {
                           return bool(file.read(static_cast<char *>(to), (std::streamsize)n));
                       }},
                      as);
}

std::map<std::string, Tensor> load_npz(const std::string &path, std::optional<DType> as) {
    int error = 0;
    const std::unique_ptr<zip_t, decltype(&zip_discard)> archive(
        zip_open(path.c_str(), ZIP_RDONLY, &error), zip_discard);
    if (!archive) {
        zip_error_t e;
        zip_error_init_with_code(&e, error);
        const std::string what = zip_error_strerror(&e);
        zip_error_fini(&e);
        throw IoError(path, "can't open: " + what);
    }
    std::error_code unknown;
    const uint64_t archive_size = std::filesystem::file_size(path, unknown);
    if (unknown) throw IoError(path, "not a regular file");
    std::map<std::string, Tensor> all;
    for (zip_uint64_t i = 0, n = (zip_uint64_t)zip_get_num_entries(archive.get(), 0); i < n; i++) {
        zip_stat_t entry;
        if (zip_stat_index(archive.get(), i, 0, &entry) != 0 || !(entry.valid & ZIP_STAT_NAME) ||
            !(entry.valid & ZIP_STAT_SIZE))
            throw IoError(path, "bad entry " + std::to_string(i));
        std::string name = entry.name;
        if (entry.comp_method != ZIP_CM_STORE || entry.encryption_method != ZIP_EM_NONE ||
            entry.comp_size != entry.size)
            throw IoError(path + ":" + name, "compressed or encrypted, expected a stored member");
        if (entry.size > archive_size) {
            throw IoError(path + ":" + name, "member of " + std::to_string(entry.size) +
                                                 " bytes in a file of " +
                                                 std::to_string(archive_size));
        }
        if (name.size() > 4 && name.ends_with(".npy")) name.resize(name.size() - 4);
        const std::unique_ptr<zip_file_t, decltype(&zip_fclose)> file(
            zip_fopen_index(archive.get(), i, 0), zip_fclose);
        if (!file) throw IoError(path + ":" + name, "can't open the member");
        uint64_t left = entry.size;
        const auto read = [&](void *to, uint64_t bytes) {
            for (auto *p = static_cast<char *>(to), *end = p + bytes; p < end;) {
                const zip_int64_t got = zip_fread(file.get(), p, (zip_uint64_t)(end - p));
                if (got <= 0) return false;
                p += got;
            }
            left -= bytes;
            char past;  // libzip compares the checksum when it reads past the end
            return left > 0 || zip_fread(file.get(), &past, 1) == 0;
        };
        if (!all.emplace(name, read_array({path + ":" + name, entry.size, read}, as)).second)
            throw IoError(path, "member '" + name + "' stands twice");
    }
    return all;
}

void save_npy(const std::string &path, const Tensor &tensor) {
    const Tensor t = tensor.contiguous();
    std::string descr = t.dtype() == DType::bf16 ? "u2" : "";
    for (const Format &f : formats) {
        if (descr.empty() && f.dtype == t.dtype() && f.bytes == bytes_of(t.dtype()))
            descr = f.descr;
    }
    std::string shape;
    for (const int64_t v : t.shape())
        shape += std::to_string(v) + ", ";
    if (t.rank() > 1) shape.resize(shape.size() - 2);
    std::string header = "{'descr': '" + std::string(bytes_of(t.dtype()) == 1 ? "|" : "<") + descr +
                         "', 'fortran_order': False, 'shape': (" + shape + "), }";
    // the data starts on a multiple of 64
    header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 10, ' ');
    header.back() = '\n';
    const char start[] = {
        '\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, char(header.size() & 255), char(header.size() >> 8)};
    AtomicFile file(path, Durability::to_system);
    file.write(start, sizeof(start));
    file.write(header);
    file.write(t.raw(), t.bytes());
    file.commit();
}

}  // namespace halyard
