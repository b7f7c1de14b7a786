// grammar.js - Defines the syntax of .tir and .sched files for tree-sitter; docs/language.md
// explains it. Words such as `in` and `step` are names where no keyword can stand.

const PREC = {
  select: 1,
  or: 2,
  and: 3,
  bitor: 4,
  bitxor: 5,
  bitand: 6,
  equal: 7,
  compare: 8,
  shift: 9,
  add: 10,
  multiply: 11,
  unary: 12,
  postfix: 13,
};

const OPERATORS = [
  ["||", PREC.or],
  ["&&", PREC.and],
  ["|", PREC.bitor],
  ["^", PREC.bitxor],
  ["&", PREC.bitand],
  [choice("==", "!="), PREC.equal],
  [choice("<", "<=", ">", ">="), PREC.compare],
  [choice("<<", ">>"), PREC.shift],
  [choice("+", "-"), PREC.add],
  [choice("*", "/", "%"), PREC.multiply],
];

const list1 = (rule) => seq(rule, repeat(seq(",", rule)));
const list = (rule) => optional(list1(rule));

module.exports = grammar({
  name: "tir",
  extras: ($) => [/\s/, $.comment],
  word: ($) => $.name,

  rules: {
    file: ($) =>
      repeat(choice($.kernel, $.function, $.reducer, $.instruction, $.schedule, $.proc, $.include)),

    comment: () =>
      token(choice(seq("//", /[^\n]*/), seq("/*", /[^*]*\*+([^/*][^*]*\*+)*/, "/"))),
    name: () => /[A-Za-z_][A-Za-z0-9_]*/,
    integer: () => token(choice(/[0-9]+/, /0[xX][0-9a-fA-F]+/)),
    float: () =>
      token(choice(/[0-9]+\.[0-9]+([eE][+-]?[0-9]+)?/, /\.[0-9]+([eE][+-]?[0-9]+)?/, /[0-9]+[eE][+-]?[0-9]+/, "inf", "nan")),
    boolean: () => choice("true", "false"),
    string: () => /"([^"\\\n]|\\.)*"/,
    fill: () => "_",

    // ---- items
    kernel: ($) =>
      seq("kernel", field("name", $.name), optional($.sizes), $.parameters,
          optional(seq("->", list1($.parameter))), optional($.facts), $.block),
    function: ($) =>
      seq("fn", field("name", $.name), optional($.sizes), $.parameters, "->", field("result", $.name),
          "{", repeat($.let), $.return, "}"),
    reducer: ($) =>
      seq("reducer", field("name", $.name), $.parameters, optional("ordered"), optional($.facts),
          "{", "init", $._expression, ";", $.combine, "}"),
    instruction: ($) =>
      seq("instruction", field("name", $.name), "(", list($.operand), ")",
          optional(seq("->", list1($.operand))), optional(seq("lanes", $.integer)),
          optional(seq("tensor", "(", $.name, optional(seq(",", $.integer)), ")")),
          "cuda", repeat1($.string), $.block),
    operand: ($) => seq($.parameter, optional(seq("in", $.name)), repeat($.layout)),
    combine: ($) =>
      seq("combine", "(", $.name, ",", $.name, ")",
          choice(seq(":", $._expression, ";"), seq("{", repeat($.let), $.return, "}"))),
    sizes: ($) => seq("<", list1($.size), ">"),
    size: ($) =>
      seq(field("name", $.name),
          optional(choice(seq("=", prec(PREC.compare + 1, $._expression)),
                          seq(":", "type", optional(seq("=", $.name)))))),
    parameters: ($) => seq("(", list($.parameter), ")"),
    parameter: ($) => seq(optional("inout"), field("name", $.name), ":", field("type", $.type)),
    type: ($) => prec.right(seq($.name, optional(seq("[", list($._expression), "]")))),
    facts: ($) => seq("where", list1($.fact)),
    fact: ($) =>
      seq($._expression, optional(choice(seq("in", $._expression, "..", $._expression), seq("is", $.name)))),
    schedule: ($) =>
      seq("schedule", field("name", $.name), "for", list1($.name),
          optional(seq("(", list($.default), ")")), $.script),
    proc: ($) => seq("proc", field("name", $.name), "(", list(choice($.default, $._pattern)), ")", $.script),
    default: ($) => seq($._pattern, "=", $._value),
    include: ($) => seq("include", $.string, ";"),

    // ---- statements of programs
    block: ($) => seq("{", repeat($._statement), "}"),
    _statement: ($) =>
      choice($.block, $.if, $.for, $.while, $.break, $.let, $.store, $.update, $.temp, $.view, $.label,
             $.call_statement, $.block_statement, $.init, $.barrier, $.launch, $.roles,
             $.instruction_statement),
    if: ($) => prec.right(seq("if", $._expression, $._statement, optional(seq("else", $._statement)))),
    for: ($) => seq("for", list1($.loop), $._statement),
    while: ($) => seq("while", $._expression, $._statement),
    break: () => seq("break", ";"),
    loop: ($) =>
      seq(field("name", $.name), "in", $._range, optional(seq("step", $._expression)),
          optional(choice("parallel", "vectorize", "unroll", seq("bind", $.coordinate))),
          repeat($.annotation)),
    coordinate: ($) => seq($.name, ".", $.name),
    _range: ($) => seq($._expression, optional(seq("..", $._expression))),
    annotation: ($) => prec.right(seq("@", $.name, optional(seq("(", $._expression, ")")))),
    let: ($) => seq("let", $._pattern, optional(seq(":", $.name)), "=", $._value, ";"),
    place: ($) => seq($.name, optional(seq("[", list($._expression), "]"))),
    store: ($) =>
      seq($.place, optional(seq(".", $.name, "[", list($._expression), "]")), optional("atomic"),
          choice("=", "+=", "-=", "*=", "/=", "&=", "|=", "^=", "&&=", "||=", "min=", "max=", "async="),
          $._expression, ";"),
    update: ($) => seq(list1($.place), field("reducer", $.name), token.immediate("="), $._expression, ";"),
    view: ($) =>
      seq("view", field("name", $.name), "[", list1($.name), "]", "=", $.place, ";"),
    call_statement: ($) =>
      seq("call", field("instruction", $.name), optional(seq("<", list1($._primary), ">")),
          "(", list($.argument), ")", ";"),
    temp: ($) =>
      seq("temp", field("name", $.name), ":", $.type, optional(seq("in", $.name)), repeat($.layout), ";"),
    layout: ($) => seq($.name, "(", list($._expression), ")"),
    label: ($) => seq(field("name", $.name), ":", $._statement),
    block_statement: ($) =>
      seq("block", field("name", $.name), "(", list($.iterator), ")", optional(seq("where", $._expression)),
          optional("atomic"), optional(seq("instruction", field("instruction", $.name))),
          repeat($.annotation), $.block),
    instruction_statement: ($) =>
      seq("instruction", field("name", $.name), "(", list($._expression), ")", $.block),
    iterator: ($) => seq(optional("reduce"), field("name", $.name), "in", $._range, "=", $._expression),
    init: ($) => seq("init", $._statement),
    barrier: ($) =>
      seq(choice("barrier", "commit", "receive", seq(choice("wait", "acquire", "release"), $.integer)),
          $.string, ";"),
    roles: ($) => seq("producer", $.block, "consumers", $.block),
    launch: ($) =>
      seq("launch", field("name", $.name), "grid", "(", list($._expression), ")", "block", "(",
          list($._expression), ")", repeat($.annotation), $.block),

    // ---- statements of scripts
    script: ($) => seq("{", repeat($._step), "}"),
    _step: ($) => choice($.script, $.script_if, $.each, $.try, $.let, $.assert, $.tune, $.return, $.call_step),
    script_if: ($) => seq("if", $._value, $.script, optional(seq("else", choice($.script, $.script_if)))),
    each: ($) => seq("for", $._pattern, "in", $._value, $.script),
    try: ($) => seq("try", $.script, optional(seq("else", $.script))),
    assert: ($) => seq("assert", $._value, optional(seq(",", $._value)), ";"),
    tune: ($) => seq("tune", $.name, "in", $._value, ";"),
    return: ($) => seq("return", optional($._value), ";"),
    call_step: ($) => seq($._value, ";"),
    _pattern: ($) => choice($.name, $.fill, $.pattern_list),
    pattern_list: ($) => seq("[", list($._pattern), "]"),

    // ---- expressions
    _value: ($) => choice($._expression, $.range, $.map),
    range: ($) => seq($._expression, "..", $._expression),
    map: ($) => seq($._expression, "->", $._expression),
    _expression: ($) => choice($._primary, $.unary, $.binary, $.select),
    unary: ($) => prec(PREC.unary, seq(choice("-", "!", "~"), $._expression)),
    binary: ($) =>
      choice(...OPERATORS.map(([operator, level]) =>
        prec.left(level, seq($._expression, operator, $._expression)))),
    select: ($) => prec.right(PREC.select, seq($._expression, "?", $._expression, ":", $._expression)),
    _primary: ($) =>
      choice($.integer, $.float, $.boolean, $.string, $.name, $.fill, $.parenthesized, $.list, $.call,
             $.index, $.field),
    parenthesized: ($) => seq("(", list1($._expression), ")"),
    list: ($) => seq("[", list($._value), "]"),
    call: ($) => prec(PREC.postfix, seq(field("function", $.name), "(", list($.argument), ")")),
    argument: ($) => choice($._value, seq(field("name", $.name), "=", $._value)),
    index: ($) => prec(PREC.postfix, seq($._primary, "[", list1(choice($._expression, $.slice)), "]")),
    slice: ($) => seq(optional($._expression), ":", optional($._expression)),
    field: ($) => prec(PREC.postfix, seq($._primary, ".", $.name)),
  },
});
