/**
 * Finds out from the address and the method of a request which usage it would grow, and whose.
 *
 * A proxy passes on an address as the client wrote it, and the server behind it may read it in its own way:
 * some resolve dots, some take an encoded slash for a slash. So an address has several readings, and each
 * upload that one of them means is checked.
 *
 * URL templates are such as `/{owner}/{repo}/releases/attachments`: `{owner}` is the owner whose usage grows,
 * `{repo}` a repository of that owner, `{size}` the bytes of the upload; `*` is any name, `**` any number of
 * names, also none; `?service=X` requires a parameter of the query. Letters are compared without case, so
 * that no spelling gets past.
 */

import type { Parsed } from '../../parsed.ts';
import { isSubject, type Subject } from '../../quota/index.ts';

const placeholders = ['owner', 'repo', 'size'] as const;

type Placeholder = (typeof placeholders)[number];

type Captured = Readonly<Partial<Record<Placeholder, string>>>;

type Segment =
  | { readonly is: 'any' }
  | { readonly is: 'rest' }
  /** In lower case. */
  | { readonly is: 'literal'; readonly text: string }
  | {
      readonly is: 'placeholder';
      readonly name: Placeholder;
      readonly before: string;
      readonly after: string;
    };

export interface UrlTemplate {
  readonly text: string;
  readonly segments: readonly Segment[];
  /** Parameters that the query must have; in lower case. */
  readonly query: readonly (readonly [name: string, value: string])[];
}

const mostSegments = 20;

export function parseUrlTemplate(text: string): Parsed<UrlTemplate> {
  const fault = (problem: string): Parsed<UrlTemplate> => ({ ok: false, problem });
  if (!text.startsWith('/')) return fault('not a path: it does not begin with /');
  const [path = '', query = ''] = text.split('?', 2);
  const names = path.split('/').filter(name => name !== '');
  if (names.length > mostSegments) return fault(`longer than ${mostSegments} names`);
  const segments: Segment[] = [];
  for (const name of names) {
    const segment = segmentOf(name);
    if (segment === null) {
      return fault(`not understood at "${name}": known are {owner}, {repo}, {size}, * and **`);
    }
    segments.push(segment);
  }
  const used = segments.flatMap(segment => (segment.is === 'placeholder' ? [segment.name] : []));
  if (new Set(used).size < used.length) return fault('a template that has a placeholder twice');
  const wanted = [...new URLSearchParams(query.toLowerCase())];
  return { ok: true, value: { text, segments, query: wanted } };
}

function segmentOf(name: string): Segment | null {
  if (name === '*') return { is: 'any' };
  if (name === '**') return { is: 'rest' };
  const parts = /^([^{}*]*)(?:\{([a-z]+)\}([^{}*]*))?$/.exec(name);
  if (parts === null) return null;
  const [, before = '', inner, after = ''] = parts;
  if (inner === undefined) return { is: 'literal', text: before.toLowerCase() };
  const placeholder = placeholders.find(known => known === inner);
  if (placeholder === undefined) return null;
  return { is: 'placeholder', name: placeholder, before: before.toLowerCase(), after: after.toLowerCase() };
}

/** Matches one reading of an address; returns the captured names, or null if the template does not match. */
function matchReading(
  { segments, query }: UrlTemplate,
  names: readonly string[],
  asked: RequestAddress['query'],
): Captured | null {
  if (!query.every(([name, value]) => asked.getAll(name).some(each => isValue(each, value)))) {
    return null;
  }
  // A place that did not match is not tried again, so that a long address costs little time.
  const failed = new Set<number>();
  const matchFrom = (segment: number, name: number): Captured | null => {
    const place = segment * (names.length + 1) + name;
    if (failed.has(place)) return null;
    const found = step(segment, name);
    if (found === null) failed.add(place);
    return found;
  };
  const step = (at: number, from: number): Captured | null => {
    const segment = segments[at];
    if (segment === undefined) return from === names.length ? {} : null;
    if (segment.is === 'rest') {
      for (let next = from; next <= names.length; next++) {
        const found = matchFrom(at + 1, next);
        if (found !== null) return found;
      }
      return null;
    }
    const name = names[from];
    const captured = name === undefined ? null : matchName(segment, name);
    if (captured === null) return null;
    const found = matchFrom(at + 1, from + 1);
    return found === null ? null : { ...captured, ...found };
  };
  return matchFrom(0, 0);
}

