"""What of a model's text is shown, what is kept back, and where it ends."""

import re
import sys
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnkeeper.domain.text_rules import TextRules
from turnkeeper.domain.visible_reading import ReadText
from turnkeeper.domain.visible_text import VisibleText

RULES = TextRules(speakers=("Bob", "Straße", "Mia Wong"), capture_details=True)
PLAIN_RULES = TextRules()
SIZES = st.lists(st.integers(1, 12), max_size=120)
LIMITS = st.sampled_from((20, 64, 2000))

FRAGMENTS = st.lists(
    st.sampled_from(
        (
            "<think>",
            "</think>",
            "<Thinking >",
            "</thinking>",
            "<details open>",
            "</details>",
            "<summary>s</summary>",
            "<thi",
            "<",
            ">",
            "`",
            "```",
            "```py\n",
            "\n```\n",
            "\n",
            " ",
            "\nBob:",
            "\n**Bob**:",
            "Bob",
            "Mia Wong ",
            "STRASSE：",
            ":",
            "Some words. ",
            "word ",
            "\ud83d",
            "\ude00",
            "\ud83d\ude00",
            "👨\u200d👩",
        )
    ),
    max_size=40,
).map("".join)


def read(
    text: str, pieces: list[int], *, rules: TextRules = RULES, limit: int = 2000
) -> tuple[VisibleText, list[str]]:
    """What is made of a text that arrives in pieces of these sizes."""
    visible = VisibleText(rules, limit=limit)
    messages: list[str] = []
    at = 0
    for size in pieces:
        messages.extend(visible.take(text[at : at + size]))
        at += size
    messages.extend(visible.take(text[at:]))
    messages.extend(visible.end())
    return visible, messages


def bare(text: str) -> str:
    """A text without blanks, fences and the letters of their language."""
    return re.sub(r"[\s`py]+", "", text)


class TestAnyText:
    @given(FRAGMENTS, SIZES, LIMITS)
    def test_the_pieces_do_not_matter(self, text: str, pieces: list[int], limit: int) -> None:
        whole, messages = read(text, [], limit=limit)
        split, same = read(text, pieces, limit=limit)

        assert same == messages
        assert (split.shown, split.thoughts, split.details, split.is_guarded) == (
            whole.shown,
            whole.thoughts,
            whole.details,
            whole.is_guarded,
        )

    @given(FRAGMENTS, SIZES, LIMITS)
    def test_the_messages_are_what_is_shown(self, text: str, pieces: list[int], limit: int) -> None:
        visible, messages = read(text, pieces, limit=limit)

        assert bare("".join(messages)) == bare(visible.shown)

    @given(FRAGMENTS, SIZES, LIMITS)
    def test_every_message_fits_and_can_be_sent(
        self, text: str, pieces: list[int], limit: int
    ) -> None:
        _, messages = read(text, pieces, limit=limit)

        assert all(0 < len(message) <= limit and message.encode() for message in messages)

    @given(
        st.lists(st.tuples(st.text("ab .\n", max_size=30), st.text("XYZ .\n<", max_size=30))),
        SIZES,
        LIMITS,
        st.booleans(),
    )
    def test_a_thought_is_never_shown(
        self, parts: list[tuple[str, str]], pieces: list[int], limit: int, is_over: bool
    ) -> None:
        text = "".join(f"{shown}<think>{thought}</think>" for shown, thought in parts)
        visible, messages = read(text if is_over else text[:-8], pieces, limit=limit)

        assert not re.search("[XYZ]", "".join(messages) + visible.shown)
        assert re.findall("[XYZ]", visible.thoughts) == re.findall("[XYZ]", text)

    @given(FRAGMENTS, SIZES)
    def test_code_is_shown_as_it_is(self, text: str, pieces: list[int]) -> None:
        inside = text.replace("`", "").replace("\ud83d", "").replace("\ude00", "")
        visible, _ = read(f"```py\n{inside}\n```\n", pieces)

        assert visible.shown == f"```py\n{inside}\n```\n"


