// The conceptual Stmt of an Ascend schedule, as Da Vinci instructions in text: data_move, vec_*, vec_reduce_*.
// Whole-tile vectors become one instruction each; expression trees become three-address code with UB temporaries.
#include <sstream>

#include "dsl/kernel.h"

namespace halyard {
using namespace Halide;
using namespace Halide::Internal;
namespace {

class DaVinci : public IRVisitor {
    std::ostringstream out;
    std::map<std::string, int> ub;  // buffer -> address in the Unified Buffer
    int indent = 0, top = 0, peak = 0, temps = 0;

    std::ostream &line() { return out << std::string(2 * indent, ' '); }
    static std::string text(const Expr &e) {
        std::ostringstream s;
        s << e;
        return s.str();
    }
    static std::string dtype(const Type &t) { return (t.is_float() ? "f" : "i") + std::to_string(t.bits()); }
    int place(const std::string &name, int bytes) {
        const int at = top;
        top += (bytes + 31) / 32 * 32;
        peak = std::max(peak, top);
        return ub[name] = at;
    }
    // One instruction covers 256 B per repeat; a last partial repeat gets a mask of its own.
    static std::string repeats(const Type &t) {
        const int lanes = 256 / t.bytes(), n = t.lanes();
        std::string s = "mask=" + std::to_string(std::min(lanes, n)) + " repeat=" + std::to_string(std::max(1, n / lanes));
        return n > lanes && n % lanes ? s + " tail_mask=" + std::to_string(n % lanes) : s;
    }
    static bool is_zero(const Expr &e) {
        const Broadcast *b = e.as<Broadcast>();
        return is_const_zero(b ? b->value : e);
    }
    [[noreturn]] static void refuse(const Expr &e) { throw std::invalid_argument("ascend: no instruction for " + text(e)); }

    void name_vector(const std::string &name, const Expr &v) {
        place(name, v.type().bytes() * v.type().lanes());
        value(v, name);
    }

    // The register or buffer holding e; vectors land in `into` when given, else in a temporary.
    std::string value(const Expr &e, std::string into = "") {
        if (const Load *l = e.as<Load>()) return l->name;
        if (const Broadcast *b = e.as<Broadcast>()) {
            if (const Load *l = b->value.as<Load>()) return "scalar(" + l->name + ")";
            return "imm(" + text(b->value) + ")";
        }
        if (const Variable *v = e.as<Variable>()) return v->name;
        if (const Let *l = e.as<Let>()) return name_vector(l->name, l->value), value(l->body, into);
        if (e.type().is_scalar()) return text(e);
        const int mark = top;
        std::string op;
        std::vector<Expr> args;
        if (const Cast *cast = e.as<Cast>()) op = "conv." + dtype(cast->value.type()) + "." + dtype(cast->type), args = {cast->value};
        else if (const Call *call = e.as<Call>()) {
            op = call->name, args = call->args;
            for (const char *cut : {"strict_", "_f32", "_f16"})
                if (size_t at = op.find(cut); at != std::string::npos) op.erase(at, std::string(cut).size());
        } else refuse(e);
        std::vector<std::string> names;
        for (const Expr &a : args) names.push_back(value(a));
        const Type t = e.type();
        if (into.empty()) place(into = "tmp" + std::to_string(temps++), t.bytes() * t.lanes());
        if (op == "max" && is_zero(args[1])) {  // 910A: vrelu is fp16 only
            if (t.bits() == 16) line() << "vec_relu " << into << ", " << names[0] << "  " << repeats(t) << "\n";
            else line() << "vec_max " << into << ", " << names[0] << ", zero_block (blk=0 rep=0)  " << repeats(t) << "\n";
        } else if (names.size() == 2 && names[1].rfind("scalar(", 0) == 0 && op == "sub") {
            line() << "vec_adds " << into << ", " << names[0] << ", -" << names[1] << "  " << repeats(t) << "   # V->S flag\n";
        } else if (names.size() == 2 && names[1].rfind("scalar(", 0) == 0) {
            place("tmp" + std::to_string(temps), t.bytes() * t.lanes());
            line() << "vec_dup tmp" << temps << ", " << names[1] << "  " << repeats(t) << "   # V->S flag\n";
            line() << "vec_" << op << " " << into << ", " << names[0] << ", tmp" << temps++ << "  " << repeats(t) << "\n";
        } else {
            line() << "vec_" << op << " " << into;
            for (auto &n : names) out << ", " << n;
            out << "  " << repeats(t) << "\n";
        }
        if (ub.count(into) && ub[into] >= mark && into.rfind("tmp", 0) != 0) top = mark;
        return into;
    }

