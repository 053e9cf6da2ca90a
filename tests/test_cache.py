from koala.cache import BoundedCache


def test_size_never_exceeds_the_limit_and_the_last_entry_stays():
    cache: BoundedCache[int, int] = BoundedCache(3)
    for number in range(20):
        cache[number] = number * number
        assert len(cache) <= 3
        assert cache[number] == number * number


def test_replacing_an_entry_keeps_the_others():
    cache: BoundedCache[str, int] = BoundedCache(2)
    cache["a"], cache["b"] = 1, 2
    cache["a"] = 3
    assert cache == {"a": 3, "b": 2}
