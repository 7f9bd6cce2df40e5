#!/usr/bin/env python3
"""llmserver.py - scripted LLM server for testing coding-agent CLIs. Python >= 3.9, stdlib only.

Speaks, on one loopback port:
  Anthropic   POST /v1/messages (JSON + SSE)   POST /v1/messages/count_tokens   GET /v1/models[/ID]
  OpenAI      POST /v1/chat/completions (JSON + SSE)   POST /v1/responses (JSON + SSE)   GET /v1/models
  Gemini      POST /v1beta/models/M:generateContent | :streamGenerateContent?alt=sse | :countTokens
  control     GET /__state   POST /__reset   POST /__script   POST /__shutdown
Any path may be prefixed with /lane/NAME : that request then uses script["lanes"][NAME].

Script (JSON; YAML too when PyYAML happens to be importable): an object
  {"turns": [TURN...], "lanes": {"NAME": [TURN...]}, "side": [{"match": RE, "text": "..."}],
   "on_exhausted": TURN, "cwd": "/abs/dir", "require_key": "sk-..."}     (or just a list of TURNs)
TURN:
  text       assistant text
  thinking   (anthropic) a thinking block first
  do         list of client-neutral actions, mapped onto whatever tools the client offered:
               {"bash": "cmd"} {"write": {"path","content"}} {"edit": {"path","old","new"}}
               {"read": "path"} {"finish": "message"}
  tools      list of literal calls {"name": "...", "input": {...}}  ("input": "raw string" -> custom tool)
  match      regex searched in the flattened request (system + all messages); match_last: last message only
  times      serve this turn N times before it is consumed (-1: for ever);  default 1
  usage      {"input","output","cache_read","cache_write","reasoning"}; default: estimated
  stop_reason  override (anthropic wording: end_turn tool_use max_tokens refusal ...)
  model      model name to report
  delay      seconds before the first byte;  chunk_delay: seconds between SSE events
  error      {"status": 429, "type": "rate_limit_error", "code": "...", "message": "...", "headers": {...}, "body": {...}}
  stream_error  {"type","message"}: an error event in mid-stream
  truncate   send N SSE events (or N bytes of JSON), then drop the connection;  0: drop at once
  hang       seconds to stay silent after `truncate` events (default 0 events) and then drop
The first unconsumed turn whose match/match_last hit is used.  Side requests (titles, topics, quota
probes, commit messages, classifier calls) never consume turns.
"""

import argparse, itertools, json, os, re, socket, sys, threading, time, uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit, parse_qs

_ids = itertools.count(1)


def nid(p):
    return "%s_%06d%s" % (p, next(_ids), uuid.uuid4().hex[:10])


# ---------------------------------------------------------------- side requests
SIDE = [  # (name, regex on system prompt or first 3000 chars of the flattened request, answer)
    ("topic", r"isNewTopic|new conversation topic", '{"isNewTopic": true, "title": "Scripted task"}'),
    (
        "title",
        r"title generator|generate a (?:concise|short|brief)[^.\n]{0,80}title|(?:concise|short)[, \w-]{0,40}title (?:for|that)|session title|conversation title|thread title",
        "Scripted task",
    ),
    (
        "commit",
        r"one-line Git commit message|generate[s]? (?:a )?(?:concise )?(?:git )?commit message",
        "chore: scripted edit",
    ),
    ("bashprefix", r"command_injection_detected|bash command prefix", "none"),
    (
        "filepaths",
        r"Extract any file paths",
        "<is_displaying_contents>false</is_displaying_contents>\n<filepaths>\n</filepaths>",
    ),
    (
        "summary",
        r"summarize the (?:following )?conversation|briefly summarize this partial conversation",
        "Scripted summary.",
    ),
    ("nextspeaker", r"who should logically speak next", '{"reasoning":"done","next_speaker":"user"}'),
]


def from_schema(s, defs=None):
    if not isinstance(s, dict):
        return None
    defs = defs or s.get("$defs") or s.get("definitions") or {}
    if "$ref" in s:
        return from_schema(defs.get(s["$ref"].split("/")[-1], {}), defs)
    if "const" in s:
        return s["const"]
    if s.get("enum"):
        return s["enum"][0]
    for k in ("anyOf", "oneOf", "allOf"):
        if s.get(k):
            return from_schema(s[k][0], defs)
    t = s.get("type")
    t = (t[0] if isinstance(t, list) and t else t) or ("object" if "properties" in s else "string")
    t = str(t).lower()
    if t == "object":
        pr = s.get("properties") or {}
        return {k: from_schema(v, defs) for k, v in pr.items() if k in (s.get("required") or pr)}
    return {"array": [], "boolean": False, "integer": 1, "number": 1, "null": None}.get(t, "scripted")


# ---------------------------------------------------------------- request normalisation
def flat(x):
    if x is None:
        return ""
    if isinstance(x, str):
        return x
    if isinstance(x, list):
        return "\n".join(filter(None, map(flat, x)))
    if isinstance(x, dict):
        return "\n".join(
            filter(
                None,
                (
                    flat(x[k])
                    for k in (
                        "text",
                        "content",
                        "output",
                        "input",
                        "parts",
                        "arguments",
                        "functionResponse",
                        "response",
                        "functionCall",
                        "args",
                    )
                    if k in x
                ),
            )
        ) or (json.dumps(x) if not set(x) & {"type", "text", "content"} else "")
    return str(x)


