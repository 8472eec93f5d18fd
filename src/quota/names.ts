/** Names. */

export function ownerKey(name: string, foldCase: boolean): string {
  const composed = name.normalize('NFC');
  return foldCase ? composed.replace(/[A-Z]+/g, letters => letters.toLowerCase()) : composed;
}

/** Why a name cannot be taken, or null. */
export function nameFault(name: string): string | null {
  return name === '' ? 'it is empty' : null;
}

/** The text with everything escaped that could mislead on a terminal. */
export function printable(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu,
    character => `\\u{${character.codePointAt(0)?.toString(16)}}`,
  );
}
