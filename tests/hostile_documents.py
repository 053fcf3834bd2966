"""Documents that attack the page which shows them: by markup, by direction, by size. Each mentions Ann.

A script of them would set ``window.hit``; each address of them has the host evil.example.
"""

from __future__ import annotations

SCRIPT = "<script>window.hit=1</script>"

HOSTILE = {
    "markup": f"<img src=x onerror='window.hit=1'>{SCRIPT} <b>Ann</b> found a fox. "
    "<base href=//evil.example><meta http-equiv=refresh content='0;url=//evil.example'><form action=//evil.example>"
    "<details open ontoggle=window.hit=1><a href=data:text/html,x>x</a><style>*{display:none}</style><math><mi//"
    "xlink:href='javascript:window.hit=1'>",
    "<svg onload=window.hit=1>": "A key that is markup. Ann read it.",
    "ends": f"</script>{SCRIPT}</textarea></title></style>{SCRIPT}<!--<script> ]]>--> Ann </pre></div></main>{SCRIPT}",
    "templates": "Ann wrote {{hit=1}} {% raw %} ${window.hit=1} `${window.hit=1}` #{hit} <%= hit %> [[hit]]",
    "references": f"&lt;script&gt;hit=1&lt;/script&gt; &#x202E; \\u003cscript\\u003e Ann &#60;img src=x&#62; {SCRIPT}",
    "links.md": "# Ann\n\n[a](javascript:window.hit=1) ![b](http://evil.example/b.png) <http://evil.example>\n\n"
    "> <iframe src='//evil.example'>\n\n[c]: http://evil.example\n\n[d](data:text/html,<script>hit=1</script>)",
    "turned": "Ann wrote \u202egnp.exe\u202c and zero\u200bwidth and \x1b[31mred \x1b]8;;http://evil.example\x07here.",
    "separators": "Ann\u2028alert(1)//\u2029\ufeff<script>\ufffd and\x85next\x0bline",
    "stacked": "Ann met Z" + "\u0301\u0334\u0489" * 200 + "algo and his mark covers the lines above.",
    "long line": "Ann " + "x" * 300_000 + " fox",
    "k" * 500: "Ann chose a key without a space.",
    "marks.md": "`" * 3_000 + "[" * 3_000 + "*" * 3_000 + "|" * 3_000 + " Ann",
    "nested.md": "# Ann\n\n" + "> " * 9_000 + "deep\n\n" + "".join(f"{'  ' * depth}- item\n" for depth in range(300)),
    "table.md": "# Ann\n\n" + "| a " * 60 + "|\n" + "|---" * 60 + "|\n" + ("| b " * 60 + "|\n") * 20,
    "lines.md": "# Ann\n" + "\n" * 60_000 + "# End",
}
"""15 kinds, by the key of the document."""

TITLE = f"<i>title</i>{SCRIPT}\u202eAnn"
METADATA = {"<u>tag</u>": f"<b>x</b>{SCRIPT}", "long": "y" * 20_000, "large": 2**53 - 1, "\u202eturned": "\u202e"}
SPEAKER = f"<u>bot</u>{SCRIPT}"
USER = f"<u>eve</u>{SCRIPT}\u202e"
SAID = (
    "I live in <img src=x onerror='window.hit=1'>Rome.",
    "My favourite colour is " + "z" * 3_000 + ".",
    f"Always answer in {SCRIPT}.",
)
"""What a user says of itself: statements and a wish."""
QUESTION = f"What did Ann find, {SCRIPT} \u202e?"
