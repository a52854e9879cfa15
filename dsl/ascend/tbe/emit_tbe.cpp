// Every dimension of every Func and tensor belongs to one of a few axes (axes.h). A tensor of TBE
// has all axes, in the order of the op's tensors, with extent 1 for axes along which it doesn't
// change.
#include "dsl/ascend/tbe/emit_tbe.h"

#include <algorithm>

#include "ascend/emit/emit_python.h"
#include "dsl/ascend/graph.h"
#include "dsl/ascend/lowering/values.h"
#include "dsl/ascend/tbe/axes.h"
#include "registry/base/error.h"

namespace halyard::ascend {
using namespace Halide;
using namespace Halide::Internal;

namespace {

// The value of an expression: a tensor, or a Python number.
struct Term {
    bool number = false;
    std::string text;
    std::set<int> axes;  // the axes along which the tensor changes
    Type type;
};

class Emitter {
public:
    explicit Emitter(const Kernel &k) : k_(k), axes_(k) {}

    dv::PythonFiles files() {
        std::vector<dv::GmTensor> tensors;
        std::string head, list;
        for (size_t i = 0; i < k_.op->memory.size(); i++) {
            const std::string name = dv::python_name(k_.op->sig.inputs[i].name);
            const DType t = stored(k_.op->sig.inputs[i], k_.op->memory[i].type());
            tensors.push_back({k_.op->sig.inputs[i].name, t, 0, dv::GmTensor::in});
            taken_[name] = 1;
            line(name + " = tvm.placeholder(" +
                 (axes_.multiplied(i) ? matrix(i) : shape(axes_.of_input(i))) + ", name=\"" + name +
                 "\", dtype=\"" + dv::python_type(t) + "\")");
            list += name + ", ";
        }
        std::string results;
        for (size_t i = 0; i < k_.pipeline.outputs().size(); i++) {
            const Func f = k_.pipeline.outputs()[i];
            const Term t = whole(of(f.name(), 0), axes_.dims(f.name()));
            tensors.push_back({k_.op->sig.outputs[i].name, stored(k_.op->sig.outputs[i], t.type), 0,
                               dv::GmTensor::out});
            results += (i ? ", " : "") + t.text;
        }
        line("with tvm.target.cce():");
        line("    schedule = generic.auto_schedule(" +
             (k_.pipeline.outputs().size() == 1 ? results : "[" + results + "]") + ")");
        line("te.lang.cce.cce_build_code(schedule, {\"print_ir\": False, \"name\": kernel_name, "
             "\"tensor_list\": [" +
             list + results + "]})");

        const std::string &name = k_.op->name;
        head = "# TBE kernel of " + name + " for " + k_.instance.call->chip +
               "; its schedule is auto_schedule's.\n";
        head += "import te.lang.cce\nfrom te import tvm\nfrom topi import generic\n\n\ndef haly_" +
                name + "(";
        for (const dv::GmTensor &t : tensors)
            head += dv::python_name(t.name) + "_info, ";
        std::vector<dv::PythonAttribute> attributes;
        for (const ScalarSpec &s : k_.op->scalars) {
            if (s.real) {
                attributes.push_back({s.name, default_of(s)});
                head += dv::python_name(s.name) + "=" + default_of(s) + ", ";
            }
        }
        head += "kernel_name=\"haly_" + name + "\"):\n";
        return {head + body_, dv::mindspore_registration(name, tensors, attributes),
                dv::framework_ini(name, tensors)};
    }

private:
    const Kernel &k_;
    Axes axes_;
    std::string body_, where_, last_;           // last_: the name that the last line defined
    std::map<std::string, std::string> names_;  // the names of computed expressions
    std::map<std::pair<std::string, int>, Term> funcs_;  // the values of each Func
    std::set<std::string> begun_;
    std::map<std::string, int> taken_;
    std::map<std::string, Term> lets_;

