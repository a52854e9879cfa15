// Writes the state of a program after each pass, for debugging.
#pragma once
#include "ascend/program/ir.h"

namespace halyard::dv {

// Writes FOLDER/NAME.STAGE.dv if HALYARD_ASCEND_DUMP=FOLDER is in the environment. Stages are
// "1-lowered" or "1-written", "2-placed" and "3-synchronised". If a schedule is tried with several
// tile sizes, the file has the last attempt. Throws AttrError if the file can't be written.
void dump(const Program &p, const char *stage);

}  // namespace halyard::dv
