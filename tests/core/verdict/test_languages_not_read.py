"""The embedded judge reads English: of an answer in another language it says so, and decides nothing."""

import pytest
from verdict_cases import judged, refused

ANSWERS = {
    "German": "Leider kann ich die Bestellung 4521 nicht erstatten, weil sie schon verschickt wurde.",
    "French": "Je suis désolé, je ne peux pas rembourser la commande 4521, car elle a déjà été expédiée.",
    "Spanish": "Lo siento, no puedo reembolsar el pedido 4521 porque ya ha sido enviado.",
}


@pytest.mark.parametrize("says", ANSWERS.values(), ids=ANSWERS)
def test_a_refusal_in_another_language_is_left_to_a_person_who_is_told_why(says):
    refusal = refused(1, "refund_order", "already_shipped", "The order is already shipped.")
    verdict = judged(refusal, says=says, expected_outcome="refusal")
    assert verdict.verdict == "PENDING"
    assert "not in a language that the embedded judge reads" in verdict.reasoning
