// Composite: an op that is composed of other ops. One class states all of it: the record, the
// composition and the reference.
//
//     struct DeadZone : Composite {
//         DeadZone() : Composite("dead_zone", "x[*] -> y[*]", "y = x where |x| > width, else 0") {
//             real("width", "0.5");
//             dtypes = {"f32", "f64"};
//             samples = {"d0=2 d1=3 d2=17"};
//         }
//         Result compose(const Call &call) const override {
//             const Tensor large = F::greater(F::abs(call[0]), call.real("width"));
//             return {F::select(large, call[0], 0)};
//         }
//         void reference(Problem &p) const override {
//             Array y = p("x");
//             for (double &v : y.v)
//                 v = std::fabs(v) > p.real("width") ? v : 0;
//             p.tensors["y"] = y;
//         }
//     };
//     HALYARD_COMPOSITES { composites.add<DeadZone>(); }
//
// One line of CMake lists the file, halyard_composite(composites/guide/dead_zone), and its
// functions are in the generated header primitives/ops/dead_zone.h (cmake/HalyardComposite.cmake).
// Tapes record the ops that a composition runs, so a composite needs no gradient of its own. If one
// of those ops has no gradient kernel, `composites.gradient()` composes it. docs/writing_ops.md,
// section 13.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "primitives/autograd/composed_gradient.h"
#include "primitives/autograd/views.h"
#include "primitives/composition.h"
#include "primitives/gradients/shared.h"
#include "primitives/primitive.h"
#include "registry/op/dtypes.h"
#include "registry/op/problem.h"

namespace halyard {

using Tensors = std::span<const Tensor>;
using Result = std::vector<Tensor>;

// Returns the value of an attribute by its name, which the record must have.
inline int64_t integer(const Attrs &a, const char *name) {
    return a.integer(size_t(a.find(name)));
}
inline double real(const Attrs &a, const char *name) {
    return a.real(size_t(a.find(name)));
}
inline const Ints &ints(const Attrs &a, const char *name) {
    return a.ints(size_t(a.find(name)));
}
inline bool is_set(const Attrs &a, const char *flag) {
    return integer(a, flag) != 0;
}
inline const std::string &choice(const Attrs &a, const char *name) {
    const size_t k = size_t(a.find(name));
    return a.op().attrs[k].choices[size_t(a.integer(k))];
}

// A call of a composite: its inputs in the signature's order, and its attributes.
struct Call {
    Tensors in;
    const Attrs &attrs;

    const Tensor &operator[](size_t input) const { return in[input]; }
    const std::string &op() const { return attrs.op().name; }
    int64_t integer(const char *name) const { return halyard::integer(attrs, name); }
    double real(const char *name) const { return halyard::real(attrs, name); }
    const Ints &ints(const char *name) const { return halyard::ints(attrs, name); }
    bool is_set(const char *flag) const { return halyard::is_set(attrs, flag); }
    const std::string &choice(const char *name) const { return halyard::choice(attrs, name); }
};

class Composite : public OpRecord, public Composition {
public:
    // `doc`: the formula, one line. Sets what most composites that move elements have: all dtypes,
    // and results that are exact.
    Composite(std::string name, std::string signature, std::string doc);
    virtual ~Composite() = default;
    Composite(const Composite &) = delete;
    Composite &operator=(const Composite &) = delete;

    const Signature sig;  // the signature, parsed
    // Inputs that may be undefined tensors: they stand for a value that `doc` names.
    std::vector<std::string> optional;

    // Returns the outputs of a call. Errors that are thrown in it are reported as the composite's
    // own.
    virtual Result compose(const Call &call) const = 0;

    // Computes every output of `p` in double, by the definition. A list attribute is in
    // Problem::dims as perm0, perm1, ... An extent that depends on such a list isn't an expression
    // of a signature: such ops have x[*] -> y[*], and their references set the outputs' shapes.
    virtual void reference(Problem &p) const = 0;

