/**
 * Serves the web UI: one HTML page for all addresses of pages (wire/pages.ts), and the files that it loads.
 * Other addresses are 404.
 */

import { readdir, readFile, stat } from 'node:fs/promises';
import { extname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { SoftquotaError, systemCode } from '../errors.ts';
import { packageDirectory } from '../package.ts';
import { escapeHtml } from '../text.ts';
import { placeAt } from '../wire/index.ts';
import { wrongMethod } from './faults.ts';
import { documentHeaders } from './headers.ts';
import type { ApiServices } from './services.ts';

/** Names of these files contain a hash of the content, so browsers may cache them for ever. */
const hashed = /^\/assets\//;

export function webPages(built: Built, baseUrl: ApiServices['baseUrl']): RequestHandler {
  return async (request, response, next) => {
    const { path } = request;
    const isPage = placeAt(path) !== null;
    const found = await built.files();
    const name = path === '/favicon.ico' ? iconIn(found?.files) : path;
    const isFile = found?.files.has(name) === true && !isCompressed(name);
    if (!isPage && !isFile) return next();
    if (!isRead(request)) throw wrongMethod(request, response, ['GET', 'HEAD']);
    if (isFile) return sendFile(request, response, name, found.files);
    if (found === null) return tellNotBuilt(request, response);
    sendApp(request, response, next, placedAt(found.page, baseUrl()));
  };
}

/** Browsers request /favicon.ico when they show something that is not a page of the UI, such as JSON. */
function iconIn(files: BuiltFiles['files'] = new Map()): string {
  return [...files.keys()].find(name => name.startsWith('/assets/icon-') && !isCompressed(name)) ?? '';
}

/** Answers unknown addresses: browsers get the app, other clients the error of the next handler. */
export function noSuchPage(built: Built, baseUrl: ApiServices['baseUrl']): RequestHandler {
  return async (request, response, next) => {
    if (request.path.startsWith('/api/') || !isForReader(request)) return next();
    const found = await built.files();
    if (found !== null && isRead(request)) {
      return sendApp(request, response.status(404), next, placedAt(found.page, baseUrl()));
    }
    const start = escapeHtml(new URL(baseUrl()).pathname);
    tell(response, 404, 'Page not found', `<a href="${start}">Back to the start</a>`);
  };
}

function sendApp(request: Request, response: Response, next: NextFunction, page: string): void {
  documentHeaders(request, response, error => {
    if (error !== undefined) return next(error);
    response.set('Cache-Control', response.statusCode === 404 ? 'no-store' : 'no-cache');
    response.type('html').send(page);
  });
}

function sendFile(request: Request, response: Response, name: string, files: BuiltFiles['files']): void {
  response.set(
    'Cache-Control',
    hashed.test(request.path) ? 'public, max-age=31536000, immutable' : 'no-cache',
  );
  response.type(extname(name));
  for (const [encoding, suffix] of compressions) {
    const compressed = files.get(name + suffix);
    if (compressed === undefined) continue;
    response.vary('Accept-Encoding');
    if (request.acceptsEncodings(encoding) === false) continue;
    return void response.set('Content-Encoding', encoding).send(compressed);
  }
  response.send(files.get(name));
}

/** Inserts the base URL's path, to which all addresses in the page are relative. */
function placedAt(page: string, baseUrl: string): string {
  const base = `<base href="${escapeHtml(new URL(baseUrl).pathname)}">`;
  return page.replace(/<head>/i, head => `${head}${base}`);
}

function tellNotBuilt(request: Request, response: Response): void {
  const message = 'the web UI is not built: run npm run build in the checkout of softquota';
  if (!isForReader(request)) throw new SoftquotaError('not_ready', message);
  const text = 'Run <code>npm run build</code> in the checkout of softquota, and load this page again.';
  tell(response, 503, 'The web UI is not built', text);
}

function isRead({ method }: Request): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** Returns true if the client prefers HTML, as browsers do. */
function isForReader(request: Request): boolean {
  return request.accepts(['json', 'html']) === 'html';
}

function tell(response: Response, status: number, title: string, html: string): void {
  response
    .status(status)
    .set('Cache-Control', 'no-store')
    .type('html')
    .send(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · softquota</title>
</head>
<body>
<h1>${title}</h1>
<p>${html}</p>
</body>
</html>
`);
}

/** Folder that `npm run build` writes. */
const builtFolder = fileURLToPath(new URL('dist/web', packageDirectory));

interface BuiltFiles {
  /** The HTML page without its `base` element. */
  readonly page: string;
  /** The other files by their paths, which begin with a slash; also those that a build has compressed. */
  readonly files: ReadonlyMap<string, Buffer>;
}

const pageName = 'index.html';
/** Encodings in the order of preference, with the suffixes of their files. */
const compressions = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const;

function isCompressed(name: string): boolean {
  return compressions.some(([, suffix]) => name.endsWith(suffix));
}

export class Built {
  readonly #folder: string;
  #read: { readonly identity: string; readonly files: Promise<BuiltFiles> } | null = null;

  constructor(folder = builtFolder) {
    this.#folder = folder;
  }

  /** Returns the files, and reads them again after each build. Null if the UI has not been built. */
  async files(): Promise<BuiltFiles | null> {
    try {
      const { ino, mtimeNs } = await stat(join(this.#folder, pageName), { bigint: true });
      const identity = `${ino} ${mtimeNs}`;
      if (this.#read?.identity !== identity) this.#read = { identity, files: readAll(this.#folder) };
      return await this.#read.files;
    } catch (error) {
      this.#read = null;
      if (systemCode(error) === 'ENOENT') return null;
      throw error;
    }
  }
}

async function readAll(folder: string): Promise<BuiltFiles> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name));
  const files = new Map<string, Buffer>();
  for (const path of paths) {
    files.set(`/${relative(folder, path).replaceAll(sep, '/')}`, await readFile(path));
  }
  const page = String(files.get(`/${pageName}`));
  files.delete(`/${pageName}`);
  return { page, files };
}
