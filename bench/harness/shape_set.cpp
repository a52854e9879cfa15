#include "bench/harness/shape_set.h"

#include <algorithm>
#include <fstream>
#include <set>

#include "bench/harness/kit_file.h"
#include "primitives/library.h"
#include "registry/base/error.h"

namespace halyard::bench {
namespace {
// Returns the ops that a line's first word selects.
std::vector<std::string> ops_of(const std::string &word) {
    if (word != "elementwise" && word != "reduction") return {word};
    const Form form = word == "elementwise" ? Form::elementwise : Form::reduction;
    std::vector<std::string> names;
    for (const RegisteredOp *op : library().ops())
        if (op->record.form == form) names.push_back(op->record.name);
    return names;
}

// Adds the samples of every op with kernels that has no line yet.
void add_others(std::vector<ShapeLine> &lines) {
    std::set<std::string> there;
    for (auto &l : lines)
        there.insert(l.op);
    for (const RegisteredOp *op : library().ops()) {
        if (!op->kernels.empty() && !there.count(op->record.name)) {
            for (auto &sample : op->record.samples)
                lines.push_back({op->record.name, sample, "sample"});
        }
    }
}

bool is_heading(const std::string &text) {
    return trimmed(text).starts_with('[');
}

Network network_heading(const std::string &set, int number, const std::string &text) {
    const std::string line = trimmed(text);
    const size_t end = line.find(']');
    const std::string name = end == std::string::npos ? "" : line.substr(1, end - 1);
    const std::string source = end == std::string::npos ? "" : trimmed(line.substr(end + 1));
    if (name.empty() || source.empty()) {
        throw IoError(set, "line " + std::to_string(number) + ": '" + line +
                               "', expected [network] and its source");
    }
    return {set, name, source, {}};
}

}  // namespace

std::vector<Network> networks_of(const std::string &set) {
    std::ifstream file = open_kit_file("shapes", set, "set of shapes");
    std::vector<Network> all;
    int number = 0;
    for (std::string text; std::getline(file, text);) {
        number++;
        if (is_heading(text)) {
            all.push_back(network_heading(set, number, text));
            continue;
        }
        const ShapeLine read = shape_line(set, number, text);
        if (!all.empty() && !read.op.empty()) all.back().layers.push_back(read);
    }
    return all;
}

std::vector<Network> all_networks() {
    std::vector<Network> all;
    for (auto &set : shape_set_names()) {
        for (Network &network : networks_of(set))
            all.push_back(std::move(network));
    }
    return all;
}

std::vector<std::string> shape_set_names() {
    return kit_files("shapes");
}

ShapeLine shape_line(const std::string &name, int number, const std::string &text) {
    const size_t hash = text.find('#');
    const std::string problem = trimmed(text.substr(0, hash));
    const std::string note = hash == std::string::npos ? "" : trimmed(text.substr(hash + 1));
    const size_t space = problem.find(' ');
    if (space == std::string::npos && !problem.empty()) {
        throw IoError(name, "line " + std::to_string(number) + ": '" + problem +
                                "' is no op and its problem");
    }
    return problem.empty()
               ? ShapeLine()
               : ShapeLine{problem.substr(0, space), trimmed(problem.substr(space)), note};
}

std::vector<ShapeLine> shape_set(const std::string &name, const std::string &op) {
    std::ifstream file = open_kit_file("shapes", name, "set of shapes");
    std::vector<ShapeLine> lines;
    int number = 0;
    for (std::string text; std::getline(file, text);) {
        number++;
        if (is_heading(text)) continue;
        const ShapeLine read = shape_line(name, number, text);
        if (read.op.empty()) continue;
        if (read.op == "others" && read.problem == "samples") {
            add_others(lines);
            continue;
        }
        for (auto &name_of_op : ops_of(read.op)) {
            const ShapeLine line{name_of_op, read.problem, read.note};
            const bool repeated = std::any_of(lines.begin(), lines.end(), [&](const ShapeLine &l) {
                return l.op == line.op && l.problem == line.problem;
            });
            if (!repeated) lines.push_back(line);
        }
    }
    if (!op.empty()) std::erase_if(lines, [&](const ShapeLine &l) { return l.op != op; });
    if (lines.empty())
        throw IoError(name, op.empty() ? "has no problems" : "has no problems of " + op);
    return lines;
}

}  // namespace halyard::bench
