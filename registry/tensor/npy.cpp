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

// A type of NumPy's.
struct Format {
    const char *descr;
    size_t bytes;  // of one element in the file
    DType dtype;   // ours that holds every value
    int bits;      // of an integer, without its sign
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

// Returns true if `to` holds every value of `from`.
bool holds_all(DType to, const Format &from) {
    if (to == from.dtype) return true;
    if (is_float(from.dtype))
        return to == DType::f64 || (to == DType::f32 && from.dtype == DType::f16);
    if (to == DType::u8) return from.descr[0] != 'i' && from.bits <= 8;
    // The number of bits up to which a dtype holds all integers, in the order of DType.
    constexpr int integer_bits[dtype_count] = {53, 24, 11, 8, 63, 31, 7, 8, 1};
    return from.bits <= integer_bits[static_cast<int>(to)];
}

template<class From, class To> void copy_converted(const Tensor &bytes, const Tensor &to) {
    const auto *p = static_cast<const From *>(bytes.bytes_to_read());
    std::copy(p, p + to.elements(), to.data<To>());
}

// Throws DTypeError unless the file's numbers can be read as dtype `as`.
void check_dtype(const Source &s, const Header &h, const Format &f, std::optional<DType> as) {
    const bool is_u2 = std::string_view(f.descr) == "u2";
    if (is_u2 && !as) {
        throw DTypeError(s.name,
                         "uint16 may be numbers or the bits of bf16: ask for dtype i32 or bf16");
    }
    if (as && !(is_u2 && *as == DType::bf16) && !holds_all(*as, f)) {
        throw DTypeError(s.name, std::string(name_of(*as)) +
                                     " doesn't hold every value of NumPy's '" + h.descr + "'");
    }
}

// Returns the number of bytes of the elements. Throws IoError unless the file has as many left.
uint64_t checked_bytes(const Source &s, const Header &h, const Format &f) {
    const uint64_t bytes = uint64_t(checked_elements(s.name.c_str(), h.shape)) * f.bytes;
    if (bytes > s.left) {
        s.fail("truncated: shape " + h.shape.text() + " of " + h.descr + " takes " +
               std::to_string(bytes) + " bytes, there are " + std::to_string(s.left));
    }
    if (bytes < s.left) {
        s.fail(std::to_string(s.left - bytes) + " bytes follow the data of shape " +
               h.shape.text());
    }
    return bytes;
}

// Reads elements of shape `shape` as the format's dtype, or as bf16 of the same bits.
Tensor read_elements(Source &s, const Format &f, const Shape &shape, uint64_t bytes,
                     bool bits_of_bf16) {
    const bool same_size = bits_of_bf16 || bytes_of(f.dtype) == f.bytes;
    const Tensor read = same_size ? Tensor::empty(shape, bits_of_bf16 ? DType::bf16 : f.dtype)
                                  : Tensor::empty({int64_t(bytes)}, DType::u8);
    s.read(read.raw(), bytes, "the data");
    if (f.dtype == DType::boolean) {
        const auto *p = static_cast<const unsigned char *>(read.bytes_to_read());
        if (std::any_of(p, p + bytes, [](unsigned char b) { return b > 1; }))
            s.fail("a bool is neither 0 nor 1");
    }
    if (same_size) return read;
    const std::string_view type = f.descr;
    const Tensor converted = Tensor::empty(shape, f.dtype);
    if (type == "i2")
        copy_converted<int16_t, int32_t>(read, converted);
    else if (type == "u2")
        copy_converted<uint16_t, int32_t>(read, converted);
    else
        copy_converted<uint32_t, int64_t>(read, converted);
    return converted;
}

Tensor read_array(Source s, std::optional<DType> as) {
    const Header h = read_header(s);
    const Format &f = format_of(s, h.descr);
    check_dtype(s, h, f, as);
    const uint64_t bytes = checked_bytes(s, h, f);
    Shape stored = h.shape;
    if (h.fortran) std::reverse(stored.begin(), stored.end());
    const bool bits_of_bf16 = as == DType::bf16 && std::string_view(f.descr) == "u2";
    Tensor t = read_elements(s, f, stored, bytes, bits_of_bf16);
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
    // The type is checked before opening, which would wait forever on a pipe without a writer.
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
                           return bool(
                               file.read(static_cast<char *>(to), static_cast<std::streamsize>(n)));
                       }},
                      as);
}

