#include "registry/op/signature.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <sstream>

#include "registry/base/text.h"
#include "registry/op/expr_cache.h"
#include "registry/tensor/dtype.h"

namespace halyard {
namespace {

// Reads the text of a signature; errors name the position.
class Reader {
public:
    Reader(const std::string &op, const std::string &text) : op_(op), text_(text) {}

    void read(Signature &s) {
        for (bool left = true; skip(), at_ < text_.size();) {
            if (text_.compare(at_, 2, "->") == 0) {
                if (!left) fail("a second ->");
                left = false;
                at_ += 2;
                continue;
            }
            TensorSpec t = tensor();
            for (const auto *list : {&s.inputs, &s.outputs}) {
                for (const TensorSpec &o : *list)
                    if (o.name == t.name) fail("tensor '" + t.name + "' occurs twice");
            }
            (left ? s.inputs : s.outputs).push_back(std::move(t));
        }
        if (s.outputs.empty()) fail("no output");
    }
    [[noreturn]] void fail(const std::string &what) const {
        throw AttrError(op_,
                        "bad signature '" + text_ + "' at " + std::to_string(at_) + ": " + what);
    }

private:
    void skip() {
        while (at_ < text_.size() && std::isspace((unsigned char)text_[at_]))
            at_++;
    }
    std::string word() {
        const size_t from = at_;
        while (at_ < text_.size() && (std::isalnum((unsigned char)text_[at_]) || text_[at_] == '_'))
            at_++;
        return text_.substr(from, at_ - from);
    }
    void dtype(TensorSpec &t) {
        at_++;
        t.dtype = word();
        if (t.dtype.empty()) fail("expected a dtype");
        if (std::isupper((unsigned char)t.dtype[0])) return;
        try {
            t.dtype = name_of(dtype_of(t.dtype));
        } catch (const DTypeError &) {
            fail("unknown dtype '" + t.dtype + "'");
        }
    }
    TensorSpec tensor() {
        TensorSpec t;
        t.name = word();
        if (!is_name(t.name)) fail("expected a tensor's name");
        if (at_ < text_.size() && text_[at_] == ':') dtype(t);
        if (at_ == text_.size() || text_[at_] != '[') fail("expected [ after " + t.name);
        at_++;
        skip();
        if (at_ < text_.size() && text_[at_] == ']') {
            at_++;
            return t;
        }
        for (bool first = true;; first = false) {
            extent(t, first);
            const char end = text_[at_++];
            if (end == ']') break;
            if (t.any_rank) fail("* must be the only entry of []");
        }
        if (int(t.extents.size()) > max_rank)
            fail("rank is " + std::to_string(t.extents.size()) + ", the limit is 8");
        return t;
    }
    // Reads one extent, up to its comma or bracket; commas inside parentheses belong to the
    // expression.
    void extent(TensorSpec &t, bool first) {
        skip();
        const size_t from = at_;
        for (int depth = 0;; at_++) {
            if (at_ == text_.size()) fail("expected ]");
            const char c = text_[at_];
            depth += (c == '(') - (c == ')');
            if (depth <= 0 && (c == ',' || c == ']')) break;
        }
        std::string e = text_.substr(from, at_ - from);
        while (!e.empty() && std::isspace((unsigned char)e.back()))
            e.pop_back();
        if (e == "*") {
            if (!first) fail("* must be the only entry of []");
            t.any_rank = true;
        } else if (e.compare(0, 2, "..") == 0) {
            t.group = e.substr(2);
            if (!first) fail("..name comes first in []");
            if (!is_name(t.group)) fail("expected a name after ..");
        } else {
            try {
                (void)ParsedExpr(e);
            } catch (const AttrError &error) {
                fail(error.detail());
            }
            t.extents.push_back(e);
        }
    }

