/** Words for a shell, whatever they hold. */

/** Gives one word for sh that stands for the text. */
export function shellQuoted(text: string): string {
  return /^[\w./@%+:=,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
