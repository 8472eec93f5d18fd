/**
 * Presets: the requests by which storage grows at common servers, from their route tables.
 *
 * Pushes and edits in the browser are checked by a hook and are not here, so that nothing is checked twice;
 * git's own routes are checked only with EARLY. Requests without an owner in their address (new repositories,
 * forks, transfers, artifacts) cannot be checked here; docs/forges/uploads.md lists them for each server.
 */

import { withoutEnd } from '../../text.ts';
import type { FileForm, RouteSubject, UploadPart, UploadRoute } from './routes.ts';
import { parseUrlTemplate, type UrlTemplate } from './routes.ts';

export interface PresetRoute {
  readonly methods: readonly string[];
  readonly urls: readonly string[];
  readonly subject: RouteSubject;
  /** Absent: the whole body. */
  readonly file?: FileForm;
  readonly part?: UploadPart;
  /** The route is at the root of the host, whatever path the server has. */
  readonly isAtRoot?: boolean;
}

const issues = 'size:assets:attachments:issues';
const releases = 'size:assets:attachments:releases';
const lfs = 'size:git:lfs';
const packages = 'size:assets:packages:all';

/** A container registry: POST begins the upload of a layer, or reuses a layer; the others send data. */
const containers: readonly PresetRoute[] = [
  {
    methods: ['POST'],
    urls: ['/v2/{owner}/**/blobs/uploads'],
    subject: packages,
    isAtRoot: true,
    part: 'first',
  },
  {
    methods: ['PATCH', 'PUT'],
    urls: ['/v2/{owner}/**/blobs/uploads/*'],
    subject: packages,
    isAtRoot: true,
    part: 'later',
  },
];

const giteaPackagesThatGrowNothing: PresetRoute = {
  methods: ['PUT', 'POST'],
  urls: [
    '/api/packages/{owner}/cargo/api/v1/crates/*/*/unyank',
    '/api/packages/{owner}/conan/v1/**/upload_urls',
    '/api/packages/{owner}/conan/**/packages/delete',
    '/api/packages/{owner}/npm/-/npm/v1/security/**',
    '/api/packages/{owner}/npm/-/package/**/dist-tags/*',
    '/api/packages/{owner}/npm/**/-rev/*',
    '/api/packages/{owner}/swift',
    '/api/packages/{owner}/swift/login',
    '/api/packages/{owner}/terraform/state/*/lock',
  ],
  subject: 'none',
};

const gitea: readonly PresetRoute[] = [
  { methods: ['PUT'], urls: ['/{owner}/{repo}/info/lfs/objects/*/{size}'], subject: lfs },
  { methods: ['POST'], urls: ['/{owner}/{repo}/settings/lfs/pointers/associate'], subject: lfs },
  giteaPackagesThatGrowNothing,
  { methods: ['PUT'], urls: ['/api/packages/{owner}/npm/**'], subject: packages, file: 'base64' },
  {
    methods: ['PUT'],
    urls: [
      '/api/packages/{owner}/cargo/**',
      '/api/packages/{owner}/nuget/**',
      '/api/packages/{owner}/swift/**',
    ],
    subject: packages,
    file: 'part',
  },
  { methods: ['PUT'], urls: ['/api/packages/{owner}/**'], subject: packages },
  { methods: ['POST'], urls: ['/api/packages/{owner}/**'], subject: packages, file: 'part' },
  ...containers,
  {
    methods: ['POST'],
    urls: [
      '/{owner}/{repo}/issues/attachments',
      '/{owner}/{repo}/pulls/attachments',
      '/api/v1/repos/{owner}/{repo}/issues/*/assets',
      '/api/v1/repos/{owner}/{repo}/issues/comments/*/assets',
    ],
    subject: issues,
    file: 'part',
  },
  {
    methods: ['POST'],
    urls: ['/{owner}/{repo}/releases/attachments', '/api/v1/repos/{owner}/{repo}/releases/*/assets'],
    subject: releases,
    file: 'part',
  },
  { methods: ['POST'], urls: ['/{owner}/{repo}/upload-file'], subject: 'repository', file: 'part' },
  {
    methods: ['POST'],
    urls: [
      '/api/v1/orgs/{owner}/repos',
      '/api/v1/org/{owner}/repos',
      '/api/v1/admin/users/{owner}/repos',
      '/api/v1/repos/{owner}/{repo}/mirror-sync',
      '/api/v1/admin/unadopted/{owner}/{repo}',
    ],
    subject: 'repository',
  },
  { methods: ['POST'], urls: ['/{owner}/{repo}/settings/migrate/retry'], subject: 'size:all' },
];

