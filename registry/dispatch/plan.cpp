#include "registry/dispatch/plan.h"

#include <algorithm>

#include "registry/dispatch/choice.h"
#include "registry/dispatch/device.h"
#include "registry/dispatch/dispatch.h"
#include "registry/dispatch/simulated.h"
#include "registry/op/expr.h"

namespace halyard {

OperandMeta meta_of(const Tensor &t) {
    return {t.dtype(), t.shape(), t.strides()};
}

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
        q[size_t(p[i])] = int(i);
    return q;
}
Shape permuted(const Shape &s, const std::vector<int> &order) {
    Shape t;
    for (int d : order)
        t.push_back(s[d]);
    return t;
}
std::vector<std::string> names_in(const std::string &expression) {
    return ParsedExpr(expression).names();
}

// A tensor without elements lies as its kernel would have it: any two of its dimensions are one.
Shape strides_of_nothing(const Shape &shape) {
    Shape strides = shape;
    int64_t step = 1;
    for (int d = shape.rank(); d-- > 0; step *= shape[d])
        strides[d] = step;
    return strides;
}

class Planner {
public:
    // Tensors will lie as kernels of `backend` take them; "": of the one that is wanted.
    Planner(const RegisteredOp &op, std::span<const OperandMeta> in, const Attrs &attrs,
            const std::string &backend = "")
        : op_(op), r_(op.record), sig_(op.signature), attrs_(attrs), in_(in.begin(), in.end()),
          backend_(backend) {
        plan_.op = &op;
        for (OperandMeta &m : in_)
            if (m.shape.elements() == 0) m.strides = strides_of_nothing(m.shape);
    }

    Plan plan(bool explaining) {
        bind_dtypes();
        if (backend_.empty()) backend_ = wanted_backend(op_, dtypes_);
        copies_.resize(in_.size());
        out_copies_.resize(sig_.outputs.size());
        bool settled = false;
        for (int pass = 0; pass < most_passes && !settled; pass++) {
            dims_.clear();
            orders_.assign(in_.size(), {});
            out_orders_.assign(sig_.outputs.size(), {});
            bind_attributes(attrs_, dims_);
            // of attributes alone: shapes are computed from what they allow
            check_conditions(r_, dims_, false);
            c_ = {};
            if (r_.form == Form::elementwise)
                elementwise();
            else if (r_.form == Form::reduction)
                reduction();
            else
                plain();
            settled = !c_.needs_copies && strides_fit();
        }
        if (!settled)
            throw DispatchError(r_.name, "no kernel takes these strides, and no copy helps");
        check_conditions(r_, dims_, true);
        if (backend_ != "cpu" && has_empty_tensor()) return on_cpu(explaining);
        const bool fits_cpu = std::ranges::all_of(
            c_.inputs, [&](const Layout &l) { return innermost_stride(l) == 1 || r_.any_strides; });
        join_rows();
        fill();
        if (may_narrow() && narrow()) return std::move(plan_);
        choose_kernel(op_, dtypes_, backend_, explaining, plan_);
        if (backend_ == "ascend" && !plan_.simulated && !fits_cpu) return on_cpu(explaining);
        if (!plan_.kernel && computes_in_f32(op_, dtypes_)) widen(explaining);
        return std::move(plan_);
    }

private:
    using Dims = std::map<std::string, int64_t>;
    const RegisteredOp &op_;
    const OpRecord &r_;
    const Signature &sig_;
    const Attrs &attrs_;
    // What an input's copy is: expanded to `shape`, dense with its dimensions in `order`.
    struct Copy {
        std::vector<int> order;  // empty: the input isn't copied
        Shape shape;
        bool expanded = false;  // over all that it broadcasts against
    };
    // An input may be copied, then expanded, and then for a sum over its group; the last pass
    // settles.
    static constexpr int most_passes = 4;

