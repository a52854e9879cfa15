#include "dsl/kernel_faults.h"

#include "dsl/mutate.h"

namespace halyard {

namespace {

struct Faults {
    std::vector<std::string> all, of_values;
};

Faults listed_faults(Kernel &k) {
    // The kernel is compiled only to run the pass that lists the faults.
    Faults faults;
    k.add_lowering_passes([&] {
        list_faults(k.pipeline, facts_of(*k.op, k.instance.variant, k.instance.tunables, k.lanes),
                    faults.all, faults.of_values);
    });
    const std::string symbol = k.instance.symbol(k.op->name);
    try {
        k.pipeline.compile_to_module(k.arguments(), symbol, k.target);
    } catch (const Halide::Error &e) {
        k.add_lowering_passes();
        throw Error(k.op->name, symbol + ": " + e.what());
    }
    k.add_lowering_passes();
    return faults;
}

}  // namespace

std::vector<std::string> faults_of(Kernel &k) {
    return listed_faults(k).all;
}

std::vector<std::string> faults_of_values(Kernel &k) {
    return listed_faults(k).of_values;
}

}  // namespace halyard
