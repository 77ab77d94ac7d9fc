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

/**
 * Hand keys to what acts on them.
 *
 * @param actionOf a function from a key's name to a function without arguments, or to nothing.
 */
export function listen(actionOf) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    const key = keyOf(event);
    // Enter belongs to the button that has the focus.
    const action = key && !(key === "Enter" && event.target.matches("button, a, summary")) && actionOf(key);
    if (!action) return;
    event.preventDefault();
    if (!event.repeat) action(); // a key that is held down acts once
  });
}