LINES = st.lists(
    st.sampled_from(
        ("```", "~~~", "`", "py", "word. ", "and so", " ", "\t", "\n", "\n\n", "||", "(", "👍🏽")
    ),
    max_size=9,
).map("".join)
Say = tuple[str, list[int]]
END, END_TRIMMED, LOOK = "end", "end trimmed", "look"
STEPS = st.lists(
    st.one_of(
        st.sampled_from((END, END_TRIMMED, LOOK)),
        st.tuples(FRAGMENTS, SIZES),
        st.tuples(LINES, SIZES),
    ),
    max_size=8,
)
DEDUPED = TextRules(dedupe_from=8)
BOTH = replace(RULES, dedupe_from=8)


def seen_of(visible: VisibleText | ReadText) -> tuple[object, ...]:
    """All that can be asked of it."""
    return (
        visible.shown,
        visible.shown_chars,
        visible.thoughts,
        visible.details,
        visible.is_guarded,
        visible.preview,
    )


def told_by(visible: VisibleText | ReadText, steps: list[str | Say]) -> list[object]:
    """What it answers to each step, and to all that can be asked in the end."""
    told: list[object] = []
    for step in steps:
        if step == LOOK:
            told.append(seen_of(visible))
        elif isinstance(step, str):
            told.append(visible.end(trim=step == END_TRIMMED))
        else:
            text, sizes = step
            for size in (*sizes, len(text)):
                told.append((visible.take(text[:size]), visible.is_guarded))
                text = text[size:]
    return [*told, seen_of(visible), visible.end(), seen_of(visible)]


class TestWhatIsOnlyKept:
    """What is read late, or never, comes to what it comes to where each piece is read at once."""

    @pytest.mark.parametrize(
        "rules", [PLAIN_RULES, RULES, DEDUPED, BOTH], ids=["", "watched", "deduped", "both"]
    )
    @pytest.mark.parametrize("cuts", [True, False])
    @given(STEPS, LIMITS)
    def test_it_tells_the_same(
        self, rules: TextRules, cuts: bool, steps: list[str | Say], limit: int
    ) -> None:
        kept, read = (
            VisibleText(rules, limit=limit, cuts=cuts),
            ReadText(rules, limit=limit, cuts=cuts),
        )

        assert told_by(kept, steps) == told_by(read, steps)

    def test_a_part_just_long_enough_is_a_message(self) -> None:
        short, enough = VisibleText(PLAIN_RULES, limit=20), VisibleText(PLAIN_RULES, limit=20)

        assert (short.take("abcdefg\n\n"), enough.take("abcdefgh\n\n")) == ((), ("abcdefgh",))

    def test_a_piece_that_came_twice_is_taken_once_where_others_speak(self) -> None:
        visible = VisibleText(BOTH, limit=2000)
        for _ in range(2):
            visible.take("A piece that came twice. ")

        assert visible.shown == "A piece that came twice. "

    def test_half_a_character_before_it_counts(self) -> None:
        visible = VisibleText(PLAIN_RULES, limit=20)
        visible.take("\ud83d")

        assert visible.take("abcdefg\n\n") == ("\ufffdabcdefg",)

    @pytest.mark.parametrize("before", ["", "One\n", "<think>so</think>", "Bob", "a < b"])
    def test_it_costs_little_whatever_came_before(self, before: str) -> None:
        visible = VisibleText(PLAIN_RULES, limit=2000)
        for sign in before:
            visible.take(sign)

        assert calls_of(lambda: [visible.take("word ") for _ in range(100)]) <= 600


