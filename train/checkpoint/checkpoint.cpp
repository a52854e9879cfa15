#include "train/checkpoint/checkpoint.h"

#include <algorithm>

#include "registry/base/error.h"
#include "train/checkpoint/mindspore_ckpt.h"
#include "train/checkpoint/safetensors.h"

namespace halyard {
namespace {

bool is_mindspore(const std::string &path) {
    return path.ends_with(".ckpt");
}

bool converts(DType from, DType to) {
    return from == to || (is_float(from) && is_float(to)) || (is_integer(from) && is_integer(to));
}

std::string some_of(const std::vector<std::string> &names, const char *what) {
    constexpr size_t most = 5;
    if (names.empty()) return "";
    std::string text = std::to_string(names.size()) + " " + what + ": ";
    for (size_t i = 0; i < std::min(most, names.size()); i++)
        text += (i ? ", " : "") + names[i];
    return text + (names.size() > most ? ", ...\n" : "\n");
}

}  // namespace

std::string LoadReport::text() const {
    return some_of(param_not_load, "parameters that the checkpoint hasn't") +
           some_of(ckpt_not_load, "tensors of the checkpoint that the network hasn't") +
           some_of(mismatched, "that don't fit");
}

void save_checkpoint(const nn::Cell &net, const std::string &path,
                     const std::map<std::string, std::string> &metadata) {
    save_checkpoint(net.get_parameters(), path, metadata);
}

void save_checkpoint(const ParameterTuple &parameters, const std::string &path,
                     const std::map<std::string, std::string> &metadata) {
    NamedTensors all{{}, metadata};
    std::set<std::string> names;
    for (const Parameter &p : parameters) {
        if (p.name().empty() || !names.insert(p.name()).second) {
            throw AttrError("save_checkpoint",
                            p.name().empty() ? "a parameter has no name"
                                             : "two parameters are called '" + p.name() + "'");
        }
        all.tensors.emplace_back(p.name(), p.data());
    }
    if (is_mindspore(path))
        save_mindspore_ckpt(path, all);
    else
        save_safetensors(path, all);
}

NamedTensors load_checkpoint(const std::string &path) {
    return is_mindspore(path) ? load_mindspore_ckpt(path) : load_safetensors(path);
}

std::map<std::string, std::string> load_metadata(const std::string &path) {
    return is_mindspore(path) ? load_mindspore_metadata(path) : load_safetensors_metadata(path);
}

LoadReport load_param_into_net(const nn::Cell &net, const NamedTensors &checkpoint,
                               bool strict_load) {
    return load_parameters(net.get_parameters(), checkpoint, strict_load);
}

LoadReport load_param_into_net(const nn::Optimizer &optimizer, const NamedTensors &checkpoint,
                               bool strict_load) {
    return load_parameters(optimizer.get_parameters(), checkpoint, strict_load);
}

LoadReport load_parameters(const ParameterTuple &parameters, const NamedTensors &checkpoint,
                           bool strict_load) {
    LoadReport report;
    std::map<std::string, Parameter> open;
    for (const Parameter &p : parameters) {
        if (!open.emplace(p.name(), p).second)
            throw AttrError("load_param_into_net", "two parameters are called '" + p.name() + "'");
    }
    std::vector<std::pair<Parameter, Tensor>> matches;
    for (auto &[name, value] : checkpoint.tensors) {
        const auto found = open.find(name);
        if (found == open.end()) {
            report.ckpt_not_load.push_back(name);
            continue;
        }
        const Tensor &own = found->second.data();
        if (own.shape() != value.shape()) {
            report.mismatched.push_back(name + ": " + own.shape().text() + " here, " +
                                        value.shape().text() + " in the checkpoint");
        } else if (!converts(value.dtype(), own.dtype())) {
            report.mismatched.push_back(name + ": " + name_of(own.dtype()) + " here, " +
                                        name_of(value.dtype()) + " in the checkpoint");
        } else
            matches.emplace_back(found->second, value);
        open.erase(found);
    }
    for (auto &[name, parameter] : open)
        report.param_not_load.push_back(name);
    if (strict_load && !report.complete()) {
        throw AttrError("load_param_into_net",
                        "the checkpoint doesn't fit the network\n" + report.text());
    }
    for (auto &[parameter, value] : matches) {
        parameter.set_data(
            value.dtype() == parameter.data().dtype() ? value : value.to(parameter.data().dtype()));
    }
    return report;
}

}  // namespace halyard