class Req:
    """protocol-neutral view of one request"""

    def __init__(self, proto, body):
        self.proto, self.body = proto, body
        self.model = body.get("model") or "scripted"
        self.stream = bool(body.get("stream"))
        self.tools = {}  # name -> (schema, kind)
        self.max_tokens = body.get("max_tokens") or body.get("max_output_tokens") or body.get("max_completion_tokens")
        self.schema = None
        for t in body.get("tools") or []:
            if not isinstance(t, dict):
                continue
            if proto == "anthropic":
                self.tools[t.get("name", "?")] = (t.get("input_schema") or {}, "function")
            elif proto == "chat":
                f = t.get("function") or t.get("custom") or {}
                self.tools[f.get("name", "?")] = (f.get("parameters") or {}, t.get("type", "function"))
            elif proto == "responses":
                if t.get("type") == "namespace":
                    for u in t.get("tools") or []:
                        self.tools[u.get("name", "?")] = (u.get("parameters") or {}, "ns:" + str(t.get("name")))
                else:
                    self.tools[t.get("name") or t.get("type", "?")] = (
                        t.get("parameters") or {},
                        t.get("type", "function"),
                    )
            elif proto == "gemini":
                for f in t.get("functionDeclarations") or t.get("function_declarations") or []:
                    self.tools[f.get("name", "?")] = (
                        f.get("parametersJsonSchema") or f.get("parameters") or {},
                        "function",
                    )
        if proto == "anthropic":
            self.system, self.msgs = flat(body.get("system")), body.get("messages") or []
            oc = (body.get("output_config") or {}).get("format") or body.get("output_format") or {}
            self.schema = oc.get("schema")
        elif proto == "chat":
            m = body.get("messages") or []
            self.system = flat([x.get("content") for x in m if x.get("role") in ("system", "developer")])
            self.msgs = [x for x in m if x.get("role") not in ("system", "developer")]
            rf = body.get("response_format") or {}
            self.schema = (rf.get("json_schema") or {}).get("schema") or (
                {} if rf.get("type") == "json_object" else None
            )
        elif proto == "responses":
            m = body.get("input") or []
            m = [{"role": "user", "content": m}] if isinstance(m, str) else m
            self.system = (
                flat(body.get("instructions"))
                + "\n"
                + flat([x.get("content") for x in m if x.get("role") in ("system", "developer")])
            )
            self.msgs = [x for x in m if x.get("role") not in ("system", "developer")]
            self.schema = ((body.get("text") or {}).get("format") or {}).get("schema")
        else:
            self.system = flat(body.get("systemInstruction") or body.get("system_instruction"))
            self.msgs = body.get("contents") or []
            g = body.get("generationConfig") or {}
            self.max_tokens = g.get("maxOutputTokens")
            self.schema = g.get("responseJsonSchema") or g.get("responseSchema")
        self.last = flat(self.msgs[-1:]) if self.msgs else ""
        self.text = self.system + "\n" + flat(self.msgs)

    def cwd(self):
        for rx in (
            r"<cwd>(/[^<]+)</cwd>",
            r"(?:Primary working directory|[Ww]orking directory|Workspace root folder|[Cc]urrent working directory|workspace directory|Current folder|cwd)\W{0,4}(?:is|:)?\s*[`'\"]*(/[^\s`'\"<),]+)",
            r"working (?:in|with) (?:the )?(?:following )?director(?:y|ies)[^\n]{0,20}?:?\s*-?\s*[`'\"]*(/[^\s`'\"<),]+)",
        ):
            m = re.search(rx, self.text)
            if m:
                return m.group(1).rstrip("/.")
        return None


# ---------------------------------------------------------------- neutral action -> tool call
BASH = [
    "Bash",
    "bash",
    "run_shell_command",
    "exec_command",
    "shell_command",
    "shell",
    "execute_command",
    "execute_bash",
    "terminal",
    "Execute",
    "run_terminal_cmd",
    "developer__shell",
    "run_commands",
    "local_shell",
    "Shell",
    "launch-process",
]
WRITE = [
    "Write",
    "write",
    "write_file",
    "write_to_file",
    "create",
    "create_file",
    "Create",
    "editor",
    "save-file",
    "WriteFile",
    "developer__text_editor",
]
EDIT = ["Edit", "edit", "replace", "edit_file", "str_replace", "search_replace", "StrReplaceFile"]
READ = ["Read", "read", "read_file", "view", "ReadFile", "read_files"]
FINISH = ["attempt_completion", "task_complete", "submit_and_exit", "finish"]
SYN = {
    "command": ["command", "cmd", "commands", "script"],
    "path": ["file_path", "filePath", "path", "filepath", "absolute_path", "target_file", "file", "paths", "files"],
    "content": ["content", "contents", "file_text", "text", "new_text", "file_content"],
    "old": ["old_string", "oldString", "old_str", "old_text", "oldText", "search"],
    "new": ["new_string", "newString", "new_str", "new_text", "newText", "replace"],
    "message": ["result", "message", "summary", "text"],
}


