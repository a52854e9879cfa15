// The steps of zip(), concat(), project() and rename().
#include <algorithm>

#include "registry/base/error.h"
#include "train/data/steps.h"

namespace halyard::dataset {
namespace {

struct ZipNode : Node {
    explicit ZipNode(std::vector<NodePtr> from) : Node(std::move(from)) {
        std::vector<std::string> names;
        for (const NodePtr &input : inputs)
            names.insert(names.end(), input->columns->begin(), input->columns->end());
        check_unique("zip", names);
        columns = std::make_shared<const std::vector<std::string>>(std::move(names));
    }
    int64_t size() const override {
        int64_t least = endless;
        for (const NodePtr &input : inputs)
            least = std::min(least, input->size());
        return least;
    }
    std::unique_ptr<Source> open(const Opening &o) const override {
        auto pass = std::make_unique<Pass>(*this);
        for (size_t i = 0; i < inputs.size(); i++)
            pass->sources.push_back(inputs[i]->open(o.branch(depth, i)));
        return pass;
    }

    struct Pass : Source {
        explicit Pass(const ZipNode &n) : node(n) {}
        bool next(Row &row) override {
            Tensors all;
            std::shared_ptr<const std::string> origin;
            for (const auto &source : sources) {
                Row part;
                if (!source->next(part)) return false;
                std::move(part.tensors().begin(), part.tensors().end(), std::back_inserter(all));
                if (!origin) origin = part.origin();
            }
            row = Row(node.columns, std::move(all), std::move(origin));
            return true;
        }
        int64_t skip(int64_t n) override {
            for (const auto &source : sources)
                n = std::min(n, source->skip(n));
            return n;
        }
        const ZipNode &node;
        std::vector<std::unique_ptr<Source>> sources;
    };
};

struct ConcatNode : Node {
    explicit ConcatNode(std::vector<NodePtr> from) : Node(std::move(from)) {
        const auto names = [](const Node &n) {
            std::string all;
            for (const std::string &c : *n.columns)
                all += (all.empty() ? "" : ", ") + c;
            return all;
        };
        for (const NodePtr &input : inputs) {
            if (*input->columns != *columns) {
                throw AttrError("concat", "a dataset has the columns " + names(*input) +
                                              ", expected " + names(*inputs[0]));
            }
        }
    }
    int64_t size() const override {
        int64_t sum = 0;
        for (const NodePtr &input : inputs) {
            const int64_t n = input->size();
            if (n == endless || n == unknown_size) return n;
            sum += n;
        }
        return sum;
    }
    std::unique_ptr<Source> open(const Opening &o) const override {
        return std::make_unique<Pass>(*this, o);
    }

    struct Pass : Source {
        Pass(const ConcatNode &n, const Opening &o) : node(n), opening(o) {}
        bool next(Row &row) override {
            for (;; source.reset(), at++) {
                if (at == node.inputs.size()) return false;
                open();
                if (source->next(row)) return true;
            }
        }
        int64_t skip(int64_t n) override {
            for (int64_t skipped = 0;; source.reset(), at++) {
                if (at == node.inputs.size()) return skipped;
                const Node &input = *node.inputs[at];
                const int64_t rows = input.exact ? input.size() : unknown_size;
                if (!source && rows != unknown_size && rows <= n - skipped) {
                    skipped += rows;
                    continue;
                }
                open();
                skipped += source->skip(n - skipped);
                if (skipped == n) return skipped;
            }
        }
        void open() {
            if (!source) source = node.inputs[at]->open(opening.branch(node.depth, at));
        }
        const ConcatNode &node;
        Opening opening;
        size_t at = 0;
        std::unique_ptr<Source> source;
    };
};

struct ProjectNode : Node {
    ProjectNode(NodePtr from, const Names &in, const std::vector<std::string> &out) : Node({from}) {
        if (out.empty()) throw AttrError("project", "there are no columns");
        for (const std::string &name : in.all())
            at.push_back(find_column("project", columns, name));
        check_unique("project", out);
        columns = std::make_shared<const std::vector<std::string>>(out);
    }
    int64_t size() const override { return inputs[0]->size(); }
    std::unique_ptr<Source> open(const Opening &o) const override {
        return std::make_unique<Pass>(*this, inputs[0]->open(o));
    }

    struct Pass : Source {
        Pass(const ProjectNode &n, std::unique_ptr<Source> s) : node(n), source(std::move(s)) {}
        bool next(Row &row) override {
            Row whole;
            if (!source->next(whole)) return false;
            Tensors some;
            for (const size_t c : node.at)
                some.push_back(whole[c]);
            row = Row(node.columns, std::move(some), whole.origin());
            return true;
        }
        int64_t skip(int64_t n) override { return source->skip(n); }
        const ProjectNode &node;
        std::unique_ptr<Source> source;
    };
    std::vector<size_t> at;
};

}  // namespace

NodePtr zip_step(std::vector<NodePtr> from) {
    return std::make_shared<ZipNode>(std::move(from));
}
NodePtr concat_step(std::vector<NodePtr> from) {
    return std::make_shared<ConcatNode>(std::move(from));
}
NodePtr project_step(NodePtr from, const Names &in, const std::vector<std::string> &out) {
    return std::make_shared<ProjectNode>(std::move(from), in, out);
}

}  // namespace halyard::dataset
