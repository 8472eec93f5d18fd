/**
 * The figures that owners see of their own beyond Forgejo's addresses: all that a refused push is told, and
 * more of it.
 */

import { z } from 'zod';
import {
  askedSize,
  askedSubject,
  explanation,
  history,
  type OwnReport,
  ownEvent,
  ownEventKinds,
  ownReport,
} from '../../wire/index.ts';
import { type Route, route } from '../route.ts';
import type { ApiServices } from '../services.ts';
import { unitName } from '../unit-name.ts';
import { autoGrantShown } from './asked.ts';
import { eventsAnswer, eventsPage, tellNext } from './events.ts';
import { range } from './overview.ts';
import { pastShown } from './past.ts';
import { reportOf } from './reports.ts';
import { explanationShown } from './shapes.ts';
import { callersOwn, organizationsOwn, type Whose } from './whose.ts';

const mostUnits = 100;

export function ownFigureRoutes(services: ApiServices): readonly Route[] {
  return [
    ...figureRoutes(services, callersOwn(services)),
    ...figureRoutes(services, organizationsOwn(services)),
  ];
}

function figureRoutes<Params extends z.ZodObject>(
  services: ApiServices,
  { of, path, tag, access, params, owner }: Whose<Params>,
): readonly Route[] {
  const { ledger, events, baseUrl, now } = services;
  const common = { method: 'get', tag, access, params, faults: [404] } as const;
  return [
    route({
      ...common,
      id: `getReportOf${of}`,
      path: `${path}/report`,
      summary: 'The whole report, with the names of the deciding groups and rules',
      answer: { status: 200, description: 'The report', schema: ownReport },
      handle: (input, { caller }) => ownReportOf(services, owner(input.params, caller).name),
    }),
    route({
      ...common,
      id: `explainDecisionOf${of}`,
      path: `${path}/explain`,
      summary: 'The whole reasoning of a decision',
      query: z.strictObject({ subject: askedSubject, size: askedSize }),
      answer: { status: 200, description: 'The reasoning', schema: explanation },
      handle: ({ params: named, query: { subject, size } }, { caller }) =>
        explanationShown(ledger.explain(owner(named, caller).name, subject, size)),
    }),
    route({
      ...common,
      id: `getHistoryOf${of}`,
      path: `${path}/history`,
      summary: 'The usage history',
      query: z.strictObject({ range }),
      answer: { status: 200, description: 'Points for a chart, at most about 400', schema: history },
      handle: (input, { caller }) => {
        const found = owner(input.params, caller);
        return pastShown(services.history, {
          ownerId: found.id,
          range: input.query.range,
          against: ledger.deciderFor(found)('size:all'),
          now: now(),
        });
      },
    }),
    route({
      ...common,
      id: `listEventsOf${of}`,
      path: `${path}/events`,
      summary: 'Refusals and thresholds reached, newest first',
      description: 'Only of this owner, not of an earlier owner with the same name.',
      query: z.strictObject({
        kind: z.enum(ownEventKinds).optional().meta({ description: 'Only these.' }),
        ...eventsPage,
      }),
      answer: { ...eventsAnswer, schema: z.array(ownEvent).readonly() },
      handle: async (input, call) => {
        const { kind, ...place } = input.query;
        const { id, name } = owner(input.params, call.caller);
        const page = await events.listOf(id, kind === undefined ? ownEventKinds : [kind], place);
        const address = new URL(`api/v1${path.replace('{org}', encodeURIComponent(name))}/events`, baseUrl());
        tellNext(call, address, input.query, page.next);
        return page.events;
      },
    }),
  ];
}

async function ownReportOf(services: ApiServices, name: string): Promise<OwnReport> {
  const { ledger, contact, scanner, asking } = services;
  const { known, units, ...report } = await reportOf(services, name, mostUnits);
  const { enabled, autoGrant } = asking();
  const { mode, warnAt } = ledger.settings;
  const roots = scanner.places().map(({ path }) => path);
  return {
    ...report,
    units: units.slice(0, mostUnits).map(unit => ({ ...unit, name: unitName(unit, roots) })),
    unit_count: ledger.shares.unitCountOf(name),
    mode,
    may_ask: enabled,
    auto_grant: autoGrant === null ? null : autoGrantShown(autoGrant),
    contact: contact(),
    warn_at: warnAt,
  };
}
