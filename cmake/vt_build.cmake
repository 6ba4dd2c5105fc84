# Compiler settings and the two helpers that every directory uses: vt_library and vt_test.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(VT_CCACHE ccache)
if(VT_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${VT_CCACHE}")
endif()

# Results must not depend on where the compiler fuses a multiply and an add: fusing is written out.
add_compile_options(-Wall -Wextra -Wshadow -Werror -ffp-contract=off)
if(VT_SANITIZE)
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -DNDEBUG")  # instrumented code compiles slowly
  add_compile_options(-fsanitize=${VT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${VT_SANITIZE})
endif()

find_package(nlohmann_json REQUIRED)
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
if(VT_TESTS)
  pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)
endif()

# vt_library(NAME DIR [deps...]): a static library vt_NAME of the .cpp files directly in DIR.
function(vt_library name dir)
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${dir}/*.cpp")
  if(NOT sources)
    add_library(vt_${name} INTERFACE)
    return()
  endif()
  add_library(vt_${name} STATIC ${sources})
  target_include_directories(vt_${name} PUBLIC "${CMAKE_SOURCE_DIR}/libvt/include"
                                               "${CMAKE_SOURCE_DIR}/libvt/src")
  target_link_libraries(vt_${name} PUBLIC nlohmann_json::nlohmann_json Threads::Threads ${ARGN})
endfunction()

# vt_isa_library(NAME DIR [flags...]): the same, compiled with the flags of an instruction set.
function(vt_isa_library name dir)
  vt_library(${name} ${dir} vt_base)
  get_target_property(kind vt_${name} TYPE)
  if(NOT kind STREQUAL "INTERFACE_LIBRARY")
    # GCC 12's own AVX-512 headers trip this warning (GCC bug 105593).
    target_compile_options(vt_${name} PRIVATE ${ARGN} -Wno-maybe-uninitialized)
  endif()
endfunction()

# vt_test(NAME DIR [deps...]): a GoogleTest program NAME_tests of the *_test.cpp files in DIR.
function(vt_test name dir)
  file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${dir}/*_test.cpp")
  if(NOT sources)
    return()
  endif()
  add_executable(${name}_tests ${sources})
  target_include_directories(${name}_tests PRIVATE "${CMAKE_SOURCE_DIR}/tests")
  target_link_libraries(${name}_tests PRIVATE ${ARGN} vt_test_support GTest::gtest)
  add_test(NAME ${name} COMMAND ${name}_tests)
endfunction()