/** Only addresses at which no file can be stored: the path of a project may have any number of names. */
const gitlabPackagesThatGrowNothing: PresetRoute = {
  methods: ['POST'],
  urls: [
    '/api/v4/projects/{owner}/**/packages/conan/**/upload_urls',
    '/api/v4/projects/{owner}/**/packages/npm/-/npm/v1/security/**',
    '/api/v4/projects/{owner}/**/packages/protection/rules',
    '/api/v4/groups/{owner}/**/-/packages/npm/-/npm/v1/security/**',
  ],
  subject: 'none',
};

const gitlabPackages = ['/api/v4/projects/{owner}/**/packages/**', '/api/v4/groups/{owner}/**/-/packages/**'];

/** The request of git before a push; only with EARLY. */
export const gitRoutes: readonly PresetRoute[] = [
  {
    methods: ['GET'],
    urls: [
      '/{owner}/{repo}/info/refs?service=git-receive-pack',
      '/{owner}/**/{repo}/info/refs?service=git-receive-pack',
    ],
    subject: 'repository',
  },
];

export const presetRoutes = {
  'git-http': [],
  lfs: [
    {
      methods: ['PUT'],
      urls: [
        '/{owner}/{repo}/info/lfs/objects/*/{size}',
        '/{owner}/{repo}/info/lfs/objects/*',
        '/{owner}/{repo}/info/lfs/objects/basic/*',
        // With more than two names it is not known which one is the repository.
        '/{owner}/*/**/info/lfs/objects/*/{size}',
        '/{owner}/*/**/info/lfs/objects/*',
        '/{owner}/*/**/info/lfs/objects/basic/*',
        // giftless, at its older addresses.
        '/{owner}/{repo}/objects/storage/*',
      ],
      subject: lfs,
    },
  ],
  gitea,
  forgejo: gitea,
  gitlab: [
    { methods: ['PUT'], urls: ['/{owner}/**/gitlab-lfs/objects/*/{size}'], subject: lfs },
    gitlabPackagesThatGrowNothing,
    {
      methods: ['PUT'],
      urls: ['/api/v4/projects/{owner}/**/packages/npm/**'],
      subject: packages,
      file: 'base64',
    },
    {
      methods: ['PUT'],
      urls: [
        '/api/v4/projects/{owner}/**/packages/nuget/**',
        '/api/v4/groups/{owner}/**/-/packages/nuget/**',
      ],
      subject: packages,
      file: 'part',
    },
    // The project as a path; as a number it names no owner.
    { methods: ['PUT'], urls: gitlabPackages, subject: packages },
    { methods: ['POST'], urls: gitlabPackages, subject: packages, file: 'part' },
    ...containers,
    {
      methods: ['POST'],
      urls: [
        '/api/v4/projects/{owner}/**/uploads',
        '/api/v4/projects/{owner}/**/wikis/attachments',
        '/api/v4/projects/{owner}/**/issues/*/metric_images',
        '/api/v4/projects/{owner}/**/alert_management_alerts/*/metric_images',
        '/api/v4/groups/{owner}/**/wikis/attachments',
        '/{owner}/**/-/uploads',
        '/{owner}/**/uploads',
        '/groups/{owner}/**/-/uploads',
      ],
      subject: issues,
      file: 'part',
    },
    { methods: ['POST'], urls: ['/api/v4/projects/{owner}/**/{repo}/mirror/pull'], subject: 'repository' },
  ],
  gogs: [
    { methods: ['PUT'], urls: ['/{owner}/{repo}/info/lfs/objects/basic/*'], subject: lfs },
    { methods: ['POST'], urls: ['/{owner}/{repo}/upload-file'], subject: 'repository', file: 'part' },
    {
      methods: ['POST'],
      urls: [
        '/api/v1/org/{owner}/repos',
        '/api/v1/admin/users/{owner}/repos',
        '/api/v1/repos/{owner}/{repo}/mirror-sync',
      ],
      subject: 'repository',
    },
  ],
  verdaccio: [
    { methods: ['PUT'], urls: ['/@{owner}/*/-rev/*'], subject: 'none' },
    // Verdaccio accepts a package with any two names behind it, too.
    { methods: ['PUT'], urls: ['/@{owner}/*', '/@{owner}/*/**'], subject: packages, file: 'base64' },
  ],
  distribution: containers,
} as const satisfies Readonly<Record<string, readonly PresetRoute[]>>;

