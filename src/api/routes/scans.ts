/** `/scans`: start a scan, list them, and look at one. */

import { z } from 'zod';
import { SoftquotaError } from '../../errors.ts';
import { mark, scanOrder, scanReport } from '../../wire/index.ts';
import { getRoute, postRoute, type Route } from '../route.ts';
import type { ApiServices } from '../services.ts';
import { scanShown } from './shapes.ts';

export function scanRoutes({ scanner, documents }: ApiServices): readonly Route[] {
  return [
    postRoute({
      id: 'startScan',
      path: '/admin/quota/scans',
      summary: 'Measure now',
      body: scanOrder.default({ kind: 'sweep', accept_moved: false }),
      answer: { status: 202, description: 'The scan, which runs in the background', schema: scanReport },
      handle: ({ body: { kind, owners, accept_moved: acceptMoved } }) => {
        const keys = owners?.map(name => documents.owners.keyOf(name));
        return scanShown(
          scanner.sweep({ kind, acceptMoved, ...(keys === undefined ? {} : { owners: keys }) }),
        );
      },
    }),
    getRoute({
      id: 'listScans',
      path: '/admin/quota/scans',
      summary: 'Waiting, running and recent scans',
      answer: { status: 200, description: 'Scans', schema: z.array(scanReport) },
      handle: () => scanner.runs().map(scanShown),
    }),
    getRoute({
      id: 'getScan',
      path: '/admin/quota/scans/{id}',
      summary: 'One scan',
      params: z.object({ id: mark }),
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
