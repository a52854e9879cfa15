#include "registry/dispatch/planner.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>

#include "registry/base/text.h"
#include "registry/dispatch/choice.h"
#include "registry/dispatch/device.h"
#include "registry/dispatch/force.h"
#include "registry/dispatch/simulated.h"
#include "registry/op/expr.h"
#include "registry/op/names.h"
#include "registry/op/shape_binder.h"

namespace halyard {

namespace {

halide_type_t runtime_type(DType t) {
    switch (t) {
    case DType::f64: return {halide_type_float, 64};
    case DType::f32: return {halide_type_float, 32};
    case DType::f16: return {halide_type_float, 16};
    case DType::bf16: return {halide_type_bfloat, 16};
    case DType::i64: return {halide_type_int, 64};
    case DType::i32: return {halide_type_int, 32};
    case DType::i8: return {halide_type_int, 8};
    case DType::u8:
    case DType::boolean: break;
    }
    return {halide_type_uint, 8};
}

std::vector<int> inverse(const std::vector<int> &p) {
    std::vector<int> q(p.size());
    for (size_t i = 0; i < p.size(); i++)
        q[p[i]] = int(i);
    return q;
}
std::vector<Shape> shapes_of(const std::vector<Operand> &operands) {
    std::vector<Shape> shapes;
    shapes.reserve(operands.size());
    for (const Operand &o : operands)
        shapes.push_back(o.shape);
    return shapes;
}
Shape permuted(const Shape &s, const std::vector<int> &order) {
    Shape t;
    for (int d : order)
        t.push_back(s[d]);
    return t;
}

// Returns strides of a tensor without elements, by which any two of its dimensions can be merged.
Shape strides_without_elements(const Shape &shape) {
    Shape strides = shape;
    int64_t step = 1;
    for (int d = shape.rank(); d-- > 0; step *= shape[d])
        strides[d] = step;
    return strides;
}

// The dtypes that the type variables of a signature are bound to.
class TypeVariables {
public:
    std::optional<DType> &operator[](const std::string &variable) {
        return bound_[static_cast<size_t>(variable[0] - 'A')];
    }

private:
    std::array<std::optional<DType>, 26> bound_;
};

class Planner {
public:
    // Plans for kernels of `backend`; "" stands for requested_backend().
    Planner(const RegisteredOp &op, std::span<const OperandMeta> in, const Attrs &attrs,
            const std::string &backend = "")
        : op_(op), r_(op.record), sig_(op.signature), attrs_(attrs), kernel_attrs_(attrs),
          in_(in.begin(), in.end()), backend_(backend) {
        plan_.op = &op;
        called_.reserve(in_.size());
        for (OperandMeta &m : in_) {
            called_.push_back(m.shape);
            if (m.shape.elements() == 0) m.strides = strides_without_elements(m.shape);
        }
    }

    Plan plan(bool explaining) {
        bind_dtypes();
        if (backend_.empty()) backend_ = requested_backend(op_, dtypes_);
        copies_.resize(in_.size());
        out_copies_.resize(sig_.outputs.size());
        bool settled = false;
        for (int pass = 0; pass < max_passes && !settled; pass++) {
            make_canonical();
            if (wants_swap()) swap_rows_and_columns();
            settled = !c_.needs_copies && !mark_copies();
        }
        if (!settled)
            throw DispatchError(r_.name, "no kernel takes these strides, and no copy helps");
        check_conditions(r_, dims_, true);
        if (backend_ != "cpu" && has_empty_tensor()) return on_cpu(explaining);
        const bool fits_cpu = std::ranges::all_of(
            c_.inputs, [&](const Layout &l) { return innermost_stride(l) == 1 || r_.any_strides; });
        split_dimensions();
        join_rows();
        fill();
        if (may_downcast() && downcast()) return std::move(plan_);
        choose_kernel(op_, dtypes_, backend_, explaining, plan_);
        if (backend_ == "ascend" && !plan_.simulated && !fits_cpu) return on_cpu(explaining);
        if (!plan_.kernel && upcasts_to_f32(op_, dtypes_)) upcast(explaining);
        return std::move(plan_);
    }

private:
    const RegisteredOp &op_;
    const OpRecord &r_;
    const Signature &sig_;
    const Attrs &attrs_;
    Attrs kernel_attrs_;    // attrs_, in the kernel's order of dimensions
    bool swapped_ = false;  // kernels take columns for rows
    // The copy of an input: it is expanded to `shape` and dense with its dimensions in `order`.
    struct Copy {
        std::vector<int> order;  // empty: the input isn't copied
        Shape shape;
        bool expanded = false;  // to the extents of all tensors that it broadcasts against
    };
    // One pass may find that an input needs a copy, the next that the copy must be expanded, and
    // the third that it must hold its group in one piece. The fourth pass needs no further copies.
    static constexpr int max_passes = 4;

