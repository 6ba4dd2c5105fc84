# GPU kernels: the .cu files of libvt/src/gpu, compiled as plain C++ for the emulator in every build,
# and by the compiler of each kind of GPU that is configured. Those compilers are called with the
# flags below and hand back object files; CMake's own CUDA and HIP languages are not used, which in
# 3.25 know neither CUDA 13 nor Debian's HIP.

set(VT_GPU_HOST_FLAGS -Wall -Wextra -Wshadow -Werror -ffp-contract=off -fPIC)

# vt_gpu_emulated(TARGET): TARGET also compiles the kernels of its folder for the emulator.
function(vt_gpu_emulated target)
  file(GLOB kernels CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/src/gpu/*.cu")
  target_sources(${target} PRIVATE ${kernels})
  set_source_files_properties(${kernels} PROPERTIES LANGUAGE CXX)
endfunction()

# vt_gpu_objects(KIND COMPILER... FLAGS...): compiles each kernel by the command that follows KIND and
# sets vt_gpu_KIND_objects in the caller.
function(vt_gpu_objects kind)
  file(GLOB kernels CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/src/gpu/*.cu")
  string(TOUPPER ${kind} define)
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/gpu_${kind}")
  file(MAKE_DIRECTORY "${folder}")
  set(objects)
  foreach(kernel IN LISTS kernels)
    get_filename_component(name "${kernel}" NAME_WE)
    set(object "${folder}/${name}.o")
    add_custom_command(
      OUTPUT "${object}"
      COMMAND ${VT_CCACHE} ${ARGN} -DVT_GPU_${define} -std=c++20 -O3
              -I${CMAKE_SOURCE_DIR}/libvt/include -I${CMAKE_SOURCE_DIR}/libvt/src
              -MD -MF "${object}.d" -c "${kernel}" -o "${object}"
      DEPENDS "${kernel}"
      DEPFILE "${object}.d"
      COMMENT "Compiling ${name}.cu for ${kind}"
      VERBATIM)
    list(APPEND objects "${object}")
  endforeach()
  set(vt_gpu_${kind}_objects ${objects} PARENT_SCOPE)
endfunction()

# vt_gpu_kind(TARGET KIND ARCHS): TARGET gets the compiled kernels of KIND and the host code that
# drives it; ARCHS as BackendInfo lists them.
function(vt_gpu_kind target kind archs)
  string(TOUPPER ${kind} define)
  add_library(vt_gpu_${kind} OBJECT src/gpu/kernel_table.cpp src/gpu/runtime/rt_device.cpp ${ARGN})
  target_include_directories(vt_gpu_${kind} PRIVATE "${CMAKE_SOURCE_DIR}/libvt/include"
                                                    "${CMAKE_SOURCE_DIR}/libvt/src")
  list(JOIN archs "," archs)
  target_compile_definitions(vt_gpu_${kind} PRIVATE VT_GPU_${define} "VT_GPU_ARCHS=\"${archs}\"")
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:vt_gpu_${kind}> ${vt_gpu_${kind}_objects})
  target_compile_definitions(${target} PRIVATE VT_WITH_${define})
endfunction()

# vt_gpu_cuda(TARGET): by nvcc of CUDA Toolkit 13, its runtime linked statically.
function(vt_gpu_cuda target)
  find_package(CUDAToolkit 13 REQUIRED)
  set(archs)
  set(flags)
  foreach(arch IN LISTS VT_CUDA_ARCHS)
    list(APPEND archs sm_${arch})
    list(APPEND flags -gencode arch=compute_${arch},code=sm_${arch})
  endforeach()
  list(GET VT_CUDA_ARCHS -1 newest)
  list(APPEND archs compute_${newest})
  list(APPEND flags -gencode arch=compute_${newest},code=compute_${newest})
  list(JOIN VT_GPU_HOST_FLAGS "," host_flags)
  # Fusing is written out, divisions and roots are rounded correctly, as everywhere else.
  vt_gpu_objects(cuda "${CUDAToolkit_NVCC_EXECUTABLE}" -ccbin "${CMAKE_CXX_COMPILER}" ${flags}
                 -fmad=false -Werror all-warnings -Xcompiler=${host_flags})
  vt_gpu_kind(${target} cuda "${archs}")
  target_include_directories(vt_gpu_cuda SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_link_libraries(${target} PUBLIC CUDA::cudart_static)
endfunction()

# vt_gpu_hip(TARGET): by clang 15 or later, against the HIP runtime that HIP_VERSION_MAJOR names; that
# is loaded when first needed.
function(vt_gpu_hip target)
  find_program(VT_HIP_CLANG NAMES clang++ clang++-19 clang++-18 clang++-17 clang++-16 clang++-15
               HINTS /opt/rocm/llvm/bin NO_DEFAULT_PATH)
  find_program(VT_HIP_CLANG NAMES clang++-19 clang++-18 clang++-17 clang++-16 clang++-15)
  find_path(VT_HIP_INCLUDE hip/hip_runtime_api.h HINTS /opt/rocm/include)
  find_path(VT_HIP_DEVICE_LIBS ocml.bc
            HINTS /opt/rocm/amdgcn/bitcode /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/amdgcn/bitcode)
  if(NOT VT_HIP_CLANG OR NOT VT_HIP_INCLUDE OR NOT VT_HIP_DEVICE_LIBS)
    message(FATAL_ERROR "VT_HIP needs clang++ 15 or later (found: ${VT_HIP_CLANG}), "
                        "hip/hip_runtime_api.h (found in: ${VT_HIP_INCLUDE}) and ocml.bc (found in: "
                        "${VT_HIP_DEVICE_LIBS}): scripts/install-deps --hip, or set VT_HIP_CLANG, "
                        "VT_HIP_INCLUDE and VT_HIP_DEVICE_LIBS")
  endif()
  get_filename_component(rocm "${VT_HIP_INCLUDE}" DIRECTORY)
  set(flags)
  foreach(arch IN LISTS VT_HIP_ARCHS)
    list(APPEND flags --offload-arch=${arch})
  endforeach()
  vt_gpu_objects(hip "${VT_HIP_CLANG}" -x hip ${flags} --rocm-path=${rocm}
                 --rocm-device-lib-path=${VT_HIP_DEVICE_LIBS} ${VT_GPU_HOST_FLAGS})
  vt_gpu_kind(${target} hip "${VT_HIP_ARCHS}" src/gpu/runtime/rt_hip_loader.cpp)
  target_compile_definitions(vt_gpu_hip PRIVATE __HIP_PLATFORM_AMD__)
  target_include_directories(vt_gpu_hip SYSTEM PRIVATE "${VT_HIP_INCLUDE}")
  target_link_libraries(${target} PUBLIC ${CMAKE_DL_LIBS})
endfunction()
