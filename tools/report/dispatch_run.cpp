// Reads `halyard explain --json`: one call.
#include "tools/report/run_file.h"

namespace halyard::report {
namespace {

Json candidate_of(const Json &kernel) {
    std::string name = kernel.at("backend");
    const bool cpu = name == "cpu";
    for (const char *part : {"dtypes", "variant"})
        if (const std::string word = kernel.at(part); !word.empty()) name += " " + word;
    if (cpu) name += " " + kernel.at("isa").get<std::string>();
    Json candidate{{"kernel", name}};
    candidate["verdict"] = kernel.at("chosen").get<bool>() ? "chosen"
                           : kernel.contains("refused")    ? "refused"
                                                           : "fits, ranked lower";
    if (kernel.contains("refused")) {
        // The column with the verdict has this already.
        const std::string why = kernel["refused"];
        const std::string said = "refused: ";
        candidate["why"] = why.starts_with(said) ? why.substr(said.size()) : why;
    }
    if (kernel.contains("seconds")) candidate["seconds"] = kernel["seconds"].get<double>();
    return candidate;
}

// Returns a step around the kernel: {text, seconds}.
Json around(const std::string &text, const Json &part) {
    Json step{{"text", text}};
    if (part.contains("seconds")) step["seconds"] = part["seconds"].get<double>();
    return step;
}

}  // namespace

std::optional<Json> read_dispatch(const Json &file) {
    if (!file.contains("op") || !file.contains("candidates")) return std::nullopt;
    Json call{{"op", file["op"].get<std::string>()},
              {"problem", ""},
              {"around", Json::array()},
              {"candidates", Json::array()}};
    std::string &problem = call["problem"].get_ref<std::string &>();
    const Json dimensions = file.value("problem", Json::object());
    for (auto &[name, value] : dimensions.items())
        problem += (problem.empty() ? "" : " ") + name + "=" + value.dump();
    if (file.contains("cast"))
        call["around"].push_back(around(file["cast"].at("why"), file["cast"]));
    for (const Json &copy : file.value("copies", Json::array())) {
        call["around"].push_back(around("copies " + copy.at("tensor").get<std::string>() + ": " +
                                            copy.at("why").get<std::string>(),
                                        copy));
    }
    for (const Json &kernel : file["candidates"])
        call["candidates"].push_back(candidate_of(kernel));
    if (file.contains("price")) {
        call["seconds"] = file["price"].at("call").get<double>();
        call["best"] = file["price"].at("best_kernel").get<double>();
    }
    Json context = file.value("context", Json::object());
    for (const char *key : {"cpu", "date", "num_cpus", "load_avg"})
        if (file.contains(key)) context[key] = file[key];
    Json run{
        {"kind", "dispatch"}, {"conditions", conditions_of(context)}, {"calls", Json::array()}};
    run["calls"].push_back(call);
    return run;
}

}  // namespace halyard::report
