/**
 * JSON whose numbers are what the text says.
 *
 * JSON.parse rounds 9007199254740993 and 1.0000000000000000001 without a word. Here such a number comes back as
 * something that no schema takes for a number, so that it is refused where it matters, by its field.
 */

/** Stands where a number cannot be represented. */
export class Inexact {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }
}

/** Throws `SyntaxError` where the text is not one JSON document, `RangeError` where it is nested too deeply. */
export function parseExactly(text: string): unknown {
  return JSON.parse(text, (_key, value: unknown, context?: { readonly source?: string }) => {
    const source = context?.source;
    return typeof value === 'number' && source !== undefined && !says(source, value)
      ? new Inexact(source)
      : value;
  });
}

/** Whether the shortest text for the value is the same number as the one that was written. */
function says(source: string, value: number): boolean {
  return Number.isFinite(value) && decimal(source) === decimal(String(value));
}

/** The digits of a number without outer zeros, and the power of ten behind them: the same for 100, 1e2 and 100.0. */
function decimal(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return '0';
  const power = Number(exponent) - fraction.length + digits.length - significant.length;
  return `${sign}${significant}e${power}`;
}
