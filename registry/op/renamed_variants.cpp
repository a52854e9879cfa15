#include "registry/op/renamed_variants.h"

#include <map>

namespace halyard {
namespace {

using Renamed = std::map<std::string, std::string>;

const Renamed conv2d = {
    {"deep_7", "winograd_small_maps_7"},
    {"deep", "winograd_small_maps"},
    {"pointwise_3", "pointwise_wide"},
    {"patches", "im2col"},
    {"packed", "direct_packed"},
    {"narrow", "direct_packed_narrow"},
    {"depthwise_3", "depthwise_3x3"},
    {"depthwise_3_2", "depthwise_3x3s2"},
    {"depthwise_2", "depthwise_s2"},
    {"lanes", "images_in_lanes"},
    {"phases", "polyphase"},
    {"any", "direct"},
};
const Renamed conv2d_dweight = {
    {"matrix", "im2col_3x3"},
    {"matrix_1", "im2col_1x1"},
    {"taps", "taps_in_lanes"},
    {"channels", "channels_in_lanes"},
    {"lanes", "images_in_lanes"},
    {"depthwise_3", "depthwise_3x3"},
    {"depthwise_3_2", "depthwise_3x3s2"},
    {"any", "direct"},
};
const Renamed pooling = {
    {"halves", "pool2x2"},
    {"thirds", "pool3x3s2"},
    {"tiles", "pool2x2_exact"},
};

const std::map<std::string, const Renamed &> by_op = {
    {"conv2d", conv2d},
    {"conv2d_bias_clamp", conv2d},
    {"conv2d_bias_add_clamp", conv2d},
    {"conv2d_dx", conv2d},
    {"conv2d_dweight", conv2d_dweight},
    {"max_pool2d", pooling},
    {"max_pool2d_dx", pooling},
    {"avg_pool2d", pooling},
    {"avg_pool2d_dx", pooling},
};

}  // namespace

std::string present_variant_name(const std::string &op, const std::string &name) {
    const auto renamed = by_op.find(op);
    if (renamed == by_op.end()) return name;
    const auto found = renamed->second.find(name);
    return found == renamed->second.end() ? name : found->second;
}

}  // namespace halyard
