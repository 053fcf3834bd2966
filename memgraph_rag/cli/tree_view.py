"""A neighbourhood as a tree in the terminal.

It draws what it is given and knows no memory. Invariants: as in ``render``, no text is taken for markup and no control
character reaches the terminal; what was left out is said where it would stand.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from rich.text import Text
from rich.tree import Tree

from memgraph_rag.cli.render import change_line, one_line, plain, step_figures, usage_line
from memgraph_rag.types import (
    Annotation,
    Change,
    DocumentRecord,
    Entity,
    InformationPoint,
    Neighbourhood,
    Overview,
    Question,
    Section,
    Segment,
    Step,
    Thing,
    Tie,
)

__all__ = ["tree"]

_CHARACTERS = 100
_POINT = {"points": "point", "clusters": "summary"}
"""Of a text on one line."""

_NAMES = 12
"""Names told beside a segment."""


def tree(neighbourhood: Neighbourhood) -> Tree:
    """What surrounds a thing, the thing at the root."""
    drawn = _Drawn(neighbourhood)
    centre = neighbourhood.centre
    if isinstance(centre, DocumentRecord):
        root = drawn.document(centre)
    elif isinstance(centre, Question):
        root = drawn.question(centre)
    elif isinstance(centre, Overview):
        root = drawn.overview(centre)
    else:
        assert isinstance(centre, Entity)
        root = drawn.entity(centre)
    drawn.end(root)
    return root


class _Drawn:
    """Branches of one neighbourhood."""

    def __init__(self, neighbourhood: Neighbourhood) -> None:
        self._found = neighbourhood
        self._left_out = dict(neighbourhood.left_out)
        self._told: set[str] = set()
        self._by_kind: dict[str, list[Tie]] = defaultdict(list)
        self._by_source: dict[tuple[str, str], list[Tie]] = defaultdict(list)
        for tie in neighbourhood.ties:
            self._by_kind[tie.kind].append(tie)
            self._by_source[tie.kind, tie.source_id].append(tie)

    def document(self, record: DocumentRecord) -> Tree:
        title = f"  {record.title}" if record.title and record.title != record.key else ""
        root = Tree(_labelled(record.key, f"{title}  {record.characters:,} characters, id {record.id}"))
        self._branch(root, "named in the title", (_name(self._entity(tie.target_id)) for tie in self._ties("TITLED")))
        segments = [tie.target_id for tie in self._ties("HAS_SEGMENT")]
        below = {tie.target_id for tie in self._ties("SUMMARIZES")}
        points = [thing for thing in self._found.things.values() if isinstance(thing, InformationPoint)]
        for layer in ("points", "clusters"):
            tops = [point for point in points if point.layer == layer and point.id not in below]
            branch = self._branch(root, layer, tops, self._point)
            if branch is not None:
                self._rest(branch, layer)
        self._outline(root)
        branch = self._branch(root, "segments", [self._found.things[thing] for thing in segments], self._segment)
        if branch is not None:
            self._rest(branch, "segments")
        self._relations(root)
        self._annotations(root)
        return root

    def entity(self, entity: Entity) -> Tree:
        root = Tree(_labelled(entity.name, f"  {', '.join(entity.kinds)}, id {entity.id}"))
        near = ((self._other(tie, entity), f"{tie.weight:.2f}") for tie in self._ties("SIMILAR_TO"))
        self._branch(root, "near-synonyms", (_labelled(node.name, f"  {score}") for node, score in near))
        self._relations(root)
        documents = [node for node in self._found.things.values() if isinstance(node, DocumentRecord)]
        titled = {tie.source_id for tie in self._ties("TITLED")}
        named = (_labelled(node.key, f"  {node.title}") for node in documents if node.id in titled)
        branch = self._branch(root, "named in the title of", named)
        self._rest(branch if branch is not None else root, "titles")
        mentioned = {tie.source_id: tie for tie in self._ties("MENTIONS")}
        branch = root.add(Text("mentioned in", style="dim")) if mentioned else root
        for document in documents:
            places = [tie.target_id for tie in self._ties("HAS_SEGMENT", document.id)]
            segments = [self._found.things[node] for node in places if node in mentioned]
            if segments:
                self._branch(branch, document.key, segments, lambda parent, node: parent.add(_line(node)))
        self._rest(branch, "mentions")
        return root

    def overview(self, overview: Overview) -> Tree:
        things = self._found.things.values()
        root = Tree(
            _labelled(overview.title or overview.layer, f"  {overview.layer} {overview.level}, id {overview.id}")
        )
        root.add(Text(plain(one_line(overview.text, 10 * _CHARACTERS)), style="bold green"))
        self._branch(root, "findings", (_labelled(one_line(item.text, _CHARACTERS), "") for item in overview.findings))
        branch = root.add(Text("sums up", style="dim"))
        for tie in self._ties("SUMMARIZES", overview.id):
            self._below(branch, self._found.things[tie.target_id], tie)
        for kind in ("overviews", "points", "segments"):
            self._rest(branch, kind)
        members = sorted((thing for thing in things if isinstance(thing, Entity)), key=lambda thing: thing.normal)
        self._branch(root, "is about", map(_name, members))
        keys = (thing.key for thing in things if isinstance(thing, DocumentRecord))
        documents = self._branch(root, "rests on", (_labelled(key, "") for key in keys))
        self._rest(documents if documents is not None else root, "documents")
        return root

    def question(self, question: Question) -> Tree:
        answer = question.answer
        root = Tree(_labelled(question.text, f"  {question.asked_at}, {answer.strategy}, {answer.model}"))
        root.add(Text(plain(one_line(answer.text, 10 * _CHARACTERS)), style="bold green"))
        self._branch(root, "stale, ask it again", (_change(change) for change in question.changes))
        standing = question.standing_citations
        steps = [step for step in enumerate(answer.trace, 1) if step[1].node.id in self._found.things]
        branch = self._branch(root, "read", steps, lambda parent, step: _step(parent, *step))
        if branch is not None:
            self._rest(branch, "nodes read")
        keys = {thing.id: thing.key for thing in self._found.things.values() if isinstance(thing, DocumentRecord)}
        self._branch(
            root,
            "cited",
            (
                _labelled(
                    f"[{number}] {keys.get(cited.document_id, cited.document_key)}",
                    f"  {cited.start}–{cited.end}{'' if cited in standing else ' of what it said before'}  "
                    f"“{one_line(cited.quote, _CHARACTERS)}”",
                )
                for number, cited in enumerate(answer.citations, 1)
            ),
        )
        root.add(Text(usage_line(answer), style="dim"))
        return root

    def end(self, root: Tree) -> None:
        """What was left out and not told of yet; passages stand on a page only."""
        for kind in [kind for kind in self._left_out if kind != "passages"]:
            self._rest(root, kind)

    # ── branches ─────────────────────────────────────────────────────────────────────────────────────────

    def _branch(
        self, root: Tree, label: str, items: Iterable[Any], draw: Callable[[Tree, Any], object] = Tree.add
    ) -> Tree | None:
        """A branch of these, where there are any; else none."""
        listed = list(items)
        if not listed:
            return None
        branch = root.add(Text(plain(one_line(label, _CHARACTERS)), style="dim"))
        for item in listed:
            draw(branch, item)
        return branch

    def _rest(self, branch: Tree, kind: str) -> None:
        """How many more there are."""
        number = self._left_out.pop(kind, 0)
        if number:
            branch.add(Text(f"… and {number:,} more {kind}", style="yellow"))

    def _point(self, parent: Tree, point: Thing) -> None:
        """A point or overview with what it sums up; of one that stands in the tree already only its line."""
        branch = parent.add(_line(point))
        if point.id in self._told:
            return
        self._told.add(point.id)
        for tie in sorted(self._ties("SUMMARIZES", point.id), key=lambda tie: (-tie.weight, tie.target_id)):
            self._below(branch, self._found.things[tie.target_id], tie)

    def _below(self, branch: Tree, lower: Thing, tie: Tie) -> None:
        """What something sums up: a segment with its weight, another with what lies below it."""
        if isinstance(lower, (InformationPoint, Overview)):
            self._point(branch, lower)
        else:
            branch.add(Text.assemble((f"{tie.weight:.2f}  ", "cyan"), _line(lower)))

    def _outline(self, root: Tree) -> None:
        """The titles of sections, each with where it stands and the segments of its own text."""
        sections = [thing for thing in self._found.things.values() if isinstance(thing, Section)]
        branches: dict[str, Tree] = {"": root.add(Text("outline", style="dim"))} if sections else {}
        for section in sections:  # a section comes before those below it
            below = [self._found.things[tie.target_id] for tie in self._ties("CONTAINS", section.id)]
            places = ", ".join(f"{thing.index}" for thing in below if isinstance(thing, Segment))
            line = _labelled(section.name, f"  {section.start}–{section.end}{f'  segments {places}' if places else ''}")
            branches[section.id] = branches[section.parent_id].add(line)
        self._rest(branches.get("", root), "sections")

    def _segment(self, parent: Tree, segment: Thing) -> None:
        branch = parent.add(_line(segment))
        named = self._ties("MENTIONS", segment.id)
        if named:
            names = [self._entity(tie.target_id).name + _times(tie.weight) for tie in named]
            more = f" … and {len(names) - _NAMES:,} more" if len(names) > _NAMES else ""
            branch.add(Text(f"names {plain(', '.join(names[:_NAMES]))}{more}", style="dim"))

    def _relations(self, root: Tree) -> None:
        lines = []
        for tie in self._ties("RELATES_TO"):
            ends = " — ".join(self._entity(entity_id).name for entity_id in (tie.source_id, tie.target_id))
            lines.append(_labelled(ends, f"  {tie.text}"))
        branch = self._branch(root, "relations", lines)
        self._rest(branch if branch is not None else root, "relations")

    def _annotations(self, root: Tree) -> None:
        """A branch for each layer of users' own."""
        annotations = [thing for thing in self._found.things.values() if isinstance(thing, Annotation)]
        branch = root
        for layer in dict.fromkeys(annotation.layer for annotation in annotations):
            of_layer = [annotation for annotation in annotations if annotation.layer == layer]
            branch = self._branch(root, layer, map(self._annotation, of_layer)) or root
        self._rest(branch, "annotations")

    def _annotation(self, annotation: Annotation) -> Text:
        segments = [self._found.things[tie.target_id] for tie in self._ties("ANNOTATES", annotation.id)]
        places = ", ".join(f"{thing.index}" for thing in segments if isinstance(thing, Segment))
        lines = annotation.text.splitlines()  # of a header title and summary, which are properties too
        more = one_line(" ".join(lines[1:]), _CHARACTERS)
        facts = [annotation.kind, f"segments {places}" if places else "", f"“{more}”" if more else ""]
        facts += [f"{name}: {value}" for name, value in annotation.properties.items() if value not in ("", *lines)]
        return _labelled("".join(lines[:1]), "".join(f"  {fact}" for fact in facts if fact))

    def _ties(self, kind: str, source_id: str | None = None) -> list[Tie]:
        return self._by_kind.get(kind, []) if source_id is None else self._by_source.get((kind, source_id), [])

    def _entity(self, entity_id: str) -> Entity:
        entity = self._found.things[entity_id]
        assert isinstance(entity, Entity)
        return entity

    def _other(self, tie: Tie, entity: Entity) -> Entity:
        return self._entity(tie.target_id if tie.source_id == entity.id else tie.source_id)


