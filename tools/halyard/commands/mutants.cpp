// halyard check --mutants: the share of planted faults that the checks find.
#include "tools/halyard/commands/mutants.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "ascend/simulator/mutate.h"
#include "dsl/mutate.h"
#include "primitives/library.h"
#include "registry/base/atomic_file.h"
#include "registry/base/program.h"
#include "tools/check/mutants.h"

namespace halyard::command {
namespace {
namespace fs = std::filesystem;
using check::Mutant;

std::map<std::string, std::string> known_survivors() {  // installed with the command
    return check::read_survivors(installed("share/halyard/survivors.txt"));
}

void show_progress(size_t done, size_t all, const std::string &doing) {
    if (!isatty(STDERR_FILENO)) {
        constexpr size_t lines = 20;  // in a log
        if (all >= lines && lines * done / all > lines * (done - 1) / all)
            std::fprintf(stderr, "%zu of %zu: %.90s\n", done, all, doing.c_str());
        return;
    }
    constexpr size_t width = 30;
    const size_t full = width * done / all;
    std::fprintf(stderr, "\r\033[K[%s%s] %zu/%zu %.90s", std::string(full, '=').c_str(),
                 std::string(width - full, ' ').c_str(), done, all, doing.c_str());
    if (done == all) std::fprintf(stderr, "\r\033[K");
}

struct Tally {
    int planted = 0, equivalent = 0, unreached = 0, caught = 0;
    // The faults that a check could find.
    int findable() const { return planted - equivalent - unreached; }
    // The share of them that was caught, in percent.
    double share() const { return findable() > 0 ? 100.0 * caught / findable() : 100; }
    // check -> how many it finds, independently of the others
    std::map<std::string, int> by;
};

void print_row(const std::string &name, const Tally &t, const std::vector<std::string> &checks) {
    std::printf("%-18s %7d %10d %9d %7d %6.1f%%", name.c_str(), t.planted, t.equivalent,
                t.unreached, t.caught, t.share());
    for (auto &c : checks) {
        const auto it = t.by.find(c);
        std::printf(" %*s", int(std::max<size_t>(c.size(), 5)),
                    it == t.by.end() ? "-" : std::to_string(it->second).c_str());
    }
    std::printf("\n");
}

bool was_planted(const Mutant &m) {
    return m.status == Mutant::caught || m.status == Mutant::survived ||
           m.status == Mutant::equivalent || m.status == Mutant::unreached;
}

// Prints a line for each kind of fault: planted, caught, and how many each check finds on its own.
// Returns the sum of all kinds.
Tally print_table(const std::vector<Mutant> &mutants) {
    std::map<std::string, Tally> kinds;
    Tally all;
    std::vector<std::string> checks;
    const auto has = [&](const std::string &c) {
        return std::find(checks.begin(), checks.end(), c) != checks.end();
    };
    std::vector<std::string> order;
    for (auto &[name, check] : check::all_checks)
        order.push_back(name);
    order.insert(order.end(), {"ascend", "search", "crash", "hang"});
    for (auto &c : order) {
        for (auto &m : mutants) {
            if (!has(c) &&
                std::find(m.caught_by.begin(), m.caught_by.end(), c) != m.caught_by.end())
                checks.push_back(c);
        }
    }
    for (auto &m : mutants) {
        if (!was_planted(m)) continue;
        for (Tally *t : {&kinds[m.kind()], &all}) {
            t->planted++;
            t->equivalent += m.status == Mutant::equivalent;
            t->unreached += m.status == Mutant::unreached;
            t->caught += m.status == Mutant::caught;
            for (auto &c : m.caught_by)
                t->by[c]++;
        }
    }
    std::printf("%-18s %7s %10s %9s %7s %7s", "fault", "planted", "equivalent", "unreached",
                "caught", "share");
    for (auto &c : checks)
        std::printf(" %5s", c.c_str());
    std::printf("\n");
    for (auto &kind : fault_kinds())
        if (kinds.count(kind.name)) print_row(kind.name, kinds[kind.name], checks);
    for (auto &[kind, what] : dv::fault_kinds()) {
        const bool printed = std::ranges::any_of(
            fault_kinds(), [&](const FaultKind &k) { return k.name == kind; });
        if (!printed && kinds.count(kind)) print_row(kind, kinds[kind], checks);
    }
    print_row("all", all, checks);
    return all;
}

void save(const std::string &path, const MutantArguments &a, Isa isa,
          const std::vector<Mutant> &mutants) {
    nlohmann::ordered_json list = nlohmann::json::array();
    for (auto &m : mutants) {
        list.push_back({{"op", m.op},
                        {"variant", m.variant},
                        {"place", m.place},
                        {"kind", m.kind()},
                        {"fault", m.fault},
                        {"fate", name_of(m.status)},
                        {"reached", m.reached},
                        {"caught_by", m.caught_by},
                        {"said", m.output}});
    }
    write_file(path,
               nlohmann::ordered_json{
                   {"isa", name_of(isa)}, {"seed", a.seed}, {"per_op", a.per_op}, {"mutants", list}}
                       .dump(1) +
                   "\n",
               Durability::to_system);
}

// Returns what is known about the place of a survivor.
std::string what_executes(const Mutant &m) {
    if (!m.on_cpu()) return "the reason is not known";
    if (!m.reached) return "no check executes it";
    return m.output.empty() ? "checks execute it" : "executed by '" + m.output + "'";
}

// Marks a survivor that survivors.txt has as equivalent, and prints the mutant if it is of
// interest: a survivor, or one that was asked for.
void judge_mutant(Mutant &m, const std::map<std::string, std::string> &known,
                  const MutantArguments &a) {
    const std::string *reason = check::reason_for(known, m);
    const bool survived = m.status == Mutant::survived || m.status == Mutant::unreached;
    if (survived && reason) {
        m.status = Mutant::equivalent;
        m.output = *reason;
    }
    const std::string text = m.text();
    if (m.status == Mutant::caught && reason)
        std::printf("caught, although survivors.txt lists it: %s\n", text.c_str());
    if (!a.only.empty())
        std::printf("%s: %s %s\n", text.c_str(), name_of(m.status), m.output.c_str());
    else if (m.status == Mutant::equivalent || m.status == Mutant::unreached)
        std::printf("%s: %s\n    %s\n", name_of(m.status), text.c_str(), m.output.c_str());
    if (m.status != Mutant::survived) return;
    std::printf("survived: %s\n    %s; repeat: halyard check --mutant \"%s\"%s\n", text.c_str(),
                what_executes(m).c_str(), text.c_str(), a.repro_options.c_str());
}

size_t count_of(const std::vector<Mutant> &mutants, Mutant::Status status) {
    return size_t(std::ranges::count(mutants, status, &Mutant::status));
}

void print_summary(const std::vector<Mutant> &mutants, const check::MutantOptions &o) {
    const Tally all = print_table(mutants);
    std::set<std::string> tried;
    for (auto &m : mutants)
        tried.insert(m.op);
    std::printf(
        "%zu ops on %s: %d faults planted, %d of them equivalent to none "
        "(reasons in survivors.txt), %d at places that no call was found to execute or use\n",
        tried.size(),
        o.programs     ? "Ascend"
        : o.cuda       ? "CUDA"
        : o.everywhere ? "all dtypes and instruction sets, and on Ascend"
                       : name_of(o.isa),
        all.planted, all.equivalent, all.unreached);
    std::printf("%d of the other %d caught, %.1f %%; %.1f %% of all planted; %zu survived\n",
                all.caught, all.findable(), all.share(),
                all.planted ? 100.0 * all.caught / all.planted : 0,
                count_of(mutants, Mutant::survived));
    std::printf("not counted: %zu of the same code, %zu refused by the compiler\n",
                count_of(mutants, Mutant::same_code), count_of(mutants, Mutant::refused));
}

}  // namespace

int check_mutants(const std::vector<std::string> &ops, const MutantArguments &a,
                  const std::vector<Isa> &isas) {
    check::MutantOptions o;
    o.everywhere = isas.empty();
    o.ops = ops;
    o.per_op = a.per_op;
    o.seed = a.seed;
    o.at_once = a.at_once;
    o.only = a.only;
    o.isa = isas.empty() ? host_isa() : isas.back();
    o.on_progress = show_progress;
    o.in_all = a.in_all;
    o.until_caught = a.until_caught;
    o.programs = a.programs;
    o.cuda = a.cuda;
    const std::map<std::string, std::string> known = known_survivors();
    std::vector<Mutant> mutants = check::try_mutants(o);
    for (auto &m : mutants)
        judge_mutant(m, known, a);
    if (a.only.empty()) print_summary(mutants, o);
    if (!a.json.empty()) save(a.json, a, o.isa, mutants);
    return count_of(mutants, Mutant::survived) ? 1 : 0;
}

}  // namespace halyard::command
