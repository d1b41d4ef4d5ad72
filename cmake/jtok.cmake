option(JTOK_TESTS "build the tests" ON)
option(JTOK_BENCH "build the benchmarks" OFF)
option(JTOK_FUZZ "build the libFuzzer binaries (clang; with ASan and UBSan)" OFF)
set(JTOK_SANITIZE "" CACHE STRING "sanitizers, as -fsanitize takes them: address,undefined or thread")

if(JTOK_FUZZ)
  set(JTOK_SANITIZE address,undefined)
endif()

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()

find_package(Threads REQUIRED)
# Static archives only: the program must need nothing beyond libc and libm where it runs.
find_library(JTOK_ZSTD libzstd.a REQUIRED)
find_library(JTOK_Z libz.a REQUIRED)
find_library(JTOK_CRYPTO libcrypto.a REQUIRED)
find_library(JTOK_YAML libyaml.a REQUIRED)

function(jtok_flags target)
  target_compile_definitions(${target} PRIVATE _GNU_SOURCE JTOK_VERSION="${PROJECT_VERSION}")
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Werror -Wconversion -Wswitch-enum -Wshadow -Wvla -Wstrict-prototypes -Wmissing-prototypes -Wwrite-strings
    -Wformat=2 $<$<C_COMPILER_ID:GNU>:-Wno-format-truncation> -Wundef -Wpointer-arith -fno-common -fno-strict-aliasing -fstack-protector-strong)
  if(JTOK_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${JTOK_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    target_link_options(${target} PRIVATE -fsanitize=${JTOK_SANITIZE})
  endif()
  if(JTOK_FUZZ)
    # Comparisons are not traced: the targets' dictionaries name what they would teach, and it takes half the time.
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link -fno-sanitize-coverage=trace-cmp)
  endif()
endfunction()

# jtok_library(name folders...): the static library of src/name. It sees the headers of its own folder and of `folders`,
# through a directory that holds one link each: what src/layers does not allow does not compile.
function(jtok_library name)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.c)
  set(seen ${CMAKE_BINARY_DIR}/layers/${name})
  file(MAKE_DIRECTORY ${seen})
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/src/${name} ${seen}/${name} SYMBOLIC)
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} PUBLIC ${seen})
  target_link_libraries(${name} PUBLIC ${ARGN})
  jtok_flags(${name})
endfunction()
