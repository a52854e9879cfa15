#include "tools/calls/call_file.h"

#include <cstring>
#include <nlohmann/json.hpp>

#include "registry/base/error.h"

namespace halyard::calls {
namespace {

using Json = nlohmann::json;

Json json_of(const Tensor &t) {
    if (!t.defined()) return nullptr;
    const Tensor dense = t.contiguous();
    const auto *const bytes = static_cast<const uint8_t *>(dense.bytes_to_read());
    return {{"dtype", name_of(t.dtype())},
            {"shape", t.shape().vec()},
            {"bytes", Json::binary({bytes, bytes + dense.bytes()})}};
}

Tensor tensor_of(const Json &json) {
    if (json.is_null()) return {};
    const Shape shape = json.at("shape").get<std::vector<int64_t>>();
    Tensor t = Tensor::empty(shape, dtype_of(json.at("dtype")));
    const Json::binary_t &bytes = json.at("bytes").get_binary();
    if (bytes.size() != t.bytes()) {
        throw IoError("calls", "a tensor of " + std::to_string(t.bytes()) + " bytes has " +
                                   std::to_string(bytes.size()));
    }
    if (!bytes.empty()) std::memcpy(t.raw(), bytes.data(), bytes.size());
    return t;
}

Json json_of(const std::vector<Tensor> &tensors) {
    Json all = Json::array();
    for (const Tensor &t : tensors)
        all.push_back(json_of(t));
    return all;
}

std::vector<Tensor> tensors_of(const Json &json) {
    std::vector<Tensor> all;
    for (const Json &t : json)
        all.push_back(tensor_of(t));
    return all;
}

void write_record(std::ostream &file, const Json &json) {
    const std::vector<uint8_t> bytes = Json::to_cbor(json);
    const uint64_t length = bytes.size();
    file.write(reinterpret_cast<const char *>(&length), sizeof length);
    file.write(reinterpret_cast<const char *>(bytes.data()), std::streamsize(length));
    file.flush();
}

std::optional<Json> read_record(std::istream &file) {
    uint64_t length = 0;
    if (!file.read(reinterpret_cast<char *>(&length), sizeof length)) return std::nullopt;
    std::vector<uint8_t> bytes(length);
    if (!file.read(reinterpret_cast<char *>(bytes.data()), std::streamsize(length)))
        return std::nullopt;
    return Json::from_cbor(bytes);
}

// Returns what `read` makes of the next record.
template<class T, class Read>
std::optional<T> record_as(std::istream &file, const std::string &what, Read read) {
    try {
        const std::optional<Json> json = read_record(file);
        return json ? std::optional<T>(read(*json)) : std::nullopt;
    } catch (const Json::exception &e) {
        throw IoError("calls", "no record of a " + what + ": " + e.what());
    }
}

}  // namespace

void write(std::ostream &file, const Call &call) {
    write_record(file, {{"op", call.op},
                        {"attrs", call.attrs},
                        {"variant", call.variant},
                        {"in", json_of(call.in)},
                        {"out", json_of(call.out)}});
}

void write(std::ostream &file, const Result &result) {
    write_record(file, {{"out", json_of(result.out)},
                        {"error", result.error},
                        {"has_no_kernel", result.has_no_kernel}});
}

std::optional<Call> read_call(std::istream &file) {
    return record_as<Call>(file, "call", [](const Json &json) {
        return Call{json.at("op"), json.at("attrs"), json.at("variant"), tensors_of(json.at("in")),
                    tensors_of(json.at("out"))};
    });
}

std::optional<Result> read_result(std::istream &file) {
    return record_as<Result>(file, "result", [](const Json &json) {
        return Result{tensors_of(json.at("out")), json.at("error"), json.at("has_no_kernel")};
    });
}

}  // namespace halyard::calls
