#include "gpu/model/live_registers.h"

#include <algorithm>
#include <set>

namespace halyard::ptx {
namespace {

using Names = std::set<std::string>;

// Analyses liveness backwards over the statements, until nothing changes.
class Liveness {
public:
    explicit Liveness(const Entry &entry) : entry_(entry), live_(entry.code.size() + 1) {}

    uint32_t most() {
        for (bool changes = true; changes;) {
            changes = false;
            for (size_t k = entry_.code.size(); k-- > 0;)
                changes |= update(k);
        }
        uint32_t most = 0;
        for (const Names &names : live_)
            most = std::max(most, size_of(names));
        return most;
    }

private:
    bool update(size_t k) {
        const Statement &s = entry_.code[k];
        Names live = live_after(k);
        const bool is_guarded = !s.guard.empty();
        if (has_result(s) && !is_guarded) remove(s.operands[0], live);
        for (size_t o = has_result(s) ? 1 : 0; o < s.operands.size(); o++)
            add(s.operands[o], live);
        if (is_guarded) live.insert(s.guard);
        if (live == live_[k]) return false;
        live_[k] = std::move(live);
        return true;
    }
    Names live_after(size_t k) const {
        const Statement &s = entry_.code[k];
        const bool branches = s.words[0] == "bra";
        Names live;
        if (!branches || !s.guard.empty()) live = live_[k + 1];
        if (!branches || s.operands.empty()) return live;
        const auto target = entry_.labels.find(s.operands[0].name);
        if (target != entry_.labels.end())
            live.insert(live_[target->second].begin(), live_[target->second].end());
        return live;
    }
    // The others only read their operands.
    static bool has_result(const Statement &s) {
        static const Names without = {"st",  "bra",  "bar", "barrier",
                                      "ret", "exit", "red", "membar"};
        return !s.operands.empty() && without.count(s.words[0]) == 0;
    }
    void remove(const Operand &o, Names &live) const {
        live.erase(o.name);
        for (const Operand &part : o.parts)
            live.erase(part.name);
    }
    void add(const Operand &o, Names &live) const {
        if (entry_.registers.count(o.name) != 0) live.insert(o.name);
        for (const Operand &part : o.parts)
            add(part, live);
    }
    uint32_t size_of(const Names &names) const {
        uint32_t size = 0;
        for (const std::string &name : names) {
            const uint32_t bytes = bytes_of(entry_.registers.at(name));
            size += bytes == 0 ? 0 : bytes <= 4 ? 1 : bytes / 4;
        }
        return size;
    }

    const Entry &entry_;
    std::vector<Names> live_;  // before each statement, and after the last
};

}  // namespace

uint32_t live_registers(const Entry &entry) {
    return Liveness(entry).most();
}

}  // namespace halyard::ptx
