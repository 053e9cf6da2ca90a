"""What was found out before, up to a limit."""

from koala.cache import BoundedCache


def test_never_more_than_the_limit_and_always_the_last():
    kept: BoundedCache[int, int] = BoundedCache(3)
    for number in range(20):
        kept[number] = number * number
        assert len(kept) <= 3
        assert kept[number] == number * number


def test_an_entry_that_is_there_may_change_without_the_others_going():
    kept: BoundedCache[str, int] = BoundedCache(2)
    kept["a"], kept["b"] = 1, 2
    kept["a"] = 3
    assert kept == {"a": 3, "b": 2}
