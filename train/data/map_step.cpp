// The steps of map() and filter(), which call functions of rows on the pool.
#include <algorithm>
#include <atomic>
#include <exception>
#include <optional>

#include "primitives/autograd/apart.h"
#include "registry/base/error.h"
#include "registry/base/parallel.h"
#include "train/data/steps.h"

namespace halyard::dataset {

Tensor &Transform::only(Tensors &columns) {
    if (columns.size() != 1)
        throw ShapeError("map", "a transform of one column got " + std::to_string(columns.size()));
    return columns[0];
}

namespace {

// The number of rows that a map takes at once: enough to feed the pool, but few enough to start
// early and to hold few large images.
constexpr size_t fewest_rows = 16, most_rows = 256;
constexpr size_t bytes_at_once = 16 << 20;

std::vector<size_t> places(const char *op, const Node &from, const Names &names) {
    if (names.all().empty()) throw AttrError(op, "there are no input_columns");
    check_unique(op, names.all());
    std::vector<size_t> at;
    for (const std::string &name : names.all())
        at.push_back(find_column(op, from.columns, name));
    return at;
}

struct MapNode : Node {
    MapNode(NodePtr from, std::vector<Transform> operations, const Names &in, const Names &out,
            const MapOptions &o)
        : Node({from}), ops(std::move(operations)), options(o), inputs_at(places("map", *from, in)),
          outputs(out.all().empty() ? in.all() : out.all()) {
        if (o.num_parallel_workers < 0) {
            throw AttrError("map", "num_parallel_workers is " +
                                       std::to_string(o.num_parallel_workers) +
                                       ", expected at least 0");
        }
        std::vector<std::string> names = *columns;
        if (in_place()) {
            for (size_t i = 0; i < outputs.size(); i++)
                names[inputs_at[i]] = outputs[i];
        } else {
            names = outputs;
            for (size_t c = 0; c < columns->size(); c++)
                if (!is_input(c)) names.push_back((*columns)[c]);
        }
        check_unique("map", names);
        columns = std::make_shared<const std::vector<std::string>>(std::move(names));
        exact = exact && o.on_error == OnError::RAISE;
    }
    int64_t size() const override { return inputs[0]->size(); }
    std::unique_ptr<Source> open(const Opening &o) const override {
        return std::make_unique<Pass>(*this, inputs[0]->open(o), o.stream(depth));
    }

    bool in_place() const { return outputs.size() == inputs_at.size(); }
    bool is_input(size_t c) const {
        return std::find(inputs_at.begin(), inputs_at.end(), c) != inputs_at.end();
    }

    Row apply(Row row, Draw draw) const {
        Tensors taken;
        for (const size_t c : inputs_at)
            taken.push_back(std::move(row.tensors()[c]));
        for (const Transform &op : ops)
            op(taken, draw);
        if (taken.size() != outputs.size()) {
            throw ShapeError("map", "the operations made " + std::to_string(taken.size()) +
                                        " columns, expected " + std::to_string(outputs.size()));
        }
        if (in_place()) {
            for (size_t i = 0; i < taken.size(); i++)
                row.tensors()[inputs_at[i]] = std::move(taken[i]);
        } else {
            for (size_t c = 0; c < row.size(); c++)
                if (!is_input(c)) taken.push_back(std::move(row.tensors()[c]));
            row.tensors() = std::move(taken);
        }
        return {columns, std::move(row.tensors()), row.origin()};
    }

