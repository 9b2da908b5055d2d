from collections import Counter

from chaos.script import AGAIN_BACK, HOT, KINDS, PROVIDER_FAULTS, WELL, blows, fate

SEED = 7


def test_the_same_seed_draws_the_same_fates_and_blows() -> None:
    fates = [fate(SEED, number) for number in range(300)]

    assert fates == [fate(SEED, number) for number in range(300)]
    assert fates != [fate(SEED + 1, number) for number in range(300)]
    assert blows(SEED, 2000, each=100) == blows(SEED, 2000, each=100)
    assert blows(SEED, 2000, each=100) != blows(SEED + 1, 2000, each=100)


def test_all_faults_come_and_about_half_of_the_turns_meet_none() -> None:
    met = Counter(fate(SEED, number).fault for number in range(2000))

    assert set(met) == {WELL, *PROVIDER_FAULTS}
    assert 900 < met[WELL] < 1300


def test_turns_crowd_in_some_servers() -> None:
    servers = Counter(fate(SEED, number).server_no for number in range(2000))

    assert {number for number, _ in servers.most_common(HOT)} == set(range(HOT))


def test_some_triggers_come_again_where_they_came_before() -> None:
    fates = [fate(SEED, number) for number in range(1000)]
    again = [one for one in fates if one.trigger != f"t{one.number}"]

    first = [fate(SEED, int(one.trigger[1:])) for one in again]
    assert 20 < len(again) < 70
    assert [one.number for one in first] != [one.number for one in again]
    assert all(one.number - AGAIN_BACK * 3 <= f.number for one, f in zip(again, first, strict=True))
    assert [(f.server, f.channel_no, f.user) for f in first] == [
        (one.server, one.channel_no, one.user) for one in again
    ]


def test_all_blows_come_one_after_the_other_before_the_end() -> None:
    dealt = blows(SEED, 2000, each=100)

    assert {blow.kind for blow in dealt} == set(KINDS)
    assert [blow.at for blow in dealt] == sorted(blow.at for blow in dealt)
    assert (dealt[0].at >= 100, dealt[-1].at < 2000) == (True, True)


def test_a_short_run_is_not_hit_where_it_is_not_to_be() -> None:
    assert blows(SEED, 50, each=100) == ()
