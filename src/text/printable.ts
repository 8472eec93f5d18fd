/** Makes text safe to show: on a terminal, in a web page, in a shell command and in an error. */

/**
 * Characters that move the cursor, break the line, turn the reading direction, or cannot be seen at all:
 * controls, format characters, line and paragraph separators, halves of surrogate pairs, and all that
 * Unicode lets a font leave out. The zero-width joiners are among them: some scripts and emoji
 * need them, but between other letters they make one owner's name look like another's.
 */
const misleading = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** Makes any text harmless on a terminal, on one line: a misleading character becomes `\u{202e}`. */
export function printable(text: string): string {
  // Most names are plain ASCII and need no further look.
  if (/^[ -~]*$/.test(text)) return text;
  return text.replace(misleading, character => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

const longestQuoted = 80;

/** Quotes a text that a stranger sent; of a long text only the beginning. */
export function excerpt(text: string): string {
  return `"${printable(text.length > longestQuoted ? `${text.slice(0, longestQuoted)}…` : text)}"`;
}

/** Makes JSON text harmless on a terminal, with the same meaning: a misleading character becomes `\u202e`. */
export function printableJson(json: string): string {
  return json.replace(/[^\n -~]/gu, character =>
    printable(character) === character ? character : character.replace(/[\s\S]/g, inJson),
  );
}

function inJson(half: string): string {
  return `\\u${half.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Escapes a text for a web page, between tags or in the quotes of an attribute. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}

/** Quotes a text as one word for sh. */
export function shellQuoted(text: string): string {
  return /^[\w./@%+:=,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

interface Issues {
  readonly issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[];
}

/** Gives a line for each fault, such as `rules.0.limit: expected whole bytes`. */
export function issueLines({ issues }: Issues): readonly string[] {
  return issues.map(({ path, message }) =>
    path.length === 0 ? message : `${path.map(String).join('.')}: ${message}`,
  );
}

/** Removes all copies of a character from the end of a text: `/srv/git//` and `/` give `/srv/git`. */
export function withoutEnd(text: string, character: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === character) end -= 1;
  return text.slice(0, end);
}
