// Issues: the errors (E-...) and warnings (W-...) that checks find. Their texts name the
// instruction, its source, the buffer and the sizes.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace halyard::dv {

struct IssueKind {
    const char *id, *what;
};
inline constexpr IssueKind issue_kinds[] = {
    {"E-CAP", "a memory is full"},
    {"E-ALIGN", "an address or a length"},
    {"E-OOB", "outside a buffer or a tensor"},
    {"E-UNINIT", "read before it is written"},
    {"E-STRIDE", "a stride or a gap"},
    {"E-REPEAT", "a count"},
    {"E-MASK", "a mask"},
    {"E-PATH", "no such route"},
    {"E-TYPE", "a type the chip lacks"},
    {"E-FRACTAL", "not whole fractals"},
    {"E-RACE", "accesses in no order"},
    {"E-FLAG", "a flag's use"},
    {"E-XCORE", "two blocks write one byte"},
    {"E-EMIT", "a language can't say it"},
    {"W-BANK", "banks of ubuf clash"},
    {"W-SMALLDMA", "a move of less than 16 KB"},
    {"W-ALIGN512", "a burst off 512 B of GM"},
    {"W-SCALAR", "element by element on the scalar unit"},
    {"W-SYNC", "flags ran out"},
    {"W-IMBALANCE", "cores wait for one"},
};

struct Issue {
    std::string id, text;
    int64_t count = 1;  // how often it happened
    bool error() const { return id.rfind("E-", 0) == 0; }
};
using Report = std::function<void(const std::string &id, const std::string &text)>;

// Issues in the order in which they were found first, one per id and instruction: an issue in a
// loop is listed once and counted.
class IssueLog {
public:
    // Adds an issue at an instruction, or another object of the program. text() is called the first
    // time only.
    template<class F> void add(const std::string &id, const void *at, F &&text) {
        const auto [it, fresh] = seen_.try_emplace({at, id}, all_.size());
        if (fresh) {
            all_.push_back({id, text(), 1});
            sites_.push_back(at);
        } else
            all_[it->second].count++;
    }
    void merge(const IssueLog &other);
    const std::vector<Issue> &all() const { return all_; }

private:
    std::map<std::pair<const void *, std::string>, size_t> seen_;
    std::vector<const void *> sites_;
    std::vector<Issue> all_;
};

bool has_errors(const std::vector<Issue> &issues);
bool has(const std::vector<Issue> &issues, const std::string &id);
std::string to_text(const std::vector<Issue> &issues);  // one line per issue
// Returns the first error in one line, and how many more there are; "" if there is none.
std::string first_error(const std::vector<Issue> &issues);

}  // namespace halyard::dv
