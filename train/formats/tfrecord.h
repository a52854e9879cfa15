// TFRecord files of tf.train.Example messages.
#pragma once
#include <optional>

#include "train/formats/record_files.h"

namespace halyard::dataset {

// A feature that becomes a column. int64 lists are i64[n], float lists f32[n], a list of one byte
// string u8[n].
struct TFColumn {
    std::string name;
    std::optional<DType> dtype = {};  // converted to that one
    std::optional<Shape> shape = {};  // in place of [n]; must hold as many
};

// A record is a length, its checksum, the message and its checksum (CRC-32C, masked); both are
// checked. Damage is an IoError that names file, record and byte, or with OnError::SKIP left out: a
// record whose length is good alone, else the rest of its file. Lengths are checked against the
// file before they are believed. Without a schema the columns are all features of the first record,
// by name.
class TFRecordDataset : public Dataset {
public:
    explicit TFRecordDataset(const std::vector<std::string> &dataset_files,
                             const std::vector<TFColumn> &schema = {},
                             const RecordOptions &options = {});
};

}  // namespace halyard::dataset
