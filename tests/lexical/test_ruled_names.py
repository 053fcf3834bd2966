"""Test which names the rules of a language find."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tables import table

from memgraph_rag.lexical.names import find_names
from memgraph_rag.lexical.ruled_names import names_by_rules
from memgraph_rag.testing import FakeRecognizer


@table(
    ("text", "names"),
    [
        ("She met Ann Lee in Paris.", ["Ann Lee", "Paris"]),
        ("Die Änderung der Vorträge war in Berlin bei der NASA.", ["Berlin", "NASA"]),
        (
            "Der Roman „Effi Briest“ und das Haus von Theodor Fontane sind nicht weit.",
            ["Effi Briest", "Theodor Fontane"],
        ),
        ("В Москве он встретил Анну Каренину.", ["Москве", "Анну Каренину"]),
        ("他在《红楼梦》和 FastAPI 之间选择。", ["红楼梦", "FastAPI"]),
        ("卡罗来纳黑豹队赢了。黑豹队的教练说黑豹队很好。", ["黑豹队", "黑豹队", "黑豹队"]),
        ("ジョン・スミスは「東京物語」を見た。", ["ジョン・スミス", "東京物語"]),
        ("ทีมแพนเธอร์สชนะ และแพนเธอร์สดีใจ", ["แพนเธอร์ส", "แพนเธอร์ส"]),
        ("पैंथर्स ने जीता और पैंथर्स ने कहा", ["पैंथर्स", "पैंथर्स"]),
    ],
)
def test_names_follow_the_rules_of_the_language(text: str, names: list[str]) -> None:
    assert [text[start:end] for start, end in names_by_rules(text)] == names


@given(st.text(alphabet=st.sampled_from("Ab 的黑豹队がアーแพน์पै「」„“. \n"), max_size=80))
def test_names_do_not_overlap(text: str) -> None:
    last = 0
    for start, end in names_by_rules(text):
        assert last <= start < end <= len(text)
        last = end


def test_question_without_capitals_names_its_parts() -> None:
    assert "黑豹队" in find_names("谁是黑豹队的教练？", FakeRecognizer())
    assert "แพนเธอร์ส" in find_names("ใครเป็นโค้ชของแพนเธอร์ส", FakeRecognizer())
