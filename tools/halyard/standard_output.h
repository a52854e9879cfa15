// Standard output, which may be a full disk or a device that takes nothing.
#pragma once

namespace halyard::command {

// Writes out what stands in its buffer. Throws IoError where that, or any output before it, went
// nowhere.
void flush_standard_output();

}  // namespace halyard::command
