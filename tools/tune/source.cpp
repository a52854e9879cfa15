// Translates the autoschedulers' C++ to the names in an op's file.
#include <cctype>
#include <set>
#include <sstream>

#include "dsl/name_counters.h"
#include "tools/tune/autoscheduler.h"

namespace halyard::tune {
namespace {

bool in_word(char c) {
    return std::isalnum((unsigned char)c) || c == '_' || c == '$';
}

template<class F> std::string with_words(const std::string &text, F f) {
    std::string out;
    for (size_t i = 0; i < text.size();) {
        size_t end = i;
        while (end < text.size() && in_word(text[end]))
            end++;
        if (end == i)
            out += text[i++];
        else {
            out += f(text.substr(i, end - i), i > 0 ? text[i - 1] : ' ');
            i = end;
        }
    }
    return out;
}

std::string with(std::string s, char from, char to) {
    for (char &c : s)
        if (c == from) c = to;
    return s;
}

}  // namespace

// An op's members are named after its tensors and its Funcs.
OpWords::OpWords(const Kernel &k) {
    std::vector<Halide::Internal::Function> roots;
    for (const Halide::Func &f : k.pipeline.outputs())
        roots.push_back(f.function());
    for (auto &[name, stage] : Halide::Internal::build_environment(roots)) {
        const std::string member = without_counters(name);
        members_[name] = members_[with(name, '$', '_')] = member;
    }
    for (size_t i = 0; i < k.op->in.size(); i++) {
        const std::string name = k.op->in[i].name();
        members_[name] = members_[with(name, '$', '_')] = k.op->sig.inputs[i].name;
    }
    for (size_t o = 0; o < k.op->out.size(); o++) {
        const std::string name = k.op->out[o].name();
        members_[name] = members_[with(name, '$', '_')] = k.op->sig.outputs[o].name;
    }
    for (auto &[name, stage] : Halide::Internal::build_environment(roots)) {
        for (size_t u = 0; u < stage.updates().size(); u++) {
            const auto &rvars = stage.update(int(u)).schedule().rvars();
            for (size_t r = 0; r < rvars.size(); r++) {
                loops_.emplace(rvars[r].var, "RVar " + with(rvars[r].var, '$', '_') + "(" +
                                                 members_[name] + ".update(" + std::to_string(u) +
                                                 ").get_schedule().rvars()[" + std::to_string(r) +
                                                 "].var);\n");
            }
        }
    }
}

namespace {

// Returns the plugin's lines with declarations of new Funcs, without those that look up Funcs.
// Adds the names of declared Vars to `declared`.
std::string with_declared_funcs(const std::string &source, std::set<std::string> &declared) {
    std::string text;
    std::istringstream lines(source);
    for (std::string line; std::getline(lines, line);) {
        if (line.find("get_func(") != std::string::npos ||
            line.find("get_pipeline(") != std::string::npos)
            continue;
        if (const size_t at = line.find("Var ");
            at != std::string::npos && line.find_first_not_of(" R") >= at) {
            const size_t end = line.find_first_of("( =", at + 4);
            declared.insert(line.substr(at + 4, end - at - 4));
        }
        const size_t stage = line.find(" = ");  // from rfactor()
        text += (stage != std::string::npos && line.find_first_of(" (") == stage ? "Func " : "") +
                line + "\n";
    }
    return text;
}

// Returns a declaration of a Var or RVar that the plugin made, such as v12, or "" for other words.
// li2018 declares none of them.
std::string declaration_of(const std::string &word) {
    const bool is_numbered = word.size() > 1 &&
                             word.find_first_not_of("0123456789", 1) == std::string::npos;
    if (!is_numbered || (word[0] != 'v' && word[0] != 'r')) return "";
    return std::string(word[0] == 'r' ? "R" : "") + "Var " + word + "(\"" + word + "\");\n";
}

}  // namespace

std::string OpWords::of(const std::string &source) const {
    static const std::set<std::string> tails = {
        "RoundUp",         "GuardWithIf",  "Predicate", "PredicateLoads",
        "PredicateStores", "ShiftInwards", "Auto"};
    std::string declarations;
    std::set<std::string> declared;
    const std::string text = with_words(
        with_declared_funcs(source, declared), [&](const std::string &word, char before) {
            if (before == '"') return word;
            if (word == "TailStrategy") return std::string("Tail");
            if (word == "MemoryType" && before != ':') return std::string("Halide::MemoryType");
            if (tails.count(word) && before != ':') return "Tail::" + word;
            if (const auto at = members_.find(word); at != members_.end() && before != '.')
                return at->second;
            if (const auto at = loops_.find(word);
                at != loops_.end() && declared.insert(word).second)
                declarations += at->second;
            const std::string declaration = declaration_of(word);
            if (!declaration.empty() && declared.insert(word).second) declarations += declaration;
            return with(word, '$', '_');
        });
    return declarations + text;
}

}  // namespace halyard::tune
