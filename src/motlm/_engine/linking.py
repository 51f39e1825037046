"""Functions of the engine are optimized once: inside the entries that call them.

By itself Numba makes optimized machine code of each compiled function, and optimizes a copy of it
once more in each function that calls it, and in each that calls that one: most of the time that a
compilation takes. Nothing but an entry is ever called from Python, so the others need no machine
code of their own. `Part` leaves them as they are, and `Whole` makes the copies inside an entry its
own before they are optimized, so that no other copy can be called in their place and code that is
kept is the code that ran.

The compilers are Numba's own with one more pass, which brings the library that a function is put
into (`pipeline_class`, as Numba's documentation has it for custom compilers). The methods of
libraries that are replaced are not documented: with versions of Numba that this was not tried with,
`PART` and `WHOLE` are None, and functions are compiled in Numba's own way, which takes longer.
"""

from __future__ import annotations

from typing import Any

import numba

__all__ = ["PART", "WHOLE", "compilers"]

_TRIED = (0, 62), (0, 68)  # versions of Numba, the first and the last
_LEVEL = 1  # of optimization: 2 and 3 take longer and make no faster code of these functions


def compilers() -> tuple[Any, Any]:
    """Of functions that others call, and of entries; None each where Numba is to compile in its own
    way.
    """
    if not _TRIED[0] <= numba.version_info.short <= _TRIED[1]:
        return None, None
    from llvmlite.binding import parse_assembly
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import CompilerBase, DefaultPassBuilder
    from numba.core.compiler_machinery import FunctionPass, register_pass
    from numba.core.typed_passes import NopythonTypeInference

    class Part(JITCodeLibrary):  # type: ignore[misc]
        """What others link."""

        def _optimize_final_module(self) -> None:
            pass

        def _finalize_final_module(self) -> None:
            """No machine code but for the place where Numba notes a function's constants."""
            self._finalize_dynamic_globals()
            empty = str(self._codegen._create_empty_module(self.name))
            places = [str(one) for one in self._final_module.global_variables]
            noted = [one for one in places if one.startswith(("@_ZN08NumbaEnv", '@"_ZN08NumbaEnv'))]
            self._noted = parse_assembly("\n".join([empty, *noted]))
            self._codegen._add_module(self._noted)
            self._finalized = True

    class Whole(JITCodeLibrary):  # type: ignore[misc]
        """An entry with all that it calls."""

        def _optimize_final_module(self) -> None:
            for function in self._final_module.functions:
                if not function.is_declaration and function.linkage.name == "linkonce_odr":
                    function.linkage = "internal"
            manager, builder = self._codegen._module_pass_manager(opt=_LEVEL)
            manager.run(self._final_module, builder)

    def into(kind: Any) -> Any:
        @register_pass(mutates_CFG=False, analysis_only=False)
        class Bring(FunctionPass):  # type: ignore[misc]
            _name = f"motlm_{kind.__name__.lower()}"

            def __init__(self) -> None:
                super().__init__()

            def run_pass(self, state: Any) -> bool:
                if state.library is None:
                    codegen = state.targetctx.codegen()
                    state.library = kind(codegen, state.func_id.func_qualname)
                    state.library.enable_object_caching()
                return False

        class Compiler(CompilerBase):  # type: ignore[misc]
            def define_pipelines(self) -> list[Any]:
                passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
                place = [step[0] for step in passes.passes].index(NopythonTypeInference)
                passes.passes.insert(place, (Bring, "motlm: a library"))
                passes.finalize()
                return [passes]

        return Compiler

    return into(Part), into(Whole)


PART, WHOLE = compilers()
