#include "kernels/elementwise/elementwise.h"

#include "dsl/joint_outputs.h"

namespace halyard {

using Tail = Halide::TailStrategy;
using Halide::Var;

namespace {

// A transposed operand is read in blocks of 16 rows, so that its cache lines are used whole.
constexpr int row_block = 16;

// An operand that is broadcast along the innermost dimension has stride 0 there, a dense one
// stride 1. Returns the combinations that get loops of their own, as bit sets of the operands that
// are broadcast. For three operands or fewer these are the usual ones; for four they are a full
// tensor and three numbers for each channel, as normalisation has them.
std::vector<unsigned> broadcast_patterns(size_t operands) {
    if (operands == 2) return {0b00, 0b01, 0b10};
    if (operands == 3) return {0b000, 0b001, 0b010, 0b100, 0b110};
    if (operands == 4) return {0b0000, 0b1110};
    return {0};
}

}  // namespace

Elementwise::Elementwise(const std::string &name, const std::string &signature)
    : Op(name, signature) {
    joins_outputs = true;
    samples = {"d0=1 d1=1 d2=1",  "d0=2 d1=3 d2=5",  "d0=1 d1=3 d2=17",   "d0=1 d1=1 d2=31",
               "d0=1 d1=1 d2=32", "d0=5 d1=7 d2=33", "d0=1 d1=1 d2=40009"};
    bench = {"d0=1 d1=1 d2=4194304"};
}

// Returns the condition that y is dense and exactly the operands of the bit set are broadcast.
Halide::Expr Elementwise::has_layout(const Func &y, unsigned broadcast) const {
    Expr layout;
    for (const Halide::OutputImageParam &stored : y.output_buffers()) {
        const Expr is_dense = stored.dim(0).stride() == 1;
        layout = layout.defined() ? layout && is_dense : is_dense;
    }
    for (size_t k = 0; k < memory.size(); k++)
        layout = layout && memory[k].dim(0).stride() == (broadcast >> k & 1 ? 0 : 1);
    return layout;
}

std::vector<unsigned> Elementwise::patterns() const {
    if (!any_strides) return {};
    return broadcasts.empty() ? broadcast_patterns(memory.size()) : broadcasts;
}

// A task is a run of up to `task_elements` elements of one row, or as many shorter rows. So small
// tensors stay on one thread, large ones use all threads, and short rows don't become a task each.
void Elementwise::schedule(const Cpu &cpu) {
    const int chunk = cpu.pick("chunk", {task_elements, 4096, 262144});
    Func y = store();
    const std::vector<Var> dims = y.args();
    const bool in_row_blocks = tiled && dims.size() > 1;
    Var vec("vec"), run("run"), i("i"), row("row"), rows("rows");
    const Expr row_elements = max(1, min(chunk, y.output_buffers()[0].dim(0).extent()));
    // The vectors are split off first, then runs of whole vectors. So the guard of a run is a
    // scalar comparison, which Halide turns into the loop's bound.
    y.compute_root()
        .split(dims[0], vec, vector_lane, cpu.lanes, Tail::GuardWithIf)
        .vectorize(vector_lane)
        .split(vec, run, i, chunk / cpu.lanes, Tail::GuardWithIf);
    if (!in_row_blocks) distribute(y, dims, dims.size() > 1 ? dims[1] : run, chunk / row_elements);
    for (unsigned broadcast : patterns()) {
        Halide::Stage dense = y.specialize(has_layout(y, broadcast));
        if (in_row_blocks) distribute(dense, dims, dims[1], chunk / row_elements);
    }
    if (!in_row_blocks) return;
    y.split(dims[1], rows, row, row_block, Tail::GuardWithIf)
        .reorder(vector_lane, row, i, run, rows);
    distribute(y, dims, rows, chunk / row_block / row_elements);
}

// Fuses the runs of a row, the loop `outer` over rows and all further dimensions, and makes tasks
// of `rows_per_task` iterations each.
template<class FuncOrStage>
void Elementwise::distribute(FuncOrStage &stage, const std::vector<Var> &dims, const Var &outer,
                             const Expr &rows_per_task) {
    Var run("run"), task("task"), part("part");
    if (dims.size() > 1)
        stage.fuse(run, outer, task);
    else
        stage.rename(run, task);
    for (size_t d = 2; d < dims.size(); d++)
        stage.fuse(task, dims[d], task);
    if (dims.size() > 1) stage.split(task, task, part, max(1, rows_per_task), Tail::GuardWithIf);
    stage.parallel(task);
}

void Elementwise::schedule(const Gpu &) {
    for (Func &y : out) {
        Var x = y.args()[0];
        y.compute_root();
        for (auto stored : y.output_buffers())
            stored.dim(0).set_stride(Expr());
        for (int d = y.dimensions() - 1; d > 1; d--)
            y.fuse(y.args()[size_t(d) - 1], y.args()[size_t(d)], y.args()[size_t(d) - 1]);
        y.gpu_tile(x, gpu_thread, 64, Tail::GuardWithIf);
        if (y.dimensions() > 1) y.gpu_blocks(y.args()[1]);
    }
}

void Elementwise::each(Problem &p,
                       const std::function<void(const double *in, double *out)> &value) const {
    std::vector<const Array *> from;
    std::vector<Array *> to;
    for (auto &t : sig.inputs)
        from.push_back(&p(t.name));
    for (auto &t : sig.outputs)
        to.push_back(&p(t.name));
    const Shape &shape = to[0]->shape;
    // Returns the index of the element of a tensor of shape s that is broadcast to element i.
    const auto broadcast_index = [&](const Shape &s, int64_t i) {
        int64_t index = 0, stride = 1;
        for (int d = shape.rank() - 1, e = s.rank() - 1; e >= 0; d--, e--) {
            index += (s[e] == 1 ? 0 : i % shape[d]) * stride;
            i /= shape[d];
            stride *= s[e];
        }
        return index;
    };
    std::vector<char> same_shape(from.size());
    for (size_t k = 0; k < from.size(); k++)
        same_shape[k] = from[k]->shape == shape;
    std::vector<double> inputs(from.size());
    std::vector<double> outputs(to.size());
    for (int64_t i = 0, n = shape.elements(); i < n; i++) {
        for (size_t k = 0; k < from.size(); k++)
            inputs[k] = from[k]->v[size_t(same_shape[k] ? i : broadcast_index(from[k]->shape, i))];
        value(inputs.data(), outputs.data());
        for (size_t k = 0; k < to.size(); k++)
            to[k]->v[size_t(i)] = outputs[k];
    }
}

void Elementwise::each_abs_sum(
    Problem &p, const std::function<void(const double *in, double *out)> &value) const {
    each(p, value);
    for (auto &t : sig.outputs)
        p.abs_sum[t.name] = p(t.name);
}

}  // namespace halyard
