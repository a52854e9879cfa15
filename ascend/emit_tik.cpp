#include <algorithm>
#include <map>
#include <set>

#include "ascend/check.h"
#include "ascend/emit.h"
#include "ascend/text.h"
#include "registry/error.h"

namespace halyard::dv {
namespace {

std::string python_type(DType t) {
    switch (t) {
    case DType::f16: return "float16";
    case DType::f32: return "float32";
    case DType::bf16: return "bfloat16";
    case DType::i32: return "int32";
    case DType::i64: return "int64";
    case DType::i8: return "int8";
    default: return "uint8";
    }
}

// TIK's names of scopes.
const char *tik_scope(Scope s) {
    static constexpr const char *names[scope_count] = {"scope_gm", "scope_ubuf", "scope_cbuf", "scope_ca", "scope_cb", "scope_cc"};
    return names[(int)s];
}

// Names a program may have and Python may not.
std::string python_name(const std::string &name) {
    std::string out = name;
    for (char &c : out)
        if (c == '.' || c == '$') c = '_';
    static const std::set<std::string> taken{"t",   "tik",  "and", "or",  "not",  "in",     "is",     "if",   "else",
                                             "for", "with", "as",  "def", "from", "import", "lambda", "pass", "return"};
    return taken.count(out) ? out + "_" : out;
}

class Emitter {
public:
    explicit Emitter(const Program &p) : program_(p) { registers(p.body); }

    std::string kernel() {
        const std::string name = "haly_" + program_.name;
        out_ = "# TIK kernel of " + program_.name + " for " + program_.profile +
               (program_.schedule_hash.empty() ? "" : ", schedule " + program_.schedule_hash) + ".\n";
        out_ += "from te import tik  # newer installations: from tbe import tik\n\n\ndef " + name + "(";
        for (const GmTensor &t : program_.tensors)
            if (t.use != GmTensor::workspace) out_ += python_name(t.name) + "_info, ";
        out_ += "kernel_name=\"" + name + "\"):\n";
        line("t = tik.Tik()");
        std::string inputs, outputs;
        for (const ScalarParam &s : program_.scalars) {
            line(python_name(s.name) + " = t.InputScalar(\"" + python_type(s.dtype) + "\", name=\"" + s.name + "\")");
            inputs += (inputs.empty() ? "" : ", ") + python_name(s.name);
        }
        for (const GmTensor &t : program_.tensors) {
            line(python_name(t.name) + " = t.Tensor(\"" + python_type(t.dtype) + "\", (" + expr(t.size) + ",), name=\"" + t.name + "\", scope=tik.scope_gm" +
                 (t.use == GmTensor::workspace ? ", is_workspace=True)" : ")"));
            if (t.use == GmTensor::in || t.use == GmTensor::inout) inputs += (inputs.empty() ? "" : ", ") + python_name(t.name);
            if (t.use == GmTensor::out || t.use == GmTensor::inout) outputs += (outputs.empty() ? "" : ", ") + python_name(t.name);
        }
        const bool blocks = program_.blocks.constant() != 1;
        if (blocks)
            line("with t.for_range(0, " + expr(program_.blocks) + ", name=\"block_idx\", block_num=" + expr(program_.blocks) + ") as block_idx:"), indent_ += 4;
        for (const auto &[reg, type] : registers_) line(python_name(reg) + " = t.Scalar(\"" + python_type(type) + "\", name=\"" + reg + "\")");
        body(program_.body);
        if (blocks) indent_ -= 4;
        line("t.BuildCCE(kernel_name=kernel_name, inputs=[" + inputs + "], outputs=[" + outputs + "])");
        line("return t");
        return out_;
    }

private:
    [[noreturn]] void refuse(const Instr &i, const std::string &why) const {
        throw AttrError(program_.name, "E-EMIT: " + describe(program_, i) + ": TIK can't say it: " + why);
    }
    void line(const std::string &s) { out_ += std::string((size_t)indent_, ' ') + s + "\n"; }

