// Report: what was checked of one op, and what was found.
#pragma once
#include <string>
#include <vector>

namespace halyard::check {

// A failure is one line that names the kernel and the sample; lines under it say how to repeat it,
// and what may help.
struct Report {
    std::string op, check;  // check: "reference", "exact", ...; "" for all of them together
    int passed = 0, failed = 0, skipped = 0;
    double seconds = 0;
    std::vector<std::string> failures, notes;
    // of each failure: those of one kind differ in numbers and in where they were met
    std::vector<std::string> summary;
    std::vector<Report> checks;  // what it consists of, in the order in which they ran

    void pass() { passed++; }
    void fail(const std::string &what);
    void fail(const std::string &where, const std::string &what);
    void skip(const std::string &why);  // counted, and noted once
    void expect(const std::string &where, const std::string &error) {
        error.empty() ? pass() : fail(where, error);
    }
    bool has_kind(const std::string &error) const;  // Has this check failed so before?
    void add(const Report &part);
    void require_a_pass();  // fails where nothing else did and nothing passed either
};

// What errors of one kind have in common: the first line, without its numbers.
std::string failure_kind(const std::string &error);

}  // namespace halyard::check
