# What lib@name@.so is linked of: the run time, of which the linker keeps what is reached, and the kernels. It shows only the functions of
# exports.map, and its own functions call each other.
set(lib "${CMAKE_CURRENT_SOURCE_DIR}/lib")
set(archives@compositions@ "${lib}/kernels.a" "${lib}/halide_runtime.o")
target_link_options(@name@ PRIVATE -Wl,-Bsymbolic -Wl,--gc-sections "-Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/exports.map")
target_link_libraries(@name@ PRIVATE -Wl,--whole-archive "${lib}/runtime.a" -Wl,--no-whole-archive ${archives} m)
set_target_properties(@name@ PROPERTIES LINK_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/exports.map;${lib}/runtime.a;${archives}")
