#include "primitives/composites/einsum.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>

#include "primitives/composites/composite.h"

namespace halyard {
namespace {

// A tensor during a contraction, with a label for each axis.
struct Term {
    Tensor t;
    Labels axes;
};

int place(const Labels &axes, int label) {
    return int(std::find(axes.begin(), axes.end(), label) - axes.begin());
}
bool has(const Labels &axes, int label) {
    return place(axes, label) < int(axes.size());
}
int64_t extent(const Tensor &t, const Labels &axes, int label) {
    return has(axes, label) ? t.shape()[place(axes, label)] : 1;
}
int64_t product_of(const Shape &s) {
    return s.elements();
}

// Returns t with its axes in the order of `to`. A label that t lacks gets an axis of extent 1.
Tensor arranged(const Tensor &t, const Labels &axes, const Labels &to) {
    std::vector<int> order;
    Shape s;
    for (int label : to) {
        if (has(axes, label)) order.push_back(place(axes, label));
        s.push_back(extent(t, axes, label));
    }
    return reshaped(transposed(t, order), s);
}

Tensor summed(const Tensor &t, const Ints &axes) {
    return axes.empty() ? t : run1("reduce_sum", {t}, {{"axis", axes}, {"keep_dims", false}});
}

// Returns t summed over the axes whose labels aren't in `kept`.
Term without(Term t, const Labels &kept) {
    Ints axes;
    Labels left;
    for (size_t d = 0; d < t.axes.size(); d++) {
        if (has(kept, t.axes[d]))
            left.push_back(t.axes[d]);
        else
            axes.push_back(int64_t(d));
    }
    return {summed(t.t, axes), left};
}

}  // namespace

Tensor contracted(const std::string &op, const Tensor &first, const Labels &first_axes,
                  const Tensor &second, const Labels &second_axes, const Labels &out) {
    for (int label : first_axes) {
        const int64_t m = extent(first, first_axes, label);
        const int64_t n = extent(second, second_axes, label);
        if (has(second_axes, label) && m != n && m != 1 && n != 1) {
            throw ShapeError(op, "dimension " + std::to_string(place(second_axes, label)) + " of" +
                                     second.shape().text() + " is " + std::to_string(n) +
                                     ", expected " + std::to_string(m) + " as dimension " +
                                     std::to_string(place(first_axes, label)) + " of " +
                                     first.shape().text());
        }
    }
    const auto needed = [&](const Labels &other) {
        Labels all = out;
        all.insert(all.end(), other.begin(), other.end());
        return all;
    };
    const Term a = without({first, first_axes}, needed(second_axes));
    const Term b = without({second, second_axes}, needed(first_axes));
    Labels batch, rows, columns, inner;
    for (int label : a.axes)
        (has(b.axes, label) ? has(out, label) ? batch : inner : rows).push_back(label);
    for (int label : b.axes)
        if (!has(a.axes, label)) columns.push_back(label);

    const auto sizes = [&](const Labels &labels) {
        Shape s;
        for (int label : labels) {
            const int64_t m = extent(a.t, a.axes, label);
            s.push_back(m == 1 ? extent(b.t, b.axes, label) : m);
        }
        return s;
    };
    Labels all = batch;
    for (const Labels *part : {&rows, &columns})
        all.insert(all.end(), part->begin(), part->end());
    Tensor y;
    const bool matrices = is_float(a.t.dtype()) && !inner.empty() &&
                          (product_of(sizes(rows)) > 1 || product_of(sizes(columns)) > 1);
    if (matrices) {
        const auto joined = [&](const Term &t, const Labels &left, const Labels &right) {
            Labels order = batch;
            Shape s, whole;
            for (const Labels *part : {&left, &right})
                order.insert(order.end(), part->begin(), part->end());
            for (int label : batch)
                s.push_back(extent(t.t, t.axes, label));
            whole = s;
            for (const Labels *part : {&left, &right}) {
                const Shape p = sizes(*part);
                s.push_back(product_of(p));
                for (int64_t e : p)
                    whole.push_back(e);
            }
            const Tensor in_order = arranged(t.t, t.axes, order);
            return reshaped(in_order.shape() == whole ? in_order : broadcast_view(in_order, whole),
                            s);
        };
        y = run1("matmul", {joined(a, rows, inner), joined(b, inner, columns)});
        Shape s = sizes(batch);
        for (const Labels *part : {&rows, &columns}) {
            for (int64_t e : sizes(*part))
                s.push_back(e);
        }
        y = reshaped(y, s);
    } else {
        Labels order = all;
        order.insert(order.end(), inner.begin(), inner.end());
        Ints axes;
        for (size_t d = all.size(); d < order.size(); d++)
            axes.push_back(int64_t(d));
        y = summed(run1("mul", {arranged(a.t, a.axes, order), arranged(b.t, b.axes, order)}), axes);
    }
    return arranged(y, all, out);
}

namespace {

// The labels of the axes that "..." stands for, counted from the last.
constexpr int first_unnamed = 1000;

struct Equation {
    std::vector<Labels> operands;
    Labels out;
};

[[noreturn]] void refuse(const std::string &equation, const std::string &what) {
    throw AttrError("einsum", "'" + equation + "' " + what);
}

// Returns the labels of one side's letters for a tensor of `rank` axes. A rank of -1 stands for the
// result, whose "..." has `unnamed` axes.
Labels labels_of(const std::string &equation, const std::string &text, int rank, int &unnamed,
                 size_t operand) {
    const size_t dots = text.find("...");
    const int letters = int(text.size()) - (dots == std::string::npos ? 0 : 3);
    const std::string who = "operand " + std::to_string(operand);
    if (rank >= 0 && (dots == std::string::npos ? rank != letters : rank < letters)) {
        refuse(equation, "has " + std::to_string(letters) + " letters for " + who + " of rank " +
                             std::to_string(rank));
    }
    const int here = rank < 0 ? unnamed : rank - letters;
    Labels all;
    for (size_t k = 0; k < text.size(); k++) {
        if (k == dots) {
            for (int d = here; d-- > 0;)
                all.push_back(first_unnamed + d);
            if (rank >= 0) unnamed = std::max(unnamed, here);
            k += 2;
        } else if (std::isalpha((unsigned char)text[k])) {
            all.push_back(text[k]);
        } else {
            refuse(equation,
                   "has '" + text.substr(k, 1) + "', expected letters, '...', ',' and '->'");
        }
    }
    return all;
}

Equation parsed(const std::string &equation, const std::vector<Tensor> &operands) {
    std::string text;
    for (char c : equation)
        if (c != ' ') text += c;
    const size_t arrow = text.find("->");
    std::vector<std::string> parts(1);
    for (char c : text.substr(0, arrow)) {
        if (c == ',')
            parts.emplace_back();
        else
            parts.back() += c;
    }
    if (parts.size() != operands.size()) {
        refuse(equation, "names " + std::to_string(parts.size()) + " operands, got " +
                             std::to_string(operands.size()));
    }
    Equation e;
    int unnamed = 0;
    for (size_t k = 0; k < parts.size(); k++)
        e.operands.push_back(labels_of(equation, parts[k], operands[k].rank(), unnamed, k));
    std::map<int, int> times;
    for (const Labels &labels : e.operands) {
        for (int label : labels)
            times[label]++;
    }
    if (arrow != std::string::npos) {
        e.out = labels_of(equation, text.substr(arrow + 2), -1, unnamed, 0);
        for (size_t k = 0; k < e.out.size(); k++) {
            const std::string name = e.out[k] < first_unnamed ? std::string(1, char(e.out[k]))
                                                              : "...";
            if (!times.count(e.out[k])) refuse(equation, "has " + name + " in its result only");
            if (place(e.out, e.out[k]) != int(k))
                refuse(equation, "has " + name + " twice in its result");
        }
    } else {
        for (int d = unnamed; d-- > 0;)
            e.out.push_back(first_unnamed + d);
        for (auto [label, n] : times)
            if (label < first_unnamed && n == 1) e.out.push_back(label);
    }
    return e;
}

// Returns t with the last two of its axes that share a label replaced by their diagonal.
Term without_repeats(Term t) {
    for (size_t d = 0; d < t.axes.size(); d++) {
        const int label = t.axes[d];
        const int from = place(t.axes, label);
        if (from == int(d)) continue;
        const int64_t n = t.t.shape()[from];
        if (t.t.shape()[int(d)] != n) {
            throw ShapeError("einsum",
                             "dimension " + std::to_string(d) + " of " + t.t.shape().text() +
                                 " is " + std::to_string(t.t.shape()[int(d)]) + ", expected " +
                                 std::to_string(n) + " as dimension " + std::to_string(from));
        }
        std::vector<int> order;
        Labels axes;
        for (int k = 0; k < int(t.axes.size()); k++) {
            if (k != from && k != int(d)) {
                order.push_back(k);
                axes.push_back(t.axes[size_t(k)]);
            }
        }
        order.push_back(from);
        order.push_back(int(d));
        axes.push_back(label);
        Tensor turned = transposed(t.t, order);
        Shape s = turned.shape();
        s.erase(s.rank() - 1);
        s[s.rank() - 1] = n * n;
        Window w{s, s, s};
        for (int k = 0; k < s.rank(); k++) {
            w.begin[k] = 0;
            w.step[k] = 1;
        }
        w.step[s.rank() - 1] = n + 1;
        return without_repeats({window_of(reshaped(turned, s), w), axes});
    }
    return t;
}

// Returns the labels of two terms that their result must keep.
Labels kept_of(const Term &a, const Term &b, const std::vector<Term> &others, const Labels &out) {
    Labels kept;
    for (const Term *t : {&a, &b}) {
        for (int label : t->axes) {
            bool wanted = has(out, label);
            for (const Term &o : others)
                wanted |= &o != &a && &o != &b && has(o.axes, label);
            if (wanted && !has(kept, label)) kept.push_back(label);
        }
    }
    return kept;
}

}  // namespace

Tensor F::einsum(const std::string &equation, const std::vector<Tensor> &operands) {
    if (operands.empty()) throw AttrError("einsum", "takes at least one operand, got none");
    require_defined("einsum", operands);
    for (size_t k = 1; k < operands.size(); k++) {
        if (operands[k].dtype() != operands[0].dtype()) {
            throw DTypeError("einsum", "operand " + std::to_string(k) + " is " +
                                           name_of(operands[k].dtype()) + ", expected " +
                                           name_of(operands[0].dtype()));
        }
    }
    const Equation e = parsed(equation, operands);
    std::vector<Term> terms;
    for (size_t k = 0; k < operands.size(); k++)
        terms.push_back(without_repeats({operands[k], e.operands[k]}));
    std::map<int, int64_t> extents;
    for (const Term &t : terms) {
        for (size_t d = 0; d < t.axes.size(); d++) {
            int64_t &n = extents.emplace(t.axes[d], 1).first->second;
            const int64_t got = t.t.shape()[int(d)];
            if (n != 1 && got != 1 && got != n) {
                throw ShapeError(
                    "einsum",
                    "'" + equation + "': " +
                        (t.axes[d] < first_unnamed ? std::string(1, char(t.axes[d])) : "...") +
                        " is " + std::to_string(got) + ", expected " + std::to_string(n));
            }
            if (got != 1) n = got;
        }
    }
    while (terms.size() > 1) {
        size_t a = 0, b = 1;
        double least = INFINITY;
        for (size_t i = 0; i < terms.size(); i++) {
            for (size_t j = i + 1; j < terms.size(); j++) {
                double size = 1;
                for (int label : kept_of(terms[i], terms[j], terms, e.out))
                    size *= double(extents[label]);
                if (size < least) {
                    least = size;
                    a = i;
                    b = j;
                }
            }
        }
        const Labels kept = terms.size() == 2 ? e.out : kept_of(terms[a], terms[b], terms, e.out);
        Term both{contracted("einsum", terms[a].t, terms[a].axes, terms[b].t, terms[b].axes, kept),
                  kept};
        terms.erase(terms.begin() + long(b));
        terms[a] = std::move(both);
    }
    const Term last = without(terms[0], e.out);
    return arranged(last.t, last.axes, e.out);
}

}  // namespace halyard
