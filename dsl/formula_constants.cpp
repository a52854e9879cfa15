#include "dsl/formula_constants.h"

#include <bit>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "dsl/all_ops.h"
#include "dsl/kernel.h"

namespace halyard {
namespace {
using namespace Halide::Internal;

class ConstantCollector : public IRVisitor {
public:
    std::set<double> found;

private:
    using IRVisitor::visit;
    void visit(const FloatImm *op) override { add(op->value); }
    void visit(const IntImm *op) override { add_bits(op->value); }
    void visit(const UIntImm *op) override { add_bits(int64_t(op->value)); }

    void add(double v) {
        if (std::isfinite(v) && v != 0) found.insert(std::fabs(v));
    }
    void add_bits(int64_t bits) {
        constexpr int64_t smallest_normal = 0x00800000;
        constexpr int64_t infinity = 0x7f800000;
        if (bits >= smallest_normal && bits < infinity)
            add(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    }
};

std::vector<double> collect(const std::string &name, const std::string &dtypes) {
    OpPtr op = op_table().make(name);
    if (!op) return {};
    Instance instance;
    instance.dtypes = dtypes;
    const Kernel kernel(std::move(op), instance);
    std::vector<Function> outputs;
    for (const Halide::Func &f : kernel.op->out)
        outputs.push_back(f.function());
    ConstantCollector constants;
    for (const auto &[func, f] : build_environment(outputs))
        f.accept(&constants);
    return {constants.found.begin(), constants.found.end()};
}

}  // namespace

const std::vector<double> &formula_constants(const std::string &op, const std::string &dtypes) {
    static std::map<std::pair<std::string, std::string>, std::vector<double>> known;
    const auto [at, is_new] = known.try_emplace({op, dtypes});
    if (is_new) at->second = collect(op, dtypes);
    return at->second;
}

}  // namespace halyard