    std::vector<OperandMeta> in_;
    std::vector<Shape> called_;  // the shapes of in_
    std::string backend_;
    std::string dtypes_;  // the kernels' key: "f32,i32"
    std::vector<DType> out_dtypes_;
    Dims dims_;
    Canonical c_;
    Shape group_;  // the broadcast extents of the leading ..n, before dimensions are merged
    std::vector<Copy> copies_;
    std::vector<std::vector<int>> out_copies_;  // copy orders, as in Plan::Buffer
    std::vector<int> reduction_order_;          // empty: the caller's order
    // For each tensor the caller's dimensions in the kernel's order.
    std::vector<std::vector<int>> orders_, out_orders_;
    Plan plan_;

    [[noreturn]] void bad_shape(const std::string &what) const { throw ShapeError(r_.name, what); }

    void make_canonical() {
        dims_.clear();
        orders_.assign(in_.size(), {});
        out_orders_.assign(sig_.outputs.size(), {});
        bind_attributes(kernel_attrs_, dims_);
        // Conditions on attributes come first: shapes are computed from attributes.
        check_conditions(r_, dims_, false);
        c_ = {};
        if (r_.form == Form::elementwise)
            elementwise();
        else if (r_.form == Form::reduction)
            reduction();
        else
            plain();
    }

    // Sets dtypes_ and out_dtypes_ from the dtypes of the inputs.
    void bind_dtypes() {
        require_input_count(sig_, in_.size());
        std::vector<std::string> key;  // the dtypes of the type variables, in order of binding
        TypeVariables bound;
        bind_input_dtypes(bound, key);
        bind_output_dtypes(bound, key);
        dtypes_ = join(key, ",");
        if (std::ranges::count(r_.dtypes, dtypes_)) return;
        if (!key.empty()) {
            throw DTypeError(r_.name,
                             "no kernels for " + dtypes_ + ", there are " + join(r_.dtypes, " "));
        }
        if (!r_.dtypes.empty()) dtypes_ = r_.dtypes[0];
    }
    void bind_input_dtypes(TypeVariables &bound, std::vector<std::string> &key) {
        for (size_t k = 0; k < in_.size(); k++) {
            const TensorSpec &t = sig_.inputs[k];
            const DType got = in_[k].dtype;
            if (!is_type_variable(t.dtype)) {
                if (got == dtype_of(t.dtype)) continue;
                throw DTypeError(r_.name, t.name + " is " + name_of(got) + ", expected " + t.dtype);
            }
            std::optional<DType> &expected = bound[t.dtype];
            if (!expected) {
                expected = got;
                key.emplace_back(name_of(got));
            } else if (*expected != got) {
                throw DTypeError(r_.name,
                                 fmt::format("{} is {}, expected {} like {}", t.name, name_of(got),
                                             name_of(*expected), first_with(t.dtype)));
            }
        }
    }
    // A type variable that no input binds has the dtype of attribute `dtype`.
    void bind_output_dtypes(TypeVariables &bound, std::vector<std::string> &key) {
        for (const TensorSpec &t : sig_.outputs) {
            if (!is_type_variable(t.dtype)) {
                out_dtypes_.push_back(dtype_of(t.dtype));
                continue;
            }
            std::optional<DType> &dtype = bound[t.dtype];
            if (!dtype) {
                const int a = attrs_.find("dtype");
                if (a < 0) throw DTypeError(r_.name, "nothing binds the dtype of " + t.name);
                dtype = static_cast<DType>(attrs_.integer(size_t(a)));
                key.emplace_back(name_of(*dtype));
            }
            out_dtypes_.push_back(*dtype);
        }
    }
    std::string first_with(const std::string &variable) const {
        for (const TensorSpec &t : sig_.inputs)
            if (t.dtype == variable) return t.name;
        return variable;
    }

