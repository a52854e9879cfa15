#include "train/callbacks/run_recorder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "registry/base/atomic_file.h"
#include "registry/base/error.h"
#include "registry/base/host.h"

namespace halyard {
namespace {

using Json = nlohmann::json;

double seconds(std::chrono::steady_clock::duration d) {
    return std::chrono::duration<double>(d).count();
}

// Rounds to six digits, which is more than a curve shows. Values that aren't finite become null,
// which JSON can express.
Json number(double v) {
    if (!std::isfinite(v)) return nullptr;
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", v);
    return std::stod(text);
}
double value(const Json &j) {
    return j.is_null() ? NAN : j.get<double>();
}

constexpr double time_ratio = 1.02;

}  // namespace

// Merges each two adjacent points into their mean, at the step of the later one.
void RunRecorder::halve(std::vector<Point> &points) {
    for (size_t i = 0; 2 * i + 1 < points.size(); i++) {
        const Point &a = points[2 * i];
        const Point &b = points[2 * i + 1];
        points[i] = {b.step,
                     (a.loss + b.loss) / 2,
                     b.learning_rate,
                     (a.seconds + b.seconds) / 2,
                     (a.wait + b.wait) / 2,
                     (a.queue + b.queue) / 2,
                     (a.samples + b.samples) / 2};
    }
    points.resize(points.size() / 2);
}

void RunRecorder::on_train_begin(RunContext &c) {
    *this = RunRecorder(path_, options_);  // drops the points of an earlier training
    epochs_ = c.epochs;
    steps_per_epoch_ = c.steps_per_epoch;
    cpu_ = processor();
    begun_ = now();
    if (c.global_step > 0) restore(c.global_step);
    saved_ = Clock::now();
}

void RunRecorder::on_train_epoch_begin(RunContext &c) {
    epoch_sum_ = {};
    epoch_steps_ = 0;
    step_before_ = c.step;
    step_end_ = Clock::now();
    evaluating_ = {};
}

void RunRecorder::on_train_step_end(RunContext &c) {
    // In sink mode one call covers several steps.
    const auto steps = double(std::max<int64_t>(1, c.step - step_before_));
    const auto end = Clock::now();
    const double took = seconds(end - step_end_ - evaluating_) / steps;
    step_end_ = end;
    evaluating_ = {};
    step_before_ = c.step;
    const Point p{double(c.global_step), c.loss(),
                  c.learning_rate,       took,
                  c.data_seconds,        double(c.queue_depth),
                  double(c.batch_size)};
    queue_capacity_ = int64_t(c.queue_capacity);
    unit_ = c.unit();
    // The histogram keeps what merging points loses. Its percentiles are exact to 2 %.
    step_times_[int64_t(std::floor(std::log(std::max(took, 1e-9)) / std::log(time_ratio)))] +=
        int64_t(steps);
    epoch_sum_.loss += p.loss * steps;
    epoch_sum_.seconds += took * steps;
    epoch_sum_.wait += p.wait * steps;
    epoch_sum_.samples += p.samples * steps;
    epoch_sum_.learning_rate = p.learning_rate;
    epoch_steps_ += int64_t(steps);
    last_epoch_ = c.epoch;
    last_step_ = c.global_step;
    pending_.push_back(p);
    if (int64_t(pending_.size()) == stride_) {
        while (pending_.size() > 1)
            halve(pending_);
        add(pending_[0]);
        pending_.clear();
    }
    // Saving takes at most a fiftieth of the time.
    if (seconds(end - saved_) < std::max(0.2, 50 * save_seconds_)) return;
    save();
    saved_ = Clock::now();
    save_seconds_ = seconds(saved_ - end);
}

void RunRecorder::add(const Point &p) {
    points_.push_back(p);
    if (points_.size() < max_points) return;
    halve(points_);
    stride_ *= 2;
}

void RunRecorder::on_eval_begin(RunContext &) {
    eval_begin_ = Clock::now();
}

void RunRecorder::on_eval_end(RunContext &c) {
    evaluating_ += Clock::now() - eval_begin_;
    if (c.optimizer) return evaluations_.push_back({c.epoch, c.global_step, c.eval_results});
    // Model::eval() may be called after the training.
    evaluations_.push_back({last_epoch_, last_step_, c.eval_results});
    save();
}

void RunRecorder::on_train_epoch_end(RunContext &c) {
    if (!epoch_steps_) return;
    const auto n = double(epoch_steps_);
    ended_.push_back({c.epoch, c.global_step, epoch_sum_.loss / n, epoch_sum_.learning_rate,
                      epoch_sum_.seconds, epoch_sum_.wait, epoch_sum_.samples});
}

void RunRecorder::on_train_end(RunContext &) {
    save();
}

// Reads the steps before `step` that an earlier process of this training saved. Throws IoError for
// any other file, which must not be overwritten.
void RunRecorder::restore(int64_t step) {
    if (!std::filesystem::exists(path_)) return;
    try {
        std::ifstream stream(path_);
        const Json file = Json::parse(stream);
        if (file.at("kind") != "halyard train")
            throw IoError(path_, "is no run file of a training");
        stride_ = file.at("stride").get<int64_t>();
        if (stride_ < 1 || !std::has_single_bit(uint64_t(stride_))) {
            throw IoError(path_, "has a stride of " + std::to_string(stride_) +
                                     ", expected a power of two");
        }
        begun_ = file.at("date").get<std::string>();
        const Json &s = file.at("steps");
        for (size_t i = 0; i < s.at("step").size(); i++) {
            const Point p{value(s["step"][i]),
                          value(s.at("loss").at(i)),
                          value(s.at("learning_rate").at(i)),
                          value(s.at("seconds").at(i)),
                          value(s.at("wait").at(i)),
                          value(s.at("queue").at(i)),
                          value(s.at("samples").at(i))};
            if (p.step <= double(step)) points_.push_back(p);
        }
        for (const Json &e : file.at("ended")) {
            if (e.at("step") <= step) {
                ended_.push_back({e.at("epoch"), e.at("step"), value(e.at("loss")),
                                  value(e.at("learning_rate")), value(e.at("seconds")),
                                  value(e.at("wait")), value(e.at("samples"))});
            }
        }
        for (const Json &e : file.at("evaluations")) {
            if (e.at("step") > step) continue;
            Evaluation had{e.at("epoch"), e.at("step"), {}};
            for (auto &[name, result] : e.at("results").items())
                had.results[name] = value(result);
            evaluations_.push_back(had);
        }
        for (const Json &bin : file.at("step_times")) {
            const double from = bin.at(0).get<double>();
            if (!(from > 0))
                throw IoError(path_, "has a step that took " + std::to_string(from) + " s");
            step_times_[int64_t(std::lround(std::log(from) / std::log(time_ratio)))] +=
                bin.at(1).get<int64_t>();
        }
    } catch (const Json::exception &e) {
        throw IoError(path_, std::string("is no run file of a training: ") + e.what());
    }
}

void RunRecorder::save() const {
    Json file{{"kind", "halyard train"},
              {"version", 1},
              {"title", options_.title},
              {"date", begun_},
              {"cpu", cpu_},
              {"unit", unit_},
              {"epochs", epochs_},
              {"stride", stride_},
              {"steps_per_epoch", steps_per_epoch_},
              {"queue_capacity", queue_capacity_},
              {"about", Json::array()},
              {"ended", Json::array()},
              {"evaluations", Json::array()},
              {"step_times", Json::array()}};
    for (auto &[what, text] : options_.about)
        file["about"].push_back({what, text});
    const auto column = [&](const char *name, double Point::*member) {
        Json &to = file["steps"][name] = Json::array();
        for (const Point &p : points_)
            to.push_back(number(p.*member));
    };
    Json &steps = file["steps"]["step"] = Json::array();
    for (const Point &p : points_)
        steps.push_back(int64_t(p.step));
    column("loss", &Point::loss);
    column("learning_rate", &Point::learning_rate);
    column("seconds", &Point::seconds);
    column("wait", &Point::wait);
    column("queue", &Point::queue);
    column("samples", &Point::samples);
    for (const Epoch &e : ended_) {
        file["ended"].push_back({{"epoch", e.epoch},
                                 {"step", e.step},
                                 {"loss", number(e.loss)},
                                 {"learning_rate", number(e.learning_rate)},
                                 {"seconds", number(e.seconds)},
                                 {"wait", number(e.wait)},
                                 {"samples", number(e.samples)}});
    }
    for (const Evaluation &e : evaluations_) {
        Json results = Json::object();
        for (auto &[name, result] : e.results)
            results[name] = number(result);
        file["evaluations"].push_back({{"epoch", e.epoch}, {"step", e.step}, {"results", results}});
    }
    for (auto &[k, count] : step_times_)
        file["step_times"].push_back({number(std::pow(time_ratio, double(k))), count});
    const std::string text = file.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    // Unlike a checkpoint the file is not synced to disk, which would take most of the time.
    write_file(path_, text, Durability::to_system);
}

}  // namespace halyard
