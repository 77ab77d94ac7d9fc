// The one way to the server. What a person said is kept in the browser until the server has it.

import { t } from "./words.js";

/** An answer that is no success: what is wrong, where, and what helps. `status` is 0 where there was no answer. */
export class Refused extends Error {
  constructor(status, { problem, field = null, remedy = null, code = null }) {
    super(code ? t(`error_${code}`, problem) : [400, 403, 404, 409, 413].includes(status) ? t(`status_${status}`) + problem : problem);
    Object.assign(this, { status, field, remedy: code ? null : remedy, isKnown: Boolean(code) });
  }

  /** Whether the same may succeed later: no answer, or a server in trouble. */
  get mayPass() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/** The token, which stands in the address behind #, and what follows it: the view. */
export function fragment() {
  const [token, view = "", ...rest] = location.hash.slice(1).split("/");
  return { token, view, rest: rest.map(decodeURIComponent) };
}

export const addressOf = (view, ...rest) => `#${[fragment().token, view, ...rest.map(encodeURIComponent)].join("/")}`;

async function ask(path, options = {}) {
  let response;
  try {
    response = await fetch(path, {
      ...options, cache: "no-store", credentials: "omit", signal: AbortSignal.timeout(options.method ? 20_000 : 60_000),
      headers: { "X-Kragx-Token": fragment().token, ...(options.body ? { "Content-Type": "application/json" } : {}) },
    });
  } catch {
    throw new Refused(0, { problem: t("noAnswer") });
  }
  const body = await response.json().catch(() => ({}));
  if (!response.ok) throw new Refused(response.status, body.error ?? { problem: t("refused", response.status) });
  return body;
}

/** Read something; what is null in the query is left out. */
export function get(path, query = {}) {
  const parts = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return ask(parts.length ? `${path}?${new URLSearchParams(parts)}` : path);
}

/** Change something; whoever calls waits for it. */
export const post = (path, body = {}) => ask(path, { method: "POST", body: JSON.stringify(body) });

/** Say that nobody looks at what was shown any more, also while the page is closed. */
export const leave = () => ask("api/leave", { method: "POST", body: "{}", keepalive: true }).catch(() => {});

/** An id that nobody else gives. (crypto.randomUUID is missing where a page comes over http from another machine.) */
export const newUid = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** Keep a value in the browser, for as long as it keeps anything: it may be full, or told to keep nothing. */
export function remember(key, value) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // What waits to be sent waits in the page as well.
  }
}

export function recall(key) {
  try {
    return JSON.parse(localStorage.getItem(key));
  } catch {
    return null;
  }
}

function recalled(prefix) {
  try {
    return Object.keys(localStorage).filter((key) => key.startsWith(prefix)).map(recall).filter(Boolean);
  } catch {
    return [];
  }
}

function forget(key) {
  try {
    localStorage.removeItem(key);
  } catch {
    // It was never kept.
  }
}

/**
 * What is said of pairs, sent one after the other and as often as it takes. Each stands in localStorage under its uid
 * until it was acknowledged: neither a reload nor a server that was stopped loses it, and sent twice it counts once.
 */
export class Outbox {
  /**
   * @param person uid of whose it is.
   * @param changed called with how many wait, and whether the last sending failed.
   * @param answered called with a message and the server's answer; `refused` with a message and the Refused.
   */
  constructor(person, { changed, answered, refused }) {
    Object.assign(this, { prefix: `kragx:${person}:`, changed, answered, refused, isSending: false, pause: 0 });
    this.messages = recalled(this.prefix).sort((one, other) => one.at - other.at);
    window.addEventListener("online", () => this.send());
  }

  add(path, body) {
    const message = { path, body, at: Math.max(Date.now(), (this.messages.at(-1)?.at ?? 0) + 1) };
    remember(this.prefix + body.uid, message);
    this.messages.push(message);
    this.changed(this.messages.length, this.pause > 0);
    this.send();
  }

  async send() {
    clearTimeout(this.timer);
    if (this.isSending) return;
    this.isSending = true;
    while (this.messages.length) {
      const [message] = this.messages;
      let answer, error = null;
      try {
        answer = await post(message.path, message.body);
      } catch (refused) {
        error = refused;
      }
      if (error && (error.mayPass || error.status === 401)) {
        this.pause = Math.min(10_000, 2 * this.pause || 500);
        this.timer = setTimeout(() => this.send(), this.pause);
        break;
      }
      this.pause = 0;
      this.messages.shift();
      forget(this.prefix + message.body.uid);
      if (error) this.refused(message, error);
      else this.answered(message, answer);
    }
    this.isSending = false;
    this.changed(this.messages.length, this.pause > 0);
  }
}
