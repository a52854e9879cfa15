// Shapes of results where the compiler of PyTorch traces with extents that are symbols: the op's
// shape rule over c10::SymInt. The planner has the same rule over numbers, with all its checks; a
// traced call comes to it when it runs.
#pragma once
#include <ATen/ExpandUtils.h>
#include <c10/core/SymInt.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "registry/dispatch/registry.h"
#include "registry/op/attrs.h"
#include "registry/op/expr.h"
#include "registry/op/names.h"

namespace halyard {

// Extents are not negative, so that rounding to floor, as SymInt's / and % do, is truncation.
template<> struct ExprOps<c10::SymInt> {
    using T = c10::SymInt;
    static T constant(int64_t v) { return v; }
    static T add(const T &a, const T &b) { return a + b; }
    static T sub(const T &a, const T &b) { return a - b; }
    static T mul(const T &a, const T &b) { return a * b; }
    static T div(const T &a, const T &b) { return a / b; }
    static T mod(const T &a, const T &b) { return a % b; }
    static T neg(const T &a) { return T(0) - a; }
    static T cdiv(const T &a, const T &b) { return (a + b - 1) / b; }
    static T max_of(const T &a, const T &b) { return a.max(b); }
    static T min_of(const T &a, const T &b) { return a.min(b); }
    // A comparison is decided for the traced extents, and guards the trace.
    static T equal(const T &a, const T &b) { return int64_t(a == b); }
    static T unequal(const T &a, const T &b) { return int64_t(a != b); }
    static T less(const T &a, const T &b) { return int64_t(a < b); }
    static T less_equal(const T &a, const T &b) { return int64_t(a <= b); }
    template<class F> static T both(const T &a, F b) { return int64_t(a != 0 && b() != 0); }
    template<class F> static T either(const T &a, F b) { return int64_t(a != 0 || b() != 0); }
    template<class F, class G> static T choose(const T &condition, F a, G b) {
        return condition != 0 ? a() : b();
    }
};

class SymbolicShapes {
public:
    using Sizes = std::vector<c10::SymInt>;

    SymbolicShapes(const RegisteredOp &op, const Attrs &attrs, std::vector<Sizes> in)
        : op_(op), attrs_(attrs), in_(std::move(in)) {
        Dims numbers;
        bind_attributes(attrs, numbers);
        for (const auto &[name, value] : numbers)
            values_.emplace(name, value);
        for (size_t k = 0; k < in_.size(); k++)
            if (op.record.form != Form::reduction) bind(op.signature.inputs[k], in_[k]);
    }

    Sizes output(size_t k) const {
        const TensorSpec &t = op_.signature.outputs[k];
        if (op_.record.form == Form::reduction) return reduced(t);
        if (t.any_rank) return any_rank_;
        Sizes ordered = t.group.empty() ? Sizes() : group_;
        for (const std::string &extent : t.extents)
            ordered.push_back(value(extent));
        const std::vector<size_t> order = kernel_order(t, ordered.size());
        Sizes sizes(ordered.size());
        for (size_t d = 0; d < order.size(); d++)
            sizes[order[d]] = ordered[d];
        return sizes;
    }

private:
    // Returns the caller's dimensions in the order of the signature, as the planner does.
    std::vector<size_t> kernel_order(const TensorSpec &t, size_t rank) const {
        std::vector<size_t> order(rank);
        std::iota(order.begin(), order.end(), size_t(0));
        if (rank == 4 && t.extents.size() == 4 && choice("data_format") == "NHWC")
            return {0, 3, 1, 2};
        const int swap = attrs_.find("transpose_" + t.name);
        if (swap >= 0 && attrs_.integer(size_t(swap)) && rank >= 2)
            std::swap(order[rank - 1], order[rank - 2]);
        const std::string &axis = op_.record.axis;
        if (!axis.empty() && !t.extents.empty() && t.extents.back() == axis) {
            const int a = normal_axis(op_.record.name.c_str(),
                                      attrs_.integer(size_t(attrs_.find("axis"))), int(rank));
            order.erase(order.begin() + a);
            order.push_back(size_t(a));
        }
        return order;
    }
    std::string choice(const char *name) const {
        const int a = attrs_.find(name);
        if (a < 0) return "";
        return op_.record.attrs[size_t(a)].choices[size_t(attrs_.integer(size_t(a)))];
    }

