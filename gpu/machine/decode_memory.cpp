// Loads and stores. Each is checked against shadow memory, lane by lane, and each request's sectors
// or wavefronts are counted.
#include <algorithm>
#include <cstring>
#include <span>

#include "gpu/machine/decoder.h"
#include "gpu/machine/lanes.h"
#include "gpu/machine/launch.h"

namespace halyard::ptx {
namespace {

constexpr uint64_t sectors_of_line = 4, bank_bytes = 4, banks = 32;

std::string text_of(const Index3 &i) {
    return "(" + std::to_string(i[0]) + "," + std::to_string(i[1]) + "," + std::to_string(i[2]) +
           ")";
}

// Returns the name of a buffer: the parameter that points into it, or its number.
std::string name_of(const Launch &launch, const Buffer &b) {
    if (&b == &launch.shared) return "shared memory";
    const auto &parameters = launch.program.entry->parameters;
    for (size_t k = 0; k < parameters.size(); k++) {
        if (parameters[k].bytes != 8) continue;
        uint64_t value = 0;
        std::memcpy(&value, launch.parameters.data() + parameters[k].offset, sizeof value);
        if (value - b.base < std::max<uint64_t>(b.bytes, 1))
            return "parameter " + std::to_string(k);
    }
    return "buffer " + std::to_string(b.id);
}

std::string place_in(const Launch &launch, const Buffer &b, uint64_t address, uint64_t bytes) {
    return std::to_string(bytes) + " byte" + (bytes == 1 ? "" : "s") + " at " +
           std::to_string(int64_t(address - b.base)) + " of " + name_of(launch, b) +
           ", which has " + std::to_string(b.bytes);
}

std::string outside(const Launch &launch, uint64_t address, uint64_t bytes) {
    if (launch.memory.was_freed(address)) {
        return std::to_string(bytes) + " bytes in a buffer that has been freed";
    }
    Buffer *b = launch.memory.near(address);
    // An address just below a buffer is meant to be in that one.
    constexpr uint64_t close = 1 << 16;
    Buffer *above = launch.memory.near(address + close);
    if (above && above != b && above->base > address) b = above;
    if (!b || address - b->base + close > b->bytes + 2 * close)
        return std::to_string(bytes) + " bytes at address " + std::to_string(address) +
               ", in no buffer";
    return place_in(launch, *b, address, bytes);
}

// The accesses of one step by one warp.
class Request {
public:
    Request(const Step &step, Warp &warp, uint32_t bytes)
        : step_(step), warp_(warp), launch_(*warp.launch), bytes_(bytes) {}

    uint64_t address(uint32_t lane) const { return warp_.rows[step_.a][lane] + step_.offset; }

    // Return the bytes of the lane's access in global or shared memory.
    const uint8_t *global_load(uint32_t lane) {
        Buffer &b = global(lane);
        const uint64_t at = address(lane) - b.base;
        check_read(b, at, lane, launch_.first_run);
        return b.data.data() + at;
    }
    const uint8_t *shared_load(uint32_t lane) {
        const uint64_t at = shared(lane);
        check_read(launch_.shared, at, lane, launch_.run);
        return launch_.shared.data.data() + at;
    }
    void global_store(uint32_t lane, const uint8_t *value) {
        Buffer &b = global(lane);
        write(b, address(lane) - b.base, lane, launch_.first_run, value);
    }
    void shared_store(uint32_t lane, const uint8_t *value) {
        launch_.shared_used = true;
        write(launch_.shared, shared(lane), lane, launch_.run, value);
    }

    // Returns how many sectors the lanes' accesses touch, and notes which if that is asked for.
    uint64_t sectors(uint32_t mask) {
        std::array<uint64_t, lanes> seen;
        size_t count = 0;
        for_lanes(mask, [&](uint32_t lane) {
            // An access is aligned and at most 16 bytes, so it is in one sector.
            const uint64_t sector = address(lane) / sector_bytes;
            for (size_t k = count; k-- > 0;)
                if (seen[k] == sector) return;
            seen[count++] = sector;
        });
        if (launch_.notes_sectors) note_sectors(std::span(seen).first(count));
        return count;
    }

