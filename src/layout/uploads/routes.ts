/**
 * Finds out from the address and the method of a request what it would grow, and whose it is.
 *
 * A proxy asks about an address as the client wrote it, and the server behind it may read that in its own
 * way: some resolve dots, some take an encoded slash for a slash. So an address has several readings, and
 * what one of them grows is asked about.
 *
 * URL templates are such as `/{owner}/{repo}/releases/attachments`: `{owner}` is whose usage grows, `{repo}`
 * a repository of theirs, `{size}` the bytes that come; `*` is any name, `**` any number of names, also none;
 * `?service=X` asks for a parameter of the query. Letters compare without case, so that no spelling gets
 * past.
 */

import type { Parsed } from '../../parsed.ts';
import { isSubject, type Subject } from '../../quota/index.ts';

const placeholders = ['owner', 'repo', 'size'] as const;

type Placeholder = (typeof placeholders)[number];

export type Captured = Readonly<Partial<Record<Placeholder, string>>>;

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

/** The names in one reading of an address; null where the template does not match. */
export function matchReading(
  { segments, query }: UrlTemplate,
  names: readonly string[],
  asked: RequestAddress['query'],
): Captured | null {
  if (!query.every(([name, value]) => asked.getAll(name).some(each => isValue(each, value)))) {
    return null;
  }
  // A place that did not match is not tried again, so that long addresses take no long time.
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

/** A fragment behind the value is cut off by some. */
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
      // No owner has a slash in the name; another reading of the address has it split.
      if (segment.name === 'owner' && name.includes('/')) return null;
      const lower = name.toLowerCase();
      // Some letters change their length with their case.
      if (lower.length !== name.length) return before + after === '' ? { [segment.name]: name } : null;
      const isMatch =
        lower.startsWith(before) && lower.endsWith(after) && name.length > before.length + after.length;
      return isMatch ? { [segment.name]: name.slice(before.length, name.length - after.length) } : null;
    }
  }
}

export interface RequestAddress {
  /** Decoded names between slashes, without empty ones; at least one reading. */
  readonly readings: readonly (readonly string[])[];
  readonly query: URLSearchParams;
}

/**
 * Reads a request's target, absolute or not; never throws: what is not understood stands as it is written.
 */
export function readAddress(target: string): RequestAddress {
  const end = target.indexOf('?');
  const path = (end === -1 ? target : target.slice(0, end)).replace(/^https?:\/\/[^/]*/i, '');
  const query = new URLSearchParams(end === -1 ? '' : target.slice(end + 1));
  // No client sends a fragment; who does may be cut off there, or not.
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

/** The target without the path that the server is below, where it has it; all else as it is written. */
export function withoutBase(target: string, base: string): string {
  let rest = target;
  for (const name of base.split('/').filter(part => part !== '')) {
    const [all = '', first = ''] = /^\/+([^/?#]*)/.exec(rest) ?? [];
    if (decoded(first) !== decoded(name)) return target;
    rest = rest.slice(all.length);
  }
  return rest.startsWith('/') ? rest : target;
}

/** Bytes that are no UTF-8 become U+FFFD, and a percent sign without two digits stays. */
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

/** Subject that a route grows; `repository`: that of the repository; `none`: it grows nothing. */
export type RouteSubject = Subject | 'repository' | 'none';

/** The file in the body of a request: in base64 within JSON, a part of a form, or all of the body. */
export type FileForm = 'base64' | 'part' | 'whole';

/** The boundary of a form, and its other fields, are no longer than this. */
const longestFormBytes = 4096;
/** The other fields of the JSON: npm sends the README of the package in it. */
const longestAroundBytes = 256 * 1024;

/** The bytes of the file in a body of this length: rather fewer, so that no limit refuses a smaller file. */
export function fileBytesIn(form: FileForm, lengthBytes: number): number {
  if (form === 'base64') return Math.floor((Math.max(0, lengthBytes - longestAroundBytes) / 4) * 3);
  return form === 'part' ? Math.max(0, lengthBytes - longestFormBytes) : lengthBytes;
}

/**
 * An upload may take several requests. The first one has no data yet; those after it are asked about what they
 * bring, and not again about what is stored.
 */
export type UploadPart = 'only' | 'first' | 'later';

export interface UploadRoute {
  readonly name: string;
  readonly templates: readonly UrlTemplate[];
  /** In capitals. */
  readonly methods: readonly string[];
  readonly subject: RouteSubject;
  /** Owner if no template names one. */
  readonly owner: string | null;
  /** Tells of a name, in lower case, that it stands where an owner would and is none. */
  readonly isNoOwner: (name: string) => boolean;
  /** `git`: the answer is read by git, which shows plain text only. */
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
  /** The bytes that come, where the address says so; else 0. */
  readonly sizeBytes: number;
  readonly client: UploadRoute['client'];
  readonly file: FileForm;
  readonly part: UploadPart;
}

/**
 * The uploads that a request may start: for each reading of its address what the first route that matches
 * that reading says. None, one, or several where servers may read the address differently; then it may go on
 * only if all of them may.
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

/** Null where the text is no subject of a route. */
export function routeSubject(text: string): RouteSubject | null {
  return text === 'repository' || text === 'none' || isSubject(text) ? text : null;
}

/**
 * The paths at which storage templates expect a repository that a URL names: with the names as they are
 * written, and in lower case, as forges store them. Templates are those of `[storage.repos] PATH`; one with
 * anything but `{owner}` and `{repo}` that varies gives none.
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
