// The text of a function's body in C99: loops and indices.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace halyard::exporting {

class LoopText {
public:
    void line(const std::string &text) {
        text_ += std::string(size_t(depth_) * 4, ' ') + text + "\n";
    }
    // Opens a loop of `name` over an extent, and returns its variable. An extent of 1 has none, and
    // no loop unless there is `always` one. close_loops() ends it.
    std::string loop(const std::string &name, int64_t extent, bool always = false);
    // Opens a loop from one variable to another. close_loops() ends it.
    void loop_between(const std::string &name, const std::string &first, const std::string &last);
    // Closes the loops opened since there were `loops` of them.
    void close_loops(size_t loops);
    size_t loops() const { return loops_; }

    const std::string &text() const { return text_; }

private:
    std::string text_;
    int depth_ = 1;
    size_t loops_ = 0;
};

// A product of an index and a stride. An empty index is 0.
struct Term {
    std::string index;
    int64_t stride = 1;
};

// Returns "(i * 2 + p) * 28 + j", or "0". A difference takes a negative `constant`.
std::string sum_text(const std::vector<Term> &terms, int64_t constant = 0);

}  // namespace halyard::exporting
