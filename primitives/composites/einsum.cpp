#include "primitives/composites/einsum.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>

#include "primitives/composites/composite.h"
#include "primitives/ops/matmul.h"
#include "primitives/ops/reduce.h"

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
    return axes.empty() ? t : F::reduce_sum(t, axes);
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

Labels together(std::initializer_list<const Labels *> parts) {
    Labels all;
    for (const Labels *part : parts)
        all.insert(all.end(), part->begin(), part->end());
    return all;
}

void append(Shape &shape, const Shape &more) {
    for (int64_t e : more)
        shape.push_back(e);
}

// Throws ShapeError where both terms have a label with extents that don't broadcast.
void check_extents(const std::string &op, const Term &a, const Term &b) {
    for (int label : a.axes) {
        const int64_t m = extent(a.t, a.axes, label);
        const int64_t n = extent(b.t, b.axes, label);
        if (has(b.axes, label) && m != n && m != 1 && n != 1) {
            throw ShapeError(op, "dimension " + std::to_string(place(b.axes, label)) + " of" +
                                     b.t.shape().text() + " is " + std::to_string(n) +
                                     ", expected " + std::to_string(m) + " as dimension " +
                                     std::to_string(place(a.axes, label)) + " of " +
                                     a.t.shape().text());
        }
    }
}

// The contraction of two terms to axes `out`. Labels are in groups: those of both terms that the
// result has (batch) or lacks (inner), and those of one term (rows of a, columns of b).
class Contraction {
public:
    Contraction(const Term &first, const Term &second, const Labels &out)
        : a_(without(first, together({&out, &second.axes}))),
          b_(without(second, together({&out, &first.axes}))) {
        for (int label : a_.axes)
            (has(b_.axes, label) ? has(out, label) ? batch_ : inner_ : rows_).push_back(label);
        for (int label : b_.axes)
            if (!has(a_.axes, label)) columns_.push_back(label);
    }
    Term result() const {
        const bool has_kernels = is_float(a_.t.dtype()) || a_.t.dtype() == DType::i32;
        const bool matrices = has_kernels && !inner_.empty() &&
                              (sizes(rows_).elements() > 1 || sizes(columns_).elements() > 1);
        return {matrices ? by_matmul() : by_products(), together({&batch_, &rows_, &columns_})};
    }

private:
    Shape sizes(const Labels &labels) const {
        Shape s;
        for (int label : labels) {
            const int64_t m = extent(a_.t, a_.axes, label);
            s.push_back(m == 1 ? extent(b_.t, b_.axes, label) : m);
        }
        return s;
    }
    // Returns t as matrices [batch..., left, right].
    Tensor matrices_of(const Term &t, const Labels &left, const Labels &right) const {
        Shape s;
        for (int label : batch_)
            s.push_back(extent(t.t, t.axes, label));
        Shape whole = s;
        for (const Labels *part : {&left, &right}) {
            const Shape p = sizes(*part);
            s.push_back(p.elements());
            append(whole, p);
        }
        const Tensor in_order = arranged(t.t, t.axes, together({&batch_, &left, &right}));
        return reshaped(in_order.shape() == whole ? in_order : broadcast_view(in_order, whole), s);
    }
    Tensor by_matmul() const {
        const Tensor y = F::matmul(matrices_of(a_, rows_, inner_),
                                   matrices_of(b_, inner_, columns_));
        Shape s = sizes(batch_);
        append(s, sizes(rows_));
        append(s, sizes(columns_));
        return reshaped(y, s);
    }
    Tensor by_products() const {
        const Labels order = together({&batch_, &rows_, &columns_, &inner_});
        Ints axes;
        for (size_t d = order.size() - inner_.size(); d < order.size(); d++)
            axes.push_back(int64_t(d));
        const Tensor a = arranged(a_.t, a_.axes, order);
        return summed(a * arranged(b_.t, b_.axes, order), axes);
    }

