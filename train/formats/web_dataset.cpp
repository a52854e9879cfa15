#include "train/formats/web_dataset.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <charconv>
#include <deque>
#include <optional>

#include "registry/base/error.h"
#include "train/data/input_file.h"
#include "train/data/steps.h"

namespace halyard::dataset {
namespace {

// Reads the regular files of a tar file in order.
class TarReader {
public:
    TarReader(const std::string &path, int64_t max_bytes)
        : path_(path), length_(InputFile(path).length), max_bytes_(max_bytes),
          archive_(archive_read_new(), archive_read_free) {
        // The filters are listed, because support_filter_all would start programs for some.
        archive_read_support_filter_gzip(archive_.get());
        archive_read_support_format_tar(archive_.get());
        check(archive_read_open_filename(archive_.get(), path.c_str(), 1 << 16));
    }

    bool next() {
        while (!over_) {
            const int r = archive_read_next_header(archive_.get(), &entry_);
            over_ = r == ARCHIVE_EOF;
            if (over_) break;
            check(r);
            const char *name = archive_entry_pathname(entry_);
            // In a locale without UTF-8 the first call returns null.
            if (!name) name = archive_entry_pathname_utf8(entry_);
            name_ = name ? name : "";
            if (archive_entry_filetype(entry_) == AE_IFREG && !archive_entry_hardlink(entry_))
                return true;
        }
        return false;
    }

    const std::string &name() const { return name_; }
    std::string where() const {
        return path_ + ": " + name_ + " at byte " +
               std::to_string(archive_read_header_position(archive_.get()));
    }

    Tensor bytes() {
        const int64_t n = archive_entry_size(entry_);
        const bool packed = archive_filter_code(archive_.get(), 0) != ARCHIVE_FILTER_NONE;
        if (n < 0 || (!packed && n > int64_t(length_))) {
            fail("says it has " + std::to_string(n) + " bytes, the shard has " +
                 std::to_string(length_));
        }
        if (n > max_bytes_)
            fail("has " + std::to_string(n) + " bytes, the limit is " + std::to_string(max_bytes_));
        // The size that a compressed shard states is not trusted before the bytes were read.
        std::deque<std::string> blocks;
        int64_t have = 0;
        for (;;) {
            const void *block;
            size_t size;
            la_int64_t offset;
            const int r = archive_read_data_block(archive_.get(), &block, &size, &offset);
            if (r == ARCHIVE_EOF) break;
            check(r);
            if (offset != have || have + int64_t(size) > n) fail("has holes");
            blocks.emplace_back(static_cast<const char *>(block), size);
            have += int64_t(size);
        }
        if (have != n)
            fail("has " + std::to_string(have) + " bytes, expected " + std::to_string(n));
        const Tensor t = Tensor::empty({n}, DType::u8);
        for (uint8_t *to = t.data<uint8_t>(); !blocks.empty(); blocks.pop_front())
            to = std::copy(blocks.front().begin(), blocks.front().end(), to);
        return t;
    }

    [[noreturn]] void fail(const std::string &what) {
        over_ = true;
        throw IoError(entry_ ? where() : path_, what);
    }

private:
    void check(int r) {
        if (r == ARCHIVE_OK || r == ARCHIVE_WARN) return;
        const char *text = archive_error_string(archive_.get());
        fail(std::string("damaged tar file: ") + (text ? text : "no reason given"));
    }

