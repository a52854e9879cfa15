// Programs on their way, for who wants to see what a pass did.
#pragma once
#include "ascend/program/ir.h"

namespace halyard::dv {

// With HALYARD_ASCEND_DUMP=FOLDER in the environment: writes FOLDER/NAME.STAGE.dv. Stages, in their
// order: "1-lowered" or "1-written", "2-placed", "3-synchronised". A schedule that is tried with
// smaller tiles leaves its last attempt. Throws AttrError where it can't write.
void dump(const Program &p, const char *stage);

}  // namespace halyard::dv