    // Registers are declared before they are used, at the top of a block.
    void registers(const Body &nodes) {
        for (const Node &n : nodes) {
            if (const For *f = std::get_if<For>(&n.is)) registers(f->body);
            else if (const If *c = std::get_if<If>(&n.is)) registers(c->then), registers(c->otherwise);
            else if (const Instr *i = std::get_if<Instr>(&n.is)) {
                if (const Set *s = std::get_if<Set>(&i->op)) registers_.emplace(s->reg, DType::i64);
                if (const ScalarLd *s = std::get_if<ScalarLd>(&i->op)) registers_.emplace(s->reg, s->src.dtype);
                if (const ScalarMath *s = std::get_if<ScalarMath>(&i->op)) registers_.emplace(s->reg, s->op == ScalarOp::to_int ? DType::i64 : s->dtype);
            }
        }
    }

    // ---- expressions: min and max are instructions of the scalar unit, so they come first, in lines of their own
    std::string expr(const Expr &e, int outer = 0) {
        static const std::map<ExprOp, std::pair<const char *, int>> signs = {{ExprOp::add, {" + ", 5}},  {ExprOp::sub, {" - ", 5}}, {ExprOp::mul, {" * ", 6}},
                                                                             {ExprOp::div, {" // ", 6}}, {ExprOp::mod, {" % ", 6}}, {ExprOp::lt, {" < ", 4}},
                                                                             {ExprOp::le, {" <= ", 4}},  {ExprOp::eq, {" == ", 4}}, {ExprOp::ne, {" != ", 4}}};
        if (e.op() == ExprOp::constant) return std::to_string(e.value());
        if (e.op() == ExprOp::var) return python_name(e.name());
        if (e.op() == ExprOp::both || e.op() == ExprOp::either) {
            const std::string a = expr(e.left()), b = expr(e.right());
            return std::string(e.op() == ExprOp::both ? "tik.all(" : "tik.any(") + a + ", " + b + ")";
        }
        if (e.op() == ExprOp::min || e.op() == ExprOp::max) {
            const std::string a = expr(e.left()), b = expr(e.right()), name = "m" + std::to_string(temporaries_++);
            line(name + " = t.Scalar(\"int64\", name=\"" + name + "\")");
            line(std::string("t.scalar_") + (e.op() == ExprOp::min ? "min(" : "max(") + name + ", " + a + ", " + b + ")");
            return name;
        }
        const auto &[sign, binds] = signs.at(e.op());
        const std::string a = expr(e.left(), binds), b = expr(e.right(), binds + 1);
        return binds < outer ? "(" + a + sign + b + ")" : a + sign + b;
    }
    std::string number(const Number &n) {
        if (n.is_reg()) return python_name(n.reg);
        if (n.imm != n.imm || n.imm - n.imm != 0) return "float(\"" + to_text_number(n.imm) + "\")";
        return to_text_number(n.imm);
    }
    static std::string to_text_number(double v) {
        char text[32];
        std::snprintf(text, sizeof text, "%.9g", v);
        std::string s = text;
        return s.find_first_of(".en") == std::string::npos ? s + ".0" : s;
    }
    std::string mask(const Mask &m) { return m.bits ? "[" + std::to_string(m.high) + ", " + std::to_string(m.low) + "]" : expr(m.count); }

    std::string ref(const Ref &r) {
        const Buffer *b = program_.buffer(r.buffer);
        const DType own = b ? b->dtype : program_.tensor(r.buffer)->dtype;
        std::string s = python_name(r.buffer);
        if (own != r.dtype) s += ".reinterpret_cast_to(\"" + python_type(r.dtype) + "\")";
        Expr at = r.offset;
        if (b && b->slots > 1 && !turned_.count(r.buffer)) at = r.slot * (b->slot_bytes() / (int64_t)bytes_of(r.dtype)) + at;
        return at.constant() == 0 ? s : s + "[" + expr(at) + "]";
    }