    std::string path_;
    uint64_t length_;
    int64_t max_bytes_;
    std::unique_ptr<archive, int (*)(archive *)> archive_;
    archive_entry *entry_ = nullptr;
    std::string name_;
    bool over_ = false;
};

struct Kind {
    std::string key, extension;  // an empty key belongs to no sample
};

Kind kind_of(const std::string &name) {
    const size_t slash = name.rfind('/');
    const size_t base = slash == std::string::npos ? 0 : slash + 1;
    const size_t dot = name.find('.', base);
    if (dot == std::string::npos || dot == base) return {};
    Kind k{name.substr(0, dot), name.substr(dot + 1)};
    std::transform(k.extension.begin(), k.extension.end(), k.extension.begin(),
                   [](unsigned char c) { return char(std::tolower(c)); });
    return k;
}

bool is_number(const std::string &kind) {
    return kind == "cls" || kind == "id" || kind == "index" || kind == "count";
}

std::optional<Tensor> number_in(const Tensor &bytes) {
    const auto *begin = reinterpret_cast<const char *>(bytes.data<uint8_t>());
    const auto *end = begin + bytes.elements();
    const auto space = [](unsigned char c) { return std::isspace(c) != 0; };
    begin = std::find_if_not(begin, end, space);
    int32_t v = 0;
    const auto [rest, error] = std::from_chars(begin, end, v);
    if (error != std::errc() || !std::all_of(rest, end, space)) return {};
    return Tensor::from(std::vector<int32_t>{v}, {});
}

struct WebNode : RecordFilesNode {
    WebNode(const std::vector<std::string> &shards, const std::vector<std::string> &names,
            const RecordOptions &o)
        : RecordFilesNode("WebDataset", shards, names, o) {
        if (names.empty()) throw AttrError("WebDataset", "there are no columns");
        check_unique("WebDataset", names);
        for (size_t c = 0; c < names.size(); c++) {
            for (size_t at = 0; at <= names[c].size();) {
                const size_t end = std::min(names[c].find(';', at), names[c].size());
                const std::string kind = names[c].substr(at, end - at);
                if (kind.empty() || !column_of.emplace(kind, c).second) {
                    throw AttrError("WebDataset",
                                    "column " + names[c] + " has an empty kind or one twice");
                }
                at = end + 1;
            }
        }
    }
    std::unique_ptr<Source> read(const std::string &path) const override {
        return std::make_unique<Shard>(*this, path);
    }

    struct Shard : Source {
        Shard(const WebNode &n, const std::string &path)
            : node(n), tar(path, n.options.max_bytes), pending(advance()) {}
        bool next(Row &row) override { return sample(&row); }
        int64_t skip(int64_t n) override {
            int64_t skipped = 0;
            while (skipped < n && sample(nullptr))
                skipped++;
            return skipped;
        }

        // Advances to the next file that has a kind.
        Kind advance() {
            Kind kind;
            while (kind.key.empty() && tar.next())
                kind = kind_of(tar.name());
            return kind;
        }
        bool sample(Row *row) {
            if (pending.key.empty()) return false;
            const std::string key = pending.key;
            const std::string where = tar.where();
            std::vector<Tensor> tensors(node.columns->size());
            std::string wrong;
            while (pending.key == key) {
                const auto column = node.column_of.find(std::exchange(pending, {}).extension);
                if (row && column != node.column_of.end())
                    take(tensors[column->second], column->first, wrong);
                pending = advance();
            }
            if (!row) return true;
            if (const auto at = node.column_of.find("__key__"); at != node.column_of.end()) {
                tensors[at->second] = Tensor::from(std::vector<uint8_t>(key.begin(), key.end()),
                                                   {int64_t(key.size())});
            }
            for (size_t c = 0; c < tensors.size(); c++) {
                if (!tensors[c].defined() && wrong.empty())
                    wrong = "the sample has no " + (*node.columns)[c];
            }
            if (!wrong.empty()) throw IoError(where, wrong);
            *row = Row(node.columns, std::move(tensors),
                       std::make_shared<const std::string>(where));
            return true;
        }
        void take(Tensor &to, const std::string &kind, std::string &wrong) {
            if (to.defined()) wrong = "the sample has a second " + kind;
            to = tar.bytes();
            if (!is_number(kind)) return;
            if (auto v = number_in(to))
                to = *v;
            else
                wrong = kind + " is no 32-bit number";
        }
        const WebNode &node;
        TarReader tar;
        Kind pending;  // the kind of the reader's current file
    };
    std::map<std::string, size_t> column_of;  // the column of each kind
};

}  // namespace

WebDataset::WebDataset(const std::vector<std::string> &shards,
                       const std::vector<std::string> &columns, const RecordOptions &options)
    : Dataset(std::make_shared<WebNode>(shards, columns, options)) {}

}  // namespace halyard::dataset
