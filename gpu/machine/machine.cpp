#include "gpu/machine/machine.h"

#include <algorithm>
#include <bit>

#include "gpu/machine/launch.h"
#include "registry/base/error.h"
#include "registry/base/integer.h"

namespace halyard::ptx {
namespace {

constexpr uint32_t nowhere = 0xFFFF'FFFF;

// Runs one warp at a time.
class WarpRunner {
public:
    WarpRunner(Launch &launch, uint64_t limit)
        : launch_(launch), steps_(launch.program.steps.data()), left_(limit) {}

    // Runs the warp until all its threads have ended or wait at a barrier.
    void run(Warp &w) {
        while (select(w))
            run_selected(w);
    }

private:
    // Selects the lanes at the lowest place. Returns false if none can run.
    bool select(Warp &w) {
        const uint32_t ready = w.live & ~w.waiting;
        if (ready == 0) return false;
        at_ = others_ = nowhere;
        active_ = 0;
        for (uint32_t lane = 0; lane < lanes; lane++) {
            if ((ready >> lane & 1) == 0) continue;
            const uint32_t place = w.place[lane];
            if (place < at_) {
                others_ = at_;
                at_ = place;
                active_ = 0;
            } else if (place > at_) {
                others_ = std::min(others_, place);
            }
            if (place == at_) active_ |= 1U << lane;
        }
        return true;
    }

    void put_back(Warp &w) const {
        for (uint32_t lane = 0; lane < lanes; lane++)
            if ((active_ >> lane & 1) != 0) w.place[lane] = at_;
    }

    // Runs the selected lanes until they end, wait, diverge, or reach the place of others.
    void run_selected(Warp &w) {
        while (at_ < others_) {
            const Step &s = steps_[at_];
            const uint32_t mask = active_ & (w.predicates[s.guard] ^ s.guard_flip);
            Executed &executed = launch_.executed[at_];
            executed.warps++;
            executed.lanes += uint32_t(std::popcount(mask));
            if (s.control != Control::next) {
                if (!control(s, w, mask)) return;
                continue;
            }
            if (mask != 0) s.execute(s, w, mask);
            at_++;
        }
        put_back(w);
    }

    // Returns false if other lanes are to be selected.
    bool control(const Step &s, Warp &w, uint32_t mask) {
        if (s.control == Control::branch) return branch(s, w, mask);
        const uint32_t stay = active_ & ~mask;
        at_++;
        put_back(w);
        if (s.control == Control::exit)
            w.live &= ~mask;
        else
            w.waiting |= mask;
        active_ = stay;
        return stay != 0;
    }

    bool branch(const Step &s, Warp &w, uint32_t mask) {
        if (left_-- == 0) {
            launch_.report(Fault::endless, s, w, uint32_t(std::countr_zero(active_)),
                           "it branches more often than a launch may");
        }
        launch_.counts.branches++;
        const bool all = mask == active_;
        if (mask == 0 || all) {
            at_ = all ? s.target : at_ + 1;
            return true;
        }
        launch_.counts.divergent_branches++;
        at_++;
        put_back(w);
        for (uint32_t lane = 0; lane < lanes; lane++)
            if ((mask >> lane & 1) != 0) w.place[lane] = s.target;
        return false;
    }

    Launch &launch_;
    const Step *const steps_;
    uint64_t left_;  // branches that may still be executed
    uint32_t active_ = 0, at_ = 0, others_ = 0;
};

// The threads of a block, which all blocks use in turn.
class Block {
public:
    Block(Launch &launch, uint64_t limit) : launch_(launch), runner_(launch, limit) {
        const uint64_t threads = uint64_t(launch.block[0]) * launch.block[1] * launch.block[2];
        warps_.resize(ceil_div(threads, lanes));
        for (size_t k = 0; k < warps_.size(); k++)
            prepare(warps_[k], uint32_t(k), std::min<uint64_t>(threads - k * lanes, lanes));
    }