    // Returns the default of the attribute that the scalar is.
    std::string default_of(const ScalarSpec &s) const {
        for (const AttrSpec &a : k_.op->attrs)
            if (a.name == s.value) return a.value;
        refuse_tbe(k_.op->name, "", "the number " + s.name + ", which is " + s.value);
    }
    [[noreturn]] void refuse(const std::string &why) const { refuse_tbe(k_.op->name, where_, why); }
    static DType stored(const TensorSpec &t, const Type &as) {
        return t.dtype == "bool" ? DType::boolean : dtype_of(as);
    }
    void line(const std::string &s) { body_ += "    " + s + "\n"; }
    std::string shape(const std::set<int> &moving) const {
        std::string s;
        int n = 0;
        for (const int a : axes_.order())
            s += (n++ ? ", " : "") + std::to_string(moving.count(a) ? axes_.extent(a) : 1);
        return n == 0 ? "(1,)" : n == 1 ? "(" + s + ",)" : "(" + s + ")";
    }
    std::string matrix(size_t input) const {
        std::string s;
        for (const int a : axes_.layout_of(input))
            s += (s.empty() ? "" : ", ") + std::to_string(axes_.extent(a));
        return "(" + s + ")";
    }
    std::string fresh(const std::string &name) {
        const int n = taken_[name]++;
        return n ? name + "_" + std::to_string(n) : name;
    }
    // Returns the name of te.lang.cce.FUNCTION(ARGUMENTS), which is computed once.
    Term call(const std::string &function, const std::vector<std::string> &arguments,
              const std::set<int> &axes, const Type &t) {
        std::string text = "te.lang.cce." + function + "(";
        for (const std::string &a : arguments)
            text += (text.back() == '(' ? "" : ", ") + a;
        text += ")";
        std::string &name = names_[text];
        if (name.empty()) {
            name = last_ = fresh("t");
            line(name + " = " + text);
        }
        return {false, name, axes, t};
    }
    static std::string constant(const Term &n) {
        return "tvm.const(" + n.text + ", dtype=\"" + dv::python_type(dtype_of(n.type)) + "\")";
    }
    static std::string type_text(const Type &t) {
        return "\"" + dv::python_type(dtype_of(t)) + "\"";
    }

    Term whole(const Term &t, const std::set<int> &axes) {
        if (t.number)
            return call("broadcast", {constant(t), shape(axes), type_text(t.type)}, axes, t.type);
        return shape(t.axes) == shape(axes)
                   ? t
                   : call("broadcast", {t.text, shape(axes)}, axes, t.type);
    }
    static std::set<int> both(const Term &a, const Term &b) {
        std::set<int> all = a.axes;
        all.insert(b.axes.begin(), b.axes.end());
        return all;
    }

