// Stop: an exception that ends the simulation of a block after an issue that makes its further
// results meaningless.
#pragma once

namespace halyard::dv {

struct Stop {};

}  // namespace halyard::dv
