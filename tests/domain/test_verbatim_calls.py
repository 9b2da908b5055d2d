"""Which spellings are calls, and what else stays text."""

import json

import pytest
import written_calls

from turnkeeper.domain.verbatim_calls import Piece, VerbatimCalls
from turnkeeper.domain.written_call import UNENDED, WrittenCall

CALL = '{"name": "roll", "arguments": {"sides": 6}}'
LOOK = '{"name": "look", "arguments": {}}'
ROLLED = WrittenCall(name="roll", arguments_json='{"sides": 6}')
LOOKED = WrittenCall(name="look", arguments_json="{}")
OFFERED = ("roll", "roll_twice", "look")


def read(*pieces: str, was_cut: bool = False) -> list[Piece]:
    return written_calls.read(pieces, names=OFFERED, was_cut=was_cut)


@pytest.mark.parametrize(
    "spelling",
    [
        CALL,
        '{"arguments": {"sides": 6}, "name": "roll"}',
        '{"name": "roll", "parameters": {"sides": 6}}',
        '{"tool": "roll", "args": {"sides": 6}}',
        '{"tool_name": "roll", "tool_input": {"sides": 6}}',
        '{"function": "roll", "input": {"sides": 6}}',
        '{"type": "function", "id": "c1", "name": "roll", "arguments": {"sides": 6}}',
        '{"type": "function", "function": {"name": "roll", "arguments": {"sides": 6}}}',
        '{"function_call": {"name": "roll", "arguments": {"sides": 6}}}',
        '{"tool": {"name": "roll"}, "arguments": {"sides": 6}}',
        '{"name": "roll", "arguments": "{\\"sides\\": 6}"}',
        '{"arguments": "{\\"sides\\": 6}", "name": "roll"}',
        '{"name": "roll", "why": "for luck", "arguments": {"sides": 6}}',
        '{"name": "roll", "arguments": {"sides": 6}, "why": "for luck"}',
        '{\n  "name" : "roll" ,\n  "arguments" : {"sides": 6} ,\n}',
        f"[{CALL}]",
        f"[TOOL_CALLS] [{CALL}]",
        f"[TOOL_CALLS][{CALL}]",
        f"[TOOL_CALLS]{CALL}",
        f'{{"tool_calls": [{CALL}]}}',
        f"```\n{CALL}\n```",
        f"```json\n{CALL}\n```",
        f"```json\n[\n{CALL}\n]\n```",
        f"```tool_call\n{CALL}\n```",
        f"````json\n{CALL}\n````",
        f"`{CALL}`",
        f"<tool_call>{CALL}</tool_call>",
        f"<tool_call>\n{CALL}\n</tool_call>",
        f"<TOOL_CALL>{CALL}</TOOL_CALL>",
        f"<tool_calls>[{CALL}]</tool_calls>",
        f"<function_call> {CALL} </function_call>",
        f"<function_call>{CALL}</tool_call>",
        f"```xml\n<tool_call>\n{CALL}\n</tool_call>\n```",
        f"<tool_call>\n```json\n{CALL}\n```\n</tool_call>",
        f"<|tool_call|>[{CALL}]",
        f"<|python_tag|>{CALL}",
    ],
)
def test_a_call_is_read_however_it_is_spelled(spelling: str) -> None:
    assert read(spelling) == read(*spelling) == [ROLLED]


@pytest.mark.parametrize(
    "spelling",
    [
        CALL + LOOK,
        f"{CALL}\n{LOOK}\n",
        f"{CALL}, {LOOK}",
        f"{CALL}; {LOOK}",
        f"[{CALL}, {LOOK}]",
        f"[TOOL_CALLS] [{CALL}, {LOOK}]",
        f'{{"tool_calls": [{CALL}, {LOOK}]}}',
        f"```json\n{CALL}\n{LOOK}\n```",
        f"```json\n{CALL}\n```\n\n```json\n{LOOK}\n```",
        f"<tool_call>{CALL}</tool_call>\n<tool_call>{LOOK}</tool_call>",
        f"<tool_call>{CALL}<tool_call>{LOOK}<tool_call>",
        f"<tool_call>{CALL}\n{LOOK}</tool_call>",
    ],
)
def test_several_calls_are_read_in_their_order(spelling: str) -> None:
    assert read(spelling) == read(*spelling) == [ROLLED, LOOKED]


@pytest.mark.parametrize("wrapped", [CALL, f"```json\n{CALL}\n```", f"<tool_call>{CALL}"])
def test_what_is_said_before_and_after_is_shown(wrapped: str) -> None:
    assert read(f"I roll.\n{wrapped}\n And then?") == ["I roll.\n", ROLLED, "\n And then?"]


@pytest.mark.parametrize(
    "missing", [CALL[:-1], f"<tool_call>{CALL[:-1]}</tool_call>", f"```json\n{CALL}", f"[{CALL}"]
)
def test_a_call_whose_last_signs_are_missing_is_whole(missing: str) -> None:
    assert read(missing) == [ROLLED]


def test_a_call_without_arguments_has_none() -> None:
    assert read('{"tool": "look"}') == [LOOKED]
    assert read('{"name": "look", "arguments": null}') == [LOOKED]
    assert read('{"name": "look", "arguments": ""}') == [LOOKED]