    // ---- nodes
    void body(const Body &nodes) {
        const size_t before = out_.size();
        for (const Node &n : nodes) std::visit([&](const auto &x) { node(x); }, n.is);
        if (out_.size() == before) line("pass");
    }
    void inside(const Body &nodes) {
        indent_ += 4;
        body(nodes);
        indent_ -= 4;
    }
    // The slots of tensors declared in a loop that its variable turns; 1: of none.
    int threads(const For &f) const {
        int slots = 0;
        allocs(f.body, [&](const Buffer &b) {
            if (b.slots == 1) return;
            const Expr turn = Expr::var(f.var) % b.slots;
            bool all = true;
            slots_of(f.body, b.name, [&](const Expr &slot) { all = all && same(slot, turn); });
            if (all) slots = slots == 0 || slots == b.slots ? b.slots : -1;
        });
        return std::max(slots, 1);
    }
    template<class F> void allocs(const Body &nodes, const F &f) const {  // not in loops inside
        for (const Node &n : nodes) {
            if (const Alloc *a = std::get_if<Alloc>(&n.is)) f(*program_.buffer(a->buffer));
            else if (const If *c = std::get_if<If>(&n.is)) allocs(c->then, f), allocs(c->otherwise, f);
        }
    }
    template<class F> void slots_of(const Body &nodes, const std::string &buffer, const F &f) const {
        for (const Node &n : nodes) {
            if (const For *l = std::get_if<For>(&n.is)) slots_of(l->body, buffer, f);
            else if (const If *c = std::get_if<If>(&n.is)) slots_of(c->then, buffer, f), slots_of(c->otherwise, buffer, f);
            else if (const Instr *i = std::get_if<Instr>(&n.is))
                for (const ConstOperand &o : operands(*i))
                    if (o.ref->buffer == buffer) f(o.ref->slot);
        }
    }
    void node(const For &f) {
        const int n = threads(f);
        if (n > 1)
            allocs(f.body, [&](const Buffer &b) {
                if (b.slots == n) turned_.insert(b.name);
            });
        const std::string begin = expr(f.begin), end = expr(f.end);
        line("with t.for_range(" + begin + ", " + end + ", name=\"" + f.var + "\"" + (n > 1 ? ", thread_num=" + std::to_string(n) : "") + ") as " +
             python_name(f.var) + ":");
        inside(f.body);
    }
    void node(const If &c) {
        line("with t.if_scope(" + expr(c.condition) + "):");
        inside(c.then);
        if (!c.otherwise.empty()) line("with t.else_scope():"), inside(c.otherwise);
    }
    void node(const Alloc &a) {
        const Buffer &b = *program_.buffer(a.buffer);
        const int64_t size = b.slots > 1 && !turned_.count(a.buffer) ? b.slot_bytes() * b.slots / (int64_t)bytes_of(b.dtype) : b.size;
        line(python_name(b.name) + " = t.Tensor(\"" + python_type(b.dtype) + "\", (" + std::to_string(size) + ",), name=\"" + b.name + "\", scope=tik." +
             tik_scope(b.scope) + ")");
    }
    void node(const Instr &i) {
        std::visit([&](const auto &op) { instr(i, op); }, i.op);
    }

