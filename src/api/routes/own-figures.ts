/**
 * The figures that owners see of their own beyond Forgejo's addresses: all that a refused push is told, and
 * more of it.
 */

import { z } from 'zod';
import { ownEvent, ownEventKinds } from '../../overview/index.ts';
import { explanation, history, type OwnReport, ownReport } from '../../wire/index.ts';
import { getRoute, type Route } from '../route.ts';
import type { ApiServices } from '../services.ts';
import { unitName } from '../unit-name.ts';
import { eventsAnswer, eventsPage, tellNext } from './events.ts';
import { pastOf, range } from './overview.ts';
import { addressIn, type OwnerScope, operationOf, ownerScopes } from './owner-scopes.ts';
import { askedDecision, explanationOf, reportOf } from './reports.ts';
import { autoGrantShown } from './shapes.ts';

const mostUnits = 100;

export function ownFigureRoutes(services: ApiServices): readonly Route[] {
  return ownerScopes(services).flatMap(scope => figureRoutes(services, scope));
}

function figureRoutes(services: ApiServices, scope: OwnerScope): readonly Route[] {
  const { events, baseUrl } = services;
  const { owner } = scope;
  return [
    getRoute({
      ...operationOf(scope, 'getReportOf', '/report'),
      summary: 'The whole report, with the names of the deciding groups and rules',
      answer: { status: 200, description: 'The report', schema: ownReport },
      handle: (input, { caller }) => ownReportOf(services, owner(input.params, caller).name),
    }),
    getRoute({
      ...operationOf(scope, 'explainDecisionOf', '/explain'),
      summary: 'The whole reasoning of a decision',
      query: z.strictObject(askedDecision),
      answer: { status: 200, description: 'The reasoning', schema: explanation },
      handle: (input, { caller }) => explanationOf(services, owner(input.params, caller).name, input.query),
    }),
    getRoute({
      ...operationOf(scope, 'getHistoryOf', '/history'),
      summary: 'The usage history',
      query: z.strictObject({ range }),
      answer: { status: 200, description: 'Points for a chart, at most about 400', schema: history },
      handle: (input, { caller }) => pastOf(services, owner(input.params, caller), input.query.range),
    }),
    getRoute({
      ...operationOf(scope, 'listEventsOf', '/events'),
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
        tellNext(call, addressIn(scope, baseUrl(), name, '/events'), input.query, page.next);
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