    std::vector<OperandMeta> in_;
    std::string backend_;
    std::vector<DType> out_dtypes_;
    Dims dims_;
    Canonical c_;
    Shape group_;  // extents of the leading ..n over all inputs, before they are merged
    std::vector<Copy> copies_;
    std::vector<std::vector<int>> out_copies_;  // copy orders, as in Plan::Buffer
    std::vector<int> reduction_order_;          // empty: the caller's
    // the caller's dimensions in the kernel's order
    std::vector<std::vector<int>> orders_, out_orders_;
    Plan plan_;

    [[noreturn]] void bad_shape(const std::string &what) const { throw ShapeError(r_.name, what); }

    void bind_dtypes() {
        if (in_.size() != sig_.inputs.size()) {
            bad_shape("got " + std::to_string(in_.size()) + " inputs, expected " +
                      std::to_string(sig_.inputs.size()) + " (" + r_.signature + ")");
        }
        std::map<std::string, DType> bound;
        std::string key;
        for (size_t k = 0; k < in_.size(); k++) {
            const TensorSpec &t = sig_.inputs[k];
            const DType got = in_[k].dtype;
            if (!is_type_variable(t.dtype)) {
                if (got != dtype_of(t.dtype)) {
                    throw DTypeError(r_.name,
                                     t.name + " is " + name_of(got) + ", expected " + t.dtype);
                }
                continue;
            }
            const auto [it, fresh] = bound.emplace(t.dtype, got);
            if (fresh)
                key += (key.empty() ? "" : ",") + std::string(name_of(got));
            else if (it->second != got) {
                throw DTypeError(r_.name, t.name + " is " + name_of(got) + ", expected " +
                                              name_of(it->second) + " like " + first_with(t.dtype));
            }
        }
        for (const TensorSpec &t : sig_.outputs) {
            if (is_type_variable(t.dtype) &&
                !bound.count(t.dtype)) {  // a dtype only the attribute says
                const int a = attrs_.find("dtype");
                if (a < 0) throw DTypeError(r_.name, "nothing binds the dtype of " + t.name);
                bound[t.dtype] = (DType)attrs_.integer(size_t(a));
                key += (key.empty() ? "" : ",") + std::string(name_of(bound[t.dtype]));
            }
            out_dtypes_.push_back(is_type_variable(t.dtype) ? bound[t.dtype] : dtype_of(t.dtype));
        }
        std::string all;
        for (auto &d : r_.dtypes) {
            if (d == key) {
                dtypes_ = key;
                return;
            }
            all += (all.empty() ? "" : " ") + d;
        }
        if (key.empty()) {
            dtypes_ = r_.dtypes.empty() ? "" : r_.dtypes[0];
            return;
        }
        throw DTypeError(r_.name, "no kernels for " + key + ", there are " + all);
    }
    std::string first_with(const std::string &variable) const {
        for (const TensorSpec &t : sig_.inputs)
            if (t.dtype == variable) return t.name;
        return variable;
    }
    std::string dtypes_;

    void bind_extents(const TensorSpec &t, const Shape &extents, const Shape &whole) {
        for (size_t d = 0; d < t.extents.size(); d++) {
            const std::string &e = t.extents[d];
            const int64_t got = extents[int(d)];
            if (is_name(e) && !dims_.count(e)) dims_[e] = got;
            const int64_t expected = value_of(r_, e, dims_);
            if (expected != got) {
                std::string from;
                const std::vector<std::string> used = names_in(e);
                for (size_t k = 0; k < in_.size() && from.empty(); k++) {
                    for (auto &name : used) {
                        for (auto &other : sig_.inputs[k].extents) {
                            if (other == name && sig_.inputs[k].name != t.name)
                                from = " from " + sig_.inputs[k].name + in_[k].shape.text();
                        }
                    }
                }
                bad_shape(t.name + "." + e + " is " + std::to_string(got) + ", expected " +
                          std::to_string(expected) + from + " (" + t.name + " has shape " +
                          whole.text() + ")");
            }
        }
    }

    std::vector<Operand> operands() const {  // with copied inputs as their copies will lie
        std::vector<Operand> all;
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
        bind_derived(r_, dims_);
        c_ = canonical_elementwise(r_, sig_, operands(), 3);
        for (int d = 0; d < 3; d++)
            dims_["d" + std::to_string(d)] = c_.outputs[0].shape[d];
    }

