/** `/scans`: start a scan, list them, and follow them as server-sent events. */

import { z } from 'zod';
import { SoftquotaError } from '../../errors.ts';
import { mark, scanOrder, scanReport } from '../../wire/index.ts';
import { administrators } from '../access.ts';
import { type Route, route, streamRoute } from '../route.ts';
import type { ApiServices } from '../services.ts';
import { scanShown } from './shapes.ts';

const eventEveryMs = 250;

export function scanRoutes({ scanner, documents }: ApiServices): readonly Route[] {
  return [
    route({
      id: 'startScan',
      method: 'post',
      path: '/admin/quota/scans',
      tag: 'operation',
      summary: 'Measure now',
      access: administrators.write,
      body: scanOrder.default({ kind: 'sweep', accept_moved: false }),
      answer: { status: 202, description: 'The scan, which runs in the background', schema: scanReport },
      handle: ({ body: { kind, owners, accept_moved: acceptMoved } }) => {
        const keys = owners?.map(name => documents.owners.keyOf(name));
        return scanShown(
          scanner.sweep({ kind, acceptMoved, ...(keys === undefined ? {} : { owners: keys }) }),
        );
      },
    }),
    route({
      id: 'listScans',
      method: 'get',
      path: '/admin/quota/scans',
      tag: 'operation',
      summary: 'Waiting, running and recent scans',
      access: administrators.read,
      answer: { status: 200, description: 'Scans', schema: z.array(scanReport) },
      handle: () => scanner.runs().map(scanShown),
    }),
    streamRoute({
      id: 'followScans',
      path: '/admin/quota/scans/events',
      tag: 'operation',
      summary: 'Follow scans',
      description:
        'Each event `scan` has one scan as its data: first all known scans, then each change. A client that reads ' +
        'too slowly gets fewer events. The stream ends with the token and with the daemon.',
      access: administrators.read,
      faults: [503],
      answer: { description: 'Server-sent events', schema: scanReport },
      follow: send => {
        let told = new Map<number, string>();
        const tell = () => {
          const now = new Map<number, string>();
          for (const run of scanner.runs()) {
            const data = scanShown(run);
            const text = JSON.stringify(data);
            const before = told.get(run.id);
            const isTold = before === text || send({ event: 'scan', id: run.id, data });
            now.set(run.id, isTold ? text : (before ?? ''));
          }
          // What the scanner has forgotten is forgotten here, too.
          told = now;
        };
        tell();
        const timer = setInterval(tell, eventEveryMs);
        return () => clearInterval(timer);
      },
    }),
    route({
      id: 'getScan',
      method: 'get',
      path: '/admin/quota/scans/{id}',
      tag: 'operation',
      summary: 'One scan',
      access: administrators.read,
      params: z.object({ id: mark }),
      faults: [404],
      answer: { status: 200, description: 'The scan', schema: scanReport },
      handle: ({ params }) => {
        const run = scanner.runs().find(({ id }) => String(id) === params.id);
        if (run === undefined) {
          throw new SoftquotaError('not_found', 'there is no such scan, or it is too old');
        }
        return scanShown(run);
      },
    }),
  ];
}
