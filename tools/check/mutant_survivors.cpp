#include "tools/check/mutant_survivors.h"

#include <algorithm>
#include <csignal>
#include <functional>
#include <map>

namespace halyard::check {
namespace {

// Returns the indices of the surviving kernels of the CPU whose places a call is known to execute,
// or, without `reached`, of the others.
std::vector<size_t> survivors_on_cpu(const std::vector<Choice> &chosen,
                                     const std::vector<Mutant> &all, bool reached) {
    std::vector<size_t> indices;
    for (size_t i = 0; i < all.size(); i++) {
        if (all[i].status == Mutant::survived && all[i].reached == reached &&
            chosen[i].kernel.backend == "cpu")
            indices.push_back(i);
    }
    return indices;
}

// Finds for every survivor whether the checks execute its place: a program that aborts there must
// end them.
void find_reached(const std::vector<Choice> &chosen, const MutantOptions &o,
                  std::vector<Mutant> &all) {
    const std::vector<size_t> survivors = survivors_on_cpu(chosen, all, false);
    pool_of(o).run(
        survivors.size(),
        [&](size_t i, const ProcessPool::Send &send) {
            MutantRunner(chosen[survivors[i]], o, true, send).reach(all[survivors[i]].fault);
        },
        [&](size_t i, const JobResult &r) {
            Mutant &m = all[survivors[i]];
            m.reached = r.signal == SIGABRT;
            if (!m.reached || !m.compares_one_number) return;
            m.status = Mutant::equivalent;
            m.output = "checks compare equal numbers there, and the results are within the "
                       "contract";
        });
}

// Finds survivors that change numbers which no call uses: large numbers in their place aren't found
// either. They become `unreached`.
void find_unused(const std::vector<Choice> &chosen, const MutantOptions &o,
                 std::vector<Mutant> &all) {
    const std::vector<size_t> survivors = survivors_on_cpu(chosen, all, true);
    pool_of(o).run(
        survivors.size(),
        [&](size_t i, const ProcessPool::Send &send) {
            MutantRunner(chosen[survivors[i]], o, true, send).spoil(all[survivors[i]].fault);
        },
        [&](size_t i, const JobResult &r) {
            if (std::ranges::count(r.messages, "unused") == 0) return;
            Mutant &m = all[survivors[i]];
            m.status = Mutant::unreached;
            m.output = "no check finds 2^60 or -2^60 in the place of the number that it changes";
        });
}

// Returns what follows the last message that begins with `word`; "" if there is none.
std::string last_message(const JobResult &r, const std::string &word) {
    const auto last = std::find_if(
        r.messages.rbegin(), r.messages.rend(),
        [&](const std::string &line) { return line.starts_with(word + " "); });
    return last == r.messages.rend() ? "" : last->substr(word.size() + 1);
}

// Random calls that execute the place of a survivor.
struct FoundCalls {
    std::vector<std::string> calls;  // one for each seed with which one was found
    std::string made;                // how many calls were made in vain with the last seed
};

// Makes random calls of these survivors with each of so many seeds, until one executes the place.
std::map<size_t, FoundCalls> find_calls(const std::vector<Choice> &chosen, const MutantOptions &o,
                                        const std::vector<Mutant> &all,
                                        const std::vector<size_t> &survivors, unsigned seeds) {
    std::map<size_t, FoundCalls> found;
    pool_of(o).run(
        survivors.size() * seeds,
        [&](size_t i, const ProcessPool::Send &send) {
            const size_t survivor = survivors[i / seeds];
            MutantRunner(chosen[survivor], o, send)
                .search(all[survivor].fault, o.search_calls, o.search_seconds / seeds,
                        search_seed + unsigned(i % seeds));
        },
        [&](size_t i, const JobResult &r) {
            FoundCalls &f = found[survivors[i / seeds]];
            if (r.signal == SIGABRT)
                f.calls.push_back(last_message(r, "call"));
            else
                f.made = last_message(r, "calls");
        });
    return found;
}

// Makes a trial of each of these survivors. What it sends as "caught ..." is a finding of `name`,
// and so is a crash after a "check ...".
void try_again(const std::vector<size_t> &survivors, const MutantOptions &o,
               std::vector<Mutant> &all, const std::string &name,
               const std::function<void(size_t survivor, const ProcessPool::Send &)> &trial) {
    pool_of(o).run(
        survivors.size(),
        [&](size_t i, const ProcessPool::Send &send) { trial(survivors[i], send); },
        [&](size_t i, const JobResult &r) {
            const std::string found = last_message(r, "caught");
            const std::string checking = last_message(r, "check");
            const bool has_crashed = r.ending == JobResult::Ending::died && !checking.empty();
            if (found.empty() && !has_crashed) return;
            Mutant &m = all[survivors[i]];
            m.status = Mutant::caught;
            m.caught_by.push_back(name);
            m.output = found.empty() ? r.how + " in check " + checking : found;
        });
}

// Searches a call that executes the place of each survivor that no check reaches. One for which
// there is none becomes `unreached`.
void search_calls(const std::vector<Choice> &chosen, const MutantOptions &o,
                  std::vector<Mutant> &all) {
    const std::vector<size_t> survivors = survivors_on_cpu(chosen, all, false);
    for (auto &[survivor, found] : find_calls(chosen, o, all, survivors, 1)) {
        Mutant &m = all[survivor];
        m.reached = !found.calls.empty();
        if (m.reached) {
            m.output = found.calls[0];
        } else if (!found.made.empty()) {
            m.status = Mutant::unreached;
            m.output = "none of " + found.made + " random calls of the kernel executes its place";
        }
    }
}

// Tries the survivors whose places are executed with calls that execute them, with many values and
// under the sanitizers, which see races and accesses out of bounds that leave the results right.
// Then it makes more random calls.
void try_harder(const std::vector<Choice> &chosen, const MutantOptions &o,
                std::vector<Mutant> &all) {
    constexpr unsigned seeds = 6;
    const std::map<size_t, FoundCalls> found = find_calls(
        chosen, o, all, survivors_on_cpu(chosen, all, true), seeds);
    const auto runner = [&](size_t i, const ProcessPool::Send &send) {
        return MutantRunner(chosen[i], o, true, send);
    };
    try_again(survivors_on_cpu(chosen, all, true), o, all, search_check,
              [&](size_t i, const ProcessPool::Send &send) {
                  runner(i, send).repeat(all[i].fault, found.at(i).calls);
              });
    try_again(survivors_on_cpu(chosen, all, true), o, all, sanitizers,
              [&](size_t i, const ProcessPool::Send &send) {
                  runner(i, send).sanitize(all[i].fault, found.at(i).calls);
              });
    try_again(survivors_on_cpu(chosen, all, true), o, all, search_check,
              [&](size_t i, const ProcessPool::Send &send) {
                  runner(i, send).compare(all[i].fault, o.search_seconds);
              });
}

}  // namespace

void try_survivors(const std::vector<Choice> &chosen, const MutantOptions &o,
                   std::vector<Mutant> &all) {
    find_reached(chosen, o, all);
    find_unused(chosen, o, all);
    search_calls(chosen, o, all);
    try_harder(chosen, o, all);
}

}  // namespace halyard::check
