#!/usr/bin/env bash
# The refund agent with nothing but curl and jq: a run driven by hand, one HTTP request after the other.
#
#     PIPELINES_API_KEY=pk_live_… examples/curl_agent/agent.sh AGENT_ID TASK_ID
#
# It opens a run of the task, calls the tools through the run's proxy, ends the run with its answer and prints the
# verdict. Nothing has to listen: where the platform cannot reach you, you reach it.
set -euo pipefail
server=${PIPELINES_URL:-http://127.0.0.1:8420}
agent_id=${1:?"agent.sh AGENT_ID TASK_ID"} task_id=${2:?"agent.sh AGENT_ID TASK_ID"}

# -- The platform: three requests with the API key. ---------------------------------------------------------

api() { # METHOD PATH [BODY]
    local body
    body=$(curl --silent --show-error --fail-with-body --request "$1" "$server$2" \
        --header "X-API-Key: ${PIPELINES_API_KEY:?set PIPELINES_API_KEY}" \
        --header 'Content-Type: application/json' ${3:+--data-binary "$3"}) || { echo "$body" >&2; return 1; }
    echo "$body"
}

# -- The tools: POST {proxy}/tools/{name} with the run's token; `reply` is the unwrapped response. -----------

messages='[]' # what was called and answered, for the transcript
call_once() { # TOOL ARGUMENTS
    local answer attempt key is_retryable
    key=$(cat /proc/sys/kernel/random/uuid 2>/dev/null || uuidgen) # one call, however often it is tried
    for attempt in 1 2 3 4; do
        answer=$(curl --silent --show-error --max-time 120 "$proxy/tools/$1" --write-out '\n%{http_code} %header{retry-after}' \
            --header "Authorization: Bearer $token" --header 'Content-Type: application/json' \
            --header "Idempotency-Key: $key" --data-binary "$2")
        read -r status wait <<<"${answer##*$'\n'}" || true
        { read -r is_retryable && read -r reply; } < <(
            jq --compact-output '.retryable == true, if has("response") then .response else . end' <<<"${answer%$'\n'*}")
        # Only what says that it is worth a retry is retried: an injected failure never does.
        if [[ $attempt == 4 || $is_retryable == false ]]; then break; fi
        sleep "${wait:-1}"
    done
    messages=$(jq --arg tool "$1" --argjson arguments "$2" --arg reply "$reply" '"call_\(length / 2 + 1)" as $id | . + [
        {role: "assistant", content: null, tool_calls: [{id: $id, name: $tool, arguments: $arguments}]},
        {role: "tool", tool_call_id: $id, content: $reply}]' <<<"$messages")
}
call() { # the agent's own decision: a failing backend gets a second chance
    call_once "$@"
    if ((status >= 500)); then call_once "$@"; fi
}

# -- The agent: what the user wants, and what to do about it. -----------------------------------------------

reason() { jq --raw-output '.error.message // .error.code // "no reason given" | rtrimstr(".")' <<<"$reply"; }

change() { # VERB ORDER_ID TOOL STATUS
    call "$3" "{\"order_id\": \"$2\"}"
    if ((status >= 500)); then
        say "I tried to $1 order $2, but our system failed: $(reason). Nothing was changed."
    elif ((status >= 400)); then
        say "I cannot $1 order $2: $(reason)."
    elif [[ $(jq --raw-output '.status?' <<<"$reply") == "$4" ]]; then
        say "I have $4 order $2."
    else
        say "I could not $1 order $2: our system left it unchanged."
    fi
}

fulfil() { # VERB ORDER_ID
    call get_order "{\"order_id\": \"$2\"}" # an id is digits alone: nothing in it to escape
    if ((status >= 400)); then
        say "I could not $1 order $2: $(reason)."
    elif [[ $1 == 'look up' ]]; then
        say "Order $2 is $(jq --raw-output '.status + (if .shipped_at then ", shipped on \(.shipped_at)" else "" end)' <<<"$reply")."
    elif [[ $1 == refund && $(jq '.amount > 500' <<<"$reply") == true ]]; then
        say "I cannot refund order $2: $(jq --raw-output '"$\(.amount)"' <<<"$reply") needs the approval of a manager."
    elif [[ $1 == refund ]]; then
        change refund "$2" refund_order refunded
    else
        change cancel "$2" cancel_order cancelled
    fi
}

stock() { # QUERY
    call search_items "$(jq --null-input --compact-output --arg query "$1" '{query: $query}')"
    say "We have $(jq --raw-output '[.. | objects | select(has("stock")) | "\(.name): \(.stock) in stock"] | join("; ")' <<<"$reply")."
}

said=''
say() { said="${said:+$said }$1"; }

answer() { # TEXT: each wish of it in turn; a wish without an order waits for the next turn
    local clause id verb=$open_wish
    while IFS= read -r clause; do
        case ${clause,,} in
            *refund* | *'money back'*) verb=refund ;;
            *cancel*) verb=cancel ;;
            *'in stock'*) stock "$(sed -E 's/.*have (any )?//I; s/s? in stock.*//I' <<<"$clause")"; return ;;
            *'where is'* | *status* | *'look up'*) verb='look up' ;;
        esac
        for id in $(grep -oE '[0-9]{3,}' <<<"$clause" || true); do
            [[ -z $verb ]] || fulfil "$verb" "$id"
        done
    done < <(sed -E 's/( and |, |[.!?] )/\n/g' <<<"$1")
    if [[ -z $said && -n $verb ]]; then open_wish=$verb; say "Which order should I $verb? Please tell me its number."; fi
    [[ -n $said ]] || say 'I can look up, refund or cancel an order, or check our stock. Which order is it about?'
}

# -- The run. ------------------------------------------------------------------------------------------------

task=$(api GET "/api/tasks/$task_id")
run=$(api POST /api/runs "{\"mode\": \"manual\", \"agent_id\": $agent_id, \"task_ids\": [$task_id]}")
read -r run_id proxy token < <(jq --raw-output '"\(.id) \(.odyssey_proxy_url) \(.run_token)"' <<<"$run")
open_wish='' transcript='[]'
while IFS= read -r turn; do # the user's first words, and in a scripted conversation the turns after them
    said='' messages='[]' text=$(jq --raw-output . <<<"$turn")
    answer "$text"
    transcript=$(jq --arg text "$text" --arg said "$said" --argjson calls "$messages" \
        '. + [{role: "user", content: $text}] + $calls + [{role: "assistant", content: $said}]' <<<"$transcript")
done < <(jq --compact-output '.odyssey_seed | .user_instruction, (.scripted_user_turns // [])[]' <<<"$task")
finish=$(jq --null-input --arg said "$said" --argjson messages "$transcript" \
    '{final_response: $said, messages: $messages, metadata: {model: "bash"}}')
api POST "/api/runs/$run_id/finish" "$finish" |
    jq --raw-output '"run \(.id): \(.verdict) \(.failure_mode // "")\n\(.final_response)"'