def test_braces_and_quotes_in_strings_count_for_nothing() -> None:
    arguments = json.dumps({"a": '}"]{\\', "b": [{"c": "\\"}]})

    call = WrittenCall(name="roll", arguments_json=arguments)
    assert read(f'{{"name": "roll", "arguments": {arguments}}}') == [call]


def test_bare_newlines_in_strings_are_made_json() -> None:
    (call,) = read('{"name": "roll", "arguments": {"say": "one\ntwo"}}')

    assert isinstance(call, WrittenCall)
    assert json.loads(call.arguments_json) == {"say": "one\ntwo"}


def test_an_object_within_the_arguments_is_no_call() -> None:
    outer = f'{{"name": "look", "arguments": {{"at": {CALL}}}}}'

    assert read(outer) == [WrittenCall(name="look", arguments_json=f'{{"at": {CALL}}}')]


@pytest.mark.parametrize(
    "text",
    [
        "A plain answer, with {braces}, [brackets] and <@123456> people at <t:1700000000:R>.",
        '{"name": "Alice", "age": 7}',
        '{"name": "rol", "arguments": {}}',
        '{"name": "rolling", "arguments": {}}',
        '{"name": "Roll", "arguments": {}}',
        '{"name": "nothing_like_it", "arguments": {}}',
        '{"name": ["roll"]}',
        '{"name": "roll", "sides": 6}',
        '{"name": "roll"; "arguments": {}}',
        '{"arguments": {"sides": 6}}',
        '{"title": "roll", "arguments": {"sides": 6}}',
        '{"type": "object", "name": "roll"}',
        '{"id": 5, "label": "roll"}',
        "{'name': 'roll'}",
        '{"answer": 42}',
        "{}",
        "[]",
        "[[1, 2], [3, 4]]",
        "[x] done, [ ] not done, [TOOLS]",
        "a < b, <b>bold</b>, <tool>, <tool_call> is a tag, <tool_call></tool_call>",
        "`name` and ``{`` and ```inline``` and ```行内```",
        '```python\nprint({"name": 1})\n```\nand\n```json\n{"sides": 6}\n```',
        "roll(sides=6)",
        "{" * 50,
        "{",
        "<tool_call>",
        '{"name": ',
        "```json\n",
    ],
)
def test_all_else_is_text(text: str) -> None:
    assert read(text) == read(*text) == [text]


def test_a_call_that_is_not_offered_stays_beside_one_that_is() -> None:
    other = '{"name": "fly", "arguments": {}}'

    assert read(f"[{CALL}, {other}]") == [ROLLED, f", {other}]"]
    assert read(f"{other} {CALL}") == [f"{other} ", ROLLED]


def test_a_block_that_is_shown_keeps_its_end() -> None:
    block = "```py\nx = 1\n```\n"

    assert read(block + CALL) == [block, ROLLED]


@pytest.mark.parametrize(
    ("cut", "name", "arguments"),
    [
        (CALL[:-3], "roll", '{"sides": '),
        (f"<tool_call>\n{CALL[:-3]}", "roll", '{"sides": '),
        ('{"name": "roll", "argu', "roll", UNENDED),
        ('{"name": "roll', "roll", UNENDED),
        ('{"name": "ro', "ro", UNENDED),
    ],
)
@pytest.mark.parametrize("was_cut", [True, False])
def test_the_beginning_of_an_offered_call_is_a_call_that_broke_off(
    cut: str, name: str, arguments: str, was_cut: bool
) -> None:
    call = WrittenCall(name=name, arguments_json=arguments)

    assert read(f"So: {cut}", was_cut=was_cut) == ["So: ", call]
    assert read(*cut, was_cut=was_cut) == [call]


@pytest.mark.parametrize(
    "cut",
    [
        '{"name": "',
        '{"arguments": {"si',
        "<tool_call>\n{",
        "<tool_c",
        "<tool_call>\n```json\n",
        "[TOOL_CALLS] [",
        "```tool_call\n",
    ],
)
def test_what_hardly_is_anything_else_is_a_call_only_in_an_answer_that_was_cut(cut: str) -> None:
    (call,) = read(cut, was_cut=True)

    assert isinstance(call, WrittenCall)
    assert not call.arguments_json.endswith("}")
    assert read(cut) == [cut]


@pytest.mark.parametrize("cut", ["{", '{"', "[", "<", "a <to", "```", '{"answer": "ro', "roll"])
def test_what_may_be_anything_is_text_in_an_answer_that_was_cut(cut: str) -> None:
    assert read(cut, was_cut=True) == [cut]


@pytest.mark.parametrize("left", ["\n", " \n</tool_c", "\n``", "\n<tool_"])
def test_half_of_what_a_call_is_wrapped_in_is_not_shown(left: str) -> None:
    assert read(CALL + left) == [ROLLED]


def test_plain_text_is_shown_at_once() -> None:
    calls = VerbatimCalls(OFFERED)

    assert [calls.feed(word) for word in ("It ", "is ", "4.")] == [["It "], ["is "], ["4."]]


@pytest.mark.parametrize(
    "decided",
    ["{w", '{"w', '{"name": "w', '{"type": "w', "{ 1", "<w", "<tool_w", "[w", "[ 1", "`w"],
)
def test_what_cannot_become_a_call_any_more_is_shown_at_once(decided: str) -> None:
    calls = VerbatimCalls(OFFERED)

    assert calls.feed(decided[:-1]) == []
    assert calls.feed(decided[-1]) == [decided]
