# SPDX-License-Identifier: BSL-1.0
# Installs the library into an empty prefix, then configures, builds and runs project/ against it alone.
# Given by the test: build (our build folder), work (a folder to write in), compiler, version.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "status ${status} from: ${command}\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE "${work}/prefix" "${work}/project")
run(${CMAKE_COMMAND} --install "${build}" --prefix "${work}/prefix" --component library)
run(${CMAKE_COMMAND} -S "${CMAKE_CURRENT_LIST_DIR}/project" -B "${work}/project" -G Ninja
  -D "CMAKE_PREFIX_PATH=${work}/prefix" -D "CMAKE_CXX_COMPILER=${compiler}" -D "wanted_version=${version}")
run(${CMAKE_COMMAND} --build "${work}/project")
run("${work}/project/consumer")