def pick(req, names):
    for n in names:
        if n in req.tools:
            return n
    return None


def fill(req, name, vals):
    schema = req.tools[name][0]
    props = schema.get("properties") or {}
    out = {}
    for k, v in vals.items():
        for c in SYN[k]:
            if c in props:
                p = props[c]
                ty = p.get("type") or next((q.get("type") for q in p.get("anyOf", []) if q.get("type")), None)
                if ty == "array":
                    it = p.get("items") or {}
                    if k == "command" and name in ("shell", "local_shell"):
                        v = ["bash", "-lc", v]
                    elif it.get("type") == "object":
                        v = [
                            {
                                kk: v if kk in SYN[k] else from_schema(vv)
                                for kk, vv in (it.get("properties") or {}).items()
                                if kk in (it.get("required") or [])
                            }
                        ]
                    else:
                        v = [v]
                out[c] = v
                break
    for r in schema.get("required") or []:
        if r not in out:
            out[r] = from_schema(props.get(r) or {}, schema.get("$defs"))
    if "description" in props and "description" not in out:
        out["description"] = "scripted step"
    return out


def heredoc(path, content):
    tag = "EOF_SCRIPTED"
    d = os.path.dirname(path)
    return ("mkdir -p %s && " % d if d else "") + "cat > %s <<'%s'\n%s%s%s" % (
        path,
        tag,
        content,
        "" if content.endswith("\n") else "\n",
        tag,
    )


def resolve(req, turn, cwd):
    """-> (text, [ (name, input, kind) ])"""
    text, calls = turn.get("text") or "", []
    for t in turn.get("tools") or []:
        calls.append((t["name"], t.get("input", {}), req.tools.get(t["name"], ({}, "function"))[1]))
    base = cwd or req.cwd()
    ab = lambda p: p if os.path.isabs(p) or not base else os.path.join(base, p)
    mini_text = "mswea_bash_command" in req.text and not req.tools
    for a in turn.get("do") or []:
        ((k, v),) = a.items()
        name, inp = None, None
        if k == "bash":
            name = pick(req, BASH)
            inp = name and fill(req, name, {"command": v})
        elif k == "write":
            name = pick(req, WRITE)
            if name:
                inp = fill(req, name, {"path": ab(v["path"]), "content": v["content"]})
            elif req.tools.get("apply_patch", (0, ""))[1] == "custom":
                name = "apply_patch"
                inp = "*** Begin Patch\n*** Add File: %s\n%s\n*** End Patch" % (
                    v["path"],
                    "\n".join("+" + l for l in v["content"].rstrip("\n").split("\n")),
                )
            else:
                name = pick(req, BASH)
                inp = name and fill(req, name, {"command": heredoc(v["path"], v["content"])})
        elif k == "edit":
            name = pick(req, EDIT)
            if name:
                inp = fill(req, name, {"path": ab(v["path"]), "old": v["old"], "new": v["new"]})
            else:
                name = pick(req, BASH)
                inp = name and fill(
                    req,
                    name,
                    {
                        "command": "python3 - <<'E'\np=%r\ns=open(p).read()\nassert %r in s\nopen(p,'w').write(s.replace(%r,%r,1))\nE"
                        % (v["path"], v["old"], v["old"], v["new"])
                    },
                )
        elif k == "read":
            name = pick(req, READ)
            inp = name and fill(req, name, {"path": ab(v)})
        elif k == "finish":
            name = pick(req, FINISH)
            inp = name and fill(req, name, {"message": v})
            if not name and ("COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT" in req.text):
                if mini_text:
                    text += "\n\n```mswea_bash_command\necho COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\n```\n"
                    continue
                name = pick(req, BASH)
                inp = name and fill(req, name, {"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"})
            if not name:
                if v not in text:
                    text = (text + "\n" + v).strip()
                continue
        else:
            raise ValueError("unknown action %r" % k)
        if name:
            calls.append((name, inp, req.tools[name][1]))
            continue
        # the client offers no tools: speak aider's / mini-swe-agent's text formats
        fence = "mswea_bash_command" if mini_text else "bash"
        if k == "bash":
            text += "\n\n```%s\n%s\n```\n" % (fence, v)
        elif mini_text and k == "write":
            text += "\n\n```%s\n%s\n```\n" % (fence, heredoc(v["path"], v["content"]))
        elif "SEARCH/REPLACE" in req.text or "<<<<<<< SEARCH" in req.text:
            old, new = ("", v["content"]) if k == "write" else (v["old"] + "\n", v["new"] + "\n")
            text += "\n\n%s\n```\n<<<<<<< SEARCH\n%s=======\n%s%s>>>>>>> REPLACE\n```\n" % (
                v["path"],
                old,
                new,
                "" if new.endswith("\n") else "\n",
            )
        elif k == "write":
            text += "\n\n%s\n```\n%s%s```\n" % (v["path"], v["content"], "" if v["content"].endswith("\n") else "\n")
    return text, calls


