from koala.document import Entity, Procedure, Step
from koala.inputs.examples import build_items, group_items
from koala.training.augmentation import hide_questions


def test_a_random_share_of_questions_is_hidden():
    procedures = [
        Procedure(
            str(n),
            (Step("Water falls."),),
            (Entity("water"), Entity("rain")),
            "How?",
            convention="propara",
        )
        for n in range(100)
    ]
    items = build_items(procedures, [((), ())] * len(procedures))
    hidden = hide_questions(items, 0.5, seed=1)
    assert [(i.procedure.id, i.entity) for i in hidden] == [
        (i.procedure.id, i.entity) for i in items
    ]
    # The entities of a procedure still share one text.
    assert len(group_items(hidden)) == len(procedures)
    assert 30 < sum(not group[0].procedure.question for group in group_items(hidden)) < 70
    assert hide_questions(items, 0.5, seed=1) == hidden != hide_questions(items, 0.5, seed=2)
    assert hide_questions(items, 0.0, seed=1) == items
