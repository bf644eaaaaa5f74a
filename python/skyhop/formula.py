"""Arithmetic that a study's files contain: numbers, names, + - * / ** and a few functions, and nothing else."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping

from skyhop.verdict import DefinitionError

_BINARY: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_FUNCTIONS: dict[str, Callable[..., float]] = {"min": min, "max": max, "abs": abs, "sqrt": math.sqrt}


def evaluate(text: str, names: Mapping[str, float]) -> float:
    """The value of the formula; raises DefinitionError for what is not one, or names what nobody has."""

    def value(node: ast.expr) -> float:
        match node:
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return float(number)
            case ast.Name(id=name) if name in names:
                return names[name]
            case ast.Name(id=name):
                raise DefinitionError(f"{text!r}: nothing is called {name!r}; known are {', '.join(names) or 'none'}")
            case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _BINARY:
                return float(_BINARY[type(sign)](value(left), value(right)))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -value(operand)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
                return float(_FUNCTIONS[name](*map(value, arguments)))
        raise DefinitionError(f"{text!r} is not a formula of numbers, names, + - * / ** and {', '.join(_FUNCTIONS)}")

    try:
        return value(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ArithmeticError, ValueError, TypeError, RecursionError) as error:
        if isinstance(error, DefinitionError):
            raise
        raise DefinitionError(f"{text!r} cannot be computed: {error}") from None