    // Returns shapes and strides of the inputs; those of its copy where an input is copied.
    std::vector<Operand> operands() const {
        std::vector<Operand> all;
        all.reserve(in_.size());
        for (size_t k = 0; k < in_.size(); k++) {
            Operand o{in_[k].shape, in_[k].strides};
            if (!copies_[k].order.empty()) {
                o.shape = copies_[k].shape;
                o.strides = strides_in_order(o.shape, copies_[k].order);
            }
            all.push_back(o);
        }
        return all;
    }
    Shape output_strides(size_t k, const Shape &shape) const {
        if (out_copies_[k].empty()) return dense_strides(shape);
        return strides_in_order(shape, out_copies_[k]);
    }

    void elementwise() {
        const std::vector<Operand> ops = operands();
        ShapeBinder binder(r_, sig_, called_, dims_);
        binder.bind(shapes_of(ops));
        c_ = canonical_elementwise(sig_, ops, binder.any_rank(), 3);
        for (int d = 0; d < 3; d++)
            dims_["d" + std::to_string(d)] = c_.outputs[0].shape[d];
    }

    // Ops without a value for no elements (a maximum) have the condition r>0. The caller has not
    // written `r`, so the error names the axis instead.
    void require_elements() const {
        const Shape &canonical = c_.inputs[0].shape;
        const bool none = canonical[1] * canonical[3] == 0;
        if (none && std::ranges::count(r_.conditions, "r>0")) {
            bad_shape(sig_.inputs[0].name + in_[0].shape.text() +
                      " has no elements along axis, expected at least one");
        }
    }

    void reduction() {
        const int axis = attrs_.find("axis"), keep = attrs_.find("keep_dims");
        const Ints &axes = attrs_.ints(size_t(axis));
        c_ = canonical_reduction(r_, sig_, operands(), axes,
                                 keep >= 0 && attrs_.integer(size_t(keep)), reduction_order_);
        if (c_.needs_copies) {
            reduction_order_ = kept_first(r_, axes, in_[0].shape.rank());
            for (size_t k = 0; k < in_.size(); k++) {
                if (sig_.inputs[k].extents.size() == 4)
                    copies_[k] = {reduction_order_, in_[k].shape};
            }
            for (size_t k = 0; k < sig_.outputs.size(); k++)
                if (sig_.outputs[k].extents.size() == 4) out_copies_[k] = reduction_order_;
            return;
        }
        require_elements();
        const char *names[] = {"o", "r", "i", "s"};
        for (int d = 0; d < 4; d++)
            dims_[names[d]] = c_.inputs[0].shape[d];
        bind_derived(r_, dims_);
    }

