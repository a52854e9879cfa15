#include "ascend/simulator/check.h"

#include "ascend/program/text.h"

namespace halyard::dv {
namespace {

std::string text(const Range &r) {
    return r.min == r.max ? std::to_string(r.min)
                          : std::to_string(r.min) + ".." + std::to_string(r.max);
}

struct Checker {
    const Program &program;
    const Instr &instr;
    const Ranges &ranges;
    const Report &report;
    const Profile &chip = program.chip();

    void add(const std::string &id, const std::string &what) const {
        report(id, describe(program, instr) + ": " + what);
    }
    void in(const std::string &id, const char *field, const Expr &e, int64_t lower, int64_t upper,
            const char *unit = "") const {
        const auto r = range_of(e, ranges);
        // A range may have values that never occur, so only a range that is outside is an error.
        if (r && (r->max < lower || r->min > upper)) {
            add(id, std::string(field) + " is " + text(*r) + unit + ", it may be " +
                        std::to_string(lower) + ".." + std::to_string(upper) + unit);
        }
    }
    void repeat(const Expr &e) const { in("E-REPEAT", "repeat", e, 1, 255); }
    void stride(const char *field, const Expr &e, int64_t upper,
                const char *unit = " x 32 B") const {
        in("E-STRIDE", field, e, 0, upper, unit);
    }
    void multiple(const char *field, const Expr &e, int64_t unit) const {
        if (const auto v = e.constant(); v && *v % unit != 0) {
            add("E-FRACTAL", std::string(field) + " is " + std::to_string(*v) +
                                 ", not a multiple of " + std::to_string(unit));
        }
    }
    void mask(const Mask &m, int elements) const {
        if (!m.bits) return in("E-MASK", "mask", m.count, 1, elements);
        if (!m.high && !m.low) add("E-MASK", "no bit of the mask is set");
        if (elements <= 64 && m.high) {
            add("E-MASK",
                "the mask has bits past the " + std::to_string(elements) + " elements of a repeat");
        }
    }
    void type(const std::string &instr_name, DType t) const {
        if (!chip.takes(instr_name, t))
            add("E-TYPE", chip.name + " has no " + instr_name + " of " + name_of(t));
    }
    void same(DType a, DType b) const {
        if (a != b) add("E-TYPE", std::string("operands are ") + name_of(a) + " and " + name_of(b));
    }
    void path(const Ref &from, const Ref &to, const std::string &name) const {
        const Scope a = program.scope(from);
        const Scope b = program.scope(to);
        if (!chip.moves(a, b, name)) {
            add("E-PATH", chip.name + " has no " + name + " from " + dv::name_of(a) + " to " +
                              dv::name_of(b));
        }
    }
    void in_ub(const Ref &r) const {
        if (program.scope(r) != Scope::ub) {
            add("E-PATH", "'" + r.buffer + "' is in " + dv::name_of(program.scope(r)) +
                              ", the vector unit works on ubuf");
        }
    }
    void in_scope(const Ref &r, Scope s) const {
        if (program.scope(r) != s) {
            add("E-PATH", "'" + r.buffer + "' is in " + dv::name_of(program.scope(r)) +
                              ", it must be in " + dv::name_of(s));
        }
    }
    void moved(const Ref &dst, const Ref &src, const char *name) const {
        path(src, dst, name);
        type(name, src.dtype);
        same(dst.dtype, src.dtype);
    }

