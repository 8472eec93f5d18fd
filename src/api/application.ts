/**
 * Assembles the Express application from the routes: finds the route, admits the caller, sends the answer.
 */

import express, {
  type ErrorRequestHandler,
  type NextFunction,
  type Request,
  type Response,
  Router,
} from 'express';
import { SoftquotaError } from '../errors.ts';
import type { Caller } from '../identity/index.ts';
import { longestValidators } from '../wire/index.ts';
import { type Asker, askerOf, isOpen, mustBeAllowed, nobody } from './asker.ts';
import { sentDocument } from './body.ts';
import { Downloads } from './downloads.ts';
import { answerFault, wrongMethod } from './faults.ts';
import { securityHeaders } from './headers.ts';
import { metricsPage } from './metrics.ts';
import { signInPages, unsubscribePage } from './plain-pages.ts';
import { type Call, queryOf, type Route } from './route.ts';
import type { ApiServices } from './services.ts';
import { swaggerPage } from './swagger.ts';
import { type Built, noSuchPage, webPages } from './web.ts';

export interface ApplicationOptions {
  readonly routes: readonly Route[];
  readonly services: ApiServices;
  /** Addresses and networks whose X-Forwarded-For is believed. */
  readonly trustedProxies: readonly string[];
  /**
   * Null on the Unix socket, where everybody is the administrator of this host, and nothing is for browsers.
   */
  readonly web: Built | null;
}

/**
 * Serves the API and the pages both at `/` and below the path of the base URL. A proxy may remove that path
 * or keep it.
 */
export function application(options: ApplicationOptions): express.Express {
  const { services, trustedProxies, web } = options;
  const app = express();
  app.set('trust proxy', [...trustedProxies]);
  app.set('query parser', firstValues);
  app.disable('etag');
  app.enable('case sensitive routing');
  app.use(securityHeaders(services));
  const served = Router({ caseSensitive: true });
  served.use('/api/v1', api(options));
  served.use(swaggerPage());
  served.use(metricsPage(services.metrics, web === null));
  if (web !== null) {
    served.use(webPages(web, services.baseUrl));
    served.use(Router().use(signInPages(services), unsubscribePage(services), hidesStore));
  }
  app.use(served);
  app.use((request, response, next) => {
    const below = new URL(services.baseUrl()).pathname;
    if (web !== null && `${request.url}/` === below) return response.redirect(below);
    if (below === '/' || !request.url.startsWith(below)) return next();
    request.url = request.url.slice(below.length - 1);
    served(request, response, next);
  });
  if (web !== null) app.use(noSuchPage(web, services.baseUrl));
  app.use(() => {
    throw new SoftquotaError('not_found', 'no such address');
  });
  app.use((error: unknown, _request: Request, response: Response, next: NextFunction) => {
    if (response.headersSent) return next(error);
    answerFault(response, error, services);
  });
  return app;
}

/** Uses the first value of a repeated parameter. Express passes null if the address has no query. */
function firstValues(query: string | null): Readonly<Record<string, string>> {
  const values: Record<string, string> = Object.create(null);
  for (const [name, value] of new URLSearchParams(query ?? '')) values[name] ??= value;
  return values;
}