    bool channels_last() const {
        const int a = attrs_.find("data_format");
        return a >= 0 && r_.attrs[a].choices[size_t(attrs_.integer(size_t(a)))] == "NHWC";
    }
    // Returns the caller's dimensions in the kernel's order. NHWC becomes NCHW, the dimension that
    // `axis` selects goes last, and attribute transpose_a swaps the last two dimensions of input a.
    std::vector<int> kernel_order(const TensorSpec &t, int rank) const {
        std::vector<int> order(static_cast<size_t>(rank));
        for (int d = 0; d < rank; d++)
            order[d] = d;
        if (rank == 4 && t.extents.size() == 4) {
            if (channels_last()) order = {0, 3, 1, 2};
            if (swapped_) std::swap(order[2], order[3]);
            if (channels_last() || swapped_) return order;
        }
        const int swap = attrs_.find("transpose_" + t.name);
        if (swap >= 0 && attrs_.integer(size_t(swap)) && rank >= 2)
            std::swap(order[rank - 1], order[size_t(rank) - 2]);
        if (!r_.axis.empty() && !t.extents.empty() && t.extents.back() == r_.axis) {
            const int a = normal_axis(r_.name.c_str(), attrs_.integer(size_t(attrs_.find("axis"))),
                                      rank);
            order.erase(order.begin() + a);
            order.push_back(a);
        }
        return order;
    }

    // The tensors of a call in their kernel's order of dimensions, inputs before outputs.
    struct Ordered {
        std::vector<Shape> shapes, strides;
        Shape group;  // the broadcast of all leading ..n
    };
    const TensorSpec &spec_of(size_t k) const {
        return k < in_.size() ? sig_.inputs[k] : sig_.outputs[k - in_.size()];
    }

    void plain() {
        ShapeBinder binder(r_, sig_, called_, dims_);
        Ordered t = ordered_inputs();
        binder.bind(t.shapes);
        t.group = binder.group();
        add_outputs(binder, t);
        std::vector<Shape> over_group = strides_over_group(t);
        group_ = t.group;
        merge_dimensions(t.group, over_group);
        if (t.group.rank() > 1 && reduces_over_group()) return bring_group_together();
        lay_out(t, over_group);
    }

    Ordered ordered_inputs() {
        const std::vector<Operand> ops = operands();
        Ordered t;
        for (size_t k = 0; k < ops.size(); k++) {
            orders_[k] = copies_[k].order.empty()
                             ? kernel_order(sig_.inputs[k], ops[k].shape.rank())
                             : copies_[k].order;
            t.shapes.push_back(permuted(ops[k].shape, orders_[k]));
            t.strides.push_back(permuted(ops[k].strides, orders_[k]));
        }
        return t;
    }

    void add_outputs(const ShapeBinder &binder, Ordered &t) {
        for (size_t k = 0; k < sig_.outputs.size(); k++) {
            const Shape s = binder.output(k);
            out_orders_[k] = kernel_order(sig_.outputs[k], s.rank());
            const Shape of_caller = permuted(s, inverse(out_orders_[k]));
            checked_elements(r_.name.c_str(), of_caller);
            c_.output_shapes.push_back(of_caller);
            t.shapes.push_back(s);
            t.strides.push_back(permuted(output_strides(k, of_caller), out_orders_[k]));
        }
    }

    // Returns every tensor's strides along the group's dimensions; 0 where it is broadcast or has
    // no group.
    std::vector<Shape> strides_over_group(const Ordered &t) const {
        std::vector<Shape> all;
        for (size_t k = 0; k < t.shapes.size(); k++) {
            Shape strides;
            const int lead = t.shapes[k].rank() - int(spec_of(k).extents.size());
            const int missing = t.group.rank() - lead;
            for (int d = 0; d < t.group.rank(); d++) {
                const bool is_broadcast = spec_of(k).group.empty() || d < missing ||
                                          t.shapes[k][d - missing] != t.group[d];
                strides.push_back(is_broadcast ? 0 : t.strides[k][d - missing]);
            }
            all.push_back(strides);
        }
        return all;
    }

