/** The keys for reverse proxies that ask before they let an upload through. */

import {
  type PresetName,
  parseUrlTemplate,
  presetNames,
  routeSubject,
  routesOf,
  type StorageSettings,
  type UploadRoute,
  type UrlTemplate,
} from '../layout/index.ts';
import { type AskedHere, isRepository, leafMask, leaves, type RuleSubject } from '../quota/index.ts';
import { type ConfigEntry, key, keysOf, type Values, type ValuesOf } from './key.ts';
import * as kind from './kinds.ts';

const preset: kind.ValueType<PresetName> = kind.oneOf(presetNames);

const base = kind.matching(
  /^\/[^\s{}?#*]*$/,
  'not a path of a URL',
  'Write the path below which the server is, such as /git, or / for none',
);

export const gate = keysOf('gate', {
  presets: key(
    'PRESET',
    kind.listOf(preset, `Write some of ${presetNames.join(', ')}, separated by commas`),
    {
      doc: `The servers behind the proxy, whose routes that grow storage are known: ${presetNames.join(', ')}.`,
      example: 'gitea',
    },
  ),
  base: key('BASE', base, {
    text: '/',
    doc: 'The path of the URL below which the servers of PRESET are. Addresses without it are asked about as well, since some proxies take it off, and `[lfs] UPSTREAM` gets them without it.',
  }),
  isEarly: key('EARLY', kind.flag, {
    text: 'false',
    doc: 'With `true`, a push by http is refused before it sends anything. Then an owner over the limit cannot delete branches by http either.',
  }),
  headers: key('HEADERS', kind.oneOf(['original', 'forwarded']), {
    text: 'original',
    doc: 'The headers in which the proxy sends the address and the method: `original` (X-Original-URI and X-Original-Method, as nginx is configured to) or `forwarded` (X-Forwarded-Uri and X-Forwarded-Method, as Caddy and Traefik send them). The others are ignored.',
  }),
  onError: key('ON_ERROR', kind.oneOf(['allow', 'deny']), {
    text: 'allow',
    doc: 'The answer to a proxy about an upload that cannot be decided: `allow` or `deny`.',
  }),
  figures: key('FIGURES', kind.flag, {
    text: 'true',
    doc: 'With `false`, a refusal to a proxy names no owner, usage and limit, since it comes before the sign-in. An owner whose page the forge shows only to some, or who does not exist, is never named.',
  }),
  addr: key('ADDR', kind.listenAddress, {
    text: '127.0.0.1',
    doc: 'The address of PORT. In a container, `0.0.0.0`.',
    restarts: true,
  }),
  port: key('PORT', kind.optional(kind.wholeNumber(1, 65_535)), {
    doc: 'A TCP port for proxies that cannot ask on the socket: `/v1/forward-auth`, the LFS batch and `/healthz`, for this host and `[server] TRUSTED_PROXIES` only.',
    example: '3081',
    restarts: true,
  }),
});

const address = kind.matching(
  text => /^https?:\/\//i.test(text) && URL.canParse(text),
  'not an address',
  'Write the address of the server, such as http://127.0.0.1:3000/',
);

export const lfs = keysOf('lfs', {
  upstream: key('UPSTREAM', kind.optional(address), {
    doc: 'The LFS server that `/v1/lfs/` on the gate passes batch requests on to, once the quota allows them.',
    example: 'http://127.0.0.1:3000/',
    secret: 'password',
  }),
});

const url: kind.ValueType<UrlTemplate> = {
  expected: 'Write paths of URLs such as /upload/{owner}/**, separated by commas',
  parse: parseUrlTemplate,
  print: ({ text }) => text,
};

const method = kind.matching(
  /^[A-Z]{3,20}$/,
  'not a method',
  'Write methods such as POST, PUT, separated by commas',
  text => text.trim().toUpperCase(),
);

const subject: kind.ValueType<NonNullable<ReturnType<typeof routeSubject>>> = {
  expected: 'Write a subject such as size:assets:packages:all, or repository, or none',
  parse: text => {
    const value = routeSubject(text.trim());
    return value === null ? { ok: false, problem: 'not a subject' } : { ok: true, value };
  },
  print: String,
};

export const routeSection = /^gate\.[a-z0-9_-]{1,40}$/;

export function routeKeys(section: string) {
  return keysOf(section, {
    templates: key('URL', kind.listOf(url, url.expected), {
      doc: 'The addresses: `{owner}` is whose usage grows, `{repo}` a repository, `{size}` the bytes that come, `*` any name, `**` any number of names; separate several by commas.',
      example: '/upload/{owner}/**',
    }),
    subject: key('SUBJECT', kind.optional(subject), {
      doc: 'What grows: a subject, `repository` (the kind that the repository of the address is), or `none` (nothing grows; later routes are not asked).',
      example: 'size:assets:packages:all',
    }),
    methods: key('METHODS', kind.listOf(method, method.expected), {
      text: 'POST, PUT, PATCH',
      doc: 'The methods of the requests that are asked about.',
    }),
    owner: key('OWNER', kind.optional(kind.line), {
      doc: 'Whose usage grows where the address has no `{owner}`.',
      example: 'registry',
    }),
  });
}

/** The routes of the `[gate.NAME]` sections, in the order in which they are asked: that of the entries. */
export function ownRoutes(entries: readonly ConfigEntry[], values: Values): readonly UploadRoute[] {
  const sections = new Set(
    entries.map(({ section }) => section).filter(section => routeSection.test(section)),
  );
  return [...sections].map((section): UploadRoute => {
    const keys = routeKeys(section);
    const { templates, methods, subject, owner } = values.takeAll(keys);
    const hasOwner = owner !== null || templates.every(({ text }) => text.includes('{owner}'));
    if (templates.length === 0) values.refuse(keys.templates, `is missing. ${keys.templates.expected}.`);
    if (subject === null) values.refuse(keys.subject, `is missing. ${keys.subject.expected}.`);
    else if (subject !== 'none' && !hasOwner) {
      values.refuse(keys.templates, 'a template has no {owner}. Add it, or write OWNER.');
    }
    return {
      name: section.slice('gate.'.length),
      templates,
      methods,
      subject: subject ?? 'none',
      owner,
      isNoOwner: () => false,
      client: 'any',
    };
  });
}

interface Asking {
  readonly gate: ValuesOf<typeof gate> & { readonly routes: readonly UploadRoute[] };
  readonly lfs: ValuesOf<typeof lfs>;
  readonly storages: readonly StorageSettings[];
  /** Null: no forge is named. */
  readonly forge: object | null;
}

/** The kinds of data that are checked: hooks ask about repositories, a proxy about uploads with a route. */
export function askedIn({
  gate: { presets, base, isEarly, routes },
  lfs,
  storages,
  forge,
}: Asking): AskedHere {
  const repositories = leaves.filter(isRepository);
  const isRepositories = ({ kind }: StorageSettings) => kind === 'repos' || kind === 'wiki';
  const subjects: readonly RuleSubject[] = [
    ...[...routes, ...routesOf(presets, base, isEarly)].flatMap(({ subject }) =>
      subject === 'repository' ? repositories : [subject],
    ),
    ...(storages.some(isRepositories) ? repositories : []),
    ...(lfs.upstream === null ? [] : (['size:git:lfs'] as const)),
  ];
  const ofLfs = storages.filter(({ kind }) => kind === 'lfs').flatMap(({ templates }) => templates);
  const isByOwner = !ofLfs.some(template => template.includes('{repo}'));
  return {
    leaves: subjects.reduce((mask, subject) => mask | leafMask(subject), 0),
    isLfsByOwner: forge !== null || (ofLfs.length > 0 && isByOwner),
  };
}
