/**
 * Names: how names of owners compare, and which names are invalid.
 *
 * Names come from directories, requests and tokens, so a stranger may have chosen them.
 */

/**
 * Returns the key by which names of owners compare: Unicode NFC, and with `foldCase` ASCII letters in lower
 * case. The key of a key is the same key.
 */
export function ownerKey(name: string, foldCase: boolean): string {
  // A fast path: nearly all names are plain, and each check calls this.
  if (plainKey.test(name)) return name;
  const composed = name.normalize('NFC');
  if (!foldCase) return composed;
  // Composes again: h with a line below has a composed character, H with a line below has none.
  return composed.replace(/[A-Z]+/g, letters => letters.toLowerCase()).normalize('NFC');
}

/** Matches names that are their own keys. */
const plainKey = /^[a-z0-9._-]*$/;

export const longestName = 255;

/**
 * Returns the reason why a name of an owner, rule, group or token is invalid; null: it is valid. The reason
 * fits after a colon: `not a name: it is empty`.
 */
export function nameFault(name: string): string | null {
  if (name === '') return 'it is empty';
  const tooLong = `it is longer than ${longestName} characters`;
  // A character has at most two UTF-16 units, so a much too long name needs no closer look.
  if (name.length > 2 * longestName) return tooLong;
  if (name.trim() === '') return 'it has only spaces';
  if (name === '.' || name === '..') return `it is "${name}", which stands for a directory`;
  if (!name.isWellFormed()) return 'it is not well-formed Unicode';
  if (/\p{Cc}/u.test(name)) return 'it has control characters';
  if (name.length > longestName && [...name].length > longestName) return tooLong;
  return null;
}
