#include "ascend/program/ir.h"

#include <algorithm>
#include <utility>

#include "registry/base/error.h"

namespace halyard::dv {
namespace {

constexpr const char *vec_names[] = {
    "add", "sub",  "mul",   "div", "max",  "min",  "and",  "or",   "relu",  "exp",  "ln",  "abs",
    "rec", "sqrt", "rsqrt", "not", "adds", "muls", "maxs", "mins", "lrelu", "axpy", "mla", "dup"};
static_assert(std::size(vec_names) == vec_op_count);

template<class I, class R> std::vector<R> list_operands(I &i) {
    return std::visit(
        [](auto &op) -> std::vector<R> {
            using T = std::decay_t<decltype(op)>;
            if constexpr (std::is_same_v<T, Vec>) {
                std::vector<R> all{{&op.dst, true, reads_dst(op.op)}};
                for (int s = 0; s < sources_of(op.op); s++)
                    all.push_back({&op.src[s], false, true});
                return all;
            } else if constexpr (std::is_same_v<T, VecCmp>) {
                return {
                    {&op.dst, true, false}, {&op.src[0], false, true}, {&op.src[1], false, true}};
            } else if constexpr (std::is_same_v<T, VecSel>) {
                std::vector<R> all{
                    {&op.dst, true, false}, {&op.sel, false, true}, {&op.src[0], false, true}};
                if (!op.src[1].buffer.empty()) all.push_back({&op.src[1], false, true});
                return all;
            } else if constexpr (std::is_same_v<T, Mmad>) {
                return {{&op.dst, true, op.accumulate.constant() != 0},
                        {&op.a, false, true},
                        {&op.b, false, true}};
            } else if constexpr (std::is_same_v<T, Dma>)
                return {{&op.dst, true, op.atomic}, {&op.src, false, true}};
            else if constexpr (std::is_same_v<T, ScalarLd>)
                return {{&op.src, false, true}};
            else if constexpr (std::is_same_v<T, ScalarSt>)
                return {{&op.dst, true, false}};
            else if constexpr (requires {
                                   op.src.buffer;
                                   op.dst.buffer;
                               })
                return {{&op.dst, true, false}, {&op.src, false, true}};
            else
                return {};
        },
        i.op);
}

}  // namespace

Node::Node() = default;
Node::Node(For f) : is(std::move(f)) {}
Node::Node(If c) : is(std::move(c)) {}
Node::Node(Alloc a) : is(std::move(a)) {}
Node::Node(Instr i) : is(std::move(i)) {}
Node::Node(const Node &other) = default;
Node::Node(Node &&other) noexcept = default;
Node &Node::operator=(const Node &other) = default;
Node &Node::operator=(Node &&other) noexcept = default;
Node::~Node() = default;

int64_t Buffer::slot_bytes() const {
    const int64_t bytes = size * int64_t(bytes_of(dtype));
    const int64_t unit = std::max<int64_t>(align, block_bytes);
    return (bytes + unit - 1) / unit * unit;
}

const Buffer *Program::buffer(const std::string &wanted) const {
    for (const Buffer &b : buffers)
        if (b.name == wanted) return &b;
    return nullptr;
}
Buffer *Program::buffer(const std::string &wanted) {
    return const_cast<Buffer *>(std::as_const(*this).buffer(wanted));
}
const GmTensor *Program::tensor(const std::string &wanted) const {
    for (const GmTensor &t : tensors)
        if (t.name == wanted) return &t;
    return nullptr;
}
Scope Program::scope(const Ref &r) const {
    if (const Buffer *b = buffer(r.buffer)) return b->scope;
    if (tensor(r.buffer)) return Scope::gm;
    throw AttrError(name, "no buffer and no tensor is called '" + r.buffer + "'");
}

Pipe pipe_of(const Program &p, const Instr &i) {
    return std::visit(
        [&](const auto &op) {
            using T = std::decay_t<decltype(op)>;
            if constexpr (std::is_same_v<T, Dma> || std::is_same_v<T, DmaPad>) {
                if (p.scope(op.src) == Scope::gm) return Pipe::mte2;
                return p.scope(op.src) == Scope::l1 ? Pipe::mte1 : Pipe::mte3;
            } else if constexpr (std::is_same_v<T, Nd2Nz>)
                return Pipe::mte2;
            else if constexpr (std::is_same_v<T, Load2d>)
                return p.scope(op.src) == Scope::gm ? Pipe::mte2 : Pipe::mte1;
            else if constexpr (std::is_same_v<T, Load3d>)
                return Pipe::mte1;
            else if constexpr (std::is_same_v<T, Mmad>)
                return Pipe::m;
            else if constexpr (std::is_same_v<T, Fixpipe>)
                return Pipe::fix;
            else if constexpr (std::is_same_v<T, SetFlag>)
                return op.src;
            else if constexpr (std::is_same_v<T, WaitFlag>)
                return op.dst;
            else if constexpr (std::is_same_v<T, Barrier>)
                return op.pipe;
            else if constexpr (std::is_same_v<T, Set> || std::is_same_v<T, ScalarLd> ||
                               std::is_same_v<T, ScalarSt> || std::is_same_v<T, ScalarMath>)
                return Pipe::s;
            else
                return Pipe::v;
        },
        i.op);
}

std::string name_of(const Instr &i) {
    static constexpr const char *names[] = {"data_move",
                                            "data_move_pad",
                                            "nd2nz",
                                            "",
                                            "",
                                            "vec_conv",
                                            "",
                                            "vec_sel",
                                            "vec_trans",
                                            "load2d",
                                            "load3d",
                                            "mmad",
                                            "l0c_to_ub",
                                            "fixpipe",
                                            "set",
                                            "scalar_load",
                                            "scalar_store",
                                            "scalar",
                                            "set_flag",
                                            "wait_flag",
                                            "pipe_barrier"};
    static_assert(std::size(names) == std::variant_size_v<Instr::Op>);
    if (const Vec *v = std::get_if<Vec>(&i.op)) return std::string("vec_") + name_of(v->op);
    if (const VecReduce *r = std::get_if<VecReduce>(&i.op))
        return std::string(r->group ? "vcg" : "vc") + name_of(r->op);
    if (const VecCmp *c = std::get_if<VecCmp>(&i.op))
        return std::string("vec_cmpv_") + name_of(c->op);
    return names[i.op.index()];
}

const char *name_of(VecOp op) {
    return vec_names[int(op)];
}
const char *name_of(ReduceOp op) {
    return op == ReduceOp::add ? "add" : op == ReduceOp::max ? "max" : "min";
}
const char *name_of(Round r) {
    static constexpr const char *names[] = {"none", "round",     "floor",
                                            "ceil", "away-zero", "to-zero"};
    return names[int(r)];
}
const char *name_of(CmpOp op) {
    static constexpr const char *names[] = {"lt", "gt", "ge", "eq", "ne", "le"};
    return names[int(op)];
}
const char *name_of(ScalarOp op) {
    static constexpr const char *names[] = {"move", "add", "sub", "mul",  "div",
                                            "max",  "min", "neg", "sqrt", "to_int"};
    return names[int(op)];
}

int sources_of(VecOp op) {
    return op <= VecOp::or_ || op == VecOp::mla ? 2 : op == VecOp::dup ? 0 : 1;
}
bool has_number(VecOp op) {
    return op >= VecOp::adds && op != VecOp::mla;
}
bool reads_dst(VecOp op) {
    return op == VecOp::axpy || op == VecOp::mla;
}
int lanes(DType t) {
    return repeat_bytes / int(bytes_of(t));
}
int c0(DType t) {
    return block_bytes / int(bytes_of(t));
}

std::vector<Operand> operands(Instr &i) {
    return list_operands<Instr, Operand>(i);
}
std::vector<ConstOperand> operands(const Instr &i) {
    return list_operands<const Instr, ConstOperand>(i);
}

}  // namespace halyard::dv
