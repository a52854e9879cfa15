// The kit's version.
#pragma once

namespace halyard {

const char *version();  // "0.1.0", from CMakeLists.txt

}  // namespace halyard
