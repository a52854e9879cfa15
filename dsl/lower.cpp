#include "dsl/lower.h"

#include "dsl/ascend/tbe/forms.h"
#include "dsl/diagnostic.h"
#include "dsl/gpu/exact_ptx.h"
#include "dsl/instruction_counts.h"
#include "dsl/name_counters.h"

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
        {"counts", "the innermost loops' instructions, and how many have vectors", {"cpu"}, "#"},
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

// Selects the lines of assembly that contain a kernel's instructions.
class InstructionFilter {
public:
    // Appends `line` to the text if it is wanted.
    void add(std::string line) {
        const size_t first = line.find_first_not_of(" \t");
        if (first == std::string::npos || line[first] == '#' || line.compare(first, 2, "//") == 0)
            return;
        if (first > 0 && line[first] == '.')
            directive(line, first);
        else if (in_code_ && first == 0)
            label(line);
        else if (in_code_ && in_kernel_)
            text_ += line + "\n";
    }
    const std::string &text() const { return text_; }

private:
    void directive(const std::string &line, size_t first) {
        if (line.find(".text", first) != std::string::npos)
            in_code_ = true;
        else if (line.compare(first, 8, ".section") == 0)
            in_code_ = false;
    }
    // Local labels begin with a dot. Any other begins a function: the kernel, the wrapper that
    // unpacks its arguments, or the function that describes them.
    void label(std::string line) {
        line.erase(line.find(':') + 1);
        if (line.starts_with(".Lfunc") || line.starts_with(".Ltmp")) return;
        const bool is_function = line[0] != '.';
        if (is_function) {
            in_kernel_ = line.find("_argv\":") == std::string::npos && !line.ends_with("_argv:") &&
                         !line.ends_with("_metadata:");
        }
        if (!in_kernel_) return;
        if (is_function && !text_.empty()) text_ += "\n";
        text_ += line + "\n";
    }

    std::string text_;
    bool in_code_ = true, in_kernel_ = true;
};

// Returns an assembly text without directives, data, and the functions around the kernel.
std::string instructions(const std::string &text) {
    InstructionFilter filter;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
        filter.add(line);
    return filter.text();
}

std::string compile_to_text(Kernel &k, OutputFileType type, const std::string &scratch) {
    k.pipeline.compile_to({{type, scratch}}, k.arguments(), k.instance.symbol(k.op->name),
                          k.target);
    std::ifstream file(scratch, std::ios::binary);
    std::string text((std::istreambuf_iterator<char>(file)), {});
    file.close();
    fs::remove(scratch);
    while (!text.empty() && text.back() == '\0')
        text.pop_back();  // of device code
    return text;
}

// Returns what Halide's print_loop_nest() writes to standard error.
std::string loop_nest(Kernel &k) {
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

std::string text_of(Kernel &k, const std::string &form, const std::string &scratch) {
    try {
        if (form == "loops") return without_counters(loop_nest(k));
        if (form == "stmt")
            return without_counters(compile_to_text(k, OutputFileType::conceptual_stmt, scratch));
        if (form == "html") return compile_to_text(k, OutputFileType::stmt_html, scratch);
        if (form == "llvm") return compile_to_text(k, OutputFileType::llvm_assembly, scratch);
        if (form == "asm" || form == "counts") {
            const std::string code = instructions(
                compile_to_text(k, OutputFileType::assembly, scratch));
            return form == "asm" ? code : counts_text(innermost_loops(code));
        }
        if (form == "c") return compile_to_text(k, OutputFileType::c_source, scratch);
        if (form == "opencl") return compile_to_text(k, OutputFileType::device_code, scratch);
        if (form == "ptx") {
            return gpu::ptx_of(gpu::with_exact_ptx(k.pipeline.compile_to_module(
                k.arguments(), k.instance.symbol(k.op->name), k.target)));
        }
        if (k.instance.backend == "ascend") return ascend::text_of(k, form);
    } catch (const Halide::Error &e) {  // it is no std::exception
        throw diagnostic(*k.op, e, k.directives);
    }
    throw AttrError(k.op->name, "no text form '" + form + "'");
}

}  // namespace halyard
