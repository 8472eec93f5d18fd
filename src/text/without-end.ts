/** A text without the characters of one kind at its end, however many: `/srv/git//` and `/` give `/srv/git`. */
export function withoutEnd(text: string, character: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === character) end -= 1;
  return text.slice(0, end);
}
