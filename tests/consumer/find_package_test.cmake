# SPDX-License-Identifier: BSL-1.0
# Installs the library into an empty prefix, then configures, builds and runs project/ against it alone: in each mode, by
# a mode that does not exist, in C++17, and as a subdirectory.
# Given by the test: build (our build folder), work (a folder to write in), compiler, version.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "status ${status} from: ${command}\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE "${work}/prefix" "${work}/project" "${work}/inside" "${work}/typo")
run(${CMAKE_COMMAND} --install "${build}" --prefix "${work}/prefix" --component library)
set(common -G Ninja -D "CMAKE_CXX_COMPILER=${compiler}" -D "wanted_version=${version}")
set(configure ${CMAKE_COMMAND} -S "${CMAKE_CURRENT_LIST_DIR}/project" ${common} -D "CMAKE_PREFIX_PATH=${work}/prefix")

run(${configure} -B "${work}/project")
foreach(mode release checked hardened)
  run(${configure} -B "${work}/project" -D "MILLPOND_MODE=${mode}")
  run(${CMAKE_COMMAND} --build "${work}/project")
  run("${work}/project/consumer" ${mode})
endforeach()

run(${CMAKE_COMMAND} -S "${CMAKE_CURRENT_LIST_DIR}/project" ${common} -B "${work}/inside"
  -D "millpond_source=${CMAKE_CURRENT_LIST_DIR}/../.." -D "MILLPOND_MODE=checked")
run(${CMAKE_COMMAND} --build "${work}/inside")
run("${work}/inside/consumer" checked)

# Runs a command that must fail with a message, and without another one.
function(fail_with message other)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(status EQUAL 0 OR NOT output MATCHES "${message}" OR output MATCHES "${other}")
    message(FATAL_ERROR "status ${status}, not \"${message}\" alone:\n${output}")
  endif()
endfunction()

fail_with("MILLPOND_MODE is \"cheked\"; it must be release, checked or hardened" "no other"
  ${configure} -B "${work}/typo" -D "MILLPOND_MODE=cheked")
fail_with("error: (#error )?\"?Millpond needs C[+][+]20" "is not a member|does not name a type|expected"
  ${compiler} -std=c++17 -fsyntax-only -I "${work}/prefix/include" "${CMAKE_CURRENT_LIST_DIR}/project/consumer.cpp")