    struct Pass : Source {
        struct Made {
            Row row;
            bool kept = true;
            std::exception_ptr failure = {};
        };
        Pass(const MapNode &n, std::unique_ptr<Source> s, const Random &numbers)
            : node(n), source(std::move(s)), random(numbers) {}
        bool next(Row &row) override {
            while (at < rows.size() || fill()) {
                Made &made = rows[at++];
                if (made.failure) std::rethrow_exception(made.failure);
                if (!made.kept) continue;
                row = std::move(made.row);
                return true;
            }
            return false;
        }
        // Rows are numbered on input, so that skipped rows don't change the random numbers of
        // others.
        int64_t skip(int64_t n) override {
            if (node.options.on_error == OnError::SKIP) return Source::skip(n);
            int64_t skipped = 0;
            for (Row row; skipped < n && at < rows.size(); skipped++)
                next(row);
            const int64_t before = source->skip(n - skipped);
            number += uint64_t(before);
            return skipped + before;
        }
        bool fill() {
            rows.clear();
            at = 0;
            for (Row row; rows.size() < at_once && source->next(row);)
                rows.push_back({std::move(row)});
            const auto n = int64_t(rows.size());
            const int64_t workers = node.options.num_parallel_workers
                                        ? std::min<int64_t>(node.options.num_parallel_workers, n)
                                        : n;
            std::atomic<int64_t> taken{0};
            parallel_for(0, workers, [&](int64_t) {
                const ApartFromStep apart;
                // If all threads may work each task is one row, which the pool balances better.
                for (int64_t i; (i = taken++) < n;) {
                    make(rows[size_t(i)], number + uint64_t(i));
                    if (workers == n) break;
                }
            });
            number += uint64_t(n);
            size_t bytes = 0;
            for (const Made &made : rows) {
                for (const Tensor &t : made.row.tensors())
                    bytes += t.defined() ? t.bytes() : 0;
            }
            at_once = std::clamp(bytes > bytes_at_once ? at_once / 2 : at_once * 2, fewest_rows,
                                 most_rows);
            return n > 0;
        }
        void make(Made &made, uint64_t row_number) const {
            const auto origin = made.row.origin();
            try {
                made.row = node.apply(std::move(made.row), Draw(random, row_number));
            } catch (const IoError &e) {
                const std::string where = origin ? *origin : "row " + std::to_string(row_number);
                const IoError named(where, e.what());
                made.kept = node.options.on_error == OnError::RAISE;
                if (made.kept)
                    made.failure = std::make_exception_ptr(named);
                else
                    node.skipped.add(named.what());
            } catch (...) {
                made.failure = std::current_exception();
            }
        }
        const MapNode &node;
        std::unique_ptr<Source> source;
        Random random;
        uint64_t number = 0;  // the number of the next input row
        std::vector<Made> rows;
        size_t at = 0;
        size_t at_once = fewest_rows;
    };
    std::vector<Transform> ops;
    MapOptions options;
    std::vector<size_t> inputs_at;
    std::vector<std::string> outputs;
};

struct FilterNode : Node {
    FilterNode(NodePtr from, std::function<bool(const Tensors &)> p, const Names &in)
        : Node({from}), predicate(std::move(p)), inputs_at(places("filter", *from, in)) {
        exact = false;
    }
    int64_t size() const override { return unknown_size; }
    std::unique_ptr<Source> open(const Opening &o) const override {
        return std::make_unique<Pass>(*this, inputs[0]->open(o));
    }

    struct Pass : Source {
        Pass(const FilterNode &n, std::unique_ptr<Source> s) : node(n), source(std::move(s)) {}
        bool next(Row &row) override {
            while (source->next(row)) {
                Tensors tested;
                for (const size_t c : node.inputs_at)
                    tested.push_back(row[c]);
                if (node.predicate(tested)) return true;
            }
            return false;
        }
        const FilterNode &node;
        std::unique_ptr<Source> source;
    };
    std::function<bool(const Tensors &)> predicate;
    std::vector<size_t> inputs_at;
};

}  // namespace

NodePtr map_step(NodePtr from, std::vector<Transform> operations, const Names &in, const Names &out,
                 const MapOptions &options) {
    return std::make_shared<MapNode>(std::move(from), std::move(operations), in, out, options);
}

NodePtr filter_step(NodePtr from, std::function<bool(const Tensors &)> predicate, const Names &in) {
    return std::make_shared<FilterNode>(std::move(from), std::move(predicate), in);
}

}  // namespace halyard::dataset
