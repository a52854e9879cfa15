#include "dsl/trace.h"

#include <dlfcn.h>
#include <execinfo.h>

#include <filesystem>
#include <map>
#include <sstream>

#include "registry/base/error.h"
#include "registry/base/program.h"
#include "registry/base/run_program.h"

namespace halyard {
namespace fs = std::filesystem;
namespace {

// Halide's own, between an op's call and what refuses it, are a few dozen
constexpr int most_calls = 64;

struct Module {
    std::string path;
    uintptr_t base = 0;
};
Module module_of(const void *address) {
    Dl_info info;
    if (!dladdr(address, &info) || !info.dli_fname) return {};
    return {info.dli_fname, uintptr_t(info.dli_fbase)};
}

// "softmax.cpp:41 (discriminator 3)" as it comes from addr2line, one line per address.
std::vector<std::string> lines_of(const Module &m, const std::vector<void *> &calls) {
    std::error_code relative;  // the program is called what was typed, maybe in another folder
    const fs::path found = fs::canonical(m.path, relative);
    std::vector<std::string> words = {"addr2line", "-e",
                                      (relative ? own_program() : found).string()};
    for (void *call : calls) {
        std::ostringstream address;
        // the call, not where it returns to
        address << "0x" << std::hex << uintptr_t(call) - m.base - 1;
        words.push_back(address.str());
    }
    std::string text;
    try {
        text = run_program(words, Keep::output).text;
    } catch (const Error &) {
    }  // without addr2line there are no lines
    std::istringstream all(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(all, line);)
        lines.push_back(line);
    lines.resize(calls.size());
    return lines;
}

// Members of these are what calls op files.
bool calls_ops(const void *address) {
    Dl_info info;
    if (!dladdr(address, &info) || !info.dli_sname) return false;
    const std::string name = info.dli_sname;
    return name.find("halyard6Kernel") != std::string::npos ||
           name.find("halyard7OpTable") != std::string::npos;
}

bool is_system(const std::string &file) {
    return file.find("/include/c++/") != std::string::npos ||
           fs::path(file).filename() == "Halide.h";
}
// Of its own functions only those in headers are part of an op's code.
bool is_kit(const fs::path &file) {
    return file.extension() == ".h" && file.parent_path().filename() == "dsl";
}

std::string shown(const std::string &file, int line) {
    // "../" where the compiler ran in a build folder
    const fs::path path = fs::path(file).lexically_normal();
    return (path.parent_path().filename() / path.filename()).string() + ":" + std::to_string(line);
}

}  // namespace

Trace Trace::here() {
    Trace t;
    t.calls_.resize(most_calls);
    t.calls_.resize(size_t(backtrace(t.calls_.data(), most_calls)));
    return t;
}

// From the innermost call of an op file to where the kit called it. Instances of Halide's templates
// may lie in any module.
std::vector<Trace::Frame> Trace::frames() const {
    const Module kit = module_of((const void *)&lines_of);
    // of the calls; "" in the kit's library, which is none of an op's
    std::vector<std::string> lines;
    std::map<uintptr_t, std::pair<Module, std::vector<size_t>>> modules;
    for (size_t i = 0; i < calls_.size() && !calls_ops(calls_[i]); i++) {
        lines.emplace_back();
        const Module m = module_of(calls_[i]);
        const bool library = m.path.find("libHalide") != std::string::npos ||
                             m.path.find("libstdc++") != std::string::npos;
        if (m.base && m.base != kit.base && !library) {
            modules[m.base].first = m;
            modules[m.base].second.push_back(i);
        }
    }
    for (auto &[base, of] : modules) {
        std::vector<void *> calls;
        for (size_t i : of.second)
            calls.push_back(calls_[i]);
        const std::vector<std::string> found = lines_of(of.first, calls);
        for (size_t k = 0; k < found.size(); k++)
            lines[of.second[k]] = found[k];
    }
    std::vector<Frame> all;
    for (const std::string &line : lines) {
        const size_t colon = line.rfind(':');
        const std::string file = line.substr(0, colon == std::string::npos ? 0 : colon);
        if (!all.empty() && (line.empty() || is_kit(file))) break;
        if (file.empty() || file[0] == '?' || is_system(file) || is_kit(file)) continue;
        if (const int number = std::atoi(line.c_str() + colon + 1); number > 0)
            all.push_back({file, number});
    }
    return all;
}

std::string Trace::place() const {
    const std::vector<Frame> all = frames();
    if (all.empty()) return "";
    size_t at = 0;
    while (all[at].file != all.back().file)
        at++;
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

std::string placed(const std::string &place, const std::string &what) {
    return place.empty() ? what : place + ": " + what;
}

}  // namespace halyard