    // Counts the wavefronts of a request to shared memory: 128 bytes a wavefront at best. Lanes
    // with wider accesses are served in groups.
    void count_wavefronts(uint32_t mask) const {
        const uint32_t group = lanes / std::max<uint32_t>(1, bytes_ / uint32_t(bank_bytes));
        for (uint32_t first = 0; first < lanes; first += group) {
            const uint32_t members = group == lanes
                                         ? mask
                                         : mask >> first << first &
                                               uint32_t((uint64_t(1) << (first + group)) - 1);
            if (members == 0) continue;
            launch_.counts.least_wavefronts++;
            launch_.counts.shared_wavefronts += wavefronts(members);
        }
    }

private:
    void note_sectors(std::span<const uint64_t> sectors) {
        using enum TouchedSectors::Before;
        for (size_t k = 0; k < sectors.size(); k++) {
            const uint64_t line = sectors[k] / sectors_of_line;
            const auto is_of_line = [&](uint64_t s) { return s / sectors_of_line == line; };
            launch_.counts.lines += std::ranges::none_of(sectors.first(k), is_of_line);
            const TouchedSectors::Before before = launch_.touched.touch(sectors[k], launch_.run);
            launch_.counts.block_sectors += before != touched_by_block;
            launch_.counts.launch_sectors += before == untouched;
        }
    }
    uint64_t wavefronts(uint32_t mask) const {
        std::array<std::vector<uint64_t>, banks> words;
        uint64_t most = 1;
        for_lanes(mask, [&](uint32_t lane) {
            const uint64_t begin = address(lane) / bank_bytes;
            const uint64_t end = (address(lane) + bytes_ - 1) / bank_bytes;
            for (uint64_t word = begin; word <= end; word++) {
                std::vector<uint64_t> &of_bank = words[word % banks];
                if (std::find(of_bank.begin(), of_bank.end(), word) != of_bank.end()) continue;
                of_bank.push_back(word);
                most = std::max<uint64_t>(most, of_bank.size());
            }
        });
        return most;
    }

    void check_alignment(uint64_t address, uint32_t lane) {
        if (address % bytes_ == 0) return;
        launch_.report(Fault::misaligned, step_, warp_, lane,
                       "address " + std::to_string(address) + " is no multiple of " +
                           std::to_string(bytes_));
    }

    Buffer &global(uint32_t lane) {
        const uint64_t at = address(lane);
        if (!launch_.last || !launch_.last->holds(at, bytes_)) {
            launch_.last = launch_.memory.find(at, bytes_);
            if (!launch_.last) {
                launch_.report(Fault::out_of_bounds, step_, warp_, lane,
                               outside(launch_, at, bytes_));
            }
        }
        check_alignment(at, lane);
        return *launch_.last;
    }

    // Returns the access's place in shared memory.
    uint64_t shared(uint32_t lane) {
        const uint64_t at = address(lane);
        if (!launch_.shared.holds(at, bytes_)) {
            launch_.report(Fault::out_of_bounds, step_, warp_, lane,
                           place_in(launch_, launch_.shared, at, bytes_));
        }
        check_alignment(at, lane);
        return at;
    }

    void check_read(Buffer &b, uint64_t at, uint32_t lane, uint64_t first_run) {
        const Stamp me = launch_.stamp(warp_, lane);
        const Conflict found = b.shadow.read(at, bytes_, me, first_run);
        if (found != Conflict::none) report(found, b, at, lane, b.shadow.writer(at), "wrote");
    }

    void write(Buffer &b, uint64_t at, uint32_t lane, uint64_t first_run, const uint8_t *value) {
        const Stamp me = launch_.stamp(warp_, lane);
        const Stamp writer = b.shadow.writer(at), reader = b.shadow.reader(at);
        const Conflict found = b.shadow.write(at, bytes_, me, first_run);
        uint8_t *to = b.data.data() + at;
        // Two threads that write the same value agree, whoever comes first.
        if (found == Conflict::with_read)
            report(found, b, at, lane, reader, "read");
        else if (found == Conflict::with_write && std::memcmp(to, value, bytes_) != 0)
            report(found, b, at, lane, writer, "wrote");
        std::memcpy(to, value, bytes_);
    }

    // Of several readers the last one is known, which may be the thread itself.
    std::string name_of_other(Stamp other, uint32_t lane) const {
        const bool same_block = other.run() == launch_.run;
        if (same_block && other.has(Stamp::several_blocks)) return "another block";
        const std::string thread = "thread " + text_of(launch_.thread_of(other.thread()));
        if (!same_block) return "block " + text_of(launch_.block_of(other.run())) + ", " + thread;
        return other.same_thread(launch_.stamp(warp_, lane)) ? "another thread" : thread;
    }

    void report(Conflict found, const Buffer &b, uint64_t at, uint32_t lane, Stamp other,
                const char *did) {
        const Fault fault = found == Conflict::unwritten ? Fault::uninitialised : Fault::race;
        if (launch_.counted(fault, step_)) return;
        std::string what = place_in(launch_, b, b.base + at, bytes_);
        if (fault == Fault::race) what += ": " + name_of_other(other, lane) + " " + did + " it";
        if (fault == Fault::race && other.run() == launch_.run) what += " with no barrier between";
        launch_.report(fault, step_, warp_, lane, what);
    }

