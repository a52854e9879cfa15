#include "tools/check/mutants.h"

#include <algorithm>
#include <fstream>
#include <random>
#include <sstream>

#include "dsl/all_ops.h"
#include "dsl/kernel.h"
#include "dsl/mutate.h"
#include "primitives/library.h"
#include "registry/parallel.h"
#include "tools/check/children.h"

namespace halyard::check {
namespace {

using Faults = std::vector<std::string>;

Instance instance_of(const KernelEntry &k, const std::string &fault = "") {
    Instance i;
    i.dtypes = k.dtypes, i.variant = k.variant, i.isa = k.isa, i.fault = fault;
    return i;
}

// The kernels that get faults: of every op those of its first dtypes.
std::vector<KernelEntry> subjects(const MutantOptions &o) {
    std::vector<KernelEntry> all;
    for (auto &name : o.ops)
        for (const KernelEntry &k : library().at(name).kernels)
            if (k.backend == "cpu" && k.isa == o.isa && k.dtypes == library().at(name).record.dtypes[0]) all.push_back(k);
    return all;
}

// A fault to plant, and others of its kind in the same kernel, for when the compiler makes the same code of the first.
struct Choice {
    KernelEntry kernel;
    Faults candidates;
};

// Which faults: op by op, each time of the kind that has been planted least so far, anywhere in the op's kernels.
class Chooser {
public:
    Chooser(const std::vector<KernelEntry> &kernels, const std::vector<Faults> &faults, unsigned seed) : rng_(seed) {
        for (size_t k = 0; k < kernels.size(); k++)
            for (auto &f : faults[k]) left_[kernels[k].op][kind_of(f)].push_back({kernels[k], {f}});
    }
    std::vector<Choice> choose(const std::vector<std::string> &ops, int per_op) {
        std::vector<Choice> chosen;
        for (int round = 0; round < per_op; round++)
            for (auto &op : ops)
                if (const auto it = left_.find(op); it != left_.end() && !it->second.empty()) chosen.push_back(next(it->second));
        return chosen;
    }

private:
    static constexpr size_t most_candidates = 8;
    using ByKind = std::map<std::string, std::vector<Choice>>;

    Choice next(ByKind &kinds) {
        std::vector<std::string> least;
        for (auto &[kind, places] : kinds) {
            if (!least.empty() && planted_[kind] > planted_[least[0]]) continue;
            if (!least.empty() && planted_[kind] < planted_[least[0]]) least.clear();
            least.push_back(kind);
        }
        const std::string kind = least[rng_() % least.size()];
        planted_[kind]++;
        std::vector<Choice> &places = kinds[kind];
        Choice c = taken(places, rng_() % places.size());
        for (size_t tries = places.size(); tries-- > 0 && c.candidates.size() < most_candidates;) {
            const size_t at = rng_() % places.size();
            if (places[at].kernel.variant == c.kernel.variant) c.candidates.push_back(taken(places, at).candidates[0]);
        }
        if (places.empty()) kinds.erase(kind);
        return c;
    }
    static Choice taken(std::vector<Choice> &places, size_t at) {
        std::swap(places[at], places.back());
        const Choice c = places.back();
        places.pop_back();
        return c;
    }

    std::mt19937 rng_;
    std::map<std::string, ByKind> left_;
    std::map<std::string, int> planted_;
};

std::string bytes_of_file(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(file)), {});
}

std::string one_line(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
}

// In a child: compiles, puts the faulted kernel in the place of the right one, runs the checks. What it says: "fault ..." for what it
// tries, "same" or "compiled", "check ..." before each check and "caught ..." after one that failed.
void judge(const Choice &c, const Say &say) {
    set_threads(2);
    const auto kernel = [&](const std::string &fault) { return Kernel(op_table().make(c.kernel.op), instance_of(c.kernel, fault)); };
    const std::string symbol = instance_of(c.kernel).symbol(c.kernel.op), right = bytes_of_file(kernel("").object(symbol));
    for (auto &fault : c.candidates) {
        say("fault " + fault);
        Kernel k = kernel(fault);
        try {
            if (bytes_of_file(k.object(symbol)) == right) {
                say("same");
                continue;
            }
        } catch (const Error &e) { return say("refused " + one_line(e.what())); }
        KernelEntry entry = c.kernel;
        entry.fn = k.load();
        library().replace_kernel(entry);
        say("compiled");
        Options o;
        o.isas = {c.kernel.isa}, o.dtypes = c.kernel.dtypes, o.variant = c.kernel.variant, o.fault = fault, o.shrink_seconds = 0;
        for (auto &[name, check] : all_checks) {
            if (name == "device" || name == "legality" || (c.kernel.dtypes != "f64" && (name == "gradients" || name == "adjoints"))) continue;  // other kernels
            say("check " + name);
            Report r;
            r.op = c.kernel.op;
            try {
                check(*k.op, o, r);
            } catch (const std::exception &e) { r.fail(std::string("threw ") + e.what()); }
            if (r.failed) say("caught " + name + ": " + one_line(r.failures[0]));
        }
        return;
    }
}

