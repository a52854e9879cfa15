#include "train/dataset.h"

#include <algorithm>
#include <cstring>

#include "primitives/random.h"
#include "registry/parallel.h"
#include "train/order.h"

namespace halyard::dataset {
namespace {

// Rows that a map takes at once: enough to feed the pool, few enough to start early.
constexpr size_t map_chunk = 256;

struct MapNode : Node {
    MapNode(std::shared_ptr<const Node> from, std::vector<Transform> operations, size_t which)
        : before(std::move(from)), ops(std::move(operations)), column(which) {
        columns = before->columns, depth = before->depth + 1;
    }
    int64_t size() const override { return before->size(); }
    std::unique_ptr<Source> open(uint64_t pass) const override { return std::make_unique<Pass>(*this, before->open(pass)); }

    struct Pass : Source {
        Pass(const MapNode &n, std::unique_ptr<Source> s) : node(n), source(std::move(s)) {}
        bool next(Row &row) override {
            if (at == rows.size()) fill();
            if (at == rows.size()) return false;
            row = std::move(rows[at++]);
            return true;
        }
        void fill() {
            rows.clear(), at = 0;
            for (Row row; rows.size() < map_chunk && source->next(row);) rows.push_back(std::move(row));
            parallel_for(0, (int64_t)rows.size(), [&](int64_t i) {
                Tensor &t = rows[(size_t)i].tensors()[node.column];
                for (const Transform &op : node.ops) t = op(t);
            });
        }
        const MapNode &node;
        std::unique_ptr<Source> source;
        std::vector<Row> rows;
        size_t at = 0;
    };
    std::shared_ptr<const Node> before;
    std::vector<Transform> ops;
    size_t column;
};

struct ShuffleNode : Node {
    ShuffleNode(std::shared_ptr<const Node> from, size_t buffer_size) : before(std::move(from)), capacity(buffer_size) {
        columns = before->columns, depth = before->depth + 1;
    }
    int64_t size() const override { return before->size(); }
    std::unique_ptr<Source> open(uint64_t pass) const override { return std::make_unique<Pass>(*this, before->open(pass), order_of(depth, pass)); }

    // MindSpore's order of work: the last row moves into the gap, the next one takes the last place.
    struct Pass : Source {
        Pass(const ShuffleNode &n, std::unique_ptr<Source> s, Random r) : source(std::move(s)), random(r), capacity(n.capacity) {}
        bool next(Row &row) override {
            for (Row incoming; buffer.size() < capacity && !dry;) {
                dry = !source->next(incoming);
                if (!dry) buffer.push_back(std::move(incoming));
            }
            if (buffer.empty()) return false;
            const size_t slot = random.below(drawn++, (uint32_t)buffer.size());
            row = std::move(buffer[slot]);
            if (slot + 1 != buffer.size()) buffer[slot] = std::move(buffer.back());
            buffer.pop_back();
            return true;
        }
        std::unique_ptr<Source> source;
        Random random;
        size_t capacity;
        std::vector<Row> buffer;
        uint64_t drawn = 0;
        bool dry = false;
    };
    std::shared_ptr<const Node> before;
    size_t capacity;
};

Tensor stack(const std::vector<Row> &rows, size_t column) {
    const Tensor &first = rows[0][column];
    Shape shape = first.shape();
    shape.insert(0, (int64_t)rows.size());
    const Tensor out = Tensor::empty(shape, first.dtype());
    char *to = static_cast<char *>(out.raw());
    for (const Row &row : rows) {
        const Tensor &t = row[column];
        if (!(t.shape() == first.shape()) || t.dtype() != first.dtype())
            throw ShapeError("batch", "column " + (*row.columns())[column] + " has rows of " + first.shape().text() + " " + name_of(first.dtype()) +
                                          " and of " + t.shape().text() + " " + name_of(t.dtype()));
        std::memcpy(to, t.contiguous().raw(), t.bytes());
        to += t.bytes();
    }
    return out;
}

struct BatchNode : Node {
    BatchNode(std::shared_ptr<const Node> from, int64_t batch_size, bool drop_remainder) : before(std::move(from)), n(batch_size), drop(drop_remainder) {
        columns = before->columns, depth = before->depth + 1;
    }
    int64_t size() const override { return (before->size() + (drop ? 0 : n - 1)) / n; }
    std::unique_ptr<Source> open(uint64_t pass) const override { return std::make_unique<Pass>(*this, before->open(pass)); }

