// History: the records that a tuning run uses, and those it adds.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tools/tune/record.h"

namespace halyard::tune {

class History {
public:
    // The hash of what each variant computes, by variant.
    using Algorithms = std::map<std::string, std::string>;

    // Reads the file if it exists, and appends to it. Throws IoError.
    explicit History(const std::string &path);

    // Returns the newest measurement with the same key, or null. A key holds machine, kit, code and
    // algorithm, so this finds a foreign or stale record only for a key that is one itself.
    const Record *find(const Record &like) const;
    // Adds a record, also to the file. It replaces one with the same key.
    void put(const Record &r);

    // Returns measurements of the problem of `like` on this machine, by this kit and against this
    // default, of any tunables and code, whose algorithm is the one in `algorithms`.
    std::vector<const Record *> known(const Record &like, const Algorithms &algorithms) const;
    // Counts the records of the op, dtypes and instruction set of `like` as stale whose variant has
    // another algorithm now. Variants that are not in `algorithms` are not tuned, and not counted.
    void note_stale(const Record &like, const Algorithms &algorithms);

    const std::vector<std::string> &refused() const { return refused_; }
    size_t foreign() const { return foreign_reasons_.size(); }
    size_t stale() const { return stale_.size(); }
    std::string first_foreign_reason() const {
        return foreign_reasons_.empty() ? "" : foreign_reasons_.begin()->second;
    }

private:
    void add(const Record &r);
    bool is_foreign(const std::string &key) const { return foreign_reasons_.contains(key); }

    std::map<std::string, Record> records_;               // by key, like the next two
    std::map<std::string, std::string> foreign_reasons_;  // of the foreign ones
    std::set<std::string> stale_;
    std::vector<std::string> refused_;
    RecordWriter writer_;
};

}  // namespace halyard::tune
