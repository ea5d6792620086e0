# SPDX-License-Identifier: MIT
# sennit_generate(TARGET FILE.snt...): compiles schemas into C, adds it to TARGET,
# and links what it stands on. Then `#include "FILE.snt.h"`. Call it in the
# directory that makes TARGET.
function(sennit_generate target)
    if(NOT TARGET ${target} OR NOT ARGN)
        message(FATAL_ERROR "write sennit_generate(TARGET FILE.snt...) after the target is "
            "there; got: ${target} ${ARGN}")
    endif()
    set(directory ${CMAKE_CURRENT_BINARY_DIR}/sennit/${target})
    file(MAKE_DIRECTORY ${directory})
    foreach(schema IN LISTS ARGN)
        get_filename_component(path ${schema} ABSOLUTE)
        get_filename_component(name ${schema} NAME)
        add_custom_command(
            OUTPUT ${directory}/${name}.h ${directory}/${name}.c
            COMMAND sennit::sennitc gen c ${path} -o ${directory} -MD
            DEPENDS ${path} sennit::sennitc
            DEPFILE ${directory}/${name}.d
            COMMENT "Generating C from ${name}"
            VERBATIM)
        target_sources(${target} PRIVATE ${directory}/${name}.h ${directory}/${name}.c)
    endforeach()
    target_include_directories(${target} PRIVATE ${directory})
    target_link_libraries(${target} PRIVATE sennit::codec)
endfunction()