    void visit(const For *f) override {
        const Store *s = nullptr;
        struct Only : IRVisitor {
            using IRVisitor::visit;
            const Store *store = nullptr;
            void visit(const Store *s) override { store = s; }
        } only;
        f->body.accept(&only);
        s = only.store;
        // for k: acc[c] = op(acc[c], v[k + base])
        if (const Call *c = s ? s->value.as<Call>() : nullptr; c && c->args.size() == 2) {
            const Load *acc = c->args[0].as<Load>(), *v = c->args[1].as<Load>();
            if (acc && v && acc->name == s->name && expr_uses_var(v->index, f->name)) {
                const std::string op = starts_with(c->name, "strict_max") ? "max" : starts_with(c->name, "strict_add") ? "add" : "";
                if (op.empty()) refuse(s->value);
                const Type t = v->type.with_lanes(1);
                line() << "vec_reduce_" << op << " " << s->name << "[0], " << v->name << "  n=" << f->extent << " (" << dtype(t) << ")\n";
                return;
            }
        }
        line() << (f->for_type == ForType::Parallel ? "core " : "for ") << f->name << " in [" << f->min << ", " << f->extent << ")\n";
        indent++;
        f->body.accept(this);
        indent--;
    }
    void visit(const Allocate *a) override {
        int bytes = a->type.bytes();
        for (const Expr &e : a->extents) bytes *= (int)*as_const_int(simplify(e));
        const int at = place(a->name, bytes);
        line() << "ub " << a->name << ": " << dtype(a->type) << " " << bytes << " B @" << at << "\n";
        a->body.accept(this);
    }
    void visit(const LetStmt *l) override {
        if (l->value.type().is_vector()) name_vector(l->name, l->value);
        else if (l->value.type().is_int() && l->name.find(".stride") == std::string::npos) line() << "let " << l->name << " = " << l->value << "\n";
        else if (l->value.type().is_float()) line() << "let " << l->name << " = " << l->value << "\n";
        l->body.accept(this);
    }
    void visit(const Store *s) override {
        const Load *l = s->value.as<Load>();
        const Ramp *to = s->index.as<Ramp>();
        if (l && to && (ub.count(s->name) != ub.count(l->name))) {
            const Ramp *from = l->index.as<Ramp>();
            if (!from || !is_const_one(from->stride) || !is_const_one(to->stride)) refuse(s->value);
            const int bytes = s->value.type().bytes() * to->lanes;
            if (bytes % 32) throw std::invalid_argument("ascend: data_move of " + std::to_string(bytes) + " B is not a multiple of 32");
            const bool in = ub.count(s->name);
            line() << "data_move " << (in ? "ub." : "gm.") << s->name << "[" << to->base << "], " << (in ? "gm." : "ub.") << l->name << "[" << from->base
                   << "]  nburst=1 burst=" << bytes / 32 << "\n";
        } else if (s->value.type().is_scalar()) {
            line() << "scalar_store " << s->name << "[" << s->index << "], " << s->value << "\n";
        } else {
            const std::string got = value(s->value, s->name);
            if (got != s->name) line() << "vec_dup " << s->name << ", " << got << "  " << repeats(s->value.type()) << "\n";
        }
    }
    using IRVisitor::visit;

public:
    std::string run(const Stmt &s) {
        s.accept(this);
        out << "# UB peak " << peak << " of 262144 B, one slot each\n";
        return out.str();
    }
};

}  // namespace

std::string davinci_text(const Stmt &s) { return DaVinci().run(s); }

}  // namespace halyard
