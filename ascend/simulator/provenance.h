// Provenance: runs a program on the numbers of elements instead of their values. Elements keep
// their number when they are copied, transposed or gathered, so each memory position shows which
// element it has.
#pragma once
#include <array>
#include <functional>
#include <vector>

#include "ascend/simulator/memory.h"
#include "ascend/simulator/walker.h"

namespace halyard::dv {

// The content of a memory position: an element of a tensor, a sum of products, 0, or something
// unknown.
struct Origin {
    enum Kind : uint8_t { zero, element, sum, unknown } kind = zero;
    int tensor = 0;  // an element's tensor, 0..3
    // An element's index in its tensor. For a sum, its position in l0c in units of 4 B, plus
    // sums_at_once for each mmad that has begun sums before.
    int64_t index = 0;
    bool operator==(const Origin &) const = default;
};

class Provenance : public Sink {
public:
    // An mmad. Row r has left(r, k) and column c has right(k, c), k < depth. The numbers of the
    // sums begin at `sums`, in the order [columns / 16][rows][16].
    struct Products {
        const Step *step;
        int64_t rows, columns, depth, sums;
        bool begins;
        std::function<Origin(int64_t row, int64_t k)> left;
        std::function<Origin(int64_t k, int64_t column)> right;
    };
    struct Hooks {
        // Returns the origin of an element of global memory. If a tensor's first element is
        // unknown, all of them are.
        std::function<Origin(int tensor, int64_t index)> read;
        // Is called for each element that is stored to global memory; may be empty.
        std::function<void(int tensor, int64_t index, const Origin &, const Step &)> write;
        // Is called for each mmad; if empty, operands aren't moved to the cube unit.
        std::function<void(const Products &)> products;
    };
    static constexpr int64_t sums_at_once = 1 << 16;

    Provenance(const Program &p, Hooks hooks);
    void run(Walker &walker, int64_t block);
    // Returns the number of elements that have been moved or multiplied.
    int64_t elements_checked() const { return elements_checked_; }

    void step(Step &s) override;
    double load(Step &s) override;

private:
    // A number has three digits to the base 2048, each of them an f16 in a memory of its own.
    static constexpr int planes = 3;
    static constexpr int64_t base = 2048;
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