    void bind(const TensorSpec &t, const Sizes &sizes) {
        if (t.any_rank) {
            any_rank_ = at::infer_size_symint(any_rank_, sizes);
            return;
        }
        TORCH_CHECK(sizes.size() == t.extents.size() ||
                        (!t.group.empty() && sizes.size() > t.extents.size()),
                    "[", op_.record.name, "] ", t.name, " has rank ", sizes.size(), ", expected ",
                    op_.signature.text);
        const std::vector<size_t> order = kernel_order(t, sizes.size());
        Sizes ordered;
        for (const size_t d : order)
            ordered.push_back(sizes[d]);
        const size_t lead = sizes.size() - t.extents.size();
        if (!t.group.empty()) {
            const Sizes leading(ordered.begin(), ordered.begin() + std::ptrdiff_t(lead));
            group_ = at::infer_size_symint(group_, leading);
        }
        for (size_t d = 0; d < t.extents.size(); d++) {
            if (!is_name(t.extents[d])) continue;
            const auto [bound, is_new] = values_.emplace(t.extents[d], ordered[lead + d]);
            if (is_new) continue;
            TORCH_CHECK(bound->second == ordered[lead + d], "[", op_.record.name, "] ", t.name, ".",
                        t.extents[d], " is ", ordered[lead + d], ", expected ", bound->second);
        }
    }

    c10::SymInt value(const std::string &expression) const {
        return ParsedExpr(expression, op_.record.name)
            .evaluate<c10::SymInt>([&](const std::string &name) { return named(name); });
    }
    c10::SymInt named(const std::string &name) const {
        if (const auto it = values_.find(name); it != values_.end()) return it->second;
        const OpRecord &r = op_.record;
        const auto let = std::ranges::find(r.lets, name, &LetSpec::name);
        if (let != r.lets.end()) return value(let->value);
        const auto scalar = std::ranges::find(r.scalars, name, &ScalarSpec::name);
        TORCH_CHECK(scalar != r.scalars.end() && !scalar->real && scalar->value != name, "[",
                    r.name, "] has no value of ", name, " for extents that are symbols");
        return value(scalar->value);
    }

    // x[o,r,i,s] -> y[o,i]: the dimensions in `axis`, or all, are left out or become 1.
    Sizes reduced(const TensorSpec &t) const {
        const Sizes &whole = in_[0];
        if (t.extents.size() == 4) return whole;
        const int rank = int(whole.size());
        std::vector<bool> gone(whole.size());
        const Ints &axes = attrs_.ints(size_t(attrs_.find("axis")));
        if (axes.empty()) gone.assign(whole.size(), true);
        for (const int64_t axis : axes)
            gone[size_t(normal_axis(op_.record.name.c_str(), axis, rank))] = true;
        const int keep = attrs_.find("keep_dims");
        Sizes sizes;
        for (size_t d = 0; d < whole.size(); d++) {
            if (!gone[d])
                sizes.push_back(whole[d]);
            else if (keep >= 0 && attrs_.integer(size_t(keep)))
                sizes.emplace_back(1);
        }
        return sizes;
    }

    const RegisteredOp &op_;
    const Attrs &attrs_;
    const std::vector<Sizes> in_;
    std::map<std::string, c10::SymInt> values_;  // attributes and dimensions
    Sizes any_rank_, group_;                     // the broadcast of all [*], and of all leading ..n
};

}  // namespace halyard
