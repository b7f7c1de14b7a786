"""A Pygments lexer for programs (.tir) and schedules (.sched), which share one grammar."""

from pygments.lexer import RegexLexer, bygroups, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Whitespace

STATEMENTS = (
    "kernel fn reducer instruction cuda schedule proc include for while break if else let "
    "assert tune try return where in is step temp init combine block reduce inout launch "
    "grid barrier commit wait atomic async parallel vectorize unroll bind"
)
SCOPES = "global shared local constant"
TYPES = "f64 f32 f16 bf16 f8e4m3 f8e5m2 i64 i32 i16 i8 u64 u32 u16 u8 bool type index"


class TirLexer(RegexLexer):
    name = "tir"
    aliases = ["tir", "sched"]
    filenames = ["*.tir", "*.sched"]

    tokens = {
        "root": [
            (r"\s+", Whitespace),
            (r"//[^\n]*", Comment.Single),
            (r"/\*(.|\n)*?\*/", Comment.Multiline),
            (r'"(\\.|[^"\\\n])*"', String),
            (r"@\w+", Name.Decorator),
            (
                r"\b(blockIdx|threadIdx|cluster)(\.)([xyz]|rank)\b",
                bygroups(Name.Builtin, Punctuation, Name.Builtin),
            ),
            (r"0x[0-9a-fA-F]+", Number.Hex),
            (r"\d+\.(?!\.)\d*([eE][-+]?\d+)?|\.\d+([eE][-+]?\d+)?|\d+[eE][-+]?\d+", Number.Float),
            (r"\d+", Number.Integer),
            (words(("true", "false", "inf", "nan"), r"\b", r"\b"), Keyword.Constant),
            (words(TYPES.split(), r"\b", r"\b"), Keyword.Type),
            (
                r"\b(kernel|fn|reducer|instruction|schedule|proc|block|launch)(\s+)(\w+)",
                bygroups(Keyword, Whitespace, Name.Function),
            ),
            # `bind` is a word of programs and a primitive of schedules; so are others.
            (r"(?!(?:if|for|while|return|in|where)\b)[A-Za-z_]\w*(?=\()", Name.Function),
            (words(STATEMENTS.split(), r"\b", r"\b"), Keyword),
            (words(SCOPES.split(), r"\b", r"\b"), Keyword.Pseudo),
            (r"[A-Za-z_]\w*", Name),
            (r"[-+*/%&|^=<>!~?:.]+", Operator),
            (r"[][(){},;]", Punctuation),
        ]
    }
