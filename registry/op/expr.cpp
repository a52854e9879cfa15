#include "registry/op/expr.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace halyard {
namespace {

// The limit of nested parentheses and unary signs, so that no text can exhaust the stack.
constexpr int most_nesting = 100;

bool starts_name(char c) {
    return std::isalpha((unsigned char)c) || c == '_';
}
bool in_name(char c) {
    return std::isalnum((unsigned char)c) || c == '_';
}

class Parser {
public:
    Parser(const std::string &text, const std::string &op, std::vector<std::string> &names,
           std::vector<ParsedExpr::Node> &nodes)
        : text_(text), op_(op), names_(names), nodes_(nodes) {}

    void all() {
        value();
        skip();
        if (at_ != text_.size()) fail("unexpected '" + text_.substr(at_, 1) + "'");
    }

private:
    using K = ExprKind;

    [[noreturn]] void fail(const std::string &what) const {
        throw AttrError(op_,
                        "bad expression '" + text_ + "' at " + std::to_string(at_) + ": " + what);
    }
    void skip() {
        while (at_ < text_.size() && std::isspace((unsigned char)text_[at_]))
            at_++;
    }
    bool eat(std::string_view token) {
        skip();
        if (text_.compare(at_, token.size(), token) != 0) return false;
        at_ += token.size();
        return true;
    }
    void expect(std::string_view token) {
        if (!eat(token)) fail("expected '" + std::string(token) + "'");
    }
    int add(K kind, int a = -1, int b = -1, int c = -1, int64_t v = 0) {
        nodes_.push_back({kind, v, a, b, c, false});
        return int(nodes_.size()) - 1;
    }

    int swapped(int node) {
        nodes_[node].swapped = true;
        return node;
    }

    int value() {
        if (++nesting_ > most_nesting) fail("nested deeper than " + std::to_string(most_nesting));
        int a = any();
        if (eat("?")) {
            const int b = value();
            expect(":");
            a = add(K::choose, a, b, value());
        }
        nesting_--;
        return a;
    }
    int any() {
        int a = all_of();
        while (eat("||"))
            a = add(K::either, a, all_of());
        return a;
    }
    int all_of() {
        int a = compare();
        while (eat("&&"))
            a = add(K::both, a, compare());
        return a;
    }
    int compare() {
        const int a = sum();
        if (eat("==")) return add(K::equal, a, sum());
        if (eat("!=")) return add(K::unequal, a, sum());
        if (eat("<=")) return add(K::less_equal, a, sum());
        if (eat(">=")) return swapped(add(K::less_equal, sum(), a));
        if (eat("<")) return add(K::less, a, sum());
        if (eat(">")) return swapped(add(K::less, sum(), a));
        return a;
    }
    int sum() {
        int a = product();
        for (;;) {
            if (eat("+"))
                a = add(K::add, a, product());
            else if (eat("-"))
                a = add(K::sub, a, product());
            else
                return a;
        }
    }
    int product() {
        int a = unary();
        for (;;) {
            if (eat("*"))
                a = add(K::mul, a, unary());
            else if (eat("/"))
                a = add(K::div, a, unary());
            else if (eat("%"))
                a = add(K::mod, a, unary());
            else
                return a;
        }
    }
    int unary() {
        if (!eat("-")) return atom();
        if (++nesting_ > most_nesting) fail("nested deeper than " + std::to_string(most_nesting));
        const int a = unary();
        nesting_--;
        return add(K::neg, a);
    }
    int atom() {
        if (eat("(")) {
            const int a = value();
            expect(")");
            return a;
        }
        const size_t from = at_;
        if (at_ < text_.size() && std::isdigit((unsigned char)text_[at_])) return number();
        if (at_ == text_.size() || !starts_name(text_[at_])) fail("expected a name or a number");
        while (at_ < text_.size() && in_name(text_[at_]))
            at_++;
        const std::string word = text_.substr(from, at_ - from);
        if (eat("(")) return call(word);
        auto it = std::find(names_.begin(), names_.end(), word);
        if (it == names_.end()) it = names_.insert(it, word);
        return add(K::name, -1, -1, -1, it - names_.begin());
    }
    int number() {
        int64_t v = 0;
        for (; at_ < text_.size() && std::isdigit((unsigned char)text_[at_]); at_++) {
            if (__builtin_mul_overflow(v, 10, &v) ||
                __builtin_add_overflow(v, text_[at_] - '0', &v))
                fail("number exceeds 64 bits");
        }
        if (at_ < text_.size() && (in_name(text_[at_]) || text_[at_] == '.'))
            fail("expected a whole number");
        return add(K::constant, -1, -1, -1, v);
    }
    int call(const std::string &function) {
        const K kind = function == "max" ? K::max : function == "min" ? K::min : K::cdiv;
        if (kind == K::cdiv && function != "cdiv")
            fail("unknown function '" + function + "', expected max, min or cdiv");
        const int a = value();
        expect(",");
        const int b = value();
        expect(")");
        return add(kind, a, b);
    }

