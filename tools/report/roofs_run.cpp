// Reads the roofs of a machine, as `halyard roofs` keeps them: words in lines.
#include <algorithm>
#include <sstream>

#include "tools/report/run_file.h"

namespace halyard::report {

std::optional<Json> read_roofs(const std::string &text) {
    std::istringstream lines(text);
    std::string line, machine;
    if (!std::getline(lines, line) || !line.starts_with("halyard roofs ") ||
        !std::getline(lines, machine))
        return std::nullopt;
    const size_t comma = machine.find(", ");  // "AMD EPYC 26.2, 4 cores, up to avx512, kit 0.1.0"
    Json context{{"cpu", machine.substr(0, comma)}};
    if (comma != std::string::npos) context["with"] = machine.substr(comma + 2);
    Json run{{"kind", "roofs"}, {"peaks", Json::array()}, {"bandwidths", Json::array()}};
    bool whole = false;
    while (std::getline(lines, line)) {
        std::istringstream words(line);
        std::string kind, name, dtype;
        int threads = 0;
        words >> kind;
        if (kind == "date" && words >> name)
            context["date"] = name;
        else if (double load = 0; kind == "load" && words >> load)
            context["load_avg"] = load;
        else if (kind == "level") {
            // The fastest of reading, writing, copying and adding, which no mix of them exceeds.
            // Later words are other values.
            double rate = 0, fastest = 0, capacity = 0;
            words >> threads >> name >> capacity;
            for (int stream = 0; stream < 4 && words >> rate; stream++)
                fastest = std::max(fastest, rate);
            if (fastest > 0) {
                run["bandwidths"].push_back(
                    {{"level", name}, {"threads", threads}, {"bytes", fastest}});
            }
        } else if (kind == "peak") {
            double rate = 0;
            words >> threads >> name >> dtype >> rate;
            if (words) {
                run["peaks"].push_back(
                    {{"isa", name}, {"dtype", dtype}, {"threads", threads}, {"flops", rate}});
            }
        }
        whole |= kind == "end";
    }
    if (!whole) context["file"] = "cut short";
    run["conditions"] = conditions_of(context);
    return run;
}

}  // namespace halyard::report
