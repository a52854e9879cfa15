# <build>/include: the headers as an installed kit has them, so that programs write `#include "halyard/nn/dense.h"` against either
# (-I<build>/include -I<build>/include/halyard). The tree consists of links to the sources and to generated headers. The kit's own
# sources include without the prefix: the compiler then reports paths in the source tree, and so do the messages that name an author's
# line.
set(_include "${CMAKE_BINARY_DIR}/include/halyard")
file(MAKE_DIRECTORY "${_include}/primitives" "${CMAKE_BINARY_DIR}/generated/primitives/ops")
foreach(room registry ascend dsl kernels graph nn train)
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/${room}" "${_include}/${room}" SYMBOLIC)
endforeach()
# primitives has headers from both trees.
file(GLOB _headers RELATIVE "${PROJECT_SOURCE_DIR}/primitives" CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/primitives/*.h")
foreach(entry IN LISTS _headers ITEMS autograd composites)
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/primitives/${entry}" "${_include}/primitives/${entry}" SYMBOLIC)
endforeach()
foreach(entry ops ops.h)
  file(CREATE_LINK "${CMAKE_BINARY_DIR}/generated/primitives/${entry}" "${_include}/primitives/${entry}" SYMBOLIC)
endforeach()
file(CREATE_LINK "${PROJECT_SOURCE_DIR}/cmake/halyard.h" "${_include}/halyard.h" SYMBOLIC)
