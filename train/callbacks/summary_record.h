// SummaryRecord: writes values of a training into an event file for TensorBoard.
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
    // The largest size in bytes. Records beyond it are dropped, with one warning in the log.
    std::optional<int64_t> max_file_size = {};
};

// A handle; copies write the same file. The file is log_dir/FILE_PREFIX.out.tfevents.SECONDS.HOST.
// PROCESS.NUMBER + FILE_SUFFIX. log_dir is created if it does not exist.
class SummaryRecord {
public:
    // Throws IoError.
    explicit SummaryRecord(const std::string &log_dir, const SummaryRecordOptions &options = {});

    // Adds a value that the next record() writes. `plugin` is one of:
    //   "scalar"     one element
    //   "histogram"  any shape; counts finite elements. If there are NaN or infinite elements,
    //   their
    //                numbers become the scalars NAME/nan and NAME/inf, and the log gets a warning.
    //   "image"      [N,C,H,W] with C 1, 3 or 4; the first three images. u8 is stored as it is,
    //   other
    //                dtypes are scaled from minimum (black) to maximum (white).
    // Throws AttrError for another plugin or an empty name, ShapeError for a shape that the plugin
    // does not take.
    void add_value(const std::string &plugin, const std::string &name, const Tensor &value);
    void add_text(const std::string &name, const std::string &markdown);

    // Writes and flushes the added values. Throws IoError.
    void record(int64_t step);
    void flush();
    // Closes the file. Later calls throw IoError.
    void close();

    const std::string &path() const;

private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace halyard
