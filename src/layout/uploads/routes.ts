/** Finds out from the address and the method of a request what it would grow, and whose it is. */

import { isSubject, type Subject } from '../../quota/index.ts';
import { readAddress } from './address.ts';
import { type Captured, matchReading, type UrlTemplate } from './template.ts';

/** Subject that a route grows; `repository`: that of the repository; `none`: it grows nothing. */
export type RouteSubject = Subject | 'repository' | 'none';

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
  { name, client }: UploadRoute,
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
