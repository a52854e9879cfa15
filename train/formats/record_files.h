// RecordFiles: a dataset that streams rows out of files, one file after the other.
#pragma once
#include <mutex>

#include "train/data/dataset.h"

namespace halyard::dataset {

// Both: the files are shared out, file i to shard i % num_shards, and come in another order in each
// pass; rows stay in their file's order (shuffle() mixes them). A shard has the same files in all
// passes.
struct RecordOptions {
    bool shuffle = true;
    int64_t num_shards = 1, shard_id = 0;
    OnError on_error = OnError::RAISE;
    // of a record, or of a file in a shard; one that is longer is damage. A packed shard may be
    // small
    int64_t max_bytes = int64_t{1} << 28;
};

struct RecordFilesNode : Node {
    // Throws AttrError for fewer files than shards.
    RecordFilesNode(const std::string &op, std::vector<std::string> files,
                    std::vector<std::string> names, const RecordOptions &options);
    // The rows of one file. Where next() or skip() throws IoError, the next call goes on behind the
    // damage, or returns that nothing is left.
    virtual std::unique_ptr<Source> read(const std::string &path) const = 0;
    int64_t size() const override;  // reads what tells where records end, once
    std::unique_ptr<Source> open(const Opening &opening) const override;

    std::vector<std::string> files;  // of this shard
    RecordOptions options;

private:
    mutable std::mutex mutex_;
    mutable int64_t size_ = unknown_size;
};

}  // namespace halyard::dataset
