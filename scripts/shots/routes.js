/**
 * Runs in the page before its own code: the routes that tell of the engine, of rules, servers and keys answer
 * the same in every picture, and the folder of this run has the name that it has for most people.
 */
(() => {
  const { now, version, home, model } = globalThis.__shots;
  const status = (changes) => ({
    version,
    epoch: "e1",
    mode: "core",
    engine: {
      phase: "ready", detail: "Ready.", bytes_done: 0, bytes_total: 0, seconds: 0, restarts: 0, rows: 1, queued: 0, error: null,
      model: { id: model.id, name: model.name, note: "4 bits a weight, on this machine’s GPU.", context_window: 32768 },
      ...changes,
    },
  });
  let current = status({});
  let asked = 0;
  let generated = 0;
  let read = 0;
  const wave = (from, by, pace) => Math.max(0, from + by * Math.sin(asked / pace) + (by / 3) * Math.sin(asked / 3.1));
  const rows = () => Math.round(wave(3.4, 2.2, 17));
  const stats = () => ({
    server: { version, model: model.name, started_at: now - 93_600 },
    engine: {
      mode: "core", phase: current.engine.phase, restarts: 0, pid: 4711, device: "gpu", weights: "4-bit", weights_bytes: 2.26e9,
      blas: null, versions: { mlx: "0.30", "mlx-lm": "0.28" }, warnings: [], warm_up: { done: 9, total: 9 },
    },
    admission: { max_safe_context: 32768, memory_budget_bytes: 11.2e9, usable_bytes: 16e9, weights_bytes: 2.26e9 },
    batch: { configured: 8, batched: true, active_rows: rows(), pending_rows: asked % 23 > 19 ? 2 : 0, submitted_rows: 412, kv_bytes: 4.1e8 + rows() * 6e7, kv_budget_bytes: 6e9 },
    prompt_cache: { entries: 31, bytes: 9.2e8 + asked * 1.6e6, max_bytes: 4e9, hits: 288 + Math.floor(asked / 7), misses: 61 },
    kv_quant: { mode: "8-bit" },
  });
  const metrics = () => {
    generated += 2 * rows() * (41 + 6 * Math.sin(asked / 5));
    read += asked % 11 === 0 ? 5200 : 500 + 260 * Math.sin(asked / 13);
    const firsts = Math.floor(asked / 5);
    return [
      `fireside_generated_tokens_total ${generated}`,
      `fireside_time_to_first_token_seconds_count ${firsts}`,
      `fireside_time_to_first_token_seconds_sum ${firsts * 0.24 + 0.06 * Math.sin(firsts * 2)}`,
      `fireside_prompt_tokens_total{source="computed"} ${read}`,
      `fireside_prompt_cache_hits_total ${288 + Math.floor(asked / 7)}`,
    ].join("\n");
  };
  const flight = (id, more) => ({
    id, route: "/v1/chat/completions", model: model.id, lane: "batched", state: "decoding", priority: "normal", position: null, eta_s: null,
    prompt_tokens: 2412, prefill_done: 2412, cached_tokens: 2130, generated_tokens: 318, max_tokens: 1024, age_s: 6.2, decode_tps: 52.3, resumed: 0, ...more,
  });
  const line = (ago, route, more) => ({
    id: `r${ago}`, route, lane: "batched", queue_ms: 1, ttft_ms: 241, decode_tps: 52.3, total_ms: 8120, prompt_tokens: 2412, cached_tokens: 2130,
    completion_tokens: 411, finish: "stop", resumed: 0, client_gone: false, time: now - ago, ...more,
  });
  const canned = {
    ...globalThis.__shots.models,
    "/api/status": () => current,
    "/stats": stats,
    "/metrics": metrics,
    "/api/requests": () => ({
      requests: [
        flight("a"),
        flight("b", { route: "/v1/responses", state: "prefill", prompt_tokens: 9120, prefill_done: 5632, generated_tokens: 0, age_s: 1.4, decode_tps: null }),
        flight("c", { route: "/v1/messages", state: "queued", priority: "low", position: 0, eta_s: 4, prefill_done: 0, generated_tokens: 0, age_s: 0.9, decode_tps: null }),
      ],
    }),
    "/api/logs": () => ({
      lines: [
        line(610, "/v1/embeddings", { completion_tokens: 0, ttft_ms: null, decode_tps: null, total_ms: 34, prompt_tokens: 512, cached_tokens: 0 }),
        line(404, "/v1/completions", { finish: "cancelled", client_gone: true, completion_tokens: 77, total_ms: 1630 }),
        line(233, "/v1/messages", { finish: "tool_use", completion_tokens: 64, ttft_ms: 188, total_ms: 1412 }),
        line(121, "/v1/chat/completions", { ttft_ms: 312, cached_tokens: 0, total_ms: 10_900, completion_tokens: 520 }),
        line(18, "/v1/responses", { finish: "length", completion_tokens: 1024, total_ms: 20_140 }),
      ],
      next: "", more: false, gone: false,
    }),
    "/api/settings/tool-approvals": () => ({
      ok: true,
      always_allow: [],
      rules: [
        rule("1", "bash", "command_prefix", ["git", "status"], "Run commands that begin with `git status`"),
        rule("2", "edit", "path", "notes/**", "Edit files in `notes/**`"),
        rule("3", "web_fetch", "host", "docs.python.org", "Read pages of `docs.python.org`"),
      ],
    }),
    "/api/settings/mcp": () => ({
      problem: null,
      servers: [
        mcp("calendar", "ready", { command: "uvx", args: ["calendar-mcp", "--read-only"] }, "", ["list_events", "find_free_time"]),
        mcp("home", "failed", { url: "http://home.local:8123/mcp", headers: { Authorization: "•••" } }, "http://home.local:8123/mcp does not answer: connection refused. Is the server running?", []),
        mcp("weather-station", "disabled", { command: "python", args: ["station.py"], disabled: true }, "", []),
      ],
    }),
    "/api/keys": () => ({
      required: false,
      keys: [
        { id: "k1", name: "Editor on the laptop", source: "created", prefix: "fs-7Qd2", created: now - 12 * 86_400, last_used: now - 240 },
        { id: "k2", name: "Phone", source: "created", prefix: "fs-Lw9k", created: now - 3 * 86_400, last_used: now - 86_400 },
      ],
    }),
    "/api/presets": () => ({
      presets: [
        { name: "Careful", modified_at: now, settings: { instructions: "Think first, and say what you are not sure of.", thinking: true, sampling: { temperature: 0.3 } } },
        { name: "Reader", modified_at: now, settings: { tools: ["read", "grep", "find"], read_only: true } },
      ],
    }),
    "/api/settings/instructions": () => ({ instructions: "Answer briefly. Metric units, 24-hour times.\nSay so when you guess." }),
  };
  const rule = (id, tool, kind, value, words) => ({ id, tool, kind, value, words, scope: "always", session_id: null, granted_from: null, created_at: now - 86_400 * Number(id), expires_at: null });
  const mcp = (name, state, config, error, tools) => ({
    name, state, config, error, transport: config.url ? "http" : "stdio",
    tools: tools.map((tool) => ({ name: `${name}__${tool}`, tool, description: "", risk: "read" })),
  });

  const real = globalThis.fetch.bind(globalThis);
  let gone = false;
  globalThis.fetch = async (resource, options) => {
    if (gone) throw new TypeError("Failed to fetch");
    const { pathname, searchParams } = new URL(resource, location.href);
    const answer = (options?.method ?? "GET") === "GET" && canned[pathname];
    if (answer) {
      if (pathname === "/stats") asked += 1;
      const body = answer(searchParams);
      return new Response(typeof body === "string" ? body : JSON.stringify(body));
    }
    const response = await real(resource, options);
    if (!response.headers.get("content-type")?.includes("json")) return response;
    const text = (await response.text()).replaceAll(home, "~/.fireside");
    return new Response(text, { status: response.status, headers: response.headers });
  };

  /** @type {Set<EventSource>} */
  const sources = new Set();
  globalThis.EventSource = class {
    constructor() {
      sources.add(this);
      setTimeout(() => this.onmessage?.({ data: JSON.stringify(current) }));
    }
    close() {
      sources.delete(this);
    }
  };
  globalThis.__shots.engine = (changes) => {
    current = status(changes);
    for (const source of sources) source.onmessage?.({ data: JSON.stringify(current) });
  };
  globalThis.__shots.vanish = () => {
    gone = true;
    for (const source of sources) source.onerror?.({});
  };
})();
