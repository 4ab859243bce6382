"""The grammar of the published language. docs/reference/behavior.md shows every form with an example. A form
is added because a rule needs it, never because some sentence does.
"""

from pipelines.core.simulation.rules.language.grammar import grammar_of

GRAMMAR = grammar_of("""
Sentence: tools=Tools clauses+=Clause (Also clauses+=Clause)* -> of_tools
  | when=When ","? (then | it)? tools=Tools clauses+=Clause (Also clauses+=Clause)* -> of_tools
  | Statement
Also: and | but | ("," | ";") (and | but)?

# -- which tools

Tools: The? tools+=<tool> tool? (Or tools+=<tool> tool?)* -> by_name
  | (all | every | any | each) (tool | tools | call | calls) -> every_tool
  | action=<doing> Any? type=<type> -> by_action
  | Any? action=<actions> (of Any? type=<type>)? -> by_action
  | action=<do> -> by_action
The: the | a | an
Any: The | any | each | every | all | an existing
Or: and | or | "," (and | or)?
Its: its | their | his | her | The

# -- refusals

Clause: Fails Answer? (when=When Answer?)? first=First? -> fails
  | (returns~ | answers~ | responds~) error=Error when=When? -> fails
  | instead=Instead when=When? first=First? -> fails
  | ignores~ the rule target=<text> when=When -> amends
  | (Fails Answer? | instead=Instead) instead of the rule target=<text> when=When? -> amends
  | (returns~ error=Error | Fails Answer?) NotThere -> not_found
  | OnlyWorks (when=When | (for | on | with) Things) Answer? Otherwise? -> only
  | (only accepts~ | accepts~ only) Things Answer? Otherwise? -> only
  | requires~ that when=Condition Answer? -> only
  | Refuses Things Answer? (and instead=Instead)? -> rejects
  | Refuses duplicate field=<field> Answer? -> unique
  | Refuses Any? field=<field> test=Test Answer? -> rejects_argument
  | (requires~ | needs~ | must be called with) The? field=<field> Answer? -> needs_argument
  | always Fails Answer? -> always
  | always returns~ error=Error -> always
  | Be (disabled | unavailable | switched off | turned off) Answer? -> disabled
  | Be (only (available | open) | available only | restricted | limited) (to | for) who=Who Answer?
    -> only_who
  | (can | may) (be called (at most | only | no more than)? | only be called) times=Times per=Per? Answer?
    -> limit_calls
  | (only (works~ | succeeds~) | (can | may) only be called | Be only allowed) after tool=<tool>
    ((was called | has? succeeded) | succeeds~)? per=Same? Answer? -> after
  | requires~ tool=<tool> (first | before | to have succeeded) per=Same? Answer? -> after
  | form=Effect when=When? -> changes
  | form=Reply when=When? -> changes
First: "," ahead of all other rules
Fails: fails~ | errors~ | will fail | (does~ | will) not (work | succeed)
  | Be (refused | rejected | declined | denied | blocked | forbidden | impossible | prohibited)
  | Be Never Allowed | Can Never be (called | used | made | done | processed)
Rejects: rejects~ | refuses~ | declines~ | does~ not accept
Refuses: Rejects | Fails (for | on)
OnlyWorks: only Works | Works only | Be? only Allowed | Be? Allowed only
  | Can only be (called | used | made | done)
Works: works~ | succeeds~ | goes~ through
Allowed: allowed | possible | permitted | available | accepted
Be: is | are | was | were | be | being
Can: can | may | must | shall | should | will
Never: not | never | no longer
When: (when | if | once | while | where | as long as | in case | provided that?) Condition
  | (unless | until) test=Condition -> not
NotThere: (when | if | for) The? type=<type> (does~ not exist | Be not found | Can not be found | is unknown)
  | (when | if | for) The? (unknown | missing | nonexistent) type=<type> (id | ids)?
Otherwise: ((";" | "," | ".")? otherwise | ";" (else | all others | anything else)) ","?
    (it | The? call | they)? (returns~ | fails~ | the answer is | responds~ | is (refused | rejected))? Answer
  | (";" | ",") in any other (state | case) the answer is Answer
Error: With? (http | status | error | code)* status=<status> code=<plain>? DescriptionFacts? (error | response | status)?
    -> error
  | With? (The? error code? | code)? code=<error> ((with | and)? (The | "(")? status status=<status> ")"?)?
    DescriptionFacts? (error | response)? -> error
  | With? error code code=<plain> DescriptionFacts? -> error
  | With? (message | error)? message=<text> -> error
  | "(" Error ")"
Answer: error=Error
With: (with | and returns~ | and (fails~ | answers~) with | "," returning) The? | ":" | The
DescriptionFacts: ":"? message=<text>
Instead: does~ nothing -> unchanged | (has | have) no effect -> unchanged | changes~ nothing -> unchanged
  | (returns~ | leaves~) (it | them | The? <type> | The? record) (unchanged | as it is) -> unchanged
  | returns~ The? empty list -> empty_list
Times: once -> once | twice -> twice | count=<number> times -> times
Per: per run | in (a | one) run | (per | for each | for the same) type=<type> -> per
Same: (for | on | of) the same type=<type> -> per

# -- statements about things

Statement: Things Can Never be action=<done> (when=When | after=AfterEvent)? Answer? -> cannot
  | (nobody Can | (you | one | users | callers | agents) Can Never) action=<do> Things when=When? Answer?
    -> cannot
  | only Things Can be action=<done> when=When? Answer? Otherwise? -> only_such
  | Things Can (only be action=<done> | be action=<done> only) when=When Answer? Otherwise? -> only_when
  | Any? type=<type> must when=Being (before (it | they) Can be | to be) action=<done> Answer? -> only_when
  | to action=<do> Any? type=<type> "," when=Condition Answer? -> only_when
  | Things Can (only be action=<done> | be action=<done> (at most | only | no more than)?) times=Times Answer?
    -> done_times
  | only who=Who Can action=<do> (Any? type=<type> | it) Answer? -> only_who_can
  | owner=<type> Can only (action=<do> | see | view | read | list | get) (their | his | her | its) own
    type=<type> Answer? -> own_only
  | Any? owner=<type> Can (Never have more than | have (at most | no more than | up to)) count=<number> Things
    Answer? -> most_things
  | no two type=<type> (can | may) (share | have) (The | the same)? field=<field> Answer? -> unique
  | Any? type=<type> "'s" field=<field> must be unique Answer? -> unique
  | (The? given? field=<field> (of tools=Tools)? | tools=Tools "'s" field=<field>) must never=Never? test=Test
    Answer? -> argument_must
  | Its? field=<field> must be (provided | given | present | set) when action=<doing> Any? type=<type> Answer?
    -> needs_argument
  | unknown type=<type> (ids | id)? (returns~ | are answered with | give | fail with) error=Error -> not_found
  | ref=Owned Can Never Bound Answer? -> never_beyond
  | after tools=Tools "," test=Condition Answer? -> afterwards
  | The? (total | sum) of amount=Term over all calls of tools=Tools per=Per?
    ((must | Can) not exceed | is at most | must be at most) limit=Term per=Per? Answer? -> running_total
  | all tools (succeed | work | behave normally) -> nothing
AfterEvent: more than span=Span after (it | they) (was | were) state=<state> -> after_event
Bound: (go | fall | drop | be | become) (below | under) low=Term | (be | become | go) negative
  | ((go | rise | be | become) (above | over) | exceed) high=Term

# -- who

Who: The? owner (of The? type=<type>)? -> owner
  | The? original? role=<role> (of The? type=<type>)? -> owner
  | The? <word> <word>? "(" test=Condition ")" -> caller_is
  | Things -> such_callers
  | States -> such_callers

# -- things, with a restriction

Things: Any? States? type=<type> limit=Restriction?
States: states+=<state> ((or | "," or?) states+=<state>)*
Restriction: (that | which | who) Being
  | whose test=Condition -> whose
  | where Condition
  | with The? field=<field> (of? test=Test | test=Equal) -> has
  | without (The | any)? field=<field> -> has_not
  | older than span=Span -> older
  | state=<state> timed=Timed -> was

# -- conditions

Condition: parts+=Conjunction ((or | "," or) parts+=Conjunction)* -> any_of
Conjunction: parts+=Atom ((and | but | "," (and | but)?) parts+=Atom)* -> all_of
Atom: either? "(" Condition ")"
  | code=<code> -> code
  | no field=<field> (is | was) (given | provided | set) -> not_given
  | Subject being=Being -> being
  | Subject (has | have) The? field=<field> (of? test=Test)? -> has
  | Subject (has | have) no field=<field> -> has_not
  | term=Term test=Test -> of_term
Subject: Any? type=<type> | it | they
Being: Is no=Never? already? States -> is_so
  | (has | have) no=Never? (already | since)? been? already? States -> has_been
  | Be no=Never? older than span=Span -> older
  | Be? no=Never? state=<state> timed=Timed -> was
Is: Be | must be
Test: (Is | "=" | equals | matches | match | must? equal) no=Never? Values -> is_value
  | ("!=" | does~ not (match | equal)) Values -> is_not
  | Is? no=Never? (different from | other than) Values -> is_not
  | Is? no=Never? in? (one of | any of | in) Listed -> is_value
  | Is? no=Never? sign=Sign than=Term -> compared
  | Is? no=Never? between low=Term and high=Term -> between
  | Is no=Never? what=Plainly -> plainly
  | Is? no=Never? timed=Timed -> timed
  | Is? no=Never? sign=Size than count=<number> characters -> length
  | (has | have | must have)? sign=Sign count=<number> characters -> length
Equal: Values -> is_value
Plainly: positive -> positive | negative -> negative | zero -> zero
  | (empty | missing | absent | blank | unset) -> missing
  | (set | given | provided | present | known) -> present
Sign: ("<" | (less | lower | fewer | smaller) than | below | under) -> less
  | (">" | (more | greater | higher | larger) than | above | over | exceeds | exceed | exceeding) -> more
  | ("<=" | at most | no more than | up to) -> at_most
  | (">=" | at least | no (less | fewer) than) -> at_least
Size: shorter -> less | longer -> more
Timed: sign=Sign span=Span (ago | before when=Moment) -> apart
  | sign=Sign span=Span (after | from) when=Moment -> apart_after
  | within the last span=Span -> within_last
  | within the next span=Span -> within_next
  | ((before | earlier than | until) when=Moment | in the past) -> before
  | ((after | later than) when=Moment | in the future) -> later
Span: (count=<number> | The) unit=Unit -> span
Unit: (minute | minutes) -> minutes | (hour | hours) -> hours | (day | days) -> days
  | (week | weeks) -> weeks | (month | months) -> months | (year | years) -> years
Moment: Now | value=<date> -> literal | ref=Ref -> moment
Now: (the run date | today | the current date) -> today | (now | the current time) -> now

# -- values

Values: values+=Value ((or | "," or?) values+=Known)*
Listed: "("? values+=Known (Or values+=Known)* ")"?
Value: Text | Term
Known: Text | Number
Text: value=<text> -> literal | value=<date> -> literal | The? state=<state> -> known_value | Switch
  | state=<unknown> -> known_value
Switch: true -> true | false -> false | null -> null
Number: value=<number> -> number | ("-" | minus) value=<number> -> negative_number
Term: first=Factor rest+=More* -> chain
More: sign=Added term=Factor
Added: ("+" | plus) -> plus | ("-" | minus) -> minus
Factor: first=Unary rest+=Multiple* -> chain
Multiple: sign=Multiplied term=Unary
Multiplied: ("*" | times) -> by | "/" -> over
Unary: Number | share=<percent> of term=Unary -> share | "(" Term ")"
  | The? sum of term=Term over The? field=<field> -> summed
  | The? number of Things -> number_of
  | code=<code> -> code_value | Ref
Ref: Owned | path=<path> -> path
  | (the (given | requested) | the call "'s") field=<field> -> given
  | (its | their | his | her) field=<field> -> field_of
  | The? field=<field> -> plain
Owned: Any? type=<type> "'s" field=<field> -> field_of
  | The? field=<field> of Any? type=<type> -> field_of
  | Any? type=<type> field=<field> -> field_of

# -- what a call changes

Effect: sets~ sets+=Setting ((and | ",") sets+=Setting)* before=Before? -> sets
  | sets~ The? field=<field> for Every type=<type> where test=Condition to value=SetValue before=Before? -> sets_each
  | clears~ The? field=<field> for Every type=<type> where test=Condition before=Before? -> sets_each
  | removes~ Every type=<type> where test=Condition before=Before? -> removes_each
  | does~ not itself change (ref=Owned | The? type=<type>) -> drops_changes
  | marks~ (The? type=<type> | it) as (state=<state> | name=<name>) -> marks
  | (records~ | stores~ | saves~ | keeps~) The? field=<field> ((as | in) (ref=Owned | name=<name>))?
    -> records
  | (clears~ | removes~ | unsets~) ref=Ref -> clears
  | (increases~ | raises~ | increments~) ref=Ref by by=Amount -> adds_to
  | (adds~ | credits~) by=Amount to ref=Ref -> adds_to
  | (decreases~ | reduces~ | lowers~ | decrements~) ref=Ref by by=Amount -> takes_from
  | (subtracts~ | deducts~ | takes~) by=Amount from ref=Ref -> takes_from
  | adds~ by=Number field=<field> to The? type=<type> -> adds_to
  | (adds~ | creates~ | records~) The? (type=<type> | name=<newtype>) with
    fields+=Filled ((and | "," and?) fields+=Filled)* -> adds
  | (removes~ | deletes~) The? type=<type> -> removes
  | (sets~ | raises~) The? flag=<name> flag -> raises_flag
  | (clears~ | lowers~ | unsets~) The? flag=<name> flag -> lowers_flag
Every: every | all | each
Before: "," as things were before the call
Setting: (ref=Owned | Any? type=<type> "'s" name=<name> | path=<path> | Its? name=<name>) to value=SetValue
SetValue: Now | value=<text> -> literal | value=<date> -> literal | Switch
  | (name=<state> | name=<name>) -> new_value | Term
Amount: Span | Term
Filled: (name=<field> | name=<name>) ("=" | of)? value=SetValue

# -- what a reply shows

Reply: (computes~ | calculates~ | returns~ | shows~) puts+=Computed ((and | "," and?) puts+=Computed)*
    -> computes
  | never (returns~ | shows~) The? negative field=<field> -> not_negative
  | caps~ The? field=<field> at limit=Term -> caps
  | Lists (at most | no more than | up to) count=<number> Items (","? order=Order)? -> takes
  | Lists pages=Pages of count=<number> Items? -> takes
  | Lists (Items | The? Things)? ","? order=Order -> sorts
  | (only Lists | Lists only) Things -> keeps
  | (excludes~ | omits~ | hides~ | leaves~ out | does~ not (return | show | list | include)) Things -> drops
  | Lists Things first ("," then order=Order)? -> puts_first
  | (does~ not (include | return | show | expose | reveal) | omits~ | hides~
    | never (includes~ | returns~ | shows~ | exposes~ | reveals~)) Names -> without
  | (only (returns~ | shows~ | includes~) | (returns~ | shows~ | includes~) only) Names -> shows_only
  | masks~ The? names+=<field> (Or The? names+=<field>)*
    ((except | but) for? the last count=<number> (digits | characters))? -> masks
Lists: returns~ | shows~ | lists~
Pages: pages
Names: The? names+=<field> (Or The? names+=<field>)* (field | fields)?
Computed: name=<name> ("=" as? | as) term=Term Rounded? ("(" <percent> <word> <word>? ")")?
Rounded: ","? rounded to digits=<number> (decimals | decimal places | places | digits)
Items: items | results | entries | records | <type> | of them
Order: (most recent | newest | latest) first -> newest | (oldest | least recent) first -> oldest
  | (sorted | ordered) by keys+=SortKey (","? then by keys+=SortKey)* -> by_fields
SortKey: The? field=<field> Way?
Way: down=Down | ascending | "," lowest first
Down: descending | "," highest first
""")
