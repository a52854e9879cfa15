#include "dsl/trace.h"

#include <dlfcn.h>
#include <execinfo.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <sstream>

namespace halyard {
namespace fs = std::filesystem;
namespace {

constexpr int most_calls = 64;  // Halide's own, between an op's call and what refuses it, are a few dozen

struct Module {
    std::string path;
    uintptr_t base = 0;
};
Module module_of(const void *address) {
    Dl_info info;
    if (!dladdr(address, &info) || !info.dli_fname) return {};
    return {info.dli_fname, (uintptr_t)info.dli_fbase};
}

// "softmax.cpp:41 (discriminator 3)" as it comes from addr2line, one line per address.
std::vector<std::string> lines_of(const Module &m, const std::vector<void *> &calls) {
    const fs::path file = m.path.find('/') == std::string::npos ? fs::path("/proc/self/exe") : fs::path(m.path);  // the program as it was typed
    std::ostringstream command;
    command << "addr2line -e '" << fs::canonical(file).string() << "'" << std::hex;
    for (void *call : calls) command << " 0x" << (uintptr_t)call - m.base - 1;  // the call, not where it returns to
    command << " 2>/dev/null";
    std::string text;
    if (FILE *const pipe = popen(command.str().c_str(), "r")) {
        std::array<char, 4096> part;
        while (const size_t n = std::fread(part.data(), 1, part.size(), pipe)) text.append(part.data(), n);
        pclose(pipe);
    }
    std::istringstream all(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(all, line);) lines.push_back(line);
    lines.resize(calls.size());
    return lines;
}

// Members of these are what calls op files.
bool calls_ops(const void *address) {
    Dl_info info;
    if (!dladdr(address, &info) || !info.dli_sname) return false;
    const std::string name = info.dli_sname;
    return name.find("halyard6Kernel") != std::string::npos || name.find("halyard7OpTable") != std::string::npos;
}

bool is_system(const std::string &file) { return file.find("/include/c++/") != std::string::npos || fs::path(file).filename() == "Halide.h"; }
bool is_kit(const std::string &file) { return fs::path(file).parent_path().filename() == "dsl"; }

std::string shown(const std::string &file, int line) {
    const fs::path path(file);
    return (path.parent_path().filename() / path.filename()).string() + ":" + std::to_string(line);
}

}  // namespace

Trace Trace::here() {
    Trace t;
    t.calls_.resize(most_calls);
    t.calls_.resize((size_t)backtrace(t.calls_.data(), most_calls));
    return t;
}

// From the innermost call of an op file to where the kit called it.
std::vector<Trace::Frame> Trace::frames() const {
    const Module kit = module_of((const void *)&lines_of);
    std::vector<void *> calls;
    Module of;
    for (void *call : calls_) {
        const Module m = module_of(call);
        if (m.base == kit.base && (!calls.empty() || calls_ops(call))) break;
        if (m.base == kit.base || m.path.find("libHalide") != std::string::npos || m.path.find("libstdc++") != std::string::npos) continue;
        if (!calls.empty() && m.base != of.base) break;
        of = m, calls.push_back(call);
    }
    std::vector<Frame> all;
    if (calls.empty()) return all;
    for (const std::string &line : lines_of(of, calls)) {
        const size_t colon = line.rfind(':');
        if (colon == std::string::npos || line[0] == '?') continue;
        const std::string file = line.substr(0, colon);
        if (is_system(file)) continue;
        if (is_kit(file) && !all.empty()) break;
        if (const int number = std::atoi(line.c_str() + colon + 1); number > 0 && !is_kit(file)) all.push_back({file, number});
    }
    return all;
}

std::string Trace::place() const {
    const std::vector<Frame> all = frames();
    if (all.empty()) return "";
    size_t at = 0;
    while (all[at].file != all.back().file) at++;
    const std::string own = shown(all[at].file, all[at].line);
    return at == 0 ? own : own + " (" + shown(all[0].file, all[0].line) + ")";
}

std::string Trace::origin() const {
    const std::vector<Frame> all = frames();
    return all.empty() ? "" : shown(all.back().file, all.back().line);
}

std::string Trace::file() const {
    const std::vector<Frame> all = frames();
    return all.empty() ? "" : all.back().file;
}

std::string placed(const std::string &place, const std::string &what) { return place.empty() ? what : place + ": " + what; }

}  // namespace halyard
