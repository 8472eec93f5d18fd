/**
 * Reads JSON that strangers send, with `JSON.parse`. Depth and number of values are counted first and are
 * bounded, so that no document holds up the event loop.
 */

/** The reason why a text cannot be read. It quotes nothing of the text, which may be a secret. */
export class JsonFault extends Error {
  override readonly name = 'JsonFault';
}

export const mostDepth = 64;

/** The longest text in which each number is checked, since that needs a call for each value. */
const mostExactCharacters = 64 * 1024;

/** A number with more digits may be rounded. */
const plainDigits = 15;

/** Parses JSON. Lists, objects and their items count as values. Throws `JsonFault`. */
export function readJson(text: string, mostValues: number): unknown {
  mustBeSmall(shapeOf(text), mostValues);
  return parsed(text);
}

/**
 * Parses JSON in which no number may be rounded: a number that cannot be represented becomes NaN, which no
 * schema accepts. Throws `JsonFault`.
 */
export function readExactJson(text: string, mostValues: number): unknown {
  const shape = shapeOf(text);
  mustBeSmall(shape, mostValues);
  if (!shape.mayBeRounded) return parsed(text);
  if (text.length > mostExactCharacters) {
    throw new JsonFault(
      `it has a number above 2^53 - 1, with an exponent or with too many digits, and more than ${mostExactCharacters} characters`,
    );
  }
  return parsed(text, (_name: string, value: unknown, context?: { readonly source?: string }) =>
    typeof value !== 'number' || isExact(value, context?.source ?? '') ? value : Number.NaN,
  );
}

function parsed(text: string, reviver?: Parameters<typeof JSON.parse>[1]): unknown {
  try {
    return JSON.parse(text, reviver);
  } catch {
    throw new JsonFault('it has a mistake, is cut short, or has more text after it');
  }
}

interface Shape {
  readonly depth: number;
  readonly values: number;
  /** There is a number with an exponent, or with so many digits that it is not exact. */
  readonly mayBeRounded: boolean;
}

/** Counts values outside of strings. If the text is no JSON, the result may be anything. */
function shapeOf(text: string): Shape {
  let isInText = false;
  let open = 0;
  let depth = 0;
  let values = 1;
  let digits = 0;
  let mayBeRounded = false;
  // Goes one character beyond the end, since a number may end there.
  for (let at = 0; at <= text.length; at++) {
    const character = text[at] ?? '';
    if (isInText) {
      if (character === '\\') at++;
      else if (character === '"') isInText = false;
      continue;
    }
    if (isInNumber(character)) {
      digits++;
      continue;
    }
    if (digits > 0 && (character === 'e' || character === 'E')) mayBeRounded = true;
    if (digits > plainDigits) {
      const source = text.slice(at - digits, at);
      mayBeRounded ||= !isExact(Number(source), source);
    }
    digits = 0;
    if (character === '"') isInText = true;
    else if (character === ',') values++;
    else if (character === '[' || character === '{') {
      values++;
      open++;
      depth = Math.max(depth, open);
    } else if (character === ']' || character === '}') open--;
  }
  return { depth, values, mayBeRounded };
}

function isInNumber(character: string): boolean {
  return (character >= '0' && character <= '9') || character === '.';
}

function mustBeSmall({ depth, values }: Shape, mostValues: number): void {
  if (depth > mostDepth) throw new JsonFault('it is nested too deeply');
  if (values > mostValues) throw new JsonFault(`it has more than ${mostValues} values`);
}

/** Returns true if a parsed number is the one that `source` says. */
function isExact(value: number, source: string): boolean {
  const [mantissa = ''] = source.toLowerCase().split('e', 1);
  const digits = mantissa.replaceAll(/\D/g, '');
  // Two different numbers of so few digits differ in memory, too, unless they are so small that both are 0.
  if (digits.length <= plainDigits) return value !== 0 || !/[1-9]/.test(digits);
  return Number.isSafeInteger(value) && /^-?\d+(?:\.0+)?$/.test(source);
}