/** Compares a value; some servers cut off a fragment behind it. */
function isValue(text: string, value: string): boolean {
  const lower = text.toLowerCase();
  return lower === value || lower.startsWith(`${value}#`);
}

function matchName(segment: Exclude<Segment, { readonly is: 'rest' }>, name: string): Captured | null {
  switch (segment.is) {
    case 'any':
      return {};
    case 'literal':
      return name.toLowerCase() === segment.text ? {} : null;
    case 'placeholder': {
      const { before, after } = segment;
      // No owner's name has a slash; another reading of the address has the name split there.
      if (segment.name === 'owner' && name.includes('/')) return null;
      const lower = name.toLowerCase();
      // Some letters change their length in lower case.
      if (lower.length !== name.length) return before + after === '' ? { [segment.name]: name } : null;
      const isMatch =
        lower.startsWith(before) && lower.endsWith(after) && name.length > before.length + after.length;
      return isMatch ? { [segment.name]: name.slice(before.length, name.length - after.length) } : null;
    }
  }
}

interface RequestAddress {
  /** Decoded names between slashes, without empty ones; at least one reading. */
  readonly readings: readonly (readonly string[])[];
  readonly query: URLSearchParams;
}

/** Reads a request's target, absolute or not. Never throws: a part that it cannot read stays as written. */
function readAddress(target: string): RequestAddress {
  const end = target.indexOf('?');
  const path = (end === -1 ? target : target.slice(0, end)).replace(/^https?:\/\/[^/]*/i, '');
  const query = new URLSearchParams(end === -1 ? '' : target.slice(end + 1));
  // Clients send no fragments. Servers may cut one off, or not, so both are readings.
  const [cutOff = ''] = path.split('#', 1);
  const all = [path, cutOff].flatMap(text => {
    const written = text.split('/').map(decoded);
    const split = written.flatMap(name => name.split('/'));
    return [written, split].flatMap(names => {
      const present = names.filter(name => name !== '');
      return [present, withoutDots(present)];
    });
  });
  const readings = [...new Map(all.map(names => [names.join('\0'), names])).values()];
  return { readings, query };
}

/** Removes the path below which the server lies from the target; a target without it stays as written. */
export function withoutBase(target: string, base: string): string {
  let rest = target;
  for (const name of base.split('/').filter(part => part !== '')) {
    const [all = '', first = ''] = /^\/+([^/?#]*)/.exec(rest) ?? [];
    if (decoded(first) !== decoded(name)) return target;
    rest = rest.slice(all.length);
  }
  return rest.startsWith('/') ? rest : target;
}

/** Decodes percent signs. Invalid UTF-8 becomes U+FFFD, and a percent sign without two digits stays. */
function decoded(name: string): string {
  if (!name.includes('%')) return name;
  const bytes = Buffer.from(
    Buffer.from(name)
      .toString('latin1')
      .replace(/%([0-9a-f]{2})/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16))),
    'latin1',
  );
  return bytes.toString();
}

function withoutDots(names: readonly string[]): readonly string[] {
  const kept: string[] = [];
  for (const name of names) {
    if (name === '..') kept.pop();
    else if (name !== '.') kept.push(name);
  }
  return kept;
}

/** The subject that a route grows; `repository`: the leaf of the repository; `none`: it grows nothing. */
export type RouteSubject = Subject | 'repository' | 'none';

/** The file in the body of a request: in base64 within JSON, a part of a form, or all of the body. */
export type FileForm = 'base64' | 'part' | 'whole';

/** Longest boundary and other fields of a form together. */
const longestFormBytes = 4096;
/** Longest other fields of the JSON together: npm sends the README of the package there. */
const longestAroundBytes = 256 * 1024;

/** Estimates the bytes of the file in a body of this length: rather too few, so as to refuse none wrongly. */
export function fileBytesIn(form: FileForm, lengthBytes: number): number {
  if (form === 'base64') return Math.floor((Math.max(0, lengthBytes - longestAroundBytes) / 4) * 3);
  return form === 'part' ? Math.max(0, lengthBytes - longestFormBytes) : lengthBytes;
}

/**
 * An upload may take several requests. The first one has no data yet; later ones are checked for the bytes
 * that they bring, and not again for the usage that is stored.
 */