    // The last dimension of the merged group is the kernel's; those before it are loops around it.
    void lay_out(const Ordered &t, const std::vector<Shape> &over_group) {
        const int loops = std::max(0, t.group.rank() - 1);
        const int64_t last_extent = t.group.empty() ? 1 : t.group.back();
        c_.loops = Shape(t.group.begin(), t.group.begin() + loops);
        for (size_t k = 0; k < t.shapes.size(); k++) {
            const TensorSpec &spec = spec_of(k);
            Layout l;
            l.outer = Shape(over_group[k].begin(), over_group[k].begin() + loops);
            if (!spec.group.empty()) {
                l.shape.push_back(last_extent);
                l.strides.push_back(t.group.empty() ? 0 : over_group[k].back());
                dims_[spec.group] = last_extent;
            }
            for (int d = t.shapes[k].rank() - int(spec.extents.size()); d < t.shapes[k].rank();
                 d++) {
                l.shape.push_back(t.shapes[k][d]);
                l.strides.push_back(t.strides[k][d]);
            }
            (k < in_.size() ? c_.inputs : c_.outputs).push_back(l);
        }
    }

    // Returns the plan for the CPU's kernels. Calls with empty tensors are never planned for a
    // device: it cannot allocate blocks of no bytes, and programs have no loops of no elements.
    Plan on_cpu(bool explaining) const {
        Plan plan = Planner(op_, in_, attrs_, "cpu").plan(explaining);
        // the device's candidate, with the reason for its rejection
        if (!plan_.candidates.empty())
            plan.candidates.insert(plan.candidates.begin(), plan_.candidates.front());
        return plan;
    }
    bool has_empty_tensor() const {
        const auto is_empty = [](const Shape &s) { return s.elements() == 0; };
        return std::ranges::any_of(in_, is_empty, &OperandMeta::shape) ||
               std::ranges::any_of(c_.output_shapes, is_empty);
    }

    bool reduces_over_group() const {
        return std::ranges::any_of(sig_.outputs,
                                   [](const TensorSpec &t) { return t.group.empty(); });
    }
    // Requests copies in which the group is one dimension. A reduction over the group needs that:
    // with loops around the kernel, each call would overwrite the result of the one before.
    void bring_group_together() {
        c_.needs_copies = true;
        for (size_t k = 0; k < in_.size(); k++)
            if (!sig_.inputs[k].group.empty()) copies_[k] = copy_of(k, true);
        for (size_t k = 0; k < sig_.outputs.size(); k++)
            if (!sig_.outputs[k].group.empty()) out_copies_[k] = out_orders_[k];
    }

    // Returns the copy of input k that is dense in the kernel's order of dimensions. `expanded`
    // gives it the full extents of the call, so that it is broadcast along none of them.
    Copy copy_of(size_t k, bool expanded) const {
        Copy copy{orders_[k], in_[k].shape, expanded};
        if (!copies_[k].order.empty()) copy = {copies_[k].order, copies_[k].shape, expanded};
        for (int d = int(copy.order.size()); d < copy.shape.rank(); d++)
            copy.order.push_back(d);
        if (!expanded || r_.form == Form::reduction) return copy;
        // The leading dimensions in the kernel's order are the group's, if the input has it. For an
        // elementwise op they are all dimensions.
        const bool elementwise = r_.form == Form::elementwise;
        const bool grouped = !sig_.inputs[k].group.empty();
        const Shape whole = elementwise ? c_.output_shapes[0] : grouped ? group_ : Shape{};
        const int own = elementwise ? 0 : int(sig_.inputs[k].extents.size());
        const int missing = whole.rank() + own - copy.shape.rank();
        std::vector<int> order;
        Shape shape;
        for (int d = 0; d < missing; d++) {
            order.push_back(d);
            shape.push_back(1);
        }
        for (int d : copy.order)
            order.push_back(d + missing);
        for (int64_t e : copy.shape)
            shape.push_back(e);
        for (int d = 0; d < whole.rank(); d++)
            shape[order[d]] = whole[d];
        return {order, shape, true};
    }

    static int64_t innermost_stride(const Layout &l) {
        return l.shape.empty() || l.shape.back() <= 1 ? 1 : l.strides.back();
    }

