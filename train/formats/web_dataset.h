// Tar files in the WebDataset convention (https://github.com/webdataset/webdataset): the files of a
// sample stand one after the other and have the same name up to the first dot behind the last
// slash, the key; what follows that dot is the kind.
#pragma once
#include "train/formats/record_files.h"

namespace halyard::dataset {

// A column for each of `columns`, with the name it has there: a kind in lower case ("jpg"), or
// several, of which a sample has one
// ("jpg;jpeg;png"), or "__key__", the key as u8[n].
//   cls, id, index, count   the number that stands there, i32[]
//   any other kind          the file's bytes, u8[n]
// Files of other kinds, and those without a dot, are passed over without being read. Shards are
// .tar files, or .tar.gz ones, which have to be read from their beginning to start anywhere. Damage
// is an IoError that names shard, file and byte, or with OnError::SKIP left out: a sample that
// lacks a column alone, else the rest of its shard. No file of a .tar is believed longer than it,
// and none longer than max_bytes.
class WebDataset : public Dataset {
public:
    WebDataset(const std::vector<std::string> &shards, const std::vector<std::string> &columns,
               const RecordOptions &options = {});
};

}  // namespace halyard::dataset
