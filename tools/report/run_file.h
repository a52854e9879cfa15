// Reads what `halyard report` shows: files that other subcommands saved. Each becomes one JSON
// object for the page, with
//   kind        bench, roofs, tune, check, mutants, dispatch or train
//   file        the file's name, without its folder
//   conditions  [[what, value], ...]: the CPU, the date and other facts in the file about its run
// and the members listed at the readers below. Values that the file lacks are left out. Times are
// in seconds.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace halyard::report {

using Json = nlohmann::json;

// Throws IoError for a file that can't be read, is damaged, or has none of the formats.
Json read_run(const std::string &path);

// The readers return nothing if the file has another format. They throw an exception of Json, or
// IoError, if it has theirs and is invalid.

// Google Benchmark's format. lines: [{op, problem, dtype, label, threads, peer, samples, median,
// low, high, min}], from the samples of all repetitions; [low, high] contains the median with 95 %
// confidence. Or {..., fail} with the reason and no time. Also every counter of the file: error,
// flops, bytes, ...
std::optional<Json> read_bench(const Json &file);
// peaks: [{isa, dtype, threads, flops}] in operations per second. bandwidths: [{level, threads,
// bytes}] in bytes per second, of the level's fastest stream.
std::optional<Json> read_roofs(const std::string &text);
// records: [{op, problem, variant, picks, target, threads, samples, median, ratio, low, high,
// verdict}], by date. `ratio` is to the default's time and is in [low, high]. A record that must
// not be used has `fail` instead of a time.
std::optional<Json> read_tune(const std::string &text);
// ops: [{op, passed, failed, skipped, failures: [text], notes: [text]}].
std::optional<Json> read_check(const Json &file);
// mutants: [{op, variant, kind, where, fate, caught_by, said}]. `fate` is caught, survived, or why
// there was no fault to catch.
std::optional<Json> read_mutants(const Json &file);
// calls: [{op, problem, around: [{text, seconds}], candidates: [{kernel, verdict, why, seconds}],
// seconds, best}]. `around` are copies and casts, `seconds` the time of everything, `best` the
// fastest candidate's time.
std::optional<Json> read_dispatch(const Json &file);

// title, unit (of samples: images), epochs, steps_per_epoch, stride (steps of a point),
// queue_capacity; steps: {step, loss, learning_rate, seconds, wait, queue, samples}, lists of one
// length, null for what wasn't finite; ended: [{epoch, step, loss, learning_rate, seconds, wait,
// samples}]; evaluations: [{epoch, step, results: {name: number}}]; step_times: [[from, count],
// ...] in seconds, rising.
std::optional<Json> read_train(const Json &file);

// Shared by the readers.
Json conditions_of(const Json &context);
// Adds median, low, high, min and the number of samples to `line`.
void add_statistics(Json &line, std::vector<double> seconds);

}  // namespace halyard::report
