/** `/usage` and `/explain`: what owners use, what limits them, and why. */

import { Router } from 'express';
import { z } from 'zod';
import { SoftquotaError } from '../errors.ts';
import type { Ledger, OwnerUsage } from '../ledger/index.ts';
import { asTree, isSubject, leaves, subjects } from '../quota/index.ts';
import type { OwnerReport, OwnerRow, UnitRow } from '../wire/index.ts';
import { parsed } from './parsed.ts';

const sortable = ['name', 'total', 'percent', ...leaves] as const;
const mostRows = 1000;

const listQuery = z.strictObject({
  sort: z.enum(sortable).default('total'),
  order: z.enum(['asc', 'desc']).optional(),
  q: z.string().default(''),
  page: z.coerce.number().int().min(1).default(1),
  limit: z.coerce.number().int().min(1).max(mostRows).default(50),
});

export function usageRoutes(ledger: Ledger): Router {
  const router = Router();

  router.get('/usage', (request, response) => {
    const query = parsed(listQuery, request.query);
    const order = query.order ?? (query.sort === 'name' ? 'asc' : 'desc');
    const wanted = ledger.book.keyOf(query.q);
    const found = [...ledger.owners()]
      .filter(owner => ledger.book.keyOf(owner.name).includes(wanted))
      .map(owner => ({ owner, row: rowOf(ledger, owner) }));
    found.sort((a, b) => compare(a, b, query.sort) * (order === 'asc' ? 1 : -1) || byName(a, b));
    const start = (query.page - 1) * query.limit;
    response.set('X-Total-Count', String(found.length));
    response.json(found.slice(start, start + query.limit).map(({ row }) => row));
  });

  router.get('/usage/:owner', (request, response) => {
    const owner = ledger.ownerUsage(request.params.owner);
    const decisions = subjects.map(subject => {
      const { allowed, used, limit, group, rule } = ledger.decide(owner.name, subject).decision;
      return [subject, { allowed, used, limit, group, rule }];
    });
    const units = ledger.unitsOf(owner.name).map(
      (unit): UnitRow => ({
        name: unit.name,
        kind: unit.kind,
        subject: unit.leaf,
        bytes: unit.bytes,
        files: unit.files,
        partial: unit.partial,
        measuredAt: new Date(unit.measuredAt).toISOString(),
      }),
    );
    const report: OwnerReport = {
      ...rowOf(ledger, owner),
      known: owner.id !== null,
      units,
      decisions: Object.fromEntries(decisions),
    };
    response.json(report);
  });

  router.get('/explain', (request, response) => {
    const { user, subject } = parsed(
      z.strictObject({ user: z.string().min(1), subject: z.string() }),
      request.query,
    );
    if (!isSubject(subject)) {
      throw new SoftquotaError('invalid', `subject: one of these is expected: ${subjects.join(', ')}`);
    }
    response.json(ledger.explain(user, subject));
  });

  return router;
}

function rowOf(ledger: Ledger, owner: OwnerUsage): OwnerRow {
  const { decision } = ledger.decide(owner.name, 'size:all');
  const { limit, used } = decision;
  return {
    name: owner.name,
    type: owner.type,
    tree: asTree(owner.usage),
    total: owner.usage.reduce((sum, bytes) => sum + bytes, 0),
    used,
    limit,
    percent: limit === null || limit <= 0 || used === null ? null : Math.floor((used / limit) * 100),
    group: decision.group,
    rule: decision.rule,
    allowed: decision.allowed,
    measuredAt: owner.measuredAt === null ? null : new Date(owner.measuredAt).toISOString(),
    partial: owner.partial,
    stale: owner.stale,
  };
}

interface Found {
  readonly owner: OwnerUsage;
  readonly row: OwnerRow;
}

function compare(a: Found, b: Found, sort: (typeof sortable)[number]): number {
  if (sort === 'name') return byName(a, b);
  if (sort === 'total') return a.row.total - b.row.total;
  if (sort === 'percent') return (a.row.percent ?? -1) - (b.row.percent ?? -1);
  const at = leaves.indexOf(sort);
  return (a.owner.usage[at] ?? 0) - (b.owner.usage[at] ?? 0);
}

function byName(a: Found, b: Found): number {
  return a.row.name < b.row.name ? -1 : Number(a.row.name > b.row.name);
}