    struct Pass : Source {
        Pass(const BatchNode &b, std::unique_ptr<Source> s) : node(b), source(std::move(s)) {}
        bool next(Row &row) override {
            std::vector<Row> rows;
            for (Row r; (int64_t)rows.size() < node.n && source->next(r);) rows.push_back(std::move(r));
            if (rows.empty() || (node.drop && (int64_t)rows.size() < node.n)) return false;
            std::vector<Tensor> columns;
            for (size_t c = 0; c < rows[0].size(); c++) columns.push_back(stack(rows, c));
            row = Row(node.columns, std::move(columns));
            return true;
        }
        const BatchNode &node;
        std::unique_ptr<Source> source;
    };
    std::shared_ptr<const Node> before;
    int64_t n;
    bool drop;
};

struct RepeatNode : Node {
    RepeatNode(std::shared_ptr<const Node> from, int64_t times) : before(std::move(from)), count(times) {
        columns = before->columns, depth = before->depth + 1;
    }
    int64_t size() const override { return before->size() * count; }
    std::unique_ptr<Source> open(uint64_t pass) const override { return std::make_unique<Pass>(*this, pass); }

    struct Pass : Source {
        Pass(const RepeatNode &r, uint64_t pass) : node(r), base(pass * (uint64_t)r.count) {}
        bool next(Row &row) override {
            for (;; source.reset()) {
                if (!source && done == (uint64_t)node.count) return false;
                if (!source) source = node.before->open(base + done++);
                if (source->next(row)) return true;
            }
        }
        const RepeatNode &node;
        uint64_t base, done = 0;
        std::unique_ptr<Source> source;
    };
    std::shared_ptr<const Node> before;
    int64_t count;
};

std::string names(const Columns &columns) {
    std::string s;
    for (const std::string &c : *columns) s += (s.empty() ? "" : ", ") + c;
    return s;
}

size_t find_column(const char *op, const Columns &columns, const std::string &name) {
    const auto at = std::find(columns->begin(), columns->end(), name);
    if (at == columns->end()) throw AttrError(op, "column is " + name + ", expected one of " + names(columns));
    return (size_t)(at - columns->begin());
}

void check_positive(const char *op, const char *what, int64_t v) {
    // Shuffles index their buffer with 32 bits.
    if (v < 1 || v > INT32_MAX) throw AttrError(op, std::string(what) + " is " + std::to_string(v) + ", expected 1 to " + std::to_string(INT32_MAX));
}

}  // namespace

const Tensor &Row::operator[](const std::string &column) const { return tensors_[find_column("row", columns_, column)]; }

Dataset Dataset::map(Transform operation, const std::string &input_column) const { return map(std::vector<Transform>{std::move(operation)}, input_column); }

Dataset Dataset::map(std::vector<Transform> operations, const std::string &input_column) const {
    return Dataset(std::make_shared<MapNode>(node_, std::move(operations), find_column("map", node_->columns, input_column)));
}

Dataset Dataset::shuffle(int64_t buffer_size) const {
    check_positive("shuffle", "buffer_size", buffer_size);
    return Dataset(std::make_shared<ShuffleNode>(node_, (size_t)buffer_size));
}

Dataset Dataset::batch(int64_t batch_size, bool drop_remainder) const {
    check_positive("batch", "batch_size", batch_size);
    return Dataset(std::make_shared<BatchNode>(node_, batch_size, drop_remainder));
}

Dataset Dataset::repeat(int64_t count) const {
    check_positive("repeat", "count", count);
    return Dataset(std::make_shared<RepeatNode>(node_, count));
}

RowIterator Dataset::create_dict_iterator(uint64_t epoch, size_t ahead) const { return {node_, epoch, ahead}; }

}  // namespace halyard::dataset
