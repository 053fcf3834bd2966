"""Frames for home, work, car, partner and diet in clauses that do not name them: "Oslo is where I live".

The module knows one asserting clause without adverbs of time. English only. Invariant: the first frame with a value
counts.
"""

from __future__ import annotations

import re

from memgraph_rag.facts.grammar.values import is_name_like, is_value, until_end
from memgraph_rag.lexical.inflection import verb_pattern

__all__ = ["read_topic"]

_LIVE = verb_pattern(["live", "reside", "dwell", "base", "settle", "stay"])
_MOVE = verb_pattern(["move", "relocate", "settle", "emigrate", "transfer", "head"])
_WORK = verb_pattern(["work", "employ", "engage"])
_HIRE = verb_pattern(["hire", "employ", "recruit", "headhunt", "poach", "sign"])
_BECOME = verb_pattern(["become"])
_GAIN = verb_pattern("buy get lease own have pick rent order collect acquire purchase drive".split())  # noqa: SIM905
_CAP = r"(?-i:[A-Z0-9])"
_NAME = rf"(?:the )?{_CAP}[\w'’&.-]*(?: {_CAP}[\w'’&.-]*)*"
_ADVERB = r"(?:(?:just|also|mostly|happily|proudly|always|usually|full[- ]time|part[- ]time) )*"
_I = rf"\b(?:i|we)(?:['’]ve|['’]m|['’]re)? (?:(?:have|had|am|are|been|was|were|got) )*{_ADVERB}(?:(?:been|am|are) )?"
_I_ALONE = r"(?:i|we)(?:['’]m|['’]ve|['’]re)?(?: have| am| are)?"
_MINE = r"\b(?:i|i['’]m|i['’]ve|my|me|mine|we|we['’]re|we['’]ve|our|us|myself)\b"
_IS = r"(?:['’]s|(?: is| are| became| has become| becomes| remains| has been))"
_NO_SUBJECT = (
    "i we it that this there he she they you what which my our not in on at if when who one some his her their"
)
_FIRST = rf"(?:.*?, )?(?P<value>(?!(?:{'|'.join(_NO_SUBJECT.split())})\b)\S+(?: \S+){{0,3}}?)"
_DWELLING = (
    r"(?:flat|home|roots|apartment|house|place|room|condo|studio|loft|cottage|address|boxes|bags|lease|keys|rent|"
    r"townhouse)"
)
_AN = r"an? (?:\w+ )?"
_DIET = (
    r"(?:vegan|vegetarian|keto|paleo|pescatarian|flexitarian|halal|kosher|gluten[- ]free|dairy[- ]free|low[- ]?carb|"
    r"raw ?food|macrobiotic|carnivore|plant[- ]based)"
)
_CAR_WORD = r"\b(?:car|keys|garage|dealer(?:ship)?|driveway|drive|vehicle|wheels|parking spot)\b"

