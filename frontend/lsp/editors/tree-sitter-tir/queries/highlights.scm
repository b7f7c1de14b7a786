; highlights.scm - Colors of .tir and .sched files.
(comment) @comment
(string) @string
[(integer) (float)] @number
(boolean) @constant.builtin
(fill) @constant.builtin

["kernel" "fn" "reducer" "ordered" "instruction" "cuda" "lanes" "tensor" "schedule" "proc" "include" "let" "temp" "call" "block" "init" "launch" "grid"
 "barrier" "commit" "wait" "producer" "consumers" "acquire" "receive" "release" "combine" "where" "is" "inout" "atomic" "reduce" "type"] @keyword
["for" "while" "break" "in" "step" "parallel" "vectorize" "unroll" "bind"] @keyword.repeat
["if" "else" "try"] @keyword.conditional
["return" "assert" "tune"] @keyword.return

(kernel name: (name) @function)
(function name: (name) @function)
(schedule name: (name) @function)
(proc name: (name) @function)
(reducer name: (name) @type)
(instruction name: (name) @function)
(call_statement instruction: (name) @function)
(call function: (name) @function.call)
(type (name) @type)
(parameter name: (name) @variable.parameter)
(loop name: (name) @variable)
(label name: (name) @label)
(block_statement name: (name) @label)
(annotation "@" @attribute (name) @attribute)
["->" ".." "?" "=" "==" "!=" "<=" ">=" "<<" ">>" "+" "-" "*" "/" "%" "&" "&&" "|" "||" "^" "!" "~"
 "+=" "-=" "*=" "/=" "&=" "|=" "^=" "&&=" "||=" "min=" "max=" "async="] @operator
(binary ["<" ">"] @operator)
(update "=" @operator)