export type UploadPart = 'only' | 'first' | 'later';

export interface UploadRoute {
  readonly name: string;
  readonly templates: readonly UrlTemplate[];
  /** In capitals. */
  readonly methods: readonly string[];
  readonly subject: RouteSubject;
  /** The owner if the template names none. */
  readonly owner: string | null;
  /** Tells whether a name in place of an owner, in lower case, is not an owner. */
  readonly isNoOwner: (name: string) => boolean;
  /** `git`: git reads the answer, and shows only plain text. */
  readonly client: 'git' | 'any';
  /** Absent: the whole body. */
  readonly file?: FileForm;
  /** Absent: the only one. */
  readonly part?: UploadPart;
}

/** An upload that is about to start. */
export interface Upload {
  readonly route: string;
  readonly owner: string;
  readonly subject: Exclude<RouteSubject, 'none'>;
  /** Without `.git`; null where the route names none. */
  readonly repository: string | null;
  /** The bytes of the upload if the address has them; else 0. */
  readonly sizeBytes: number;
  readonly client: UploadRoute['client'];
  readonly file: FileForm;
  readonly part: UploadPart;
}

/**
 * Lists the uploads that a request may start: for each reading of its address, the upload of the first route
 * that matches. There are several if servers may read the address differently; then all of them must be
 * allowed.
 */
export function uploadsOf(routes: readonly UploadRoute[], method: string, target: string): readonly Upload[] {
  const verb = method.toUpperCase();
  const asked = routes.filter(({ methods }) => methods.includes(verb));
  if (asked.length === 0) return [];
  const { readings, query } = readAddress(target);
  const uploads = readings.flatMap(names => uploadIn(asked, names, query) ?? []);
  return [...new Map(uploads.map(upload => [JSON.stringify(upload), upload])).values()];
}

function uploadIn(
  routes: readonly UploadRoute[],
  names: readonly string[],
  query: URLSearchParams,
): Upload | null {
  for (const route of routes) {
    const captured = firstMatch(route, names, query);
    if (captured === null) continue;
    const { subject } = route;
    if (subject === 'none') return null;
    const owner = captured.owner ?? route.owner;
    if (owner !== null) return uploadTo(route, subject, owner, captured);
  }
  return null;
}

function firstMatch(
  { templates, isNoOwner }: UploadRoute,
  names: readonly string[],
  query: URLSearchParams,
): Captured | null {
  for (const template of templates) {
    const found = matchReading(template, names, query);
    if (found !== null && !isNoOwner(found.owner?.toLowerCase() ?? '')) return found;
  }
  return null;
}

function uploadTo(
  { name, client, file = 'whole', part = 'only' }: UploadRoute,
  subject: Upload['subject'],
  owner: string,
  { repo, size }: Captured,
): Upload {
  const repository = repo?.replace(/\.git$/i, '') ?? null;
  const isWiki = subject === 'repository' && repository !== null && /\.wiki$/i.test(repository);
  const sizeBytes = size !== undefined && /^\d{1,15}$/.test(size) ? Number(size) : 0;
  return {
    route: name,
    owner,
    subject: isWiki ? 'size:assets:wiki' : subject,
    repository,
    sizeBytes,
    client,
    file,
    part,
  };
}

/** Parses the subject of a route; null if the text is none. */
export function routeSubject(text: string): RouteSubject | null {
  return text === 'repository' || text === 'none' || isSubject(text) ? text : null;
}

/**
 * Lists the paths at which templates of `[storage.repos] PATH` expect a repository that a URL names: with the
 * names as written, and in lower case, as forges store them. A template with other variable parts than
 * `{owner}` and `{repo}` gives none.
 */
export function repositoryPaths(templates: readonly string[], owner: string, repository: string): string[] {
  if (![owner, ...repository.split('/')].every(isName)) return [];
  const paths = templates
    .filter(template => !template.split('/').includes('*'))
    .flatMap(template =>
      [
        [owner, repository],
        [owner.toLowerCase(), repository.toLowerCase()],
      ].map(([one = '', other = '']) =>
        template.replaceAll(/\{owner\}|\{repo\}/g, place => (place === '{owner}' ? one : other)),
      ),
    )
    .filter(path => !/[{}]/.test(path));
  return [...new Set(paths)];
}

function isName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && !/[\0/{}]/.test(name);
}