Mutant verdict(const Choice &c, const ChildResult &r) {
    Mutant m{c.kernel.op, c.kernel.variant, c.candidates[0], Mutant::survived, {}, ""};
    std::stringstream lines(r.text);
    bool compiled = false;
    std::string checking;
    for (std::string line; std::getline(lines, line);) {
        const std::string word = line.substr(0, line.find(' ')), rest = line.substr(std::min(line.size(), word.size() + 1));
        if (word == "fault") m.fault = rest, m.fate = Mutant::survived;
        else if (word == "same") m.fate = Mutant::same_code;
        else if (word == "refused") m.fate = Mutant::refused, m.said = rest;
        else if (word == "compiled") compiled = true;
        else if (word == "check") checking = rest;
        else if (word == "caught") {
            m.fate = Mutant::caught;
            m.caught_by.push_back(rest.substr(0, rest.find(':')));
            if (m.said.empty()) m.said = rest.substr(rest.find(':') + 2);
        }
    }
    if (r.died.empty()) return m;
    if (!compiled) {
        m.fate = Mutant::refused, m.said = "the compiler: " + r.died;
        return m;
    }
    m.fate = Mutant::caught;
    m.caught_by.push_back(r.died.starts_with("signal") ? "crash" : r.died.starts_with("no end") ? "hang" : "exit");
    if (m.said.empty()) m.said = r.died + " in check " + checking;
    return m;
}

Choice parsed(const std::string &text, const std::vector<KernelEntry> &kernels) {  // a Mutant::text()
    for (auto &k : kernels) {
        const std::string before = Mutant{k.op, k.variant, "", Mutant::survived, {}, ""}.text();
        if (text.starts_with(before)) return {k, {text.substr(before.size())}};
    }
    throw AttrError("check", "no kernel for the fault '" + text + "'");
}

std::vector<Choice> choices(const MutantOptions &o) {
    const std::vector<KernelEntry> kernels = subjects(o);
    if (!o.only.empty()) {
        std::vector<Choice> chosen;
        for (auto &text : o.only) chosen.push_back(parsed(text, kernels));
        return chosen;
    }
    std::vector<Faults> faults(kernels.size());
    const auto list = [&](size_t i, const Say &say) {
        Kernel k(op_table().make(kernels[i].op), instance_of(kernels[i]));
        for (auto &f : faults_of(k)) say(f);
    };
    size_t listed = 0;
    in_children(kernels.size(), o.at_once, o.seconds, list, [&](size_t i, const ChildResult &r) {
        if (!r.died.empty()) throw Error(kernels[i].op, "its faults can't be listed: " + r.died);
        std::stringstream lines(r.text);
        for (std::string line; std::getline(lines, line);) faults[i].push_back(line);
        if (o.on_progress) o.on_progress(++listed, kernels.size(), "places in " + kernels[i].op);
    });
    return Chooser(kernels, faults, o.seed).choose(o.ops, o.per_op);
}

}  // namespace

std::string Mutant::kind() const { return kind_of(fault); }

const char *name_of(Mutant::Fate fate) {
    switch (fate) {
    case Mutant::caught: return "caught";
    case Mutant::survived: return "survived";
    case Mutant::equivalent: return "equivalent";
    case Mutant::same_code: return "same code";
    case Mutant::refused: break;
    }
    return "refused";
}

std::vector<Mutant> try_mutants(const MutantOptions &o) {
    if (op_table().names().empty()) list_all_ops(op_table());
    const std::vector<Choice> chosen = choices(o);
    std::vector<Mutant> all(chosen.size());
    size_t tried = 0;
    in_children(
        chosen.size(), o.at_once, o.seconds, [&](size_t i, const Say &say) { judge(chosen[i], say); },
        [&](size_t i, const ChildResult &r) {
            all[i] = verdict(chosen[i], r);
            if (o.on_progress) o.on_progress(++tried, chosen.size(), all[i].text());
        });
    return all;
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
        if (at == std::string::npos) throw IoError(path, "line " + std::to_string(number) + " is '" + line + "', expected 'op/variant kind: place -- why'");
        known[line.substr(0, at)] = line.substr(at + 4);
    }
    return known;
}

}  // namespace halyard::check