    const std::string &text_, &op_;
    std::vector<std::string> &names_;
    std::vector<ParsedExpr::Node> &nodes_;
    size_t at_ = 0;
    int nesting_ = 0;
};

[[noreturn]] void arithmetic(const char *what, int64_t a, const char *sign, int64_t b) {
    throw ShapeError("expr", std::string(what) + ": " + std::to_string(a) + " " + sign + " " +
                                 std::to_string(b));
}

}  // namespace

int64_t ExprOps<int64_t>::add(int64_t a, int64_t b) {
    int64_t v;
    if (__builtin_add_overflow(a, b, &v)) arithmetic("overflow", a, "+", b);
    return v;
}

int64_t ExprOps<int64_t>::sub(int64_t a, int64_t b) {
    int64_t v;
    if (__builtin_sub_overflow(a, b, &v)) arithmetic("overflow", a, "-", b);
    return v;
}

int64_t ExprOps<int64_t>::mul(int64_t a, int64_t b) {
    int64_t v;
    if (__builtin_mul_overflow(a, b, &v)) arithmetic("overflow", a, "*", b);
    return v;
}

int64_t ExprOps<int64_t>::div(int64_t a, int64_t b) {
    if (b == 0) arithmetic("division by zero", a, "/", b);
    return b == -1 ? sub(0, a) : a / b;
}

int64_t ExprOps<int64_t>::mod(int64_t a, int64_t b) {
    if (b == 0) arithmetic("division by zero", a, "%", b);
    return b == -1 ? 0 : a % b;
}

int64_t ExprOps<int64_t>::cdiv(int64_t a, int64_t b) {
    const int64_t q = div(a, b);
    return q + (mod(a, b) != 0 && (a < 0) == (b < 0));
}

ParsedExpr::ParsedExpr(const std::string &text, const std::string &op) : text_(text) {
    Parser(text_, op, names_, nodes_).all();
}

bool is_name(const std::string &s) {
    return !s.empty() && starts_name(s[0]) && std::all_of(s.begin(), s.end(), in_name);
}

void unknown_name(const std::string &op, const std::string &name, const std::string &text) {
    throw AttrError(op, "unknown name '" + name + "' in '" + text + "'");
}

CompiledExpr::CompiledExpr(const std::string &text, const std::vector<std::string> &names,
                           const std::string &op)
    : text_(text), op_(op) {
    const ParsedExpr e(text, op);
    const int needed = emit(e, int(e.nodes().size()) - 1, names);
    if (needed > stack_size) {
        throw AttrError(op, "expression '" + text + "' needs a stack of " + std::to_string(needed) +
                                ", the limit is " + std::to_string(stack_size));
    }
}

std::string ParsedExpr::text_of(int node) const {
    struct Infix {
        const char *text;
        int strength;  // binds its operands the closer
    };
    const auto infix = [](const Node &n) -> Infix {
        switch (n.kind) {
        case ExprKind::either: return {"||", 1};
        case ExprKind::both: return {"&&", 2};
        case ExprKind::equal: return {"==", 3};
        case ExprKind::unequal: return {"!=", 3};
        case ExprKind::less: return {n.swapped ? ">" : "<", 3};
        case ExprKind::less_equal: return {n.swapped ? ">=" : "<=", 3};
        case ExprKind::add: return {"+", 4};
        case ExprKind::sub: return {"-", 4};
        case ExprKind::mul: return {"*", 5};
        case ExprKind::div: return {"/", 5};
        case ExprKind::mod: return {"%", 5};
        default: return {"", n.kind == ExprKind::choose ? 0 : 6};
        }
    };
    const Node n = nodes_[node];
    const auto operand = [&](int k, int least) {
        return infix(nodes_[k]).strength < least ? "(" + text_of(k) + ")" : text_of(k);
    };
    const auto call = [&](const char *name) {
        return name + ("(" + text_of(n.a)) + "," + text_of(n.b) + ")";
    };
    switch (n.kind) {
    case ExprKind::constant: return std::to_string(n.value);
    case ExprKind::name: return names_[n.value];
    case ExprKind::neg: return "-" + operand(n.a, 6);
    case ExprKind::cdiv: return call("cdiv");
    case ExprKind::max: return call("max");
    case ExprKind::min: return call("min");
    case ExprKind::choose: return operand(n.a, 1) + "?" + text_of(n.b) + ":" + text_of(n.c);
    default: break;
    }
    const auto [sign, strength] = infix(n);
    const bool compares = strength == 3;
    const int left = n.swapped ? n.b : n.a;
    const int right = n.swapped ? n.a : n.b;
    return operand(left, compares ? 4 : strength) + sign + operand(right, strength + 1);
}