_FRAMES = tuple(
    (attribute, re.compile(pattern, re.IGNORECASE))
    for attribute, pattern in (
        ("home", rf"{_I}{_LIVE} (?:down |up |out |over )?(?:in|at|on) (?P<value>.+)"),
        ("home", rf"{_I}{_MOVE}(?: back| over| down| up| out| off| house| away| home| all the way)*"
                 r"(?: from [\w ]+?)? (?:to|in|into|for) (?P<value>.+)"),
        ("home", rf"{_I}(?:packed up|packed my (?:things|bags|boxes)|left (?:town|home|{_NAME}))(?: and \w+)* "
                 rf"(?:for|to) (?P<value>{_NAME})"),
        ("home", rf"^{_FIRST}{_IS} (?:where|the (?:city|town|place|village)(?: where| that| in which)?) {_I_ALONE} "
                 r"(?:live|living|reside|based|settled|moved|call home)\b"),
        ("home", rf"^{_FIRST}{_IS} (?:where (?:my|our) home is|(?:my |our )?home\b(?! (?:to|town|base|of|game|page|"
                 rf"run)))"),
        ("home", r"\b(?:i|we)(?:['’]ve)?(?: have)? (?:call|called|made|make) (?P<value>.+?) (?:my |our )?home\b"),
        ("home", rf"^(?:my |our )?home (?:for (?:me|us) )?(?:is|means) (?:in )?(?P<value>{_NAME})"),
        ("home", rf"^(?=.*{_MINE}|(?:just )?(?:got|signed|rented|bought|found|unpacked) ).*\b{_DWELLING}\b"
                 rf"(?! (?:of|for)).*?\bin (?P<value>{_NAME})"),
        ("home", rf"\b(?:to|and) (?:live|stay|settle) in (?P<value>{_NAME})"),
        ("home", rf"{_I}(?:a )?(?:resident|citizen|inhabitant) of (?P<value>{_NAME})"),
        ("employer", rf"{_I}(?:{_WORK} (?:over )?(?:at|for)|employed (?:with|by|at)) (?P<value>.+)"),
        ("employer", rf"{_I}(?:join|joined|joining) (?P<value>{_NAME})(?! (?:club|group|class|gym|team|course|"
                     rf"forum)\b)"),
        ("employer", rf"{_I}(?:started|begun|began|starting|signed|signed on)(?: working| work)?(?: over)? "
                     rf"(?:at|with|for) (?P<value>{_NAME})"),
        ("employer", rf"{_I}(?:start\w*|sign\w*|land\w*|got|getting|accept\w*|took|taken|found|have) (?:(?:a|my|an|"
                     rf"the|new|full-time|"
                     rf"good|great) )*(?:job|position|role|contract|offer)(?: over)? (?:at|with|for|from) "
                     rf"(?P<value>{_NAME})"),
        ("employer", rf"\b(?:got|been|was|were|am|getting) {_HIRE} (?:on )?(?:by|at) (?P<value>.+)"),
        ("employer", rf"^{_FIRST}(?: has| have| just)* (?:{_HIRE}|pays?) (?:me|us)\b(?! (?:to|for|out|that)\b)"),
        ("employer", rf"^{_FIRST}(?: has| have| just)* (?:took|taken|brought) (?:me|us) on(?: board)?\b(?! as)"),
        ("employer", rf"^{_FIRST} (?:(?:pays|covers) my (?:salary|wages|bills|rent)|employs (?:me|us))\b"),
        ("employer", rf"^{_FIRST}{_IS} (?:where|who|the (?:company|firm|place|employer)(?: that| where| which)?) "
                     rf"{_I_ALONE} "
                     r"(?:work|working|employed|earn)\b"),
        ("employer", r"\b(?:my|our) (?:work )?(?:badge|contract|pay ?che(?:ck|que)s?|salary|payslips?|pay ?stub|"
                     r"office|desk|business cards?|employee id|lanyard|wages?)\b (?:says?|reads?|comes? from|is from|"
                     r"is (?:with|at)|"
                     rf"bears|shows|has|have) (?:the name |the word |the logo of )?(?P<value>{_NAME})"),
        ("employer", rf"{_I}(?:switched|moved|changed)(?: over)? to (?P<value>{_NAME}) for work"),
        ("employer", rf"{_I}(?:with|at) (?P<value>{_NAME})(?: for work| as an? |$)"),
        ("employer", rf"{_I}(?:left|quit) (?:my|our) (?:company|firm|job|employer|old \w+) for (?P<value>{_NAME})"),
        ("employer", rf"\bmy (?:new )?(?:job|position|role|work) is (?:at|with) (?P<value>{_NAME})"),
        ("employer", rf"\bon the (?:payroll|staff|books) (?:of|at) (?P<value>{_NAME})"),
        ("employer", rf"{_I}(?:clock|clocking|badge|log|report) (?:in|for work) at (?P<value>{_NAME})"),
        ("employer", rf"{_I}(?:earn|earning|make|making) (?:my |our )?(?:salary|money|living|wages|bread) (?:at|"
                     rf"with) (?P<value>{_NAME})"),
        ("employer", rf"^{_FIRST} offered (?:me|us) .*(?=\band (?:i |we )?(?:said yes|accept|took|start))"),
        ("employer", rf"\bon (?P<value>{_NAME}?)['’]s payroll\b"),
        ("employer", rf"\bmy (?:nine to five|9 to 5|shifts?|working days?|career) (?:\w+ )?(?:at|with) "
                     rf"(?P<value>{_NAME})"),
        ("employer", rf"{_I}go(?:ing)? to (?:the office|work) at (?P<value>{_NAME})"),
        ("job", rf"(?:{_I}|\band )(?:now )?{_WORK} (?:(?:full|part)[- ]time )?as (?P<value>.+)"),
        ("job", rf"{_I}{_BECOME} (?P<value>an? .+)"),
        ("job", rf"{_I}(?:earn|earned|earning|make|making|made) (?:my|our|a|the|some) (?:living|money|bread|keep|"
                rf"income) "
                r"(?:as|by working as|working as) (?P<value>.+)"),
        ("job", rf"{_I}(?:retrained|retraining|qualified|requalified|trained|started|serving|serve|employed|hired|"
                rf"taken on|"
                r"took (?:a|up a) (?:new )?(?:job|position|role)|(?:got|have|landed|found) (?:a |"
                r"my )?(?:new )?(?:job|work|position|role)|(?:took|taken|take) up (?:work|a job)|"
                r"switched careers and am) (?:to be |to become |(?:out |over "
                r")?as )(?P<value>an? .+)"),
        ("job", r"\b(?:took|taken|hired|employed|brought|kept) (?:me|us)(?: on| in)? as (?P<value>.+)"),
        ("job", r"\b(?:my|our) (?:work|day job|new job|job|career|role|position|trade|profession) is "
                r"(?:that of |being |to be |working as |as )(?P<value>an? .+)"),
        ("job", rf"{_I}(?P<value>an? [a-z-]+(?: [a-z-]+)?)(?: by (?:trade|profession|day)| for a living| "
                rf"professionally)\b"),
        ("job", r"\bcall me (?P<value>an? .+?) at work"),
        ("job", r"^(?:\w+ly,? )?(?:i|we)(?:['’]m| am| are) (?P<value>an? (?:[a-z]+ )?[a-z]*(?:er|or|ist|ian|man|"
                r"woman|nurse|chef|cook|pilot|"
                r"clerk|judge|smith))$"),
        ("car", rf"{_I}(?:drive|driving) (?:around in |about in |to work in )?(?P<value>(?:{_AN}|the |my "
                rf")?{_CAP}.*|{_AN}.+)"),
        ("car", rf"^driving (?P<value>(?:{_AN}|the )?{_CAP}\S*)"),
        ("car", rf"{_I}(?:(?:get|getting|got) (?:around|to work) in|park|parked|behind the wheel of) (?P<value>.+)"),
        ("car", rf"^{_FIRST}{_IS} (?:what|the (?:car|vehicle)(?: that)?) {_I_ALONE} (?:drive|driving|get around in)\b"),
        ("car", rf"^(?=.*{_CAR_WORD}).*(?:\b(?:i|we)\b.*\b{_GAIN}|\bthere(?:['’]s| is)) (?:myself |ourselves |up |"
                rf"out )?"
                rf"(?P<value>(?:{_AN})?{_NAME})"),
        ("partner", rf"{_I}(?:dating|married to|married|engaged to|seeing|in a relationship with|together with|"
                    r"got engaged to|got married to) (?P<value>(?-i:[A-Z]).*)"),
        ("name", r"^(?:please )?(?:just )?call me (?P<value>(?-i:[A-Z]).*)"),
        ("diet", rf"{_I}(?:went|go|gone|going|turned|become|eat|eating|on|follow|following|doing)"
                 rf" (?:an? |fully |completely |strictly |all )*(?P<value>{_DIET})\b"),
        ("diet", rf"\b(?:i|we)(?:['’]m| am| are) (?:an? )?(?P<value>{_DIET})\b"),
    )
)  # fmt: skip
_PLACE_NOUN = re.compile(
    r"\b(?:city|town|village|flat|house|apartment|dorm|suburbs?|countryside|cent(?:re|er)|downtown|farm|cottage|"
    r"island|coast|district|neighbou?rhood|condo|studio|loft|street|area|abroad|hotel|campus|mountains|outskirts)\b",
    re.IGNORECASE,
)
_CIRCLE = re.compile(
    r"\b(?:club|group|class|gym|team|course|forum|meetup|society|community|festival|workshop|choir|band|league|"
    r"challenge|program|programme|webinar|people|friends?|kids|home|night|least|moment)\b",
    re.IGNORECASE,
)
_NO_JOB = re.compile(
    r"\b(?:team|expert|couple|family|group|class|whole|result|member|beginner|fan|lover|believer|reader|listener|"
    r"learner|runner|hiker|winner|loser|newcomer|teenager|foodie|father|mother|parent|brother|sister|person|"
    r"supporter|gamer|bit|lot|way|thinker|follower|user|player|survivor|dreamer|owner|starter|sucker|resident|"
    r"citizen)\b",
    re.IGNORECASE,
)


def read_topic(clause: str) -> tuple[str, str] | None:
    """The attribute that a clause is about, and its value; None where no frame fits.

    >>> read_topic("Bosch hired me"), read_topic("I went to Bosch")
    (('employer', 'Bosch'), None)
    """
    for attribute, pattern in _FRAMES:
        match = pattern.search(clause)
        value = until_end(match["value"]) if match else ""
        if value and is_value(value, is_family=True) and _fits(attribute, value):
            return attribute, value
    return None


def _fits(attribute: str, value: str) -> bool:
    """Whether a value is of its attribute's kind: nobody lives in "the right direction", or works as "a team"."""
    if attribute == "home":
        return is_name_like(value) or bool(_PLACE_NOUN.search(value))
    if attribute == "employer":
        return (is_name_like(value) or value.startswith(("a ", "an ", "the "))) and not _CIRCLE.search(value)
    return attribute != "job" or not _NO_JOB.search(value)
