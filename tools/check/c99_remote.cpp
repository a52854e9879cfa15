#include "tools/check/c99_remote.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

#include "registry/base/atomic_file.h"
#include "registry/base/error.h"
#include "registry/base/run_program.h"

namespace halyard::check {
namespace {

constexpr int64_t zone = 64;  // bytes around a tensor that must keep their values

// The program. A tensor is aligned to its element and no more, as a caller's may be.
constexpr const char *program_text = R"(
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static unsigned char pool[POOL];

static int transfer(int file, unsigned char *bytes, int32_t count, int writes) {
    while (count > 0) {
        const long n = writes ? (long)write(file, bytes, (size_t)count)
                              : (long)read(file, bytes, (size_t)count);
        if (n <= 0) return 0;
        bytes += n;
        count -= (int32_t)n;
    }
    return 1;
}

static int read_words(int file, int32_t *words, int32_t count) {
    return transfer(file, (unsigned char *)words, count * 4, 0);
}

/* Returns the first tensor before or behind which a byte has changed, or -1. */
static int32_t outside(void **tensors, const int32_t *sizes, int32_t count) {
    int32_t t, i;
    for (t = 0; t < count; t++) {
        const unsigned char *bytes = tensors[t];
        for (i = 1; i <= ZONE / 2; i++)
            if (bytes[-i] != 0xa5 || bytes[sizes[t] + i - 1] != 0xa5) return t;
    }
    return -1;
}

static int run_case(int in, int out) {
    int32_t head[3], sizes[TENSORS], elements[TENSORS], t, found;
    void *tensors[TENSORS];
    unsigned char *end = pool;
    if (!read_words(in, head, 3)) return 0;
    if (!read_words(in, sizes, head[1]) || !read_words(in, elements, head[1])) return 0;
    memset(pool, 0xa5, sizeof pool);
    for (t = 0; t < head[1]; t++) {
        end += (ZONE - (uintptr_t)end % ZONE) + ZONE / 2 + elements[t];
        tensors[t] = end;
        if (!transfer(in, end, sizes[t], 0)) return 0;
        end += sizes[t] + ZONE / 2;
    }
    calls[head[0]](tensors);
    found = outside(tensors, sizes, head[1]);
    if (!transfer(out, (unsigned char *)&found, 4, 1)) return 0;
    for (t = head[2]; t < head[1]; t++)
        if (!transfer(out, tensors[t], sizes[t], 1)) return 0;
    return 1;
}

int main(void) {
    const int in = open(CASES, O_RDONLY);
    const int out = open(RESULTS, O_WRONLY);
    int32_t count;
    if (in < 0 || out < 0 || !read_words(in, &count, 1)) return 2;
    for (; count > 0; count--)
        if (!run_case(in, out)) return 3;
    return 0;
}
)";

void put(std::string &bytes, int64_t word) {
    const auto narrow = int32_t(word);
    bytes.append(reinterpret_cast<const char *>(&narrow), sizeof narrow);
}

int64_t bytes_of(const Tensor &t) {
    return t.elements() * int64_t(halyard::bytes_of(t.dtype()));
}

void put(std::string &bytes, const RemoteCase &c) {
    std::vector<Tensor> tensors = c.in;
    tensors.insert(tensors.end(), c.out.begin(), c.out.end());
    put(bytes, int64_t(c.call));
    put(bytes, int64_t(tensors.size()));
    put(bytes, int64_t(c.in.size()));
    for (const Tensor &t : tensors)
        put(bytes, bytes_of(t));
    for (const Tensor &t : tensors)
        put(bytes, int64_t(halyard::bytes_of(t.dtype())));
    for (const Tensor &t : tensors)
        bytes.append(static_cast<const char *>(t.raw()), size_t(bytes_of(t)));
}

// Takes the results of a case from `bytes`, if they are there.
RemoteCalls::Outcome taken(std::string_view &bytes, const RemoteCase &c) {
    int64_t needed = 4;
    for (const Tensor &t : c.out)
        needed += bytes_of(t);
    if (int64_t(bytes.size()) < needed) return {};
    int32_t outside = 0;
    std::memcpy(&outside, bytes.data(), sizeof outside);
    bytes.remove_prefix(sizeof outside);
    for (const Tensor &t : c.out) {
        std::memcpy(t.raw(), bytes.data(), size_t(bytes_of(t)));
        bytes.remove_prefix(size_t(bytes_of(t)));
    }
    if (outside < 0) return {true, ""};
    return {true, "it writes before or behind tensor " + std::to_string(outside) + " of the call"};
}

std::string bytes_of_file(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

// Returns the source with what the program needs to know of its calls.
std::string completed(const std::string &source, const std::vector<c99::CallSource> &calls,
                      const std::string &folder) {
    std::string entries;
    int64_t pool = 0;
    size_t tensors = 0;
    for (const c99::CallSource &call : calls) {
        entries += (entries.empty() ? "entry_" : ", entry_") + call.name;
        pool = std::max(pool, remote_bytes(call));
        tensors = std::max(tensors, call.parameters.size());
    }
    const auto define = [](const std::string &name, const std::string &value) {
        return "#define " + name + " " + value + "\n";
    };
    return source + "\nstatic void (*const calls[])(void **) = {" + entries + "};\n" +
           define("POOL", std::to_string(pool)) + define("TENSORS", std::to_string(tensors)) +
           define("ZONE", std::to_string(zone)) + define("CASES", "\"" + folder + "/cases\"") +
           define("RESULTS", "\"" + folder + "/results\"") + program_text;
}

}  // namespace

int64_t remote_bytes(const c99::CallSource &call) {
    int64_t bytes = zone;
    for (const c99::Parameter &p : call.parameters)
        bytes += p.shape.elements() * int64_t(halyard::bytes_of(p.dtype)) + 3 * zone;
    return bytes;
}

RemoteCalls::RemoteCalls(const std::string &op, c99::Target target, const std::string &source,
                         const std::vector<c99::CallSource> &calls)
    : tools_(c99::tools_of(target, "check")), program_((folder_.path / op).string()) {
    write_file(program_ + ".c", completed(source, calls, folder_.path.string()),
               Durability::to_system);
    std::vector<std::string> words = tools_.compiler;
    for (const char *word : {"-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off"})
        words.emplace_back(word);
    words.insert(words.end(), {"-o", program_, program_ + ".c"});
    words.insert(words.end(), tools_.libraries.begin(), tools_.libraries.end());
    const Ended cc = run_program(words, Keep::output_and_errors);
    if (cc.status != 0) throw Error(op, words[0] + " fails: " + cc.text);
}

std::vector<RemoteCalls::Outcome> RemoteCalls::run_from(const std::vector<RemoteCase> &cases,
                                                        size_t first) const {
    std::string bytes;
    put(bytes, int64_t(cases.size() - first));
    for (size_t k = first; k < cases.size(); k++)
        put(bytes, cases[k]);
    const std::string results = (folder_.path / "results").string();
    write_file((folder_.path / "cases").string(), bytes, Durability::to_system);
    write_file(results, "", Durability::to_system);
    std::vector<std::string> words = tools_.emulator;
    words.push_back(program_);
    const Ended ended = run_program(words, Keep::output_and_errors);
    const std::string written = bytes_of_file(results);
    std::string_view left = written;
    std::vector<Outcome> outcomes;
    for (size_t k = first; k < cases.size(); k++) {
        outcomes.push_back(taken(left, cases[k]));
        if (outcomes.back().has_ended) continue;
        outcomes.back().error = early_ending(ended);
        break;
    }
    return outcomes;
}

std::vector<RemoteCalls::Outcome> RemoteCalls::run(const std::vector<RemoteCase> &cases) const {
    std::vector<Outcome> outcomes;
    while (outcomes.size() < cases.size()) {
        for (Outcome &outcome : run_from(cases, outcomes.size()))
            outcomes.push_back(std::move(outcome));
    }
    return outcomes;
}

}  // namespace halyard::check
