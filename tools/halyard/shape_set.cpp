#include "tools/halyard/shape_set.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "primitives/library.h"
#include "registry/error.h"
#include "tools/halyard/picks.h"

namespace halyard::command {
namespace {
namespace fs = std::filesystem;

fs::path folder() { return fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "share/halyard/shapes"; }

// The ops that a line's first word means.
std::vector<std::string> ops_of(const std::string &word) {
    if (word != "elementwise" && word != "reduction") return {word};
    const Form form = word == "elementwise" ? Form::elementwise : Form::reduction;
    std::vector<std::string> names;
    for (const RegisteredOp *op : library().ops())
        if (op->record.form == form) names.push_back(op->record.name);
    return names;
}

std::string trimmed(const std::string &s) {
    const size_t from = s.find_first_not_of(" \t\r");
    return from == std::string::npos ? "" : s.substr(from, s.find_last_not_of(" \t\r") - from + 1);
}

// The samples of every op with kernels that has no line yet.
void add_others(std::vector<ShapeLine> &lines) {
    std::set<std::string> there;
    for (auto &l : lines) there.insert(l.op);
    for (const RegisteredOp *op : library().ops())
        if (!op->kernels.empty() && !there.count(op->record.name))
            for (auto &sample : op->record.samples) lines.push_back({op->record.name, sample, "sample"});
}

}  // namespace

std::vector<std::string> shape_set_names() {
    std::vector<std::string> names;
    std::error_code none;
    for (auto &entry : fs::directory_iterator(folder(), none)) names.push_back(entry.path().stem());
    std::sort(names.begin(), names.end());
    return names;
}

std::vector<ShapeLine> shape_set(const std::string &name, const std::string &op) {
    const auto names = shape_set_names();
    const bool known = std::find(names.begin(), names.end(), name) != names.end();
    std::ifstream file(known ? folder() / (name + ".txt") : fs::path(name));
    if (!file || fs::is_directory(name)) throw IoError(name, "no such file, and no such set of shapes; there are " + listed(names));
    std::vector<ShapeLine> lines;
    int number = 0;
    for (std::string text; std::getline(file, text);) {
        number++;
        const size_t hash = text.find('#');
        const std::string problem = trimmed(text.substr(0, hash)), note = hash == std::string::npos ? "" : trimmed(text.substr(hash + 1));
        if (problem.empty()) continue;
        const size_t space = problem.find(' ');
        if (space == std::string::npos) throw IoError(name, "line " + std::to_string(number) + ": '" + problem + "' is no op and its problem");
        if (problem == "others samples") {
            add_others(lines);
            continue;
        }
        for (auto &name_of_op : ops_of(problem.substr(0, space))) {
            const ShapeLine line{name_of_op, trimmed(problem.substr(space)), note};
            const bool again = std::any_of(lines.begin(), lines.end(), [&](const ShapeLine &l) { return l.op == line.op && l.problem == line.problem; });
            if (!again) lines.push_back(line);
        }
    }
    if (!op.empty()) std::erase_if(lines, [&](const ShapeLine &l) { return l.op != op; });
    if (lines.empty()) throw IoError(name, op.empty() ? "has no problems" : "has no problems of " + op);
    return lines;
}

}  // namespace halyard::command