    void run() {
        for (Warp &w : warps_)
            begin(w);
        if (launch_.shared_used) {
            launch_.shared.shadow = Shadow(launch_.shared.bytes);
            launch_.shared_used = false;
        }
        launch_.phase = 0;
        do {
            for (Warp &w : warps_)
                runner_.run(w);
        } while (pass_barrier());
        launch_.counts.blocks++;
    }

private:
    void prepare(Warp &w, uint32_t number, uint64_t threads) {
        const Program &p = launch_.program;
        w.launch = &launch_;
        w.number = number;
        w.begun = threads == lanes ? all_lanes : (1U << threads) - 1;
        w.rows.resize(p.rows);
        w.predicates.assign(p.predicates, 0);
        w.predicates[0] = all_lanes;
        for (auto &[row, value] : p.constants)
            w.rows[row].fill(value);
        for (const Program::SpecialRow &s : p.specials)
            set_special(w, s);
    }

    void set_special(Warp &w, const Program::SpecialRow &s) {
        Row &row = w.rows[s.row];
        for (uint32_t lane = 0; lane < lanes; lane++) {
            switch (s.special) {
            case Special::tid:
                row[lane] = launch_.thread_of(w.number * lanes + lane)[s.dimension];
                break;
            case Special::ntid: row[lane] = launch_.block[s.dimension]; break;
            case Special::ctaid: row[lane] = launch_.at[s.dimension]; break;
            case Special::nctaid: row[lane] = launch_.grid[s.dimension]; break;
            case Special::laneid: row[lane] = lane; break;
            case Special::warpid: row[lane] = w.number; break;
            }
        }
    }

    void begin(Warp &w) {
        w.live = w.begun;
        w.waiting = 0;
        w.place.fill(0);
        for (const Program::SpecialRow &s : launch_.program.specials)
            if (s.special == Special::ctaid) w.rows[s.row].fill(launch_.at[s.dimension]);
    }

    // Lets the threads that wait go on. Returns false if none waits.
    bool pass_barrier() {
        const bool any = std::any_of(warps_.begin(), warps_.end(),
                                     [](const Warp &w) { return w.waiting != 0; });
        if (!any) return false;
        for (const Warp &w : warps_)
            if (w.waiting != w.begun) report_divergence();
        for (Warp &w : warps_)
            require_one_barrier(w);
        for (Warp &w : warps_)
            w.waiting = 0;
        launch_.phase++;
        launch_.counts.barriers++;
        return true;
    }

    // Reports that a thread has ended while others wait at a barrier.
    void report_divergence() {
        const Warp *ended = nullptr, *waits = nullptr;
        for (const Warp &w : warps_) {
            if (w.waiting != w.begun) ended = &w;
            if (w.waiting != 0) waits = &w;
        }
        const auto first_ended = uint32_t(std::countr_zero(ended->begun & ~ended->waiting));
        const auto first_waits = uint32_t(std::countr_zero(waits->waiting));
        const Index3 other = launch_.thread_of(ended->number * lanes + first_ended);
        launch_.report(Fault::divergent_barrier,
                       launch_.program.steps[waits->place[first_waits] - 1], *waits, first_waits,
                       "thread (" + std::to_string(other[0]) + "," + std::to_string(other[1]) +
                           "," + std::to_string(other[2]) + ") ended without it");
    }

    // The threads of a warp must wait at the same barrier.
    void require_one_barrier(const Warp &w) {
        const uint32_t place = w.place[0];
        for (uint32_t lane = 1; lane < lanes; lane++) {
            if ((w.begun >> lane & 1) == 0 || w.place[lane] == place) continue;
            launch_.report(Fault::divergent_barrier, launch_.program.steps[w.place[lane] - 1], w,
                           lane,
                           "thread " + std::to_string(w.number * lanes) +
                               " of its warp waits at another barrier");
        }
    }

