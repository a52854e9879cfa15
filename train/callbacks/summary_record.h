// SummaryRecord: values of a training in an event file, which TensorBoard opens.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "registry/tensor/tensor.h"

namespace halyard {

struct SummaryRecordOptions {
    std::string file_prefix = "events", file_suffix = "_MS";
    // bytes: what would make the file larger is left out, and a line of the log says so once
    std::optional<int64_t> max_file_size = {};
};

// A handle; copies write the same file. The file is
// FILE_PREFIX.out.tfevents.SECONDS.HOST.PROCESS.NUMBER + FILE_SUFFIX in log_dir, which is made
// where it isn't there.
class SummaryRecord {
public:
    // throws IoError
    explicit SummaryRecord(const std::string &log_dir, const SummaryRecordOptions &options = {});

    // To be written by the next record(). plugin: "scalar" of one element; "histogram" of any
    // shape, of what is finite: how many elements are NaN or infinite, where any are, is a scalar
    // NAME/nan or NAME/inf beside it, and a warning in the log; "image" [N,C,H,W] with C 1, 3 or 4,
    // the first three of them, u8 as they are, others with their least and largest element as black
    // and white. Throws AttrError for another plugin or an empty name, ShapeError for a shape the
    // plugin doesn't take.
    void add_value(const std::string &plugin, const std::string &name, const Tensor &value);
    void add_text(const std::string &name, const std::string &markdown);

    void record(int64_t step);  // throws IoError
    void flush();               // every record() does
    void close();               // later calls throw IoError

    const std::string &path() const;

private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace halyard
