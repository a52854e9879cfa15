#include "tools/check/remote_kit.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "registry/base/error.h"
#include "registry/base/program.h"
#include "registry/base/run_program.h"
#include "registry/base/temporary_folder.h"

namespace halyard::check {
namespace {

std::vector<calls::Result> results_in(const std::filesystem::path &path) {
    std::ifstream file(path, std::ios::binary);
    std::vector<calls::Result> all;
    while (std::optional<calls::Result> result = calls::read_result(file))
        all.push_back(std::move(*result));
    return all;
}

}  // namespace

RemoteKit::RemoteKit(std::vector<std::string> program) : program_(std::move(program)) {
    std::vector<std::string> words = program_;
    words.emplace_back("--kernels");
    const Ended ended = run_program(words, Keep::output_and_errors);
    if (ended.status != 0) throw Error("calls", program_.back() + ": " + early_ending(ended));
    for (const nlohmann::json &json : nlohmann::json::parse(ended.text)) {
        KernelEntry k;
        k.op = json.at("op");
        k.backend = "cpu";
        k.dtypes = json.at("dtypes");
        k.variant = json.at("variant");
        k.isa = isa_of(json.at("isa"));
        k.lanes = json.at("lanes");
        k.tunables = json.at("tunables").get<std::map<std::string, int64_t>>();
        kernels_[k.op].push_back(k);
    }
}

const std::vector<KernelEntry> &RemoteKit::kernels(const std::string &op) const {
    static const std::vector<KernelEntry> none;
    const auto found = kernels_.find(op);
    return found == kernels_.end() ? none : found->second;
}

std::vector<calls::Result> RemoteKit::run_from(const std::vector<calls::Call> &all,
                                               size_t first) const {
    const TemporaryFolder folder("halyard_calls");
    const std::filesystem::path calls = folder.path / "calls";
    const std::filesystem::path results = folder.path / "results";
    {
        std::ofstream file(calls, std::ios::binary);
        for (size_t k = first; k < all.size(); k++)
            calls::write(file, all[k]);
        if (!file) throw IoError("calls", "can't write " + calls.string());
    }
    std::vector<std::string> words = program_;
    words.insert(words.end(), {calls.string(), results.string()});
    const Ended ended = run_program(words, Keep::output_and_errors);
    std::vector<calls::Result> done = results_in(results);
    if (first + done.size() < all.size()) {
        calls::Result early;
        early.error = early_ending(ended);
        done.push_back(early);
    }
    return done;
}

std::vector<calls::Result> RemoteKit::run(const std::vector<calls::Call> &all) const {
    std::vector<calls::Result> results;
    while (results.size() < all.size()) {
        for (calls::Result &result : run_from(all, results.size()))
            results.push_back(std::move(result));
    }
    return results;
}

namespace {

RemoteKit open_aarch64_kit(const std::string &command) {
    const std::string emulator = "qemu-aarch64";
    if (!has_program(emulator))
        throw Error(command, emulator + " is missing; Debian's package qemu-user has it");
    const std::filesystem::path program = installed("../aarch64/bin/halyard_calls");
    if (!std::filesystem::exists(program)) {
        throw Error(command, "there is no kit for AArch64, " + program.lexically_normal().string() +
                                 "; make build ARCH=aarch64 makes it");
    }
    return RemoteKit({emulator, program.string()});
}

}  // namespace

const RemoteKit &aarch64_kit(const std::string &command) {
    static const RemoteKit kit = open_aarch64_kit(command);
    return kit;
}

}  // namespace halyard::check
