// History: the records that a tuning run uses, and those it adds.
#pragma once
#include <map>
#include <optional>
#include <set>

#include "tools/tune/record.h"

namespace halyard::tune {

class History {
public:
    // Reads the file if it exists, and appends to it. Throws IoError.
    explicit History(const std::string &path);

    // Returns the newest measurement with the same key, or null.
    const Record *find(const Record &like) const;
    // Adds a record, also to the file.
    void put(const Record &r);

    // Returns measurements of the problem of `like` on this machine, by this kit and against this
    // default, of any variant, tunables and code whose algorithm is in `algorithms` (variant ->
    // hash). Those of another algorithm are stale and are counted.
    std::vector<const Record *> known(const Record &like,
                                      const std::map<std::string, std::string> &algorithms);

    const std::vector<std::string> &refused() const { return refused_; }
    size_t foreign() const { return foreign_.size(); }
    size_t stale() const { return stale_.size(); }
    std::string why_foreign() const {
        return foreign_.empty() ? "" : halyard::tune::foreign(*foreign_.begin()->second);
    }

private:
    std::map<std::string, Record> records_;
    std::map<std::string, const Record *> foreign_;
    std::set<std::string> stale_;  // keys
    std::vector<std::string> refused_;
    RecordWriter writer_;
};

}  // namespace halyard::tune
