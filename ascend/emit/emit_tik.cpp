#include <algorithm>
#include <map>
#include <set>

#include "ascend/emit/emit.h"
#include "ascend/emit/emit_python.h"
#include "ascend/emit/tik_tensors.h"
#include "ascend/simulator/check.h"
#include "registry/base/error.h"

namespace halyard::dv {
namespace {

// TIK's names of scopes.
const char *tik_scope(Scope s) {
    static constexpr const char *names[scope_count] = {"scope_gm", "scope_ubuf", "scope_cbuf",
                                                       "scope_ca", "scope_cb",   "scope_cc"};
    return names[int(s)];
}

class TikEmitter {
public:
    explicit TikEmitter(const Program &p) : tensors_(p) { registers(p.body); }

    std::string kernel() {
        const std::string name = "haly_" + program_.name;
        out_ = "# TIK kernel of " + program_.name + " for " + program_.profile +
               (program_.schedule_hash.empty() ? "" : ", schedule " + program_.schedule_hash) +
               ".\n";
        out_ += "from te import tik  # newer installations: from tbe import tik\n\n\ndef " + name +
                "(";
        for (const GmTensor &t : program_.tensors)
            if (t.use != GmTensor::workspace) out_ += python_name(t.name) + "_info, ";
        out_ += "kernel_name=\"" + name + "\"):\n";
        line("t = tik.Tik()");
        std::string inputs, outputs;
        for (const ScalarParam &s : program_.scalars) {
            line(variable(s.name) + " = t.InputScalar(\"" + python_type(s.dtype) + "\", name=\"" +
                 s.name + "\")");
            inputs += (inputs.empty() ? "" : ", ") + variable(s.name);
        }
        for (const GmTensor &t : program_.tensors) {
            line(python_name(t.name) + " = t.Tensor(\"" + python_type(t.dtype) + "\", (" +
                 expr(t.size) + ",), name=\"" + t.name + "\", scope=tik.scope_gm" +
                 (t.use == GmTensor::workspace ? ", is_workspace=True)" : ")"));
            if (t.use == GmTensor::in || t.use == GmTensor::inout)
                inputs += (inputs.empty() ? "" : ", ") + python_name(t.name);
            if (t.use == GmTensor::out || t.use == GmTensor::inout)
                outputs += (outputs.empty() ? "" : ", ") + python_name(t.name);
        }
        const bool blocks = program_.blocks.constant() != 1;
        if (blocks) {
            line("with t.for_range(0, " + expr(program_.blocks) +
                 ", name=\"block_idx\", block_num=" + expr(program_.blocks) + ") as block_idx:");
            indent_ += 4;
        }
        for (const auto &[reg, type] : registers_) {
            line(variable(reg) + " = t.Scalar(\"" + python_type(type) + "\", name=\"" + reg +
                 "\")");
        }
        body(program_.body);
        if (blocks) indent_ -= 4;
        line("t.BuildCCE(kernel_name=kernel_name, inputs=[" + inputs + "], outputs=[" + outputs +
             "])");
        line("return t");
        return out_;
    }

private:
    // Returns the name of a loop variable, register or number. Python has one scope for these and
    // for tensors.
    std::string variable(const std::string &name) const {
        return program_.buffer(name) || program_.tensor(name) ? python_name(name) + "_i"
                                                              : python_name(name);
    }
    [[noreturn]] void refuse(const Instr &i, const std::string &why) const {
        throw AttrError(program_.name,
                        "E-EMIT: " + describe(program_, i) + ": TIK can't say it: " + why);
    }
    void line(const std::string &s) { out_ += std::string(size_t(indent_), ' ') + s + "\n"; }

