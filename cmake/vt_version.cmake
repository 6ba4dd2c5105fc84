# vt_version(SOURCE): compiles SOURCE with VT_VERSION (the project's) and VT_COMMIT (the short commit of
# the checkout, "unknown" outside one). A new commit configures again, and recompiles that file alone.
function(vt_version source)
  set(commit "unknown")
  find_package(Git QUIET)
  if(GIT_FOUND)
    execute_process(COMMAND "${GIT_EXECUTABLE}" rev-parse --git-path logs/HEAD --short=12 HEAD
                    WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}"
                    OUTPUT_VARIABLE said OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
                    RESULT_VARIABLE status)
    if(status EQUAL 0)
      string(REPLACE "\n" ";" said "${said}")
      list(GET said 0 log)
      list(GET said 1 commit)
      get_filename_component(log "${log}" ABSOLUTE BASE_DIR "${CMAKE_SOURCE_DIR}")
      if(EXISTS "${log}")
        set_property(DIRECTORY "${CMAKE_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${log}")
      endif()
    endif()
  endif()
  set_property(SOURCE "${source}" APPEND PROPERTY COMPILE_DEFINITIONS
               "VT_VERSION=\"${PROJECT_VERSION}\"" "VT_COMMIT=\"${commit}\"")
endfunction()
