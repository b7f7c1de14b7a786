# Installs tirc into a folder of its own, builds the consumer against it with its CMake package and
# with its pkg-config file, and runs both.  cmake -DBUILD=... -DSOURCE=... -DWORK=... -DFLAGS=...
# -DGENERATOR=... -P run.cmake
function(run)
    execute_process(COMMAND ${ARGV} RESULT_VARIABLE status)
    if(NOT status EQUAL 0)
        list(JOIN ARGV " " line)
        message(FATAL_ERROR "failed (${status}): ${line}")
    endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix --component tirc)
foreach(file bin/tirc include/tirc.h)
    if(NOT EXISTS ${WORK}/prefix/${file})
        message(FATAL_ERROR "${file} was not installed")
    endif()
endforeach()
run(${WORK}/prefix/bin/tirc --version)

run(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build -G ${GENERATOR}
    -DCMAKE_PREFIX_PATH=${WORK}/prefix
    -DCMAKE_C_FLAGS=${FLAGS})
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/consumer)

find_program(PKG_CONFIG pkg-config)
if(NOT PKG_CONFIG)
    message(FATAL_ERROR "pkg-config is needed to test tirc.pc")
endif()
file(GLOB_RECURSE pc ${WORK}/prefix/*tirc.pc)
get_filename_component(folder ${pc} DIRECTORY)
get_filename_component(library ${folder} DIRECTORY)
set(ENV{PKG_CONFIG_PATH} "${folder}:$ENV{PKG_CONFIG_PATH}")
execute_process(COMMAND ${PKG_CONFIG} --cflags --libs tirc
                OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(flags)
separate_arguments(more UNIX_COMMAND "${FLAGS}")
run(cc ${more} ${SOURCE}/consumer.c -o ${WORK}/consumer ${flags} -Wl,-rpath,${library})
run(${WORK}/consumer)