    // Registers are declared before they are used, at the top of a block.
    void registers(const Body &nodes) {
        for (const Node &n : nodes) {
            if (const For *f = std::get_if<For>(&n.is))
                registers(f->body);
            else if (const If *c = std::get_if<If>(&n.is)) {
                registers(c->then);
                registers(c->otherwise);
            } else if (const Instr *i = std::get_if<Instr>(&n.is)) {
                if (const Set *s = std::get_if<Set>(&i->op)) declare(s->reg, DType::i64);
                if (const ScalarLd *s = std::get_if<ScalarLd>(&i->op))
                    declare(s->reg, s->src.dtype);
                if (const ScalarMath *s = std::get_if<ScalarMath>(&i->op))
                    declare(s->reg, s->op == ScalarOp::to_int ? DType::i64 : s->dtype);
            }
        }
    }
    void declare(const std::string &reg, DType t) {
        if (std::none_of(registers_.begin(), registers_.end(),
                         [&](const auto &r) { return r.first == reg; }))
            registers_.emplace_back(reg, t);
    }

    // ---- expressions. min and max are instructions of the scalar unit, in lines of their own.
    std::string expr(const Expr &e, int outer = 0) {
        static const std::map<ExprOp, std::pair<const char *, int>> signs = {
            {ExprOp::add, {" + ", 5}},  {ExprOp::sub, {" - ", 5}}, {ExprOp::mul, {" * ", 6}},
            {ExprOp::div, {" // ", 6}}, {ExprOp::mod, {" % ", 6}}, {ExprOp::lt, {" < ", 4}},
            {ExprOp::le, {" <= ", 4}},  {ExprOp::eq, {" == ", 4}}, {ExprOp::ne, {" != ", 4}}};
        if (e.op() == ExprOp::constant) return std::to_string(e.value());
        if (e.op() == ExprOp::var) return variable(e.name());
        if (e.op() == ExprOp::logical_and || e.op() == ExprOp::logical_or) {
            const std::string a = expr(e.left());
            const std::string b = expr(e.right());
            return std::string(e.op() == ExprOp::logical_and ? "tik.all(" : "tik.any(") + a + ", " +
                   b + ")";
        }
        if (e.op() == ExprOp::min || e.op() == ExprOp::max) {
            const std::string a = expr(e.left());
            const std::string b = expr(e.right());
            const std::string name = "m" + std::to_string(temporaries_++);
            line(name + " = t.Scalar(\"int64\", name=\"" + name + "\")");
            line(std::string("t.scalar_") + (e.op() == ExprOp::min ? "min(" : "max(") + name +
                 ", " + a + ", " + b + ")");
            return name;
        }
        if (!signs.count(e.op())) {
            throw AttrError(program_.name, "E-EMIT: TIK can't say " + function_name(e.op()) +
                                               " of a scalar register");
        }
        const auto &[sign, binds] = signs.at(e.op());
        // Python chains comparisons, so their operands need parentheses.
        const std::string a = expr(e.left(), binds == 4 ? 5 : binds);
        const std::string b = expr(e.right(), binds + 1);
        return binds < outer ? "(" + a + sign + b + ")" : a + sign + b;
    }
    std::string number(const Number &n) {
        return n.is_reg() ? variable(n.reg) : python_number(n.imm);
    }
    std::string mask(const Mask &m) { return m.bits ? bits(m.high, m.low) : expr(m.count); }
    static std::string bits(uint64_t high, uint64_t low) {
        return "[" + std::to_string(high) + ", " + std::to_string(low) + "]";
    }

    std::string ref(const Ref &r) {
        const Buffer *b = program_.buffer(r.buffer);
        const TikTensors::Home home = b ? tensors_.home(r.buffer)
                                        : TikTensors::Home{r.buffer,
                                                           program_.tensor(r.buffer)->dtype, 0};
        std::string s = python_name(home.tensor);
        if (home.dtype != r.dtype) s += ".reinterpret_cast_to(\"" + python_type(r.dtype) + "\")";
        Expr at = r.offset;
        if (b && b->slots > 1 && !tensors_.alternates(r.buffer))
            at = r.slot * (b->slot_bytes() / int64_t(bytes_of(r.dtype))) + at;
        at = at + home.bytes / int64_t(bytes_of(r.dtype));
        return at.constant() == 0 ? s : s + "[" + expr(at) + "]";
    }