    void operator()(const Dma &d) const {
        moved(d.dst, d.src, "data_move");
        in("E-REPEAT", "nburst", d.nburst, 1, 4095);
        in("E-REPEAT", "burst", d.burst, 1, 65535, " x 32 B");
        stride("src_gap", d.src_gap, 65535);
        stride("dst_gap", d.dst_gap, 65535);
        if (d.atomic && d.dst.dtype != DType::f32)
            add("E-TYPE", std::string("an atomic add takes f32, not ") + name_of(d.dst.dtype));
        if (d.atomic && program.scope(d.dst) != Scope::gm)
            add("E-PATH", "only gm is added to atomically");
    }
    void operator()(const DmaPad &d) const {
        moved(d.dst, d.src, "data_move_pad");
        in("E-REPEAT", "nburst", d.nburst, 1, 4095);
        in("E-REPEAT", "bytes", d.bytes, 1, 2097151, " B");
        stride("src_gap", d.src_gap, program.scope(d.src) == Scope::gm ? 4294967295 : 65535, "");
        stride("dst_gap", d.dst_gap, program.scope(d.dst) == Scope::gm ? 4294967295 : 65535, "");
    }
    void operator()(const Nd2Nz &d) const {
        moved(d.dst, d.src, "nd2nz");
        in("E-REPEAT", "rows", d.rows, 1, 16384);
        in("E-REPEAT", "columns", d.columns, 1, 65535);
        in("E-STRIDE", "pitch", d.pitch, 1, 65535);
        multiple("rows_padded", d.rows_padded, cube);
    }
    void operator()(const Vec &v) const {
        const std::string name = std::string("vec_") + dv::name_of(v.op);
        type(name, v.dst.dtype);
        in_ub(v.dst);
        repeat(v.repeat);
        mask(v.mask, lanes(v.dst.dtype));
        stride("dst_blk", v.dst_blk, 255);
        stride("dst_rep", v.dst_rep, 255);
        for (int s = 0; s < sources_of(v.op); s++) {
            // mla and axpy may add f16 products to f32
            if (!(reads_dst(v.op) && v.dst.dtype == DType::f32 && v.src[s].dtype == DType::f16))
                same(v.dst.dtype, v.src[s].dtype);
            in_ub(v.src[s]);
            stride("src_blk", v.src_blk[s], 255);
            stride("src_rep", v.src_rep[s], 255);
        }
    }
    void operator()(const VecReduce &v) const {
        const std::string name = std::string(v.group ? "vcg" : "vc") + dv::name_of(v.op);
        type(name, v.src.dtype);
        if (!v.group && !v.index && v.op != ReduceOp::add &&
            !chip.takes(name + ".value", v.src.dtype))
            add("E-TYPE", chip.name + "'s " + name + " writes pairs of a value and its place");
        same(v.dst.dtype, v.src.dtype);
        in_ub(v.dst);
        in_ub(v.src);
        repeat(v.repeat);
        mask(v.mask, lanes(v.src.dtype));
        stride("dst_rep", v.dst_rep, 65535, "");
        stride("src_blk", v.src_blk, 255);
        stride("src_rep", v.src_rep, 255);
        if (v.index && (v.group || v.op == ReduceOp::add))
            add("E-TYPE", "only vcmax and vcmin write indices");
    }
    void operator()(const VecConv &v) const {
        const auto targets = chip.types.find(std::string("vec_conv.") + name_of(v.src.dtype));
        if (targets == chip.types.end() || !targets->second.count(v.dst.dtype)) {
            add("E-TYPE", chip.name + " has no vec_conv of " + name_of(v.src.dtype) + " to " +
                              name_of(v.dst.dtype));
        }
        in_ub(v.dst);
        in_ub(v.src);
        repeat(v.repeat);
        mask(v.mask, std::min(lanes(v.dst.dtype), lanes(v.src.dtype)));
        stride("dst_blk", v.dst_blk, 255);
        stride("src_blk", v.src_blk, 255);
        stride("dst_rep", v.dst_rep, 255);
        stride("src_rep", v.src_rep, 255);
        if (v.scale != 1 && !(v.src.dtype == DType::i32 && v.dst.dtype == DType::f16))
            add("E-TYPE", "only i32 to f16 has a scale");
    }
    void operator()(const VecCmp &v) const {
        type("vec_cmpv", v.src[0].dtype);
        same(v.src[0].dtype, v.src[1].dtype);
        repeat(v.repeat);
        if (v.dst.dtype != DType::u8)
            add("E-TYPE", std::string("the bits are u8, not ") + name_of(v.dst.dtype));
        for (int s = 0; s < 2; s++) {
            in_ub(v.src[s]);
            stride("src_blk", v.src_blk[s], 255);
            stride("src_rep", v.src_rep[s], 255);
        }
        in_ub(v.dst);
    }
    void operator()(const VecSel &v) const {
        type("vec_sel", v.dst.dtype);
        same(v.dst.dtype, v.src[0].dtype);
        repeat(v.repeat);
        mask(v.mask, lanes(v.dst.dtype));
        in_ub(v.dst);
        in_ub(v.sel);
        in_ub(v.src[0]);
        stride("dst_blk", v.dst_blk, 255);
        stride("dst_rep", v.dst_rep, 255);
        if (v.sel.dtype != DType::u8)
            add("E-TYPE", std::string("the bits are u8, not ") + name_of(v.sel.dtype));
        if (!v.src[1].buffer.empty()) {
            in_ub(v.src[1]);
            same(v.dst.dtype, v.src[1].dtype);
        }
        for (int s = 0; s < 2; s++) {
            stride("src_blk", v.src_blk[s], 255);
            stride("src_rep", v.src_rep[s], 255);
        }
    }
    void operator()(const VecTrans &v) const {
        type("vec_trans", v.src.dtype);
        same(v.dst.dtype, v.src.dtype);
        in_ub(v.dst);
        in_ub(v.src);
        repeat(v.repeat);
        stride("dst_rep", v.dst_rep, 255, " x 512 B");
        stride("src_rep", v.src_rep, 255, " x 512 B");
    }
    void operator()(const Load2d &l) const {
        moved(l.dst, l.src, "load2d");
        repeat(l.repeat);
        stride("src_stride", l.src_stride, 65535, " x 512 B");
        stride("dst_gap", l.dst_gap, 65535, " x 512 B");
        if (l.transpose && bytes_of(l.src.dtype) != 2) {
            add("E-TYPE",
                std::string("load2d transposes 2-byte elements, not ") + name_of(l.src.dtype));
        }
    }
    void operator()(const Load3d &l) const {
        moved(l.dst, l.src, "load3d");
        in("E-STRIDE", "h", l.h, 1, 32767, "");
        in("E-STRIDE", "w", l.w, 1, 32767, "");
        in("E-STRIDE", "c1", l.c1, 1, 4095, "");
        for (const Expr &pad : l.pad)
            in("E-STRIDE", "pad", pad, 0, 255);
        in("E-STRIDE", "kh", l.kh, 1, 255);
        in("E-STRIDE", "kw", l.kw, 1, 255);
        in("E-STRIDE", "stride_h", l.stride_h, 1, 63);
        in("E-STRIDE", "stride_w", l.stride_w, 1, 63);
        in("E-STRIDE", "dilation_h", l.dilation_h, 1, 255);
        in("E-STRIDE", "dilation_w", l.dilation_w, 1, 255);
        multiple("m", l.m_extent, cube);
        multiple("m_start", l.m_start, cube);
        multiple("k", l.k_extent, c0(l.src.dtype));
        multiple("k_start", l.k_start, c0(l.src.dtype));
        in("E-REPEAT", "m", l.m_extent, 1, 65535);
        in("E-REPEAT", "k", l.k_extent, 1, 65535);
        // The kernel must fit the image with its borders.
        in("E-STRIDE", "height with its borders", l.h + l.pad[2] + l.pad[3],
           l.dilation_h * (l.kh - 1) + 1, 1 << 20);
        in("E-STRIDE", "width with its borders", l.w + l.pad[0] + l.pad[1],
           l.dilation_w * (l.kw - 1) + 1, 1 << 20);
    }
    void operator()(const Mmad &m) const {
        in_scope(m.dst, Scope::l0c);
        in_scope(m.a, Scope::l0a);
        in_scope(m.b, Scope::l0b);
        type("mmad", m.a.dtype);
        same(m.a.dtype, m.b.dtype);
        in("E-REPEAT", "m", m.m, 1, 4095);
        in("E-REPEAT", "k", m.k, 1, 4095);
        in("E-REPEAT", "n", m.n, 1, 4095);
        const DType sum = m.a.dtype == DType::i8 ? DType::i32 : DType::f32;
        if (m.dst.dtype != sum) {
            add("E-TYPE", std::string("an mmad of ") + name_of(m.a.dtype) + " adds up in " +
                              name_of(sum) + ", not " + name_of(m.dst.dtype));
        }
    }
    void operator()(const CcToUb &c) const {
        path(c.src, c.dst, "l0c_to_ub");
        type("l0c_to_ub", c.src.dtype);
        if (c.dst.dtype != c.src.dtype && !(c.src.dtype == DType::f32 && c.dst.dtype == DType::f16))
            same(c.dst.dtype, c.src.dtype);
        in("E-REPEAT", "nburst", c.nburst, 1, 4095);
        in("E-REPEAT", "burst", c.burst, 1, 65535, " fractals");
        stride("src_gap", c.src_gap, 65535, " fractals");
        stride("dst_gap", c.dst_gap, 65535);
    }
    void operator()(const Fixpipe &f) const {
        path(f.src, f.dst, "fixpipe");
        type("fixpipe", f.src.dtype);
        if (f.dst.dtype != f.src.dtype &&
            !(f.src.dtype == DType::f32 &&
              (f.dst.dtype == DType::f16 || f.dst.dtype == DType::bf16)))
            same(f.dst.dtype, f.src.dtype);
        in("E-REPEAT", "m", f.m, 1, 8192);
        in("E-REPEAT", "n", f.n, 1, 4095);
        in("E-STRIDE", "pitch", f.pitch, 1, 2147483647);
    }
    void operator()(const ScalarLd &s) const { type("scalar_load", s.src.dtype); }
    void operator()(const ScalarSt &s) const { type("scalar_store", s.dst.dtype); }
    void flag(Pipe src, Pipe dst, const Expr &id) const {
        in("E-FLAG", "the flag's id", id, 0, chip.flags() - 1);
        if (src == dst || src == Pipe::all || dst == Pipe::all) {
            add("E-FLAG",
                std::string("no flag goes from ") + dv::name_of(src) + " to " + dv::name_of(dst));
        }
    }
    void operator()(const SetFlag &f) const { flag(f.src, f.dst, f.id); }
    void operator()(const WaitFlag &f) const { flag(f.src, f.dst, f.id); }
    void operator()(const Set &) const {}
    void operator()(const ScalarMath &) const {}
    void operator()(const Barrier &b) const {
        if (b.pipe == Pipe::s) add("E-FLAG", "the scalar unit has no barrier");
    }
};

}  // namespace

std::string describe(const Program &p, const Instr &i) {
    return to_text(p, i) + (i.where.empty() ? "" : " (" + i.where + ")");
}

void check_instr(const Program &p, const Instr &i, const Ranges &ranges, const Report &report) {
    std::visit(Checker{p, i, ranges, report}, i.op);
}

int64_t alignment(const Profile &chip, const Instr::Op &op, int k, Scope scope, DType t) {
    const int64_t element = int64_t(bytes_of(t));
    if (scope == Scope::gm) return chip.align(scope);
    if (std::holds_alternative<ScalarLd>(op) || std::holds_alternative<ScalarSt>(op))
        return element;
    // Results are contiguous.
    if (const VecReduce *r = std::get_if<VecReduce>(&op); r && k == 0)
        return r->group ? 8 * element : element;
    return chip.align(scope);
}

}  // namespace halyard::dv