def _times(number: float) -> str:
    return f" × {number:.0f}" if number > 1 else ""


def _step(parent: Tree, order: int, step: Step) -> None:
    """A node that was read: where its score came from, its share of attention, what the model said after it."""
    branch = parent.add(Text.assemble((f"{order:>3}  ", "cyan"), _line(step.node)))
    branch.add(Text(step_figures(step), style="dim"))
    if step.via:
        branch.add(Text(f"by “{plain(one_line(step.via, _CHARACTERS))}”", style="dim"))
    if step.reason:
        branch.add(Text(f"looks for: {plain(one_line(step.reason, _CHARACTERS))}", style="yellow"))


def _line(thing: object) -> Text:
    """A node on one line: what it is, where it lies, how it begins."""
    if isinstance(thing, Segment):
        head, place = f"segment {thing.index}", f"  {thing.start}–{thing.end}"
    elif isinstance(thing, Overview):
        about = f"  {one_line(thing.title, _CHARACTERS)}" if thing.title else ""
        head, place = f"{thing.layer} {thing.level}", f"{about}  over {len(thing.documents):,} documents"
    else:
        assert isinstance(thing, InformationPoint)
        head, place = f"{_POINT[thing.layer]} {thing.level}.{thing.index}", ""
    return _labelled(head, f"{place}  “{one_line(thing.text, _CHARACTERS)}”")


def _change(change: Change) -> Text:
    return Text(plain(change_line(change)), style="yellow")


def _name(entity: Entity) -> Text:
    return _labelled(entity.name, "")


def _labelled(label: str, rest: str) -> Text:
    return Text.assemble((plain(one_line(label, _CHARACTERS)), "bold"), plain(rest))
