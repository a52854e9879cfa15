// Files of records: reading, appending, merging, comparing.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "registry/base/error.h"
#include "tools/tune/record.h"

namespace halyard::tune {
namespace {

std::string rounded(double v) {
    char text[32];
    std::snprintf(text, sizeof text, "%.4g", v);
    return text;
}

}  // namespace

std::string key_of(const Record &r) {
    std::string key;
    for (const std::string &s :
         {r.op, r.dtypes, r.isa, r.cpu, std::to_string(r.threads), r.bucket, r.problem, r.variant,
          r.schedule, tunables_text(r.tunables), r.algorithm, r.code, r.against, r.kit})
        key += s + "\n";
    return key;
}

RecordFile read_records(const std::string &path) {
    std::ifstream in(path);
    if (!in) throw IoError(path, "can't be read");
    RecordFile file{path, {}, {}, {}};
    int number = 0;
    for (std::string line; std::getline(in, line);) {
        number++;
        if (line.empty() || line[0] == '#') continue;
        std::string why;
        if (auto r = parse_record(line, why)) {
            file.records.push_back(std::move(*r));
            file.lines.push_back(number);
        } else
            file.refused.push_back(path + ":" + std::to_string(number) + ": " + why);
    }
    return file;
}

RecordWriter::RecordWriter(const std::string &path) : path_(path) {
    std::error_code ignored;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
    file_ = open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    created_ = file_ >= 0;
    if (!created_ && errno == EEXIST) file_ = open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC);
    if (file_ < 0) throw IoError(path, std::string("can't be written: ") + std::strerror(errno));
    // A line that was cut by a full disk or a power failure must not swallow the next one.
    char last = '\n';
    const off_t end = lseek(file_, 0, SEEK_END);
    const bool is_cut = end > 0 && pread(file_, &last, 1, end - 1) == 1 && last != '\n';
    if (!is_cut || write_whole("\n")) return;
    const int why = errno;
    close(file_);
    throw IoError(path, std::string("can't be written: ") + std::strerror(why));
}

RecordWriter::~RecordWriter() {
    if (created_ && lseek(file_, 0, SEEK_END) == 0) unlink(path_.c_str());
    close(file_);
}

bool RecordWriter::write_whole(const std::string &text) const {
    const off_t before = lseek(file_, 0, SEEK_END);
    const ssize_t written = write(file_, text.data(), text.size());
    if (written == (ssize_t)text.size()) return true;
    const int why = written < 0 ? errno : ENOSPC;
    // Another process may have appended meanwhile. Then the cut line stays, and readers skip it.
    const bool is_last = lseek(file_, 0, SEEK_END) == before + std::max<ssize_t>(written, 0);
    if (written > 0 && is_last && ftruncate(file_, before) != 0) return false;
    errno = why;
    return false;
}

void RecordWriter::append(const Record &r) {
    if (!write_whole(text_of(r) + "\n"))
        throw IoError(path_, std::string("can't be written: ") + std::strerror(errno));
}

std::vector<Record> merged(const std::vector<RecordFile> &files) {
    std::map<std::string, Record> newest;
    for (auto &file : files) {
        for (auto &r : file.records) {
            const auto [at, fresh] = newest.emplace(key_of(r), r);
            if (!fresh && std::make_pair(at->second.date, text_of(at->second)) <
                              std::make_pair(r.date, text_of(r)))
                at->second = r;
        }
    }
    std::vector<Record> all;
    for (auto &[key, r] : newest)
        all.push_back(r);
    return all;
}

namespace {

// Returns the key of the same measurement in another kit, or of an op that has changed since.
std::string key_without_code(Record r) {
    r.algorithm = r.code = r.against = r.kit = "";
    return key_of(r);
}

std::string name_of(const Record &r) {
    return r.op + " '" + r.problem + "' " + r.dtypes + " " + r.variant + "/" + r.isa + " " +
           tunables_text(r.tunables) + (r.schedule == "own" ? "" : " by " + r.schedule) + ", " +
           std::to_string(r.threads) + " thread" + (r.threads > 1 ? "s" : "");
}

// Returns what changed from x to y: "kit 0.1.0 -> 0.2.0, 12.1 -> 14 us (1.16 x)".
std::string changes(const Record &x, const Record &y) {
    std::string what;
    const auto changed = [&](const std::string &label, const std::string &from,
                             const std::string &to) {
        if (from != to) what += (what.empty() ? "" : ", ") + label + " " + from + " -> " + to;
    };
    changed("algorithm", x.algorithm, y.algorithm);
    changed("code", x.code.substr(0, 8), y.code.substr(0, 8));
    changed("default", x.against.substr(0, 8), y.against.substr(0, 8));
    changed("kit", x.kit, y.kit);
    changed("verdict", x.verdict, y.verdict);
    if (x.timed() && y.timed() && std::fabs(y.median_us / x.median_us - 1) > 0.05) {
        what += (what.empty() ? "" : ", ") + rounded(x.median_us) + " -> " + rounded(y.median_us) +
                " us (" + rounded(y.median_us / x.median_us) + " x)";
    }
    return what;
}

}  // namespace

std::vector<std::string> differences(const RecordFile &a, const RecordFile &b) {
    std::map<std::string, std::pair<const Record *, const Record *>> both;
    for (auto &r : a.records)
        both[key_without_code(r)].first = &r;
    for (auto &r : b.records)
        both[key_without_code(r)].second = &r;
    std::vector<std::string> lines;
    for (auto &[key, pair] : both) {
        const auto [x, y] = pair;
        if (!x || !y) {
            lines.push_back((x ? "only in " + a.path : "only in " + b.path) + ": " +
                            name_of(x ? *x : *y));
            continue;
        }
        const std::string what = changes(*x, *y);
        if (!what.empty()) lines.push_back(name_of(*x) + ": " + what);
    }
    return lines;
}

}  // namespace halyard::tune
