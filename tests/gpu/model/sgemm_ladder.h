// Eleven products of matrices in f32 whose speed on an RTX A6000 was published, as PTX: from one
// thread for each element to tiles of warps.
//
// The measurements, of 4092^3, are those of Simon Boehm's "How to Optimize a CUDA Matmul Kernel for
// cuBLAS-like Performance" (2022, siboehm.com/articles/22/CUDA-MMM), from the table in its
// repository, siboehm/SGEMM_CUDA. The texts here are our own: they have the tiles, the layouts and
// the widths of loads that the article describes, not its code.
#pragma once
#include <string>
#include <vector>

#include "gpu/model/launch_time.h"

namespace halyard::ptx {

struct PublishedProduct {
    const char *name;
    double gigaflops;  // as published
};
const std::vector<PublishedProduct> &published_products();

// Returns what a launch of product number `which` for matrices of 4096 x 4096 does, from one block
// that the machine runs with a part of the depth. Fails the test if its numbers are wrong.
LaunchFacts facts_of_product(size_t which);

}  // namespace halyard::ptx
