// The part of Kernel that compiles: from a scheduled pipeline to an object file in the kernel
// cache, and from there to a function in this process.
#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "dsl/diagnostic.h"
#include "dsl/float_pairs.h"
#include "dsl/gpu/exact_ptx.h"
#include "dsl/kernel.h"
#include "dsl/kernel_cache.h"
#include "dsl/tuple_update.h"
#include "registry/base/atomic_file.h"
#include "registry/base/process_pool.h"
#include "registry/base/run_program.h"

namespace halyard {
namespace fs = std::filesystem;
namespace {

void link(const std::string &op, const std::string &object, const std::string &library) {
    // The library of ahead-of-time kernels exports the same names. With -Bsymbolic, calls within
    // this object do not go there.
    const Ended ld = run_program({"ld", "-shared", "-Bsymbolic", "-o", library, object},
                                 Keep::output_and_errors);
    if (ld.status != 0) {
        throw DispatchError(op, "linking failed: ld -shared -Bsymbolic -o " + library + " " +
                                    object + ": " + ld.text);
    }
}

// Has LLVM call AddressSanitizer's checks, if this process has compiled nothing yet. By default
// they stand in place, two branches for each access, and an unrolled kernel takes the code
// generator more than twice as long (docs/adr/016-sanitizers.md).
void call_address_checks() {
    const char *const given = std::getenv("HL_LLVM_ARGS");
    const std::string options = given ? std::string(given) + " " : "";
    const std::string called = options + "-asan-instrumentation-with-call-threshold=0";
    setenv("HL_LLVM_ARGS", called.c_str(), 1);
}

}  // namespace

// Returns the constraints on a buffer's strides, minima and extents as text, without those that all
// buffers have. A serialised pipeline does not contain them.
std::string Kernel::constraints_of(const Halide::Parameter &p) const {
    std::ostringstream text;
    for (int d = 0; d < p.dimensions(); d++) {
        const Halide::Expr stride = p.stride_constraint(d);
        const Halide::Expr min = p.min_constraint(d);
        const Halide::Expr extent = p.extent_constraint(d);
        if (d > 0 || has_free_strides() ? stride.defined()
                                        : !Halide::Internal::is_const_one(stride))
            text << d << "stride" << stride;
        if (min.defined()) text << d << "min" << min;
        if (extent.defined()) text << d << "extent" << extent;
    }
    return text.str();
}

// Returns the lowered statements as text, and the source of what runs on a device.
std::string Kernel::lowered_text(const std::string &symbol) {
    std::ostringstream text;
    try {
        const Halide::Module module = pipeline.compile_to_module(arguments(), symbol, target);
        for (auto &f : module.functions())
            text << f.body;
        if (const Halide::Buffer<> code = module.get_device_code_buffer(); code.defined())
            text.write(static_cast<const char *>(code.data()), long(code.size_in_bytes()));
    } catch (const Halide::Error &e) {
        throw Error(op->name, symbol + ": " + e.what());
    }
    return text.str();
}

// Returns a hash of everything that the compiled code depends on: the name of the cache entry.
std::string Kernel::cache_key(const std::string &symbol) {
    std::vector<uint8_t> text;
    Halide::serialize_pipeline(pipeline, text);
    std::string all(text.begin(), text.end());
    all += symbol + target.to_string() + "halide-21.0.0" + (checks_arguments() ? "" : "-unchecked");
    for (auto &a : arguments())
        all += a.name;
    for (auto &m : op->memory)
        all += constraints_of(m.parameter());
    for (Halide::Func f : pipeline.outputs()) {
        for (auto &b : f.output_buffers())
            all += constraints_of(b.parameter());
    }
    if (components_read_each_other(pipeline)) all += "-old_values";
    if (instance.backend == "cuda") all += "-exact_ptx";
    if (instance.sanitizer == "thread") all += "-wide_stores";
    if (has_matrix_tiles()) all += "-matrix_tiles";
    if (holds_half_floats()) all += "-held_half_floats";
    if (instance.backend == "cuda") all += "-rounding_functions";
    if (has_float_pairs(instance.backend, lanes)) all += "-float_pairs";
    if (!instance.fault.empty())
        all += lowered_text(symbol);  // the pipeline does not contain the fault
    return digest(all);
}

std::string Kernel::object(const std::string &symbol) {
    return cached_bytes(cache_key(symbol) + ".object",
                        [&](const std::string &to) { write_object(to, symbol, 0); });
}

// Compiles in a child process, for two reasons. If the code generator aborts, only that process
// ends. And the names that Halide numbers while it compiles do not advance the counters of this
// process, so the cache keys of later kernels do not depend on which kernels were already cached.
void Kernel::write_object(const std::string &path, const std::string &symbol, unsigned seconds) {
    const auto compile = [&] {
        if (instance.sanitizer == "address") call_address_checks();
        try {
            const Halide::Module module = pipeline.compile_to_module(arguments(), symbol, target);
            const bool has_ptx = instance.backend == "cuda";
            (has_ptx ? gpu::with_exact_ptx(module) : module)
                .compile({{Halide::OutputFileType::object, path}});
        } catch (const Halide::Error &e) {
            throw diagnostic(*op, e, directives);
        }
        return std::string();
    };
    run_in_child(op->name, compile, seconds);
}

void Kernel::compile(const std::string &object, unsigned seconds) {
    write_object(object, instance.symbol(op->name), seconds);
}

std::string Kernel::library() {
    const std::string symbol = instance.symbol(op->name);
    const auto make = [&](const std::string &to) {
        // The cache gives a path in a temporary folder, which is removed with everything in it.
        const std::string object_file = to + ".o";
        write_file(object_file, object(symbol), Durability::to_system);
        link(op->name, object_file, to);
    };
    return cached_file(cache_key(symbol) + ".library", make).string();
}

KernelFn Kernel::open_library(const std::string &library) const {
    const std::string symbol = instance.symbol(op->name);
    void *handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        throw DispatchError(op->name, std::string("cannot load the compiled kernel: ") + dlerror());
    const auto fn = reinterpret_cast<KernelFn>(dlsym(handle, (symbol + "_argv").c_str()));
    if (!fn) throw DispatchError(op->name, "no symbol " + symbol + "_argv in " + library);
    return fn;
}

KernelFn Kernel::open(const std::string &object) const {
    const std::string library = fs::path(object).replace_extension(".so");
    link(op->name, object, library);
    return open_library(library);
}

KernelFn Kernel::load() {
    return open_library(library());
}

}  // namespace halyard
