#include "ascend/simulator/metrics.h"

#include <cmath>
#include <cstdio>

#include "ascend/program/text.h"

namespace halyard::dv {
namespace {

std::string number(double v) {
    if (std::isnan(v)) return "-";
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", v);
    return text;
}

std::string quoted(const std::string &s) {
    std::string out = "\"";
    for (const char c : s) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    return out + "\"";
}

// Collects metrics: sums over the cores, as shares of their cycles or as rates.
class Metrics {
public:
    explicit Metrics(const SimResult &r) : result_(r) {}
    std::vector<Metric> all;

    // Adds the sum of f(core) as a share of all cycles.
    template<class F> void share(const char *group, const std::string &name, const F &f) {
        all.push_back({group, name, sum(f) / cycles_});
    }
    // Adds the sum of f(core), which is in bytes, in GB/s.
    template<class F> void rate(const char *group, const std::string &name, const F &f) {
        all.push_back({group, name, sum(f) / seconds_ / 1e9});
    }
    void unknown(const char *group, const std::string &name) { all.push_back({group, name, NAN}); }

private:
    const SimResult &result_;
    const double cycles_ = std::max(sum([&](const CoreStats &) { return result_.cycles; }), 1.0);
    const double seconds_ = std::max(result_.us, 1e-9) * 1e-6;

