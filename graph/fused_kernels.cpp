#include "graph/fused_kernels.h"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <list>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "primitives/context.h"
#include "registry/base/error.h"
#include "registry/base/fork.h"
#include "registry/base/log.h"
#include "registry/base/parallel.h"
#include "registry/base/run_program.h"
#include "registry/base/text.h"
#include "registry/dispatch/registry.h"

namespace halyard::graph {
namespace {
namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::atomic<double> least_ratio = 1.03;

// Returns the path of the command; "" if there is none.
std::string find_command() {
    if (const char *given = std::getenv("HALYARD_COMMAND"); given && *given) return given;
    Dl_info library;
    if (!dladdr(reinterpret_cast<void *>(&find_command), &library) || !library.dli_fname) return "";
    std::error_code unknown;
    const fs::path folder = fs::weakly_canonical(library.dli_fname, unknown).parent_path();
    for (const fs::path &place : {folder / "halyard", folder.parent_path() / "bin/halyard"})
        if (access(place.c_str(), X_OK) == 0 && fs::is_regular_file(place, unknown)) return place;
    return "";
}

const std::string &command() {
    static const std::string path = [] {
        std::string found = find_command();
        if (found.empty() || access(found.c_str(), X_OK) != 0) {
            log(LogLevel::warning, "graph",
                "enable_graph_kernel does nothing: the command halyard, which compiles kernels, "
                "isn't " +
                    (found.empty() ? "beside the library; HALYARD_COMMAND names it" : found));
            found = "";
        }
        return found;
    }();
    return path;
}

std::string numbers_text(const std::vector<double> &numbers) {
    std::vector<std::string> texts;
    for (const double number : numbers) {
        char text[40];
        std::snprintf(text, sizeof text, "%.17g", number);
        texts.emplace_back(text);
    }
    return join(texts, ",");
}

std::vector<std::string> words_for(const Region &r) {
    std::vector<std::string> words{command(), "fuse", r.body, "--background", "--json", "-"};
    for (const View &v : r.in) {
        words.emplace_back("--in");
        words.push_back(name_of(v.dtype) + v.shape.text());
    }
    for (const std::string &output : r.outputs) {
        words.emplace_back("--out");
        words.push_back(output);
    }
    if (!r.numbers.empty()) {
        words.emplace_back("--numbers");
        words.push_back(numbers_text(r.numbers));
    }
    words.emplace_back("--isa");
    words.emplace_back(name_of(active_isa()));
    words.emplace_back("--threads");
    words.push_back(std::to_string(threads()));
    return words;
}

// The record of the op whose kernel `halyard fuse` made.
OpRecord record_of(const Json &made) {
    OpRecord r;
    r.name = made.at("name");
    r.signature = made.at("signature");
    r.form = Form::elementwise;
    r.dtypes = {made.at("dtype").get<std::string>()};
    r.any_strides = true;  // for elementwise calls
    r.internal = true;
    for (const Json &attribute : made.at("attributes")) {
        const std::string name = attribute;
        r.attrs.push_back({name, AttrKind::real, "0", {}, {}});
        r.scalars.push_back({name, name, true});
    }
    if (const std::string reduction = made.at("reduction"); !reduction.empty()) {
        const OpRecord &last = registry().at(reduction).record;
        end_with(r, last);
        r.attrs.insert(r.attrs.end(), last.attrs.begin(), last.attrs.end());
        r.scalars.insert(r.scalars.end(), last.scalars.begin(), last.scalars.end());
        r.variants = {{made.at("variant"), ""}};
    }
    return r;
}

KernelFn opened(const std::string &library, const std::string &symbol) {
    void *handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) throw DispatchError(symbol, std::string("can't be opened: ") + dlerror());
    const auto kernel = reinterpret_cast<KernelFn>(dlsym(handle, (symbol + "_argv").c_str()));
    if (!kernel) throw DispatchError(symbol, "is not in " + library);
    return kernel;
}

RegisteredOp op_of(const Json &made) {
    RegisteredOp op;
    op.record = record_of(made);
    op.signature = Signature(op.record.name, op.record.signature);
    op.only_argument.assign(op.record.attrs.size(), false);
    KernelEntry k;
    k.op = op.record.name;
    k.backend = "cpu";
    k.dtypes = op.record.dtypes[0];
    k.isa = isa_of(made.at("isa"));
    k.lanes = made.at("lanes");
    k.variant = made.at("variant");
    k.fn = opened(made.at("library"), made.at("symbol"));
    op.kernels.push_back(k);
    return op;
}

class Maker {
public:
    Maker() { hold_over_fork(mutex_, LockRank::outer); }

