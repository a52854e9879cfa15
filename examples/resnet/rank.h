// RANK_SIZE and RANK_ID, in which the document's launcher tells each process how many devices train
// and which of them is its own.
#pragma once
#include <cstdlib>
#include <string>

#include "registry/base/error.h"

namespace halyard::examples::resnet {

// Throws AttrError where they are for more than one device: gradients don't go from one to another,
// so that each process would train a network of its own on its part of the data, and all would
// write to the same files.
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
