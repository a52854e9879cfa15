#include "dsl/ascend/lowering/call_numbers.h"

#include <algorithm>
#include <sstream>
#include <string>

#include "registry/base/error.h"

namespace halyard::ascend {
using namespace Halide::Internal;
namespace {

// Returns the value of `e` where the variable names[i] is numbers[i], rounded after each operation
// as its type is. Throws DispatchError for other variables and operations.
double number_of(const Halide::Expr &e, const std::vector<std::string> &names,
                 const std::vector<double> &numbers);

double rounded(double v, const Halide::Type &t) {
    return t == Halide::Float(32) ? double(float(v)) : v;
}

[[noreturn]] void refuse(const Halide::Expr &e) {
    std::ostringstream text;
    text << e;
    throw DispatchError("ascend", "no value before the call: " + text.str());
}

double number_of(const Call *c, const std::vector<std::string> &names,
                 const std::vector<double> &numbers) {
    if (c->args.size() != 2) refuse(c);
    const auto of = [&](size_t k) { return number_of(c->args[k], names, numbers); };
    if (c->is_intrinsic(Call::strict_add)) return rounded(of(0) + of(1), c->type);
    if (c->is_intrinsic(Call::strict_sub)) return rounded(of(0) - of(1), c->type);
    if (c->is_intrinsic(Call::strict_mul)) return rounded(of(0) * of(1), c->type);
    if (c->is_intrinsic(Call::strict_div)) return rounded(of(0) / of(1), c->type);
    if (c->is_intrinsic(Call::strict_min)) return std::min(of(0), of(1));
    if (c->is_intrinsic(Call::strict_max)) return std::max(of(0), of(1));
    refuse(c);
}

double number_of(const Halide::Expr &e, const std::vector<std::string> &names,
                 const std::vector<double> &numbers) {
    const auto both = [&](const auto *op, auto f) {
        return rounded(f(number_of(op->a, names, numbers), number_of(op->b, names, numbers)),
                       e.type());
    };
    switch (e.node_type()) {
    case IRNodeType::FloatImm: return e.as<FloatImm>()->value;
    case IRNodeType::IntImm: return double(e.as<IntImm>()->value);
    case IRNodeType::Cast: return rounded(number_of(e.as<Cast>()->value, names, numbers), e.type());
    case IRNodeType::Add: return both(e.as<Add>(), std::plus<double>());
    case IRNodeType::Sub: return both(e.as<Sub>(), std::minus<double>());
    case IRNodeType::Mul: return both(e.as<Mul>(), std::multiplies<double>());
    case IRNodeType::Div: return both(e.as<Div>(), std::divides<double>());
    case IRNodeType::Variable: {
        const auto at = std::find(names.begin(), names.end(), e.as<Variable>()->name);
        if (at == names.end()) refuse(e);
        return numbers.at(size_t(at - names.begin()));
    }
    case IRNodeType::Call: return number_of(e.as<Call>(), names, numbers);
    default: refuse(e);
    }
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
