// From a scheduled pipeline to an object in the cache, and from there into this process.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "dsl/child.h"
#include "dsl/kernel.h"
#include "dsl/refusal.h"

namespace halyard {
namespace fs = std::filesystem;

std::string kernel_cache() {
    const char *xdg = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
    const fs::path base = xdg && *xdg ? fs::path(xdg) : home && *home ? fs::path(home) / ".cache" : fs::temp_directory_path();
    const fs::path dir = base / "halyard" / "kernels";
    fs::create_directories(dir);
    return dir;
}

namespace {

// 128 bits of FNV-1a in two lanes: names a file by what it was made from.
std::string digest(const std::vector<uint8_t> &data, const std::string &more) {
    uint64_t h[2] = {1469598103934665603u, 0x9ae16a3b2f90404fu};
    auto eat = [&](uint8_t c) {
        h[0] = (h[0] ^ c) * 1099511628211u;
        h[1] = (h[1] + c) * 0xff51afd7ed558ccdu;
        h[1] ^= h[1] >> 29;
    };
    for (uint8_t c : data) eat(c);
    for (char c : more) eat((uint8_t)c);
    char text[40];
    std::snprintf(text, sizeof text, "%016llx%016llx", (unsigned long long)h[0], (unsigned long long)h[1]);
    return text;
}

// Files appear whole or not at all, whoever else is compiling the same kernel.
template<class Write> void atomically(const std::string &path, Write write) {
    const std::string temporary = path + "." + std::to_string(getpid());
    try {
        write(temporary);
    } catch (...) {
        fs::remove(temporary);
        throw;
    }
    fs::rename(temporary, path);
}

// The object as a library that can be opened, beside it.
std::string linked(const std::string &op, const std::string &object) {
    const std::string library = fs::path(object).replace_extension(".so");
    if (!fs::exists(library))
        atomically(library, [&](const std::string &to) {
            // -Bsymbolic: the kernel library exports the same names, and its kernel would take this one's calls.
            const std::string command = "ld -shared -Bsymbolic -o '" + to + "' '" + object + "'";
            if (std::system(command.c_str()) != 0) throw DispatchError(op, "linking failed: " + command);
        });
    return library;
}

}  // namespace

// What a schedule demands of a buffer, which the serialised pipeline does not hold; "" for what every buffer has.
std::string Kernel::demands(const Halide::Parameter &p) const {
    std::ostringstream text;
    for (int d = 0; d < p.dimensions(); d++) {
        const Halide::Expr stride = p.stride_constraint(d), least = p.min_constraint(d), extent = p.extent_constraint(d);
        if (d > 0 || strides_free() ? stride.defined() : !Halide::Internal::is_const_one(stride)) text << d << "stride" << stride;
        if (least.defined()) text << d << "min" << least;
        if (extent.defined()) text << d << "extent" << extent;
    }
    return text.str();
}

std::string Kernel::lowered(const std::string &symbol) {
    std::ostringstream text;
    try {
        for (auto &f : pipeline.compile_to_module(arguments(), symbol, target).functions()) text << f.body;
    } catch (const Halide::Error &e) { throw Error(op->name, symbol + ": " + e.what()); }
    return text.str();
}

std::string Kernel::object(const std::string &symbol) {
    std::vector<uint8_t> text;
    Halide::serialize_pipeline(pipeline, text);
    std::string more = symbol + target.to_string() + "halide-21.0.0" + (checks_arguments() ? "" : "-unchecked");
    for (auto &a : arguments()) more += a.name;
    for (auto &m : op->memory) more += demands(m.parameter());
    for (Halide::Func f : pipeline.outputs())
        for (auto &b : f.output_buffers()) more += demands(b.parameter());
    if (!instance.fault.empty()) more += lowered(symbol);  // where the pipeline doesn't have it
    const std::string path = kernel_cache() + "/" + digest(text, more) + ".o";
    if (!fs::exists(path)) atomically(path, [&](const std::string &to) { write_object(to, symbol, 0); });
    return path;
}

// In a child process: a code generator that aborts takes only that along. And the names it makes up on its way don't count up here,
// where those of the kernels built next, and so their places in the cache, would depend on what the cache already had.
void Kernel::write_object(const std::string &path, const std::string &symbol, unsigned seconds) {
    const auto compile = [&] {
        try {
            pipeline.compile_to({{Halide::OutputFileType::object, path}}, arguments(), symbol, target);
        } catch (const Halide::Error &e) { throw refusal(*op, e, written); }
        return std::string();
    };
    in_child(op->name, compile, seconds);
}

void Kernel::compile(const std::string &object, unsigned seconds) { write_object(object, instance.symbol(op->name), seconds); }

std::string Kernel::library() { return linked(op->name, object(instance.symbol(op->name))); }

KernelFn Kernel::open(const std::string &object) const {
    const std::string symbol = instance.symbol(op->name), library = linked(op->name, object);
    void *handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) throw DispatchError(op->name, std::string("cannot load the compiled kernel: ") + dlerror());
    const auto fn = (KernelFn)dlsym(handle, (symbol + "_argv").c_str());
    if (!fn) throw DispatchError(op->name, "no symbol " + symbol + "_argv in " + library);
    return fn;
}

KernelFn Kernel::load() { return open(object(instance.symbol(op->name))); }

}  // namespace halyard
