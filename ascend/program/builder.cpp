#include "ascend/program/builder.h"

#include <algorithm>

#include "ascend/passes/passes.h"
#include "ascend/program/dump.h"
#include "ascend/simulator/check.h"
#include "registry/base/error.h"

namespace halyard::dv {

Tensor Tensor::operator[](const Expr &element) const {
    Ref r = ref_;
    r.offset = r.offset + element;
    return Tensor(r);
}

Tensor Tensor::as(DType t) const {
    Ref r = ref_;
    const Expr bytes = r.offset * int64_t(bytes_of(r.dtype));
    r.offset = bytes / int64_t(bytes_of(t));
    r.dtype = t;
    return Tensor(r);
}

Builder::Builder(std::string name, const std::string &profile, Options options)
    : options_(options) {
    program_.name = std::move(name);
    program_.profile = Profile::named(profile).name;
}

std::string Builder::fresh(const std::string &name) {
    const auto known = [&](const std::string &n) {
        return program_.buffer(n) || program_.tensor(n);
    };
    std::string all = name;
    while (known(all))
        all = name + "_" + std::to_string(++names_);
    return all;
}

Tensor Builder::gm(DType t, const Expr &size, const std::string &name, GmTensor::Use use) {
    if (program_.tensor(name)) throw AttrError(program_.name, "a second tensor '" + name + "'");
    program_.tensors.push_back({name, t, size, use, false});
    return Tensor({name, 0, 0, t});
}

Tensor Builder::tensor(DType t, int64_t size, Scope scope, const std::string &name) {
    if (scope == Scope::gm) {
        throw AttrError(program_.name,
                        "tensor '" + name + "' in gm is an input, an output or a workspace");
    }
    if (size <= 0) {
        throw AttrError(program_.name,
                        "tensor '" + name + "' has " + std::to_string(size) + " elements");
    }
    Buffer b;
    b.name = fresh(name);
    b.scope = scope;
    b.dtype = t;
    b.size = size;
    Ref r{b.name, 0, 0, t};
    for (size_t i = open_.size(); i-- > 0 && b.slots == 1;) {
        b.slots = open_[i].slots;
        r.slot = open_[i].slot;
    }
    program_.buffers.push_back(b);
    body().push_back({Alloc{b.name}});
    return Tensor(r);
}

Scalar Builder::input_scalar(DType t, const std::string &name) {
    program_.scalars.push_back({name, t});
    return {name, t};
}
Scalar Builder::scalar(DType t, const std::string &name) {
    return {name + "_r" + std::to_string(++names_), t};
}

Body &Builder::body() {
    if (open_.empty()) return program_.body;
    Open &o = open_.back();
    if (For *f = std::get_if<For>(&o.node.is)) return f->body;
    If &c = std::get<If>(o.node.is);
    return o.otherwise ? c.otherwise : c.then;
}

Expr Builder::open(const Expr &begin, const Expr &end, const LoopOptions &options) {
    Open o;
    const std::string var = "i" + std::to_string(++names_);
    const Expr block = Expr::var("block_idx");
    if (options.block_num != 1) {
        if (!open_.empty() || program_.blocks.constant() != 1)
            throw AttrError(program_.name, "only one outermost loop has a block_num");
        if (begin.constant() != 0)
            throw AttrError(program_.name, "a loop with a block_num begins at 0");
        if (const auto n = end.constant(); n && *n % options.block_num != 0) {
            throw AttrError(program_.name, "block_num " + std::to_string(options.block_num) +
                                               " doesn't divide the loop's " + std::to_string(*n) +
                                               " turns");
        }
        program_.blocks = options.block_num;
    }
    const Expr turns = options.block_num == 1 ? end : end / options.block_num;
    const Expr inner = Expr::var(var);
    const Expr at = options.block_num == 1 ? inner : block * turns + inner;
    o.node.is = For{var, begin, turns, {}};
    if (options.thread_num > 1) {
        o.slots = options.thread_num;
        o.slot = inner % options.thread_num;
    }
    open_.push_back(std::move(o));
    if (options.block_num != 1 && turns.constant() == 1) return substitute(at, var, 0);
    return at;
}

void Builder::open_if(const Expr &condition) {
    Open o;
    o.node.is = If{condition, {}, {}};
    open_.push_back(std::move(o));
}

void Builder::open_else() {
    Body &b = body();
    if (b.empty() || !std::holds_alternative<If>(b.back().is))
        throw AttrError(program_.name, "an else_scope follows an if_scope");
    Open o;
    o.node = std::move(b.back());
    o.otherwise = true;
    b.pop_back();
    open_.push_back(std::move(o));
}

void Builder::close() {
    Node n = std::move(open_.back().node);
    open_.pop_back();
    Body &outer = body();
    const For *f = std::get_if<For>(&n.is);
    if (f && open_.empty() && program_.blocks.constant() != 1 && f->end.constant() == 1)
        outer.insert(outer.end(), f->body.begin(), f->body.end());  // one iteration per block
    else
        outer.push_back(std::move(n));
}

void Builder::add(Instr::Op op, const At &at) {
    const std::string file = at.file_name();
    body().push_back({Instr{std::move(op), file.substr(file.find_last_of('/') + 1) + ":" +
                                               std::to_string(at.line())}});
}

void Builder::set_as(const Scalar &s, const Tensor &from, At at) {
    add(ScalarLd{s.name_, from.ref()}, at);
}
void Builder::set_as(const Scalar &s, const Expr &value, At at) {
    if (is_float(s.dtype_)) {
        throw AttrError(program_.name, "'" + s.name_ + "' is " + dv::to_string(value) +
                                           ", an integer, but its type is " +
                                           halyard::name_of(s.dtype_));
    }
    add(Set{s.name_, value}, at);
}
void Builder::set_as(const Scalar &s, const Value &value, At at) {
    add(ScalarMath{ScalarOp::move, s.name_, value, {}, s.dtype_}, at);
}
void Builder::set_value(const Tensor &to, const Value &value, At at) {
    add(ScalarSt{to.ref(), value}, at);
}
void Builder::scalar_math(ScalarOp op, const Scalar &dst, const Value &a, const Value &b, At at) {
    add(ScalarMath{op, dst.name_, a, b, dst.dtype_}, at);
}

void Builder::data_move(const Tensor &dst, const Tensor &src, const Expr &nburst, const Expr &burst,
                        const Expr &src_stride, const Expr &dst_stride, At at) {
    add(Dma{dst.ref(), src.ref(), nburst, burst, src_stride, dst_stride, false}, at);
}
void Builder::atomic_add(const Tensor &dst, const Tensor &src, const Expr &nburst,
                         const Expr &burst, const Expr &src_stride, const Expr &dst_stride, At at) {
    add(Dma{dst.ref(), src.ref(), nburst, burst, src_stride, dst_stride, true}, at);
}
void Builder::data_move_pad(const Tensor &dst, const Tensor &src, const Expr &nburst,
                            const Expr &bytes, const Expr &dst_gap, const Expr &src_gap, At at) {
    add(DmaPad{dst.ref(), src.ref(), nburst, bytes, src_gap, dst_gap}, at);
}
void Builder::nd2nz(const Tensor &dst, const Tensor &src, const Expr &rows, const Expr &columns,
                    const Expr &pitch, const Expr &rows_padded, At at) {
    add(Nd2Nz{dst.ref(), src.ref(), rows, columns, pitch, rows_padded}, at);
}

void Builder::set_flag(Pipe src, Pipe dst, const Expr &id, At at) {
    add(SetFlag{src, dst, id}, at);
}
void Builder::wait_flag(Pipe src, Pipe dst, const Expr &id, At at) {
    add(WaitFlag{src, dst, id}, at);
}
void Builder::pipe_barrier(Pipe p, At at) {
    add(Barrier{p}, at);
}

Program Builder::build() {
    if (!open_.empty()) throw AttrError(program_.name, "a loop is still open");
    Program p = program_;
    dump(p, "1-written");
    std::vector<Issue> issues = place_buffers(p);
    if (issues.empty() && options_.auto_sync) insert_sync(p);
    if (issues.empty()) issues = verify(p);
    if (has_errors(issues)) throw AttrError(p.name, to_text(issues));
    return p;
}

}  // namespace halyard::dv
