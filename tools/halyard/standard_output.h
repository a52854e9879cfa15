// Standard output, which may be a full disk or a closed device.
#pragma once

namespace halyard::command {

// Flushes standard output. Throws IoError if this, or any output before it, failed.
void flush_standard_output();

}  // namespace halyard::command
