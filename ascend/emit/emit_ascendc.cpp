#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "ascend/emit/emit.h"
#include "ascend/simulator/check.h"
#include "registry/base/error.h"

namespace halyard::dv {
namespace {

const char *type_name(DType t) {
    switch (t) {
    case DType::f16: return "half";
    case DType::f32: return "float";
    case DType::bf16: return "bfloat16_t";
    case DType::i32: return "int32_t";
    case DType::i64: return "int64_t";
    case DType::i8: return "int8_t";
    default: return "uint8_t";
    }
}

// The TBuf of a scope, in which buffers have the program's addresses.
struct Arena {
    const char *name, *position;
};
Arena arena(Scope s) {
    static constexpr Arena all[scope_count] = {{"", ""},           {"haly_ub", "VECCALC"},
                                               {"haly_l1", "A1"},  {"haly_l0a", "A2"},
                                               {"haly_l0b", "B2"}, {"haly_l0c", "CO1"}};
    return all[int(s)];
}

std::string c_name(const std::string &name) {
    std::string out = name;
    std::replace(out.begin(), out.end(), '.', '_');
    std::replace(out.begin(), out.end(), '$', '_');
    static const std::set<std::string> taken{"half", "float", "int", "auto", "for", "if",
                                             "else", "do",    "new", "this", "pipe"};
    return taken.count(out) ? out + "_" : out;
}

const char *soc(const std::string &profile) {
    return profile == "ascend910b" ? "220" : "100";
}

class AscendcEmitter {
public:
    explicit AscendcEmitter(const Program &p) : program_(p) {}

    std::string all() {
        const std::string name = "haly_" + program_.name;
        out_ = "// Ascend C kernel of " + program_.name + " for " + program_.profile +
               (program_.schedule_hash.empty() ? "" : ", schedule " + program_.schedule_hash) +
               ".\n";
        out_ += "// Launch it on " + text(program_.blocks) +
                " blocks. Places and flags are the program's; divisions are of numbers that aren't "
                "negative.\n";
        out_ +=
            "#include \"kernel_operator.h\"\n\n#if defined(__CCE_AICORE__) && __CCE_AICORE__ != " +
            std::string(soc(program_.profile)) + "\n#error \"emitted for " + program_.profile +
            "\"\n#endif\n\n";
        out_ += "namespace " + name +
                "_detail {\n__aicore__ inline int64_t haly_min(int64_t a, int64_t b) { return a < "
                "b ? a : b; }\n"
                "__aicore__ inline int64_t haly_max(int64_t a, int64_t b) { return a > b ? a : b; "
                "}\n}  // namespace " +
                name + "_detail\n\n";
        out_ += "extern \"C\" __global__ __aicore__ void " + name + "(";
        std::string parameters;
        for (const GmTensor &t : program_.tensors)
            parameters += (parameters.empty() ? "GM_ADDR " : ", GM_ADDR ") + c_name(t.name) + "_gm";
        for (const ScalarParam &s : program_.scalars) {
            parameters += std::string(", ") + (is_float(s.dtype) ? "float " : "int64_t ") +
                          c_name(s.name);
        }
        out_ += parameters + ") {\n";
        line("using " + name + "_detail::haly_max;");
        line("using " + name + "_detail::haly_min;");
        line("(void)haly_max, (void)haly_min;");
        line("AscendC::TPipe haly_pipe;");
        for (int s = 1; s < scope_count; s++) {
            if (const int64_t bytes = used(static_cast<Scope>(s)); bytes > 0) {
                const Arena a = arena(static_cast<Scope>(s));
                line(std::string("AscendC::TBuf<AscendC::TPosition::") + a.position + "> " +
                     a.name + ";");
                line(std::string("haly_pipe.InitBuffer(") + a.name + ", " + std::to_string(bytes) +
                     ");");
            }
        }
        for (const GmTensor &t : program_.tensors) {
            line(std::string("AscendC::GlobalTensor<") + type_name(t.dtype) + "> " +
                 c_name(t.name) + ";");
            line(c_name(t.name) + ".SetGlobalBuffer((__gm__ " + type_name(t.dtype) + " *)" +
                 c_name(t.name) + "_gm);");
        }
        line("const int64_t block_idx = AscendC::GetBlockIdx();");
        line("(void)block_idx;");
        registers(program_.body);
        body(program_.body);
        line("AscendC::PipeBarrier<PIPE_ALL>();");
        return out_ + "}\n";
    }

private:
    [[noreturn]] void refuse(const Instr &i, const std::string &why) const {
        throw AttrError(program_.name,
                        "E-EMIT: " + describe(program_, i) + ": Ascend C can't say it: " + why);
    }
    void line(const std::string &s) { out_ += std::string(size_t(indent_), ' ') + s + "\n"; }
    int64_t used(Scope s) const {
        int64_t bytes = 0;
        for (const Buffer &b : program_.buffers)
            if (b.scope == s) bytes = std::max(bytes, b.address + b.slot_bytes() * b.slots);
        return bytes;
    }
    void registers(const Body &nodes) {
        for (const Node &n : nodes) {
            if (const For *f = std::get_if<For>(&n.is))
                registers(f->body);
            else if (const If *c = std::get_if<If>(&n.is)) {
                registers(c->then);
                registers(c->otherwise);
            } else if (const Instr *i = std::get_if<Instr>(&n.is)) {
                if (const Set *s = std::get_if<Set>(&i->op)) declare(s->reg, "int64_t");
                if (const ScalarLd *s = std::get_if<ScalarLd>(&i->op))
                    declare(s->reg, is_float(s->src.dtype) ? "float" : "int64_t");
                if (const ScalarMath *s = std::get_if<ScalarMath>(&i->op))
                    declare(s->reg, s->op == ScalarOp::to_int ? "int64_t" : "float");
            }
        }
    }
    void declare(const std::string &reg, const char *type) {
        if (declared_.insert(reg).second) line(std::string(type) + " " + c_name(reg) + " = 0;");
    }

