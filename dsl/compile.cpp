// From a scheduled pipeline to an object in the cache, and from there into this process.
#include <dlfcn.h>

#include <filesystem>
#include <sstream>

#include "dsl/child.h"
#include "dsl/diagnostic.h"
#include "dsl/kernel.h"
#include "dsl/kernel_cache.h"
#include "dsl/tuple_update.h"
#include "registry/base/atomic_file.h"
#include "registry/base/run_program.h"

namespace halyard {
namespace fs = std::filesystem;
namespace {

void link(const std::string &op, const std::string &object, const std::string &library) {
    // -Bsymbolic: the kernel library exports the same names, and its kernel would take this one's
    // calls.
    const Ended ld = run_program({"ld", "-shared", "-Bsymbolic", "-o", library, object},
                                 Keep::output_and_errors);
    if (ld.status != 0) {
        throw DispatchError(op, "linking failed: ld -shared -Bsymbolic -o " + library + " " +
                                    object + ": " + ld.text);
    }
}

}  // namespace

// What a schedule demands of a buffer, which the serialised pipeline does not hold; "" for what
// every buffer has.
std::string Kernel::demands(const Halide::Parameter &p) const {
    std::ostringstream text;
    for (int d = 0; d < p.dimensions(); d++) {
        const Halide::Expr stride = p.stride_constraint(d);
        const Halide::Expr least = p.min_constraint(d);
        const Halide::Expr extent = p.extent_constraint(d);
        if (d > 0 || strides_free() ? stride.defined() : !Halide::Internal::is_const_one(stride))
            text << d << "stride" << stride;
        if (least.defined()) text << d << "min" << least;
        if (extent.defined()) text << d << "extent" << extent;
    }
    return text.str();
}

std::string Kernel::lowered(const std::string &symbol) {
    std::ostringstream text;
    try {
        for (auto &f : pipeline.compile_to_module(arguments(), symbol, target).functions())
            text << f.body;
    } catch (const Halide::Error &e) {
        throw Error(op->name, symbol + ": " + e.what());
    }
    return text.str();
}

// Names an entry of the cache by all that its code depends on.
std::string Kernel::key(const std::string &symbol) {
    std::vector<uint8_t> text;
    Halide::serialize_pipeline(pipeline, text);
    std::string all(text.begin(), text.end());
    all += symbol + target.to_string() + "halide-21.0.0" + (checks_arguments() ? "" : "-unchecked");
    for (auto &a : arguments())
        all += a.name;
    for (auto &m : op->memory)
        all += demands(m.parameter());
    for (Halide::Func f : pipeline.outputs()) {
        for (auto &b : f.output_buffers())
            all += demands(b.parameter());
    }
    if (components_read_each_other(pipeline)) all += "-old_values";
    if (!instance.fault.empty()) all += lowered(symbol);  // where the pipeline doesn't have it
    return digest(all);
}

std::string Kernel::object(const std::string &symbol) {
    return cached_bytes(key(symbol) + ".object",
                        [&](const std::string &to) { write_object(to, symbol, 0); });
}

// In a child process: a code generator that aborts takes only that along. And the names it makes up
// on its way don't count up here, where those of the kernels built next, and so their places in the
// cache, would depend on what the cache already had.
void Kernel::write_object(const std::string &path, const std::string &symbol, unsigned seconds) {
    const auto compile = [&] {
        try {
            pipeline.compile_to({{Halide::OutputFileType::object, path}}, arguments(), symbol,
                                target);
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
        // in the folder of the library, which is a temporary one
        const std::string object_file = to + ".o";
        write_file(object_file, object(symbol), Durability::to_system);
        link(op->name, object_file, to);
    };
    return cached_file(key(symbol) + ".library", make).string();
}

KernelFn Kernel::opened(const std::string &library) const {
    const std::string symbol = instance.symbol(op->name);
    void *handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        throw DispatchError(op->name, std::string("cannot load the compiled kernel: ") + dlerror());
    const auto fn = (KernelFn)dlsym(handle, (symbol + "_argv").c_str());
    if (!fn) throw DispatchError(op->name, "no symbol " + symbol + "_argv in " + library);
    return fn;
}

KernelFn Kernel::open(const std::string &object) const {
    const std::string library = fs::path(object).replace_extension(".so");
    link(op->name, object, library);
    return opened(library);
}

KernelFn Kernel::load() {
    return opened(library());
}

}  // namespace halyard
