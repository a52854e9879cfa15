#include "dsl/call_site.h"

#include <dlfcn.h>
#include <execinfo.h>

#include <filesystem>
#include <map>
#include <mutex>
#include <sstream>

#include "dsl/reference_location.h"
#include "registry/base/error.h"
#include "registry/base/program.h"
#include "registry/base/run_program.h"

namespace halyard {
namespace fs = std::filesystem;
namespace {

// Between the op's call and Halide's error are a few dozen calls within Halide.
constexpr int max_calls = 64;

struct Module {
    std::string path;
    uintptr_t base = 0;
};
Module module_of(const void *address) {
    Dl_info info;
    if (!dladdr(address, &info) || !info.dli_fname) return {};
    return {info.dli_fname, uintptr_t(info.dli_fbase)};
}

// Returns the lines of each address, as addr2line prints them: "softmax.cpp:41 (discriminator 3)".
// The first one is that of the innermost inlined call. There are none if addr2line can't be run.
std::vector<std::vector<std::string>> inlined_lines_of(
    const Module &m, const std::vector<void *> &return_addresses) {
    // The name of the program may be relative to a folder that is no longer the current one.
    std::error_code not_found;
    const fs::path path = fs::canonical(m.path, not_found);
    std::vector<std::string> words = {"addr2line", "-a", "-i", "-e",
                                      (not_found ? own_program() : path).string()};
    for (void *return_address : return_addresses) {
        std::ostringstream call;
        call << "0x" << std::hex << uintptr_t(return_address) - m.base - 1;
        words.push_back(call.str());
    }
    std::string text;
    try {
        text = run_program(words, Keep::output).text;
    } catch (const Error &) {
    }
    std::istringstream all(text);
    std::vector<std::vector<std::string>> lines;
    for (std::string line; std::getline(all, line);) {
        if (line.starts_with("0x"))
            lines.emplace_back();
        else if (!lines.empty())
            lines.back().push_back(line);
    }
    lines.resize(return_addresses.size());
    return lines;
}

// Returns one line per address, that of the innermost inlined call.
std::vector<std::string> lines_of(const Module &m, const std::vector<void *> &return_addresses) {
    std::vector<std::string> innermost;
    for (auto &lines : inlined_lines_of(m, return_addresses))
        innermost.push_back(lines.empty() ? "" : lines[0]);
    return innermost;
}

// Returns the lines of an address, which addr2line is asked for once: a reference may fail for each
// of many samples at the same place.
std::vector<std::string> cached_lines(const Module &m, void *return_address) {
    static std::mutex mutex;
    static std::map<void *, std::vector<std::string>> known;
    const std::lock_guard lock(mutex);
    const auto found = known.find(return_address);
    if (found != known.end()) return found->second;
    return known[return_address] = inlined_lines_of(m, {return_address})[0];
}

// Returns true if `address` is in a member of the classes that call op files.
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

// Returns true for the headers of dsl/, whose inline functions are compiled into op files.
bool is_kit(const fs::path &file) {
    return file.extension() == ".h" && file.parent_path().filename() == "dsl";
}

// Returns true for the headers that references call.
bool is_of_references(const fs::path &file) {
    return file.filename() == "problem.h" && file.parent_path().filename() == "op";
}

// Returns "folder/file.cpp:41". The path is normalised first, because it contains ".." if the
// compiler ran in a build folder.
std::string location_text(const std::string &file, int line) {
    const fs::path path = fs::path(file).lexically_normal();
    return (path.parent_path().filename() / path.filename()).string() + ":" + std::to_string(line);
}

// Returns the file that `file` is in the checkout that this program was built in, or `file` itself
// if that has none. A compiler cache hands objects to every checkout, and the paths in them are
// those of the checkout that made them.
std::string own_copy_of(const std::string &file) {
    const fs::path given = fs::path(file).lexically_normal();
    std::error_code unreadable;
    fs::path folder = own_program().parent_path();
    for (; folder.has_relative_path(); folder = folder.parent_path()) {
        // The longest end of the path that this folder has, but a name alone is no evidence.
        for (auto begin = given.begin(); begin != given.end(); ++begin) {
            if (std::distance(begin, given.end()) < 2) break;
            fs::path end;
            for (auto part = begin; part != given.end(); ++part)
                end /= *part;
            if (end.is_relative() && fs::exists(folder / end, unreadable)) return folder / end;
        }
    }
    return file;
}

}  // namespace

CallSite CallSite::here() {
    CallSite site;
    site.return_addresses_.resize(max_calls);
    const int count = backtrace(site.return_addresses_.data(), max_calls);
    site.return_addresses_.resize(size_t(count));
    return site;
}

std::vector<CallSite::Frame> CallSite::frames() const {
    const Module kit = module_of(reinterpret_cast<const void *>(&lines_of));
    // The line of each call; "" for calls in this library, Halide and libstdc++. Instances of
    // Halide's templates may be in any module, so all others are looked up.
    std::vector<std::string> lines;
    std::map<uintptr_t, std::pair<Module, std::vector<size_t>>> modules;
    for (size_t i = 0; i < return_addresses_.size() && !calls_ops(return_addresses_[i]); i++) {
        lines.emplace_back();
        const Module m = module_of(return_addresses_[i]);
        const bool library = m.path.find("libHalide") != std::string::npos ||
                             m.path.find("libstdc++") != std::string::npos;
        if (m.base && m.base != kit.base && !library) {
            modules[m.base].first = m;
            modules[m.base].second.push_back(i);
        }
    }
    for (auto &[base, module_and_calls] : modules) {
        const auto &[module, calls] = module_and_calls;
        std::vector<void *> return_addresses;
        for (size_t i : calls)
            return_addresses.push_back(return_addresses_[i]);
        const std::vector<std::string> found = lines_of(module, return_addresses);
        for (size_t k = 0; k < found.size(); k++)
            lines[calls[k]] = found[k];
    }
    // The frames end where the kit called the op file.
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

std::string CallSite::location() const {
    const std::vector<Frame> all = frames();
    if (all.empty()) return "";
    size_t innermost = 0;
    while (all[innermost].file != all.back().file)
        innermost++;
    const std::string text = location_text(all[innermost].file, all[innermost].line);
    return innermost == 0 ? text : text + " (" + location_text(all[0].file, all[0].line) + ")";
}

std::string CallSite::outermost_location() const {
    const std::vector<Frame> all = frames();
    return all.empty() ? "" : location_text(all.back().file, all.back().line);
}

std::string CallSite::outermost_file() const {
    const std::vector<Frame> all = frames();
    return all.empty() ? "" : own_copy_of(all.back().file);
}

std::string reference_location() {
    const Module dsl = module_of(reinterpret_cast<const void *>(&lines_of));
    const Module registry = module_of(reinterpret_cast<const void *>(&own_program));
    std::vector<void *> return_addresses(max_calls);
    const int count = backtrace(return_addresses.data(), max_calls);
    return_addresses.resize(size_t(count));
    bool in_reference = false;
    for (void *address : return_addresses) {
        const Module m = module_of(address);
        in_reference |= m.base == registry.base;  // what asks for the location comes before it
        if (!in_reference || !m.base || m.base == registry.base || m.base == dsl.base) continue;
        for (const std::string &line : cached_lines(m, address)) {
            const size_t colon = line.rfind(':');
            const std::string file = line.substr(0, colon == std::string::npos ? 0 : colon);
            const bool unknown = file.empty() || file[0] == '?';
            if (unknown || is_system(file) || is_kit(file) || is_of_references(file)) continue;
            return location_text(file, std::atoi(line.c_str() + colon + 1));
        }
    }
    return "";
}

std::string at_location(const std::string &location, const std::string &message) {
    return location.empty() ? message : location + ": " + message;
}

}  // namespace halyard
