#include "tools/tune/record.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "registry/base/error.h"
#include "registry/base/version.h"
#include "registry/op/op_record.h"
#include "registry/op/renamed_variants.h"

namespace halyard::tune {
namespace {

std::string in_quotes(const std::string &s) {
    if (!s.empty() && s.find_first_of(" \"\\\n\t") == std::string::npos) return s;
    std::string q = "\"";
    for (char c : s) {
        if (c == '"' || c == '\\') q += '\\';
        q += c == '\n' || c == '\t' ? ' ' : c;
    }
    return q + "\"";
}

std::string number(double v) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", v);
    return text;
}

std::string sum_of(const std::string &line) {  // FNV-1a
    uint32_t h = 2166136261u;
    for (char c : line)
        h = (h ^ uint8_t(c)) * 16777619u;
    char text[12];
    std::snprintf(text, sizeof text, "%08x", h);
    return text;
}

using Words = std::vector<std::pair<std::string, std::string>>;

Words words_of(const Record &r) {
    Words w = {{"op", r.op},           {"algorithm", r.algorithm}, {"code", r.code},
               {"against", r.against}, {"variant", r.variant},     {"schedule", r.schedule}};
    w.insert(w.end(), {{"picks", tunables_text(r.tunables)},
                       {"dtypes", r.dtypes},
                       {"isa", r.isa},
                       {"cpu", r.cpu},
                       {"threads", std::to_string(r.threads)}});
    w.insert(w.end(), {{"bucket", r.bucket},
                       {"problem", r.problem},
                       {"n", std::to_string(r.n)},
                       {"median_us", number(r.median_us)}});
    w.insert(w.end(), {{"min_us", number(r.min_us)},
                       {"spread", number(r.spread)},
                       {"ratio", number(r.ratio)},
                       {"low", number(r.low)}});
    w.insert(w.end(), {{"high", number(r.high)},
                       {"noise", number(r.noise)},
                       {"verdict", r.verdict},
                       {"kit", r.kit},
                       {"date", r.date}});
    return w;
}

// Splits a line into name=value words. Returns false if it isn't made of them.
bool split(const std::string &line, Words &words) {
    for (size_t at = 0; at < line.size();) {
        const size_t equals = line.find('=', at);
        if (equals == std::string::npos || equals == at || line.find(' ', at) < equals)
            return false;
        const std::string name = line.substr(at, equals - at);
        std::string value;
        at = equals + 1;
        if (at < line.size() && line[at] == '"') {
            for (at++; at < line.size() && line[at] != '"'; at++) {
                if (line[at] == '\\' && ++at == line.size()) return false;
                value += line[at];
            }
            if (at++ == line.size()) return false;
        } else {
            const size_t end = std::min(line.find(' ', at), line.size());
            value = line.substr(at, end - at);
            at = end;
        }
        if (at < line.size() && line[at++] != ' ') return false;
        words.emplace_back(name, value);
    }
    return true;
}

template<class T> bool read(const std::string &text, T &value) {
    char *end = nullptr;
    const double v = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !(v >= 0 && v < (std::is_integral_v<T> ? 2e9 : 1e15)))
        return false;
    value = (T)v;
    return double(value) == v;
}

bool read_tunables(const std::string &text, std::map<std::string, int> &tunables) {
    if (text == "-") return true;
    std::stringstream words(text);
    for (std::string w; std::getline(words, w, ',');) {
        const size_t at = w.find(':');
        int value = 0;
        if (at == std::string::npos || at == 0 || !read(w.substr(at + 1), value)) return false;
        tunables[w.substr(0, at)] = value;
    }
    return !tunables.empty();
}

// Returns how the values of a record contradict each other; "" if they don't.
std::string nonsense(const Record &r) {
    const bool no_time = r.verdict.starts_with("breach: ") || r.verdict.starts_with("uncompiled: ");
    if (r.verdict != "ok" && r.verdict != "proved" && !no_time) {
        return "verdict is '" + r.verdict +
               "', expected proved, ok, breach: ... or uncompiled: ...";
    }
    if (no_time && r.timed())
        return "has " + std::to_string(r.n) + " timings, and the verdict '" + r.verdict + "'";
    if (r.timed() && !(r.low <= r.ratio && r.ratio <= r.high)) {
        return "ratio " + number(r.ratio) + " isn't within " + number(r.low) + " to " +
               number(r.high);
    }
    if (r.timed() && !(0 < r.min_us && r.min_us <= r.median_us))
        return "min_us is " + number(r.min_us) + ", median_us " + number(r.median_us);
    if (r.isa != "baseline" && r.isa != "avx2" && r.isa != "avx512")
        return "isa is '" + r.isa + "', expected baseline, avx2 or avx512";
    return r.threads < 1 ? "threads is 0, expected at least 1" : "";
}

}  // namespace

