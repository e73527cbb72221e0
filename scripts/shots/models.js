/** Runs in the page before `routes.js`: what the routes of models here and on the hub answer in every picture. */
(() => {
  const GB = 1e9;
  /** A model that is not being fetched. */
  const OPEN = "lighthouse-lab/tide-tables-3b";
  const assess = (weights, kv, rate, more = {}) => ({
    fits: true, reason: "It fits, with conversations of up to 40,960 tokens, the most that the model reads.", context_tokens: 8192, max_safe_context: 40_960,
    weights_bytes: weights * GB, kv_bytes: kv * GB, prefill_bytes: 0.4 * GB, needed_bytes: (weights + kv + 0.4) * GB, usable_bytes: 16 * GB,
    predicted_decode_tps: rate, measured_decode_tps: null, decode_tps: rate, ...more,
  });
  const model = (repo_id, size, bits, assessment, more = {}) => ({
    repo_id, revision: "4f1c2a", path: `~/.cache/huggingface/hub/models--${repo_id.replace("/", "--")}/snapshots/4f1c2a`, origin: "hub", kind: "chat",
    architecture: "Qwen3ForCausalLM", parameters: 4.02e9, size_bytes: size * GB, quant_bits: bits, dtype: "bfloat16", context_window: 40_960, vision: false,
    audio: false, template: true, tools: true, thinking: true, licence: "apache-2.0", complete: true, missing: [], unsupported: null, usable: true,
    serving: false, assessment, ...more,
  });
  const found = (repo_id, size, downloads, more = {}) => ({
    repo_id, mlx: true, gated: "no", downloads, likes: Math.round(downloads / 900), size: size * GB, parameters: size * 2e9, task: "text-generation",
    license: "apache-2.0", updated_at: "2026-09-14T08:00:00.000Z", ...more,
  });
  const download = (id, repo_id, state, bytes, total, more = {}) => ({
    id, repo_id, revision: "main", bits: null, state, phase: "downloading", file: null, files_done: 0, files: 9, bytes: bytes * GB, total: total * GB, rate: 0,
    path: null, error: null, ...more,
  });
  const machine = { chip: "Apple M4", device: "apple", memory_bytes: 24 * 2 ** 30, available_bytes: 16 * GB, bandwidth: 120 * GB };
  const matrix = [
    { chip: "Apple M4, 16 GB", fits: true, max_safe_context: 40_960, predicted_decode_tps: 41 },
    { chip: "Apple M4 Max, 64 GB", fits: true, max_safe_context: 40_960, predicted_decode_tps: 152 },
    { chip: "NVIDIA RTX 4090, 24 GB", fits: true, max_safe_context: 40_960, predicted_decode_tps: 212 },
  ];
  globalThis.__shots.models = {
    "/api/library": () => ({
      models: [
        model("Qwen3-4B-4bit", 2.3, 4, assess(2.3, 1.2, 41, { measured_decode_tps: 52.3, decode_tps: 52.3 }), { origin: "folder", path: "~/.fireside/models/Qwen3-4B-4bit", serving: true }),
        model("mlx-community/gemma-3-12b-it-4bit", 8.1, 4, assess(8.1, 1.9, 13), { parameters: 12.2e9, vision: true, thinking: false, licence: "gemma", context_window: 131_072 }),
        model("mlx-community/Llama-3.2-1B-Instruct-4bit", 0.7, 4, assess(0.7, 0.3, 118), { parameters: 1.24e9, thinking: false, licence: "llama3.2", context_window: 131_072 }),
        model("mlx-community/Qwen3-32B-4bit", 18.4, 4, assess(18.4, 2.2, null, { fits: false, reason: "It does not fit: it needs 21.0 GB, and 16.0 GB may be used here." }), { parameters: 32.8e9 }),
        model("mlx-community/Mistral-Small-24B-4bit", 6.2, 4, assess(13.3, 1.3, null), { complete: false, missing: ["model-00002-of-00003.safetensors", "tokenizer.json"], usable: false, parameters: 23.6e9, tools: false, thinking: false }),
        model("BAAI/bge-small-en-v1.5", 0.13, null, assess(0.13, 0, null), { kind: "embedding", parameters: 33.4e6, dtype: "float32", context_window: 512, tools: false, thinking: false, licence: "mit" }),
      ],
    }),
    "/api/fit": () => ({ report: [], matrix }),
    "/api/models/recommended": () => ({
      machine,
      models: [
        { repo_id: "mlx-community/Qwen3-8B-4bit", name: "Qwen3 8B", purpose: "Thinks before it answers, calls tools, writes code.", parameters: 8.2e9, size_bytes: 4.6 * GB, needed_bytes: 5.8 * GB, predicted_decode_tps: 22.4, here: false },
        { repo_id: "mlx-community/Qwen3-4B-4bit", name: "Qwen3 4B", purpose: "The same on less memory, and twice as fast.", parameters: 4.02e9, size_bytes: 2.3 * GB, needed_bytes: 3.5 * GB, predicted_decode_tps: 41, here: true },
        { repo_id: "mlx-community/Llama-3.2-1B-Instruct-4bit", name: "Llama 3.2 1B", purpose: "Chats and summarises in several languages on a small machine.", parameters: 1.24e9, size_bytes: 0.7 * GB, needed_bytes: 1 * GB, predicted_decode_tps: 118, here: true },
      ],
    }),
    "/api/hub/search": () => ({
      models: [
        found("mlx-community/Qwen3-8B-4bit", 4.6, 182_400),
        found("mlx-community/gemma-3-12b-it-4bit", 8.1, 97_300, { gated: "manual", license: "gemma", task: "image-text-to-text" }),
        found("mlx-community/Qwen3-4B-4bit", 2.3, 88_100),
        found("mlx-community/Mistral-Small-24B-4bit", 13.3, 41_600),
        found("lighthouse-lab/tide-tables-3b-with-a-long-name", 6.4, 1_204, { mlx: false, license: null, parameters: 3.2e9 }),
      ],
    }),
    "/api/hub/model": (wanted) => ({
      model: found(wanted.get("repo"), 6.4, 1_204, { mlx: false, license: "apache-2.0", parameters: 3.2e9, gated: wanted.get("repo") === OPEN ? "no" : "auto" }),
      commit: "4f1c2a",
      size: 6.5 * GB,
      endpoint: "https://huggingface.co",
      files: [
        { name: "README.md", size: 5_120 },
        { name: "config.json", size: 812 },
        { name: "model-00001-of-00002.safetensors", size: 4.9 * GB },
        { name: "model-00002-of-00002.safetensors", size: 1.5 * GB },
        { name: "tokenizer.json", size: 11_400_000 },
      ],
      card_html: `<h1>Tide tables 3B</h1>\n<p>A small model that reads <strong>tide tables</strong> and answers in whole sentences.</p>\n<h2>How to ask</h2>\n<pre><code class="language-python">answer = ask("When is high water at the north pier?")\n</code></pre>\n<table><thead><tr><th>Task</th><th>Score</th></tr></thead><tbody><tr><td>High water</td><td>97.1</td></tr><tr><td>Neap tides</td><td>91.4</td></tr></tbody></table>`,
    }),
    "/api/downloads": () => ({
      downloads: [
        download("d1", "mlx-community/Qwen3-8B-4bit", "running", 3.1, 4.6, { rate: 42_000_000, file: "model.safetensors", files_done: 6 }),
        download("d2", "lighthouse-lab/tide-tables-3b-with-a-long-name", "running", 0.9, 1.8, { phase: "converting", bits: 4 }),
        download("d3", "mlx-community/Mistral-Small-24B-4bit", "paused", 6.2, 13.3),
        download("d4", "mlx-community/Qwen3-32B-4bit", "failed", 11.2, 18.4, { error: { code: "disk_full", message: "The disk is full (No space left on device). Make room, then resume; nothing is lost." } }),
        download("d5", "mlx-community/Llama-3.2-1B-Instruct-4bit", "done", 0.7, 0.7),
      ],
    }),
    "/api/gc/plan": () => ({
      superseded: [{ repo_id: "mlx-community/Qwen3-4B-4bit", prune_snapshots: ["a", "b"], skipped_snapshots: ["c"], dead_blobs: ["d"], reclaim_bytes: 4.6 * GB }],
      partials: [{ path: "~/.cache/huggingface/hub/models--mlx-community--Qwen2-7B/blobs/9c41.incomplete", bytes: 1.9 * GB }],
      converted: [],
      ssd_cache: Array.from({ length: 31 }, (_, number) => ({ path: `~/.fireside/ssd-cache/${number}.safetensors`, bytes: 2.1e7 })),
      reclaim_bytes: 7.15 * GB, token: "t", ok: true,
    }),
  };
})();
