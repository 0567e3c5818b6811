# SPDX-License-Identifier: Apache-2.0
# How every target of the repository is built: the language, the warnings, where results land, and
# what is linked statically. Folders call these functions and say nothing else about flags.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS ON) # statement expressions in NVS_TRY
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/archive")

option(NVS_WERROR "Warnings are errors" OFF)
set(NVS_SANITIZE "" CACHE STRING
  "Sanitizers for everything that is linked normally, as -fsanitize takes them")

# Debian's own Python before whatever is first in the path; any Python 3 elsewhere. It leaves no
# compiled files in the source tree and does not listen to the caller's environment.
find_program(NVS_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(NVS_PYTHON python3 REQUIRED)
set(NVS_RUN_PYTHON "${NVS_PYTHON}" -B -E)
set(Python3_EXECUTABLE "${NVS_PYTHON}") # for find_package(Python3)

set(NVS_INCLUDE_FOLDERS "${CMAKE_SOURCE_DIR}/src" "${CMAKE_SOURCE_DIR}")
set(NVS_WARNINGS
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Wold-style-cast -Wformat=2)

add_library(nvs_flags INTERFACE)
target_include_directories(nvs_flags INTERFACE ${NVS_INCLUDE_FOLDERS})
target_compile_options(nvs_flags INTERFACE
  ${NVS_WARNINGS} $<$<BOOL:${NVS_WERROR}>:-Werror>
  # What is global in one file may be local in the next.
  "$<$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>:-Wno-shadow;-Wshadow=local>"
  # Lines and functions, as backtraces need them. Variables as well would be a quarter of the time
  # that the build takes; who wants them in a debugger has CMAKE_BUILD_TYPE=Debug.
  $<$<CONFIG:RelWithDebInfo>:-g1>)
if(NVS_SANITIZE)
  target_compile_options(nvs_flags INTERFACE
    -fsanitize=${NVS_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
    # GCC's manual names this one: sanitized code hides from it what is initialised. The plain build
    # has it.
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(nvs_flags INTERFACE -fsanitize=${NVS_SANITIZE})
endif()

# nvs_timeout(SECONDS TESTS...): a test that runs this long hangs. Under a sanitizer it may just be
# slow: ThreadSanitizer keeps every process that had threads for a second at its end.
function(nvs_timeout seconds)
  if(NVS_SANITIZE)
    math(EXPR seconds "${seconds} * 4")
  endif()
  set_tests_properties(${ARGN} PROPERTIES TIMEOUT ${seconds})
endfunction()

# nvs_begin_early(SECONDS TESTS...): they take about so long, and begin before those that take less:
# the last ones are short, and nobody waits for a single long one.
function(nvs_begin_early seconds)
  set_tests_properties(${ARGN} PROPERTIES COST ${seconds})
endfunction()

# nvs_unity(target): its files are compiled sixteen at a time, because most of what a small file
# costs are its headers. So a name in an anonymous namespace is unique within its target, and files
# for which that is no good have SKIP_UNITY_BUILD_INCLUSION. That a file includes what it needs is
# for builds without this to say: the asan preset and make tidy. libnvshare.so does without.
option(NVS_UNITY "Compile the files of a target several at a time" ON)
function(nvs_unity target)
  get_target_property(sources ${target} SOURCES)
  list(LENGTH sources count)
  if(NVS_UNITY AND count GREATER 1)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 16)
  endif()
endfunction()

# What make demo and make bench build: all programs and the libraries that they load, but no tests.
add_custom_target(programs)

# nvs_library(name SOURCES...): an internal static library.
function(nvs_library name)
  add_library(${name} STATIC ${ARGN})
  target_link_libraries(${name} PUBLIC nvs_flags)
  nvs_unity(${name})
endfunction()

# nvs_program(name SOURCES...): a program for build/bin. It must run on machines that have nothing
# but glibc.
function(nvs_program name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE nvs_flags Threads::Threads)
  target_link_options(${name} PRIVATE -static-libstdc++ -static-libgcc)
  add_dependencies(programs ${name})
  nvs_unity(${name})
endfunction()

# What every test program is compiled with, and GoogleTest's header, which it then need not read.
add_library(nvs_test_flags INTERFACE)
target_link_libraries(nvs_test_flags INTERFACE nvs_flags GTest::gtest)
set(NVS_UNOPTIMISED $<$<CONFIG:RelWithDebInfo>:-O0>)
target_compile_options(nvs_test_flags INTERFACE ${NVS_UNOPTIMISED})
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/nvs_test_headers.cpp" CONTENT "")
add_library(nvs_test_headers OBJECT "${CMAKE_BINARY_DIR}/nvs_test_headers.cpp")
target_link_libraries(nvs_test_headers PRIVATE nvs_test_flags)
# As for programs, not as for libraries: the flags must be the same to the letter.
set_target_properties(nvs_test_headers PROPERTIES POSITION_INDEPENDENT_CODE OFF)
target_compile_options(nvs_test_headers PRIVATE -fPIE)
target_precompile_headers(nvs_test_headers PRIVATE <gtest/gtest.h>)

# nvs_test(name SOURCES...): a GoogleTest program, registered with CTest as one test per program.
function(nvs_test name)
  add_executable(${name} ${ARGN})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/test")
  target_link_libraries(${name} PRIVATE nvs_test_flags GTest::gtest_main Threads::Threads)
  target_precompile_headers(${name} REUSE_FROM nvs_test_headers)
  # A helper that is no test shows that its header compiles alone.
  list(FILTER ARGN EXCLUDE REGEX "_test\\.cpp$|^\\$<")
  set_source_files_properties(${ARGN} PROPERTIES
    SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
  nvs_unity(${name})
  add_test(NAME ${name} COMMAND ${name})
  nvs_timeout(240 ${name})
endfunction()
