"""Test how the language of a text is told."""

from __future__ import annotations

import subprocess
import sys

from tables import table

from memgraph_rag.lexical.language import detect


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
def test_language_is_told_or_unknown(text: str, language: str) -> None:
    assert detect(text) == language


def test_english_text_loads_no_model() -> None:
    code = (
        "import sys; from memgraph_rag.lexical.language import detect; "
        "assert detect('The storm broke the windows of the house, and the keeper was not able to light it.') == 'en'; "
        "assert 'py3langid' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
