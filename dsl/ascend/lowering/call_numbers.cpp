#include "dsl/ascend/lowering/call_numbers.h"

#include <algorithm>
#include <sstream>
#include <string>

#include "registry/base/error.h"

namespace halyard::ascend {
using namespace Halide::Internal;
namespace {

double number_of(const Halide::Expr &e, const std::vector<std::string> &names,
                 const std::vector<double> &numbers) {
    const auto of = [&](const Halide::Expr &x) { return number_of(x, names, numbers); };
    const auto rounded = [&](double v) {
        return e.type() == Halide::Float(32) ? double(float(v)) : v;
    };
    if (const auto *op = e.as<FloatImm>()) return op->value;
    if (const auto *op = e.as<IntImm>()) return double(op->value);
    if (const auto *op = e.as<Cast>()) return rounded(of(op->value));
    if (const auto *op = e.as<Add>()) return rounded(of(op->a) + of(op->b));
    if (const auto *op = e.as<Sub>()) return rounded(of(op->a) - of(op->b));
    if (const auto *op = e.as<Mul>()) return rounded(of(op->a) * of(op->b));
    if (const auto *op = e.as<Div>()) return rounded(of(op->a) / of(op->b));
    if (const auto *op = e.as<Variable>()) {
        for (size_t i = 0; i < names.size(); i++)
            if (names[i] == op->name) return numbers.at(i);
    }
    if (const auto *op = e.as<Call>(); op && op->args.size() == 2) {
        if (op->is_intrinsic(Call::strict_add)) return rounded(of(op->args[0]) + of(op->args[1]));
        if (op->is_intrinsic(Call::strict_sub)) return rounded(of(op->args[0]) - of(op->args[1]));
        if (op->is_intrinsic(Call::strict_mul)) return rounded(of(op->args[0]) * of(op->args[1]));
        if (op->is_intrinsic(Call::strict_div)) return rounded(of(op->args[0]) / of(op->args[1]));
        if (op->is_intrinsic(Call::strict_min)) return std::min(of(op->args[0]), of(op->args[1]));
        if (op->is_intrinsic(Call::strict_max)) return std::max(of(op->args[0]), of(op->args[1]));
    }
    std::ostringstream text;
    text << e;
    throw DispatchError("ascend", "no value before the call: " + text.str());
}

}  // namespace

dv::Number CallNumbers::of(const Halide::Expr &e) {
    size_t at = 0;
    while (at < expressions_.size() && !graph_equal(expressions_[at], e))
        at++;
    if (at == expressions_.size()) expressions_.push_back(e);
    return {"scalar" + std::to_string(at)};
}

std::vector<dv::ScalarParam> CallNumbers::parameters() const {
    std::vector<dv::ScalarParam> all;
    for (size_t i = 0; i < expressions_.size(); i++)
        all.push_back({"scalar" + std::to_string(i), DType::f32});
    return all;
}

std::vector<std::function<double(const std::vector<double> &)>> CallNumbers::values(
    const OpRecord &op) const {
    std::vector<std::string> names;
    for (auto &s : op.scalars)
        names.push_back(s.name);
    std::vector<std::function<double(const std::vector<double> &)>> all;
    for (const Halide::Expr &e : expressions_) {
        all.push_back([e, names](const std::vector<double> &numbers) {
            return number_of(e, names, numbers);
        });
    }
    return all;
}

}  // namespace halyard::ascend
