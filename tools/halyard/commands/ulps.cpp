#include "tools/halyard/commands/ulps.h"

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "dsl/kernel_cache.h"
#include "registry/base/error.h"
#include "registry/base/process_pool.h"
#include "tools/check/check.h"
#include "tools/check/ulps.h"

namespace halyard::command {
namespace {
using check::Ulps;
using nlohmann::json;

uint64_t count_of(const std::string &text) {
    if (text == "all") return uint64_t(1) << 32;
    char *end = nullptr;
    const unsigned long long n = std::strtoull(text.c_str(), &end, 10);
    if (text.empty() || *end || n < 1 || n > uint64_t(1) << 32) {
        throw AttrError("check",
                        "--ulps is '" + text + "', expected all or a number of inputs up to 2^32");
    }
    return n;
}

// Returns numbers as their bits, because JSON has no infinity.
json json_of(const Ulps &u) {
    json j = {{"isa", int(u.isa)}, {"dtype", u.dtype},          {"odd", u.odd},
              {"even", u.even},    {"not_odd", u.not_odd},      {"not_even", u.not_even},
              {"falls", u.falls},  {"fall_count", u.fall_count}};
    for (const double v : {u.bound, u.worst, u.x, u.got, u.want})
        j["numbers"].push_back(std::bit_cast<uint64_t>(v));
    return j;
}
Ulps ulps_of(const json &j) {
    Ulps u;
    u.isa = (Isa)j.at("isa").get<int>();
    for (auto [name, flag] : {std::pair{"odd", &u.odd}, {"even", &u.even}})
        j.at(name).get_to(*flag);
    for (auto [name, text] : {std::pair{"dtype", &u.dtype},
                              {"not_odd", &u.not_odd},
                              {"not_even", &u.not_even},
                              {"falls", &u.falls}})
        j.at(name).get_to(*text);
    j.at("fall_count").get_to(u.fall_count);
    size_t k = 0;
    for (double *v : {&u.bound, &u.worst, &u.x, &u.got, &u.want})
        *v = std::bit_cast<double>(j.at("numbers")[k++].get<uint64_t>());
    return u;
}

struct Job {
    std::string op;
    check::UlpJob what;
};

// Returns the jobs for ops that the sweep applies to; many inputs are several jobs.
std::vector<Job> jobs_of(const std::vector<std::string> &names, uint64_t count) {
    std::vector<Job> jobs;
    const int parts = int(std::max<uint64_t>(1, count >> 28));
    for (auto &name : names) {
        const OpPtr op = op_table().make(name);
        if (!op || !check::has_ulps(*op)) continue;
        for (auto &dtype : op->dtypes) {
            if (dtype == "f32") {
                for (int part = 0; part < parts; part++)
                    jobs.push_back({name, {dtype, count, part, parts}});
            } else if (dtype == "f16" || dtype == "bf16")
                jobs.push_back({name, {dtype, 1 << 16, 0, 1}});
        }
    }
    return jobs;
}

// Merges the parts of each op's results, in the order of the jobs, and prints them.
class UlpsResults {
public:
    explicit UlpsResults(const std::vector<Job> &jobs) : jobs_(jobs) {
        std::printf("%-16s %-5s %-9s %10s %7s  %s\n", "op", "dtype", "ISA", "worst ulps", "bound",
                    "where");
    }

    // `text` is a list of json_of().
    void add(size_t i, const std::string &text) {
        for (const json &j : json::parse(text)) {
            const Ulps u = ulps_of(j);
            if (const auto [place, first] = merged_.emplace(u.isa, u); !first) place->second.add(u);
        }
        if (!is_last_part(i)) return;
        for (auto &[isa, u] : merged_)
            print(jobs_[i].op, u);
        merged_.clear();
    }

    void add_failure(size_t i, const std::string &how) {
        lines_++;
        failed_++;
        const check::UlpJob &job = jobs_[i].what;
        std::printf("%-16s %-5s FAIL part %d of %d: %s\n", jobs_[i].op.c_str(), job.dtype.c_str(),
                    job.part + 1, job.parts, how.c_str());
        if (is_last_part(i)) merged_.clear();
    }

    // Returns the exit status.
    int sum_up() const {
        std::printf("%d of %d within their bounds\n", lines_ - failed_, lines_);
        return failed_ ? 1 : 0;
    }

private:
    bool is_last_part(size_t i) const { return jobs_[i].what.part + 1 >= jobs_[i].what.parts; }

    void print(const std::string &op, const Ulps &u) {
        const bool good = u.ok(op);
        lines_++;
        failed_ += !good;
        std::printf("%-16s %-5s %-9s %10.3f %7.3f  %s%s\n", op.c_str(), u.dtype.c_str(),
                    name_of(u.isa), u.worst, u.bound, good ? "" : "FAIL ",
                    u.worst == 0 ? "rounded right" : u.text(op).c_str());
        std::fflush(stdout);
    }

    const std::vector<Job> &jobs_;
    std::map<Isa, Ulps> merged_;  // of the parts so far
    int lines_ = 0, failed_ = 0;
};

}  // namespace

int check_ulps(const std::vector<std::string> &names, const std::string &inputs,
               const std::vector<Isa> &isas, size_t at_once) {
    const std::vector<Job> jobs = jobs_of(names, count_of(inputs));
    if (jobs.empty()) {
        throw AttrError("check", "none of these ops is an elementwise function of one float tensor "
                                 "whose bound is one of ulps");
    }
    UlpsResults results(jobs);
    // If the cache can't be opened, a private one is made here, which the processes then share.
    kernel_cache();
    ProcessPool(at_once).run_in_order(
        jobs.size(),
        [&](size_t i, const ProcessPool::Send &send) {
            const OpPtr op = op_table().make(jobs[i].op);
            check::Options options;
            options.isas = isas;
            json all = json::array();
            for (const Ulps &u : check::ulps_of(*op, jobs[i].what, check::isas_of(*op, options)))
                all.push_back(json_of(u));
            send(all.dump());
        },
        [&](size_t i, const JobResult &result) {
            if (result.has_returned())
                results.add(i, result.text());
            else
                results.add_failure(i, result.description());
        });
    return results.sum_up();
}

}  // namespace halyard::command
