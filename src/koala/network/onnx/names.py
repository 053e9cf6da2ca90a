"""Names of arrays in exported graphs."""


def current_name(name: str) -> str:
    """Give the present name of an array; graphs that earlier versions exported have older ones.

    >>> current_name("entity_pieces")
    'entity_subwords'
    """
    return "locations" if name == "places" else name.replace("pieces", "subwords")
