// Reads what RunRecorder (train/callbacks/run_recorder.h) saves of a training.
#include <algorithm>

#include "tools/report/run_file.h"

namespace halyard::report {
namespace {

// Returns a number, or null for one that wasn't finite.
Json number_of(const Json &v) {
    return v.is_null() ? Json() : Json(v.get<double>());
}

}  // namespace

std::optional<Json> read_train(const Json &file) {
    if (file.value("kind", "") != "halyard train") return std::nullopt;
    Json context{{"cpu", file.at("cpu").get<std::string>()},
                 {"date", file.at("date").get<std::string>()}};
    Json conditions = conditions_of(context);
    for (const Json &entry : file.at("about"))
        conditions.push_back({entry.at(0).get<std::string>(), entry.at(1).get<std::string>()});
    Json run{{"kind", "train"},
             {"conditions", conditions},
             {"title", file.at("title").get<std::string>()},
             {"unit", file.at("unit").get<std::string>()}};
    for (const char *name : {"epochs", "steps_per_epoch", "stride", "queue_capacity"})
        run[name] = file.at(name).get<int64_t>();
    const Json &steps = file.at("steps");
    for (const char *name :
         {"step", "loss", "learning_rate", "seconds", "wait", "queue", "samples"}) {
        Json &column = run["steps"][name] = Json::array();
        for (size_t i = 0; i < steps.at("step").size(); i++)
            column.push_back(number_of(steps.at(name).at(i)));
    }
    const Json &losses = run["steps"]["loss"];
    if (const auto gaps = std::count(losses.begin(), losses.end(), Json())) {
        run["conditions"].push_back(
            {"losses that are NaN or infinite",
             std::to_string(gaps) + " of " + std::to_string(losses.size()) + " points"});
    }
    run["ended"] = Json::array();
    run["evaluations"] = Json::array();
    run["step_times"] = Json::array();
    for (const Json &e : file.at("ended")) {
        Json epoch;
        for (const char *name :
             {"epoch", "step", "loss", "learning_rate", "seconds", "wait", "samples"})
            epoch[name] = number_of(e.at(name));
        run["ended"].push_back(epoch);
    }
    for (const Json &e : file.at("evaluations")) {
        Json results = Json::object();
        for (auto &[name, result] : e.at("results").items())
            results[name] = number_of(result);
        run["evaluations"].push_back({{"epoch", e.at("epoch").get<int64_t>()},
                                      {"step", e.at("step").get<int64_t>()},
                                      {"results", results}});
    }
    for (const Json &bin : file.at("step_times"))
        run["step_times"].push_back({bin.at(0).get<double>(), bin.at(1).get<int64_t>()});
    return run;
}

}  // namespace halyard::report
