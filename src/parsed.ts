/** A text that somebody wrote, as it was understood; `problem` completes `TOTAL = "10 gigs": …`. */
export type Parsed<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problem: string };

/** The value of a JSON text; undefined: it is none. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
