"""A clinic: patients with allergies, doctors with opening hours, appointments, prescriptions and bills."""

import random
from typing import ClassVar

from support.backends.backend import Backend, Refusal, Row, tool

FEES = {"checkup": 80.0, "consultation": 120.0, "vaccination": 45.5}
DRUGS = {"amoxicillin": "penicillin", "ibuprofen": "nsaid", "loratadine": "antihistamine"}
SLOTS = ("09:00", "10:30", "14:00", "15:30")


class Clinic(Backend):
    tools: ClassVar = [
        tool("find_patient", "Find a patient by name and date of birth.", name="string", born="string"),
        tool("get_patient", "Get the file of a patient.", patient_id="string"),
        tool("list_doctors", "Doctors, of one specialty where it is given.", specialty="string?"),
        tool("free_slots", "Free slots of a doctor on a day.", doctor_id="string", day="string"),
        tool(
            "book_appointment",
            "Book an appointment.",
            patient_id="string",
            doctor_id="string",
            day="string",
            slot="string",
            kind="string",
        ),
        tool("cancel_appointment", "Cancel an appointment.", appointment_id="string", reason="string?"),
        tool("list_appointments", "Appointments of a patient.", patient_id="string", status="string?"),
        tool("add_allergy", "Note an allergy of a patient.", patient_id="string", substance="string"),
        tool("prescribe", "Prescribe a drug.", patient_id="string", drug="string", days="integer"),
        tool("pay_bill", "Pay what a patient owes.", patient_id="string", amount="number"),
        tool(
            "update_contact", "Change phone or email.", patient_id="string", phone="string?", email="string?"
        ),
    ]

    def __init__(self, chance: random.Random) -> None:
        super().__init__(chance)
        names = ["Ana Ruiz", "Ben Okafor", "Chen Li", "Dora Novak", "Emil Berg", "Fay Odum"]
        drugs = ["penicillin", "nsaid", "latex"]
        self.state["patients"] = {
            f"P{101 + n}": {
                "name": name,
                "born": f"19{60 + 5 * n}-0{n + 1}-1{n}",
                "contact": {"phone": f"555-01{n}0", "email": f"{name.split()[0].lower()}@mail.test"},
                "allergies": chance.sample(drugs, chance.randrange(3)),
                "balance": float(chance.choice([0, 45.5, 80, 120])),
            }
            for n, name in enumerate(names)
        }
        self.state["doctors"] = {
            f"D{n}": {"name": f"Dr. {name}", "specialty": specialty, "days": days}
            for n, (name, specialty, days) in enumerate(
                [
                    ("Hale", "general", ["Mon", "Tue", "Wed"]),
                    ("Imai", "dermatology", ["Tue", "Thu"]),
                    ("Jung", "general", ["Thu", "Fri"]),
                    ("Kaur", "pediatrics", ["Mon", "Fri"]),
                ],
                1,
            )
        }
        self.state["appointments"] = {
            f"A{5001 + n}": {
                "patient_id": chance.choice(list(self.state["patients"])),
                "doctor_id": chance.choice(list(self.state["doctors"])),
                "day": chance.choice(["Mon", "Tue", "Thu"]),
                "slot": chance.choice(SLOTS),
                "kind": chance.choice(list(FEES)),
                "status": chance.choice(["booked", "booked", "done", "cancelled"]),
            }
            for n in range(8)
        }
        self.state["prescriptions"] = {}

    def likely_call(self) -> tuple[str, Row]:
        pick, patient, doctor = self.chance.choice, self.some("patients"), self.some("doctors")
        record = self.state["patients"].get(patient, {"name": "Nobody Known", "born": "1950-01-01"})
        day = pick(["Mon", "Tue", "Wed", "Thu", "Fri"])
        calls: list[tuple[str, Row]] = [
            ("find_patient", {"name": record["name"], "born": record["born"]}),
            ("get_patient", {"patient_id": patient}),
            ("list_doctors", pick([{}, {"specialty": pick(["general", "pediatrics", "dermatology"])}])),
            ("free_slots", {"doctor_id": doctor, "day": day}),
            (
                "book_appointment",
                {
                    "patient_id": patient,
                    "doctor_id": doctor,
                    "day": day,
                    "slot": pick(SLOTS),
                    "kind": pick(list(FEES)),
                },
            ),
            (
                "cancel_appointment",
                {"appointment_id": self.some("appointments")}
                | pick([{}, {"reason": pick(["ill", "travel"])}]),
            ),
            ("list_appointments", {"patient_id": patient} | pick([{}, {"status": "booked"}])),
            ("add_allergy", {"patient_id": patient, "substance": pick(["latex", "nsaid", "pollen"])}),
            (
                "prescribe",
                {"patient_id": patient, "drug": pick([*DRUGS, "aspirin"]), "days": pick([5, 7, 40])},
            ),
            ("pay_bill", {"patient_id": patient, "amount": pick([20.0, 45.5, 200.0])}),
            (
                "update_contact",
                {"patient_id": patient} | pick([{"phone": "555-7777"}, {"email": "new@mail.test"}]),
            ),
        ]
        return pick(calls)

    def _patient(self, id: str) -> Row:
        return self.found("patients", id, f"Patient {id} not found")

    def find_patient(self, name: str, born: str) -> Row:
        for id, one in self.state["patients"].items():
            if one["name"] == name and one["born"] == born:
                return {"patient_id": id, "name": one["name"]}
        raise Refusal({"error": f"No patient {name} born {born}"})

    def get_patient(self, patient_id: str) -> Row:
        return {"id": patient_id} | self._patient(patient_id)

    def list_doctors(self, specialty: str | None = None) -> list[Row]:
        return [
            {"id": id, "name": one["name"], "specialty": one["specialty"]}
            for id, one in self.state["doctors"].items()
            if specialty is None or one["specialty"] == specialty
        ]

    def free_slots(self, doctor_id: str, day: str) -> Row:
        doctor = self.found("doctors", doctor_id, f"Doctor {doctor_id} not found")
        if day not in doctor["days"]:
            return {"doctor": doctor["name"], "day": day, "slots": []}
        taken = [
            one["slot"]
            for one in self.state["appointments"].values()
            if one["doctor_id"] == doctor_id and one["day"] == day and one["status"] == "booked"
        ]
        return {"doctor": doctor["name"], "day": day, "slots": [slot for slot in SLOTS if slot not in taken]}

    def book_appointment(self, patient_id: str, doctor_id: str, day: str, slot: str, kind: str) -> Row:
        patient = self._patient(patient_id)
        doctor = self.found("doctors", doctor_id, f"Doctor {doctor_id} not found")
        if day not in doctor["days"]:
            raise Refusal({"error": f"{doctor['name']} does not work on {day}"})
        for one in self.state["appointments"].values():
            if (one["doctor_id"], one["day"], one["slot"]) == (doctor_id, day, slot) and one[
                "status"
            ] == "booked":
                raise Refusal({"error": "slot_taken", "slot": slot})
        id = f"A{5001 + len(self.state['appointments'])}"
        self.state["appointments"][id] = {
            "patient_id": patient_id,
            "doctor_id": doctor_id,
            "day": day,
            "slot": slot,
            "kind": kind,
            "status": "booked",
        }
        patient["balance"] = round(patient["balance"] + FEES[kind], 2)
        return {"appointment_id": id, "status": "booked", "fee": FEES[kind], "balance": patient["balance"]}

    def cancel_appointment(self, appointment_id: str, reason: str | None = None) -> Row:
        one = self.found("appointments", appointment_id, f"Appointment {appointment_id} not found")
        if one["status"] != "booked":
            raise Refusal({"error": f"Appointment {appointment_id} is already {one['status']}"})
        one["status"] = "cancelled"
        if reason is not None:
            one["reason"] = reason
        return {"message": f"Appointment {appointment_id} on {one['day']} at {one['slot']} is cancelled"}

    def list_appointments(self, patient_id: str, status: str | None = None) -> list[Row]:
        self._patient(patient_id)
        return [
            {"id": id, "day": one["day"], "slot": one["slot"], "status": one["status"]}
            for id, one in self.state["appointments"].items()
            if one["patient_id"] == patient_id and (status is None or one["status"] == status)
        ]

    def add_allergy(self, patient_id: str, substance: str) -> Row:
        patient = self._patient(patient_id)
        if substance in patient["allergies"]:
            return {"status": "unchanged", "allergies": patient["allergies"]}
        patient["allergies"].append(substance)
        return {"status": "added", "allergies": patient["allergies"]}

    def prescribe(self, patient_id: str, drug: str, days: int) -> Row:
        patient = self._patient(patient_id)
        if drug not in DRUGS:
            raise Refusal({"error": f"Unknown drug {drug}"})
        if DRUGS[drug] in patient["allergies"]:
            raise Refusal({"error": f"{patient['name']} is allergic to {DRUGS[drug]}"})
        if days > 30:
            raise Refusal({"error": "At most 30 days"})
        id = f"RX-{self.chance.randrange(10**6):06d}"
        self.state["prescriptions"][id] = {"patient_id": patient_id, "drug": drug, "days": days, "refills": 0}
        return {"prescription_id": id, "text": f"{drug} for {days} days"}

    def pay_bill(self, patient_id: str, amount: float) -> Row:
        patient = self._patient(patient_id)
        if amount > patient["balance"]:
            raise Refusal({"error": f"Only {patient['balance']:.2f} is owed"})
        patient["balance"] = round(patient["balance"] - amount, 2)
        return {"paid": amount, "balance": patient["balance"], "settled": patient["balance"] == 0}

    def update_contact(self, patient_id: str, phone: str | None = None, email: str | None = None) -> Row:
        contact = self._patient(patient_id)["contact"]
        if phone is not None:
            contact["phone"] = phone
        if email is not None:
            contact["email"] = email
        return {"patient_id": patient_id, "contact": contact}
