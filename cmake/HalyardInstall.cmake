# What `make install` copies: the libraries, the command, headers, the CMake package, the templates of `halyard new`,
# reference pages, the shape sets, suites and Python peers of `halyard bench`, tuning records, and what `halyard check --mutants`
# can't find.
# Included last by the kit's own CMakeLists.txt.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(_package "${CMAKE_INSTALL_LIBDIR}/cmake/Halyard")
set(_headers "${CMAKE_INSTALL_INCLUDEDIR}/halyard")
set(_templates "${CMAKE_INSTALL_DATADIR}/halyard/templates")

set(_libraries halyard halyard_ascend halyard_dsl halyard_gen_main halyard_kernel_base halyard_kit_ops halyard_registry)
get_filename_component(_halide "${HALIDE_LIBRARY}" DIRECTORY)
set_target_properties(halyard halyard_ascend halyard_ascend_device halyard_dsl halyard_registry halyard_command PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR};${_halide}")
install(TARGETS ${_libraries} halyard_command halyard_flags EXPORT HalyardTargets)
install(TARGETS halyard_ascend_device)  # opened by set_device("ascend"); nobody links it but the command
install(EXPORT HalyardTargets NAMESPACE Halyard:: DESTINATION "${_package}")

foreach(room registry ascend dsl kernels primitives nn train)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/${room}" DESTINATION "${_headers}" FILES_MATCHING PATTERN "*.h")
endforeach()
install(FILES "${CMAKE_BINARY_DIR}/generated/primitives/ops.h" DESTINATION "${_headers}/primitives")
get_property(_ops DIRECTORY kernels PROPERTY HALYARD_OPS)
foreach(op IN LISTS _ops)
  install(FILES "${HALYARD_KERNEL_DIR}/${op}.face.h" DESTINATION "${_headers}/kernels")
endforeach()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/tools/halyard/templates/" DESTINATION "${_templates}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/kernels/records/" DESTINATION "${CMAKE_INSTALL_DATADIR}/halyard/records")
install(FILES "${PROJECT_SOURCE_DIR}/tools/check/survivors.txt" DESTINATION "${CMAKE_INSTALL_DATADIR}/halyard")
if(NOT HALYARD_SANITIZE)
  install(DIRECTORY "${CMAKE_BINARY_DIR}/share/halyard/docs" DESTINATION "${CMAKE_INSTALL_DATADIR}/halyard" OPTIONAL)
endif()
install(DIRECTORY "${CMAKE_BINARY_DIR}/share/halyard/report" DESTINATION "${CMAKE_INSTALL_DATADIR}/halyard")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/bench/shapes" "${PROJECT_SOURCE_DIR}/bench/suites" "${PROJECT_SOURCE_DIR}/bench/peers" DESTINATION "${CMAKE_INSTALL_DATADIR}/halyard"
  FILES_MATCHING PATTERN "*.txt" PATTERN "driver*.py")

configure_package_config_file(cmake/HalyardConfig.cmake.in "${CMAKE_BINARY_DIR}/package/HalyardConfig.cmake" INSTALL_DESTINATION "${_package}")
write_basic_package_version_file("${CMAKE_BINARY_DIR}/package/HalyardConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/package/HalyardConfig.cmake" "${CMAKE_BINARY_DIR}/package/HalyardConfigVersion.cmake"
  cmake/FindHalideSDK.cmake cmake/HalyardOp.cmake DESTINATION "${_package}")
