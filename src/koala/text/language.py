"""Detect texts that are not English."""

import re

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")

# Function words: of English, then of each other language with the Latin alphabet.
_ENGLISH, *_FOREIGN = (
    frozenset(words.split())
    for words in (
        "a after all an and are as at be both but by can come do each for from has have if in into "
        "is it its may more must no not of off on one or out over per should so than that the "
        "their then there they this to two under until up was when which while will with you your",
        "aan als bij dan dat de deze die door een en er het in met naar niet om op te uit van voor",
        "aby ale až do je jsou který na nebo od po pro při se si tak ve za že",
        "af at den der det du efter eller en er et fra ikke med og om på som til ud ved",
        "al alla che con da del della di gli il in la le lo nel nella per poi si sono su un una",
        "ale au care cu de din este în la mai nu pe pentru prin sau se și sunt un",
        "al como con de del el en es hasta la las lo los más para por que se sobre su un una",
        "ao com da das de do dos em mais na nas no nos não os ou para pela pelo por que são se um",
        "att av den det en ett eller från för har inte med när och om på som till ut vid är över",
        "au aux avec dans de des du en est et il la le les ou par pour puis que qui se sur un une",
        "auf aus bei das dem den der die durch ein eine es für im in ist mit nach sich und von zu",
        "az egy és el ez hogy ki majd meg mint nem után vagy van",
        "bir bu çok da daha de her için ile kadar olan olarak sonra ve veya",
        "dalam dan dari dengan di hingga ini itu ke lalu pada sampai untuk yang",
        "dla do jak jest lub na nie od oraz po pod przez przy są się za że",
        "ei että ja joka jos kun kuin mutta niin on ovat se sekä sen sitten tai",
    )
)


def is_english(text: str) -> bool:
    """Tell whether a text may be English, by its letters and its function words.

    A text without evidence, such as `NaCl, 5 ml; 37 °C`, counts as English.
    """
    letters = [letter for letter in text if letter.isalpha()]
    if 2 * sum(not _is_latin(letter) for letter in letters) > len(letters):
        return False
    words = set(_WORD.findall(text.replace("’", " ").replace("'", " ")))
    n_english = len(_ENGLISH & {word.lower() for word in words})
    # Case matters: Na, La and Si are chemical elements.
    n_foreign = max(len(words & known) for known in _FOREIGN)
    n_foreign += sum(any(_is_latin(c) and c > "ÿ" for c in word) for word in words)
    return n_foreign < 2 or n_foreign <= n_english


def _is_latin(letter: str) -> bool:
    return letter < "\u0250" or "\u1e00" <= letter < "\u1f00"
