# manual.cmake - writes ${OUTPUT}, the manual page tirc(1): the options as `${TIRC} --help` prints
# them, then ${PAGE} (docs/cli.md), in the format of man(1) by ${LOWDOWN}.
execute_process(COMMAND ${TIRC} --help OUTPUT_VARIABLE help COMMAND_ERROR_IS_FATAL ANY)
file(READ ${PAGE} page)
file(WRITE ${OUTPUT}.md "# NAME

tirc - compiles loop nests to CUDA C by schedules; runs, verifies and times them

# OPTIONS

```text
${help}```

${page}")
execute_process(COMMAND ${LOWDOWN} -s -t man --nroff-nolinks -m title=TIRC -m section=1
                        -m source=tirc\ ${VERSION} -o ${OUTPUT} ${OUTPUT}.md
                COMMAND_ERROR_IS_FATAL ANY)