    const std::string &op_, &text_;
    size_t at_ = 0;
};

}  // namespace

bool is_type_variable(const std::string &dtype) {
    return dtype.size() == 1 && dtype[0] >= 'A' && dtype[0] <= 'Z';
}

Signature::Signature(const std::string &op_name, const std::string &signature_text)
    : op(op_name), text(signature_text) {
    Reader reader(op, text);
    reader.read(*this);
    bool any = false;
    for (const TensorSpec &t : inputs) {
        any |= t.any_rank;
        const auto add = [&](const std::string &name) {
            if (is_name(name) && std::find(names.begin(), names.end(), name) == names.end())
                names.push_back(name);
        };
        add(t.group);
        for (const std::string &e : t.extents)
            add(e);
    }
    for (const TensorSpec &t : outputs) {
        if (t.any_rank && !any) reader.fail("output " + t.name + "[*] without an input of [*]");
        const auto in_group = [&](const TensorSpec &i) { return i.group == t.group; };
        if (!t.group.empty() && std::none_of(inputs.begin(), inputs.end(), in_group))
            reader.fail("no input has the ..'" + t.group + "' of output " + t.name);
    }
}

int64_t value_of(const std::string &op, const ParsedExpr &e, const Dims &dims) {
    try {
        return e.evaluate<int64_t>([&](const std::string &name) {
            const auto it = dims.find(name);
            if (it == dims.end()) unknown_name(op, name, e.text());
            return it->second;
        });
    } catch (const ShapeError &error) {  // "[expr] overflow: 2 * 4611686018427387904"
        throw ShapeError(op, error.detail() + " in '" + e.text() + "'");
    }
}

int64_t value_of(const std::string &op, const std::string &expression, const Dims &dims) {
    return value_of(op, *parsed(expression, op), dims);
}

bool Signature::differentiates(const Signature &forward) const {
    return std::any_of(forward.inputs.begin(), forward.inputs.end(),
                       [&](const TensorSpec &t) { return op == forward.op + "_d" + t.name; });
}

std::string forward_name(const std::string &op) {
    const size_t cut = op.rfind("_d");
    return cut == std::string::npos ? "" : op.substr(0, cut);
}

Dims parse_dims(const std::string &text) {
    Dims dims;
    std::stringstream words(text);
    for (std::string w; words >> w;) {
        const size_t equals = w.find('=');
        const std::string name = w.substr(0, equals);
        const std::string value = equals == std::string::npos ? "" : w.substr(equals + 1);
        int64_t v = 0;
        const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), v);
        if (!is_name(name) || error != std::errc() || end != value.data() + value.size()) {
            throw AttrError("dims",
                            "bad word '" + w + "' in '" + text + "', expected name=integer");
        }
        if (!dims.emplace(name, v).second)
            throw AttrError("dims", "'" + name + "' occurs twice in '" + text + "'");
    }
    return dims;
}

namespace {

// Appends the values that make a node false: "c is 10" and "2*lanes is 32" for c>=2*lanes.
// Constants are left out.
template<class F>
void add_values(const ParsedExpr &e, int node, const F &value, std::vector<std::string> &values) {
    const ParsedExpr::Node n = e.nodes()[node];
    const auto add = [&](int side) {
        if (e.nodes()[side].kind == ExprKind::constant) return;
        const std::string text = e.text_of(side) + " is " +
                                 std::to_string(e.node<int64_t>(side, value));
        if (!std::ranges::count(values, text)) values.push_back(text);
    };
    if (n.kind == ExprKind::both)
        return add_values(e, e.node<int64_t>(n.a, value) ? n.b : n.a, value, values);
    if (n.kind == ExprKind::either) {
        add_values(e, n.a, value, values);
        return add_values(e, n.b, value, values);
    }
    if (n.kind < ExprKind::equal || n.kind > ExprKind::less_equal) return add(node);
    add(n.swapped ? n.b : n.a);
    add(n.swapped ? n.a : n.b);
}

}  // namespace

bool holds(const std::string &conditions, const Dims &dims, std::string *why) {
    constexpr const char *space = " \t\n";
    size_t end = 0;
    for (size_t at; (at = conditions.find_first_not_of(space, end)) != std::string::npos;) {
        end = std::min(conditions.find_first_of(space, at), conditions.size());
        const std::string w = conditions.substr(at, end - at);
        const std::shared_ptr<const ParsedExpr> expression = parsed(w, "condition");
        const ParsedExpr &e = *expression;
        const auto value = [&](const std::string &name) {
            const auto it = dims.find(name);
            if (it == dims.end()) unknown_name("condition", name, w);
            return it->second;
        };
        if (e.evaluate<int64_t>(value)) continue;
        if (!why) return false;
        std::vector<std::string> values;
        add_values(e, e.root(), value, values);
        *why = values.empty() ? w : w + ": " + join(values);
        return false;
    }
    return true;
}

}  // namespace halyard
