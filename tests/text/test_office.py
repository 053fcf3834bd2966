"""Office files become Markdown with a heading for each slide and sheet."""

from __future__ import annotations

import zipfile
from pathlib import Path

import openpyxl
import pypandoc
import pytest
from tables import table

from memgraph_rag.errors import DocumentError
from memgraph_rag.text import office
from memgraph_rag.text.files import read
from memgraph_rag.text.folders import Folder

PAGE = "# The kayak\n\nThe kayak is *red*.\n\n| Part | Price |\n|---|---|\n| Paddle | 40 |\n\n## Care\n\nRinse it.\n"


def written(folder: Path, form: str, text: str = PAGE) -> Path:
    """A file of this format, as pandoc writes it."""
    path = folder / f"kayak.{form}"
    pypandoc.convert_text(text, form, "markdown", outputfile=str(path), extra_args=["--standalone"])
    return path


@table("form", ["docx", "odt", "rtf", "epub"])
def test_document_keeps_headings_and_tables(form: str, tmp_path: Path) -> None:
    text, title = read(written(tmp_path, form))
    assert title == "The kayak"
    assert "# The kayak\n" in text
    assert "## Care\n" in text
    assert "*red*" in text
    assert "| Paddle | 40" in text


def test_title_and_author_of_a_word_file_are_kept(tmp_path: Path) -> None:
    text, title = read(written(tmp_path, "docx", "---\ntitle: Boats\nauthor: [Ann, Bo]\n---\n\n# Kayaks\n\nRed.\n"))
    assert title == "Boats"
    assert text == "# Boats\n\nAnn\n\nBo\n\n## Kayaks\n\nRed.\n"


def test_merged_cells_and_lists_in_cells_are_kept(tmp_path: Path) -> None:
    html = (
        "<table><tr><th>Part</th><th>Use</th></tr><tr><td colspan=2>both</td></tr>"
        "<tr><td><p>oar</p><p>long</p></td><td><ul><li>row</li><li>steer<br>left</li></ul></td></tr></table>"
    )
    path = tmp_path / "kayak.docx"
    pypandoc.convert_text(html, "docx", "html", outputfile=str(path))
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in read(path)[0].splitlines()]
    assert rows == [["Part", "Use"], ["-" * 10, "-" * 16], ["both", ""], ["oar long", "row steer left"]]


def test_slide_has_its_number_in_its_heading(tmp_path: Path) -> None:
    text, _ = read(written(tmp_path, "pptx", "# Boats\n\nThe kayak is red.\n\n# Costs\n\nA paddle costs 40.\n"))
    assert text == "## Slide 1: Boats\n\nThe kayak is red.\n\n## Slide 2: Costs\n\nA paddle costs 40.\n"


def test_sheet_is_a_table_under_its_name(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    first = book.worksheets[0]
    first.title = "Boats"
    for row in (["Name", "Seats"], ["Kayak | red", 2], [None, None], ["Sum", "=SUM(B2:B2)"]):
        first.append(row)
    book.create_sheet("Empty")
    book.save(tmp_path / "boats.xlsx")
    text, _ = read(tmp_path / "boats.xlsx")
    assert text == "## Sheet: Boats\n\n| Name | Seats |\n|---|---|\n| Kayak / red | 2 |\n| Sum |  |"


@table("form", ["docx", "xlsx", "pptx", "odt", "epub"])
def test_damaged_file_is_refused(form: str, tmp_path: Path) -> None:
    """The name of the part says what it is, and the part is no XML."""
    part = {**{kind: name for name, kind in office._PARTS.items()}}.get(form, "mimetype")
    kind = next((name for name, known in office._TYPES.items() if known == form), b"<not xml")
    path = tmp_path / f"bad.{form}"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(part, kind)
    with pytest.raises(DocumentError, match=r"^Expected .*, got .*bad"):
        read(path)


def test_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, "docx")
    monkeypatch.setattr(office, "is_installed", lambda: False)
    with pytest.raises(DocumentError, match=r"got a Word file: .*memgraph_rag\[office\]"):
        read(path)
    folder = Folder(tmp_path)
    assert list(folder) == []
    assert folder.left_out == {path: "needs the extra office"}


def test_folder_lists_office_files(tmp_path: Path) -> None:
    assert list(Folder(tmp_path)) == []
    path = written(tmp_path, "docx")
    assert list(Folder(tmp_path)) == [path]


def test_text_above_the_limit_ends_the_reading(tmp_path: Path) -> None:
    path = written(tmp_path, "docx", "word " * 20_000)
    with pytest.raises(DocumentError, match="at most 1,000 bytes"):
        office.read(path.read_bytes(), path, "docx", most_bytes=1_000)