    static std::string text(const Expr &e, int outer = 0) {
        static const std::map<ExprOp, std::pair<const char *, int>> signs = {
            {ExprOp::logical_or, {" || ", 1}}, {ExprOp::logical_and, {" && ", 2}},
            {ExprOp::eq, {" == ", 3}},         {ExprOp::ne, {" != ", 3}},
            {ExprOp::lt, {" < ", 4}},          {ExprOp::le, {" <= ", 4}},
            {ExprOp::add, {" + ", 5}},         {ExprOp::sub, {" - ", 5}},
            {ExprOp::mul, {" * ", 6}},         {ExprOp::div, {" / ", 6}},
            {ExprOp::mod, {" % ", 6}}};
        if (e.op() == ExprOp::constant) {
            return e.value() < 0 && outer > 0 ? "(" + std::to_string(e.value()) + ")"
                                              : std::to_string(e.value());
        }
        if (e.op() == ExprOp::var) return c_name(e.name());
        if (e.op() == ExprOp::min || e.op() == ExprOp::max) {
            return std::string(e.op() == ExprOp::min ? "haly_min(" : "haly_max(") + text(e.left()) +
                   ", " + text(e.right()) + ")";
        }
        if (!signs.count(e.op())) {
            throw AttrError("ascendc",
                            "E-EMIT: " + function_name(e.op()) + " of a scalar register");
        }
        const auto &[sign, binds] = signs.at(e.op());
        const std::string all = text(e.left(), binds) + sign + text(e.right(), binds + 1);
        return binds < outer ? "(" + all + ")" : all;
    }
    static std::string cast(const char *type, const Expr &e) {
        return "(" + std::string(type) + ")" +
               (e.constant() && e.value() >= 0 ? text(e) : "(" + text(e) + ")");
    }
    static std::string u16(const Expr &e) { return cast("uint16_t", e); }
    static std::string u8(const Expr &e) { return cast("uint8_t", e); }
    static std::string number(const Number &n) {
        if (n.is_reg()) return c_name(n.reg);
        if (std::isinf(n.imm)) return n.imm > 0 ? "__builtin_inff()" : "-__builtin_inff()";
        if (std::isnan(n.imm)) return "__builtin_nanf(\"\")";
        char s[32];
        std::snprintf(s, sizeof s, "%.9g", n.imm);
        const std::string t = s;
        return (t.find_first_of(".e") == std::string::npos ? t + ".0" : t) + "f";
    }
    static std::string number(const Number &n, DType t) {
        return std::string("(") + type_name(t) + ")" +
               (n.is_reg() || n.imm < 0 ? "(" + number(n) + ")" : number(n));
    }

