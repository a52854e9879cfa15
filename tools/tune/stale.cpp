#include "tools/tune/stale.h"

#include <algorithm>
#include <filesystem>

#include "registry/base/error.h"
#include "registry/base/program.h"
#include "tools/tune/algorithm.h"

namespace halyard::tune {
namespace {
namespace fs = std::filesystem;

// Returns the hash of the record's algorithm now, or sets `why` if there is no such kernel.
std::string algorithm_now(const Record &r, std::string &why) {
    const OpPtr op = op_table().make(r.op);
    if (!op) {
        why = "there is no op " + r.op + " any more";
        return "";
    }
    if (std::none_of(op->variants.begin(), op->variants.end(),
                     [&](const VariantSpec &v) { return v.name == r.variant; })) {
        why = r.op + " has no variant '" + r.variant + "' any more";
        return "";
    }
    Instance i;
    i.dtypes = r.dtypes;
    i.variant = r.variant;
    i.isa = isa_of(r.isa);
    try {
        return algorithm_of(r.op, i);
    } catch (const Error &e) {
        why = e.what();
        return "";
    }
}

}  // namespace

std::vector<std::string> committed_files() {
    std::vector<std::string> files;
    const fs::path dir = installed("share/halyard/records");
    if (fs::is_directory(dir)) {
        for (auto &entry : fs::directory_iterator(dir))
            if (entry.path().extension() == ".records") files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    return files;
}

std::vector<std::string> stale_lines(const RecordFile &file, const std::string &op) {
    std::vector<std::string> lines;
    // The hash, or why there is none.
    std::map<std::string, std::pair<std::string, std::string>> now;
    for (size_t k = 0; k < file.records.size(); k++) {
        const Record &r = file.records[k];
        if (!op.empty() && r.op != op) continue;
        const auto [at,
                    fresh] = now.try_emplace(r.op + " " + r.dtypes + " " + r.variant + "/" + r.isa);
        auto &[algorithm, why] = at->second;
        if (fresh) algorithm = algorithm_now(r, why);
        if (algorithm == r.algorithm) continue;
        lines.push_back(file.path + ":" + std::to_string(file.lines[k]) + ": stale: " +
                        (why.empty() ? at->first + " was measured when its algorithm was " +
                                           r.algorithm + ", it is " + algorithm + " now"
                                     : why));
    }
    return lines;
}

}  // namespace halyard::tune
