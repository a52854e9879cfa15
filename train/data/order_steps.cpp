// The steps of shuffle(), repeat(), take() and skip().
#include <algorithm>
#include <numeric>

#include "registry/base/error.h"
#include "train/data/steps.h"

namespace halyard::dataset {
namespace {

struct ShuffleNode : Node {
    ShuffleNode(NodePtr from, size_t buffer_size) : Node({from}), capacity(buffer_size) {}
    int64_t size() const override { return inputs[0]->size(); }
    std::unique_ptr<Source> open(const Opening &o) const override {
        return std::make_unique<Pass>(*this, inputs[0]->open(o), o.stream(depth));
    }

    // MindSpore's order: the last row moves into the gap, and the next row takes the last position.
    template<class T> static T leave(std::vector<T> &buffer, size_t slot) {
        T left = std::move(buffer[slot]);
        if (slot + 1 != buffer.size()) buffer[slot] = std::move(buffer.back());
        buffer.pop_back();
        return left;
    }

    struct Pass : Source {
        Pass(const ShuffleNode &n, std::unique_ptr<Source> s, Random r)
            : node(n), source(std::move(s)), random(r) {}
        bool next(Row &row) override {
            for (Row incoming; buffer.size() < node.capacity && !dry;) {
                dry = !source->next(incoming);
                if (!dry) buffer.push_back(std::move(incoming));
            }
            if (buffer.empty()) return false;
            row = leave(buffer, random.below(drawn++, uint32_t(buffer.size())));
            return true;
        }
        // Shuffles row numbers and then computes only the rows that are still in the buffer.
        int64_t skip(int64_t n) override {
            if (drawn || !buffer.empty() || !node.inputs[0]->exact) return Source::skip(n);
            const int64_t all = node.inputs[0]->size();
            if (all == unknown_size) return Source::skip(n);
            std::vector<int64_t> numbers;
            int64_t incoming = 0;
            for (; int64_t(drawn) < n; drawn++) {
                while (numbers.size() < node.capacity && incoming < all)
                    numbers.push_back(incoming++);
                if (numbers.empty()) break;
                leave(numbers, random.below(drawn, uint32_t(numbers.size())));
            }
            std::vector<size_t> by_number(numbers.size());
            std::iota(by_number.begin(), by_number.end(), 0);
            std::sort(by_number.begin(), by_number.end(),
                      [&](size_t a, size_t b) { return numbers[a] < numbers[b]; });
            buffer.resize(numbers.size());
            int64_t at = 0;
            for (const size_t slot : by_number) {
                source->skip(numbers[slot] - at);
                source->next(buffer[slot]);
                at = numbers[slot] + 1;
            }
            source->skip(incoming - at);
            return int64_t(drawn);
        }
        const ShuffleNode &node;
        std::unique_ptr<Source> source;
        Random random;
        std::vector<Row> buffer;
        uint64_t drawn = 0;
        bool dry = false;
    };
    size_t capacity;
};

struct RepeatNode : Node {
    RepeatNode(NodePtr from, int64_t times) : Node({from}), count(times == -1 ? endless : times) {}
    int64_t size() const override {
        const int64_t n = inputs[0]->size();
        if (n < 1) return n;
        return n == endless || count > (endless - 1) / n ? endless : n * count;
    }
    std::unique_ptr<Source> open(const Opening &o) const override {
        return std::make_unique<Pass>(*this, o);
    }

    struct Pass : Source {
        Pass(const RepeatNode &r, const Opening &o) : node(r), opening(o) {
            opening.pass = r.count == endless ? o.pass << 32 : o.pass * uint64_t(r.count);
        }
        bool next(Row &row) override {
            for (;;) {
                if (source && source->next(row)) return some = true;
                if (!begin()) return false;
            }
        }
        int64_t skip(int64_t n) override {
            const int64_t rows = node.inputs[0]->exact ? node.inputs[0]->size() : 0;
            for (int64_t skipped = 0;;) {
                const int64_t now = source ? source->skip(n - skipped) : 0;
                skipped += now;
                some = some || now;
                if (skipped == n) return n;
                const int64_t whole = rows > 0 ? std::min((n - skipped) / rows, node.count - done)
                                               : 0;
                done += whole;
                opening.pass += uint64_t(whole);
                skipped += whole * rows;
                if (!begin()) return skipped;
            }
        }
        // Opens the next pass. After an empty pass none follows, because that might never end.
        bool begin() {
            if (done == node.count || (source && !some)) return false;
            source = node.inputs[0]->open(opening);
            opening.pass++;
            done++;
            some = false;
            return true;
        }
        const RepeatNode &node;
        Opening opening;  // the opening of the next pass
        int64_t done = 0;
        bool some = false;  // true if the current pass had a row
        std::unique_ptr<Source> source;
    };
    int64_t count;
};

struct RangeNode : Node {
    RangeNode(NodePtr from, int64_t first, int64_t rows)
        : Node({from}), begin(first), count(rows == -1 ? endless : rows) {}
    int64_t size() const override {
        const int64_t n = inputs[0]->size();
        if (n == unknown_size) return n;
        return std::min(n == endless ? n : std::max<int64_t>(n - begin, 0), count);
    }
    std::unique_ptr<Source> open(const Opening &o) const override {
        return std::make_unique<Pass>(inputs[0]->open(o), begin, count);
    }

    struct Pass : Source {
        Pass(std::unique_ptr<Source> s, int64_t first, int64_t count)
            : source(std::move(s)), before(first), left(count) {}
        bool next(Row &row) override {
            start();
            if (left == 0 || !source->next(row)) return false;
            left -= left != endless;
            return true;
        }
        int64_t skip(int64_t n) override {
            start();
            const int64_t skipped = source->skip(std::min(n, left));
            if (left != endless) left -= skipped;
            return skipped;
        }
        void start() { source->skip(std::exchange(before, 0)); }
        std::unique_ptr<Source> source;
        int64_t before, left;
    };
    int64_t begin, count;
};

struct FixedNode : Node {
    FixedNode(NodePtr from, uint64_t s) : Node({from}), seed(s) {}
    int64_t size() const override { return inputs[0]->size(); }
    std::unique_ptr<Source> open(const Opening &) const override {
        return inputs[0]->open({seed, 0});
    }
    uint64_t seed;
};

}  // namespace

NodePtr shuffle_step(NodePtr from, int64_t buffer_size) {
    return std::make_shared<ShuffleNode>(std::move(from), size_t(buffer_size));
}
NodePtr repeat_step(NodePtr from, int64_t count) {
    return std::make_shared<RepeatNode>(std::move(from), count);
}
NodePtr range_step(NodePtr from, int64_t begin, int64_t count) {
    return std::make_shared<RangeNode>(std::move(from), begin, count);
}
NodePtr fixed_step(NodePtr from, uint64_t seed) {
    return std::make_shared<FixedNode>(std::move(from), seed);
}

}  // namespace halyard::dataset