    static Ref further(Ref r, const Expr &elements) {
        r.offset = r.offset + elements;
        return r;
    }

    // ---- nodes
    void body(const Body &nodes) {
        const size_t before = out_.size();
        for (const Node &n : nodes)
            std::visit([&](const auto &x) { node(x); }, n.is);
        if (out_.size() == before) line("pass");
    }
    void inside(const Body &nodes) {
        indent_ += 4;
        body(nodes);
        indent_ -= 4;
    }
    void node(const For &f) {
        const auto around = tensors_.around(f);
        if (!around.empty()) {
            line("with t.new_stmt_scope():");
            indent_ += 4;
        }
        for (const auto &tensor : around)
            declare(tensor);
        const int n = tensors_.threads(f);
        const std::string begin = expr(f.begin);
        const std::string end = expr(f.end);
        line("with t.for_range(" + begin + ", " + end + ", name=\"" + f.var + "\"" +
             (n > 1 ? ", thread_num=" + std::to_string(n) : "") + ") as " + variable(f.var) + ":");
        inside(f.body);
        if (!around.empty()) indent_ -= 4;
    }
    void node(const If &c) {
        if (c.condition.constant()) {
            if (c.condition.value() == 0 && c.otherwise.empty()) return;
            line("with t.new_stmt_scope():");
            return inside(c.condition.value() ? c.then : c.otherwise);
        }
        line("with t.if_scope(" + expr(c.condition) + "):");
        inside(c.then);
        if (!c.otherwise.empty()) {
            line("with t.else_scope():");
            inside(c.otherwise);
        }
    }
    void node(const Alloc &a) {
        if (const TikTensors::Tensor *tensor = tensors_.declared_at(a)) declare(*tensor);
    }
    void declare(const TikTensors::Tensor &tensor) {
        line(python_name(tensor.name) + " = t.Tensor(\"" + python_type(tensor.dtype) + "\", (" +
             std::to_string(tensor.size) + ",), name=\"" + tensor.name + "\", scope=tik." +
             tik_scope(tensor.scope) + ")");
    }
    void node(const Instr &i) {
        std::visit([&](const auto &op) { instr(i, op); }, i.op);
    }

