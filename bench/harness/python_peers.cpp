#include "bench/harness/python_peers.h"

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "bench/harness/line_process.h"
#include "bench/harness/peers.h"
#include "registry/base/program.h"
#include "registry/base/temporary_folder.h"
#include "registry/tensor/npy.h"

namespace halyard::bench {
namespace {
namespace fs = std::filesystem;
using Json = nlohmann::json;

struct Framework {
    std::unique_ptr<LineProcess> process;
    std::string name;  // with its version; "" if it isn't installed
};

Json request(LineProcess &child, const Json &question) {
    const Json answer = Json::parse(child.answer(question.dump()), nullptr, false);
    return answer.is_object() ? answer : Json{{"refused", "its process ended without a word"}};
}

// Returns the framework's process, which is started when first needed and then kept.
Framework &framework(const std::string &which, const std::string &python, int threads,
                     const std::string &isa) {
    static std::map<std::pair<std::string, int>, Framework> all;
    static std::set<std::string> missing;
    Framework &f = all[{which, threads}];
    if (f.process) return f;
    const fs::path driver = installed("share/halyard/peers/driver.py");
    std::map<std::string, std::string> environment = {{"OMP_NUM_THREADS", std::to_string(threads)}};
    environment["PYTHONDONTWRITEBYTECODE"] = "1";
    for (auto &[name, value] : peer_environment(isa))
        if (!std::getenv(name.c_str())) environment[name] = value;
    f.process = std::make_unique<LineProcess>(
        std::vector<std::string>{python, driver, which, std::to_string(threads), isa}, environment);
    const Json hello = Json::parse(f.process->answer(""), nullptr, false);
    if (hello.is_object() && hello.contains("name"))
        f.name = hello["name"];
    else if (missing.insert(which).second) {
        std::printf("peer %s: %s\n", which.c_str(),
                    hello.is_object() ? hello.value("refused", "").c_str()
                                      : (python + " can't be run").c_str());
    }
    return f;
}

Json attributes(const Attrs &attrs) {
    Json all = Json::object();
    for (size_t k = 0; k < attrs.op().attrs.size(); k++) {
        const AttrSpec &a = attrs.op().attrs[k];
        if (a.kind == AttrKind::real)
            all[a.name] = attrs.real(k);
        else if (a.kind == AttrKind::ints)
            all[a.name] = attrs.ints(k);
        else
            all[a.name] = attrs.integer(k);
    }
    return all;
}

// Reads the framework's results into `out`, in the op's dtypes. Throws IoError if a result has the
// wrong shape.
void take(const Json &files, const std::vector<Tensor> &out) {
    for (size_t k = 0; k < out.size(); k++) {
        const std::string path = files.at(k);
        const Tensor y = load_npy(path).to(out[k].dtype());
        if (y.elements() != out[k].elements()) {
            throw IoError(path, "has " + std::to_string(y.elements()) + " elements, expected " +
                                    std::to_string(out[k].elements()));
        }
        std::memcpy(out[k].raw(), y.raw(), y.bytes());
    }
}

}  // namespace

std::vector<BenchmarkCase> python_peer_cases(const PythonPeers &peers, const PeerTask &task,
                                             size_t copies, const std::string &isa,
                                             std::vector<std::string> &rejected) {
    std::vector<BenchmarkCase> all;
    if (peers.frameworks.empty()) return all;
    const TemporaryFolder folder("halyard_peers");
    const fs::path &dir = folder.path;
    const std::string limit = isa == name_of(host_isa()) ? "" : isa;
    Json question = {{"op", task.op.record.name},
                     {"attrs", attributes(task.attrs)},
                     {"dims", task.dims},
                     {"copies", copies},
                     {"dir", dir}};
    for (size_t k = 0; k < task.in.size(); k++) {
        const std::string file = dir / ("in_" + std::to_string(k) + ".npy");
        const Tensor &x = task.in[k];
        save_npy(file, x.dtype() == DType::bf16 ? x.to(DType::f32) : x);
        question["in"].push_back({{"name", task.op.signature.inputs[k].name},
                                  {"dtype", name_of(x.dtype())},
                                  {"file", file}});
    }
    for (auto &which : peers.frameworks) {
        Framework &f = framework(which, peers.python, task.threads, limit);
        if (f.name.empty()) continue;
        const Json answer = request(*f.process, question);
        if (answer.contains("refused")) {
            rejected.push_back(f.name + ": " + answer.value("refused", ""));
            continue;
        }
        BenchmarkCase s{f.name, task.threads, true, true, false, {}, {}};
        s.isa = isa.empty() ? host_isa() : isa_of(isa);
        for (const Tensor &y : task.out)
            s.out.push_back(Tensor::empty(y.shape(), y.dtype()));
        take(answer.at("out"), s.out);
        s.run = [] {};  // its results are in s.out already
        s.time_itself = [&f](double seconds) {
            const Json time = request(*f.process, {{"seconds", seconds}});
            if (!time.contains("seconds")) throw Error(f.name, time.value("refused", ""));
            return time.at("seconds").get<double>();
        };
        all.push_back(std::move(s));
    }
    return all;
}

}  // namespace halyard::bench