class TestThoughts:
    @pytest.mark.parametrize(
        ("text", "shown", "thoughts"),
        [
            ("<think>so</think>Hello", "Hello", "so"),
            ("<thinking>so</thinking>Hello", "Hello", "so"),
            ("<THINK >so</THINK>Hello", "Hello", "so"),
            ("Hi <think>so</think>there", "Hi there", "so"),
            ("<think>a</think>b<think>c</think>d", "bd", "a\nc"),
            ("Hello <think>and never", "Hello ", "and never"),
            ("so I say</think>Hello", "Hello", "so I say"),
            ("<think>a</think>b</think>c", "c", "a\nb"),
            ("<think>use <think> here</think>Hi", "Hi", "use <think> here"),
            ("a < b and <b>", "a < b and <b>", ""),
            ("<think of it", "<think of it", ""),
            ("<thinker>", "<thinker>", ""),
            ("ends in <thi", "ends in <thi", ""),
            ("the `<think>` tag", "the `<think>` tag", ""),
            ("``a ` <think>`` tag", "``a ` <think>`` tag", ""),
            ("a stray ` and <think>so</think>\nHello", "a stray ` and \nHello", "so"),
            ("a stray ` and <think>so", "a stray ` and ", "so"),
            ("```\n<think>\n```\n", "```\n<think>\n```\n", ""),
            ("```html <think>\nx\n```\n", "```html <think>\nx\n```\n", ""),
            ("```\nx\n```\n<think>so</think>Hi", "```\nx\n```\nHi", "so"),
        ],
    )
    def test_it_is_kept_back(self, text: str, shown: str, thoughts: str) -> None:
        visible, _ = read(text, [1] * len(text))

        assert (visible.shown, visible.thoughts) == (shown, thoughts)

    def test_a_thought_that_goes_on_can_be_asked(self) -> None:
        visible = VisibleText(PLAIN_RULES, limit=2000)
        visible.take("<think>so")

        assert visible.thoughts == "so"

    def test_a_stray_backtick_does_not_hold_a_long_thought_back_for_ever(self) -> None:
        visible = VisibleText(PLAIN_RULES, limit=2000)
        visible.take("a stray ` and <think>" + "so " * 200)

        assert visible.thoughts.startswith("so so")

    def test_half_a_closing_tag_waits(self) -> None:
        visible = VisibleText(PLAIN_RULES, limit=2000)
        visible.take("so I say</thi")

        assert visible.shown == "so I say"

    def test_a_stray_end_takes_back_only_what_is_not_out(self) -> None:
        """What came out in a message cannot have been a thought any more."""
        visible, messages = read(f"{'word ' * 300}\n\nso</think>Hello", [])

        assert (messages, visible.thoughts) == ([("word " * 300).strip(), "Hello"], "so")


class TestDetails:
    TEXT = "Hi<details open><summary>More</summary>\nbody\n</details> there"

    def test_they_are_shown_as_they_are(self) -> None:
        visible, _ = read(self.TEXT, [], rules=PLAIN_RULES)

        assert (visible.shown, visible.details) == (self.TEXT, "")

    def test_they_are_kept_back_where_that_is_asked_for(self) -> None:
        visible, _ = read(self.TEXT, [1] * len(self.TEXT))

        assert (visible.shown, visible.details) == ("Hi there", "body")

    def test_those_that_nobody_closes_are_kept_back_too(self) -> None:
        visible, _ = read("Hi<details>body", [])

        assert (visible.shown, visible.details) == ("Hi", "body")


class TestTheSpeakerGuard:
    @pytest.mark.parametrize(
        "label",
        [
            "Bob:",
            "bob: hi",
            "**Bob:** hi",
            "**Bob**: hi",
            "  Bob : hi",
            "@Bob: hi",
            "Bob：hi",
            "STRASSE: hi",
            "_Mia Wong_: hi",
        ],
    )
    def test_another_speakers_label_ends_the_answer(self, label: str) -> None:
        visible, messages = read(f"Hello.\n{label}\nmore", [1] * 30)

        assert (messages, visible.is_guarded) == (["Hello."], True)

    @pytest.mark.parametrize(
        "line",
        [
            "Bobby: hi",
            "Bob is here",
            "Note: this",
            "Ask Bob: he",
            "> Bob: hi",
            "- Bob: hi",
            "[Bob]: hi",
            "Bob",
            "12:30",
        ],
    )
    def test_another_line_does_not(self, line: str) -> None:
        """Only known names count, not all that looks like a label: "Note:" is honest text."""
        visible, messages = read(f"Hello.\n{line}", [1] * 30)

        assert (messages, visible.is_guarded) == ([f"Hello.\n{line}"], False)

    def test_a_label_in_code_does_not(self) -> None:
        visible, _ = read("```\nBob: hi\n```", [1] * 30)

        assert not visible.is_guarded

    def test_a_label_at_once_leaves_nothing(self) -> None:
        visible, messages = read("Bob: hi", [])

        assert (messages, visible.shown, visible.is_guarded) == ([], "", True)

    def test_a_label_after_an_emoticon_is_seen(self) -> None:
        visible, messages = read("Hello :)\nBob: hi", [])

        assert (messages, visible.is_guarded) == (["Hello :)"], True)

    def test_a_label_after_a_spoiler_line_is_seen(self) -> None:
        visible, messages = read("||He did it||\nBob: hi", [])

        assert (messages, visible.is_guarded) == (["||He did it||"], True)


