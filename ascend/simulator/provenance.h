// Runs a program on the numbers of elements instead of their values: what is copied, transposed or
// gathered keeps its number, so every place shows which element of which tensor it has.
#pragma once
#include <array>
#include <functional>
#include <vector>

#include "ascend/simulator/memory.h"
#include "ascend/simulator/walker.h"

namespace halyard::dv {

// What is in a place: an element of a tensor, a sum of products, 0, or nobody knows.
struct Origin {
    enum Kind : uint8_t { zero, element, sum, unknown } kind = zero;
    int tensor = 0;  // of an element: its place among the program's tensors, 0..3
    // of an element; of a sum its place in l0c, by accumulators of 4 B, and how many sums had begun
    // before
    int64_t index = 0;
    bool operator==(const Origin &) const = default;
};

class Provenance : public Sink {
public:
    // An mmad: row r has left(r, k), column c has right(k, c), k < depth; the sums are numbers from
    // `sums` on, [columns / 16][rows][16].
    struct Products {
        const Step *step;
        int64_t rows, columns, depth, sums;
        bool begins;
        std::function<Origin(int64_t row, int64_t k)> left;
        std::function<Origin(int64_t k, int64_t column)> right;
    };
    struct Hooks {
        // of global memory; a tensor whose first element is unknown is so as a whole
        std::function<Origin(int tensor, int64_t index)> read;
        // to it; may be none
        std::function<void(int tensor, int64_t index, const Origin &, const Step &)> write;
        // none: operands aren't moved to the cube unit
        std::function<void(const Products &)> products;
    };
    // numbers of sums: their place in l0c, and sums_at_once for each beginning
    static constexpr int64_t sums_at_once = 1 << 16;

    Provenance(const Program &p, Hooks hooks);
    void run(Walker &walker, int64_t block);
    // elements that were moved or multiplied
    int64_t elements_checked() const { return elements_checked_; }

    void step(Step &s) override;
    double load(Step &s) override;

private:
    // digits of a number, each of them an f16 in a memory of its own
    static constexpr int planes = 3;
    static constexpr int64_t base = 2048;  // what an f16 counts to
    const Program &program_;
    const Hooks hooks_;
    std::vector<Memory> memories_;
    int64_t begun_ = 0, elements_checked_ = 0;

    Origin at(const Location &p, int64_t byte) const;
    void put(const Location &p, int64_t byte, const Origin &o);
    void from_gm(const Dma &d, const Step &s);
    void to_gm(const Dma &d, const Step &s);
    void multiply(const Mmad &m, const Step &s);
};

}  // namespace halyard::dv