    // ---- instructions. Calls with the block strides of 1 have the newer names, the others the older ones.
    void call(const std::string &name, const std::vector<std::string> &arguments) {
        std::string all;
        for (const std::string &a : arguments) all += (all.empty() ? "" : ", ") + a;
        line("t." + name + "(" + all + ")");
    }
    void instr(const Instr &i, const Vec &v) {
        static const std::set<VecOp> older{VecOp::div, VecOp::sqrt, VecOp::mla};
        if (v.op == VecOp::maxs || v.op == VecOp::mins || v.op == VecOp::lrelu) refuse(i, std::string("no vec_") + name_of(v.op));
        const int n = sources_of(v.op);
        const bool plain = v.dst_blk == 1 && (n < 1 || v.src_blk[0] == 1) && (n < 2 || v.src_blk[1] == 1) && !older.count(v.op);
        std::vector<std::string> a{mask(v.mask), ref(v.dst)};
        for (int s = 0; s < n; s++) a.push_back(ref(v.src[s]));
        if (has_number(v.op)) a.push_back(number(v.number));
        a.push_back(expr(v.repeat));
        if (!plain) {
            a.push_back(std::to_string(v.dst_blk));
            for (int s = 0; s < n; s++) a.push_back(std::to_string(v.src_blk[s]));
        }
        a.push_back(expr(v.dst_rep));
        for (int s = 0; s < n; s++) a.push_back(expr(v.src_rep[s]));
        call(plain ? std::string("vec_") + name_of(v.op) : v.op == VecOp::dup ? "vector_dup" : std::string("v") + name_of(v.op), a);
    }
    void instr(const Instr &i, const VecReduce &v) {
        if (!v.group && v.op != ReduceOp::add && !v.index) refuse(i, "vcmax and vcmin write pairs");
        call(std::string(v.group ? "vcg" : "vc") + name_of(v.op),
             {mask(v.mask), ref(v.dst), ref(v.src), expr(v.repeat), expr(v.dst_rep), std::to_string(v.src_blk), expr(v.src_rep)});
    }
    void instr(const Instr &i, const VecConv &v) {
        if (v.dst_blk != 1 || v.src_blk != 1) refuse(i, "vec_conv's blocks follow each other");
        std::vector<std::string> a{mask(v.mask),   std::string("\"") + name_of(v.round) + "\"", ref(v.dst), ref(v.src), expr(v.repeat), expr(v.dst_rep),
                                   expr(v.src_rep)};
        if (v.src.dtype == DType::i32 && v.dst.dtype == DType::f16) a.push_back(to_text_number(v.scale));
        call("vec_conv", a);
    }
    void instr(const Instr &i, const VecCmp &v) {
        if (v.src_blk[0] != 1 || v.src_blk[1] != 1) refuse(i, "vec_cmpv's blocks follow each other");
        call(std::string("vec_cmpv_") + name_of(v.op), {ref(v.dst), ref(v.src[0]), ref(v.src[1]), expr(v.repeat), expr(v.src_rep[0]), expr(v.src_rep[1])});
    }
    void instr(const Instr &i, const VecSel &v) {
        if (v.dst_blk != 1 || v.src_blk[0] != 1 || v.src_blk[1] != 1) refuse(i, "vec_sel's blocks follow each other");
        const bool tensor = !v.src[1].buffer.empty();
        std::vector<std::string> a{mask(v.mask),   tensor ? "2" : "1", ref(v.dst),        ref(v.sel), ref(v.src[0]), tensor ? ref(v.src[1]) : number(v.number),
                                   expr(v.repeat), expr(v.dst_rep),    expr(v.src_rep[0])};
        a.push_back(tensor ? expr(v.src_rep[1]) : "0");
        call("vec_sel", a);
    }
    void instr(const Instr &, const VecTrans &v) { call("vec_trans", {ref(v.dst), ref(v.src), expr(v.repeat), expr(v.dst_rep), expr(v.src_rep)}); }
    void instr(const Instr &i, const Dma &d) {
        if (d.atomic) refuse(i, "an atomic move");
        call("data_move", {ref(d.dst), ref(d.src), "0", expr(d.nburst), expr(d.burst), expr(d.src_gap), expr(d.dst_gap)});
    }
    void instr(const Instr &, const DmaPad &d) {
        call("data_move_pad", {ref(d.dst), ref(d.src), expr(d.nburst), expr(d.bytes), expr(d.dst_gap), expr(d.src_gap)});
    }
    void instr(const Instr &, const Set &s) { line(python_name(s.reg) + ".set_as(" + expr(s.value) + ")"); }
    void instr(const Instr &, const ScalarLd &s) {
        const Ref first = s.src;
        const std::string from = ref(first);
        line(python_name(s.reg) + ".set_as(" + (from.back() == ']' ? from : from + "[0]") + ")");
    }
    void instr(const Instr &, const ScalarSt &s) {
        const std::string to = ref(s.dst);
        line((to.back() == ']' ? to : to + "[0]") + ".set_as(" + number(s.value) + ")");
    }
    void instr(const Instr &, const ScalarMath &s) {
        static const std::map<ScalarOp, const char *> signs = {{ScalarOp::add, " + "}, {ScalarOp::sub, " - "}, {ScalarOp::mul, " * "}, {ScalarOp::div, " / "}};
        const std::string to = python_name(s.reg);
        if (const auto it = signs.find(s.op); it != signs.end()) return line(to + ".set_as(" + number(s.a) + it->second + number(s.b) + ")");
        switch (s.op) {
        case ScalarOp::max:
        case ScalarOp::min: return call(std::string("scalar_") + name_of(s.op), {to, number(s.a), number(s.b)});
        case ScalarOp::sqrt: return call("scalar_sqrt", {to, number(s.a)});
        case ScalarOp::neg: return line(to + ".set_as(0.0 - " + number(s.a) + ")");
        case ScalarOp::to_int: return call("scalar_conv", {"\"to-zero\"", to, number(s.a)});
        default: return line(to + ".set_as(" + number(s.a) + ")");
        }
    }
    void instr(const Instr &, const SetFlag &) {}  // TIK inserts its own
    void instr(const Instr &, const WaitFlag &) {}
    void instr(const Instr &, const Barrier &) {}
    template<class T> void instr(const Instr &i, const T &) { refuse(i, "its cube is tik.matmul, conv2d and fixpipe, which take whole products"); }