    // ---- instructions. Calls with the block strides of 1 have the newer names, the others the
    // older ones.
    void call(const std::string &name, const std::vector<std::string> &arguments) {
        std::string all;
        for (const std::string &a : arguments)
            all += (all.empty() ? "" : ", ") + a;
        line("t." + name + "(" + all + ")");
    }
    void instr(const Instr &i, const Vec &v) {
        static const std::set<VecOp> older{VecOp::div, VecOp::sqrt, VecOp::mla};
        if (v.op == VecOp::maxs || v.op == VecOp::mins || v.op == VecOp::lrelu)
            refuse(i, std::string("no vec_") + name_of(v.op));
        const int n = sources_of(v.op);
        const bool plain = v.dst_blk == 1 && (n < 1 || v.src_blk[0] == 1) &&
                           (n < 2 || v.src_blk[1] == 1) && !older.count(v.op);
        std::vector<std::string> a{mask(v.mask), ref(v.dst)};
        for (int s = 0; s < n; s++)
            a.push_back(ref(v.src[s]));
        if (has_number(v.op)) a.push_back(number(v.number));
        a.push_back(expr(v.repeat));
        if (!plain) {
            a.push_back(std::to_string(v.dst_blk));
            for (int s = 0; s < n; s++)
                a.push_back(std::to_string(v.src_blk[s]));
        }
        a.push_back(expr(v.dst_rep));
        for (int s = 0; s < n; s++)
            a.push_back(expr(v.src_rep[s]));
        call(plain                ? std::string("vec_") + name_of(v.op)
             : v.op == VecOp::dup ? "vector_dup"
                                  : std::string("v") + name_of(v.op),
             a);
    }
    void instr(const Instr &i, const VecReduce &v) {
        if (!v.group && v.op != ReduceOp::add && !v.index) return values_only(i, v);
        call(std::string(v.group ? "vcg" : "vc") + name_of(v.op),
             {mask(v.mask), ref(v.dst), ref(v.src), expr(v.repeat), expr(v.dst_rep),
              std::to_string(v.src_blk), expr(v.src_rep)});
    }
    // TIK's vcmax writes pairs of a maximum and its index. Without indices there are two maxima by
    // blocks: the first leaves the results of a repeat's blocks in one block, the second reduces
    // these blocks.
    void values_only(const Instr &i, const VecReduce &v) {
        // `results`: the results of a repeat of vcgmax.
        const int block = c0(v.src.dtype);
        const int results = 8;
        const auto repeat = v.repeat.constant();
        const auto count = v.mask.bits ? std::nullopt : v.mask.count.constant();
        if (!repeat || !count || v.dst_rep.constant() != 1) {
            refuse(i, std::string("vc") + name_of(v.op) +
                          " writes pairs, and its repeats aren't numbers");
        }
        const std::string name = std::string("vcg") + name_of(v.op);
        const std::string work = "blocks" + std::to_string(temporaries_++);
        // Returns the mask of the elements that have maxima, in `blocks` blocks.
        const auto maxima_mask = [&](int64_t blocks) {
            uint64_t words[2] = {0, 0};
            for (int64_t b = 0; b < blocks; b++) {
                const uint64_t elements = (1ull << (*count + block - 1) / block) - 1;
                words[b * block / 64] |= elements << b * block % 64;
            }
            return bits(words[1], words[0]);
        };
        line("with t.new_stmt_scope():");
        indent_ += 4;
        line(work + " = t.Tensor(\"" + python_type(v.src.dtype) + "\", (" +
             std::to_string(*repeat * block) + ",), name=\"" + work + "\", scope=tik.scope_ubuf)");
        call(name, {std::to_string(*count), work, ref(v.src), std::to_string(*repeat),
                    std::to_string(block / results), std::to_string(v.src_blk), expr(v.src_rep)});
        const int64_t full = *repeat / results;
        const int64_t rest = *repeat % results;
        if (full)
            call(name,
                 {maxima_mask(results), ref(v.dst), work, std::to_string(full), "1", "1", "8"});
        if (rest) {
            call(name,
                 {maxima_mask(rest), ref(further(v.dst, full * results)),
                  work + "[" + std::to_string(full * results * block) + "]", "1", "1", "1", "8"});
        }
        indent_ -= 4;
    }
    void instr(const Instr &, const VecConv &v) {
        const bool plain = v.dst_blk == 1 && v.src_blk == 1;
        std::vector<std::string> a{mask(v.mask), std::string("\"") + name_of(v.round) + "\"",
                                   ref(v.dst), ref(v.src), expr(v.repeat)};
        if (!plain) {
            a.push_back(std::to_string(v.dst_blk));
            a.push_back(std::to_string(v.src_blk));
        }
        a.push_back(expr(v.dst_rep));
        a.push_back(expr(v.src_rep));
        if (v.src.dtype == DType::i32 && v.dst.dtype == DType::f16)
            a.push_back(python_number(v.scale));
        call(plain ? "vec_conv" : "vconv", a);
    }
    void instr(const Instr &, const VecCmp &v) {
        const bool plain = v.src_blk[0] == 1 && v.src_blk[1] == 1;
        std::vector<std::string> a{ref(v.dst), ref(v.src[0]), ref(v.src[1]), expr(v.repeat)};
        if (!plain) {
            a.push_back(std::to_string(v.src_blk[0]));
            a.push_back(std::to_string(v.src_blk[1]));
        }
        a.push_back(expr(v.src_rep[0]));
        a.push_back(expr(v.src_rep[1]));
        call((plain ? "vec_cmpv_" : "vcmpv_") + std::string(name_of(v.op)), a);
    }
    void instr(const Instr &, const VecSel &v) {
        const bool plain = v.dst_blk == 1 && v.src_blk[0] == 1 && v.src_blk[1] == 1;
        const bool tensor = !v.src[1].buffer.empty();
        std::vector<std::string> a{mask(v.mask),  tensor ? "2" : "1",
                                   ref(v.dst),    ref(v.sel),
                                   ref(v.src[0]), tensor ? ref(v.src[1]) : number(v.number),
                                   expr(v.repeat)};
        if (!plain) {
            a.push_back(std::to_string(v.dst_blk));
            a.push_back(std::to_string(v.src_blk[0]));
            a.push_back(std::to_string(v.src_blk[1]));
        }
        a.push_back(expr(v.dst_rep));
        a.push_back(expr(v.src_rep[0]));
        a.push_back(tensor ? expr(v.src_rep[1]) : "0");
        call(plain ? "vec_sel" : "vsel", a);
    }
    void instr(const Instr &, const VecTrans &v) {
        call("vec_trans",
             {ref(v.dst), ref(v.src), expr(v.repeat), expr(v.dst_rep), expr(v.src_rep)});
    }
    void instr(const Instr &, const Dma &d) {
        if (d.atomic) call("set_atomic_add", {"1"});  // of f32
        call("data_move", {ref(d.dst), ref(d.src), "0", expr(d.nburst), expr(d.burst),
                           expr(d.src_gap), expr(d.dst_gap)});
        if (d.atomic) call("set_atomic_add", {"0"});
    }
    void instr(const Instr &, const DmaPad &d) {
        call("data_move_pad", {ref(d.dst), ref(d.src), expr(d.nburst), expr(d.bytes),
                               expr(d.dst_gap), expr(d.src_gap)});
    }
    void instr(const Instr &, const Set &s) {
        line(variable(s.reg) + ".set_as(" + expr(s.value) + ")");
    }
    void instr(const Instr &, const ScalarLd &s) {
        const Ref first = s.src;
        const std::string from = ref(first);
        line(variable(s.reg) + ".set_as(" + (from.back() == ']' ? from : from + "[0]") + ")");
    }
    void instr(const Instr &, const ScalarSt &s) {
        const std::string to = ref(s.dst);
        line((to.back() == ']' ? to : to + "[0]") + ".set_as(" + number(s.value) + ")");
    }
    void instr(const Instr &, const ScalarMath &s) {
        static const std::map<ScalarOp, const char *> signs = {{ScalarOp::add, " + "},
                                                               {ScalarOp::sub, " - "},
                                                               {ScalarOp::mul, " * "},
                                                               {ScalarOp::div, " / "}};
        const std::string to = variable(s.reg);
        if (const auto it = signs.find(s.op); it != signs.end())
            return line(to + ".set_as(" + number(s.a) + it->second + number(s.b) + ")");
        switch (s.op) {
        case ScalarOp::max:
        case ScalarOp::min:
            return call(std::string("scalar_") + name_of(s.op), {to, number(s.a), number(s.b)});
        case ScalarOp::sqrt: return call("scalar_sqrt", {to, number(s.a)});
        case ScalarOp::neg: return line(to + ".set_as(0.0 - " + number(s.a) + ")");
        case ScalarOp::to_int: return call("scalar_conv", {"\"to-zero\"", to, number(s.a)});
        default: return line(to + ".set_as(" + number(s.a) + ")");
        }
    }
    void instr(const Instr &, const SetFlag &) {}  // TIK inserts its own
    void instr(const Instr &, const WaitFlag &) {}
    void instr(const Instr &, const Barrier &) {}