    // Returns true if kernels are compiled for these strides: all have an innermost stride of 1,
    // unless the op has any_strides.
    bool kernels_take(const Layout &l) const {
        const int64_t stride = innermost_stride(l);
        // Ascend's programs are made for each call and may broadcast.
        return stride == 1 || r_.any_strides || (stride == 0 && backend_ == "ascend");
    }
    // Returns true if the backend takes the tensor's memory without a copy.
    bool backend_takes(const Layout &l) const {
        return backend_ != "ascend" || innermost_stride(l) <= 1;
    }

    // Requests a copy of every tensor whose strides the kernels or the backend don't take. Returns
    // true if a tensor doesn't fit yet.
    bool mark_copies() {
        bool marked = false;
        for (size_t k = 0; k < in_.size(); k++) {
            const Layout &l = c_.inputs[k];
            const bool copied = !copies_[k].order.empty();
            if (!kernels_take(l)) {
                marked = true;
                if (!copies_[k].expanded)
                    copies_[k] = copy_of(k, copied || innermost_stride(l) == 0);
            } else if (!copied && !backend_takes(l)) {
                marked = true;
                copies_[k] = copy_of(k, false);
            }
        }
        for (size_t k = 0; k < sig_.outputs.size(); k++) {
            const Layout &l = c_.outputs[k];
            if (kernels_take(l) && (backend_takes(l) || !out_copies_[k].empty())) continue;
            marked = true;
            out_copies_[k] = out_orders_[k];
            for (int d = int(out_copies_[k].size()); d < c_.output_shapes[k].rank(); d++)
                out_copies_[k].push_back(d);
        }
        return marked;
    }

    // Returns the stride that the next dimension of a dense tensor has.
    static int32_t dense_step(const halide_dimension_t &d) {
        const int64_t step = int64_t(d.stride) * std::max(d.extent, 1);
        return step > INT32_MAX ? d.stride : int32_t(step);
    }

    Plan::Buffer buffer(const Layout &l, DType t, const std::vector<int> &copy,
                        const Shape &copy_shape) const {
        Plan::Buffer b;
        b.type = runtime_type(t);
        b.rank = l.shape.rank();
        b.bytes_per_element = int64_t(bytes_of(t));
        for (int d = 0; d < b.rank; d++) {
            const int from = b.rank - 1 - d;
            if (l.shape[from] > INT32_MAX || l.strides[from] > INT32_MAX)
                bad_shape("an extent or stride of " + l.shape.text() + " is past 2^31-1");
            b.dims[d] = halide_dimension_t(0, int32_t(l.shape[from]), int32_t(l.strides[from]));
        }
        // Kernels that are compiled for dense tensors reject another stride, even of a dimension
        // along which no step is taken.
        for (int d = 0; d < b.rank; d++) {
            if (b.dims[d].extent > 1) continue;
            b.dims[d].stride = d == 0 ? 1 : dense_step(b.dims[d - 1]);
        }
        for (int64_t s : l.outer)
            b.outer.push_back(s * b.bytes_per_element);
        b.copy_order = copy;
        if (!copy.empty()) b.copy_shape = copy_shape;
        return b;
    }

    bool let_holds(const std::string &name) const {
        const auto let = dims_.find(name);
        return let != dims_.end() && let->second != 0;
    }

    // Returns true if let swap_h_w is not 0: kernels may take columns for rows.
    bool wants_swap() const { return backend_ == "cpu" && !swapped_ && let_holds("swap_h_w"); }
    // Lists of two integers are for (h, w), those of four for (top, bottom, left, right).
    void swap_rows_and_columns() {
        check_conditions(r_, dims_, true);  // its messages have the caller's names
        swapped_ = true;
        for (size_t k = 0; k < r_.attrs.size(); k++) {
            const AttrSpec &a = r_.attrs[k];
            if (a.kind != AttrKind::ints || a.parts.size() % 2 != 0) continue;
            Ints list = attrs_.ints(k);
            std::ranges::rotate(list, list.begin() + std::ssize(list) / 2);
            kernel_attrs_.set(k, list);
        }
        make_canonical();
    }