    const Program &program_;
    std::map<std::string, DType> registers_;
    std::set<std::string> turned_;  // buffers whose slots are a loop's thread_num
    std::string out_;
    int indent_ = 4, temporaries_ = 0;
};

const char *info_type(DType t) {  // MindSpore's names
    switch (t) {
    case DType::f16: return "F16";
    case DType::f32: return "F32";
    case DType::i32: return "I32";
    case DType::i8: return "I8";
    case DType::u8: return "U8";
    default: return "BF16";
    }
}

std::string registration(const Program &p) {
    const std::string entry = "haly_" + p.name;
    std::string out = "# MindSpore's registration of " + entry + ".\nfrom mindspore.ops import DataType, TBERegOp, op_info_register\n\nfrom " + entry +
                      " import " + entry + " as build\n\ninfo = TBERegOp(\"" + p.name +
                      "\") \\\n    .fusion_type(\"OPAQUE\") \\\n    .async_flag(False) \\\n    .binfile_name(\"" + entry +
                      ".so\") \\\n    .compute_cost(10) \\\n    .kernel_name(\"" + entry + "\") \\\n    .partial_flag(True) \\\n";
    std::string names, types;
    int inputs = 0, outputs = 0;
    for (const GmTensor &t : p.tensors) {
        if (t.use == GmTensor::workspace) continue;
        const bool in = t.use == GmTensor::in;
        out += std::string("    .") + (in ? "input(" : "output(") + std::to_string(in ? inputs++ : outputs++) + ", \"" + t.name +
               "\", False, \"required\", \"all\") \\\n";
        names += python_name(t.name) + ", ";
        types += (types.empty() ? "DataType." : ", DataType.") + std::string(info_type(t.dtype)) + "_Default";
    }
    return out + "    .dtype_format(" + types + ") \\\n    .get_op_info()\n\n\n@op_info_register(info)\ndef " + entry + "_op(" + names + "kernel_name=\"" +
           entry + "\"):\n    return build(" + names + "kernel_name=kernel_name)\n";
}

std::string ini(const Program &p) {
    const std::string entry = "haly_" + p.name;
    std::string out = "[" + p.name + "]\n";
    int inputs = 0, outputs = 0;
    for (const GmTensor &t : p.tensors) {
        if (t.use == GmTensor::workspace) continue;
        const std::string key = t.use == GmTensor::in ? "input" + std::to_string(inputs++) : "output" + std::to_string(outputs++);
        out += key + ".name=" + t.name + "\n" + key + ".dtype=" + python_type(t.dtype) + "\n" + key + ".format=ND\n" + key + ".paramType=required\n";
    }
    return out + "opFile.value=" + entry + "\nopInterface.value=" + entry + "\n";
}

}  // namespace

TikFiles emit_tik(const Program &p) { return {Emitter(p).kernel(), registration(p), ini(p)}; }

}  // namespace halyard::dv