export type PresetName = keyof typeof presetRoutes;

export const presetNames = Object.keys(presetRoutes) as readonly PresetName[]; // the keys of a constant

/** First names of GitLab's own addresses, in the place of a group. */
const gitlabNames: ReadonlySet<string> = new Set(['-', 'admin', 'api', 'dashboard', 'groups', 'users', 'v2']);

const lfsBatch: PresetRoute = {
  methods: ['POST'],
  urls: ['/{owner}/{repo}/info/lfs/objects/batch', '/{owner}/**/info/lfs/objects/batch'],
  subject: 'size:git:lfs',
};

/** Returns the batch endpoints of LFS servers, below a path of the server. */
export function lfsBatchRoutes(base: string): readonly UploadRoute[] {
  return belowOrNot(base).map(prefix => made('lfs', lfsBatch, prefix, 'any'));
}

/**
 * Returns the prefixes to try, since some proxies remove the path of the server. The path itself comes first,
 * so that `/git` is not taken for an owner.
 */
function belowOrNot(base: string): readonly string[] {
  const prefix = withoutEnd(base, '/');
  return prefix === '' ? [''] : [prefix, ''];
}

const gitPresets: ReadonlySet<PresetName> = new Set(['git-http', 'gitea', 'forgejo', 'gitlab', 'gogs']);

/**
 * Returns the routes of presets, below a path of the server such as `/git`; with `isEarly` also git's, so
 * that a push is refused before it sends anything.
 */
export function routesOf(
  presets: readonly PresetName[],
  base: string,
  isEarly: boolean,
): readonly UploadRoute[] {
  const early = isEarly && presets.some(preset => gitPresets.has(preset));
  return belowOrNot(base).flatMap(prefix => [
    ...presets.flatMap(preset => presetRoutes[preset].map(route => made(preset, route, prefix, 'any'))),
    ...(early ? gitRoutes.map(route => made('git-http', route, prefix, 'git')) : []),
  ]);
}

function made(
  preset: PresetName,
  { methods, urls, subject, file = 'whole', isAtRoot = false, part = 'only' }: PresetRoute,
  prefix: string,
  client: UploadRoute['client'],
): UploadRoute {
  const templates = urls.map(url => known(isAtRoot ? url : `${prefix}${url}`));
  // A project's number names no owner.
  const isNoOwner = (name: string) => preset === 'gitlab' && (gitlabNames.has(name) || /^\d+$/.test(name));
  return { name: preset, templates, methods, subject, owner: null, isNoOwner, client, file, part };
}

/** Parses a template of a preset; an invalid one is a programming error. */
function known(url: string): UrlTemplate {
  const parsed = parseUrlTemplate(url);
  if (parsed.ok) return parsed.value;
  throw new TypeError(`${url} is ${parsed.problem}`);
}