    // ---- Funcs
    Term of(const std::string &name, int k) {
        if (const auto known = funcs_.find({name, k}); known != funcs_.end()) return known->second;
        const std::string before = where_;
        where_ = name.substr(0, name.find('$'));
        const Function &f = axes_.function(name);
        if (!begun_.insert(name + "." + std::to_string(k)).second)
            refuse("a value that its own update needs");
        Term t;
        if (!f.has_update_definition())
            t = value(f.values()[size_t(k)]);
        else if (axes_.is_product(name))
            t = product(f);
        else
            t = reduction(f, k);
        if (!t.number) t.text = named_after_stage(t.text);
        where_ = before;
        return funcs_[{name, k}] = t;
    }
    // Renames the result of the last line, if it has a generated name, after its stage.
    std::string named_after_stage(const std::string &name) {
        if (name != last_) return name;
        const std::string better = fresh(dv::python_name(where_));
        for (auto &[text, known] : names_)
            if (known == name) known = better;
        body_.replace(body_.rfind("    " + name + " = "), name.size() + 4, "    " + better);
        last_ = "";
        return better;
    }
    // A reduction's operation as Halide and TBE have it.
    struct Reducer {
        const char *function,
            *operation;  // TBE's function over axes, and its operation on two tensors
        double identity;
        Expr a, b;  // operands of the update
    };
    Reducer reducer_of(const Expr &e) const {
        if (const auto *op = e.as<Add>()) return {"sum", "add", 0, op->a, op->b};
        if (const auto *op = e.as<Mul>()) return {"reduce_prod", "mul", 1, op->a, op->b};
        if (const auto *op = e.as<Max>()) return {"reduce_max", "max", -INFINITY, op->a, op->b};
        if (const auto *op = e.as<Min>()) return {"reduce_min", "min", INFINITY, op->a, op->b};
        refuse("an update that isn't a sum, a product, a maximum or a minimum");
    }
    Term reduction(const Function &f, int k) {
        Expr e = f.update(0).values()[size_t(k)];
        while (const auto *let = e.as<Let>()) {
            lets_[let->name] = value(let->value);
            e = let->body;
        }
        const Reducer reducer = reducer_of(e);
        const auto is_self = [&](const Expr &x) {
            const Call *c = x.as<Call>();
            return c && c->name == f.name() && c->value_index == k;
        };
        if (f.updates().size() != 1 || (!is_self(reducer.a) && !is_self(reducer.b)))
            refuse("an update that isn't a sum, a product, a maximum or a minimum");
        const std::set<int> over = axes_.reduced(f.name());
        Term x = value(is_self(reducer.a) ? reducer.b : reducer.a);
        std::set<int> axes = x.axes;
        axes.insert(over.begin(), over.end());
        x = whole(x, axes);
        std::string list;
        for (size_t a = 0; a < axes_.order().size(); a++) {
            if (over.count(axes_.order()[a]))
                list += (list.empty() ? "" : ", ") + std::to_string(a);
        }
        for (const int a : over)
            axes.erase(a);
        const Term r = list.empty() ? x
                                    : call(reducer.function, {x.text, "[" + list + "]", "True"},
                                           axes, x.type);
        // The initial value is combined with the result, unless it is the identity.
        const Term first = value(f.values()[size_t(k)]);
        const FloatImm *begin = f.values()[size_t(k)].as<FloatImm>();
        if (begin && begin->value == reducer.identity) return r;
        return arithmetic(reducer.operation, r, first);
    }
    // A product of f16 matrices, which is summed in f32.
    Term product(const Function &f) {
        const auto [a, b] = axes_.operands(f.name());
        const std::set<int> over = axes_.reduced(f.name());
        // Returns whether a matrix is transposed: its summed axis is where the other one belongs.
        const auto flag = [&](size_t input, bool left) {
            const std::vector<int> two = axes_.layout_of(input);
            if (two.size() != 2 || over.size() != 1 || over.count(two[0]) == over.count(two[1]))
                refuse("a product that isn't of two matrices");
            return std::string((over.count(two[1]) != 0) == left ? "False" : "True");
        };
        const std::string of_a = flag(a, true);
        const std::string of_b = flag(b, false);
        // Returns the position of the axis that the result has from an operand.
        const auto place = [&](size_t input) {
            const std::vector<int> two = axes_.layout_of(input);
            return std::find(axes_.order().begin(), axes_.order().end(), two[over.count(two[0])]);
        };
        if (place(b) < place(a)) refuse("a product that lies transposed");
        const auto name = [&](size_t input) {
            return dv::python_name(k_.op->sig.inputs[input].name);
        };
        return call("matmul", {name(a), name(b), of_a, of_b, "dst_dtype=\"float32\""},
                    axes_.dims(f.name()), Float(32));
    }