# ---------------------------------------------------------------- script state
class Script:
    def __init__(self, data, cwd=None, key=None):
        self.lock = threading.Lock()
        self.load(data, cwd, key)

    def load(self, data, cwd=None, key=None):
        if isinstance(data, list):
            data = {"turns": data}
        self.data = data
        self.lanes = {"": [dict(t) for t in data.get("turns") or []]}
        for n, ts in (data.get("lanes") or {}).items():
            self.lanes[n] = [dict(t) for t in (ts.get("turns") if isinstance(ts, dict) else ts)]
        self.cwd, self.key = cwd or data.get("cwd"), key or data.get("require_key")
        self.used = {n: 0 for n in self.lanes}
        self.served = 0
        self.side = 0
        self.exhausted = 0

    def reset(self):
        self.load(self.data, self.cwd, self.key)

    def side_answer(self, req, ua):
        for s in self.data.get("side") or []:
            if re.search(s["match"], req.text, re.S):
                return "user", s.get("text", "ok")
        if req.tools:
            return None
        if req.max_tokens == 1:
            return "quota", "ok"
        head = req.system[:6000] + "\n" + req.last[:3000]
        for name, rx, ans in SIDE:
            if re.search(rx, head, re.I):
                return name, (
                    json.dumps(
                        dict(
                            from_schema(req.schema) or {},
                            **({"title": "Scripted task"} if "title" in json.dumps(req.schema) else {}),
                        )
                    )
                    if req.schema
                    else ans
                )
        if req.schema:
            return "schema", json.dumps(from_schema(req.schema))
        if req.proto == "anthropic" and "claude-cli" in ua:
            return "no-tools", "ok"
        return None

    def take(self, req, lane):
        with self.lock:
            for i, t in enumerate(self.lanes.get(lane) or []):
                left = t.setdefault("_left", t.get("times", 1))
                if left == 0:
                    continue
                if t.get("match") and not re.search(t["match"], req.text, re.S):
                    continue
                if t.get("match_last") and not re.search(t["match_last"], req.last, re.S):
                    continue
                if left > 0:
                    t["_left"] = left - 1
                self.used[lane] = self.used.get(lane, 0) + 1
                self.served += 1
                return i, t
            self.exhausted += 1
            return None, self.data.get("on_exhausted") or {"text": "Done.", "do": [{"finish": "Done."}]}

    def state(self):
        with self.lock:
            return {
                "served": self.served,
                "side": self.side,
                "exhausted": self.exhausted,
                "used": self.used,
                "left": {
                    n: sum(1 for t in ts if t.get("_left", t.get("times", 1)) != 0) for n, ts in self.lanes.items()
                },
            }


# ---------------------------------------------------------------- response building
def pieces(s, n=24):
    return [s[i : i + n] for i in range(0, len(s), n)] or [""]