int CompiledExpr::emit(const ParsedExpr &e, int node, const std::vector<std::string> &names) {
    const ParsedExpr::Node n = e.nodes()[node];
    switch (n.kind) {
    case ExprKind::constant: code_.push_back({Code::binary_or_leaf, n.kind, n.value}); return 1;
    case ExprKind::name: {
        const std::string &name = e.names()[n.value];
        const auto it = std::find(names.begin(), names.end(), name);
        if (it == names.end()) unknown_name(op_, name, text_);
        code_.push_back({Code::binary_or_leaf, n.kind, it - names.begin()});
        return 1;
    }
    case ExprKind::both:    // a && b is a ? b != 0 : 0
    case ExprKind::either:  // a || b is a ? 1 : b != 0
    case ExprKind::choose: {
        int stack = emit(e, n.a, names);
        const auto branch = [&](int operand, int64_t otherwise) {
            if (operand < 0)
                code_.push_back({Code::binary_or_leaf, ExprKind::constant, otherwise});
            else
                stack = std::max(stack, emit(e, operand, names));
            if (operand >= 0 && n.kind != ExprKind::choose)
                code_.push_back({Code::truth, n.kind, 0});
        };
        const size_t to_else = code_.size();
        code_.push_back({Code::jump_if_zero, n.kind, 0});
        branch(n.kind == ExprKind::either ? -1 : n.b, 1);
        const size_t to_end = code_.size();
        code_.push_back({Code::jump, n.kind, 0});
        code_[to_else].value = int64_t(code_.size() - to_else - 1);
        branch(n.kind == ExprKind::choose ? n.c : n.kind == ExprKind::either ? n.b : -1, 0);
        code_[to_end].value = int64_t(code_.size() - to_end - 1);
        return stack;
    }
    default: {
        int stack = emit(e, n.a, names);
        if (n.b >= 0) stack = std::max(stack, 1 + emit(e, n.b, names));
        code_.push_back({Code::binary_or_leaf, n.kind, 0});
        return stack;
    }
    }
}

int64_t CompiledExpr::operator()(const int64_t *values) const try {
    using Ops = ExprOps<int64_t>;
    int64_t stack[stack_size + 1];  // stack[0] stays unused, so that `top` always points into it
    int64_t *top = stack;
    const auto apply = [&](int64_t (*f)(int64_t, int64_t)) {
        top--;
        *top = f(top[0], top[1]);
    };
    for (size_t i = 0; i < code_.size(); i++) {
        const Instruction &in = code_[i];
        if (in.code == Code::jump)
            i += size_t(in.value);
        else if (in.code == Code::jump_if_zero)
            i += *top-- ? 0 : size_t(in.value);
        else if (in.code == Code::truth)
            *top = *top != 0;
        else {
            switch (in.kind) {
            case ExprKind::constant: *++top = in.value; break;
            case ExprKind::name: *++top = values[in.value]; break;
            case ExprKind::neg: *top = Ops::neg(*top); break;
            case ExprKind::add: apply(Ops::add); break;
            case ExprKind::sub: apply(Ops::sub); break;
            case ExprKind::mul: apply(Ops::mul); break;
            case ExprKind::div: apply(Ops::div); break;
            case ExprKind::mod: apply(Ops::mod); break;
            case ExprKind::cdiv: apply(Ops::cdiv); break;
            case ExprKind::max: apply(Ops::max_of); break;
            case ExprKind::min: apply(Ops::min_of); break;
            case ExprKind::equal: apply(Ops::equal); break;
            case ExprKind::unequal: apply(Ops::unequal); break;
            case ExprKind::less: apply(Ops::less); break;
            case ExprKind::less_equal: apply(Ops::less_equal); break;
            case ExprKind::both:
            case ExprKind::either:
            case ExprKind::choose: break;  // are jumps
            }
        }
    }
    return *top;
} catch (const ShapeError &e) {
    const std::string what = e.what();
    throw ShapeError(op_, what.substr(what.find(']') + 2) + " in '" + text_ + "'");
}

}  // namespace halyard