namespace {

using Archive = std::unique_ptr<zip_t, decltype(&zip_discard)>;

Archive open_archive(const std::string &path) {
    int error = 0;
    Archive archive(zip_open(path.c_str(), ZIP_RDONLY, &error), zip_discard);
    if (archive) return archive;
    zip_error_t e;
    zip_error_init_with_code(&e, error);
    const std::string what = zip_error_strerror(&e);
    zip_error_fini(&e);
    throw IoError(path, "can't open: " + what);
}

// Returns the entry of member i. Throws IoError unless it is stored as it is and fits the file.
zip_stat_t checked_entry(zip_t *archive, zip_uint64_t i, const std::string &path,
                         uint64_t archive_size) {
    zip_stat_t entry;
    if (zip_stat_index(archive, i, 0, &entry) != 0 || !(entry.valid & ZIP_STAT_NAME) ||
        !(entry.valid & ZIP_STAT_SIZE))
        throw IoError(path, "bad entry " + std::to_string(i));
    const std::string member = path + ":" + entry.name;
    if (entry.comp_method != ZIP_CM_STORE || entry.encryption_method != ZIP_EM_NONE ||
        entry.comp_size != entry.size)
        throw IoError(member, "compressed or encrypted, expected a stored member");
    if (entry.size > archive_size) {
        throw IoError(member, "member of " + std::to_string(entry.size) + " bytes in a file of " +
                                  std::to_string(archive_size));
    }
    return entry;
}

Tensor read_member(zip_t *archive, zip_uint64_t i, const std::string &name, uint64_t size,
                   std::optional<DType> as) {
    const std::unique_ptr<zip_file_t, decltype(&zip_fclose)> file(zip_fopen_index(archive, i, 0),
                                                                  zip_fclose);
    if (!file) throw IoError(name, "can't open the member");
    uint64_t left = size;
    const auto read = [&](void *to, uint64_t bytes) {
        for (auto *p = static_cast<char *>(to), *end = p + bytes; p < end;) {
            const zip_int64_t got = zip_fread(file.get(), p, static_cast<zip_uint64_t>(end - p));
            if (got <= 0) return false;
            p += got;
        }
        left -= bytes;
        char past;  // libzip compares the checksum when it reads past the end
        return left > 0 || zip_fread(file.get(), &past, 1) == 0;
    };
    return read_array({name, size, read}, as);
}

}  // namespace

std::map<std::string, Tensor> load_npz(const std::string &path, std::optional<DType> as) {
    const Archive archive = open_archive(path);
    std::error_code unknown;
    const uint64_t archive_size = std::filesystem::file_size(path, unknown);
    if (unknown) throw IoError(path, "not a regular file");
    std::map<std::string, Tensor> all;
    const auto members = static_cast<zip_uint64_t>(zip_get_num_entries(archive.get(), 0));
    for (zip_uint64_t i = 0; i < members; i++) {
        const zip_stat_t entry = checked_entry(archive.get(), i, path, archive_size);
        std::string name = entry.name;
        if (name.size() > 4 && name.ends_with(".npy")) name.resize(name.size() - 4);
        const Tensor t = read_member(archive.get(), i, path + ":" + name, entry.size, as);
        if (!all.emplace(name, t).second) throw IoError(path, "member '" + name + "' occurs twice");
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
    // The data starts at a multiple of 64.
    header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 10, ' ');
    header.back() = '\n';
    const char start[] = {
        '\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, char(header.size() & 255), char(header.size() >> 8)};
    AtomicFile file(path, Durability::to_system);
    file.write(start, sizeof(start));
    file.write(header);
    file.write(t.bytes_to_read(), t.bytes());
    file.commit();
}

}  // namespace halyard
