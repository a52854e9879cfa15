# halyard_warnings: link it PRIVATE into every target of this project. Third-party headers are SYSTEM includes and stay silent.
include_guard(GLOBAL)
add_library(halyard_warnings INTERFACE)
target_compile_options(halyard_warnings INTERFACE -Wall -Wextra -Wpedantic -Wnon-virtual-dtor -Werror)
# Clang spells the variant that only looks at enclosing local scopes differently.
target_compile_options(halyard_warnings INTERFACE $<IF:$<CXX_COMPILER_ID:GNU>,-Wshadow=local,-Wshadow>)
# GCC 12 sees accesses past a short string's end in sums of strings (bug 105651), more so where <string> is precompiled: told, no error.
target_compile_options(halyard_warnings INTERFACE "$<$<CXX_COMPILER_ID:GNU>:-Wno-error=array-bounds;-Wno-error=restrict>")
# The compiler cache can't use GCC's precompiled headers otherwise.
target_compile_options(halyard_warnings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
# GCC takes a source inside a joined one (HALYARD_UNITY) for a header, and a type in it for one that others see.
target_compile_options(halyard_warnings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