class TestRepeats:
    RULES = replace(PLAIN_RULES, dedupe_from=8)
    PIECE = "A piece that came twice. "

    def shown(self, pieces: list[str], rules: TextRules = RULES) -> str:
        visible = VisibleText(rules, limit=2000)
        for piece in pieces:
            visible.take(piece)
        return visible.shown

    def test_a_piece_that_came_twice_is_taken_once(self) -> None:
        assert self.shown([self.PIECE, self.PIECE, "End."]) == f"{self.PIECE}End."

    def test_all_that_was_said_is_not_said_again(self) -> None:
        assert self.shown(["Some words ", "and more.", "Some words and more."]) == (
            "Some words and more."
        )

    def test_all_is_taken_as_it_comes_unless_that_is_asked_for(self) -> None:
        assert self.shown([self.PIECE, self.PIECE], PLAIN_RULES) == self.PIECE * 2

    def test_another_call_may_begin_with_the_same_piece(self) -> None:
        visible = VisibleText(self.RULES, limit=2000)
        visible.take(self.PIECE)
        visible.end()
        visible.take(self.PIECE)

        assert visible.shown == f"{self.PIECE}\n\n{self.PIECE}"

    @pytest.mark.parametrize(
        "pieces",
        [
            ["}\n", "}\n"],
            ["ha ha ha ha ", "ha ha ha ha "],
            ["----------", "----------"],
            ["Row, row, row your boat,\n", "gently.\n", "Row, row, row your boat,\n"],
            ["Row, row, row your boat,\nRow, ", "row, row your boat,\n"],
            ["```\n", "    x = compute()\n", "    x = compute()\n"],
            ["And so on:\n", "```\n", "x\n", "```\n", "And so on:\n"],
        ],
    )
    def test_honest_repetition_stays(self, pieces: list[str]) -> None:
        """Only whole pieces count, no overlaps: refrains come back, and so do lines of code."""
        assert self.shown(pieces) == "".join(pieces)


class TestSurrogates:
    def test_halves_that_come_apart_are_joined(self) -> None:
        assert read("a\ud83d\ude00b", [2])[1] == ["a😀b"]

    def test_a_half_alone_is_replaced(self) -> None:
        assert read("a\ude00b\ud83d", [])[1] == ["a\ufffdb\ufffd"]


class TestBeforeATool:
    def test_what_comes_next_is_a_text_of_its_own(self) -> None:
        visible = VisibleText(RULES, limit=2000)
        visible.take("I look. Then <think>so")
        before = visible.end(trim=True)
        visible.take("Here.")

        assert (before, visible.end(), visible.shown) == (
            ("I look.",),
            ("Here.",),
            "I look. Then \n\nHere.",
        )


def calls_of(work: Callable[[], object]) -> int:
    """How many functions were called, those of the interpreter included."""
    count = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


TOKENS = {
    "words": "word ",
    "lines": "word\n",
    "one line": "word",
    "code": "`x` ",
    "open code": "` ``",
    "less": "a<b ",
    "an open tag": "` <think>x",
    "colons": "Bob\n",
    "closes": "a</think>",
}


class TestTheWork:
    """A stream costs as much as it is long: no piece makes what came before be read again."""

    @pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS)
    def test_it_grows_with_the_text_alone(self, token: str) -> None:
        def stream(count: int) -> VisibleText:
            visible = VisibleText(RULES, limit=2000)
            for _ in range(count):
                visible.take(token)
            visible.end()
            return visible

        visible = stream(20_000)
        few, many = calls_of(lambda: stream(2_000)), calls_of(lambda: stream(8_000))

        assert visible.examined_chars <= 8 * 20_000 * len(token)
        assert many <= 4.5 * few

    def test_a_plain_token_is_not_examined(self) -> None:
        visible = VisibleText(RULES, limit=2000)
        visible.take("One ")
        before = visible.examined_chars
        calls = calls_of(lambda: [visible.take("word ") for _ in range(100)])

        assert visible.examined_chars == before
        assert calls <= 3_000
