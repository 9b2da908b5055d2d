from turnkeeper.infrastructure.memory.latest import Latest


def test_what_was_added_first_is_forgotten_first() -> None:
    latest: Latest[str, int] = Latest(limit=2)
    for number, name in enumerate("abc"):
        latest[name] = number

    assert latest == {"b": 1, "c": 2}


def test_what_is_set_again_forgets_nothing() -> None:
    latest: Latest[str, int] = Latest(limit=2)
    for number, name in enumerate("abab"):
        latest[name] = number

    assert latest == {"a": 2, "b": 3}


def test_what_is_taken_out_makes_room() -> None:
    latest: Latest[str, int] = Latest(limit=2)
    latest["a"] = latest["b"] = 0
    del latest["a"]

    latest["c"] = latest["a"] = 1

    assert [*latest] == ["c", "a"]