function api({ routes, services, web }: ApplicationOptions): Router {
  const downloads = new Downloads();
  const identity = web === null ? null : services.identity;
  const askedBy = (request: Request, response: Response) =>
    askerOf(request, response, identity, services.baseUrl());
  const router = Router({ caseSensitive: true });
  router.use(async (request, response, next) => {
    response.set('Cache-Control', 'no-store');
    if (!isDecodable(request.path)) {
      await askedBy(request, response).caller();
      throw new SoftquotaError('bad_parameter', 'the address has a broken percent-encoding');
    }
    next();
  });
  const serve = async (route: Route, request: Request, response: Response, asker: Asker) => {
    let caller = nobody;
    const admit = async () => {
      caller = await admittedTo(route, asker);
    };
    const json = async () => {
      const document = await sentDocument(request, isOpen(route.access), route.longBody);
      // Checks the caller again: a slow body takes time, in which the token may have been revoked.
      await admit();
      return document;
    };
    const call: Call = {
      get caller() {
        return caller;
      },
      browser: asker.browser,
      get address() {
        return addressOf(request, services.baseUrl());
      },
      change: work => services.documents.transact(work, caller),
      header: (name, value) => response.set(name, value),
    };
    try {
      await admit();
      const body = await route.run({ params: request.params, query: request.query, json }, call);
      // CSV routes return an iterable of lines.
      if (route.type === 'text/csv') await downloads.send(request, response, body as AsyncIterable<string>);
      else answer(route, request, response, body);
    } catch (error) {
      throw asToldTo(caller, error);
    }
  };
  for (const [path, atPath] of byPath(routes)) {
    router.all(path, async (request, response) => {
      const route = atPath.get(request.method === 'HEAD' ? 'get' : request.method.toLowerCase());
      const asker = askedBy(request, response);
      if (route === undefined) {
        // A caller without a good token learns nothing, not even which methods there are.
        if (![...atPath.values()].every(({ access }) => access === 'anybody')) await asker.caller();
        throw wrongMethod(request, response, [...atPath.keys()].flatMap(asSent));
      }
      await serve(route, request, response, asker);
    });
  }
  return router;
}

/** Rejects if the caller may not use the route, or may not any more. */
async function admittedTo({ access }: Route, asker: Asker): Promise<Caller> {
  if (access === 'our page') asker.mustBeOurPage();
  if (isOpen(access)) return nobody;
  const caller = await asker.caller();
  if (access !== 'whoever is known') mustBeAllowed(caller, access);
  return caller;
}

const hidesStore: ErrorRequestHandler = (error, _request, _response, next) => next(asToldTo(nobody, error));

/** Hides the store's address and fault from everybody but administrators. */
function asToldTo(caller: Caller, error: unknown): unknown {
  if (!(error instanceof SoftquotaError) || caller.mayRead('admin')) return error;
  if (error.code !== 'store_away' && error.code !== 'store_refused') return error;
  const message = 'the store cannot be written at the moment: try again soon';
  return new SoftquotaError(error.code, message, { cause: error });
}

function answer(route: Route, request: Request, response: Response, body: unknown): void {
  const { status, schema, version } = route.answer;
  const etag = version === undefined ? null : `"${version(body)}"`;
  const isHeld = etag !== null && holds(request, etag);
  if (etag !== null) response.set('ETag', etag);
  response.status(isHeld ? 304 : status);
  if (schema === undefined || response.statusCode === 304) response.end();
  else response.json(body);
}

/** Compares by RFC 9110, 13.1.2: a weak validator is as good, and `*` stands for any. */
function holds(request: Request, etag: string): boolean {
  const held = request.get('If-None-Match') ?? '';
  if (held.length > longestValidators) {
    const message = `If-None-Match: expected at most ${longestValidators} characters`;
    throw new SoftquotaError('headers_too_large', message);
  }
  return held.split(',').some(each => ['*', etag, `W/${etag}`].includes(each.trim()));
}

/** Groups the routes by Express path and then by method. Literal paths come before paths with parameters. */
function byPath(routes: readonly Route[]): readonly (readonly [string, ReadonlyMap<string, Route>])[] {
  const paths = new Map<string, Map<string, Route>>();
  for (const route of routes) {
    const path = route.path.replace(/\{(\w+)\}/g, ':$1');
    paths.set(path, (paths.get(path) ?? new Map()).set(route.method, route));
  }
  return [...paths].sort(([a], [b]) => Number(a.includes(':')) - Number(b.includes(':')));
}

function asSent(method: string): readonly string[] {
  return method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()];
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

/**
 * Returns the address of a request below the base URL, also if a proxy took that path off, or if the request
 * names a host.
 */
function addressOf({ path, url }: Request, baseUrl: ReturnType<ApiServices['baseUrl']>): URL {
  // A backslash in the path would become a slash.
  return new URL(`api/v1${path.replaceAll('\\', '%5C')}${queryOf(url)}`, baseUrl);
}
