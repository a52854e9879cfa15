#include "bench/harness/suite_file.h"

#include <sstream>

#include "bench/harness/kit_file.h"
#include "bench/harness/op_call.h"
#include "registry/base/error.h"

namespace halyard::bench {
namespace {

double goal(const std::string &file, int number, const std::string &text) {
    std::istringstream in(text);
    double value = 0;
    if (in >> value && in.eof() && value > 0) return value;
    throw IoError(file,
                  "line " + std::to_string(number) + ": '" + text + "' is no positive number");
}

SuiteGroup heading(const std::string &file, int number, const std::string &line) {
    SuiteGroup g;
    const size_t end = line.find(']');
    if (end == std::string::npos)
        throw IoError(file, "line " + std::to_string(number) + ": no ']' after the group's title");
    g.title = line.substr(1, end - 1);
    std::istringstream words(line.substr(end + 1));
    for (std::string word; words >> word;) {
        const auto [key, value] = assignment(file, word);
        if (key == "ratio")
            g.ratio = goal(file, number, value);
        else if (key == "roof")
            g.roof = goal(file, number, value);
        else if (key == "dtype")
            g.dtype = value;
        else {
            throw IoError(file, "line " + std::to_string(number) +
                                    ": a group has ratio, roof and dtype, no '" + key + "'");
        }
    }
    return g;
}

}  // namespace

std::vector<SuiteGroup> suite(const std::string &name) {
    std::ifstream file = open_kit_file("suites", name, "suite");
    std::vector<SuiteGroup> groups;
    int number = 0;
    for (std::string text; std::getline(file, text);) {
        number++;
        if (const std::string line = trimmed(text.substr(0, text.find('#')));
            line.starts_with('[')) {
            groups.push_back(heading(name, number, line));
            continue;
        }
        const ShapeLine line = shape_line(name, number, text);
        if (line.op.empty()) continue;
        if (groups.empty()) {
            throw IoError(name, "line " + std::to_string(number) +
                                    ": a problem before the first [group]");
        }
        groups.back().lines.push_back(line);
    }
    return groups;
}

}  // namespace halyard::bench