    // ---- cube
    // Emits a loop over fractals that one call can't move.
    template<class F> void each(const Expr &count, const F &f) {
        const std::string name = "f" + std::to_string(temporaries_++);
        line("with t.for_range(0, " + expr(count) + ", name=\"" + name + "\") as " + name + ":");
        indent_ += 4;
        f(Expr::var(name));
        indent_ -= 4;
    }
    void instr(const Instr &, const Load2d &l) {
        const int64_t fractal = fractal_bytes / int64_t(bytes_of(l.src.dtype));
        const auto load = [&](const Ref &dst, const Ref &src, const Expr &repeat,
                              const Expr &stride) {
            call("load2dv1", {ref(dst), ref(src), "0", expr(repeat), expr(stride), "0",
                              l.transpose ? "True" : "False"});
        };
        if (l.dst_gap.constant() == 0) return load(l.dst, l.src, l.repeat, l.src_stride);
        each(l.repeat, [&](const Expr &f) {
            load(further(l.dst, f * (l.dst_gap + 1) * fractal),
                 further(l.src, f * l.src_stride * fractal), 1, 1);
        });
    }
    // load3dv1 loads 16 rows at a time, given the position of the first row's window and the
    // position of the first column in it.
    void instr(const Instr &i, const Load3d &l) {
        if (l.pad_value != 0) refuse(i, "load3dv1 fills the border with 0");
        const int64_t block = c0(l.src.dtype);
        const Expr k1 = l.k_extent / block;
        const Expr column = l.k_start / block;
        const Expr width =
            (l.w + l.pad[0] + l.pad[1] - l.dilation_w * (l.kw - 1) - 1) / l.stride_w + 1;
        each(l.m_extent / cube, [&](const Expr &f) {
            const Expr row = l.m_start + f * cube;
            const auto n = [](int v) { return std::to_string(v); };
            call("load3dv1",
                 {ref(further(l.dst, f * k1 * cube * block)), ref(l.src),
                  "[" + expr(l.pad[0]) + ", " + expr(l.pad[1]) + ", " + expr(l.pad[2]) + ", " +
                      expr(l.pad[3]) + "]",
                  expr(l.h), expr(l.w), expr(column / (l.kh * l.kw)), expr(column % l.kw),
                  expr(column / l.kw % l.kh), expr(row % width * l.stride_w - l.pad[0]),
                  expr(row / width * l.stride_h - l.pad[2]), n(l.stride_w), n(l.stride_h), n(l.kw),
                  n(l.kh), n(l.dilation_w), n(l.dilation_h), "1", "0", expr(k1)});
        });
    }
    void instr(const Instr &, const Mmad &m) {
        const auto product = [&](bool adds) {
            call("mmad", {ref(m.dst), ref(m.a), ref(m.b), expr(m.m), expr(m.k), expr(m.n),
                          adds ? "1" : "0"});
        };
        if (const auto adds = m.accumulate.constant()) return product(*adds != 0);
        line("with t.if_scope(" +
             expr(m.accumulate.op() >= ExprOp::lt ? m.accumulate : m.accumulate != 0) + "):");
        indent_ += 4;
        product(true);
        indent_ -= 4;
        line("with t.else_scope():");
        indent_ += 4;
        product(false);
        indent_ -= 4;
    }
    void instr(const Instr &, const CcToUb &c) {
        std::vector<std::string> a{ref(c.dst),    ref(c.src),      "\"m\"",        expr(c.nburst),
                                   expr(c.burst), expr(c.dst_gap), expr(c.src_gap)};
        if (c.relu) a.push_back("relu=True");
        call("tensor_mov", a);
    }
    template<class T> void instr(const Instr &i, const T &) {
        refuse(i, "it is of a chip that TIK has whole products for");
    }

    const TikTensors tensors_;
    const Program &program_ = tensors_.program();
    std::vector<std::pair<std::string, DType>> registers_;
    std::string out_;
    int indent_ = 4, temporaries_ = 0;
};

}  // namespace

PythonFiles emit_tik(const Program &p) {
    return {TikEmitter(p).kernel(), mindspore_registration(p.name, p.tensors),
            framework_ini(p.name, p.tensors)};
}

}  // namespace halyard::dv
