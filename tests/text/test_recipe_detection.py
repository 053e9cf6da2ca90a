"""Recipe detection: recipes in many styles, real ones, and similar texts that are not recipes."""

import json

import pytest

from koala.bundled.examples import list_examples, read_example
from koala.corpora.leaderboard import read_sentences
from koala.text.recipe_detection import is_recipe, measure_imperatives, measure_kitchen_words

BREAD = """\
# Grandma's Banana Bread

## Ingredients
- 1½ cups all-purpose flour
- 3 ripe bananas
- 2 eggs, beaten
- ½ tsp. salt
- 100 g melted butter

## Method
1. Preheat your oven to 180 °C (350 °F) and grease a loaf tin.
2. Mash the bananas; stir in butter, eggs and salt.
3. FOLD IN the flour.
4) Bake for 60 minutes, or until a toothpick comes out clean!
"""


@pytest.mark.parametrize(
    "text",
    [
        BREAD,
        BREAD.upper(),
        BREAD.partition("## Method")[2],
        "Boil the pasta. Drain.",
        "• Chop 2 onions\n• Fry them in olive oil\n• Add the tomatoes and simmer for 20 min",
        "First, whisk the eggs with milk and a pinch of salt. Then pour them into a hot pan and "
        "stir until just set. Serve on buttered toast.",
        "heat oil in a wok .\nadd garlic and ginger .\ntoss with noodles -lrb- cooked -rrb- .",
    ],
)
def test_recipes_in_many_styles_are_recognized(text):
    assert is_recipe(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n \n",
        "42",
        "Roots absorb water from the soil.\nThe water flows to the leaf.\nThe leaf makes sugar.",
        # About food, but not instructions.
        "The baker mixes flour, water and yeast. The dough rises. It is baked in the oven.",
        "Cheese is made from milk. The milk is heated, and rennet is added. Curds form.",
        "I ate two eggs, bread with butter and jam, and an apple. The soup was too salty.",
        # Instructions, but not for the kitchen.
        "Add 5 µl buffer to the tube.\nIncubate at 37 °C for 30 minutes.\nCentrifuge and discard "
        "the supernatant.\nPlace the tube on ice.",
        "Mix vinegar with baking soda in a cup.\nPour it on the stain.\nScrub the carpet with a "
        "sponge and clean water.",
        "Turn the game off.\nRemove the disc.\nPress and hold the power button.",
        "Fill the pot with soil. Place the seed in it. Cover and water the plant.",
    ],
)
def test_similar_texts_are_not_recipes(text):
    assert not is_recipe(text)


def test_two_of_the_bundled_examples_are_recipes():
    recipes = {name for name in list_examples() if is_recipe("\n".join(read_example(name).steps))}
    assert recipes == {"pancakes", "soup"}


def test_shares_of_kitchen_words_and_imperatives():
    text = "stir the soup. it is hot."
    assert measure_kitchen_words(text) == 2 / 6
    assert measure_imperatives(text) == 1 / 2
    # A word of another field cancels a kitchen word; a line with an amount is not a sentence.
    assert measure_kitchen_words("stir the soap into the pot") == 1 / 6
    assert measure_imperatives("2 cups flour\n½ tsp fine salt\n1 mix it") == 1


def test_recipes_dev_and_propara_dev_are_told_apart(data):
    lines = (data / "recipes" / "dev.jsonl").read_text("utf-8").splitlines()
    recipes = ["\n".join(json.loads(line)["sentences"]) for line in lines]
    sentences = read_sentences(data / "propara" / "leaderboard" / "dev" / "sentences.tsv")
    processes = ["\n".join(steps) for steps in sentences.values()]
    assert (len(recipes), len(processes)) == (86, 43)
    n_correct = sum(map(is_recipe, recipes)) + sum(not is_recipe(text) for text in processes)
    assert n_correct >= 0.97 * (len(recipes) + len(processes))
