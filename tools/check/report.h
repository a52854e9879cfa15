// Report: the checks of one op and their failures.
#pragma once
#include <string>
#include <vector>

namespace halyard::check {

// A failure is one line that names the kernel and the sample. Further lines say how to repeat it
// and what may help.
struct Report {
    std::string op, check;  // check: "reference", "exact", ...; "" for all of them together
    int passed = 0, failed = 0, skipped = 0;
    double seconds = 0;
    std::vector<std::string> failures, notes;
    // The kind of each failure: failures of a kind differ only in numbers and places.
    std::vector<std::string> kinds;
    std::vector<Report> checks;  // its parts, in the order in which they ran

    void pass() { passed++; }
    // Count a failure; the second form prefixes it with the place.
    void fail(const std::string &what);
    void fail(const std::string &where, const std::string &what);
    void skip(const std::string &why);  // counted, and noted once
    // Counts a pass if `error` is empty, else a failure.
    void expect(const std::string &where, const std::string &error) {
        error.empty() ? pass() : fail(where, error);
    }
    bool has_kind(const std::string &error) const;  // true if this check has such a failure
    // Adds the counts and texts of a part, and keeps it in `checks`.
    void add(const Report &part);
    void require_a_pass();  // fails if nothing passed and nothing failed
};

// Returns what errors of one kind have in common: the first line, without its numbers.
std::string failure_kind(const std::string &error);

}  // namespace halyard::check
