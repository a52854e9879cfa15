// Record: one tuning measurement, as one line of text. A file of them is the tuning history: it is
// appended to, sorted, diffed and merged. A line, broken here for width:
//
//     op=matmul algorithm=9c1f04a2e7d35b68 code=51b0... against=c2a9... variant=direct
//     schedule=own picks=block_k:128,cols:4 dtypes=f32 isa=avx512 cpu="AMD EPYC 26/2/1"
//     threads=1 bucket="g=1 m=512 k=512 n=512" problem="g=1 m=512 k=512 n=512" n=9
//     median_us=2310.52 min_us=2301.1 spread=0.012 ratio=0.971 low=0.955 high=0.988 noise=0.006
//     verdict=proved kit=0.1.0 date=2026-11-21T23:50:12Z sum=1f0c77e2
//
// Words are name=value in this order, separated by one space. A value with a space, or an empty
// one, is in double quotes, with \" and \\ inside of them. Lines that begin with # are comments.
//
//   algorithm  what is computed: changes with the formula, not with the schedule
//              (tools/tune/algorithm.h)
//   code       what was timed: the digest of the scheduled pipeline and its target; "-" if it could
//              not be built
//   against    the code of the default that it was timed against
//   schedule   own = the op's; else the autoscheduler: mullapudi2016, adams2019, li2018,
//              anderson2021
//   picks      name:value of each tunable of the schedule, separated by commas; - = none
//   bucket     the canonical problem with every extent rounded down to a power of two
//              (tools/tune/bucket.h)
//   n          rounds; each times this kernel, the default (what a call without limits takes,
//              compiled the same way) and, as a control run, the default again
//   median_us, min_us  microseconds of a call; spread = (third quartile - first) / median
//   ratio      this kernel's time over the default's in the same rounds: below 1 it is faster
//   low, high  its 99 % interval
//   noise      how far the control run's interval reaches (bench/harness/statistics.h)
//   verdict    proved = within the contract, and the schedule gives the bits of the algorithm
//              ok = within the contract, and without a proof: it never decides
//              "breach: ...", "uncompiled: ..." = why there is no time (n=0)
//   sum        of the line before it: a line that was cut or edited is rejected
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace halyard::tune {

struct Record {
    std::string op, algorithm, code, against, variant, schedule = "own";
    std::map<std::string, int> tunables;
    std::string dtypes, isa, cpu;
    int threads = 1;
    std::string bucket, problem;
    int n = 0;
    double median_us = 0, min_us = 0, spread = 0, ratio = 0, low = 0, high = 0, noise = 0;
    std::string verdict, kit, date;

    // Fewer rounds sort candidates, but the best of many looks better than it is.
    static constexpr int rounds_to_decide = 24;
    bool timed() const { return n > 0; }
    // Faster than the default, with confidence.
    bool faster() const { return timed() && high < 1 && ratio * (1 + noise) < 1; }
    bool is_proved() const { return verdict == "proved"; }
    bool decides() const { return faster() && n >= rounds_to_decide && is_proved(); }
};

std::string text_of(const Record &r);  // the line, without its end
// Returns nothing, with the reason in `why`, if `line` isn't a record.
std::optional<Record> parse_record(const std::string &line, std::string &why);

// Returns "block_k:128,cols:4"; "-" if there are none.
std::string tunables_text(const std::map<std::string, int> &tunables);
// Identifies what was measured, whatever the result: two records with the same key are two
// measurements of one thing.
std::string key_of(const Record &r);

struct RecordFile {
    std::string path;
    std::vector<Record> records;
    std::vector<int> lines;  // of `records`, from 1
    // "path:12: what is wrong", one for each line that isn't a record.
    std::vector<std::string> refused;
};
RecordFile read_records(const std::string &path);  // throws IoError when it can't be read

// Appends whole lines, each written before append() returns, so that an interrupted program loses
// none. If the disk has no space for a line, the file stays as it was.
class RecordWriter {
public:
    explicit RecordWriter(const std::string &path);  // creates folders and file; throws IoError
    // Removes a file that it created and that has no line.
    ~RecordWriter();
    RecordWriter(const RecordWriter &) = delete;
    RecordWriter &operator=(const RecordWriter &) = delete;
    void append(const Record &r);  // throws IoError; then nothing of the record is in the file

private:
    bool write_whole(const std::string &text) const;  // or nothing of it
    std::string path_;
    int file_ = -1;
    bool created_ = false;
};

// Returns the newest measurement for each key, in the order of the keys. The order of the files
// doesn't matter.
std::vector<Record> merged(const std::vector<RecordFile> &files);
// Returns a line for each record that only one file has, or whose algorithm, verdict or time (by
// more than 5 %) differs.
std::vector<std::string> differences(const RecordFile &a, const RecordFile &b);

std::string this_cpu();  // "AMD EPYC 26/2/1": model name, family/model/stepping
// Returns why a record doesn't apply to this machine and kit; "" if it does.
std::string foreign_reason(const Record &r);

}  // namespace halyard::tune
