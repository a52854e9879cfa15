#include "dsl/lower.h"

#include "dsl/ascend/tbe/forms.h"
#include "dsl/diagnostic.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

namespace halyard {
namespace fs = std::filesystem;
using Halide::OutputFileType;

const std::vector<TextForm> &text_forms() {
    static const std::vector<TextForm> forms = {
        {"loops", "the loop nest", {"cpu", "opencl", "cuda", "ascend"}, "//"},
        {"stmt", "the lowered statement", {"cpu", "opencl", "cuda", "ascend"}, "//"},
        {"html",
         "the lowered statement beside the assembly, as a page",
         {"cpu", "opencl", "cuda"},
         ""},
        {"llvm", "LLVM's language", {"cpu"}, ";"},
        {"asm", "assembly, without directives", {"cpu"}, "#"},
        {"c", "C++ source", {"cpu"}, "//"},
        {"opencl", "OpenCL C of the device's part", {"opencl"}, "//"},
        {"ptx", "PTX of the device's part", {"cuda"}, "//"},
        {"dv", "Ascend's instructions", {"ascend"}, "#"},
        {"tik", "a TIK kernel in Python, what registers it, and its .ini", {"ascend"}, "#"},
        {"ascendc", "an Ascend C kernel", {"ascend"}, "//"},
        {"tbe", "the algorithm in TBE's DSL, what registers it, and its .ini", {"ascend"}, "#"},
    };
    return forms;
}

namespace {

bool in_name(char c) {
    return std::isalnum((unsigned char)c) || c == '_' || c == '$';
}

// Every name in `text` once through `f`.
template<class F> std::string with_names(const std::string &text, F f) {
    std::string out;
    for (size_t i = 0; i < text.size();) {
        size_t end = i;
        while (end < text.size() && in_name(text[end]))
            end++;
        if (end == i)
            out += text[i++];
        else {
            out += f(text.substr(i, end - i));
            i = end;
        }
    }
    return out;
}

bool is_digit(char c) {
    return std::isdigit((unsigned char)c);
}

// "relu" of relu$3, "t" of t74, "peak_intm" of what rfactor() makes of peak$3 and again of that; ""
// of a name without counters.
std::string stem_of(const std::string &name) {
    if (name.size() > 1 && name[0] == 't' && std::all_of(name.begin() + 1, name.end(), is_digit))
        return "t";
    std::string stem;
    for (size_t i = 0; i < name.size();) {
        size_t end = i + 1;
        while (end < name.size() && is_digit(name[end]))
            end++;
        if (end > i + 1 &&
            (name[i] == '$' || (name[i] == '_' && name.compare(end, 5, "_intm") == 0)))
            i = end;
        else
            stem += name[i++];
    }
    return stem == name ? "" : stem;
}

// Code only: no directives, no data, neither the wrapper that unpacks arguments nor the function
// that describes them.
std::string instructions(const std::string &text) {
    std::string out;
    bool code = true, wanted = true;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const size_t first = line.find_first_not_of(" \t");
        if (first == std::string::npos || line[first] == '#') continue;
        if (first > 0 && line[first] == '.') {
            if (line.find(".text", first) != std::string::npos)
                code = true;
            else if (line.compare(first, 8, ".section") == 0)
                code = false;
            continue;
        }
        if (!code) continue;
        if (first == 0) {
            line.erase(line.find(':') + 1);
            if (line.starts_with(".Lfunc") || line.starts_with(".Ltmp")) continue;
            if (line[0] != '.') {
                wanted = line.find("_argv\":") == std::string::npos && !line.ends_with("_argv:") &&
                         !line.ends_with("_metadata:");
            }
            if (wanted && line[0] != '.' && !out.empty()) out += "\n";
        }
        if (wanted) out += line + "\n";
    }
    return out;
}

std::string compiled(Kernel &k, OutputFileType type, const std::string &scratch) {
    k.pipeline.compile_to({{type, scratch}}, k.arguments(), k.instance.symbol(k.op->name),
                          k.target);
    std::ifstream file(scratch, std::ios::binary);
    std::string text((std::istreambuf_iterator<char>(file)), {});
    file.close();
    fs::remove(scratch);
    while (!text.empty() && text.back() == '\0')
        text.pop_back();  // device code ends in one
    return text;
}

std::string loop_nest(Kernel &k) {  // Halide prints it
    std::ostringstream text;
    std::streambuf *const old = std::cerr.rdbuf(text.rdbuf());
    try {
        k.pipeline.print_loop_nest();
    } catch (...) {
        std::cerr.rdbuf(old);
        throw;
    }
    std::cerr.rdbuf(old);
    return text.str();
}

}  // namespace

std::string without_counters(const std::string &text) {
    std::map<std::string, std::string> renamed;
    std::map<std::string, int> next;
    return with_names(text, [&](const std::string &name) {
        const std::string stem = stem_of(name);
        if (stem.empty()) return name;
        const auto [at, is_new] = renamed.emplace(name, stem);
        if (is_new) {
            if (const int n = next[stem]++; stem == "t" || n > 0)
                at->second += (stem == "t" ? "" : "$") + std::to_string(n);
        }
        return at->second;
    });
}

std::string text_of(Kernel &k, const std::string &form, const std::string &scratch) {
    try {
        if (form == "loops") return without_counters(loop_nest(k));
        if (form == "stmt")
            return without_counters(compiled(k, OutputFileType::conceptual_stmt, scratch));
        if (form == "html") return compiled(k, OutputFileType::stmt_html, scratch);
        if (form == "llvm") return compiled(k, OutputFileType::llvm_assembly, scratch);
        if (form == "asm") return instructions(compiled(k, OutputFileType::assembly, scratch));
        if (form == "c") return compiled(k, OutputFileType::c_source, scratch);
        if (form == "opencl" || form == "ptx")
            return compiled(k, OutputFileType::device_code, scratch);
        if (k.instance.backend == "ascend") return ascend::text_of(k, form);
    } catch (const Halide::Error &e) {  // no std::exception
        throw diagnostic(*k.op, e, k.directives);
    }
    throw AttrError(k.op->name, "no text form '" + form + "'");
}

}  // namespace halyard