    // Makes a loop around the kernel from attribute `a` where let loop_<a> is not 0: every
    // dimension d with a let <d>_per_<a> is cut into that many parts, and the kernel gets one part
    // of each and the attribute's value 1.
    void split_dimensions() {
        if (backend_ != "cpu") return;
        for (const AttrSpec &a : r_.attrs) {
            if (let_holds("loop_" + a.name)) split_by(a.name);
        }
    }
    void split_by(const std::string &attr) {
        const auto part_of = [&](const std::string &dim) {
            const auto let = dims_.find(dim + "_per_" + attr);
            return let == dims_.end() ? int64_t(0) : let->second;
        };
        c_.loops.push_back(dims_[attr]);
        plan_.parallel_loops = true;
        dims_[attr] = 1;
        for (size_t k = 0; k < in_.size() + sig_.outputs.size(); k++) {
            const std::vector<std::string> &names = spec_of(k).extents;
            Layout &l = k < in_.size() ? c_.inputs[k] : c_.outputs[k - in_.size()];
            const int first = l.shape.rank() - int(names.size());
            int64_t step = 0;
            for (size_t d = 0; d < names.size(); d++) {
                const int64_t part = part_of(names[d]);
                if (!part) continue;
                l.shape[first + int(d)] = dims_[names[d]] = part;
                step = part * l.strides[first + int(d)];
            }
            l.outer.push_back(step);
        }
    }

    // Joins contiguous rows into one where let join_h_w is not 0: every tensor [..,h,w] becomes
    // [..,1,h*w], and the dimensions h and w likewise. Either all such pairs of an op are joined or
    // none is.
    void join_rows() {
        struct Rows {
            Layout &layout;
            std::string h, w;
        };
        std::vector<Rows> all;
        for (size_t k = 0; k < in_.size() + sig_.outputs.size(); k++) {
            const bool out = k >= in_.size();
            const std::vector<std::string> &names =
                (out ? sig_.outputs[k - in_.size()] : sig_.inputs[k]).extents;
            if (names.size() < 2) continue;
            const std::string &h = names[names.size() - 2];
            const std::string &w = names.back();
            const auto let = dims_.find("join_" + h + "_" + w);
            if (let == dims_.end()) continue;
            Layout &l = out ? c_.outputs[k - in_.size()] : c_.inputs[k];
            const int last = l.shape.rank() - 1;
            const bool has_gaps = l.shape[last - 1] > 1 &&
                                  l.strides[last - 1] != l.shape[last] * l.strides[last];
            if (!let->second || has_gaps || l.shape[last - 1] * l.shape[last] > INT32_MAX) return;
            all.push_back({l, h, w});
        }
        for (Rows &r : all) {
            const int last = r.layout.shape.rank() - 1;
            r.layout.shape[last] *= r.layout.shape[last - 1];
            r.layout.strides[last - 1] = r.layout.shape[last] * r.layout.strides[last];
            dims_[r.h] = r.layout.shape[last - 1] = 1;
            dims_[r.w] = r.layout.shape[last];
        }
    }

