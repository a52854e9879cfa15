#include "dsl/signed_uses.h"

namespace halyard {
namespace {
using namespace Halide;
using namespace Halide::Internal;

// Finds uses of a variable in which its sign counts: other than in its square or absolute value.
class SignedUses : public IRVisitor {
public:
    explicit SignedUses(const std::string &name) : name_(name) {}
    bool any = false;

private:
    using IRVisitor::visit;
    bool is_variable(const Expr &e) const {
        const Variable *v = e.as<Variable>();
        return v && v->name == name_;
    }
    void visit(const Mul *op) override {
        if (!is_variable(op->a) || !is_variable(op->b)) IRVisitor::visit(op);
    }
    void visit(const Call *op) override {
        const bool is_square = op->is_intrinsic(Call::strict_mul) && is_variable(op->args[0]) &&
                               is_variable(op->args[1]);
        const bool is_size = op->is_intrinsic(Call::abs) && is_variable(op->args[0]);
        if (!is_square && !is_size) IRVisitor::visit(op);
    }
    void visit(const Variable *op) override { any |= op->name == name_; }

    const std::string name_;
};

template<class Body> bool is_unsigned_in(const std::string &name, const Body &body) {
    SignedUses uses(name);
    body.accept(&uses);
    return !uses.any;
}

}  // namespace

bool has_no_sign(const std::string &name, const Stmt &body) {
    return is_unsigned_in(name, body);
}

bool has_no_sign(const std::string &name, const Expr &body) {
    return is_unsigned_in(name, body);
}

}  // namespace halyard