    std::vector<Tensor> run(std::span<const Tensor> in, const Attrs &attrs) const final {
        return compose({in, attrs});
    }
    bool is_optional(const std::string &input) const final;

protected:
    // Appends an attribute that is an argument of the call, not of the primitive's constructor.
    // `value` is the default.
    void at_call(const std::string &attr, AttrKind kind, const std::string &value);
    void required_at_call(const std::string &attr, AttrKind kind);  // without a default
    void choice_at_call(const std::string &attr, std::vector<std::string> choices,
                        const std::string &type = "");
    template<class C> void choice_at_call(const std::string &attr) {
        choice_at_call(attr, {std::begin(C::names), std::end(C::names)}, C::type);
    }
    // Appends an attribute of the primitive's constructor with its default.
    void attr(const std::string &attr, int64_t value);
    void attr(const std::string &attr, AttrKind kind, const std::string &value);
    void flag(const std::string &attr, bool value);
    void real(const std::string &attr, const std::string &value);
    // `type` names the choices' class in generated functions (AttrSpec::type).
    void choice(const std::string &attr, std::vector<std::string> choices,
                const std::string &type = "");
    // Appends a choice of a generated class: choice<F::PadMode>("pad_mode").
    template<class C> void choice(const std::string &attr) {
        choice(attr, {std::begin(C::names), std::end(C::names)}, C::type);
    }
    void ints(const std::string &attr, const std::string &value,
              std::vector<std::string> parts = {});
    // Appends an attribute of the constructor without a default.
    void required(const std::string &attr, AttrKind kind, std::vector<std::string> parts = {});
    void let(const std::string &dimension, const std::string &expression);

    // Throws DTypeError unless these of the inputs `in` have the dtype of the first of them. An
    // undefined tensor has any dtype.
    void expect_one_dtype(Tensors in, std::initializer_list<size_t> inputs) const;

    // For references. Returns `place`, counted from the end of `n` where it is negative.
    static int wrapped(int64_t place, int64_t n) { return int(place < 0 ? place + n : place); }
    // Returns a list attribute of `p`.
    static Shape list(const Problem &p, const std::string &attr);
    // Sets y to an array of `shape` whose element at an index is x's at source(index).
    template<class Source> static void gather(Problem &p, const Shape &shape, Source source);
    // Sets y to x's elements in row-major order, as an array of `shape`.
    static void same_elements(Problem &p, const Shape &shape);
};

// The composites and the composed gradients of this build. Each file in primitives/composites/ that
// CMake lists defines one function that fills it; nothing registers itself.
class CompositeTable {
public:
    template<class T, class... Args> void add(const Args &...args) {
        put(std::make_unique<T>(args...));
    }
    void gradient(const ComposedGradient &g);  // of an op that has no gradient kernel
    // The composites and gradients that follow are of this file and family, the file's folder.
    void begin_file(const std::string &name, const std::string &family);

    const Composite *find(const std::string &name) const;  // Null if there is none.
    const ComposedGradient *gradient_of(const std::string &op, const std::string &input) const;
    // Returns the file of a composed gradient; "" if there is none.
    std::string file_of_gradient(const std::string &op, const std::string &input) const;
    const std::vector<std::unique_ptr<Composite>> &all() const { return composites_; }
    std::vector<const OpFile *> files() const;  // the records, for the registry

private:
    void put(std::unique_ptr<Composite> c);  // throws Error where the name is taken
    std::vector<std::unique_ptr<Composite>> composites_;
    std::unordered_map<std::string, const Composite *> by_name_;
    struct Gradient {
        ComposedGradient gradient;
        std::string file;
    };
    std::unordered_map<std::string, Gradient> gradients_;  // by "op input"
    std::vector<std::unique_ptr<OpFile>> files_;
};

const CompositeTable &composites();

// Calls the functions of all files. Generated by CMake.
void list_composites(CompositeTable &composites);

// Opens the function that lists a file's composites and gradients. HALYARD_OP_FILE is the file's
// name, given by CMake's halyard_composite().
#define HALYARD_COMPOSITES_JOIN_(a, b) a##b
#define HALYARD_COMPOSITES_JOIN(a, b) HALYARD_COMPOSITES_JOIN_(a, b)
#define HALYARD_COMPOSITES                                                                         \
    void HALYARD_COMPOSITES_JOIN(halyard_composites_,                                              \
                                 HALYARD_OP_FILE)([[maybe_unused]] CompositeTable & composites)

template<class Source> void Composite::gather(Problem &p, const Shape &shape, Source source) {
    const Array &x = p("x");
    Array y(shape);
    Shape index(shape);
    for (int64_t i = 0; i < int64_t(y.v.size()); i++) {
        int64_t rest = i;
        for (int d = shape.rank(); d-- > 0;) {
            index[d] = rest % shape[d];
            rest /= shape[d];
        }
        const Shape from = source(index);
        int64_t at = 0;
        for (int d = 0; d < x.shape.rank(); d++)
            at = at * x.shape[d] + from[d];
        y.v[size_t(i)] = x.v[size_t(at)];
    }
    p.tensors["y"] = y;
}

}  // namespace halyard
