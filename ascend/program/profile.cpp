#include "ascend/program/profile.h"

#include <sstream>

#include "ascend/program/line.h"
#include "registry/base/error.h"

namespace halyard::dv {

// The texts of ascend/profiles, which the build puts into the library: name, text, ..., nullptr.
extern const char *const profile_texts[];

namespace {

Tag tag_of(Line &line) {
    if (line.eat("DOC")) return Tag::doc;
    if (line.eat("FIT")) return Tag::fit;
    if (line.eat("ASSUMED")) return Tag::assumed;
    line.fail("expected DOC, FIT or ASSUMED");
}

using Profiles = std::map<std::string, Profile>;

const Profile &find(const Profiles &known, const std::string &name) {
    const auto it = known.find(name);
    if (it != known.end()) return it->second;
    std::string names;
    for (const auto &[n, p] : known)
        names += (names.empty() ? "" : ", ") + n;
    throw AttrError("dv", "no profile '" + name + "'; known: " + names);
}

void read(Profile &p, Line &line, const Profiles &known) {
    if (line.eat("base")) {
        const std::string own = p.name;
        p = find(known, line.name());
        p.name = own;
        line.end();
    } else if (line.eat("takes")) {
        auto &types = p.types[line.name()];
        types.clear();
        while (!line.at_end())
            types.insert(dtype_of(line.name()));
    } else if (line.eat("path")) {
        const std::string from = line.name(), to = line.name(), instr = line.name();
        p.paths.insert({name_of(scope_of(from)), name_of(scope_of(to)), instr});
        line.end();
    } else {
        const std::string key = line.name();
        Profile::Constant c;
        c.value = line.number<double>();
        c.tag = tag_of(line);
        c.note = line.rest();
        p.constants[key] = c;
    }
}

Profile parse(const std::string &name, const std::string &text, const Profiles &known) {
    Profile p;
    p.name = name;
    std::istringstream in(text);
    int number = 0;
    for (std::string s; std::getline(in, s);) {
        Line line(s, ++number);
        if (!line.at_end() && line.peek() != '#') read(p, line, known);
    }
    return p;
}

const Profiles &profiles() {
    static const Profiles all = [] {
        Profiles known;  // a base profile comes before those derived from it
        for (const char *const *t = profile_texts; *t; t += 2)
            known.emplace(t[0], parse(t[0], t[1], known));
        return known;
    }();
    return all;
}

}  // namespace

const Profile &Profile::named(const std::string &name) {
    return find(profiles(), name);
}
Profile Profile::parse(const std::string &name, const std::string &text) {
    return dv::parse(name, text, profiles());
}

std::vector<std::string> Profile::names() {
    std::vector<std::string> all;
    for (const auto &[name, p] : profiles())
        all.push_back(name);
    return all;
}

double Profile::at(const std::string &key) const {
    const auto it = constants.find(key);
    if (it == constants.end()) throw AttrError(name, "the profile has no constant '" + key + "'");
    return it->second.value;
}

double Profile::at(const std::string &key, double without) const {
    const auto it = constants.find(key);
    return it == constants.end() ? without : it->second.value;
}

bool Profile::takes(const std::string &instr, DType t) const {
    const auto it = types.find(instr);
    return it != types.end() && it->second.count(t);
}

bool Profile::moves(Scope from, Scope to, const std::string &instr) const {
    return paths.count({name_of(from), name_of(to), instr}) != 0;
}

}  // namespace halyard::dv
