# halyard_composite([FOLDER/]NAME): FOLDER/NAME.cpp, relative to the CMakeLists.txt, states composites, and gradients of the kernels
# that they call (primitives/composites/composite.h). It is compiled once, against the functions of kernels. Then
# halyard_composites_done() links all of these files into one generator, which writes the composites' functions,
# <build>/generated/primitives/ops/NAME.h, for everything above. So a composition can't call the functions of another composite: it
# includes a header in which that one's file declares what others may call.
#
# halyard_gradients([FOLDER/]NAME): a file of composed gradients alone, which has no functions to generate.
function(_halyard_list_composites CALL FILE)
  get_filename_component(NAME "${FILE}" NAME)
  get_property(gathered DIRECTORY PROPERTY HALYARD_COMPOSITES_GATHERED)
  if(gathered)
    message(FATAL_ERROR "${CALL} comes after halyard_composites_done(), which gathers the files before it only: write it above")
  endif()
  get_property(composites DIRECTORY PROPERTY HALYARD_COMPOSITES)
  get_property(gradients DIRECTORY PROPERTY HALYARD_GRADIENTS)
  if(NAME IN_LIST composites OR NAME IN_LIST gradients)
    message(FATAL_ERROR "${CALL} stands here twice: one line lists all that a file states")
  endif()
  if(FILE MATCHES "\\.cpp$")
    message(FATAL_ERROR "${CALL} takes the name without its ending")
  endif()
  if(NOT EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${FILE}.cpp")
    message(FATAL_ERROR "${CALL}: there is no ${CMAKE_CURRENT_SOURCE_DIR}/${FILE}.cpp")
  endif()
  set_property(DIRECTORY APPEND PROPERTY HALYARD_COMPOSITE_SOURCES "${CMAKE_CURRENT_SOURCE_DIR}/${FILE}.cpp")
  set_property(SOURCE "${FILE}.cpp" PROPERTY COMPILE_DEFINITIONS HALYARD_OP_FILE=${NAME})
endfunction()

function(halyard_composite FILE)
  get_filename_component(NAME "${FILE}" NAME)
  _halyard_list_composites("halyard_composite(${FILE})" "${FILE}")
  if(TARGET op_${NAME})
    get_target_property(folder op_${NAME} SOURCE_DIR)
    message(FATAL_ERROR "halyard_composite(${FILE}): ${folder}/CMakeLists.txt has an op file of this name, and primitives/ops/${NAME}.h is its header")
  endif()
  get_filename_component(folder "${FILE}" DIRECTORY)
  get_filename_component(family "${folder}" NAME)
  set_property(DIRECTORY APPEND PROPERTY HALYARD_COMPOSITES ${NAME})
  set_property(DIRECTORY APPEND PROPERTY HALYARD_COMPOSITE_FAMILIES "${family}")
endfunction()

function(halyard_gradients FILE)
  get_filename_component(NAME "${FILE}" NAME)
  _halyard_list_composites("halyard_gradients(${FILE})" "${FILE}")
  set_property(DIRECTORY APPEND PROPERTY HALYARD_GRADIENTS ${NAME})
endfunction()

# What a build for another machine takes from HALYARD_GENERATORS.
function(_halyard_add_composite_generator)
  add_library(halyard_composite_op OBJECT "${PROJECT_SOURCE_DIR}/tools/composite_op.cpp")  # of development tools, too
  set_target_properties(halyard_composite_op PROPERTIES HALYARD_BUILD_TIME ON POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(halyard_composite_op PRIVATE halyard_dsl halyard_warnings)
  add_executable(halyard_gen_composites "${PROJECT_SOURCE_DIR}/tools/gen_composites.cpp" "${PROJECT_SOURCE_DIR}/tools/emit.cpp" $<TARGET_OBJECTS:halyard_composite_op>
    $<TARGET_OBJECTS:halyard_composites> $<TARGET_OBJECTS:halyard_primitives>)
  set_target_properties(halyard_gen_composites PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${HALYARD_BINARY_DIR}/gen" LINK_DEPENDS_NO_SHARED ON
    UNITY_BUILD OFF)
  target_link_libraries(halyard_gen_composites PRIVATE halyard_dsl halyard_warnings CLI11::CLI11 hwy::hwy_contrib)
  add_dependencies(halyard_generators halyard_gen_composites)
endfunction()

# Defines halyard_composites (the object files of the composites so far), halyard_gen_composites (their generator), the header
# primitives/ops.h with the functions of all kernels and composites, and halyard_faces, on which depends what includes any of them.
function(halyard_composites_done)
  get_property(names DIRECTORY PROPERTY HALYARD_COMPOSITES)
  get_property(gradients DIRECTORY PROPERTY HALYARD_GRADIENTS)
  get_property(sources DIRECTORY PROPERTY HALYARD_COMPOSITE_SOURCES)
  set_property(DIRECTORY PROPERTY HALYARD_COMPOSITES_GATHERED ON)
  get_property(faces GLOBAL PROPERTY HALYARD_KERNEL_FACES)
  get_property(families DIRECTORY PROPERTY HALYARD_COMPOSITE_FAMILIES)
  foreach(name family IN ZIP_LISTS names families)
    string(APPEND declarations "void halyard_composites_${name}(CompositeTable &composites);\n")
    string(APPEND calls "    composites.begin_file(\"${name}\", \"${family}\");\n    halyard_composites_${name}(composites);\n")
    string(APPEND faces "#include \"primitives/ops/${name}.h\"\n")
    list(APPEND headers "${HALYARD_FACE_DIR}/${name}.h")
  endforeach()
  foreach(name IN LISTS gradients)
    string(APPEND declarations "void halyard_composites_${name}(CompositeTable &composites);\n")
    string(APPEND calls "    composites.begin_file(\"${name}\", \"\");\n    halyard_composites_${name}(composites);\n")
  endforeach()
  set(generated "${HALYARD_BINARY_DIR}/generated")
  file(CONFIGURE OUTPUT "${generated}/list_composites.cpp" CONTENT
"#include \"primitives/composites/composite.h\"

namespace halyard {

@declarations@
void list_composites(CompositeTable &composites) {
@calls@}

}  // namespace halyard
" @ONLY)
  file(CONFIGURE OUTPUT "${generated}/primitives/ops.h" CONTENT
"// Every primitive, as an object (ops::) and as a function (F::). Generated.
#pragma once
@faces@" @ONLY)

  # A file is compiled alone, so that a change of one composite compiles one file.
  add_library(halyard_composites OBJECT ${sources} "${generated}/list_composites.cpp")
  set_target_properties(halyard_composites PROPERTIES UNITY_BUILD OFF)
  # Not composite.h: a file's HALYARD_OP_FILE would be unknown to the macro in it.
  halyard_precompile(halyard_composites <primitives/primitive.h> <primitives/autograd/views.h> <registry/op/problem.h>)
  target_link_libraries(halyard_composites PUBLIC halyard_registry PRIVATE halyard_warnings)
  # An exported library takes the functions that its ops need (tools/export).
  target_compile_options(halyard_composites PRIVATE -ffunction-sections -fdata-sections)
  add_dependencies(halyard_composites halyard_kernel_faces)

  if(CMAKE_CROSSCOMPILING)
    set(generator "${HALYARD_GENERATORS}/halyard_gen_composites")
    set(needs "${generator}")
  else()
    _halyard_add_composite_generator()
    set(generator $<TARGET_FILE:halyard_gen_composites>)
    set(needs halyard_gen_composites)
  endif()
  set(launcher "")
  if(HALYARD_SANITIZE)
    set(launcher "${CMAKE_COMMAND}" -E env ASAN_OPTIONS=detect_leaks=0)
  endif()
  add_custom_command(OUTPUT ${headers}
    COMMAND ${launcher} ${generator} --faces "${HALYARD_FACE_DIR}"
    DEPENDS ${needs}
    COMMENT "Functions of composites"
    VERBATIM)
  add_custom_target(halyard_faces DEPENDS ${headers})
  add_dependencies(halyard_faces halyard_kernel_faces)
endfunction()
