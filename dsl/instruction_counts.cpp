#include "dsl/instruction_counts.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <regex>
#include <sstream>

namespace halyard {
namespace {

struct Line {
    std::string function, label;     // label: of the line, if it is one
    std::string mnemonic, operands;  // of an instruction
};

std::vector<Line> lines_of(const std::string &assembly) {
    std::vector<Line> lines;
    std::istringstream text(assembly);
    std::string function;
    for (std::string row; std::getline(text, row);) {
        if (row.empty()) continue;
        const bool is_label = row[0] != '\t' && row[0] != ' ';
        if (is_label) {
            const std::string name = row.substr(0, row.find(':'));
            if (name[0] != '.') function = name;
            lines.push_back({function, name, "", ""});
            continue;
        }
        std::istringstream words(row);
        Line line{function, "", "", ""};
        words >> line.mnemonic;
        std::getline(words, line.operands);
        // Comments: "# 8-byte Spill" of x86, "// 8-byte Folded Spill" of AArch64.
        line.operands = line.operands.substr(0, line.operands.find(" #"));
        line.operands = line.operands.substr(0, line.operands.find("//"));
        lines.push_back(line);
    }
    return lines;
}

bool is_branch(const Line &line) {
    static const std::regex branches("j[a-z]+|b|b\\.[a-z]+|cbn?z|tbn?z");
    return std::regex_match(line.mnemonic, branches);
}

// Returns true for an instruction that reads or writes a vector. Scalars have vector registers,
// too: on x86 the mnemonic says so (vaddss), on AArch64 the register's name (s0, d0).
bool is_vector(const Line &line) {
    static const std::regex x86_registers("%[xyz]mm[0-9]+");
    static const std::regex x86_scalars("v?[a-z0-9]*(ss|sd)|v?mov[dq]|v?cvt[a-z0-9]*2s[sdi].*");
    static const std::regex arm_registers("(^|[^a-z0-9_])(v[0-9]+\\.|q[0-9]+)");
    if (std::regex_search(line.operands, x86_registers))
        return !std::regex_match(line.mnemonic, x86_scalars);
    return std::regex_search(line.operands, arm_registers);
}

std::string target_of(const Line &branch) {
    const size_t at = branch.operands.find(".L");
    return at == std::string::npos ? "" : branch.operands.substr(at);
}

LoopCounts counted(const std::vector<Line> &lines, size_t from, size_t to) {
    LoopCounts loop{lines[from].function, lines[from].label, 0, 0};
    for (size_t k = from; k <= to; k++) {
        loop.instructions += !lines[k].mnemonic.empty();
        loop.vectors += is_vector(lines[k]);
    }
    return loop;
}

}  // namespace

std::vector<LoopCounts> innermost_loops(const std::string &assembly) {
    const std::vector<Line> lines = lines_of(assembly);
    std::map<std::string, size_t> labels;
    std::vector<LoopCounts> loops;
    size_t last_end = 0;  // of a loop: one that begins before it contains it
    for (size_t k = 0; k < lines.size(); k++) {
        if (!lines[k].label.empty()) labels[lines[k].label] = k;
        if (!is_branch(lines[k])) continue;
        const auto target = labels.find(target_of(lines[k]));
        if (target == labels.end() || target->second < last_end) continue;
        loops.push_back(counted(lines, target->second, k));
        last_end = k;
    }
    return loops;
}

std::string counts_text(const std::vector<LoopCounts> &loops) {
    std::string text = "instructions  vectors  innermost loop\n";
    for (const LoopCounts &l : loops) {
        const double share = 100.0 * l.vectors / std::max(l.instructions, 1);
        text += fmt::format("{:12}  {:5.0f} %  {} {}\n", l.instructions, share, l.function,
                            l.label);
    }
    return text;
}

}  // namespace halyard