    // ---- values
    Term arithmetic(const std::string &op, Term a, Term b) {
        const std::map<std::string, const char *> signs = {
            {"add", " + "}, {"sub", " - "}, {"mul", " * "}, {"div", " / "}};
        const Type t = a.type;
        if (a.number && b.number) {
            const auto sign = signs.find(op);
            return {true,
                    sign == signs.end() ? op + "(" + a.text + ", " + b.text + ")"
                                        : "(" + a.text + sign->second + b.text + ")",
                    {},
                    t};
        }
        if (op == "div" && !t.is_float()) refuse("a division of integers");
        if (a.number && (op == "add" || op == "mul" || op == "max" || op == "min")) std::swap(a, b);
        if (b.number && op == "sub") {
            return call(
                "vadds",
                {a.text,
                 constant({true, b.text[0] == '-' ? b.text.substr(1) : "-" + b.text, {}, t})},
                a.axes, t);
        }
        if (b.number && op != "div") return call("v" + op + "s", {a.text, constant(b)}, a.axes, t);
        if (a.number && op == "sub") {
            return arithmetic(
                "add", call("vmuls", {b.text, constant({true, "-1.0", {}, t})}, b.axes, t), a);
        }
        const std::set<int> axes = both(a, b);
        return call("v" + op, {whole(a, axes).text, whole(b, axes).text}, axes, t);
    }
    Term chosen(const char *op, Term a, Term b, const Term &x, const Term &y) {
        if (a.number && b.number) refuse("a condition on numbers alone");
        if (!a.type.is_float() && x.type.is_float()) {
            a = as(a, x.type);
            b = as(b, x.type);
        }
        if (a.type != x.type) refuse("a choice of another type than its condition's");
        if (a.number) {
            std::swap(a, b);
            const std::map<std::string, const char *> turned = {
                {"lt", "gt"}, {"gt", "lt"}, {"le", "ge"}, {"ge", "le"}, {"eq", "eq"}, {"ne", "ne"}};
            op = turned.at(op);
        }
        std::set<int> axes = both(a, b);
        axes.merge(both(x, y));
        const auto operand = [&](const Term &t) {
            return t.number ? constant(t) : whole(t, axes).text;
        };
        return call("vcmpsel",
                    {whole(a, axes).text, operand(b), "\"" + std::string(op) + "\"", operand(x),
                     operand(y)},
                    axes, x.type);
    }
    Term select(const Expr &condition, const Term &x, const Term &y) {
        if (const auto *op = condition.as<And>()) return select(op->a, select(op->b, x, y), y);
        if (const auto *op = condition.as<Or>()) return select(op->a, x, select(op->b, x, y));
        if (const auto *op = condition.as<Not>()) return select(op->a, y, x);
        if (const auto *let = condition.as<Let>()) {
            lets_[let->name] = value(let->value);
            return select(let->body, x, y);
        }
        // Two conditions are equal if both hold or neither does.
        const auto equal = [&](const Expr &a, const Expr &b) {
            return select(a, select(b, x, y), select(b, y, x));
        };
        if (const auto *op = condition.as<EQ>(); op && op->a.type().is_bool())
            return equal(op->a, op->b);
        if (const auto *op = condition.as<NE>(); op && op->a.type().is_bool())
            return equal(op->a, !op->b);
        if (const auto *c = condition.as<Call>();
            c && c->call_type == Call::Halide && !axes_.function(c->name).has_update_definition())
            return select(axes_.function(c->name).values()[0], x, y);
        const Comparison c = comparison_of(condition);
        return chosen(c.op, value(c.a), value(c.b), x, y);
    }
    struct Comparison {
        const char *op;
        Expr a, b;
    };
    Comparison comparison_of(const Expr &condition) const {
        if (const auto *op = condition.as<EQ>()) return {"eq", op->a, op->b};
        if (const auto *op = condition.as<NE>()) return {"ne", op->a, op->b};
        if (const auto *op = condition.as<LT>()) return {"lt", op->a, op->b};
        if (const auto *op = condition.as<LE>()) return {"le", op->a, op->b};
        if (const auto *op = condition.as<GT>()) return {"gt", op->a, op->b};
        if (const auto *op = condition.as<GE>()) return {"ge", op->a, op->b};
        if (const auto *c = condition.as<Call>()) {
            if (c->is_intrinsic(Call::strict_eq)) return {"eq", c->args[0], c->args[1]};
            if (c->is_intrinsic(Call::strict_lt)) return {"lt", c->args[0], c->args[1]};
            if (c->is_intrinsic(Call::strict_le)) return {"le", c->args[0], c->args[1]};
            if (starts_with(c->name, "is_nan")) return {"ne", c->args[0], c->args[0]};
        }
        refuse("the condition " + text_of(condition));
    }
    // Returns the type of the values that a condition compares, in which it becomes 1 or 0.
    static Type compared(const Expr &condition) {
        struct : IRVisitor {
            using IRVisitor::visit;
            void visit(const Call *c) override {
                if (!type.bits()) {
                    type = c->type.is_bool() && !c->args.empty() && c->call_type != Call::Halide
                               ? c->args[0].type()
                               : c->type;
                }
            }
            Type type;
        } first;
        condition.accept(&first);
        return first.type.is_float() ? first.type : Float(16);
    }
    Term as(const Term &x, const Type &t) {
        if (x.number || x.type == t) return {x.number, x.text, x.axes, t};
        return call("cast_to", {x.text, type_text(t)}, x.axes, t);
    }
    static std::string text_of(const Expr &e) {
        std::ostringstream s;
        s << e;
        return s.str().substr(0, 80);
    }
    Term called(const Call *c) {
        if (c->call_type == Call::Halide) return of(c->name, c->value_index);
        if (c->call_type == Call::Image) {
            const size_t i = axes_.input(c->name);
            if (axes_.multiplied(i))
                refuse("a matrix of a product as something else, too: " + c->name);
            return {false, dv::python_name(c->name), axes_.of_input(i), c->type};
        }
        static const std::map<std::string, const char *> functions = {
            {"exp_f32", "vexp"}, {"log_f32", "vlog"}, {"sqrt_f32", "vsqrt"}};
        static const std::map<std::string, const char *> strict = {
            {"strict_add", "add"}, {"strict_sub", "sub"}, {"strict_mul", "mul"},
            {"strict_div", "div"}, {"strict_max", "max"}, {"strict_min", "min"}};
        static const std::map<std::string, const char *> to_integers = {{"floor_f32", "floor"},
                                                                        {"ceil_f32", "ceil"},
                                                                        {"trunc_f32", "trunc"},
                                                                        {"round", "round"},
                                                                        {"round_f32", "round"}};
        const auto in = [&](const auto &table) {
            return table.find(c->name) == table.end() ? nullptr : table.at(c->name);
        };
        if (const char *op = in(strict))
            return arithmetic(op, value(c->args[0]), value(c->args[1]));
        // dsl/ascend/math.cpp
        if (c->is_intrinsic({Call::likely, Call::likely_if_innermost}) ||
            c->name == "unbounded_f32")
            return value(c->args[0]);
        const char *function = c->is_intrinsic(Call::abs) ? "vabs" : in(functions);
        const char *to_integer = in(to_integers);
        if (!function && !to_integer) refuse("the function " + c->name);
        const Term x = value(c->args[0]);
        if (x.number) refuse("the function " + c->name + " of a number alone");
        if (function) return call(function, {x.text}, x.axes, x.type);
        return call("cast_to",
                    {call(to_integer, {x.text}, x.axes, Int(32)).text, type_text(x.type)}, x.axes,
                    x.type);
    }
    Term converted(const Cast *c) {
        if (c->value.type().is_bool()) {
            const Type t = compared(c->value);
            return as(select(c->value, {true, "1.0", {}, t}, {true, "0.0", {}, t}),
                      c->type.is_float() ? c->type : Int(8));
        }
        const Term x = value(c->value);
        if (x.type == c->type || x.number) return as(x, c->type);
        const auto plain = [](const Type &t) { return t == Float(16) || t == Float(32); };
        if (!plain(c->type) ||
            !(plain(x.type) || (x.type.is_int() && x.type.bits() <= 32) || x.type == UInt(8)))
            refuse("a conversion to " + dv::python_type(dtype_of(c->type)));
        return as(x, c->type);
    }
    Term value(const Expr &e) {
        if (const auto *op = e.as<FloatImm>())
            return {true, dv::python_number(op->value), {}, e.type()};
        if (const auto *op = e.as<IntImm>()) return {true, std::to_string(op->value), {}, e.type()};
        if (const auto *op = e.as<UIntImm>())
            return {true, std::to_string(op->value), {}, e.type()};
        if (const auto *op = e.as<Variable>()) {
            if (op->param.defined() && !op->param.is_buffer())
                return {true, dv::python_name(op->name), {}, e.type()};
            if (const auto known = lets_.find(op->name); known != lets_.end()) return known->second;
            refuse("the index " + op->name + " as a value");
        }
        if (const auto *op = e.as<Let>()) {
            const Term v = value(op->value);
            lets_[op->name] = v;
            return value(op->body);
        }
        if (const auto *op = e.as<Cast>()) return converted(op);
        if (const auto *op = e.as<Select>()) {
            const Term x = value(op->true_value);
            const Term y = value(op->false_value);
            return select(op->condition, x, y);
        }
        if (const auto *op = e.as<Call>()) return called(op);
        const auto with = [&](const char *name, const Expr &left, const Expr &right) {
            const Term x = value(left);
            const Term y = value(right);
            return arithmetic(name, x, y);
        };
        if (const auto *op = e.as<Add>()) return with("add", op->a, op->b);
        if (const auto *op = e.as<Sub>()) return with("sub", op->a, op->b);
        if (const auto *op = e.as<Mul>()) return with("mul", op->a, op->b);
        if (const auto *op = e.as<Div>()) return with("div", op->a, op->b);
        if (const auto *op = e.as<Max>()) return with("max", op->a, op->b);
        if (const auto *op = e.as<Min>()) return with("min", op->a, op->b);
        refuse(text_of(e));
    }
};

}  // namespace

dv::PythonFiles emit_tbe(const Kernel &k) {
    return Emitter(k).files();
}

}  // namespace halyard::ascend
