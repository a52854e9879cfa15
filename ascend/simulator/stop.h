// Ends the simulation of a block after an issue that leaves nothing sensible to go on with.
#pragma once

namespace halyard::dv {

struct Stop {};

}  // namespace halyard::dv
