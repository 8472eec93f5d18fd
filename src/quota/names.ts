/**
 * Names: what they are compared by, which cannot be taken, and how any text is shown.
 *
 * Names come from directories, requests and tokens, so that a stranger may have chosen them.
 */

/**
 * Returns the key by which names of owners compare: Unicode NFC, and with `foldCase` ASCII letters in lower
 * case. The key of a key is the same key.
 */
export function ownerKey(name: string, foldCase: boolean): string {
  // Nearly always, and every check asks.
  if (plainKey.test(name)) return name;
  const composed = name.normalize('NFC');
  if (!foldCase) return composed;
  // Composed again: h with a line below is one character, H with a line below is two.
  return composed.replace(/[A-Z]+/g, letters => letters.toLowerCase()).normalize('NFC');
}

/** Characters of which each name is its own key. */
const plainKey = /^[a-z0-9._-]*$/;

export const longestName = 255;

/**
 * Why a name of an owner, rule, group or token cannot be taken, or null. The reason
 * stands behind a colon: `not a name: it is empty`.
 */
export function nameFault(name: string): string | null {
  if (name === '') return 'it is empty';
  const tooLong = `it is longer than ${longestName} characters`;
  // A character is at most two units. What is much too long is not looked at closer.
  if (name.length > 2 * longestName) return tooLong;
  if (name.trim() === '') return 'it has only spaces';
  if (name === '.' || name === '..') return `it is "${name}", which stands for a directory`;
  if (!name.isWellFormed()) return 'it is not well-formed Unicode';
  if (/\p{Cc}/u.test(name)) return 'it has control characters';
  if (name.length > longestName && [...name].length > longestName) return tooLong;
  return null;
}
