"""Where core/verdict finds these names; they live in core/english and in the domain."""

from pipelines.core.english.inflection import participle as participle
from pipelines.core.english.words import article as article
from pipelines.core.english.words import is_plural as is_plural
from pipelines.core.english.words import joined as joined
from pipelines.core.english.words import plural as plural
from pipelines.core.english.words import singular as singular
from pipelines.core.english.words import tokens as tokens
from pipelines.core.english.words import word_set as word_set
from pipelines.core.simulation.domain.tool_names import ToolName as ToolName
from pipelines.core.simulation.domain.tool_names import first_sentence as first_sentence
from pipelines.core.simulation.domain.tool_names import read_tool_name as read_tool_name
from pipelines.core.simulation.domain.tool_names import without_generic as without_generic
from pipelines.core.simulation.domain.verbs import READS as READS
