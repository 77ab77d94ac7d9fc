// Which key was pressed, whatever the keyboard writes: with the Korean input method on, the key of u gives ㅕ, or
// "Process" with no letter at all.

const JAMO = "ㅁㅠㅊㅇㄷㄹㅎㅗㅑㅓㅏㅣㅡㅜㅐㅔㅂㄱㄴㅅㅕㅍㅈㅌㅛㅋ"; // of the keys a to z

/** The key of an event as a Latin letter, digit or name; null where it is none of ours. */
export function keyOf(event) {
  const { key = "", code = "" } = event;
  if (/^[a-zA-Z0-9/?]$/.test(key)) return key.toLowerCase();
  if (["Escape", "Enter", "ArrowLeft", "ArrowRight"].includes(key)) return event.isComposing ? null : key;
  if (JAMO.includes(key)) return String.fromCharCode(97 + JAMO.indexOf(key));
  if (code === "Slash") return event.shiftKey ? "?" : "/";
  // A shifted digit is a sign on many keyboards; where the digits are shifted, `key` is the digit.
  const [, letter] = /^(?:Key|Digit|Numpad)([A-Z0-9])$/.exec(code) ?? [];
  return letter && !(event.shiftKey && code.startsWith("Digit")) ? letter.toLowerCase() : null;
}

/** Whether somebody is writing there. */
export const isTyping = (target) =>
  target instanceof Element && (target.matches("textarea, select, input:not([type=checkbox], [type=radio])") || target.isContentEditable);

let actionOf = null; // what acts on keys, once there is a view
const early = []; // the keys that were pressed before

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  const key = keyOf(event);
  // Enter belongs to the button that has the focus.
  if (!key || (key === "Enter" && event.target.matches("button, a, summary"))) return;
  const action = actionOf ? actionOf(key, false) : () => early.push(key);
  if (!action) return;
  event.preventDefault();
  if (!event.repeat) action(); // a key that is held down acts once
});

/**
 * Hand keys to what acts on them, first those that were pressed while nothing was there.
 *
 * @param acts a function from a key's name, and whether it was pressed too early to have seen anything, to a function
 *   without arguments, or to nothing.
 */
export function listen(acts) {
  actionOf = acts;
  for (const key of early.splice(0)) acts(key, true)?.();
}