    Term a_, b_;
    Labels batch_, rows_, columns_, inner_;
};

}  // namespace

Tensor contracted(const std::string &op, const Tensor &first, const Labels &first_axes,
                  const Tensor &second, const Labels &second_axes, const Labels &out) {
    const Term a{first, first_axes};
    const Term b{second, second_axes};
    check_extents(op, a, b);
    const Term y = Contraction(a, b, out).result();
    return arranged(y.t, y.axes, out);
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

std::string name_of_label(int label) {
    return label < first_unnamed ? std::string(1, char(label)) : "...";
}

// Returns the operands' letters: the text between commas.
std::vector<std::string> split_operands(const std::string &text) {
    std::vector<std::string> parts(1);
    for (char c : text) {
        if (c == ',')
            parts.emplace_back();
        else
            parts.back() += c;
    }
    return parts;
}

// Throws AttrError unless each label of the result is that of an operand, and there only once.
void check_result(const std::string &equation, const Labels &out, const std::map<int, int> &times) {
    for (size_t k = 0; k < out.size(); k++) {
        const std::string name = name_of_label(out[k]);
        if (!times.count(out[k])) refuse(equation, "has " + name + " in its result only");
        if (place(out, out[k]) != int(k)) refuse(equation, "has " + name + " twice in its result");
    }
}

Equation parsed(const std::string &equation, const std::vector<Tensor> &operands) {
    std::string text;
    for (char c : equation)
        if (c != ' ') text += c;
    const size_t arrow = text.find("->");
    const std::vector<std::string> parts = split_operands(text.substr(0, arrow));
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
        check_result(equation, e.out, times);
        return e;
    }
    for (int d = unnamed; d-- > 0;)
        e.out.push_back(first_unnamed + d);
    for (auto [label, n] : times)
        if (label < first_unnamed && n == 1) e.out.push_back(label);
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

using Extents = std::map<int, int64_t>;  // by label

// Throws ShapeError where extents of one label don't broadcast.
Extents extents_of(const std::string &equation, const std::vector<Term> &terms) {
    Extents extents;
    for (const Term &t : terms) {
        for (size_t d = 0; d < t.axes.size(); d++) {
            int64_t &n = extents.emplace(t.axes[d], 1).first->second;
            const int64_t got = t.t.shape()[int(d)];
            if (n != 1 && got != 1 && got != n) {
                throw ShapeError("einsum", "'" + equation + "': " + name_of_label(t.axes[d]) +
                                               " is " + std::to_string(got) + ", expected " +
                                               std::to_string(n));
            }
            if (got != 1) n = got;
        }
    }
    return extents;
}

// Returns the two terms whose contraction has the fewest elements.
std::pair<size_t, size_t> smallest_pair(const std::vector<Term> &terms, const Labels &out,
                                        const Extents &extents) {
    std::pair<size_t, size_t> best{0, 1};
    double least = INFINITY;
    for (size_t i = 0; i < terms.size(); i++) {
        for (size_t j = i + 1; j < terms.size(); j++) {
            double size = 1;
            for (int label : kept_of(terms[i], terms[j], terms, out))
                size *= double(extents.at(label));
            if (size < least) {
                least = size;
                best = {i, j};
            }
        }
    }
    return best;
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
    const Extents extents = extents_of(equation, terms);
    while (terms.size() > 1) {
        const auto [i, j] = smallest_pair(terms, e.out, extents);
        const Term &a = terms[i];
        const Term &b = terms[j];
        const Labels kept = terms.size() == 2 ? e.out : kept_of(a, b, terms, e.out);
        Term both{contracted("einsum", a.t, a.axes, b.t, b.axes, kept), kept};
        terms.erase(terms.begin() + long(j));
        terms[i] = std::move(both);
    }
    const Term last = without(terms[0], e.out);
    return arranged(last.t, last.axes, e.out);
}

}  // namespace halyard
