"""Put the table of a run into docs/evidence/performance.md and its Korean twin.

python -m tests.benchmarks --size full --json FILE
python -m tests.benchmarks.page FILE
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from .__main__ import shown_time

DOCS = Path(__file__).parents[2] / "docs" / "evidence"
BEGIN, END = "<!-- the last run begins -->\n", "<!-- the last run ends -->\n"

HEADER = {
    "en": ("Work", "kragx", "Against", "Its time", "Ratio", "Bar", "Reached"),
    "ko": ("작업", "kragx", "비교 대상", "비교 대상의 시간", "비율", "기준", "도달"),
}
VERDICT = {"en": {True: "yes", False: "**no**"}, "ko": {True: "예", False: "**아니요**"}}
MACHINE = {
    "en": "Measured by `{command}` on {cpu}, {cores} cores, with {versions}.",
    "ko": "`{command}` 명령으로 {cpu}, 코어 {cores}개에서 측정했습니다. 버전: {versions}.",
}

KOREAN = {
    "ROUGE-1 and 2 in one pass": "ROUGE-1과 2를 한 번에",
    "ROUGE-L of the same": "같은 텍스트의 ROUGE-L",
    "coverage at 5 cut-offs": "coverage, k 5개",
    "the same, gaps of two words bridged": "같은 것, 두 단어까지의 틈을 이어서",
    "coverage, density and iou of the same": "같은 텍스트의 coverage, density, iou",
    "the matcher `span` on the same": "같은 텍스트의 매처 `span`",
    "the rouge2 match of the same texts": "같은 텍스트의 rouge2 매칭",
    "7 metrics at 5 cut-offs from a match table": "매치 테이블에서 지표 7개, k 5개",
    "the same from dicts of ids": "같은 것을 id 딕셔너리에서",
    "the same from arrays": "같은 것을 배열에서",
    "the same, in seconds": "같은 것, 초 단위",
    "the same, time per query": "같은 것, 질의당 시간",
    "K-RAG's evaluation, 7 metrics at 10": "K-RAG식 평가, 지표 7개, k=10",
    "match table": "매치 테이블",
    "every pair scored": "모든 쌍에 점수",
    "the table itself": "테이블 자체",
    "at most while it is built": "만드는 동안의 최대",
    "at most while metrics are computed": "지표 계산 중의 최대",
    "tried: tokenising here": "시도: 이 프로세스에서 토큰화",
    "tried: every LCS of ROUGE-L": "시도: ROUGE-L의 모든 LCS",
    "in as many processes as cores": "코어 수만큼의 프로세스에서",
    "the bounds that could save them": "그것을 줄여 줄 상한의 계산",
    "tokenising each text once by a regular expression": "정규식으로 각 텍스트를 한 번 토큰화",
    "tokenising each text once": "각 텍스트를 한 번 토큰화",
    "ranx, its Qrels and Run ready": "Qrels와 Run이 준비된 ranx",
    "1,000 judgements, 32 at once, server with 50 ms": "판정 1,000건, 동시에 32건, 50 ms 서버",
    "a bare loop over the same client": "같은 클라이언트의 단순 반복",
    "the same, all stored": "같은 것, 모두 저장된 경우",
    "30 bootstrap intervals": "부트스트랩 구간 30개",
    "2,000 resamples": "재표본 2,000개",
    "30 paired randomisation tests of the same": "같은 것의 대응 무작위화 검정 30개",
    "5 retrievers x 30 metrics compared": "검색기 5개 x 지표 30개 비교",
    "10,000 resamples": "재표본 10,000개",
    "bare numpy": "numpy 연산만",
    "reading each number once": "모든 수를 한 번 읽기",
    "splitting, and stemming each word once": "나누고 각 단어의 어간을 한 번 추출",
    "splitting each text once": "각 텍스트를 한 번 나누기",
    "Kiwi on each text once": "각 텍스트에 Kiwi를 한 번",
    "json.loads of each line": "각 줄의 json.loads",
    "bare Python": "빈 Python",
    "of 20,000 chunks": "(청크 2만 개에서)",
    "LangChain documents of 850": "LangChain 문서(850개 중)",
    "the same by ROUGE-L": "같은 것을 ROUGE-L로",
    "rouge-score of every pair": "모든 쌍의 rouge-score",
    "all distinct": "(모두 다름)",
    "ten queries": "질의 10개",
    "profile": "프로파일",
    "English": "영어",
    "Korean": "한국어",
    "queries": "질의",
    "documents": "문서",
    "words": "단어",
    "gold": "정답",
    "peak": "최대 메모리",
}
"""The words of the rows, longer ones before their parts."""


def cells(row: dict[str, Any], language: str) -> list[str]:
    """A row's cells in one language."""
    words = [row["work"], row["against"]]
    if language == "ko":
        for english, korean in KOREAN.items():
            words = [each.replace(english, korean) for each in words]
    verdict = VERDICT[language].get(row["reached"], "")
    times = [shown_time(row[name]) for name in ("seconds", "seconds_against")]
    return [words[0], times[0], words[1], times[1], row["shown"], row["bar_shown"], verdict]


def page(report: dict[str, Any], language: str) -> str:
    """The table of the rows that have a bar, and what it was measured with."""
    lines = [HEADER[language], ("---", "---:", "---", "---:", "---:", "---:", "---")]
    lines += [tuple(cells(row, language)) for row in report["rows"] if row["bar_shown"]]
    versions = ", ".join(f"{name} {value}" for name, value in report["versions"].items())
    measured = MACHINE[language].format(
        command=report["command"], versions=versions, **report["machine"]
    )
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{measured}\n\n{table}\n"


def main(path: str) -> None:
    """Replace what stands between the two marks in both documents."""
    report = json.loads(Path(path).read_text(encoding="utf-8"))
    for name, language in (("performance.md", "en"), ("performance.ko.md", "ko")):
        document = DOCS / name
        text = document.read_text(encoding="utf-8")
        before, begin, rest = text.partition(BEGIN)
        _, end, after = rest.partition(END)
        assert begin, f"{name} lacks the first mark"
        assert end, f"{name} lacks the last mark"
        new = f"{before}{BEGIN}\n{page(report, language)}\n{END}{after}"
        document.write_text(new, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(sys.argv[1])
