// halyard_calls CALLS RESULTS: runs the calls of a file, one after the other, and writes a result
// after each, so that a call which ends the program loses no other's.
// halyard_calls --kernels: prints the kernels of this kit as JSON.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "primitives/library.h"
#include "primitives/primitive.h"
#include "registry/base/error.h"
#include "registry/dispatch/dispatch.h"
#include "tools/calls/call_file.h"

namespace halyard::calls {
namespace {

constexpr size_t zone = 64;  // bytes on either side of a tensor that must keep their values
constexpr unsigned char canary = 0xA5;

// The tensors of a call, each in the middle of memory of its own. They are aligned to their
// elements and no more, as a caller's may be.
class Zones {
public:
    // Replaces a tensor by a copy between two zones.
    void move(Tensor &t) {
        if (!t.defined()) return;
        const size_t first = zone + bytes_of(t.dtype());
        std::vector<unsigned char> &memory = memories_.emplace_back(first + t.bytes() + zone,
                                                                    canary);
        const Tensor copy = Tensor::borrow(memory.data() + first, t.shape(),
                                           dense_strides(t.shape()), t.dtype());
        if (t.bytes() > 0) std::memcpy(copy.raw(), t.bytes_to_read(), t.bytes());
        tensors_.push_back(t = copy);
    }

    // Returns which tensor the call wrote before or behind, of those that were moved; "" if none.
    std::string finding() const {
        for (size_t k = 0; k < tensors_.size(); k++) {
            const std::vector<unsigned char> &memory = memories_[k];
            const size_t first = zone + bytes_of(tensors_[k].dtype());
            for (size_t i = 0; i < memory.size(); i++) {
                const bool is_outside = i < first || i >= memory.size() - zone;
                if (is_outside && memory[i] != canary)
                    return "it writes before or behind tensor " + std::to_string(k) +
                           " of the call";
            }
        }
        return "";
    }

private:
    std::vector<std::vector<unsigned char>> memories_;
    std::vector<Tensor> tensors_;
};

Result result_of(Call call) {
    Result result;
    const RegisteredOp &op = library().at(call.op);
    const Attrs attrs(op.record, call.attrs);
    Zones zones;
    for (Tensor &t : call.in)
        zones.move(t);
    if (op.record.form == Form::composite) {
        call.out = Primitive(op, attrs).run(call.in);
    } else {
        for (Tensor &t : call.out)
            zones.move(t);
        const Force force(host_isa(), call.variant);
        dispatch_into(op, call.in, attrs, call.out);
    }
    // Results may be in the memory of inputs, which ends with `zones`.
    for (const Tensor &t : call.out)
        result.out.push_back(t.copy());
    result.error = zones.finding();
    return result;
}

Result run(const Call &call) {
    Result result;
    try {
        return result_of(call);
    } catch (const Error &e) {
        result.error = e.what();
        result.has_no_kernel = result.error.find("no kernel takes this call") != std::string::npos;
    }
    return result;
}

void run_all(const char *calls, const char *results) {
    std::ifstream in(calls, std::ios::binary);
    std::ofstream out(results, std::ios::binary);
    while (const std::optional<Call> call = read_call(in))
        write(out, run(*call));
    if (!out) throw IoError("calls", std::string("can't write ") + results);
}

void print_kernels() {
    nlohmann::json all = nlohmann::json::array();
    for (const RegisteredOp *op : library().ops()) {
        for (const KernelEntry &k : op->kernels) {
            if (k.backend != "cpu") continue;
            all.push_back({{"op", k.op},
                           {"dtypes", k.dtypes},
                           {"variant", k.variant},
                           {"isa", name_of(k.isa)},
                           {"lanes", k.lanes},
                           {"tunables", k.tunables}});
        }
    }
    std::printf("%s\n", all.dump().c_str());
}

}  // namespace
}  // namespace halyard::calls

int main(int count, char **words) {
    try {
        if (count == 2 && std::string_view(words[1]) == "--kernels") {
            halyard::calls::print_kernels();
            return 0;
        }
        if (count == 3) {
            halyard::calls::run_all(words[1], words[2]);
            return 0;
        }
        std::fprintf(stderr, "usage: halyard_calls CALLS RESULTS, or halyard_calls --kernels\n");
    } catch (const std::exception &e) {
        std::fprintf(stderr, "%s\n", e.what());
    }
    return 1;
}
