// RecordFilesNode: a source that streams rows from files, one file after the other.
#pragma once
#include <mutex>

#include "train/data/dataset.h"

namespace halyard::dataset {

// Shard s has the files i with i % num_shards == s, the same ones in all passes. With `shuffle` the
// order of the files differs between passes. Rows keep the order within their file;
// Dataset::shuffle() mixes them.
struct RecordOptions {
    bool shuffle = true;
    int64_t num_shards = 1, shard_id = 0;
    OnError on_error = OnError::RAISE;
    // The largest size of a record, or of a file in a shard. A larger one counts as damaged. The
    // limit is needed because a compressed shard may be small.
    int64_t max_bytes = int64_t{1} << 28;
};

struct RecordFilesNode : Node {
    // Throws AttrError if there are fewer files than shards.
    RecordFilesNode(const std::string &op, std::vector<std::string> files,
                    std::vector<std::string> names, const RecordOptions &options);
    // Returns the rows of one file. After next() or skip() has thrown IoError, the next call
    // continues after the damage or returns the end.
    virtual std::unique_ptr<Source> read(const std::string &path) const = 0;
    // Counts the records on the first call, reading their lengths only.
    int64_t size() const override;
    std::unique_ptr<Source> open(const Opening &opening) const override;

    std::vector<std::string> files;  // the files of this shard
    RecordOptions options;

private:
    mutable std::mutex mutex_;
    mutable int64_t size_ = unknown_size;
};

}  // namespace halyard::dataset