    template<class F> double sum(const F &f) const {
        double total = 0;
        for (const CoreStats &s : result_.stats)
            total += f(s);
        return total;
    }
};

auto busy(Pipe pipe) {
    return [pipe](const CoreStats &s) { return s.busy[size_t(pipe)]; };
}
auto queue_full(Pipe pipe) {
    return [pipe](const CoreStats &s) { return s.queue_full[size_t(pipe)]; };
}
auto bytes_read(Scope scope) {
    return [scope](const CoreStats &s) { return s.read[size_t(scope)]; };
}
auto bytes_written(Scope scope) {
    return [scope](const CoreStats &s) { return s.written[size_t(scope)]; };
}

void add_arithmetic(Metrics &m) {
    const char *group = "ArithmeticUtilization";
    m.share(group, "mac_fp16_ratio", [](const CoreStats &s) { return s.cube_fp16; });
    m.share(group, "mac_int8_ratio", [](const CoreStats &s) { return s.cube_int8; });
    m.share(group, "vec_fp32_ratio", [](const CoreStats &s) { return s.vector_fp32; });
    m.share(group, "vec_fp16_ratio", [](const CoreStats &s) { return s.vector_fp16; });
    m.share(group, "vec_int32_ratio", [](const CoreStats &s) { return s.vector_int32; });
    m.share(group, "vec_misc_ratio", [](const CoreStats &s) { return s.vector_misc; });
}

void add_pipes(Metrics &m, bool has_fixpipe) {
    const char *group = "PipeUtilization";
    m.share(group, "vec_ratio", busy(Pipe::v));
    m.share(group, "mac_ratio", busy(Pipe::m));
    m.share(group, "scalar_ratio", busy(Pipe::s));
    m.share(group, "mte1_ratio", busy(Pipe::mte1));
    m.share(group, "mte2_ratio", busy(Pipe::mte2));
    m.share(group, "mte3_ratio", busy(Pipe::mte3));
    if (has_fixpipe) m.share(group, "fixpipe_ratio", busy(Pipe::fix));
    m.unknown(group, "icache_miss_rate");
}

void add_memory(Metrics &m) {
    const char *group = "Memory";
    m.rate(group, "ub_read_bw", bytes_read(Scope::ub));
    m.rate(group, "ub_write_bw", bytes_written(Scope::ub));
    m.rate(group, "l1_read_bw", bytes_read(Scope::l1));
    m.rate(group, "l1_write_bw", bytes_written(Scope::l1));
    m.rate(group, "l2_read_bw", [](const CoreStats &s) { return s.l2_read; });
    m.rate(group, "l2_write_bw", [](const CoreStats &s) { return s.l2_write; });
    m.rate(group, "main_mem_read_bw", [](const CoreStats &s) { return s.gm_read; });
    m.rate(group, "main_mem_write_bw", [](const CoreStats &s) { return s.gm_write; });

    group = "MemoryL0";
    m.share(group, "scalar_ld_ratio", [](const CoreStats &s) { return s.scalar_loads; });
    m.share(group, "scalar_st_ratio", [](const CoreStats &s) { return s.scalar_stores; });
    for (const Scope s : {Scope::l0a, Scope::l0b, Scope::l0c}) {
        m.rate(group, std::string(name_of(s)) + "_read_bw", bytes_read(s));
        m.rate(group, std::string(name_of(s)) + "_write_bw", bytes_written(s));
    }
    m.rate(group, "l0c_read_bw_cube", [](const CoreStats &s) { return s.cube_read; });
    m.rate(group, "l0c_write_bw_cube", [](const CoreStats &s) { return s.cube_written; });
}

void add_conflicts(Metrics &m) {
    const char *group = "ResourceConflictRatio";
    m.share(group, "vec_bankgroup_cflt_ratio", [](const CoreStats &s) { return s.group_clash; });
    m.share(group, "vec_bank_cflt_ratio", [](const CoreStats &s) { return s.bank_clash; });
    m.unknown(group, "vec_resc_cflt_ratio");
    m.share(group, "mte1_iq_full_ratio", queue_full(Pipe::mte1));
    m.share(group, "mte2_iq_full_ratio", queue_full(Pipe::mte2));
    m.share(group, "mte3_iq_full_ratio", queue_full(Pipe::mte3));
    m.share(group, "cube_iq_full_ratio", queue_full(Pipe::m));
    m.share(group, "vec_iq_full_ratio", queue_full(Pipe::v));
}

}  // namespace

std::vector<Metric> metrics(const Program &p, const SimResult &r) {
    Metrics m(r);
    add_arithmetic(m);
    add_pipes(m, p.chip().at("cube_cores", 0) > 0);
    add_memory(m);
    add_conflicts(m);
    return std::move(m.all);
}

std::string metrics_csv(const std::vector<Metric> &all) {
    std::string out = "group,metric,value\n";
    for (const Metric &m : all)
        out += m.group + "," + m.name + "," + number(m.value) + "\n";
    return out;
}

std::string chrome_trace(const Program &p, const SimResult &r) {
    const double mhz = p.chip().at("mhz");
    std::string out = "{\"displayTimeUnit\": \"ns\", \"otherData\": {\"program\": " +
                      quoted(p.name) + ", \"profile\": " + quoted(p.profile) +
                      ", \"figures\": \"the simulator's\"}, \"traceEvents\": [\n";
    for (size_t core = 0; core < r.timelines.size(); core++) {
        const std::string pid = "\"pid\": " + std::to_string(core);
        out += "{\"ph\": \"M\", \"name\": \"process_name\", " + pid +
               ", \"args\": {\"name\": \"core " + std::to_string(core) + "\"}},\n";
        for (int pipe = 0; pipe < pipe_count; pipe++) {
            out += "{\"ph\": \"M\", \"name\": \"thread_name\", " + pid +
                   ", \"tid\": " + std::to_string(pipe) + ", \"args\": {\"name\": \"" +
                   name_of(static_cast<Pipe>(pipe)) + "\"}},\n";
        }
        for (const Event &e : r.timelines[core]) {
            out += "{\"ph\": \"X\", \"name\": \"" + name_of(*e.instr) + "\", " + pid +
                   ", \"tid\": " + std::to_string(int(e.pipe)) +
                   ", \"ts\": " + number(e.start / mhz) +
                   ", \"dur\": " + number((e.end - e.start) / mhz) +
                   ", \"args\": {\"instr\": " + quoted(to_text(p, *e.instr)) +
                   ", \"where\": " + quoted(e.instr->where) + "}},\n";
        }
    }
    out += "{\"ph\": \"M\", \"name\": \"end\", \"pid\": 0}\n]}\n";
    return out;
}

}  // namespace halyard::dv
