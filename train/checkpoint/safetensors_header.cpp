#include "train/checkpoint/safetensors_header.h"

#include <nlohmann/json.hpp>
#include <set>

namespace halyard {
namespace {

using Json = nlohmann::json;
// A tensor without elements has 50 bytes in the file and takes 1,000 in memory.
constexpr int64_t most_entries = 100'000;

// Parses the header value by value, because a document of a malicious header would be many times as
// large as the file.
class Reader : public Json::json_sax_t {
public:
    explicit Reader(const std::string &path) : path_(path) {}
    SafetensorsHeader header;

    bool start_object(size_t) override {
        if (list_ || depth_ == 2 || (depth_ == 1 && name_.empty()))
            fail("an object where none belongs");
        if (depth_++ == 1 && !metadata()) header.entries.push_back({name_, "", {}, {}});
        return true;
    }
    bool end_object() override {
        if (depth_ == 2 && !metadata()) check(header.entries.back());
        if (depth_-- == 2) fields_.clear();
        return true;
    }
    bool key(std::string &k) override {
        if ((depth_ == 1 || metadata()) && ++entries_ > most_entries)
            fail("more than " + std::to_string(most_entries) + " tensors and texts");
        if (depth_ == 1 && !names_.insert(k).second) fail("'" + k + "' stands there twice");
        if (depth_ == 1 && k.empty()) fail("a tensor without a name");
        if (depth_ == 2 && !fields_.insert(k).second)
            fail("'" + k + "' of '" + name_ + "' stands there twice");
        (depth_ == 1 ? name_ : field_) = k;
        return true;
    }
    bool string(std::string &value) override {
        if (depth_ != 2 || list_) fail("a string where none belongs");
        if (metadata())
            header.metadata[field_] = value;
        else if (field_ == "dtype")
            header.entries.back().dtype = value;
        else
            fail("'" + field_ + "' of '" + name_ + "' is no field of a tensor");
        return true;
    }
    bool start_array(size_t) override {
        if (depth_ != 2 || metadata() || list_ || (field_ != "shape" && field_ != "data_offsets"))
            fail("a list where none belongs");
        list_ = true;
        if (field_ == "shape") header.entries.back().shape = Shape();
        return true;
    }
    bool end_array() override {
        list_ = false;
        return true;
    }
    bool number_unsigned(uint64_t value) override {
        if (!list_) fail("a number where none belongs");
        SafetensorsHeader::Entry &e = header.entries.back();
        if (field_ == "shape") {
            if (e.shape->rank() == max_rank)
                throw ShapeError(path_, "'" + name_ + "' has more than 8 dimensions, the limit");
            if (value > INT64_MAX) {
                throw ShapeError(path_,
                                 "'" + name_ + "' has an extent of " + std::to_string(value));
            }
            e.shape->push_back(int64_t(value));
        } else {
            if (e.offsets.size() == 2) fail("'" + name_ + "' has more than two data_offsets");
            e.offsets.push_back(value);
        }
        return true;
    }
    bool null() override { fail("null where nothing is"); }
    bool boolean(bool) override { fail("a truth value where none belongs"); }
    bool number_integer(int64_t value) override {
        fail("a number below 0: " + std::to_string(value));
    }
    bool number_float(double, const std::string &text) override {
        fail("a number with a fraction: " + text);
    }
    bool binary(Json::binary_t &) override { fail("binary data in the header"); }
    bool parse_error(size_t at, const std::string &, const Json::exception &) override {
        fail("no JSON at byte " + std::to_string(at) + " of the header");
    }

private:
    [[noreturn]] void fail(const std::string &what) const { throw IoError(path_, what); }
    bool metadata() const { return name_ == "__metadata__"; }
    void check(const SafetensorsHeader::Entry &e) const {
        if (e.dtype.empty() || !e.shape || e.offsets.size() != 2)
            fail("'" + e.name + "' needs dtype, shape and two data_offsets");
    }

    const std::string &path_;
    int depth_ = 0;
    int64_t entries_ = 0;
    bool list_ = false;
    std::string name_, field_;
    std::set<std::string> names_, fields_;
};

}  // namespace

SafetensorsHeader parse_safetensors_header(const std::string &path, const std::string &text) {
    Reader reader(path);
    if (text.empty() || text[0] != '{') throw IoError(path, "its header doesn't begin with '{'");
    Json::sax_parse(text, &reader);
    return std::move(reader.header);
}

std::string text_of(const SafetensorsHeader &header) {
    nlohmann::ordered_json all = nlohmann::ordered_json::object();
    if (!header.metadata.empty()) all["__metadata__"] = header.metadata;
    for (auto &e : header.entries)
        all[e.name] = {{"dtype", e.dtype}, {"shape", e.shape->vec()}, {"data_offsets", e.offsets}};
    return all.dump();
}

}  // namespace halyard
