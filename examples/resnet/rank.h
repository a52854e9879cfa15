// RANK_SIZE and RANK_ID: the variables in which the document's launcher gives each process the
// number of devices and its own device.
#pragma once
#include <cstdlib>
#include <string>

#include "registry/base/error.h"

namespace halyard::examples::resnet {

// Throws AttrError for more than one device. Gradients are not exchanged, so each process would
// train a network of its own on its part of the data, and all would write the same files.
inline void refuse_other_ranks() {
    const auto expect = [](const char *name, const std::string &expected) {
        const char *value = std::getenv(name);
        if (!value || !*value || value == expected) return;
        throw AttrError(
            name, std::string("is ") + value + ", expected " + expected +
                      ": there is no communicator, each process would train a network of its own");
    };
    expect("RANK_SIZE", "1");
    expect("RANK_ID", "0");
}

}  // namespace halyard::examples::resnet
