"""Test how the language and the kind of a text are told."""

from __future__ import annotations

import subprocess
import sys

from tables import table

from memgraph_rag.lexical.language import detect_language, guess_language, kind_of_pair, kind_of_text


@table(
    ("text", "language"),
    [
        ("The storm broke the windows of the house, and the keeper was not able to light the lamp again.", "en"),
        ("Der Sturm zerbrach die Fenster, und der Wärter konnte die Lampe nicht mehr anzünden.", "de"),
        ("La tormenta rompió las ventanas y el farero ya no pudo encender la lámpara.", "es"),
        ("La tempête a brisé les fenêtres et le gardien n'a pas pu rallumer la lampe.", "fr"),
        ("Буря разбила окна, и смотритель уже не смог зажечь лампу.", "ru"),
        ("तूफ़ान ने खिड़कियाँ तोड़ दीं और चौकीदार फिर दीपक नहीं जला सका।", "hi"),
        ("พายุพัดหน้าต่างแตก และคนเฝ้าประภาคารจุดตะเกียงไม่ได้อีก", "th"),
        ("暴风雨打破了窗户，守塔人再也点不亮那盏灯，只好在黑暗中等待天亮。", "zh"),
        ("嵐が窓を壊し、灯台守はもうランプに火をつけることができなかった。", "ja"),
        ("ok", ""),
        ("", ""),
        ("12345 67890 !!! 2026-11-27", ""),
    ],
)
def test_language_is_detected_or_unknown(text: str, language: str) -> None:
    assert detect_language(text) == language


def test_english_text_loads_no_model() -> None:
    code = (
        "import sys; from memgraph_rag.lexical.language import detect_language; "
        "assert detect_language('The storm broke the windows of the house, and he was not able to close it.') == 'en'; "
        "assert 'py3langid' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@table(
    ("text", "language"),
    [
        ("Who wrote the novel?", "en"),
        ("Zoë Kravitz", "en"),
        ("def run(self): return None", "en"),
        ("Los Muchachos de mi barrio is a 1970 film of the Argentine director.", "en"),
        ("Wer hat den Roman geschrieben?", "de"),
        ("Qui a écrit le roman dans les années vingt ?", "fr"),
        ("¿Quién escribió la novela?", "es"),
        ("Кто написал этот роман?", "ru"),
        ("谁写了这本小说？", "zh"),
        ("この小説を書いたのは誰ですか", "ja"),
        ("ใครเขียนนวนิยายเรื่องนี้", "th"),
        ("यह उपन्यास किसने लिखा?", "hi"),
        ("من كتب هذه الرواية؟", "ar"),
        ("", "en"),
    ],
)
def test_language_is_guessed(text: str, language: str) -> None:
    assert guess_language(text) == language


@table(
    ("text", "kind"),
    [
        ("The fox built a box.", "english"),
        ("Ann Lee lives in Warsaw", "english"),
        ("", "english"),
        ("Die Füchse bauten im Wald eine Kiste.", "latin"),
        ("Wo steht die Sternwarte?", "latin"),
        ("Der alte Fuchs baute damals im tiefen Wald", "latin"),
        ("谁建了箱子？", "cjk"),
        ("キツネ", "cjk"),
        ("Лиса построила ящик из BMW", "cyrillic"),
        ("सियार ने डिब्बा बनाया", "devanagari"),
        ("จิ้งจอกสร้างกล่อง", "other"),
    ],
)
def test_text_has_a_kind(text: str, kind: str) -> None:
    assert kind_of_text(text) == kind


def test_text_decides_about_questions_in_latin_letters() -> None:
    german = "Die Füchse bauten im Wald eine Kiste."
    assert kind_of_pair("Who built a box?", german) == "latin"
    assert kind_of_pair("谁建了箱子？", german) == "cjk"
    assert kind_of_pair("Wer war das?", "The fox built a box.") == "english"
