# Compiler settings of all our targets, and the two functions that declare them.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(MEMWALL_CCACHE ccache)
if(MEMWALL_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${MEMWALL_CCACHE})
endif()
find_program(MEMWALL_MOLD mold)

add_library(memwall_options INTERFACE)
target_include_directories(memwall_options INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}>)
target_compile_options(memwall_options INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Wnon-virtual-dtor
    -Wnull-dereference -Wdouble-promotion -Wimplicit-fallthrough -Wswitch-enum
    -ffp-contract=off
    $<$<CXX_COMPILER_ID:GNU>:-Wduplicated-cond -Wlogical-op -Wuseless-cast>
    # g++ 12 sees overlapping copies in std::string operations that have none (GCC PR 105651).
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>)
if(MEMWALL_MOLD)
    target_link_options(memwall_options INTERFACE -fuse-ld=mold)
endif()
if(MEMWALL_SANITIZE)
    target_compile_options(memwall_options INTERFACE -fsanitize=${MEMWALL_SANITIZE} -fno-omit-frame-pointer)
    target_link_options(memwall_options INTERFACE -fsanitize=${MEMWALL_SANITIZE})
endif()

# memwall_room(core SOURCES a.cpp b.cpp ROOMS spec ... LIBRARIES fmt::fmt ...): one static library per room, linked downward.
function(memwall_room name)
    cmake_parse_arguments(ARG "" "" "SOURCES;ROOMS;LIBRARIES;PRIVATE_LIBRARIES" ${ARGN})
    set(target memwall_${name})
    add_library(${target} STATIC ${ARG_SOURCES})
    add_library(memwall::${name} ALIAS ${target})
    target_link_libraries(${target} PUBLIC $<BUILD_INTERFACE:memwall_options> ${ARG_LIBRARIES} PRIVATE ${ARG_PRIVATE_LIBRARIES})
    foreach(room IN LISTS ARG_ROOMS)
        target_link_libraries(${target} PUBLIC memwall_${room})
    endforeach()
endfunction()

# memwall_test(core SOURCES ... ROOMS ...): one doctest executable per room, run by ctest as `core`.
function(memwall_test name)
    cmake_parse_arguments(ARG "" "" "SOURCES;ROOMS;LIBRARIES" ${ARGN})
    add_executable(test_${name} ${CMAKE_SOURCE_DIR}/tests/main.cpp ${ARG_SOURCES})
    target_link_libraries(test_${name} PRIVATE memwall_options ${ARG_LIBRARIES})
    target_compile_definitions(test_${name} PRIVATE MEMWALL_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    foreach(room IN LISTS ARG_ROOMS)
        target_link_libraries(test_${name} PRIVATE memwall_${room})
    endforeach()
    add_test(NAME ${name} COMMAND test_${name})
endfunction()