    const RegisteredOp *find(const Region &region) {
        const std::string text = region.text();
        const std::lock_guard lock(mutex_);
        const auto [place, is_new] = known_.emplace(std::pair(text, active_isa()), nullptr);
        if (!is_new) return place->second;
        if (is_forked_child()) return nullptr;  // it has no thread that makes kernels
        requests_.push_back({place->first, words_for(region)});
        pending_++;
        if (!std::exchange(has_thread_, true)) std::thread([this] { make_all(); }).detach();
        changed_.notify_all();
        return nullptr;
    }
    void wait() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return pending_ == 0 || is_forked_child(); });
    }
    std::vector<FusedResult> results() {
        const std::lock_guard lock(mutex_);
        return results_;
    }

    std::atomic<uint64_t> made = 0;

private:
    using Key = std::pair<std::string, Isa>;  // the region's text
    struct Request {
        Key key;
        std::vector<std::string> words;
    };

    // The thread: makes kernels, one at a time, for the rest of the program.
    void make_all() {
        std::unique_lock lock(mutex_);
        for (;;) {
            changed_.wait(lock, [&] { return !requests_.empty(); });
            const Request request = std::move(requests_.front());
            requests_.pop_front();
            lock.unlock();
            FusedResult result{request.key.first};
            std::list<RegisteredOp> op;
            try {
                op = make(request, result);
            } catch (const std::exception &e) {
                result.reason = e.what();
            }
            log(LogLevel::info, "graph",
                result.region + (result.is_used ? ": a kernel, " : ": no kernel, ") +
                    (result.is_used ? std::to_string(result.ratio) + " times as fast"
                                    : result.reason));
            lock.lock();
            results_.push_back(result);
            if (!op.empty()) {
                ops_.splice(ops_.end(), op);
                known_[request.key] = &ops_.back();
                made++;
            }
            pending_--;
            changed_.notify_all();
        }
    }

    // Returns what the command found, which may stand after lines of its log.
    static Json found_in(const std::string &text) {
        const size_t begin = text.find("{\n");
        return Json::parse(begin == std::string::npos ? text : text.substr(begin));
    }

    static std::list<RegisteredOp> make(const Request &request, FusedResult &result) {
        const Ended ended = run_program(request.words, Keep::output_and_errors);
        if (ended.status != 0)
            throw Error("fuse", one_line(ended.text.empty() ? "it was ended" : ended.text));
        const Json found = found_in(ended.text);
        result.ratio = found.at("ratio");
        if (!found.at("same_bits").get<bool>())
            result.reason = found.at("difference");
        else if (result.ratio < least_ratio)
            result.reason = "it isn't faster: " + std::to_string(result.ratio);
        result.is_used = result.reason.empty();
        std::list<RegisteredOp> op;
        if (result.is_used) op.push_back(op_of(found));
        return op;
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<Key, const RegisteredOp *> known_;  // null: not made, or not used
    std::deque<Request> requests_;
    std::list<RegisteredOp> ops_;
    std::vector<FusedResult> results_;
    size_t pending_ = 0;
    bool has_thread_ = false;
};

Maker &maker() {
    static Maker &m = *new Maker;  // never destroyed: its thread runs to the program's end
    return m;
}

}  // namespace

bool can_fuse_regions() {
    return device() == "cpu" && !command().empty();
}

const RegisteredOp *fused_op(const Region &region) {
    return maker().find(region);
}

uint64_t fused_kernels_made() {
    return maker().made.load(std::memory_order_acquire);
}

void set_least_fused_ratio(double ratio) {
    least_ratio = ratio;
}

void wait_for_fused_kernels() {
    maker().wait();
}

std::vector<FusedResult> fused_results() {
    return maker().results();
}

}  // namespace halyard::graph
