#include "train/formats/record_files.h"

#include <algorithm>

#include "registry/base/error.h"
#include "train/data/sampler.h"

namespace halyard::dataset {
namespace {

class Pass : public Source {
public:
    Pass(const RecordFilesNode &n, std::vector<int64_t> order)
        : node_(n), order_(std::move(order)) {}
    bool next(Row &row) override {
        return step([&] { return int64_t(file_->next(row)); }) == 1;
    }
    int64_t skip(int64_t n) override {
        int64_t skipped = 0;
        while (skipped < n) {
            const int64_t now = step([&] { return file_->skip(n - skipped); });
            if (now == 0) break;
            skipped += now;
        }
        return skipped;
    }

private:
    // Skips rows of the first file that has some. Returns 0 if none has.
    template<class F> int64_t step(const F &f) {
        for (;;) {
            try {
                if (!file_) {
                    if (at_ == order_.size()) return 0;
                    file_ = node_.read(node_.files[size_t(order_[at_++])]);
                }
                if (const int64_t n = f()) return n;
                file_.reset();
            } catch (const IoError &e) {
                if (node_.options.on_error == OnError::RAISE) throw;
                node_.skipped.add(e.what());
            }
        }
    }

    const RecordFilesNode &node_;
    std::vector<int64_t> order_;
    size_t at_ = 0;
    std::unique_ptr<Source> file_;
};

}  // namespace

RecordFilesNode::RecordFilesNode(const std::string &op, std::vector<std::string> all,
                                 std::vector<std::string> names, const RecordOptions &o)
    : Node(std::move(names)), options(o) {
    choose_sampler(op, {.num_shards = o.num_shards, .shard_id = o.shard_id});
    if (all.empty()) throw AttrError(op, "there are no files");
    if (o.max_bytes < 1 || o.max_bytes > INT32_MAX) {
        throw AttrError(op,
                        "max_bytes is " + std::to_string(o.max_bytes) + ", expected 1 to 2^31-1");
    }
    if (int64_t(all.size()) < o.num_shards) {
        throw AttrError(op, "num_shards is " + std::to_string(o.num_shards) + ", more than the " +
                                std::to_string(all.size()) + " files");
    }
    for (auto i = size_t(o.shard_id); i < all.size(); i += size_t(o.num_shards))
        files.push_back(std::move(all[i]));
    exact = o.on_error == OnError::RAISE;
}

int64_t RecordFilesNode::size() const {
    const std::scoped_lock lock(mutex_);
    if (size_ == unknown_size) size_ = open({})->skip(INT64_MAX);
    return size_;
}

std::unique_ptr<Source> RecordFilesNode::open(const Opening &opening) const {
    const SequentialSampler in_order;
    const RandomSampler shuffled;
    const Sampler &sampler = options.shuffle ? static_cast<const Sampler &>(shuffled) : in_order;
    return std::make_unique<Pass>(*this,
                                  sampler.order(int64_t(files.size()), opening.stream(depth)));
}

}  // namespace halyard::dataset
