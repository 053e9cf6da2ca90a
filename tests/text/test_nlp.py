"""Language detection, the tagger's analyses and their cache, stems."""

import pytest

from koala.cache import BoundedCache
from koala.text.language import is_english
from koala.text.nlp import analyze, split_words, stem_content


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Mix flour.",
        "Water boils. Cells die.",
        "NaCl, 5 ml; 37 °C, 10 min",
        "Add 5 µl Tris-HCl, vortex, spin 2 min.\nIncubate Taq, dNTPs, MgCl2: 95 °C, 30 s.",
        "Sauté onions. Purée tomatoes. Serve with crème fraîche, jalapeños, pico de gallo.",
        "De novo assembly, as in Smith et al.; dissolve Na, La and Si in α-ketoglutarate.",
        "Chop the bok choy (白菜) and the Erdős number.",
        "DO NOT OPEN THE DOOR.",
    ],
)
def test_english_texts_are_recognized(text):
    assert is_english(text)


@pytest.mark.parametrize(
    "text",
    [
        "Das Wasser fließt in die Wurzel und steigt dann zum Blatt.",
        "L’eau coule vers la feuille. Les racines l’absorbent dans le sol.",
        "Mezclar la harina con el agua. Hornear durante 20 min a 180 °C.",
        "Mescolare la farina con lo zucchero e le uova.",
        "Misture a farinha com o leite. Leve ao forno por 20 min em uma forma.",
        "Meng de bloem met het water en bak het brood.",
        "Rör ihop mjölet med vatten och grädda det i ugnen.",
        "Bland mel og vand. Bag det i ovnen til det er brunt.",
        "Sekoita jauhot ja vesi. Paista, kunnes pinta on ruskea, sitten jäähdytä se.",
        "Wymieszaj mąkę z wodą i piecz w piecu.",
        "Smíchejte mouku s vodou a pečte v troubě.",
        "Unu suyla karıştırın ve fırında pişirin.",
        "Keverje össze a lisztet és a vizet, majd süsse meg.",
        "Amestecați făina cu apa și coaceți în cuptor.",
        "Campurkan tepung dengan air lalu panggang di dalam oven.",
        "Trộn bột với nước rồi nướng bánh.",
        "Корни впитывают воду из почвы.",
        "Οι ρίζες απορροφούν νερό.",
        "植物の根は水を吸収します。",
        "뿌리는 물을 흡수한다.",
        "الجذور تمتص الماء",
    ],
)
def test_texts_in_other_languages_are_not_english(text):
    assert not is_english(text)


def test_the_sentences_of_propara_are_english(propara):
    path = propara / "leaderboard" / "dev" / "sentences.tsv"
    for line in path.read_text("utf-8").splitlines():
        assert is_english(line.split("\t")[2]), line


def test_words_have_lemmas_tags_and_offsets():
    text = "The  roots absorbed Earth's water."
    (analysis,) = analyze([text])
    assert [word.text for word in analysis.words] == split_words(text)
    assert all(text[word.start : word.end] == word.text for word in analysis.words)
    found = {word.text: (word.lemma, word.pos) for word in analysis.words}
    assert found["roots"] == ("root", "NOUN")
    assert found["absorbed"] == ("absorb", "VERB")
    phrases = {" ".join(w.text for w in analysis.words[a:b]) for a, b in analysis.phrases}
    assert phrases == {"The roots", "Earth 's water"}


@pytest.mark.parametrize(
    ("phrase", "stems"),
    [
        ("building_complex", ("build", "complex")),
        ("the bottom of the Oceans", ("bottom", "ocean")),
        ("part of animal", ("anim",)),
        ("of the", ()),
    ],
)
def test_stems_of_content_words(phrase, stems):
    assert stem_content(phrase) == stems


def test_cached_analyses_equal_new_ones(monkeypatch):
    texts = ["The roots have water.", "Water has moved.", "The roots have water.", ""]
    first = analyze(texts)
    assert analyze(reversed(texts)) == first[::-1]
    monkeypatch.setattr("koala.text.nlp._known", {})
    assert [analyze([text])[0] for text in texts] == first


def test_the_cache_of_analyses_is_bounded(monkeypatch):
    cache: BoundedCache[str, object] = BoundedCache(3)
    monkeypatch.setattr("koala.text.nlp._known", cache)
    for number in range(5):
        (analysis,) = analyze([f"Take {number} eggs."])
        assert analysis.words[1].text == str(number)
        assert len(cache) <= 3
    assert len(analyze(f"Take {number} cups." for number in range(9))) == 9
    assert len(cache) <= 3