std::string tunables_text(const std::map<std::string, int> &tunables) {
    std::string s;
    for (auto &[name, value] : tunables)
        s += (s.empty() ? "" : ",") + name + ":" + std::to_string(value);
    return s.empty() ? "-" : s;
}

std::string text_of(const Record &r) {
    std::string line;
    for (auto &[name, value] : words_of(r))
        line += (line.empty() ? "" : " ") + name + "=" + in_quotes(value);
    return line + " sum=" + sum_of(line);
}

std::optional<Record> parse_record(const std::string &line, std::string &why) {
    auto refuse = [&](const std::string &what) {
        why = what;
        return std::nullopt;
    };
    Words words;
    if (!split(line, words)) return refuse("isn't made of name=value words, or its end is missing");
    const Words expected = words_of({});
    for (size_t k = 0; k < expected.size(); k++) {
        if (k >= words.size() || words[k].first != expected[k].first) {
            return refuse(k < words.size() ? "word " + std::to_string(k + 1) + " is '" +
                                                 words[k].first + "', expected " + expected[k].first
                                           : "ends before " + expected[k].first);
        }
    }
    if (words.size() != expected.size() + 1 || words.back().first != "sum")
        return refuse("doesn't end with sum");
    const size_t end = line.rfind(" sum=");
    if (sum_of(line.substr(0, end)) != words.back().second) {
        return refuse("sum is " + words.back().second + ", the line's is " +
                      sum_of(line.substr(0, end)));
    }

    Record r;
    size_t k = 0;
    auto next = [&]() -> const std::string & { return words[k++].second; };
    bool numbers = true;
    for (std::string *to : {&r.op, &r.algorithm, &r.code, &r.against, &r.variant, &r.schedule})
        *to = next();
    r.variant = present_variant_name(r.op, r.variant);
    numbers &= read_tunables(next(), r.tunables);
    for (std::string *to : {&r.dtypes, &r.isa, &r.cpu})
        *to = next();
    numbers &= read(next(), r.threads);
    for (std::string *to : {&r.bucket, &r.problem})
        *to = next();
    numbers &= read(next(), r.n);
    for (double *to : {&r.median_us, &r.min_us, &r.spread, &r.ratio, &r.low, &r.high, &r.noise})
        numbers &= read(next(), *to);
    for (std::string *to : {&r.verdict, &r.kit, &r.date})
        *to = next();
    if (!numbers) return refuse("has a word that is no number where one is expected");
    if (const std::string what = nonsense(r); !what.empty()) return refuse(what);
    return r;
}

std::string this_cpu() {
    std::ifstream info("/proc/cpuinfo");
    std::string model = "unknown", numbers[3] = {"?", "?", "?"};
    const char *names[3] = {"cpu family\t", "model\t", "stepping\t"};
    for (std::string line; std::getline(info, line) && !line.empty();) {
        const std::string value = line.find(": ") == std::string::npos
                                      ? ""
                                      : line.substr(line.find(": ") + 2);
        if (line.starts_with("model name")) model = value;
        for (int k = 0; k < 3; k++)
            if (line.starts_with(names[k])) numbers[k] = value;
    }
    return model + " " + numbers[0] + "/" + numbers[1] + "/" + numbers[2];
}

std::string foreign_reason(const Record &r) {
    if (r.cpu != this_cpu()) return "was measured on " + r.cpu + ", this is " + this_cpu();
    if (r.kit != version()) return "was measured with kit " + r.kit + ", this is " + version();
    return isa_of(r.isa) > host_isa()
               ? "is of " + r.isa + ", this CPU has up to " + name_of(host_isa())
               : "";
}

}  // namespace halyard::tune
