#include "tools/check/sandbox.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>

#include "bench/harness/case.h"
#include "bench/harness/progress.h"
#include "primitives/library.h"
#include "registry/base/runtime.h"
#include "registry/dispatch/plan.h"
#include "registry/dispatch/planner.h"
#include "registry/dispatch/run_plan.h"
#include "tools/check/check.h"

namespace halyard::check {
namespace {

constexpr size_t chunk = 256;  // memory is compared in chunks of this size
// Bytes compared in one loop; a longer loop runs as it would in one thread.
constexpr double max_compared = 1e9;
constexpr unsigned char fence = 0xA5;

struct Region {
    char *begin;
    size_t bytes;
    const char *name;
};

// Memory as it was when a loop began, and the values that its iterations, each alone, give it.
class Snapshot {
public:
    explicit Snapshot(const Region &r)
        : region_(r), before_(r.begin, r.begin + r.bytes), after_(before_) {}

    // Records what `iteration` changed and restores the memory. Returns the earlier iteration that
    // wrote something else to one of the places, or -1.
    int take(int iteration) {
        int other = -1;
        for (size_t at = 0; at < region_.bytes; at += chunk) {
            const size_t n = std::min(chunk, region_.bytes - at);
            if (std::memcmp(region_.begin + at, &before_[at], n) == 0) continue;
            if (owner_.empty()) owner_.assign(region_.bytes, -1);
            for (size_t i = at; i < at + n; i++) {
                if (region_.begin[i] == before_[i]) continue;
                if (owner_[i] >= 0 && after_[i] != region_.begin[i]) other = owner_[i];
                owner_[i] = iteration;
                after_[i] = region_.begin[i];
            }
            std::memcpy(region_.begin + at, &before_[at], n);
        }
        return other;
    }
    void finish() { std::memcpy(region_.begin, after_.data(), region_.bytes); }
    const char *name() const { return region_.name; }

private:
    Region region_;
    std::vector<char> before_, after_;
    std::vector<int> owner_;
};

class Sandbox : public KernelWatch {
public:
    // Kernels' stacks are below `frame`.
    Sandbox(char *frame, unsigned char garbage) : frame_(frame), garbage_(garbage) {}

    std::string run(std::span<const Tensor> outputs, const std::function<void()> &call) {
        for (const Tensor &t : outputs)
            outputs_.push_back({static_cast<char *>(t.raw()), t.bytes(), "an output"});
        poison_stack();
        watch_kernels(this);
        try {
            call();
        } catch (...) {
            watch_kernels(nullptr);
            throw;
        }
        watch_kernels(nullptr);
        return error_;
    }

private:
    [[gnu::noinline]] int loop(void *user_context, halide_task_t body, int min, int size,
                               uint8_t *closure) override {
        std::vector<Region> regions = outputs_;
        double bytes = 0;
        for (auto &[block, n] : blocks_)
            regions.push_back({block, n, "scratch memory"});
        // Above the return address.
        char *const here = static_cast<char *>(__builtin_frame_address(0)) + 2 * sizeof(void *);
        regions.push_back({here, size_t(frame_ - here), "a local array"});
        for (auto &r : regions)
            bytes += double(r.bytes);
        std::vector<Snapshot> memory;
        if (size > 1 && bytes * size <= max_compared) {
            for (auto &r : regions)
                memory.emplace_back(r);
        }
        int status = 0;
        for (int i = 0; i < size && !status; i++) {
            status = body(user_context, min + i, closure);
            for (auto &m : memory) {
                if (const int other = m.take(i); other >= 0 && error_.empty()) {
                    error_ =
                        "iterations " + std::to_string(other) + " and " + std::to_string(i) +
                        " of a loop that runs in parallel write different values to one place in " +
                        m.name();
                }
            }
        }
        for (auto &m : memory)
            m.finish();
        return status;
    }
    void allocated(char *block, size_t bytes) override {
        std::memset(block - scratch_margin, fence, scratch_margin);
        std::memset(block, garbage_, bytes);
        std::memset(block + bytes, fence, scratch_margin);
        blocks_[block] = bytes;
    }
    void released(char *block) override {
        const auto it = blocks_.find(block);
        const auto is_intact = [](const char *p) {
            return std::all_of(p, p + scratch_margin,
                               [](char c) { return (unsigned char)c == fence; });
        };
        if (!is_intact(block - scratch_margin) || !is_intact(block + it->second))
            error_ = "it wrote outside its scratch memory";
        blocks_.erase(it);
    }
    [[gnu::noinline]] void poison_stack() const {
        volatile char below[1 << 17];
        for (volatile char &c : below)
            c = char(garbage_);
    }

