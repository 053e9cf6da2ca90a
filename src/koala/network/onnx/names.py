"""Names of the inputs and outputs of exported graphs."""


def current_name(name: str) -> str:
    """Give the current name of an array whose name comes from a graph of any earlier version.

    >>> current_name("entity_pieces")
    'entity_subwords'
    """
    return "locations" if name == "places" else name.replace("pieces", "subwords")
