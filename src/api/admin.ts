/** The server on ADMIN_SOCKET: mode 0600, so that whoever can connect is this machine's administrator. */

import { createServer, type Server } from 'node:http';
import express, { type NextFunction, type Request, type Response } from 'express';
import type { Backup } from '../backup/index.ts';
import { SoftquotaError } from '../errors.ts';
import type { Ledger } from '../ledger/index.ts';
import { lint } from '../quota/index.ts';
import type { Scanner } from '../scan/index.ts';
import { listen, type SocketPlace } from '../sockets/index.ts';
import { version } from '../version.ts';
import type { Finding } from '../wire/index.ts';
import { scanRoutes } from './scans.ts';
import { usageRoutes } from './usage.ts';

export interface AdminServices {
  readonly ledger: Ledger;
  readonly scanner: Scanner;
  /** `[quota] DEFAULT_GROUPS`. */
  defaultGroups(): readonly string[];
  /** Ends with a slash. */
  baseUrl(): string;
  /** What is wrong with this installation, as far as the daemon knows. */
  findings(): Promise<readonly Finding[]>;
  /** All that no walk would find again. */
  backup(): Backup;
  /** A mistake of ours. */
  unforeseen(error: unknown): void;
}

const drainMs = 1000;
const longestBody = '1mb';

export class Admin {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** Rejects with `configuration`. */
  static async open(services: AdminServices, place: SocketPlace): Promise<Admin> {
    const server = createServer(application(services));
    // One connection that cannot be accepted is no reason to end.
    server.on('error', services.unforeseen);
    await listen(server, place);
    return new Admin(server);
  }

  /** Answers what is under way, and ends. */
  async close(): Promise<void> {
    const closed = new Promise(resolve => this.#server.close(resolve));
    this.#server.closeIdleConnections();
    const overdue = setTimeout(() => this.#server.closeAllConnections(), drainMs);
    await closed;
    clearTimeout(overdue);
  }
}

function application(services: AdminServices): express.Express {
  const app = express();
  app.disable('x-powered-by');
  app.use(express.json({ limit: longestBody, strict: false }));
  app.get('/api/v1/version', (_request, response) => {
    response.json({ version });
  });
  app.get('/api/v1/admin/quota/lint', (_request, response) => {
    const { ledger } = services;
    response.json(lint({ groups: [], defaultGroups: services.defaultGroups(), settings: ledger.settings }));
  });
  app.get('/api/v1/admin/quota/findings', async (_request, response) => {
    response.json(await services.findings());
  });
  app.get('/api/v1/admin/backup', (_request, response) => {
    response.json(services.backup());
  });
  app.use('/api/v1/admin/quota', usageRoutes(services.ledger));
  app.use(
    '/api/v1/admin/quota/scans',
    scanRoutes(services.scanner, name => services.ledger.book.keyOf(name)),
  );
  app.use(() => {
    throw new SoftquotaError('not_found', 'no such address');
  });
  app.use((error: unknown, _request: Request, response: Response, next: NextFunction) => {
    if (response.headersSent) return next(error);
    const { status, message } = faultOf(error, services.unforeseen);
    response.status(status).json({ message, url: `${services.baseUrl()}api/swagger` });
  });
  return app;
}

/** The faults of Express and its parser carry the status that the asker earned, and words made for it. */
function faultOf(
  error: unknown,
  unforeseen: (error: unknown) => void,
): { readonly status: number; readonly message: string } {
  if (error instanceof SoftquotaError) return { status: error.status, message: error.message };
  if (error instanceof Error && 'status' in error && typeof error.status === 'number' && error.status < 500) {
    return { status: error.status, message: error.message };
  }
  unforeseen(error);
  return { status: 500, message: 'softquota made a mistake; its log tells more' };
}
