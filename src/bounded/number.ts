/**
 * Numbers that are what their text says.
 *
 * JSON.parse rounds 9007199254740993 and 1.0000000000000000001 without a word. Here such a number comes back
 * as something that no schema takes for a number, so that it is refused where it matters, by its field.
 */

/** Stands where a number cannot be represented. */
export class Inexact {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }
}

/** A number with more characters is not looked at: none that anybody means has so many. */
const mostCharacters = 100;

/** Up to here every whole number is exact, and so is its text. */
const plainlyExact = 15;

export function exactNumber(source: string): number | Inexact {
  if (source.length > mostCharacters) return new Inexact(source.slice(0, mostCharacters));
  const value = Number(source);
  if (source.length <= plainlyExact && Number.isInteger(value) && String(value) === source) return value;
  const isExact = Number.isFinite(value) && decimal(source) === decimal(String(value));
  return isExact ? value : new Inexact(source);
}

/**
 * The digits of a number without outer zeros, and the power of ten behind them: the same for 100, 1e2 and
 * 100.0.
 */
function decimal(text: string): string {
  const isNegative = text.startsWith('-');
  const [mantissa = '', exponent = '0'] = text
    .slice(isNegative ? 1 : 0)
    .toLowerCase()
    .split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const digits = whole + fraction;
  let start = 0;
  while (digits[start] === '0') start++;
  if (start === digits.length) return '0';
  let end = digits.length;
  while (digits[end - 1] === '0') end--;
  const power = Number(exponent) - fraction.length + digits.length - end;
  return `${isNegative ? '-' : ''}${digits.slice(start, end)}e${power}`;
}
