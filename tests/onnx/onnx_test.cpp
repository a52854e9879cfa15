// onnx_test DIR [-v] [CASE...] runs the node tests of PyPI's onnx wheel, as export_cases.py wrote
// them, through the primitives.
//
// A case counts if the table (node.h) has all of its operators. It passes by the wheel's own rule:
// dtype and shape, and |got - expected| <= atol + rtol |expected|. Cases that fail are listed in
// failing.txt with the reason. Any other failure, and less than 95 %, make the exit status 1.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <set>

#include "registry/base/error.h"
#include "registry/tensor/npy.h"
#include "tests/onnx/node.h"

namespace halyard::onnx {
namespace {

constexpr double least_share = 0.95;

struct CaseResult {
    enum Kind { passed, failed, uncovered } kind = passed;
    std::string why;
};

Tensor load(const std::string &dir, const std::string &file) {
    const std::string path = dir + "/" + file;
    return file.ends_with(".bf16.npy") ? load_npy(path, DType::bf16) : load_npy(path);
}

std::string difference(const Tensor &got, const Tensor &want, double rtol, double atol) {
    if (got.dtype() != want.dtype()) {
        return std::string("dtype is ") + name_of(got.dtype()) + ", expected " +
               name_of(want.dtype());
    }
    if (!(got.shape() == want.shape()))
        return "shape is " + got.shape().text() + ", expected " + want.shape().text();
    if (want.dtype() == DType::bf16) rtol = 0x1p-6;
    const std::vector<double> a = got.to_vector<double>();
    const std::vector<double> b = want.to_vector<double>();
    for (size_t i = 0; i < a.size(); i++) {
        const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])) ||
                          std::fabs(a[i] - b[i]) <= atol + rtol * std::fabs(b[i]);
        if (!same) {
            return "element " + std::to_string(i) + " is " + std::to_string(a[i]) + ", expected " +
                   std::to_string(b[i]);
        }
    }
    return "";
}

class Graph {
public:
    Graph(std::string dir, const nlohmann::json &c) : dir_(std::move(dir)), case_(c) {}

    CaseResult run() {
        for (auto &node : case_["nodes"]) {
            if (!operators().count(node["op"]))
                return {CaseResult::uncovered, "no operator " + node["op"].get<std::string>()};
        }
        try {
            for (auto &[name, file] : case_["tensors"].items())
                values_[name] = load(dir_, file);
            for (auto &node : case_["nodes"])
                run(node);
            for (auto &r : case_["results"]) {
                if (!values_.count(r[0]))
                    return {CaseResult::failed, "gives no output " + r[0].get<std::string>()};
                const std::string error = difference(values_.at(r[0]), load(dir_, r[1]),
                                                     case_["rtol"], case_["atol"]);
                if (!error.empty())
                    return {CaseResult::failed, r[0].get<std::string>() + ": " + error};
            }
        } catch (const NotCovered &e) {
            const std::string what = e.what();
            return {what.starts_with("no primitive") ? CaseResult::uncovered : CaseResult::failed,
                    what};
        } catch (const std::exception &e) {
            return {CaseResult::failed, e.what()};
        }
        return {};
    }

private:
    void run(const nlohmann::json &from) {
        Node n;
        n.op = from["op"];
        n.attributes = from["attributes"];
        n.results = from["outputs"].size();
        for (const std::string name : from["inputs"])
            n.in.push_back(name.empty() ? Tensor() : values_.at(name));
        for (auto &[name, value] : n.attributes.items())
            if (value.is_object()) n.constants[name] = load(dir_, value["tensor"]);
        const Results out = operators().at(n.op)(n);
        for (size_t k = 0; k < out.size() && k < n.results; k++)
            values_[from["outputs"][k]] = out[k];
    }
    std::string dir_;
    const nlohmann::json &case_;
    std::map<std::string, Tensor> values_;
};

// Reads lines "case -- why"; # begins a comment.
std::map<std::string, std::string> known_failures() {
    std::ifstream file(HALYARD_SOURCE_DIR "/tests/onnx/failing.txt");
    std::map<std::string, std::string> known;
    for (std::string line; std::getline(file, line);) {
        if (const size_t at = line.find(" -- "); at != std::string::npos && line[0] != '#')
            known[line.substr(0, at)] = line.substr(at + 4);
    }
    return known;
}

class Tally {
public:
    Tally(std::map<std::string, std::string> known, bool verbose)
        : known_(std::move(known)), verbose_(verbose) {}

    void skip(const std::string &why) { unsupported_types_[why]++; }

    void add(const std::string &name, const CaseResult &v) {
        if (v.kind == CaseResult::uncovered) {
            uncovered_[v.why]++;
            return;
        }
        const bool is_known = known_.count(name) > 0;
        if (v.kind == CaseResult::passed) {
            passed_++;
            if (is_known) std::printf("PASSED %s, which failing.txt lists\n", name.c_str());
            return;
        }
        failed_++;
        unexpected_ += !is_known;
        if (!is_known || verbose_) {
            std::printf("%s %s -- %s\n", is_known ? "known " : "FAILED", name.c_str(),
                        v.why.c_str());
        }
    }
    void print(const std::string &onnx_version) const {
        std::printf("onnx %s: %d of %d cases of covered operators passed, %.1f %%\n",
                    onnx_version.c_str(), passed_, passed_ + failed_, 100 * share());
        print("cases of operators that the primitives don't cover", uncovered_);
        print("cases of types that the primitives don't have", unsupported_types_);
    }
    bool succeeded() const { return unexpected_ == 0 && share() >= least_share; }

private:
    double share() const { return passed_ + failed_ ? double(passed_) / (passed_ + failed_) : 0; }
    void print(const char *what, const std::map<std::string, int> &all) const {
        int sum = 0;
        for (auto &[why, count] : all)
            sum += count;
        std::printf("%d %s", sum, what);
        for (auto &[why, count] : all) {
            if (verbose_) {
                std::printf("%s%s %d", &why == &all.begin()->first ? ": " : ", ", why.c_str(),
                            count);
            }
        }
        std::printf("\n");
    }
    std::map<std::string, std::string> known_;
    bool verbose_;
    int passed_ = 0, failed_ = 0, unexpected_ = 0;
    std::map<std::string, int> uncovered_, unsupported_types_;
};

// Runs the cases of `dir`, or only those named, and returns the exit status.
int run_all(const std::string &dir, const std::set<std::string> &only, bool verbose) {
    const nlohmann::json manifest = nlohmann::json::parse(std::ifstream(dir + "/manifest.json"));
    Tally tally(known_failures(), verbose);
    for (auto &c : manifest["cases"]) {
        const std::string name = c["name"];
        if (!only.empty() && !only.count(name)) continue;
        if (c.contains("skip"))
            tally.skip(c["skip"]);
        else
            tally.add(name, Graph(dir, c).run());
    }
    tally.print(manifest["onnx"]);
    return tally.succeeded() ? 0 : 1;
}

}  // namespace
}  // namespace halyard::onnx

int main(int argc, char **argv) {
    if (argc < 2) {
        std::fprintf(stderr, "usage: onnx_test DIR [-v] [CASE...]\n");
        return 2;
    }
    std::set<std::string> only(argv + 2, argv + argc);
    const bool verbose = only.erase("-v") > 0;
    return halyard::onnx::run_all(argv[1], only, verbose);
}