    void fill() {
        if (in_.size() + sig_.outputs.size() > Plan::max_arguments ||
            r_.scalars.size() > Plan::max_arguments) {
            throw DispatchError(r_.name, "has more than " + std::to_string(Plan::max_arguments) +
                                             " tensors or scalars");
        }
        for (size_t k = 0; k < in_.size(); k++) {
            plan_.inputs.push_back(
                buffer(c_.inputs[k], in_[k].dtype, copies_[k].order, copies_[k].shape));
        }
        for (size_t k = 0; k < sig_.outputs.size(); k++) {
            Plan::Output o;
            static_cast<Plan::Buffer &>(o) = buffer(c_.outputs[k], out_dtypes_[k], out_copies_[k],
                                                    c_.output_shapes[k]);
            o.shape = c_.output_shapes[k];
            o.dtype = out_dtypes_[k];
            plan_.outputs.push_back(o);
            const TensorSpec &t = sig_.outputs[k];
            dims_[t.name + "_s0"] = plan_.outputs[k].rank ? plan_.outputs[k].dims[0].stride : 1;
        }
        for (size_t k = 0; k < in_.size(); k++) {
            for (int d = 0; d < plan_.inputs[k].rank; d++) {
                dims_[sig_.inputs[k].name + "_s" + std::to_string(d)] =
                    plan_.inputs[k].dims[d].stride;
            }
        }
        plan_.loops = c_.loops;
        for (auto &s : r_.scalars) {
            Plan::Scalar v;
            if (s.real)
                v.attr = attrs_.find(s.value);
            else {
                const int64_t i = value_of(r_.name, s.value, dims_);
                if (i > INT32_MAX || i < INT32_MIN) {
                    throw AttrError(r_.name,
                                    s.name + " is " + std::to_string(i) + ", past 32 bits");
                }
                v.i = int32_t(i);
                const int a = is_name(s.value) ? attrs_.find(s.value) : -1;
                if (a >= 0 && op_.only_argument[a]) v.integer_attr = a;
            }
            plan_.scalars.push_back(v);
        }
        plan_.dims = dims_;
    }

    template<class From> std::vector<OperandMeta> with_floats_as(DType to, const From &from) const {
        std::vector<OperandMeta> in(in_.begin(), in_.end());
        for (OperandMeta &m : in) {
            if (!from(m.dtype)) continue;
            m.dtype = to;
            m.strides = dense_strides(m.shape);
        }
        return in;
    }
    void convert_to(const std::vector<OperandMeta> &in, Plan plan) {
        for (const OperandMeta &m : in)
            plan_.converted_inputs.push_back(m.dtype);
        plan_.converted = std::make_shared<const Plan>(std::move(plan));
        plan_.candidates = plan_.converted->candidates;
    }
    // Computes a call in 16-bit floats in f32.
    void upcast(bool explaining) {
        const std::vector<OperandMeta> in = with_floats_as(DType::f32, is_half);
        convert_to(in, make_plan(op_, in, attrs_, explaining));
    }

    // Returns true for a call in f32 that has no Ascend program and may be computed in f16.
    bool may_downcast() const {
        if (backend_ != "ascend" || Force::current() || !narrows_on_ascend()) return false;
        const bool has_f32 = std::ranges::any_of(
            in_, [](const OperandMeta &m) { return m.dtype == DType::f32; });
        return has_f32 && !simulated_device().rejection(plan_, dtypes_).empty();
    }
    // Returns false if there is no program in f16 either.
    bool downcast() {
        const std::vector<OperandMeta> in = with_floats_as(DType::f16,
                                                           [](DType t) { return t == DType::f32; });
        try {
            // `explaining` keeps messages about f16 out of the log.
            Plan plan = make_plan(op_, in, attrs_, true);
            if (!plan.simulated) return false;
            convert_to(in, std::move(plan));
            return true;
        } catch (const DTypeError &) {  // an input of the op is always f32
            return false;
        }
    }
};

}  // namespace

std::vector<OperandMeta> metas_of(std::span<const Tensor> in) {
    std::vector<OperandMeta> metas;
    metas.reserve(in.size());
    for (const Tensor &t : in)
        metas.push_back(meta_of(t));
    return metas;
}

Plan make_plan(const RegisteredOp &op, std::span<const OperandMeta> in, const Attrs &attrs,
               bool explaining) try {
    return Planner(op, in, attrs).plan(explaining);
} catch (const ShapeError &e) {  // Shape itself throws on a rank past the limit
    throw ShapeError(op.record.name, e.detail());
}

}  // namespace halyard
