#include "tools/halyard/rejections.h"

#include <cstdio>
#include <fstream>
#include <map>
#include <set>

#include "registry/base/error.h"

namespace halyard::command {
namespace {

constexpr const char *of_the_chip = "no Ascend kernels for ";

// Returns the notes of a report as "op dtypes" and the reason. Counts in `lacking` those that the
// chip's dtypes explain.
std::map<std::string, std::string> refusals_of(const check::Report &r, int &lacking) {
    std::map<std::string, std::string> all;
    for (const std::string &note : r.notes) {
        const size_t colon = note.find(": ");
        if (colon == std::string::npos) continue;  // a composite op's note
        if (note.find(of_the_chip) != std::string::npos)
            lacking++;
        else
            all.emplace(r.op + " " + note.substr(0, colon), note.substr(colon + 2));
    }
    return all;
}

}  // namespace

std::map<std::string, std::string> read_rejections(const std::string &path) {
    std::ifstream file(path);
    if (!file) throw IoError(path, "can't be read");
    std::map<std::string, std::string> all;
    int number = 0;
    for (std::string line; std::getline(file, line);) {
        number++;
        if (line.empty() || line[0] == '#') continue;
        const size_t colon = line.find(": ");
        if (colon == std::string::npos) {
            throw IoError(path, "line " + std::to_string(number) + " is '" + line +
                                    "', expected 'op dtypes: why'");
        }
        all[line.substr(0, colon)] = line.substr(colon + 2);
    }
    return all;
}

int judge_rejections(const check::CheckRun &run, const std::string &list, bool all) {
    std::map<std::string, std::string> refused;
    std::set<std::string> checked;
    int lacking = 0;
    for (const check::Report &r : run.reports) {
        refused.merge(refusals_of(r, lacking));
        checked.insert(r.op);
    }
    std::printf("%zu pairs of op and dtypes have calls without a program", refused.size());
    if (lacking > 0) std::printf("; %d more have dtypes that the chip lacks", lacking);
    std::printf("\n");
    if (list.empty()) return 0;
    const std::map<std::string, std::string> known = read_rejections(list);
    int failures = 0;
    for (auto &[name, why] : refused) {
        if (!known.count(name)) {
            std::printf("    refused, and not in %s: %s: %s\n", list.c_str(), name.c_str(),
                        why.c_str());
            failures++;
        }
    }
    for (auto &[name, why] : known) {
        if (all && checked.count(name.substr(0, name.find(' '))) && !refused.count(name)) {
            std::printf("    has programs for all samples, delete its line from %s: %s\n",
                        list.c_str(), name.c_str());
            failures++;
        }
    }
    return failures;
}

}  // namespace halyard::command