    char *const frame_;
    const unsigned char garbage_;
    std::vector<Region> outputs_;
    std::map<char *, size_t> blocks_;
    std::string error_;
};

std::string run_in_sandbox(const Op &op, const Plan &p, const Case &c, unsigned char garbage) {
    std::vector<Tensor> plain, sandboxed;
    for (auto &o : p.outputs) {
        plain.push_back(Tensor::zeros(o.shape, o.dtype));
        sandboxed.push_back(Tensor::empty(o.shape, o.dtype));
    }
    run_plan(p, c.in, c.attrs, plain);
    for (const Tensor &t : sandboxed)
        std::memset(t.raw(), garbage, t.bytes());
    std::string error = in_sandbox(sandboxed, garbage,
                                   [&] { run_plan(p, c.in, c.attrs, sandboxed); });
    if (!error.empty()) return error;
    for (size_t k = 0; k < plain.size(); k++) {
        if (std::memcmp(plain[k].raw(), sandboxed[k].raw(), plain[k].bytes()) != 0) {
            return op.sig.outputs[k].name +
                   " has other bits in a sandbox: an iteration of a parallel loop needs another's "
                   "results, or memory is read before it is written";
        }
    }
    return "";
}

}  // namespace

[[gnu::noinline]] std::string in_sandbox(std::span<const Tensor> outputs, unsigned char garbage,
                                         const std::function<void()> &run) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    // Sanitizers watch memory themselves, and the sandbox would read what they forbid.
    (void)outputs;
    (void)garbage;
    run();
    return "";
#else
    // On the heap, because the stack is restored after every iteration.
    const auto sandbox = std::make_unique<Sandbox>(static_cast<char *>(__builtin_frame_address(0)),
                                                   garbage);
    return sandbox->run(outputs, run);
#endif
}

namespace {

// Runs one sample on one variant in the sandbox, once for each kind of garbage.
void check_variant(const Op &op, const Case &c, const std::vector<OperandMeta> &metas,
                   const std::string &where, Report &r) {
    begin_step(where);
    try {
        const Plan p = make_plan(c.registered, metas, c.attrs);
        for (unsigned char garbage : garbages)
            r.expect(where, run_in_sandbox(op, p, c, garbage));
    } catch (const DispatchError &e) {
        if (std::string(e.what()).find("no kernel takes this call") == std::string::npos)
            r.fail(where, e.what());
    }
}

}  // namespace

void check_sandbox(const Op &op, const Options &o, Report &r) {
    const std::string dtypes = o.dtypes.empty() ? op.dtypes[0] : o.dtypes;
    const std::vector<Isa> isas = isas_of(op, o);
    for (auto &sample : op.samples) {
        Case c(op, sample, dtypes, 9);
        const std::vector<OperandMeta> metas = metas_of(c.in);
        for (Isa isa : isas) {
            for (auto &v : op.variants) {
                if (!o.variant.empty() && v.name != o.variant) continue;
                if (o.quick && isa != isas.back()) continue;
                const Force force(isa, v.name);
                check_variant(op, c, metas,
                              "sandbox " + dtypes + "/" + name_of(isa) +
                                  (v.name.empty() ? "" : "/" + v.name) + " '" + sample + "'",
                              r);
            }
        }
    }
}

}  // namespace halyard::check
