"""The command `kragx`, killed before or after the nth call of a function of a store or provider.

python -m tests.judging.dying_batches "after AsyncBatches.create 1" judge submit kragx.yaml
"""

from __future__ import annotations

import functools
import inspect
import os
import signal
import sys

from openai.resources.batches import AsyncBatches
from openai.resources.files import AsyncFiles

from kragx.app.commands.main import main
from kragx.judging import Store
from kragx.judging.store.pending import Register

OWNERS = {owner.__name__: owner for owner in (AsyncBatches, AsyncFiles, Register, Store)}


def dying(when, owner, name, number):
    """Have the process killed there."""
    method, calls = getattr(OWNERS[owner], name), []

    def die():
        os.kill(os.getpid(), signal.SIGKILL)

    def is_last():
        calls.append(1)
        return len(calls) == number

    @functools.wraps(method)
    async def waited_for(*args, **options):
        last = is_last()
        if last and when == "before":
            die()
        result = await method(*args, **options)
        if last:
            die()
        return result

    @functools.wraps(method)
    def called(*args, **options):
        last = is_last()
        if last and when == "before":
            die()
        result = method(*args, **options)
        if last:
            die()
        return result

    setattr(OWNERS[owner], name, waited_for if inspect.iscoroutinefunction(method) else called)


if __name__ == "__main__":
    when, place, number = sys.argv[1].split()
    dying(when, *place.split("."), int(number))
    sys.argv = ["kragx", *sys.argv[2:]]
    main()
