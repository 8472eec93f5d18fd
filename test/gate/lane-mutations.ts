/** Batches of requests with a few bytes, headers and borders changed, the same ones for the same seed. */

import { type Numbers, numbersFrom, oneOf } from '../numbers.ts';
import { clientForms, decisionCases, otherRequests } from './lane-questions.ts';

export interface Mutated {
  /** Sent one after the other. */
  readonly pieces: readonly Buffer[];
  /** What was changed. */
  readonly what: string;
}

const headers = [
  'Accept: */*',
  'Accept: text/plain',
  'ACCEPT:application/json',
  'Connection: close',
  'connection: Keep-Alive',
  'Connection: close, keep-alive',
  'Content-Length: 0',
  'Content-Length: 3',
  'Transfer-Encoding: chunked',
  'Expect: 100-continue',
  'Host: other',
  'User-Agent:',
  'Upgrade: h2c',
  'X-Anything: 1',
  'Accept-Language:  de ',
  `Accept-Encoding: ${'x'.repeat(9000)}`,
];

/** Bytes that mean something to one reader or the other. */
const bytes = [
  '\r',
  '\n',
  '\r\n',
  ' ',
  '\t',
  '\0',
  ':',
  '?',
  '#',
  '%',
  '&',
  '=',
  '/',
  '\x7f',
  '\x80',
  '\xff',
  'A',
  '1',
];

const changes: Readonly<Record<string, (text: string, random: Numbers) => string>> = {
  unchanged: text => text,
  'a byte put in': (text, random) => splice(text, random(text.length + 1), 0, oneOf(bytes, random)),
  'a byte put in place': (text, random) => splice(text, random(text.length), 1, oneOf(bytes, random)),
  'bytes taken out': (text, random) => splice(text, random(text.length), 1 + random(3), ''),
  'a bit turned': (text, random) => {
    const at = random(text.length);
    return splice(text, at, 1, String.fromCharCode(text.charCodeAt(at) ^ (1 << random(8))));
  },
  'a header more': (text, random) => text.replace('\r\n', () => `\r\n${oneOf(headers, random)}\r\n`),
  'a line twice': (text, random) => {
    const lines = text.split('\r\n');
    const at = random(lines.length);
    return [...lines.slice(0, at + 1), ...lines.slice(at)].join('\r\n');
  },
  'a line less': (text, random) => {
    const lines = text.split('\r\n');
    return lines.toSpliced(random(lines.length), 1).join('\r\n');
  },
  'another case': (text, random) => {
    const at = random(text.length);
    const part = text.slice(at, at + 6);
    return splice(text, at, 6, random(2) === 0 ? part.toUpperCase() : part.toLowerCase());
  },
  'cut off': (text, random) => text.slice(0, random(text.length)),
};

function splice(text: string, at: number, less: number, more: string): string {
  return text.slice(0, at) + more + text.slice(at + less);
}

/** So many batches of one to four requests. */
export function* mutations(seed: number, count: number): Generator<Mutated> {
  const random = numbersFrom(seed);
  const names = Object.keys(changes);
  for (let n = 0; n < count; n++) {
    const what: string[] = [];
    let text = '';
    for (let left = 1 + random(4); left > 0; left--) {
      const name = oneOf(names, random);
      what.push(name);
      const base =
        random(5) === 0
          ? oneOf(otherRequests, random)
          : oneOf(clientForms, random)(oneOf(decisionCases, random));
      text += changes[name]?.(base, random) ?? base;
    }
    yield { pieces: piecesOf(Buffer.from(text, 'latin1'), random), what: `batch ${n}: ${what.join(', ')}` };
  }
}

/**
 * What comes behind a request to close may be read or not, as the time will have it: such a batch goes in one
 * piece.
 */
function piecesOf(whole: Buffer, random: Numbers): readonly Buffer[] {
  if (/close|HTTP\/1\.0/i.test(whole.toString('latin1'))) return [whole];
  const cuts = Array.from({ length: random(4) }, () => random(whole.length + 1)).sort((a, b) => a - b);
  return [0, ...cuts].map((from, index) => whole.subarray(from, cuts[index] ?? whole.length));
}

export function isCut({ pieces }: Mutated): boolean {
  return pieces.length > 1;
}