    Launch &launch_;
    WarpRunner runner_;
    std::vector<Warp> warps_;
};

void check_shape(const Program &p, const LaunchShape &s) {
    constexpr uint64_t most_threads = 1024, most_shared = 227 << 10, most_blocks = 65'535;
    const auto refuse = [&](const std::string &what) {
        throw DeviceError("ptx", p.name + ": " + what);
    };
    uint64_t threads = 1;
    for (size_t d = 0; d < 3; d++) {
        if (s.block[d] == 0 || s.grid[d] == 0) refuse("a launch of 0 threads or blocks");
        threads *= s.block[d];
        if (d > 0 && s.grid[d] > most_blocks)
            refuse(std::to_string(s.grid[d]) + " blocks, a GPU takes 65535 in y and z");
        const uint32_t stated = p.entry->most_threads[d];
        if (stated != 0 && s.block[d] > stated)
            refuse("a block of " + std::to_string(s.block[d]) + " threads, .maxntid is " +
                   std::to_string(stated));
    }
    if (threads > most_threads)
        refuse("a block of " + std::to_string(threads) + " threads, a GPU takes 1024");
    if (p.shared_bytes + s.dynamic_shared > most_shared)
        refuse(std::to_string(p.shared_bytes + s.dynamic_shared) + " bytes of shared memory");
}

void run_all(Launch &launch, uint64_t limit) {
    Block block(launch, limit);
    for (uint32_t z = 0; z < launch.grid[2]; z++) {
        for (uint32_t y = 0; y < launch.grid[1]; y++) {
            for (uint32_t x = 0; x < launch.grid[0]; x++) {
                launch.at = {x, y, z};
                block.run();
                launch.run++;
            }
        }
    }
}

void sum_up(Launch &launch) {
    Counts &c = launch.counts;
    for (size_t k = 0; k < launch.executed.size(); k++) {
        const Executed &e = launch.executed[k];
        const Statement *s = launch.program.statement(uint32_t(k));
        if (!s || e.warps == 0) continue;
        Executed &sum = c.by_opcode[s->opcode];
        sum.warps += e.warps;
        sum.lanes += e.lanes;
        c.warp_instructions += e.warps;
        c.lane_instructions += e.lanes;
    }
    c.launches = 1;
}

}  // namespace

void Counts::add(const Counts &o) {
    for (auto &[opcode, e] : o.by_opcode) {
        by_opcode[opcode].warps += e.warps;
        by_opcode[opcode].lanes += e.lanes;
    }
    warp_instructions += o.warp_instructions;
    lane_instructions += o.lane_instructions;
    branches += o.branches;
    divergent_branches += o.divergent_branches;
    barriers += o.barriers;
    global_loads += o.global_loads;
    global_stores += o.global_stores;
    load_sectors += o.load_sectors;
    store_sectors += o.store_sectors;
    lines += o.lines;
    block_sectors += o.block_sectors;
    launch_sectors += o.launch_sectors;
    shared_requests += o.shared_requests;
    shared_wavefronts += o.shared_wavefronts;
    least_wavefronts += o.least_wavefronts;
    blocks += o.blocks;
    launches += o.launches;
}

std::vector<Finding> Machine::launch(const Program &p, const LaunchShape &shape,
                                     const std::vector<uint8_t> &arguments) {
    check_shape(p, shape);
    if (arguments.size() < p.entry->parameter_bytes)
        throw DeviceError("ptx", p.name + ": too few bytes of arguments");
    Launch launch(p, memory, arguments, p.shared_bytes + shape.dynamic_shared, next_run_);
    launch.notes_sectors = notes_sectors_;
    launch.grid = shape.grid;
    launch.block = shape.block;
    launch.executed.resize(p.steps.size());
    try {
        run_all(launch, limit_);
    } catch (const Stopped &) {
        launch.counts.blocks++;
    }
    next_run_ = launch.run + 1;
    sum_up(launch);
    last_launch_ = std::move(launch.counts);
    counts_.add(last_launch_);
    return std::move(launch.findings);
}

LoadedModule::LoadedModule(const std::string &text, Memory &memory)
    : module_(parse(text)), memory_(memory) {
    for (const Variable &v : module_.variables) {
        if (v.space != Space::global && v.space != Space::constant) continue;
        const uint64_t address = memory_.allocate(v.bytes);
        Buffer &b = *memory_.near(address);
        if (!v.contents.empty()) {
            std::copy(v.contents.begin(), v.contents.end(), b.data.begin());
            b.shadow.write_from_host(0, v.bytes);
        }
        addresses_[v.name] = address;
    }
}

LoadedModule::~LoadedModule() {
    for (auto &[name, address] : addresses_)
        memory_.free(address);
}

const Program &LoadedModule::program(const std::string &entry) {
    std::unique_ptr<Program> &known = programs_[entry];
    if (!known) {
        const Entry *e = module_.find(entry);
        if (!e) throw DeviceError("ptx", "no entry '" + entry + "'");
        known = std::make_unique<Program>(decode(module_, *e, addresses_));
    }
    return *known;
}

}  // namespace halyard::ptx
