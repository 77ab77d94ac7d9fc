"""The files of the Korean science QA competition.

A submission is JSON Lines, whatever its ending, with ``eval_id`` and ``topk`` (ids) a line; the
gold is JSON Lines of ``{"eval_id", "refs": [ids]}``, or one JSON object ``{eval_id: [ids]}``. A
query without refs should be answered with an empty list, and is read as not answerable.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from kragx.data.documents import Doc, clean_id
from kragx.data.formats.jsonl import file_name, open_bytes, read_records, unique_keys
from kragx.data.gold import Gold, GoldDataset, Query, check_unique
from kragx.data.runs import Retrieved, Run
from kragx.data.text import Mender
from kragx.errors import DataError, shorten


def read_gold(path: str | Path) -> GoldDataset:
    """Read the gold ids of each eval_id, in either form.

    Raises:
        DataError: a broken line or value, an eval_id that stands twice, or an empty file.
    """
    mender = Mender()
    refs: list[tuple[str, tuple[Gold, ...]]] = []
    whole = _mapping(path)
    if whole is not None:
        for key, ids in whole.items():
            refs.append((key, _golds(ids, mender, f"{path}: {key}")))
    else:
        for number, record in read_records(path, mender):
            where = f"{path}:{number}"
            refs.append(
                (_eval_id(record, mender, where), _golds(record.get("refs"), mender, where))
            )
    check_unique((key for key, _ in refs), str(path))
    queries = tuple(
        Query(key, gold=golds, answerable=None if golds else False) for key, golds in refs
    )
    return GoldDataset(queries, name=file_name(path), n_replaced_surrogates=mender.surrogates)


def read_submission(path: str | Path, gold: GoldDataset) -> tuple[GoldDataset, Run, list[str]]:
    """Read a submission as the competition scores it: by its rows.

    Returns:
        A gold set with one query for each row (a second row of an eval_id gets the id
        ``<eval_id>#2``), what the rows retrieved, and the eval_ids of `gold` that have no row.

    Raises:
        DataError: a broken line or value, a row whose eval_id has no gold, or an empty file.
    """
    mender = Mender()
    seen: Counter[str] = Counter()
    queries: list[Query] = []
    results: dict[str, Retrieved] = {}
    for number, record in read_records(path, mender):
        where = f"{path}:{number}"
        eval_id = _eval_id(record, mender, where)
        if eval_id not in gold:
            raise DataError(f"{where}: eval_id {eval_id!r} is not in the gold set {gold.name!r}")
        seen[eval_id] += 1
        row_id, number_of_row = eval_id, 1
        while row_id in results:
            number_of_row += 1
            row_id = f"{eval_id}#{number_of_row}"
        queries.append(replace(gold[eval_id], id=row_id))
        ids = _ids(record.get("topk"), "topk", mender, where)
        results[row_id] = Retrieved(tuple(Doc(id=each) for each in ids))
    if not queries:
        raise DataError(f"{path}: the file holds no row; one JSON object a line is expected")
    left_out = [query.id for query in gold if query.id not in seen]
    return (
        GoldDataset(tuple(queries), name=gold.name, n_replaced_surrogates=mender.surrogates),
        Run(results, name=file_name(path)),
        left_out,
    )


def _mapping(path: str | Path) -> Mapping[str, Any] | None:
    """The file as one JSON object of lists; None if it is JSON Lines."""
    if str(path) == "-":
        return None
    with open_bytes(path) as file:
        try:
            whole = json.loads(file.read().decode("utf-8-sig"), object_pairs_hook=unique_keys)
        except DataError as error:
            raise DataError(f"{path}: {error}") from None
        except ValueError:
            return None  # several objects, or a mistake that reading line by line will name
    if isinstance(whole, dict) and "eval_id" not in whole:
        return whole
    return None


def _eval_id(record: Mapping[str, Any], mender: Mender, where: str) -> str:
    try:
        eval_id = clean_id(record.get("eval_id"), mender)
    except DataError as error:
        raise DataError(f"{where}: {error}") from None
    if eval_id is None:
        raise DataError(f"{where}: 'eval_id' is missing")
    return eval_id


def _golds(value: object, mender: Mender, where: str) -> tuple[Gold, ...]:
    return tuple(Gold(id=each) for each in dict.fromkeys(_ids(value, "refs", mender, where)))


def _ids(value: object, name: str, mender: Mender, where: str) -> list[str]:
    if not isinstance(value, list):
        raise DataError(f"{where}: {name!r} must be a list of ids, not {shorten(value)}")
    ids = []
    for each in value:
        try:
            found = clean_id(each, mender)
        except DataError as error:
            raise DataError(f"{where}: {name}: {error}") from None
        if found is None:
            raise DataError(f"{where}: {name}: an id is null")
        ids.append(found)
    return ids