    std::string tensor(const Ref &r, const char *as = nullptr) const {
        const Buffer *b = program_.buffer(r.buffer);
        const DType own = b ? b->dtype : program_.tensor(r.buffer)->dtype;
        std::string s = c_name(r.buffer);
        if (b && b->slots > 1) s += "[" + text(r.slot) + "]";
        if (as || own != r.dtype)
            s += std::string(".ReinterpretCast<") + (as ? as : type_name(r.dtype)) + ">()";
        return r.offset.constant() == 0 ? s : s + "[" + text(r.offset) + "]";
    }

    void body(const Body &nodes) {
        for (const Node &n : nodes)
            std::visit([&](const auto &x) { node(x); }, n.is);
    }
    void inside(const Body &nodes) {
        indent_ += 4;
        body(nodes);
        indent_ -= 4;
    }
    void node(const For &f) {
        const std::string v = c_name(f.var);
        line("for (int64_t " + v + " = " + text(f.begin) + "; " + v + " < " + text(f.end) + "; ++" +
             v + ") {");
        inside(f.body);
        line("}");
    }
    void node(const If &c) {
        line("if (" + text(c.condition) + ") {");
        inside(c.then);
        if (!c.otherwise.empty()) {
            line("} else {");
            inside(c.otherwise);
        }
        line("}");
    }
    void node(const Alloc &a) {
        const Buffer &b = *program_.buffer(a.buffer);
        if (b.address < 0) {
            throw AttrError(program_.name,
                            "buffer '" + b.name + "' has no address; run place_buffers() first");
        }
        const std::string type = std::string("AscendC::LocalTensor<") + type_name(b.dtype) + "> " +
                                 c_name(b.name);
        const auto slot = [&](int k) {
            return std::string(arena(b.scope).name) + ".GetWithOffset<" + type_name(b.dtype) +
                   ">(" + std::to_string(b.size) + ", " +
                   std::to_string(b.address + k * b.slot_bytes()) + ")";
        };
        if (b.slots == 1) return line(type + " = " + slot(0) + ";");
        std::string slots;
        for (int k = 0; k < b.slots; k++)
            slots += (k ? ", " : "") + slot(k);
        line(type + "[" + std::to_string(b.slots) + "] = {" + slots + "};");
    }
    void node(const Instr &i) {
        std::visit([&](const auto &op) { instr(i, op); }, i.op);
    }

