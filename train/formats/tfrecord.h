// TFRecord files of tf.train.Example messages.
#pragma once
#include <optional>

#include "train/formats/record_files.h"

namespace halyard::dataset {

// A feature that becomes a column. A list of int64 is i64[n], a list of float f32[n], a list of one
// byte string u8[n].
struct TFColumn {
    std::string name;
    std::optional<DType> dtype = {};  // the dtype to convert to
    std::optional<Shape> shape = {};  // replaces [n]; must have n elements
};

// A record consists of a length, its checksum, the message and its checksum (CRC-32C, masked). Both
// are checked, and so is the length against the file. Damage throws IoError with file, record and
// byte. With OnError::SKIP the record is skipped if its length is valid, otherwise the rest of the
// file. Without a schema the columns are all features of the first record, by name.
class TFRecordDataset : public Dataset {
public:
    explicit TFRecordDataset(const std::vector<std::string> &dataset_files,
                             const std::vector<TFColumn> &schema = {},
                             const RecordOptions &options = {});
};

}  // namespace halyard::dataset
