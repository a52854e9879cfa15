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

}  // namespace

std::vector<Metric> metrics(const Program &p, const SimResult &r) {
    std::vector<Metric> all;
    const bool split = p.chip().at("cube_cores", 0) > 0;
    // The sum over the cores of what f says of one; its share of their cycles, and its rate in
    // GB/s.
    const auto sum = [&](const auto &f) {
        double total = 0;
        for (const CoreStats &s : r.stats)
            total += f(s);
        return total;
    };
    const double cycles = std::max(sum([&](const CoreStats &) { return r.cycles; }), 1.0);
    const double seconds = std::max(r.us, 1e-9) * 1e-6;
    const auto share = [&](const char *group, const std::string &name, const auto &f) {
        all.push_back({group, name, sum(f) / cycles});
    };
    const auto rate = [&](const char *group, const std::string &name, const auto &f) {
        all.push_back({group, name, sum(f) / seconds / 1e9});
    };
    const auto busy = [](Pipe pipe) {
        return [pipe](const CoreStats &s) { return s.busy[size_t(pipe)]; };
    };
    const auto full = [](Pipe pipe) {
        return [pipe](const CoreStats &s) { return s.queue_full[size_t(pipe)]; };
    };
    const auto read = [](Scope scope) {
        return [scope](const CoreStats &s) { return s.read[size_t(scope)]; };
    };
    const auto written = [](Scope scope) {
        return [scope](const CoreStats &s) { return s.written[size_t(scope)]; };
    };

    const char *group = "ArithmeticUtilization";
    share(group, "mac_fp16_ratio", [](const CoreStats &s) { return s.cube_fp16; });
    share(group, "mac_int8_ratio", [](const CoreStats &s) { return s.cube_int8; });
    share(group, "vec_fp32_ratio", [](const CoreStats &s) { return s.vector_fp32; });
    share(group, "vec_fp16_ratio", [](const CoreStats &s) { return s.vector_fp16; });
    share(group, "vec_int32_ratio", [](const CoreStats &s) { return s.vector_int32; });
    share(group, "vec_misc_ratio", [](const CoreStats &s) { return s.vector_misc; });

    group = "PipeUtilization";
    share(group, "vec_ratio", busy(Pipe::v));
    share(group, "mac_ratio", busy(Pipe::m));
    share(group, "scalar_ratio", busy(Pipe::s));
    share(group, "mte1_ratio", busy(Pipe::mte1));
    share(group, "mte2_ratio", busy(Pipe::mte2));
    share(group, "mte3_ratio", busy(Pipe::mte3));
    if (split) share(group, "fixpipe_ratio", busy(Pipe::fix));
    all.push_back({group, "icache_miss_rate", NAN});

    group = "Memory";
    rate(group, "ub_read_bw", read(Scope::ub));
    rate(group, "ub_write_bw", written(Scope::ub));
    rate(group, "l1_read_bw", read(Scope::l1));
    rate(group, "l1_write_bw", written(Scope::l1));
    rate(group, "l2_read_bw", [](const CoreStats &s) { return s.l2_read; });
    rate(group, "l2_write_bw", [](const CoreStats &s) { return s.l2_write; });
    rate(group, "main_mem_read_bw", [](const CoreStats &s) { return s.gm_read; });
    rate(group, "main_mem_write_bw", [](const CoreStats &s) { return s.gm_write; });

    group = "MemoryL0";
    share(group, "scalar_ld_ratio", [](const CoreStats &s) { return s.scalar_loads; });
    share(group, "scalar_st_ratio", [](const CoreStats &s) { return s.scalar_stores; });
    for (const Scope s : {Scope::l0a, Scope::l0b, Scope::l0c}) {
        rate(group, std::string(name_of(s)) + "_read_bw", read(s));
        rate(group, std::string(name_of(s)) + "_write_bw", written(s));
    }
    rate(group, "l0c_read_bw_cube", [](const CoreStats &s) { return s.cube_read; });
    rate(group, "l0c_write_bw_cube", [](const CoreStats &s) { return s.cube_written; });

    group = "ResourceConflictRatio";
    share(group, "vec_bankgroup_cflt_ratio", [](const CoreStats &s) { return s.group_clash; });
    share(group, "vec_bank_cflt_ratio", [](const CoreStats &s) { return s.bank_clash; });
    all.push_back({group, "vec_resc_cflt_ratio", NAN});
    share(group, "mte1_iq_full_ratio", full(Pipe::mte1));
    share(group, "mte2_iq_full_ratio", full(Pipe::mte2));
    share(group, "mte3_iq_full_ratio", full(Pipe::mte3));
    share(group, "cube_iq_full_ratio", full(Pipe::m));
    share(group, "vec_iq_full_ratio", full(Pipe::v));
    return all;
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
                   name_of((Pipe)pipe) + "\"}},\n";
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
