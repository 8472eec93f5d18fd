/** Requests that nobody sends who means well: each is larger, deeper or odder than what its route is for. */

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;

export interface HostileRequest {
  readonly socket: 'gate' | 'trusted' | 'http';
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Made when it is sent: all of them together would fill the memory. */
  readonly body?: () => string | Buffer;
  /** For whoever reads a failure. */
  readonly what: string;
}

/** Bodies of about so many bytes, by what is odd about them. */
export const bodyShapes: Readonly<Record<string, (bytes: number) => string | Buffer>> = {
  'zeros in a list': bytes => `[${repeated('0,', bytes)}0]`,
  'empty lists in a list': bytes => `[${repeated('[],', bytes)}[]]`,
  'empty objects in a list': bytes => `{"rules":[${repeated('{},', bytes)}{}]}`,
  'lists in lists': bytes => `${'['.repeat(bytes / 2)}${']'.repeat(bytes / 2)}`,
  'objects in objects': bytes => repeated('{"a":', bytes),
  'many names': bytes => objectOf(bytes, at => `"${at.toString(36)}":0`),
  'many whole numbers as names': bytes => objectOf(bytes, at => `"${(at * 7919) % 4_294_967_291}":0`),
  'many objects of many names': bytes => {
    const ofOne = Math.floor(bytes / 20_000) + 1;
    return listOf(ofOne, list => objectOf(bytes / ofOne, at => `"${list}-${at.toString(36)}":0`));
  },
  'the same name many times': bytes => objectOf(bytes, () => '"name":"x"'),
  'one long text': bytes => `{"name":"${'x'.repeat(bytes)}"}`,
  'one long text of escapes': bytes => `{"name":"${repeated('\\u0041', bytes)}"}`,
  'many short texts of escapes': bytes => `{"rules":[${repeated('"\\u0041\\"",', bytes)}0]}`,
  'blanks between all that is there': bytes => `[${repeated(`0,${' '.repeat(1000)}`, bytes)}0]`,
  'a long number with an end': bytes => `{"limit":1.${'0'.repeat(bytes)}1}`,
  'a long number': bytes => `{"limit":${'9'.repeat(bytes)}}`,
  'many numbers that cannot be represented': bytes => `{"limit":[${repeated('1e400,', bytes)}1]}`,
  blanks: bytes => `${' '.repeat(bytes)}{}`,
  'a text that never ends': bytes => `{"name":"${'\\"'.repeat(bytes / 2)}`,
  'bytes that are no text': bytes => Buffer.alloc(bytes, 0xff),
};

const each = <Entry>(length: number, entry: (at: number) => Entry) =>
  Array.from({ length }, (_, at) => entry(at));
const rule = (name: string) => ({ name, limit: 1, subjects: ['size:all'] });

/** Whole policies, as large as they may be, of which something is wrong. */
export const policyShapes: Readonly<Record<string, () => object>> = {
  'users that nobody knows': () => ({
    rules: [],
    groups: [{ name: 'g', rules: [], users: each(500_000, at => `nobody ${at}`) }],
  }),
  'a user who is there again and again': () => ({
    rules: [],
    groups: [{ name: 'g', rules: [], users: each(500_000, () => 'alice') }],
  }),
  'a user in all groups': () => ({
    rules: [],
    groups: [...each(9999, at => ({ name: `g${at}`, rules: [], users: ['alice'] })), { name: 'g0' }],
  }),
  'rules that are there twice': () => ({
    rules: [...each(5000, at => rule(`r${at}`)), ...each(5000, at => rule(`r${at}`))],
    groups: [],
  }),
  'groups of rules that nobody laid down': () => ({
    rules: [],
    groups: each(1000, group => ({ name: `g${group}`, rules: each(400, at => ({ name: `r${at}` })) })),
  }),
  'groups of names of rules that nobody laid down': () => ({
    rules: [],
    groups: each(1000, group => ({ name: `g${group}`, rules: each(400, at => `r${at}`) })),
  }),
};

/** Query strings, as long as addresses may be. */
export const queryShapes: readonly string[] = [
  `?${repeated('a&', 12 * kibibyte)}`,
  `?${repeated('limit=1&', 12 * kibibyte)}`,
  `?q=${'%41'.repeat(4000)}`,
  `?owner=${'%ff'.repeat(4000)}`,
  `?subject=${'%20'.repeat(20)}size:all${'%20'.repeat(3000)}`,
  `?page=${'9'.repeat(12_000)}&limit=${'0'.repeat(300)}1`,
  `?path=/${'a/'.repeat(6000)}`,
  `?path=/${'../'.repeat(4000)}`,
  `?after=${'1'.repeat(6000)}.${'a'.repeat(6000)}`,
];

/** Headers, as long as they may be altogether. */
export const headerShapes: readonly Readonly<Record<string, string>>[] = [
  { Authorization: `token ${'x'.repeat(12_000)}` },
  { Authorization: `Basic ${Buffer.from(`a:${'x'.repeat(8000)}`).toString('base64')}` },
  { Authorization: ' '.repeat(12_000) },
  { Cookie: repeated('softquota-session=x; ', 12_000) },
  { Cookie: `softquota-session=${'x'.repeat(12_000)}` },
  { 'X-Forwarded-For': repeated('1.2.3.4, ', 12_000) },
  { 'If-None-Match': repeated('"x", ', 12_000) },
  { 'If-None-Match': ','.repeat(12_000) },
  { Accept: repeated('text/plain;q=0.1, ', 12_000) },
  { 'Accept-Encoding': repeated('gzip;q=0.1, ', 12_000) },
  { Origin: `http://${'a.'.repeat(5000)}` },
  { 'Content-Type': `application/json${' '.repeat(12_000)};` },
];

/** Sizes up to what a route takes, and one beyond. */
export function sizesUpTo(mostBytes: number): readonly number[] {
  return [kibibyte, 64 * kibibyte, mebibyte, mostBytes, mostBytes + 2].filter(
    bytes => bytes <= mostBytes + 2,
  );
}

export function repeated(text: string, bytes: number): string {
  return text.repeat(Math.floor(bytes / text.length));
}

function listOf(length: number, entry: (at: number) => string): string {
  return `[${Array.from({ length }, (_, at) => entry(at)).join(',')}]`;
}

function objectOf(bytes: number, field: (at: number) => string): string {
  const fields: string[] = [];
  for (let length = 2, at = 0; length < bytes; at++) {
    const text = field(at);
    fields.push(text);
    length += text.length + 1;
  }
  return `{${fields.join(',')}}`;
}
