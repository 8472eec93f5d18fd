/** `/scans`: start a scan, list them, and follow them as server-sent events. */

import { Router } from 'express';
import { z } from 'zod';
import { SoftquotaError } from '../errors.ts';
import type { Scanner, ScanRun } from '../scan/index.ts';
import { type ScanReport, scanKinds } from '../wire/index.ts';
import { parsed } from './parsed.ts';

const eventEveryMs = 250;
const mostListed = 20;

const order = z
  .strictObject({
    kind: z.enum(scanKinds).default('sweep'),
    owners: z.array(z.string().min(1)).min(1).optional(),
    accept_moved: z.boolean().default(false),
  })
  .default({ kind: 'sweep', accept_moved: false });

/** `ownerKey`: what an owner's name is compared by. */
export function scanRoutes(scanner: Scanner, ownerKey: (name: string) => string): Router {
  const router = Router();

  router.post('/', (request, response) => {
    const { kind, owners, accept_moved: acceptMoved } = parsed(order, request.body ?? {});
    const run = scanner.sweep({
      kind,
      acceptMoved,
      ...(owners === undefined ? {} : { owners: owners.map(ownerKey) }),
    });
    response.status(202).json(reportOf(run));
  });

  router.get('/', (_request, response) => {
    response.json(scanner.runs().map(reportOf));
  });

  router.get('/events', (_request, response) => {
    response.set({ 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
    response.flushHeaders();
    const told = new Map<number, string>();
    const tell = () => {
      for (const run of scanner.runs()) {
        const report = JSON.stringify(reportOf(run));
        if (told.get(run.id) === report) continue;
        told.set(run.id, report);
        response.write(`event: scan\nid: ${run.id}\ndata: ${report}\n\n`);
      }
    };
    tell();
    const timer = setInterval(tell, eventEveryMs);
    response.on('close', () => clearInterval(timer));
  });

  router.get('/:id', (request, response) => {
    const run = scanner.runs().find(({ id }) => String(id) === request.params.id);
    if (run === undefined) throw new SoftquotaError('not_found', 'there is no such scan, or it is long past');
    response.json(reportOf(run));
  });

  return router;
}

function reportOf(run: ScanRun): ScanReport {
  const { id, kind, state, drift, error, problems } = run;
  return {
    id,
    kind,
    state,
    startedAt: isoOf(run.startedAt),
    finishedAt: isoOf(run.finishedAt),
    progress: run.progress(),
    unread: shortened(problems.unread, ({ path, error: why }) => ({ path, why })),
    faults: shortened(problems.faults, ({ path, what: why }) => ({ path, why })),
    drift: drift === null ? null : { units: drift.units, bytes: drift.bytes },
    error,
  };
}

/** The first few of what may be thousands, and how many there are. */
function shortened<Entry, Told>(
  { first, count }: { readonly first: readonly Entry[]; readonly count: number },
  tell: (entry: Entry) => Told,
): { first: Told[]; count: number } {
  return { first: first.slice(0, mostListed).map(tell), count };
}

function isoOf(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}
