"""Small backends with business rules, to record and to learn from: classes that know nothing of plans."""

from support.backends.clinic import Clinic
from support.backends.ticket_office import TicketOffice
from support.backends.warehouse import Warehouse

BACKENDS = {"clinic": Clinic, "warehouse": Warehouse, "ticket_office": TicketOffice}
