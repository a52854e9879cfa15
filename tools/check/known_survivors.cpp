// The list of planted faults that no check can find: tools/check/survivors.txt.
#include <fstream>

#include "tools/check/mutants.h"

namespace halyard::check {

const std::string *reason_for(const std::map<std::string, std::string> &survivors,
                              const Mutant &m) {
    Mutant anywhere = m;
    anywhere.place = "";
    for (const std::string &text : {m.text(), anywhere.text()}) {
        const std::string any_number = text.substr(0, text.rfind(" #")) + " #*";
        const std::string any_call = text.substr(0, text.find(" in '")) + " in *";
        for (const std::string &name : {text, any_number, any_call})
            if (const auto it = survivors.find(name); it != survivors.end()) return &it->second;
    }
    return nullptr;
}

std::map<std::string, std::string> read_survivors(const std::string &path) {
    std::ifstream file(path);
    if (!file) throw IoError(path, "can't be read");
    std::map<std::string, std::string> known;
    int number = 0;
    for (std::string line; std::getline(file, line);) {
        number++;
        if (line.empty() || line[0] == '#') continue;
        const size_t at = line.find(" -- ");
        if (at == std::string::npos) {
            throw IoError(path, "line " + std::to_string(number) + " is '" + line +
                                    "', expected 'op/variant kind: place -- why'");
        }
        known[line.substr(0, at)] = line.substr(at + 4);
    }
    return known;
}

}  // namespace halyard::check
