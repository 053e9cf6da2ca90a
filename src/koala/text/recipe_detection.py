"""Detect recipes: texts with many kitchen words and many imperative sentences.

A text is a recipe if both shares reach a threshold that was chosen on training texts: kitchen words
among its words, and sentences that start with an imperative among its sentences. An explanation of
how bread is made has no imperatives; a laboratory protocol has imperatives, but other words.
"""

import re

_LEAST_KITCHEN, _LEAST_IMPERATIVES = 0.1, 0.15
"""Thresholds, in the middle of the range with the fewest errors on train
(`benchmarks/recipe_texts.py --tune`)."""

_IMPERATIVES, _BEFORE_IMPERATIVES, _KITCHEN_WORDS, _OTHER_WORDS = (
    frozenset(words.split())
    for words in (
        # Verbs that the steps of recipes start with.
        "add allow arrange bake baste beat blanch blend boil bring broil brown brush chill chop "
        "coat combine cook cool core cover cream crumble crush cube cut deglaze dice dip "
        "discard dissolve divide dot drain dredge drizzle drop dry dust fill flatten fold form "
        "freeze fry garnish glaze grate grease grill grind heat keep knead ladle layer leave "
        "let line make marinate mash measure melt microwave mince mix peel pick place poach "
        "pour preheat prepare press puree put reduce refrigerate remove reserve return rinse "
        "roast roll rub saute sauté scoop score scrape sear season separate serve set shake "
        "shape shred sift simmer skim slice soak soften spoon spray spread sprinkle squeeze "
        "stand steam stir store strain stuff sweeten take taste thicken toast top toss transfer "
        "trim turn use warm wash whip whisk wrap",
        # Words that may precede these verbs.
        "afterwards also and carefully finally first gently gradually immediately just lightly "
        "meanwhile next now quickly second slowly step then third thoroughly",
        # Food; then kitchen equipment and measures; then actions and their results.
        "almond apple applesauce apricot artichoke asparagus avocado bacon banana basil batter "
        "bean beef beet berry biscuit blueberry bran bread breadcrumb broccoli broth brownie "
        "bun butter buttermilk cabbage cake candy caper caramel caraway cardamom carob carrot "
        "cashew cauliflower cayenne celeriac celery cereal cheddar cheese cheesecake cherry "
        "chicken chickpea chile chili chilli chive chocolate chutney cider cilantro cinnamon "
        "clam clove cocktail cocoa coconut cookie coriander cornmeal cornstarch couscous crab "
        "cracker cranberry cream crouton crumb crust cucumber cumin curry custard dessert dill "
        "dough dressing dumpling egg eggplant fennel feta filling flavor flavour flour frosting "
        "garlic gelatin ginger granola gravy ham hamburger herb honey icing jalapeno jam jelly "
        "juice ketchup lamb lasagna lemon lemonade lentil lettuce lime liqueur lobster macaroni "
        "mango margarine marinade marmalade marshmallow mayonnaise meat meatball meringue milk "
        "milkshake mint molasses mozzarella muffin mushroom mussel mustard noodle nutmeg oat "
        "oatmeal olive omelet omelette onion orange oregano oyster pancake paprika parmesan "
        "parsley pasta pastry peach peanut pear pecan pepper peppercorn pesto pickle pie "
        "pimento pineapple pizza popcorn pork potato poultry prawn prune pudding pumpkin quiche "
        "quinoa radish raisin raspberry relish rhubarb rib rice ricotta rosemary rum saffron "
        "sage salad salmon salsa salt sandwich sauce sausage scallion scallop seasoning sesame "
        "shallot sherbet sherry shortening shrimp smoothie soup soy spaghetti spice spinach "
        "squash steak stew strawberry stuffing sugar syrup taco tamarind tarragon thyme tofu "
        "tomato topping tortilla tuna turkey turmeric turnip vanilla veal vegetable vinegar "
        "vodka walnut wine worcestershire yoghurt yogurt yolk zest zucchini "
        "blender bowl broiler casserole colander cooker cup dash dish fork fridge griddle "
        "ingredient kettle ladle loaf microwave mixer ounce oven oz pan pinch platter pot quart "
        "ramekin recipe refrigerator saucepan serving sieve skewer skillet spatula spoon stove "
        "tablespoon tbsp teaspoon toothpick tsp wok "
        "bake baked baking baste beat beaten blanch blend boil boiling braise broil brown "
        "browned bubbly buttered chop chopped cook cooked cooking creamy crisp crispy crumble "
        "deglaze dice diced drain dredge drizzle fluffy fried fry frying garnish glaze golden "
        "grate grated grease greased grill knead lukewarm marinate mash melt melted mince "
        "minced nonstick peel peeled poach preheat preheated puree roast roasted saute sauteed "
        "sauté season serve shred shredded sift simmer simmering slice sliced soften softened "
        "sprinkle steam stir stirring strain taste tender thickened toast toasted toss "
        "uncovered ungreased whip whipped whisk",
        # Words of laboratories, cleaning and gardening, where pots, salt and vinegar occur, too:
        # each cancels one kitchen word.
        "agar alcohol bacteria buffer carpet centrifuge clean cleaner cleaning compost "
        "detergent dishwasher dna fertilizer garden grow incubate incubation laundry membrane "
        "pcr pipet pipette plant primer reagent sample soap soil solution sponge stain sterile "
        "supernatant tube",
    )
)

_SENTENCE_END = re.compile(r"[\n.;:!?]+|-lrb-|-rrb-")
_WORD = re.compile(r"[^\W\d_]+")
_STARTS_WITH_AMOUNT = re.compile(r"[^\w¼½¾⅓⅔⅛]*[\d¼½¾⅓⅔⅛]")


def is_recipe(text: str) -> bool:
    """Tell whether a text is a recipe.

    >>> is_recipe("Preheat the oven. Beat the eggs with sugar. Pour into a pan and bake.")
    True
    >>> is_recipe("The baker mixes flour with water. The dough rises. It is baked in the oven.")
    False
    """
    text = text.lower()
    return (
        measure_kitchen_words(text) >= _LEAST_KITCHEN
        and measure_imperatives(text) >= _LEAST_IMPERATIVES
    )


def measure_kitchen_words(text: str) -> float:
    """Give the share of kitchen words, minus that of other fields' words, in a lower-case text."""
    words = _WORD.findall(text)
    n_kitchen = sum(_is_one_of(word, _KITCHEN_WORDS) for word in words)
    n_others = sum(_is_one_of(word, _OTHER_WORDS) for word in words)
    return (n_kitchen - n_others) / max(1, len(words))


def measure_imperatives(text: str) -> float:
    """Give the share of sentences that start with an imperative, in a lower-case text.

    A line that starts with an amount (`2 cups flour`) is an ingredient and not counted.
    """
    n_imperatives = n_sentences = 0
    for sentence in _SENTENCE_END.split(text):
        words = [word for word in _WORD.findall(sentence) if word not in _BEFORE_IMPERATIVES]
        is_imperative = bool(words) and words[0] in _IMPERATIVES
        n_imperatives += is_imperative
        has_amount = _STARTS_WITH_AMOUNT.match(sentence) is not None
        n_sentences += is_imperative or (len(words) > 1 and not has_amount)
    return n_imperatives / max(1, n_sentences)


def _is_one_of(word: str, known: frozenset[str]) -> bool:
    """Tell whether a word, or a singular that it may be the plural of, is known."""
    return (
        word in known
        or (word.endswith("s") and word[:-1] in known)
        or (word.endswith("es") and word[:-2] in known)
        or (word.endswith("ies") and f"{word[:-3]}y" in known)
    )
