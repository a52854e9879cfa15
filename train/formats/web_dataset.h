// Tar files in the WebDataset convention (https://github.com/webdataset/webdataset). The files of a
// sample are adjacent and share a key: the name up to the first dot after the last slash. The kind
// of a file is the rest after that dot.
#pragma once
#include "train/formats/record_files.h"

namespace halyard::dataset {

// Has a column for each of `columns`. A column is a kind in lower case ("jpg"), several kinds of
// which a sample has one ("jpg;jpeg;png"), or "__key__", the key as u8[n].
//
//   cls, id, index, count   i32[], the number in the file
//   any other kind          u8[n], the file's bytes
//
// Files of other kinds and without a dot are skipped without reading. Shards are .tar or .tar.gz
// files; the latter must be read from the beginning. Damage throws IoError with shard, file and
// byte. With OnError::SKIP a sample without one of the columns is skipped, or after other damage
// the rest of the shard. No file may be longer than its .tar or than max_bytes.
class WebDataset : public Dataset {
public:
    WebDataset(const std::vector<std::string> &shards, const std::vector<std::string> &columns,
               const RecordOptions &options = {});
};

}  // namespace halyard::dataset
