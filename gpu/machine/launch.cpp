#include "gpu/machine/launch.h"

namespace halyard::ptx {

bool Launch::counted(Fault fault, const Step &s) {
    const auto at = reported_.find({fault, &s});
    if (at == reported_.end()) return false;
    findings[at->second].times++;
    return true;
}

void Launch::report(Fault fault, const Step &s, const Warp &w, uint32_t lane,
                    const std::string &what) {
    if (!counted(fault, s)) {
        const Statement *statement = program.statement(uint32_t(&s - program.steps.data()));
        Finding f;
        f.fault = fault;
        f.kernel = program.name;
        f.instruction = statement ? statement->opcode : "the end";
        f.line = statement ? statement->line : program.entry->line;
        f.block = at;
        f.thread = thread_of(w.number * lanes + lane);
        f.what = what;
        reported_[{fault, &s}] = findings.size();
        findings.push_back(f);
    }
    if (ends_launch(fault)) throw Stopped();
}

namespace {

Index3 index_in(uint64_t number, const Index3 &extents) {
    return {uint32_t(number % extents[0]), uint32_t(number / extents[0] % extents[1]),
            uint32_t(number / extents[0] / extents[1])};
}

}  // namespace

Index3 Launch::thread_of(uint64_t number) const {
    return index_in(number, block);
}

Index3 Launch::block_of(uint64_t block_run) const {
    return index_in(block_run - first_run, grid);
}

}  // namespace halyard::ptx
