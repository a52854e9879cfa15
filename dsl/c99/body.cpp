#include "dsl/c99/body.h"

#include <algorithm>
#include <map>

#include "registry/base/error.h"

namespace halyard::c99 {
namespace {

using namespace Halide;
using namespace Halide::Internal;

constexpr int64_t max_local_bytes = 64;  // of an array on the stack
constexpr int64_t alignment = 8;         // of arrays in the arena

class BodyPrinter : public IRVisitor {
public:
    BodyPrinter(FunctionContext &c, int64_t arena_begin) : c_(c), arena_(arena_begin) {
        body_.arena_bytes = arena_begin;
        c_.write_line = [this](const std::string &text) { line(text); };
        c_.accesses = [this](const std::string &name) { declare_now(name); };
    }

    Body print(const Stmt &s) {
        s.accept(this);
        return body_;
    }

private:
    using IRVisitor::visit;
    FunctionContext &c_;
    Body body_;
    int64_t arena_;
    size_t depth_ = 1;

    void line(const std::string &text) { body_.text += std::string(depth_ * 4, ' ') + text + "\n"; }
    void block(const Stmt &s) {
        c_.names.open_block();
        c_.constants.emplace_back();
        depth_++;
        s.accept(this);
        depth_--;
        c_.constants.pop_back();
        c_.names.close_block();
    }

    // A single value that no line has declared yet: its declaration stands with its first value,
    // if that is stored in the same block.
    struct Undeclared {
        std::string type;
        size_t depth, at;  // at: where its declaration would stand in the text
    };
    std::map<std::string, Undeclared> undeclared_;

    // Inserts the declaration of a single value where its memory begins. Compilers warn of values
    // that are first stored under a condition.
    void declare_now(const std::string &name) {
        const auto found = undeclared_.find(name);
        if (found == undeclared_.end()) return;
        const Undeclared value = found->second;
        undeclared_.erase(found);
        const std::string text = std::string(value.depth * 4, ' ') + value.type + " " +
                                 c_.names.of(name) + " = 0;\n";
        body_.text.insert(value.at, text);
        for (auto &[other, u] : undeclared_)
            if (u.at >= value.at) u.at += text.size();
    }
    // Returns the beginning of a store to a single value that declares it: "float sum".
    std::string declaration_of(const Store &op) {
        const auto found = undeclared_.find(op.name);
        if (found == undeclared_.end() || found->second.depth != depth_) return "";
        const std::string type = found->second.type;
        undeclared_.erase(found);
        return type + " " + c_.names.of(op.name);
    }

    [[noreturn]] void refuse(const std::string &what) const {
        throw DispatchError(c_.op, "no C99 function: it has no " + what);
    }

    void visit(const LetStmt *op) override {
        // Those of buffers aren't used: extents and strides are constants.
        if (op->value.type().is_handle() || op->name.find(".buffer") != std::string::npos) {
            op->body.accept(this);
            return;
        }
        declare_let(c_, op->name, op->value);
        op->body.accept(this);
        c_.bounds.pop(op->name);
    }
    void visit(const AssertStmt *) override {}
    void visit(const ProducerConsumer *op) override { op->body.accept(this); }
    void visit(const Atomic *op) override { op->body.accept(this); }
    void visit(const Free *) override {}
    void visit(const Evaluate *) override {}
    void visit(const Block *op) override {
        op->first.accept(this);
        op->rest.accept(this);
    }

    void visit(const For *op) override {
        const std::string from = text_of(c_, op->min);
        const std::string to = text_of(c_, simplify(op->min + op->extent));
        const Interval min = bounds_of_expr_in_scope(op->min, c_.bounds);
        const Interval max = bounds_of_expr_in_scope(op->min + op->extent - 1, c_.bounds);
        c_.names.open_block();
        const std::string v = c_.names.declare(op->name);
        c_.bounds.push(op->name, {simplify(min.min), simplify(max.max)});
        c_.data.erase(op->name);
        line("for (int32_t " + v + " = " + from + "; " + v + " < " + to + "; " + v + "++) {");
        block(op->body);
        line("}");
        c_.bounds.pop(op->name);
        c_.names.close_block();
    }

    void visit(const Store *op) override {
        if (!is_const_one(op->predicate)) refuse("stores under a condition");
        const auto [symbol, operand] = accumulation(*op);
        if (operand.defined()) {
            const std::string value = text_of(c_, operand);
            line(element(c_, op->name, op->index) + " " + symbol + " " + value + ";");
            return;
        }
        const std::string value = text_of(c_, op->value);
        const std::string declared = declaration_of(*op);
        line((declared.empty() ? element(c_, op->name, op->index) : declared) + " = " + value +
             ";");
    }
    // Returns "+=" and what a store adds to its element, if it adds; a sum of floats only.
    static std::pair<std::string, Expr> accumulation(const Store &op) {
        Expr a, b;
        if (const auto *add = op.value.as<Add>()) {
            a = add->a;
            b = add->b;
        } else if (const auto *call = op.value.as<Call>();
                   call && call->is_intrinsic(Call::strict_add)) {
            a = call->args[0];
            b = call->args[1];
        }
        const auto *load = a.as<Load>();
        if (!load || !load->type.is_float() || load->type.bits() == 16) return {};
        if (load->name != op.name || !equal(load->index, op.index)) return {};
        return {"+=", b};
    }

    void visit(const Allocate *op) override {
        const int64_t elements = op->constant_allocation_size();
        if (elements == 0 || op->new_expr.defined())
            refuse("memory for " + op->name + ", whose size isn't constant");
        const int64_t bytes = elements * (op->type.is_bool() ? 4 : op->type.bytes());
        const std::string name = c_.names.declare(op->name);
        const std::string type = type_name(op->type);
        const int64_t before = arena_;
        c_.single_values.erase(op->name);
        if (elements == 1) {
            c_.single_values.insert(op->name);
            undeclared_[op->name] = {type, depth_, body_.text.size()};
        } else if (bytes <= max_local_bytes) {
            line(type + " " + name + "[" + std::to_string(elements) + "];");
        } else {
            line(type + " *const " + name + " = (" + type + " *)(arena.bytes + " +
                 std::to_string(arena_) + ");");
            arena_ += (bytes + alignment - 1) / alignment * alignment;
            body_.arena_bytes = std::max(body_.arena_bytes, arena_);
        }
        op->body.accept(this);
        undeclared_.erase(op->name);
        arena_ = before;
    }
    void visit(const Realize *op) override { refuse("memory for " + op->name); }
    void visit(const Prefetch *op) override { op->body.accept(this); }
    void visit(const HoistedStorage *op) override { op->body.accept(this); }
    void visit(const Fork *) override { refuse("threads"); }
    void visit(const Acquire *) override { refuse("threads"); }

    void visit(const IfThenElse *op) override {
        line("if (" + text_of(c_, op->condition) + ") {");
        block(op->then_case);
        if (op->else_case.defined()) {
            line("} else {");
            block(op->else_case);
        }
        line("}");
    }
};

}  // namespace

Body body_of(FunctionContext &context, const Stmt &statements, int64_t arena_begin) {
    return BodyPrinter(context, arena_begin).print(statements);
}

}  // namespace halyard::c99