def usage_of(turn, req, raw_len, text, calls):
    u = turn.get("usage") or {}
    out = u.get("output", max(1, (len(text) + sum(len(json.dumps(c[1])) for c in calls)) // 4))
    return {
        "input": u.get("input", max(1, raw_len // 4)),
        "output": out,
        "cache_read": u.get("cache_read", 0),
        "cache_write": u.get("cache_write", 0),
        "reasoning": u.get("reasoning", 0),
    }


def anthropic_out(req, turn, text, calls, u):
    stop = turn.get("stop_reason") or ("tool_use" if calls else "end_turn")
    blocks = []
    if turn.get("thinking"):
        blocks.append({"type": "thinking", "thinking": turn["thinking"], "signature": "c2NyaXB0ZWQ="})
    if text:
        blocks.append({"type": "text", "text": text})
    for n, i, _ in calls:
        blocks.append(
            {"type": "tool_use", "id": nid("toolu"), "name": n, "input": i if isinstance(i, dict) else {"input": i}}
        )
    us = {
        "input_tokens": u["input"],
        "cache_creation_input_tokens": u["cache_write"],
        "cache_read_input_tokens": u["cache_read"],
        "cache_creation": {"ephemeral_5m_input_tokens": u["cache_write"], "ephemeral_1h_input_tokens": 0},
        "output_tokens": u["output"],
        "service_tier": "standard",
    }
    msg = {
        "id": nid("msg"),
        "type": "message",
        "role": "assistant",
        "model": turn.get("model") or req.model,
        "content": blocks,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": us,
    }
    ev = [
        (
            "message_start",
            {
                "type": "message_start",
                "message": dict(msg, content=[], stop_reason=None, usage=dict(us, output_tokens=1)),
            },
        ),
        ("ping", {"type": "ping"}),
    ]
    for i, b in enumerate(blocks):
        st = {
            "text": {"type": "text", "text": ""},
            "thinking": {"type": "thinking", "thinking": "", "signature": ""},
            "tool_use": dict(b, input={}),
        }[b["type"]]
        ev.append(("content_block_start", {"type": "content_block_start", "index": i, "content_block": st}))
        if b["type"] == "text":
            ds = [{"type": "text_delta", "text": p} for p in pieces(text)]
        elif b["type"] == "thinking":
            ds = [{"type": "thinking_delta", "thinking": p} for p in pieces(b["thinking"])] + [
                {"type": "signature_delta", "signature": b["signature"]}
            ]
        else:
            ds = [{"type": "input_json_delta", "partial_json": p} for p in pieces(json.dumps(b["input"]), 40)]
        ev += [("content_block_delta", {"type": "content_block_delta", "index": i, "delta": d}) for d in ds]
        ev.append(("content_block_stop", {"type": "content_block_stop", "index": i}))
    ev.append(
        ("message_delta", {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": us})
    )
    ev.append(("message_stop", {"type": "message_stop"}))
    return msg, ev


def chat_out(req, turn, text, calls, u):
    fin = {"max_tokens": "length", "refusal": "content_filter", None: None}.get(
        turn.get("stop_reason"), turn.get("stop_reason")
    ) or ("tool_calls" if calls else "stop")
    us = {
        "prompt_tokens": u["input"] + u["cache_read"],
        "completion_tokens": u["output"],
        "total_tokens": u["input"] + u["cache_read"] + u["output"],
        "prompt_tokens_details": {"cached_tokens": u["cache_read"]},
        "completion_tokens_details": {"reasoning_tokens": u["reasoning"]},
    }
    tcs = [
        {
            "id": nid("call"),
            "type": "function",
            "function": {"name": n, "arguments": i if isinstance(i, str) else json.dumps(i)},
        }
        for n, i, _ in calls
    ]
    base = {
        "id": nid("chatcmpl"),
        "created": int(time.time()),
        "model": turn.get("model") or req.model,
        "system_fingerprint": "fp_scripted",
    }
    m = {"role": "assistant", "content": text or None}
    if tcs:
        m["tool_calls"] = tcs
    full = dict(
        base,
        object="chat.completion",
        choices=[{"index": 0, "message": m, "logprobs": None, "finish_reason": fin}],
        usage=us,
    )
    ch = lambda d, f=None: (
        None,
        dict(
            base,
            object="chat.completion.chunk",
            choices=[{"index": 0, "delta": d, "logprobs": None, "finish_reason": f}],
        ),
    )
    ev = [ch({"role": "assistant", "content": ""})]
    if text:
        ev += [ch({"content": p}) for p in pieces(text)]
    for i, t in enumerate(tcs):
        ev.append(
            ch(
                {
                    "tool_calls": [
                        {
                            "index": i,
                            "id": t["id"],
                            "type": "function",
                            "function": {"name": t["function"]["name"], "arguments": ""},
                        }
                    ]
                }
            )
        )
        ev += [
            ch({"tool_calls": [{"index": i, "function": {"arguments": p}}]})
            for p in pieces(t["function"]["arguments"], 40)
        ]
    ev.append(ch({}, fin))
    if (req.body.get("stream_options") or {}).get("include_usage"):
        ev.append((None, dict(base, object="chat.completion.chunk", choices=[], usage=us)))
    ev.append((None, "[DONE]"))
    return full, ev


def responses_out(req, turn, text, calls, u):
    items = []
    if text:
        items.append(
            {
                "type": "message",
                "id": nid("msg"),
                "status": "completed",
                "role": "assistant",
                "content": [{"type": "output_text", "text": text, "annotations": []}],
            }
        )
    for n, i, kind in calls:
        if kind == "custom" or (isinstance(i, str)):
            items.append(
                {
                    "type": "custom_tool_call",
                    "id": nid("ctc"),
                    "status": "completed",
                    "call_id": nid("call"),
                    "name": n,
                    "input": i if isinstance(i, str) else json.dumps(i),
                }
            )
        else:
            it = {
                "type": "function_call",
                "id": nid("fc"),
                "status": "completed",
                "call_id": nid("call"),
                "name": n,
                "arguments": json.dumps(i),
            }
            if kind.startswith("ns:"):
                it["namespace"] = kind[3:]
            items.append(it)
    us = {
        "input_tokens": u["input"] + u["cache_read"],
        "input_tokens_details": {"cached_tokens": u["cache_read"]},
        "output_tokens": u["output"],
        "output_tokens_details": {"reasoning_tokens": u["reasoning"]},
        "total_tokens": u["input"] + u["cache_read"] + u["output"],
    }
    base = {
        "id": nid("resp"),
        "object": "response",
        "created_at": int(time.time()),
        "model": turn.get("model") or req.model,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "tools": [],
        "tool_choice": "auto",
    }
    full = dict(base, status="completed", output=items, usage=us)
    if turn.get("stop_reason") == "max_tokens":
        full.update(status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    seq = itertools.count()
    E = lambda t, **k: (t, dict(type=t, sequence_number=next(seq), **k))
    prog = dict(base, status="in_progress", output=[], usage=None)
    ev = [E("response.created", response=prog), E("response.in_progress", response=prog)]
    for oi, it in enumerate(items):
        if it["type"] == "message":
            ev.append(E("response.output_item.added", output_index=oi, item=dict(it, status="in_progress", content=[])))
            ev.append(
                E(
                    "response.content_part.added",
                    item_id=it["id"],
                    output_index=oi,
                    content_index=0,
                    part={"type": "output_text", "text": "", "annotations": []},
                )
            )
            ev += [
                E(
                    "response.output_text.delta",
                    item_id=it["id"],
                    output_index=oi,
                    content_index=0,
                    delta=p,
                    logprobs=[],
                )
                for p in pieces(text)
            ]
            ev.append(
                E(
                    "response.output_text.done",
                    item_id=it["id"],
                    output_index=oi,
                    content_index=0,
                    text=text,
                    logprobs=[],
                )
            )
            ev.append(
                E(
                    "response.content_part.done",
                    item_id=it["id"],
                    output_index=oi,
                    content_index=0,
                    part=it["content"][0],
                )
            )
        elif it["type"] == "function_call":
            ev.append(
                E("response.output_item.added", output_index=oi, item=dict(it, status="in_progress", arguments=""))
            )
            ev += [
                E("response.function_call_arguments.delta", item_id=it["id"], output_index=oi, delta=p)
                for p in pieces(it["arguments"], 40)
            ]
            ev.append(
                E(
                    "response.function_call_arguments.done",
                    item_id=it["id"],
                    output_index=oi,
                    name=it["name"],
                    arguments=it["arguments"],
                )
            )
        else:
            ev.append(E("response.output_item.added", output_index=oi, item=dict(it, status="in_progress", input="")))
            ev.append(E("response.custom_tool_call_input.done", item_id=it["id"], output_index=oi, input=it["input"]))
        ev.append(E("response.output_item.done", output_index=oi, item=it))
    ev.append(E("response.incomplete" if full["status"] == "incomplete" else "response.completed", response=full))
    return full, ev


def gemini_out(req, turn, text, calls, u):
    fin = {"max_tokens": "MAX_TOKENS", "refusal": "SAFETY"}.get(turn.get("stop_reason"), "STOP")
    us = {
        "promptTokenCount": u["input"] + u["cache_read"],
        "candidatesTokenCount": u["output"],
        "totalTokenCount": u["input"] + u["cache_read"] + u["output"],
        "cachedContentTokenCount": u["cache_read"],
        "thoughtsTokenCount": u["reasoning"],
    }
    parts = ([{"text": text}] if text else []) + [
        {"functionCall": {"id": nid("fc"), "name": n, "args": i}} for n, i, _ in calls
    ]
    mk = lambda p, f=None: {
        "candidates": [
            dict({"content": {"role": "model", "parts": p}, "index": 0}, **({"finishReason": f} if f else {}))
        ],
        "usageMetadata": us,
        "modelVersion": turn.get("model") or req.model,
        "responseId": nid("gem"),
    }
    full = mk(parts or [{"text": ""}], fin)
    ev = [(None, mk([{"text": p}])) for p in pieces(text)] if text else []
    if calls:
        ev.append((None, mk(parts[1 if text else 0 :], fin)))
    else:
        ev.append((None, mk([{"text": ""}], fin)))
    return full, ev


OUT = {"anthropic": anthropic_out, "chat": chat_out, "responses": responses_out, "gemini": gemini_out}
ETYPE = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}
GST = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}


def error_body(proto, e):
    st = e.get("status", 500)
    ty = e.get("type") or ETYPE.get(st, "api_error")
    msg = e.get("message") or "scripted error %d" % st
    if e.get("body") is not None:
        return e["body"]
    if proto == "anthropic":
        return {"type": "error", "error": {"type": ty, "message": msg}, "request_id": nid("req")}
    if proto == "gemini":
        det = (
            [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "%ss" % e["retry_delay"]}]
            if "retry_delay" in e
            else []
        )
        return {
            "error": {"code": st, "message": msg, "status": e.get("type") or GST.get(st, "INTERNAL"), "details": det}
        }
    return {
        "error": {
            "message": msg,
            "type": ty,
            "param": None,
            "code": e.get("code") or {401: "invalid_api_key", 429: "rate_limit_exceeded"}.get(st),
        }
    }


class H(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "llmserver/1"

    def log_message(self, *a):
        pass

    # -- plumbing
    def send_json(self, code, obj, headers=None):
        b = json.dumps(obj).encode()
        self.send_response(code)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(b)))
        self.send_header("request-id", nid("req"))
        self.send_header("x-request-id", nid("req"))
        for k, v in (headers or {}).items():
            self.send_header(k, str(v))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(b)

    def drop(self):
        self.close_connection = True
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def read_body(self):
        if "chunked" in (self.headers.get("transfer-encoding") or "").lower():
            out = b""
            while True:
                n = int(self.rfile.readline().split(b";")[0].strip() or b"0", 16)
                if n == 0:
                    while self.rfile.readline().strip():
                        pass
                    break
                out += self.rfile.read(n)
                self.rfile.readline()
        else:
            out = self.rfile.read(int(self.headers.get("content-length") or 0))
        enc = (self.headers.get("content-encoding") or "").lower()
        if enc == "gzip":
            import gzip

            out = gzip.decompress(out)
        elif enc == "deflate":
            import zlib

            out = zlib.decompress(out)
        return out

    def do_HEAD(self):
        self.handle_any()

    def do_GET(self):
        self.handle_any()

    def do_POST(self):
        self.handle_any()

    def do_PUT(self):
        self.handle_any()

    def do_DELETE(self):
        self.handle_any()

    def do_PATCH(self):
        self.handle_any()

    def do_OPTIONS(self):
        self.handle_any()

    def handle_any(self):
        S = self.server
        raw = self.read_body()
        t0 = time.time()
        u = urlsplit(self.path)
        path, lane = u.path, ""
        m = re.match(r"^/lane/([^/]+)(/.*)?$", path)
        if m:
            lane, path = m.group(1), m.group(2) or "/"
        path = re.sub(r"//+", "/", path)
        try:
            body = json.loads(raw) if raw else {}
        except ValueError:
            body = {"_unparsed": raw[:2000].decode("utf8", "replace")}
        rec = {
            "t": t0,
            "n": next(S.counter),
            "method": self.command,
            "path": self.path,
            "lane": lane,
            "ua": self.headers.get("user-agent", ""),
            "headers": {
                k.lower(): (v if k.lower() not in ("authorization", "x-api-key", "x-goog-api-key") else v[:18])
                for k, v in self.headers.items()
            },
            "body": body if S.full else None,
        }
        try:
            self.route(S, path, lane, u, body, raw, rec)
        except (BrokenPipeError, ConnectionResetError):
            rec["client_gone"] = True
            self.close_connection = True
        except Exception as ex:
            rec["exception"] = repr(ex)
            try:
                self.send_json(500, {"type": "error", "error": {"type": "api_error", "message": "llmserver: %r" % ex}})
            except OSError:
                pass
        rec["ms"] = int(1000 * (time.time() - t0))
        S.write(rec)

    def route(self, S, path, lane, u, body, raw, rec):
        if path.startswith("/__"):
            rec["kind"] = "control"
            if path == "/__state":
                return self.send_json(200, S.script.state())
            if path == "/__reset":
                S.script.reset()
                return self.send_json(200, {"ok": True})
            if path == "/__script":
                S.script.load(body)
                return self.send_json(200, {"ok": True})
            if path == "/__shutdown":
                self.send_json(200, {"ok": True})
                threading.Thread(target=S.shutdown, daemon=True).start()
                return
        proto = None
        if self.command == "POST":
            if re.search(r"/messages/count_tokens$", path):
                rec["kind"] = "count_tokens"
                return self.send_json(200, {"input_tokens": max(1, len(raw) // 4)})
            if re.search(r"/messages$", path):
                proto = "anthropic"
            elif re.search(r"/chat/completions$", path):
                proto = "chat"
            elif re.search(r"/responses$", path):
                proto = "responses"
            g = re.search(r"/models/([^/:]+):(\w+)$", path)
            if g:
                if g.group(2) == "countTokens":
                    rec["kind"] = "count_tokens"
                    return self.send_json(200, {"totalTokens": max(1, len(raw) // 4)})
                if g.group(2) in ("generateContent", "streamGenerateContent"):
                    proto = "gemini"
                    body = dict(body, model=g.group(1), stream=g.group(2).startswith("stream"))
        if not proto:
            rec["kind"] = "other"
            mm = re.search(r"/models(?:/([^/]+))?$", path)
            if mm and self.command == "GET":
                mk = lambda i: {
                    "id": i,
                    "type": "model",
                    "object": "model",
                    "display_name": i,
                    "created": 1700000000,
                    "created_at": "2025-01-01T00:00:00Z",
                    "owned_by": "scripted",
                }
                if mm.group(1):
                    return self.send_json(200, mk(mm.group(1)))
                return self.send_json(
                    200,
                    {
                        "object": "list",
                        "data": [mk(i) for i in S.models],
                        "has_more": False,
                        "first_id": S.models[0],
                        "last_id": S.models[-1],
                    },
                )
            if path == "/":
                return self.send_json(200, {"ok": True})
            if self.command == "POST" and re.search(r"event_logging|telemetry|metrics|statsig|/log", path):
                return self.send_json(200, {})
            rec["status"] = 404
            return self.send_json(
                404, {"type": "error", "error": {"type": "not_found_error", "message": "llmserver: no such path"}}
            )
        rec["proto"] = proto
        q = parse_qs(u.query)
        key = (
            self.headers.get("x-api-key")
            or self.headers.get("x-goog-api-key")
            or re.sub(r"^Bearer\s+", "", self.headers.get("authorization") or "")
            or (q.get("key") or [""])[0]
        )
        if S.script.key and key != S.script.key:
            rec["kind"], rec["status"] = "bad-key", 401
            e = {
                "status": 401,
                "message": {
                    "anthropic": "invalid x-api-key",
                    "gemini": "API key not valid. Please pass a valid API key.",
                }.get(
                    proto,
                    "Incorrect API key provided: %s. You can find your API key at https://platform.openai.com/account/api-keys."
                    % key[:6],
                ),
            }
            if proto == "gemini":
                e.update(status=400)
                rec["status"] = 400
            return self.send_json(e["status"], error_body(proto, e))
        req = Req(proto, body)
        rec.update(model=req.model, stream=req.stream, tools=sorted(req.tools), last=req.last[-400:])
        side = S.script.side_answer(req, rec["ua"])
        if side:
            rec["kind"], turn = "side:" + side[0], {"text": side[1]}
            S.script.side += 1
        else:
            idx, turn = S.script.take(req, lane)
            rec["kind"], rec["turn"] = ("turn" if idx is not None else "exhausted"), idx
        if turn.get("delay"):
            time.sleep(turn["delay"])
        if turn.get("error"):
            e = turn["error"]
            rec["status"] = e.get("status", 500)
            return self.send_json(rec["status"], error_body(proto, e), e.get("headers"))
        text, calls = (turn["text"], []) if side else resolve(req, turn, S.script.cwd)
        rec["answer"] = {"text": text, "calls": [[n, i] for n, i, _ in calls]}
        us = usage_of(turn, req, len(raw), text, calls)
        rec["usage"] = us
        rec["status"] = 200
        full, ev = OUT[proto](req, turn, text, calls, us)
        trunc, hang = turn.get("truncate"), turn.get("hang")
        if hang is not None and trunc is None:
            trunc = 0
        if not req.stream:
            if trunc is None and "stream_error" not in turn:
                return self.send_json(200, full)
            b = json.dumps(full).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(b)))
            self.end_headers()
            self.wfile.write(b[: trunc or 0])
            self.wfile.flush()
            if hang:
                time.sleep(hang)
            return self.drop()
        if trunc == 0 and not hang:
            return self.drop()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("cache-control", "no-cache")
        self.send_header("request-id", nid("req"))
        self.send_header("x-request-id", nid("req"))
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True

        def put(name, obj):
            d = obj if isinstance(obj, str) else json.dumps(obj)
            self.wfile.write(((("event: %s\n" % name) if name else "") + "data: " + d + "\n\n").encode())
            self.wfile.flush()

        for i, (n, o) in enumerate(ev):
            if trunc is not None and i >= trunc:
                rec["truncated"] = i
                if hang:
                    time.sleep(hang)
                return self.drop()
            if turn.get("stream_error") and i == 3:
                se = turn["stream_error"]
                er = {"type": se.get("type", "overloaded_error"), "message": se.get("message", "Overloaded")}
                if proto == "anthropic":
                    put("error", {"type": "error", "error": er})
                elif proto == "responses":
                    put(
                        "response.failed",
                        {
                            "type": "response.failed",
                            "sequence_number": i,
                            "response": {
                                "id": nid("resp"),
                                "object": "response",
                                "status": "failed",
                                "output": [],
                                "error": {"code": se.get("code", "server_error"), "message": er["message"]},
                            },
                        },
                    )
                else:
                    put(None, {"error": er})
                return
            put(n, o)
            if turn.get("chunk_delay"):
                time.sleep(turn["chunk_delay"])


class Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def write(self, rec):
        if not self.logf:
            return
        with self.loglock:
            self.logf.write(json.dumps(rec) + "\n")
            self.logf.flush()


def load(path):
    s = sys.stdin.read() if path == "-" else open(path).read()
    try:
        return json.loads(s)
    except ValueError:
        try:
            import yaml
        except ImportError:
            raise SystemExit("script is not JSON, and PyYAML is not installed")
        return yaml.safe_load(s)


def make_server(script, host="127.0.0.1", port=0, log=None, full=True, cwd=None, key=None, models=None):
    srv = Server((host, port), H)
    srv.script = Script(script, cwd, key)
    srv.counter = itertools.count(1)
    srv.loglock = threading.Lock()
    srv.logf = open(log, "a") if log else None
    srv.full = full
    srv.models = models or ["claude-sonnet-4-5", "claude-haiku-4-5", "gpt-5", "gpt-4o", "scripted"]
    return srv


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--script", required=True, help="JSON/YAML file, or -")
    ap.add_argument("--host", default="127.0.0.1")
    ap.add_argument("--port", type=int, default=0, help="0: any free port")
    ap.add_argument("--port-file", help="write the port here once listening")
    ap.add_argument("--log", help="NDJSON request log")
    ap.add_argument("--brief", action="store_true", help="leave request bodies out of the log")
    ap.add_argument(
        "--cwd", help="absolute dir used for relative paths in do:write/edit (else guessed from the prompt)"
    )
    ap.add_argument("--require-key", help="answer 401 to any other API key")
    ap.add_argument("--model", action="append", help="ids for GET /v1/models")
    ap.add_argument("--ttl", type=float, help="exit after so many seconds")
    a = ap.parse_args()
    srv = make_server(load(a.script), a.host, a.port, a.log, not a.brief, a.cwd, a.require_key, a.model)
    if a.port_file:
        with open(a.port_file + ".tmp", "w") as f:
            f.write(str(srv.server_address[1]))
        os.replace(a.port_file + ".tmp", a.port_file)
    print("listening on http://%s:%d" % srv.server_address[:2], file=sys.stderr, flush=True)
    if a.ttl:
        threading.Timer(a.ttl, srv.shutdown).start()
    try:
        srv.serve_forever(poll_interval=0.1)
    except KeyboardInterrupt:
        pass
    print(json.dumps(srv.script.state()), file=sys.stderr)


if __name__ == "__main__":
    main()
