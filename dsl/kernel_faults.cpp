#include "dsl/kernel_faults.h"

#include "dsl/argument_checks.h"
#include "dsl/float_pairs.h"
#include "dsl/gpu/half_floats.h"
#include "dsl/matrix_tiles.h"
#include "dsl/mutate.h"

namespace halyard {

namespace {

struct Faults {
    std::vector<std::string> all, of_values;
};

Faults listed_faults(Kernel &k) {
    // Installs a lowering pass that lists the mutations. The kernel is compiled only to run it.
    Faults faults;
    list_faults(k.pipeline, facts_of(*k.op, k.instance.variant, k.instance.tunables, k.lanes),
                faults.all, faults.of_values);
    // Clearing also drops the passes of Kernel.
    const auto restore_passes = [&] {
        k.pipeline.clear_custom_lowering_passes();
        if (!k.checks_arguments()) remove_argument_checks(k.pipeline);
        if (has_float_pairs(k.instance.backend, k.lanes)) keep_float_pairs(k.pipeline);
        if (k.has_matrix_tiles()) use_matrix_tiles(k.pipeline);
        if (k.holds_half_floats()) gpu::hold_half_floats_as_integers(k.pipeline);
    };
    const std::string symbol = k.instance.symbol(k.op->name);
    try {
        k.pipeline.compile_to_module(k.arguments(), symbol, k.target);
    } catch (const Halide::Error &e) {
        restore_passes();
        throw Error(k.op->name, symbol + ": " + e.what());
    }
    restore_passes();
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