    // ---- instructions
    void call(const std::string &name, const std::vector<std::string> &arguments) {
        std::string all;
        for (const std::string &a : arguments)
            all += (all.empty() ? "" : ", ") + a;
        line("AscendC::" + name + "(" + all + ");");
    }
    // Emits f(mask). A mask of bits is an array of two words, the lower first, in a block around
    // the call.
    template<class F> void masked(const Mask &m, const F &f) {
        if (!m.bits) return f(cast("uint64_t", m.count));
        line("{");
        indent_ += 4;
        line("uint64_t haly_mask[2] = {" + std::to_string(m.low) + "u, " + std::to_string(m.high) +
             "u};");
        f(std::string("haly_mask"));
        indent_ -= 4;
        line("}");
    }
    static std::string strides(const char *type, const std::vector<int> &blk,
                               const std::vector<Expr> &rep) {
        std::string all;
        for (const int b : blk)
            all += (all.empty() ? "" : ", ") + std::to_string(b);
        for (const Expr &r : rep)
            all += ", " + u8(r);
        return std::string("AscendC::") + type + "(" + all + ")";
    }
    void instr(const Instr &, const Vec &v) {
        static constexpr const char *names[] = {
            "Add",  "Sub",  "Mul",  "Div",  "Max",        "Min",  "And",       "Or",
            "Relu", "Exp",  "Ln",   "Abs",  "Reciprocal", "Sqrt", "Rsqrt",     "Not",
            "Adds", "Muls", "Maxs", "Mins", "LeakyRelu",  "Axpy", "MulAddDst", "Duplicate"};
        static_assert(std::size(names) == vec_op_count);
        const char *as = v.op == VecOp::and_ || v.op == VecOp::or_ || v.op == VecOp::not_
                             ? "uint16_t"
                             : nullptr;
        const std::string name = names[int(v.op)];
        const std::string repeat = u8(v.repeat);
        masked(v.mask, [&](const std::string &mask) {
            if (v.op == VecOp::dup) {
                return call(name, {tensor(v.dst), number(v.number, v.dst.dtype), mask, repeat,
                                   std::to_string(v.dst_blk), u8(v.dst_rep)});
            }
            std::vector<std::string> a{tensor(v.dst, as), tensor(v.src[0], as)};
            if (sources_of(v.op) == 2) a.push_back(tensor(v.src[1], as));
            if (has_number(v.op)) a.push_back(number(v.number, v.dst.dtype));
            a.push_back(mask);
            a.push_back(repeat);
            if (sources_of(v.op) == 2) {
                a.push_back(strides("BinaryRepeatParams", {v.dst_blk, v.src_blk[0], v.src_blk[1]},
                                    {v.dst_rep, v.src_rep[0], v.src_rep[1]}));
            } else {
                a.push_back(strides("UnaryRepeatParams", {v.dst_blk, v.src_blk[0]},
                                    {v.dst_rep, v.src_rep[0]}));
            }
            call(name, a);
        });
    }
    void instr(const Instr &, const VecReduce &v) {
        static constexpr const char *ops[] = {"Sum", "Max", "Min"};
        const std::string name = std::string(v.group ? "BlockReduce" : "WholeReduce") +
                                 ops[int(v.op)];
        masked(v.mask, [&](const std::string &mask) {
            std::vector<std::string> a{tensor(v.dst),  tensor(v.src),   mask,
                                       text(v.repeat), text(v.dst_rep), std::to_string(v.src_blk),
                                       text(v.src_rep)};
            if (v.group) std::swap(a[2], a[3]);
            if (!v.group && v.op != ReduceOp::add) {
                a.push_back(v.index ? "AscendC::ReduceOrder::ORDER_VALUE_INDEX"
                                    : "AscendC::ReduceOrder::ORDER_ONLY_VALUE");
            }
            call(name, a);
        });
    }
    void instr(const Instr &, const VecConv &v) {
        static constexpr const char *modes[] = {"NONE", "RINT", "FLOOR", "CEIL", "ROUND", "TRUNC"};
        if (v.src.dtype == DType::i32 && v.dst.dtype == DType::f16)
            call("SetDeqScale", {number({"", v.scale}, DType::f16)});
        masked(v.mask, [&](const std::string &mask) {
            call("Cast",
                 {tensor(v.dst), tensor(v.src),
                  std::string("AscendC::RoundMode::CAST_") + modes[int(v.round)], mask,
                  u8(v.repeat),
                  strides("UnaryRepeatParams", {v.dst_blk, v.src_blk}, {v.dst_rep, v.src_rep})});
        });
    }
    void instr(const Instr &, const VecCmp &v) {
        static constexpr const char *modes[] = {"LT", "GT", "GE", "EQ", "NE", "LE"};
        call("Compare", {tensor(v.dst), tensor(v.src[0]), tensor(v.src[1]),
                         std::string("AscendC::CMPMODE::") + modes[int(v.op)],
                         cast("uint64_t", lanes(v.src[0].dtype)), u8(v.repeat),
                         strides("BinaryRepeatParams", {1, v.src_blk[0], v.src_blk[1]},
                                 {8, v.src_rep[0], v.src_rep[1]})});
    }
    void instr(const Instr &, const VecSel &v) {
        const bool with = !v.src[1].buffer.empty();
        masked(v.mask, [&](const std::string &mask) {
            call("Select", {tensor(v.dst), tensor(v.sel), tensor(v.src[0]),
                            with ? tensor(v.src[1]) : number(v.number, v.dst.dtype),
                            std::string("AscendC::SELMODE::VSEL_TENSOR_") +
                                (with ? "TENSOR" : "SCALAR") + "_MODE",
                            mask, u8(v.repeat),
                            strides("BinaryRepeatParams", {v.dst_blk, v.src_blk[0], v.src_blk[1]},
                                    {v.dst_rep, v.src_rep[0], v.src_rep[1]})});
        });
    }
    void instr(const Instr &, const VecTrans &v) {
        line("for (int64_t haly_r = 0; haly_r < " + text(v.repeat) + "; ++haly_r) {");
        indent_ += 4;
        const auto at = [](Ref r, const Expr &rep) {
            r.offset = r.offset + Expr::var("haly_r") * rep * (fractal_bytes / 2);
            return r;
        };
        call("Transpose",
             {tensor(at(v.dst, v.dst_rep), "uint16_t"), tensor(at(v.src, v.src_rep), "uint16_t")});
        indent_ -= 4;
        line("}");
    }
    static std::string copy_params(const Expr &count, const Expr &length, const Expr &src,
                                   const Expr &dst) {
        return "AscendC::DataCopyParams(" + u16(count) + ", " + u16(length) + ", " + u16(src) +
               ", " + u16(dst) + ")";
    }
    void instr(const Instr &, const Dma &d) {
        if (d.atomic) line("AscendC::SetAtomicAdd<float>();");
        call("DataCopy",
             {tensor(d.dst), tensor(d.src), copy_params(d.nburst, d.burst, d.src_gap, d.dst_gap)});
        if (d.atomic) line("AscendC::SetAtomicNone();");
    }
    void instr(const Instr &, const DmaPad &d) {
        std::vector<std::string> a{
            tensor(d.dst), tensor(d.src),
            "AscendC::DataCopyExtParams(" + u16(d.nburst) + ", " + cast("uint32_t", d.bytes) +
                ", " + cast("uint32_t", d.src_gap) + ", " + cast("uint32_t", d.dst_gap) + ", 0)"};
        if (program_.scope(d.src) == Scope::gm) {
            a.push_back(std::string("AscendC::DataCopyPadExtParams<") + type_name(d.src.dtype) +
                        ">()");
        }
        call("DataCopyPad", a);
    }
    void instr(const Instr &, const Nd2Nz &d) {
        call("DataCopy", {tensor(d.dst), tensor(d.src),
                          "AscendC::Nd2NzParams(1, " + u16(d.rows) + ", " + u16(d.columns) +
                              ", 0, " + u16(d.pitch) + ", " + u16(d.rows_padded) + ", 1, 0)"});
    }
    void instr(const Instr &, const Load2d &l) {
        call("LoadData",
             {tensor(l.dst), tensor(l.src),
              "AscendC::LoadData2dParams(0, " + u8(l.repeat) + ", " + u16(l.src_stride) + ", 0, " +
                  u16(l.dst_gap) + ", " + (l.transpose ? "true" : "false") + ", 0)"});
    }
    void instr(const Instr &i, const Load3d &l) {
        if (l.pad_value != 0) refuse(i, "a border that isn't 0 is set apart");
        line("{");
        indent_ += 4;
        line(std::string("AscendC::LoadData3DParamsV2<") + type_name(l.src.dtype) + "> haly_load;");
        const auto field = [&](const std::string &name, const std::string &v) {
            line("haly_load." + name + " = " + v + ";");
        };
        for (int k = 0; k < 4; k++)
            field("padList[" + std::to_string(k) + "]", u8(l.pad[k]));
        field("l1H", u16(l.h));
        field("l1W", u16(l.w));
        field("channelSize", u16(l.c1 * c0(l.src.dtype)));
        field("kExtension", u16(l.k_extent));
        field("mExtension", u16(l.m_extent));
        field("kStartPt", u16(l.k_start));
        field("mStartPt", u16(l.m_start));
        field("strideW", std::to_string(l.stride_w));
        field("strideH", std::to_string(l.stride_h));
        field("filterW", std::to_string(l.kw));
        field("filterH", std::to_string(l.kh));
        field("dilationFilterW", std::to_string(l.dilation_w));
        field("dilationFilterH", std::to_string(l.dilation_h));
        call("LoadData", {tensor(l.dst), tensor(l.src), "haly_load"});
        indent_ -= 4;
        line("}");
    }
    void instr(const Instr &, const Mmad &m) {
        line("{");
        indent_ += 4;
        line("AscendC::MmadParams haly_mmad;");
        line("haly_mmad.m = " + u16(m.m) + ", haly_mmad.n = " + u16(m.n) +
             ", haly_mmad.k = " + u16(m.k) + ";");
        line("haly_mmad.cmatrixInitVal = (" + text(m.accumulate) + ") == 0;");
        call("Mmad", {tensor(m.dst), tensor(m.a), tensor(m.b), "haly_mmad"});
        indent_ -= 4;
        line("}");
    }
    void instr(const Instr &, const CcToUb &c) {
        line("{");
        indent_ += 4;
        line("AscendC::DataCopyEnhancedParams haly_copy;");
        line("haly_copy.blockMode = AscendC::BlockMode::BLOCK_MODE_MATRIX;");
        if (c.relu) line("haly_copy.isRelu = true;");
        call("DataCopy", {tensor(c.dst), tensor(c.src),
                          copy_params(c.nburst, c.burst, c.src_gap, c.dst_gap), "haly_copy"});
        indent_ -= 4;
        line("}");
    }
    void instr(const Instr &i, const Fixpipe &f) {
        if (f.nz) refuse(i, "fractals as they are");
        line("{");
        indent_ += 4;
        line("AscendC::FixpipeParamsV220 haly_fix(" + u16(f.n) + ", " + u16(f.m) + ", " +
             u16((f.m + (cube - 1)) / cube * cube) + ", " + cast("uint32_t", f.pitch) + ", " +
             (f.relu ? "true" : "false") + ");");
        if (f.dst.dtype != f.src.dtype) {
            line(std::string("haly_fix.quantPre = QuantMode_t::") +
                 (f.dst.dtype == DType::f16 ? "F322F16;" : "F322BF16;"));
        }
        call("Fixpipe", {tensor(f.dst), tensor(f.src), "haly_fix"});
        indent_ -= 4;
        line("}");
    }
    void instr(const Instr &, const Set &s) { line(c_name(s.reg) + " = " + text(s.value) + ";"); }
    void instr(const Instr &, const ScalarLd &s) {
        Ref whole = s.src;
        whole.offset = 0;
        line(c_name(s.reg) + " = (" + (is_float(s.src.dtype) ? "float" : "int64_t") + ")" +
             tensor(whole) + ".GetValue(" + text(s.src.offset) + ");");
    }
    void instr(const Instr &, const ScalarSt &s) {
        Ref whole = s.dst;
        whole.offset = 0;
        line(tensor(whole) + ".SetValue(" + text(s.dst.offset) + ", " +
             number(s.value, s.dst.dtype) + ");");
    }
    void instr(const Instr &, const ScalarMath &s) {
        static const std::map<ScalarOp, const char *> signs = {{ScalarOp::add, " + "},
                                                               {ScalarOp::sub, " - "},
                                                               {ScalarOp::mul, " * "},
                                                               {ScalarOp::div, " / "}};
        const std::string a = "(float)" + number(s.a);
        const std::string b = "(float)" + number(s.b);
        std::string v = a;
        if (const auto it = signs.find(s.op); it != signs.end()) v = a + it->second + b;
        if (s.op == ScalarOp::max) v = a + " < " + b + " ? " + b + " : " + a;
        if (s.op == ScalarOp::min) v = b + " < " + a + " ? " + b + " : " + a;
        if (s.op == ScalarOp::neg) v = "-" + a;
        if (s.op == ScalarOp::sqrt) v = "sqrt(" + a + ")";
        if (s.dtype == DType::f16 && s.op != ScalarOp::to_int) v = "(float)(half)(" + v + ")";
        line(c_name(s.reg) + " = " + (s.op == ScalarOp::to_int ? "(int64_t)" : "") + v + ";");
    }
    void flag(const char *what, Pipe src, Pipe dst, const Expr &id) {
        line(std::string("AscendC::") + what + "<AscendC::HardEvent::" + name_of(src) + "_" +
             name_of(dst) + ">(" + cast("int32_t", id) + ");");
    }
    void instr(const Instr &, const SetFlag &f) { flag("SetFlag", f.src, f.dst, f.id); }
    void instr(const Instr &, const WaitFlag &f) { flag("WaitFlag", f.src, f.dst, f.id); }
    void instr(const Instr &, const Barrier &b) {
        line(std::string("AscendC::PipeBarrier<PIPE_") + name_of(b.pipe) + ">();");
    }

    const Program &program_;
    std::set<std::string> declared_;
    std::string out_;
    int indent_ = 4;
};

}  // namespace

std::string emit_ascendc(const Program &p) {
    return AscendcEmitter(p).all();
}

}  // namespace halyard::dv
