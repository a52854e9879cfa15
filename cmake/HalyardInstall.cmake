# What `make install` copies: the libraries, the command, headers, the CMake package, the Halide SDK, the templates of `halyard new`,
# reference pages, the shape sets, suites and Python peers of `halyard bench`, tuning records, and what `halyard check --mutants`
# can't find.
# Included last by the kit's own CMakeLists.txt.
include(GNUInstallDirs)
if(HALYARD_ON_DEMAND)
  install(CODE "message(FATAL_ERROR \"This build compiles kernels on demand and can't be installed: make install builds and copies build/release\")")
endif()
include(CMakePackageConfigHelpers)
set(_package "${CMAKE_INSTALL_LIBDIR}/cmake/Halyard")
set(_headers "${CMAKE_INSTALL_INCLUDEDIR}/halyard")
set(_templates "${CMAKE_INSTALL_DATADIR}/halyard/templates")

set(_libraries halyard halyard_ascend halyard_dsl halyard_gen_main halyard_kernel_base halyard_kit_ops halyard_op_sources halyard_registry)
# The Halide SDK comes along, so that an installed kit can be moved, or packed, as a whole.
set(_halide "${CMAKE_INSTALL_DATADIR}/halyard/halide")
get_filename_component(_halide_libraries "${HALIDE_LIBRARY}" DIRECTORY)
get_filename_component(_halide_lib "${_halide_libraries}" NAME)
install(DIRECTORY "${HALIDE_ROOT}/include" DESTINATION "${_halide}")
install(DIRECTORY "${_halide_libraries}/" DESTINATION "${_halide}/${_halide_lib}" FILES_MATCHING PATTERN "*.so" PATTERN "cmake" EXCLUDE)
install(PROGRAMS "${HALIDE_GENGEN}" DESTINATION "${_halide}/bin")
set_target_properties(halyard halyard_ascend halyard_ascend_device halyard_cuda_model halyard_dsl halyard_op_sources halyard_registry halyard_command PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR};$ORIGIN/../${_halide}/${_halide_lib}")
install(TARGETS ${_libraries} halyard_command halyard_flags EXPORT HalyardTargets)
install(TARGETS halyard_cuda_model)  # opened by use_model_cuda_driver()
install(TARGETS halyard_ascend_device)  # opened by set_device("ascend"); nobody links it but the command
install(EXPORT HalyardTargets NAMESPACE Halyard:: DESTINATION "${_package}")

foreach(room registry ascend dsl kernels primitives graph nn train)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/${room}" DESTINATION "${_headers}" FILES_MATCHING PATTERN "*.h")
endforeach()
install(FILES "${PROJECT_SOURCE_DIR}/cmake/halyard.h" DESTINATION "${_headers}")
install(FILES "${CMAKE_BINARY_DIR}/generated/primitives/ops.h" DESTINATION "${_headers}/primitives")
get_property(_ops DIRECTORY kernels PROPERTY HALYARD_OPS)
get_property(_composites DIRECTORY primitives PROPERTY HALYARD_COMPOSITES)
foreach(op IN LISTS _ops _composites)
  install(FILES "${HALYARD_FACE_DIR}/${op}.h" DESTINATION "${_headers}/primitives/ops")
endforeach()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/tools/halyard/templates/" DESTINATION "${_templates}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/kernels/records/" DESTINATION "${CMAKE_INSTALL_DATADIR}/halyard/records")
install(FILES "${CMAKE_BINARY_DIR}/share/halyard/ascend_refused.txt" DESTINATION "${CMAKE_INSTALL_DATADIR}/halyard")
install(FILES "${PROJECT_SOURCE_DIR}/tools/check/survivors.txt" DESTINATION "${CMAKE_INSTALL_DATADIR}/halyard")
if(NOT HALYARD_SANITIZE)
  install(DIRECTORY "${CMAKE_BINARY_DIR}/share/halyard/docs" "${CMAKE_BINARY_DIR}/share/halyard/api" DESTINATION "${CMAKE_INSTALL_DATADIR}/halyard" OPTIONAL)
endif()
install(DIRECTORY "${CMAKE_BINARY_DIR}/share/halyard/report" DESTINATION "${CMAKE_INSTALL_DATADIR}/halyard")
install(DIRECTORY "${CMAKE_BINARY_DIR}/share/halyard/export" DESTINATION "${CMAKE_INSTALL_DATADIR}/halyard")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/bench/shapes" "${PROJECT_SOURCE_DIR}/bench/suites" "${PROJECT_SOURCE_DIR}/bench/peers" DESTINATION "${CMAKE_INSTALL_DATADIR}/halyard"
  FILES_MATCHING PATTERN "*.txt" PATTERN "driver*.py")

set(HALYARD_HALIDE_FOLDER "${_halide}")
configure_package_config_file(cmake/HalyardConfig.cmake.in "${CMAKE_BINARY_DIR}/package/HalyardConfig.cmake" INSTALL_DESTINATION "${_package}"
  PATH_VARS HALYARD_HALIDE_FOLDER)
write_basic_package_version_file("${CMAKE_BINARY_DIR}/package/HalyardConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/package/HalyardConfig.cmake" "${CMAKE_BINARY_DIR}/package/HalyardConfigVersion.cmake"
  cmake/FindHalideSDK.cmake cmake/HalyardCompile.cmake cmake/HalyardOp.cmake DESTINATION "${_package}")

# `cpack --config build/release/CPackConfig.cmake` packs the same files as a .deb and a .tar.gz.
set(CPACK_GENERATOR "DEB;TGZ")
set(CPACK_PACKAGE_NAME halyard)
set(CPACK_PACKAGE_VENDOR "The Halyard developers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Custom-operator development kit in C++20: write, prove, measure and differentiate an operator in one file")
set(CPACK_PACKAGE_CONTACT "The Halyard developers")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# What a project of `halyard new --project` is built with; libraries that the kit links are found by dpkg-shlibdeps.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "cmake (>= 3.25), make | ninja-build, g++ (>= 4:12), binutils, libfmt-dev, libtbb-dev, libhwy-dev")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}" "${_halide_libraries}")
include(CPack)