    const Step &step_;
    Warp &warp_;
    Launch &launch_;
    const uint32_t bytes_;
};

template<class T> T value_at(const uint8_t *from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

template<class T> void keep(const Step &s, Warp &w, uint32_t lane, const uint8_t *from) {
    for (uint32_t k = 0; k < s.count; k++)
        if ((s.list_used >> k & 1) != 0)
            w.rows[s.list[k]][lane] = pack(value_at<T>(from + k * sizeof(T)));
}

using Bytes = std::array<uint8_t, 32>;

template<class T> Bytes value_of(const Step &s, const Warp &w, uint32_t lane) {
    Bytes value;
    for (uint32_t k = 0; k < s.count; k++) {
        const T element = unpack<T>(w.rows[s.list[k]][lane]);
        std::memcpy(value.data() + k * sizeof(T), &element, sizeof element);
    }
    return value;
}

template<class T> void load_global(const Step &s, Warp &w, uint32_t mask) {
    Request r(s, w, uint32_t(sizeof(T)) * s.count);
    Counts &counts = w.launch->counts;
    counts.global_loads++;
    counts.load_sectors += r.sectors(mask);
    for_lanes(mask, [&](uint32_t lane) { keep<T>(s, w, lane, r.global_load(lane)); });
}

template<class T> void store_global(const Step &s, Warp &w, uint32_t mask) {
    Request r(s, w, uint32_t(sizeof(T)) * s.count);
    Counts &counts = w.launch->counts;
    counts.global_stores++;
    counts.store_sectors += r.sectors(mask);
    for_lanes(mask, [&](uint32_t lane) { r.global_store(lane, value_of<T>(s, w, lane).data()); });
}

template<class T> void load_shared(const Step &s, Warp &w, uint32_t mask) {
    Request r(s, w, uint32_t(sizeof(T)) * s.count);
    w.launch->counts.shared_requests++;
    r.count_wavefronts(mask);
    for_lanes(mask, [&](uint32_t lane) { keep<T>(s, w, lane, r.shared_load(lane)); });
}

template<class T> void store_shared(const Step &s, Warp &w, uint32_t mask) {
    Request r(s, w, uint32_t(sizeof(T)) * s.count);
    w.launch->counts.shared_requests++;
    r.count_wavefronts(mask);
    for_lanes(mask, [&](uint32_t lane) { r.shared_store(lane, value_of<T>(s, w, lane).data()); });
}

template<class T> void load_parameter(const Step &s, Warp &w, uint32_t mask) {
    const uint8_t *from = w.launch->parameters.data() + s.offset;
    for_lanes(mask, [&](uint32_t lane) { keep<T>(s, w, lane, from); });
}

// The modifiers that change only caching.
void drop_cache_hints(Decoder &d) {
    for (const char *word : {"nc", "ca", "cg", "cs", "lu", "wb", "wt", "weak"})
        d.take(word);
}

void vector_of(Decoder &d, const Operand &o, uint32_t count, const TypeName &type) {
    d.step.count = count;
    if (count > 1 && (o.kind != Operand::Kind::vector || o.parts.size() != count))
        d.refuse("has no vector of " + std::to_string(count));
    for (uint32_t k = 0; k < count; k++) {
        const Operand &part = count > 1 ? o.parts[k] : o;
        if (part.kind == Operand::Kind::sink) continue;
        d.step.list[k] = d.registers.row(part, type, d.statement.line);
        d.step.list_used |= 1U << k;
    }
}

void address_of(Decoder &d, const Operand &o) {
    if (o.kind != Operand::Kind::address) d.refuse("has no address");
    Operand base;
    base.kind = o.name.empty() ? Operand::Kind::number : Operand::Kind::name;
    base.name = o.name;
    d.step.a = d.registers.row(base, "u64", d.statement.line);
    d.step.offset = o.bits;
}

void parameter_of(Decoder &d, const Operand &o, uint64_t bytes) {
    const Parameter *p = d.registers.parameter(o.name);
    if (!p) d.refuse("of '" + o.name + "', which is no parameter");
    if (o.bits > p->bytes || bytes > p->bytes - o.bits) d.refuse("reads beyond " + p->name);
    d.step.offset = p->offset + o.bits;
}

template<class F> Execute of_any_type(const TypeName &type, F f) {
    return for_type<int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t,
                    float16, float, double>(type, f);
}

uint32_t count_of(Decoder &d) {
    if (d.take("v2")) return 2;
    return d.take("v4") ? 4 : 1;
}

void load(Decoder &d) {
    const TypeName type = d.take_type();
    const uint32_t count = count_of(d);
    drop_cache_hints(d);
    d.require_operands(2);
    vector_of(d, d.operand(0), count, type);
    if (d.take("param")) {
        parameter_of(d, d.operand(1), uint64_t(count) * bytes_of(type));
        d.step.execute = of_any_type(type, []<class T>() { return load_parameter<T>; });
        return;
    }
    address_of(d, d.operand(1));
    if (d.take("global") || d.take("const"))
        d.step.execute = of_any_type(type, []<class T>() { return load_global<T>; });
    else if (d.take("shared"))
        d.step.execute = of_any_type(type, []<class T>() { return load_shared<T>; });
}

void store(Decoder &d) {
    const TypeName type = d.take_type();
    const uint32_t count = count_of(d);
    drop_cache_hints(d);
    d.require_operands(2);
    address_of(d, d.operand(0));
    vector_of(d, d.operand(1), count, type);
    if (d.take("global"))
        d.step.execute = of_any_type(type, []<class T>() { return store_global<T>; });
    else if (d.take("shared"))
        d.step.execute = of_any_type(type, []<class T>() { return store_shared<T>; });
}

}  // namespace

bool decode_memory(Decoder &d) {
    if (d.mnemonic() == "ld")
        load(d);
    else if (d.mnemonic() == "st")
        store(d);
    else
        return false;
    return true;
}

}  // namespace halyard::ptx
