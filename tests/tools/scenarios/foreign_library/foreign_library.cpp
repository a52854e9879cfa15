// Ops of another project, each with a fault that `halyard check` or `bench` has to report. Their
// kernels are handwritten, so that they may do what a schedule can't.
#include "dsl/op.h"
#include "registry/dispatch/kernel_library.h"

namespace halyard {
namespace {

template<class T> struct Elements {
    const halide_buffer_t &b;
    int64_t size() const { return b.dim[0].extent; }
    T &operator[](int64_t i) const { return ((T *)b.host)[i * b.dim[0].stride]; }
};
template<class T> Elements<T> elements(void **arguments, int k) {
    return {*(const halide_buffer_t *)arguments[k]};
}

struct Vectors : Op {
    Vectors(const std::string &name, const std::string &signature, const std::string &dtype)
        : Op(name, signature) {
        dtypes = {dtype};
        samples = {"n=1", "n=7", "n=33"};
        bench = {"n=7"};
    }
    Var i{"i"};
    void schedule(const Cpu &) override {}
};

// Its kernel crashes on one of its samples.
struct Crash : Vectors {
    Crash() : Vectors("stranger_crash", "x[n] -> y[n]", "f32") {}
    Func x = input("x");
    Func y = output("y");
    void algorithm() override { y(i) = 2_r * x(i); }
    void reference(Problem &p) const override {
        for (int64_t k = 0; k < p["n"]; k++)
            p("y")(k) = 2 * p("x")(k);
    }
};
int crash(void **arguments) {
    const auto x = elements<float>(arguments, 0);
    const auto y = elements<float>(arguments, 1);
    char *const nowhere = (char *)x.size() + 1;  // raise() would end with the first handler.
    if (x.size() == 7) *(volatile char *)nowhere = 0;
    for (int64_t k = 0; k < x.size(); k++)
        y[k] = 2 * x[k];
    return 0;
}

// Its terms cancel, and its contract measures errors against the remaining value.
struct Cancel : Vectors {
    Cancel() : Vectors("stranger_cancel", "x[n] b[n] r[n] -> y[n]", "f32") {
        contract = {Contract::elementwise, 1};
        samples = {"n=1", "n=7", "n=33", "n=4000"};
    }
    Func x = input("x"), b = input("b"), r = input("r");
    Func y = output("y");
    void algorithm() override { y(i) = x(i) + b(i) + r(i); }
    void reference(Problem &p) const override {
        for (int64_t k = 0; k < p["n"]; k++)
            p("y")(k) = p("x")(k) + p("b")(k) + p("r")(k);
    }
};
int cancel(void **arguments) {
    const auto x = elements<float>(arguments, 0);
    const auto b = elements<float>(arguments, 1);
    const auto r = elements<float>(arguments, 2);
    const auto y = elements<float>(arguments, 3);
    for (int64_t k = 0; k < x.size(); k++)
        y[k] = x[k] + b[k] + r[k];
    return 0;
}

// Its gradient has the wrong sign, in the kernel and in the reference.
struct Flip : Vectors {
    Flip() : Vectors("stranger_flip", "x[n] -> y[n]", "f64") {}
    Func x = input("x");
    Func y = output("y");
    void algorithm() override { y(i) = x(i) * x(i); }
    void reference(Problem &p) const override {
        for (int64_t k = 0; k < p["n"]; k++)
            p("y")(k) = p("x")(k) * p("x")(k);
    }
};
struct FlipDx : Vectors {
    FlipDx() : Vectors("stranger_flip_dx", "x[n] dy[n] -> dx[n]", "f64") { internal = true; }
    Func x = input("x"), dy = input("dy");
    Func dx = output("dx");
    void algorithm() override { dx(i) = -2_r * x(i) * dy(i); }
    void reference(Problem &p) const override {
        for (int64_t k = 0; k < p["n"]; k++)
            p("dx")(k) = -2 * p("x")(k) * p("dy")(k);
    }
};
int square(void **arguments) {
    const auto x = elements<double>(arguments, 0);
    const auto y = elements<double>(arguments, 1);
    for (int64_t k = 0; k < x.size(); k++)
        y[k] = x[k] * x[k];
    return 0;
}
template<int factor> int square_dx(void **arguments) {
    const auto x = elements<double>(arguments, 0);
    const auto dy = elements<double>(arguments, 1);
    const auto dx = elements<double>(arguments, 2);
    for (int64_t k = 0; k < x.size(); k++)
        dx[k] = factor * x[k] * dy[k];
    return 0;
}

// Its gradient is right, but differs from the gradient's own reference.
struct Square : Vectors {
    Square() : Vectors("stranger_square", "x[n] -> y[n]", "f64") {}
    Func x = input("x");
    Func y = output("y");
    void algorithm() override { y(i) = x(i) * x(i); }
    void reference(Problem &p) const override {
        for (int64_t k = 0; k < p["n"]; k++)
            p("y")(k) = p("x")(k) * p("x")(k);
    }
};
struct SquareDx : Vectors {
    SquareDx() : Vectors("stranger_square_dx", "x[n] dy[n] -> dx[n]", "f64") { internal = true; }
    Func x = input("x"), dy = input("dy");
    Func dx = output("dx");
    void algorithm() override { dx(i) = 2_r * x(i) * dy(i); }
    void reference(Problem &p) const override {
        for (int64_t k = 0; k < p["n"]; k++)
            p("dx")(k) = 3 * p("x")(k) * p("dy")(k);
    }
};

void list(OpTable &ops) {
    ops.add<Crash>();
    ops.add<Cancel>();
    ops.add<Flip>();
    ops.add<FlipDx>();
    ops.add<Square>();
    ops.add<SquareDx>();
}

std::vector<const OpFile *> files() {
    static const OpFile file = [] {
        const std::map<std::string, KernelFn> kernels = {
            {"stranger_crash", crash},   {"stranger_cancel", cancel},
            {"stranger_flip", square},   {"stranger_flip_dx", square_dx<-2>},
            {"stranger_square", square}, {"stranger_square_dx", square_dx<2>},
        };
        OpFile f;
        OpTable ops;
        list(ops);
        for (auto &name : ops.names()) {
            const OpPtr op = ops.make(name);
            f.ops.push_back(*op);
            f.kernels.push_back({name,
                                 "cpu",
                                 op->dtypes[0],
                                 op->variants[0].name,
                                 host_isa(),
                                 4,
                                 {},
                                 kernels.at(name)});
        }
        return f;
    }();
    return {&file};
}

}  // namespace
}  // namespace halyard

extern "C" const halyard::KernelLibrary *halyard_kernels();
extern "C" const halyard::KernelLibrary *halyard_kernels() {
    static const halyard::KernelLibrary library = {
        .kit = "tests", .files = halyard::files, .list = halyard::list};
    return &library;
}
