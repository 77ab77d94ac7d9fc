// The address: what is chosen on the page stands behind its #, so that a link shows the same.

/** What is chosen, as far as it is not what the page shows by itself. */
function address() {
  const params = new URLSearchParams(), { sort } = state;
  const put = (key, ...values) => values.forEach((each) => params.append(key, each));
  if (state.open !== null) put("q", data.queries.ids[state.open]);
  if (state.match) put("match", match().name);
  if (state.metric !== firstMetric()) put("metric", state.metric);
  if (state.picked) put("a", retrieverName(state.a));
  if (state.picked) put("b", retrieverName(state.b));
  for (const side of ["a", "b"]) if (side in state.looked && state.open !== null) put(`list-${side}`, retrieverName(state.looked[side]));
  put("list", ...state.lists.map(retrieverName));
  put("retriever", ...(state.retrievers ?? []).map(retrieverName));
  put("columns", ...(state.metrics ?? []));
  for (const key of ["search", "outcome", "result", "why"]) if (state[key] !== EVERYTHING[key]) put(key, state[key]);
  if (state.slice) put("slice", slices().find(({ key }) => key === state.slice).label);
  if (sort.by !== "order") put("sort", (sort.down ? "-" : "") + (sort.by in WORDS_OF_SORT ? sort.by : `=${retrieverName(Number(sort.by))}`));
  return String(params);
}

const WORDS_OF_SORT = { question: 1, asks: 1, lead: 1, why: 1 };
const base = () => location.href.split("#")[0];
const link = () => `${base()}#${address()}`;

/** The place in the browser's history says what is chosen now. */
function remember() {
  if (isLeaving) return; // this place is given up, and the one to come is told
  const chosen = address();
  try { history.replaceState(history.state, "", chosen ? `#${chosen}` : base()); } catch { /* where a page has no history, nor has its address */ }
}

/** Choose what an address says; its question, or null. What this report lacks is left out, and said. */
function adopt(hash) {
  const params = new URLSearchParams(hash.slice(1)), lacking = [];
  const among = (list, key) => params.getAll(key).map((each) => {
    const position = list.indexOf(each);
    if (position < 0) lacking.push(each);
    return position;
  }).filter((position) => position >= 0);
  const one = (list, key) => among(list, key)[0] ?? null;
  Object.assign(state, EVERYTHING, { sort: { by: "order", down: false }, lists: [], retrievers: null, metrics: null, picked: false, looked: {}, selected: 0 });
  state.match = one(data.matches.map((each) => each.name), "match") ?? 0;
  state.metric = data.metrics[one(data.metrics.map((each) => each.name), "metric")]?.name ?? null;
  keepMetric();
  pickSides();
  const retrievers = (key) => among(data.retrievers, key).filter(cell), pair = [retrievers("a")[0], retrievers("b")[0]].filter((each) => each !== undefined && isCompared(each));
  if (pair.length === 2) Object.assign(state, { a: pair[0], b: pair[1], picked: true, looked: {} });
  for (const side of ["a", "b"]) { const [own] = retrievers(`list-${side}`); if (own !== undefined) state.looked[side] = own; }
  state.lists = retrievers("list").filter((each) => each !== sideOf("a") && each !== sideOf("b"));
  const shown = retrievers("retriever"), metrics = among(data.metrics.map((each) => each.name), "columns").map((position) => data.metrics[position].name);
  if (shown.length) state.retrievers = shown;
  if (metrics.length) state.metrics = metrics;
  state.search = params.get("search") ?? "";
  const words = { outcome: ["a", "b", "tie", "differ"], result: ["failedA", "failedB", "failedBoth", "foundA", "leaksA", "leaksB", ...BROUGHT.flatMap((outcome) => [`${outcome}A`, `${outcome}B`])], why: REASONS };
  for (const [key, known] of Object.entries(words)) { const position = one(known, key); if (position !== null) state[key] = known[position]; }
  const part = one(slices().map(({ label: text }) => text), "slice");
  if (part !== null) state.slice = slices()[part].key;
  const [, down, by] = /^(-?)(.*)$/s.exec(params.get("sort") ?? "");
  const column = by.startsWith("=") ? data.retrievers.indexOf(by.slice(1)) : -1;
  if (by in WORDS_OF_SORT || column >= 0) state.sort = { by: column >= 0 ? String(column) : by, down: Boolean(down) };
  else if (by) lacking.push(by);
  const query = one(data.queries.ids, "q");
  say(lacking.length ? t("linkLacks", lacking.map(plain).join(", ")) : "", true);
  return query;
}

// -- telling -----------------------------------------------------------------------------------

let silence = null;

/** Said to those who listen, and for a moment to those who look; what `stays` until the next thing. */
function say(text, stays = false) {
  clearTimeout(silence);
  // What lies behind an open dialog is not read out, so either has a place for it.
  for (const box of document.querySelectorAll(".said")) box.textContent = text;
  if (text && !stays) silence = setTimeout(say, 8000, "");
}

/** Put the link to what is seen into the clipboard; where that is forbidden, show it to be copied. */
async function copyLink() {
  const text = link();
  try {
    await navigator.clipboard.writeText(text);
    say(t("linkCopied"));
  } catch {
    say(t("linkToCopy", text), true);
  }
}

const copyButton = (id) => el("button", { id, onclick: copyLink }, t("copyLink"));
