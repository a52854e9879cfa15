// From a scheduled pipeline to an object in the cache, and from there into this process.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "dsl/kernel.h"

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
    write(temporary);
    fs::rename(temporary, path);
}

// Runs body() in a child process. A code generator that aborts takes only that along. And the names it makes up on its way don't count up
// here, where those of the kernels built next, and so their places in the cache, would depend on what the cache already had.
void in_child(const std::string &op, const std::string &symbol, const std::function<void()> &body) {
    int ends[2];
    if (pipe(ends) != 0) throw DispatchError(op, "no pipe to be had");
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child < 0) throw DispatchError(op, "fork failed");
    if (child == 0) {
        std::string said;
        try {
            body();
            _exit(0);
        } catch (const Halide::Error &e) {  // no std::exception
            said = e.what();
        } catch (const std::exception &e) { said = e.what(); }
        _exit(write(ends[1], said.data(), said.size()) == (ssize_t)said.size() ? 1 : 2);
    }
    close(ends[1]);
    std::string said;
    char some[4096];
    for (ssize_t n; (n = read(ends[0], some, sizeof some)) > 0;) said.append(some, (size_t)n);
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) throw DispatchError(op, symbol + ": the code generator died of signal " + std::to_string(WTERMSIG(status)));
    if (status != 0) throw Error(op, symbol + ": " + said);
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
    std::string more = symbol + target.to_string() + "halide-21.0.0";
    for (auto &a : arguments()) more += a.name;
    for (auto &m : op->memory) more += demands(m.parameter());
    for (Halide::Func f : pipeline.outputs())
        for (auto &b : f.output_buffers()) more += demands(b.parameter());
    if (!instance.fault.empty()) more += lowered(symbol);  // where the pipeline doesn't have it
    const std::string path = kernel_cache() + "/" + digest(text, more) + ".o";
    if (!fs::exists(path))
        atomically(path, [&](const std::string &to) {
            in_child(op->name, symbol, [&] { pipeline.compile_to({{Halide::OutputFileType::object, to}}, arguments(), symbol, target); });
        });
    return path;
}

std::string Kernel::library() {
    const std::string object_path = object(instance.symbol(op->name)), path = fs::path(object_path).replace_extension(".so");
    if (!fs::exists(path))
        atomically(path, [&](const std::string &to) {
            // -Bsymbolic: the kernel library exports the same names, and its kernel would take this one's calls.
            const std::string command = "ld -shared -Bsymbolic -o '" + to + "' '" + object_path + "'";
            if (std::system(command.c_str()) != 0) throw DispatchError(op->name, "linking failed: " + command);
        });
    return path;
}

KernelFn Kernel::load() {
    const std::string symbol = instance.symbol(op->name), path = library();
    void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) throw DispatchError(op->name, std::string("cannot load the compiled kernel: ") + dlerror());
    const auto fn = (KernelFn)dlsym(handle, (symbol + "_argv").c_str());
    if (!fn) throw DispatchError(op->name, "no symbol " + symbol + "_argv in " + path);
    return fn;
}

}  // namespace halyard