    // An op that is nothing of no elements says so by its condition r>0; its caller knows no r.
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
        return a >= 0 && r_.attrs[size_t(a)].choices[size_t(attrs_.integer(size_t(a)))] == "NHWC";
    }
    // The caller's dimensions in the kernel's order: NHWC becomes NCHW, the dimension that `axis`
    // names goes last, and attribute transpose_a swaps the last two dimensions of input a.
    std::vector<int> kernel_order(const TensorSpec &t, int rank) const {
        std::vector<int> order(static_cast<size_t>(rank));
        for (int d = 0; d < rank; d++)
            order[size_t(d)] = d;
        if (channels_last() && rank == 4 && t.extents.size() == 4) return {0, 3, 1, 2};
        const int swap = attrs_.find("transpose_" + t.name);
        if (swap >= 0 && attrs_.integer(size_t(swap)) && rank >= 2)
            std::swap(order[size_t(rank) - 1], order[size_t(rank) - 2]);
        if (!r_.axis.empty() && !t.extents.empty() && t.extents.back() == r_.axis) {
            const int a = normal_axis(r_.name.c_str(), attrs_.integer(size_t(attrs_.find("axis"))),
                                      rank);
            order.erase(order.begin() + a);
            order.push_back(a);
        }
        return order;
    }

    void plain() {
        const std::vector<Operand> ops = operands();
        std::vector<Shape> shapes, strides;  // in the kernel's order
        Shape group;
        bool grouped = false;
        for (size_t k = 0; k < ops.size(); k++) {
            const TensorSpec &t = sig_.inputs[k];
            const int rank = ops[k].shape.rank();
            const int own = int(t.extents.size());
            if (rank < own || (t.group.empty() && rank != own)) {
                std::string names;
                for (auto &e : t.extents)
                    names += (names.empty() ? "" : ",") + e;
                bad_shape(t.name + " has rank " + std::to_string(rank) + ", expected " +
                          (t.group.empty() ? "" : "at least ") + std::to_string(own) + " (" +
                          names + ")");
            }
            orders_[k] = copies_[k].order.empty() ? kernel_order(t, rank) : copies_[k].order;
            shapes.push_back(permuted(ops[k].shape, orders_[k]));
            strides.push_back(permuted(ops[k].strides, orders_[k]));
            if (!t.group.empty()) {
                grouped = true;
                group = broadcast(r_.name.c_str(), group,
                                  Shape(shapes[k].begin(), shapes[k].end() - own));
                checked_elements(r_.name.c_str(), group);
            }
        }
        for (size_t k = 0; k < ops.size(); k++) {
            bind_derived(r_, dims_);
            bind_extents(
                sig_.inputs[k],
                Shape(shapes[k].end() - long(sig_.inputs[k].extents.size()), shapes[k].end()),
                in_[k].shape);
        }
        bind_derived(r_, dims_);
        for (size_t k = 0; k < sig_.outputs.size(); k++) {
            const TensorSpec &t = sig_.outputs[k];
            Shape s = t.group.empty() ? Shape{} : group;
            for (auto &e : t.extents) {
                s.push_back(value_of(r_, e, dims_));
                if (s.back() < 0) {
                    bad_shape(t.name + "." + e + " is " + std::to_string(s.back()) +
                              ", expected >= 0");
                }
            }
            out_orders_[k] = kernel_order(t, s.rank());
            c_.output_shapes.push_back(permuted(s, inverse(out_orders_[k])));
            checked_elements(r_.name.c_str(), c_.output_shapes.back());
            shapes.push_back(s);
            strides.push_back(permuted(output_strides(k, c_.output_shapes.back()), out_orders_[k]));
        }
        // The group, over all tensors that have it.
        auto spec = [&](size_t k) -> const TensorSpec & {
            return k < in_.size() ? sig_.inputs[k] : sig_.outputs[k - in_.size()];
        };
        std::vector<Shape> over_group;
        for (size_t k = 0; k < shapes.size(); k++) {
            Shape s;
            const int lead = shapes[k].rank() - int(spec(k).extents.size());
            const int missing = group.rank() - lead;
            for (int d = 0; d < group.rank(); d++) {
                s.push_back(spec(k).group.empty() || d < missing ||
                                    shapes[k][d - missing] != group[d]
                                ? 0
                                : strides[k][d - missing]);
            }
            over_group.push_back(s);
        }
        group_ = group;
        merge_dimensions(group, over_group);
        const int loops = std::max(0, group.rank() - 1);
        if (loops > 0 && reduces_over_group()) {
            bring_group_together();
            return;
        }
        c_.loops = Shape(group.begin(), group.begin() + loops);
        for (size_t k = 0; k < shapes.size(); k++) {
            Layout l;
            l.outer = Shape(over_group[k].begin(), over_group[k].begin() + loops);
            if (!spec(k).group.empty()) {
                l.shape.push_back(group.rank() ? group.back() : 1);
                l.strides.push_back(group.rank() ? over_group[k].back() : 0);
            }
            const int own = int(spec(k).extents.size());
            for (int d = shapes[k].rank() - own; d < shapes[k].rank(); d++) {
                l.shape.push_back(shapes[k][d]);
                l.strides.push_back(strides[k][d]);
            }
            (k < in_.size() ? c_.inputs : c_.outputs).push_back(l);
        }
        if (grouped) {
            for (size_t k = 0; k < shapes.size(); k++)
                if (!spec(k).group.empty()) dims_[spec(k).group] = group.rank() ? group.back() : 1;
        }
    }

    // The call planned for the CPU's kernels. Devices aren't asked for tensors without elements:
    // their memory has no such blocks, and programs of a number of elements no such loops.
    Plan on_cpu(bool explaining) const {
        Plan plan = Planner(op_, in_, attrs_, "cpu").plan(explaining);
        // what the device says
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
    // A reduction over the group needs it in one piece: in loops around the kernel each call would
    // write over the one before.
    void bring_group_together() {
        c_.needs_copies = true;
        for (size_t k = 0; k < in_.size(); k++)
            if (!sig_.inputs[k].group.empty()) copies_[k] = copy_of(k, true);
        for (size_t k = 0; k < sig_.outputs.size(); k++)
            if (!sig_.outputs[k].group.empty()) out_copies_[k] = out_orders_[k];
    }

    // The copy of input k that lies as the kernel's dimensions do. Expanded: it moves along all
    // that others of the call move along.
    Copy copy_of(size_t k, bool expanded) const {
        Copy copy{orders_[k], in_[k].shape, expanded};
        if (!copies_[k].order.empty()) copy = {copies_[k].order, copies_[k].shape, expanded};
        for (int d = int(copy.order.size()); d < copy.shape.rank(); d++)
            copy.order.push_back(d);
        if (!expanded || r_.form == Form::reduction) return copy;
        // In the kernel's order, leading dimensions are those of the group, and of an elementwise
        // op they are all.
        const Shape &whole = r_.form == Form::elementwise ? c_.output_shapes[0] : group_;
        const int own = r_.form == Form::elementwise ? 0 : int(sig_.inputs[k].extents.size());
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
            shape[order[size_t(d)]] = whole[d];
        return {order, shape, true};
    }

    static int64_t innermost_stride(const Layout &l) {
        return l.shape.empty() || l.shape.back() <= 1 ? 1 : l.strides.back();
    }

    // Are kernels built for such strides? Without any_strides dimension 0 is dense in them,
    // whatever the buffer says.
    bool kernels_take(const Layout &l) const {
        const int64_t stride = innermost_stride(l);
        // Ascend's programs are made for the call
        return stride == 1 || r_.any_strides || (stride == 0 && backend_ == "ascend");
    }
    // Devices get a tensor's memory as a whole: gaps, and elements that stand for several, would be
    // sent along.
    bool is_sent_as_it_lies(const Layout &l) const {
        if (backend_ == "cpu") return true;
        if (backend_ == "ascend") return innermost_stride(l) <= 1;
        for (int d = 0; d < l.shape.rank(); d++)
            if (l.shape[d] > 1 && l.strides[d] == 0) return false;
        return innermost_stride(l) == 1;
    }

    // Marks the tensors that kernels can't take as they lie; true when there are none left.
    bool strides_fit() {
        bool fit = true;
        for (size_t k = 0; k < in_.size(); k++) {
            const Layout &l = c_.inputs[k];
            const bool copied = !copies_[k].order.empty();
            if (!kernels_take(l)) {
                fit = false;
                if (!copies_[k].expanded)
                    copies_[k] = copy_of(k, copied || innermost_stride(l) == 0);
            } else if (!copied && !is_sent_as_it_lies(l)) {
                fit = false;
                copies_[k] = copy_of(k, false);
            }
        }
        for (size_t k = 0; k < sig_.outputs.size(); k++) {
            const Layout &l = c_.outputs[k];
            if (kernels_take(l) && (is_sent_as_it_lies(l) || !out_copies_[k].empty())) continue;
            fit = false;
            out_copies_[k] = out_orders_[k];
            for (int d = int(out_copies_[k].size()); d < c_.output_shapes[k].rank(); d++)
                out_copies_[k].push_back(d);
        }
        return fit;
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
        // Halide refuses inputs whose dimension 0 has a stride other than 1, even when its extent
        // is 1.
        if (b.rank && b.dims[0].extent <= 1) b.dims[0].stride = 1;
        for (int64_t s : l.outer)
            b.outer.push_back(s * b.bytes_per_element);
        b.copy_order = copy;
        if (!copy.empty()) b.copy_shape = copy_shape;
        return b;
    }

    // Where let join_h_w isn't 0, rows that follow one another in memory are one row: every tensor
    // [..,h,w] becomes [..,1,h*w], and so do the dims h and w. All such pairs of an op are joined,
    // or none is.
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
            const bool apart = l.shape[last - 1] > 1 &&
                               l.strides[last - 1] != l.shape[last] * l.strides[last];
            if (!let->second || apart || l.shape[last - 1] * l.shape[last] > INT32_MAX) return;
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
                const int64_t i = value_of(r_, s.value, dims_);
                if (i > INT32_MAX || i < INT32_MIN) {
                    throw AttrError(r_.name,
                                    s.name + " is " + std::to_string(i) + ", past 32 bits");
                }
                v.i = int32_t(i);
                const int a = is_name(s.value) ? attrs_.find(s.value) : -1;
                if (a >= 0 && op_.only_argument[size_t(a)]) v.integer_attr = a;
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
    void widen(bool explaining) {
        const std::vector<OperandMeta> in = with_floats_as(DType::f32, is_half);
        convert_to(in, make_plan(op_, in, attrs_, explaining));
    }

    // Is this a call of f32 for which Ascend has no program, and which may be computed in f16?
    bool may_narrow() const {
        if (backend_ != "ascend" || Force::current() || !narrows_on_ascend()) return false;
        const bool has_f32 = std::ranges::any_of(
            in_, [](const OperandMeta &m) { return m.dtype == DType::f32; });
        return has_f32 && !simulated_device().refusal(plan_, dtypes_).empty();
    }
    // False where f16 has no program either.
    bool narrow() {
        const std::vector<OperandMeta> in = with_floats_as(DType::f16,
                                                           [](DType t) { return t == DType::f32; });
        try {
            // explaining, so that the log hears nothing of f16
            Plan plan = make_plan(op_, in, attrs_, true);
            if (!plan.simulated) return false;
            convert_to(in, std::move(plan));
            return true;
        } catch (const DTypeError &) {
            return false;
        }  // where an input is f32 whatever the others are
    }
};

}  // namespace

Plan make_plan(const RegisteredOp &op, std::span<const OperandMeta> in, const Attrs &attrs,
               bool explaining) try {
    return Planner(op, in, attrs).plan(explaining);
} catch (const ShapeError &e) {  // a rank past the limit, which Shape itself refuses
    throw ShapeError(op.record.name, e.detail());
}

}  // namespace halyard
