/**
 * `/user/quota…` and `/orgs/{org}/quota…`, which have the same operations. Users see their own quota. Owners
 * of an organization, and administrators, see the organization's. Names of rules and groups appear only in
 * the report and in the reasoning.
 *
 * `/admin/users/{user}/quota…`: the usage of any owner, its groups, and its allowances.
 */

import { z } from 'zod';
import { SoftquotaError } from '../../errors.ts';
import { type Area, type Caller, mustBeOrganization } from '../../identity/index.ts';
import type { KnownUnit, Ledger } from '../../ledger/index.ts';
import { ownEvent, ownEventKinds, poolStates } from '../../overview/index.ts';
import * as policy from '../../policy/index.ts';
import { asTree, type Group, leafMask, leaves, type Subject } from '../../quota/index.ts';
import { byText } from '../../sorting.ts';
import { printable } from '../../text.ts';
import * as wire from '../../wire/index.ts';
import { type KnownOwner, knownOwner, mustNotGiveThemselves, ownerToAssign, roleOver } from '../owners.ts';
import { forgivingPage, onePage, pageOf, tellNext, tellPages } from '../pages.ts';
import { type Route, route, type Tag } from '../route.ts';
import type { ApiServices } from '../services.ts';
import { eventsAnswer, eventsPage } from './events.ts';
import { pastOf, range } from './overview.ts';
import { allowanceShown, explanationOf, groupShown, poolShown, reportOf, ruleShown } from './shapes.ts';

/** Lists of units, and the subject of each. */
const lists = {
  artifacts: 'size:assets:artifacts',
  attachments: 'size:assets:attachments:all',
  packages: 'size:assets:packages:all',
} as const satisfies Readonly<Record<string, Subject>>;

export function ownQuotaRoutes(services: ApiServices): readonly Route[] {
  return ownerScopes(services).flatMap(scope => [
    ...quotaRoutes(services, scope),
    ...figureRoutes(services, scope),
  ]);
}

/** Limit of the units that are listed from one source; smaller ones are only counted. */
const mostUnits = 100_000;

const unitsQuery = z.object(forgivingPage(50));

function quotaRoutes(services: ApiServices, scope: OwnerScope): readonly Route[] {
  const { ledger, unitNames } = services;
  const { of, path, read, owner } = scope;
  return [
    route('get', `getQuotaOf${of}`, path, {
      ...read,
      summary: 'The usage and its limits',
      answer: { status: 200, description: 'Use and limits', schema: wire.ownQuotaInfo },
      handle: (input, { caller }) =>
        quotaShown(services, owner(input.params, caller), ({ rules }) => ({
          // Names of rules are for administrators.
          rules: rules.map(rule => {
            const { name: _, ...fields } = ruleShown(rule);
            return fields;
          }),
        })),
    }),
    route('get', `checkQuotaOf${of}`, `${path}/check`, {
      ...read,
      summary: 'Tells whether an action that adds data of this kind may start',
      query: z.object({ subject: wire.askedSubject }),
      answer: { status: 200, description: 'Yes or no', schema: z.boolean() },
      handle: (input, { caller }) => {
        const { name } = owner(input.params, caller);
        return ledger.decide(name, input.query.subject).decision.allowed || ledger.settings.mode === 'report';
      },
    }),
    ...Object.entries(lists).map(([list, subject]) =>
      route('get', `list${list[0]?.toUpperCase()}${list.slice(1)}Of${of}`, `${path}/${list}`, {
        ...read,
        summary: `The ${list} that use space, largest first`,
        query: unitsQuery,
        answer: onePage(wire.usedUnit),
        handle: async (input, call) => {
          const { name } = owner(input.params, call.caller);
          const most = Math.min(input.query.page * input.query.limit, mostUnits);
          const of = leaves.filter(leaf => (leafMask(leaf) & leafMask(subject)) !== 0);
          const { units, more } = await ledger.shares.someUnitsOf(name, { of, most });
          // Equal sizes have a fixed order, so that each unit is on one page only.
          const largest = (a: KnownUnit, b: KnownUnit) =>
            b.bytes - a.bytes || byText(a.name, b.name) || byText(a.host, b.host);
          const { entries, total } = await pageOf(units, input.query, largest);
          tellPages(call, input.query, total + more);
          const unitName = unitNames();
          return entries.map(unit => ({ name: unitName(unit), size: unit.bytes }));
        },
      }),
    ),
  ];
}

/**
 * Returns the usage of an owner and the limits. `show` chooses the fields of a group that the caller may see.
 */
function quotaShown<Shown>(
  { documents, ledger }: ApiServices,
  owner: KnownOwner,
  show: (group: Group) => Shown,
): Omit<wire.QuotaInfo, 'groups'> & { readonly groups: readonly Shown[] } {
  const { id, usage, unreachable } = owner;
  const groups = ledger.policy.groupsOf(id, ledger.settings.defaultGroups);
  const pools = ownPools(ledger, owner);
  const allowances = policy.allowancesOf(documents.snapshot, id, Date.now()).map(allowanceShown);
  return {
    used: asTree(usage),
    ...(unreachable === null ? {} : { unreachable: asTree(unreachable) }),
    groups: groups.map(show),
    // Clients of Forgejo do not know these fields, so they are absent if they are empty.
    ...(allowances.length === 0 ? {} : { allowances }),
    ...(pools.length === 0 ? {} : { pools }),
  };
}

/** Returns the limits that an owner shares with the other members of groups. */
function ownPools(ledger: Ledger, owner: KnownOwner): readonly wire.OwnPool[] {
  return ledger.policy.groupsWithPools(owner.id).flatMap(group =>
    poolStates(ledger, group, owner).map(pool => ({
      group: group.name,
      ...poolShown(pool),
      share: pool.decision.share ?? 0,
    })),
  );
}

const mostReported = 100;

function figureRoutes(services: ApiServices, scope: OwnerScope): readonly Route[] {
  const { events } = services;
  const { of, path, read, owner } = scope;
  return [
    route('get', `getReportOf${of}`, `${path}/report`, {
      ...read,
      summary: 'The whole report, with the names of the deciding groups and rules',
      answer: { status: 200, description: 'The report', schema: wire.ownReport },
      handle: (input, { caller }) => ownReportOf(services, owner(input.params, caller).name),
    }),
    route('get', `explainDecisionOf${of}`, `${path}/explain`, {
      ...read,
      summary: 'The whole reasoning of a decision',
      query: z.strictObject(wire.askedDecision),
      answer: { status: 200, description: 'The reasoning', schema: wire.explanation },
      handle: (input, { caller }) => explanationOf(services, owner(input.params, caller).name, input.query),
    }),
    route('get', `getHistoryOf${of}`, `${path}/history`, {
      ...read,
      summary: 'The usage history',
      query: z.strictObject({ range }),
      answer: { status: 200, description: 'Points for a chart, at most about 400', schema: wire.history },
      handle: (input, { caller }) => pastOf(services, owner(input.params, caller), input.query.range),
    }),
    route('get', `listEventsOf${of}`, `${path}/events`, {
      ...read,
      summary: 'Refusals and thresholds reached, newest first',
      description: 'Only of this owner, not of an earlier owner with the same name.',
      query: z.strictObject({
        kind: z.enum(ownEventKinds).optional().meta({ description: 'Only these.' }),
        ...eventsPage,
      }),
      answer: { ...eventsAnswer, schema: z.array(ownEvent).readonly() },
      handle: async (input, call) => {
        const { kind, ...place } = input.query;
        const { id } = owner(input.params, call.caller);
        const page = await events.listOf(id, kind === undefined ? ownEventKinds : [kind], place);
        tellNext(call, input.query, page.next);
        return page.events;
      },
    }),
  ];
}

async function ownReportOf(services: ApiServices, name: string): Promise<wire.OwnReport> {
  const { ledger, contact, unitNames, asking } = services;
  const unitName = unitNames();
  const { known, units, ...report } = await reportOf(services, name, mostReported);
  const { enabled, autoGrant } = asking();
  const { mode, warnAt } = ledger.settings;
  return {
    ...report,
    units: units.slice(0, mostReported).map(unit => ({ ...unit, name: unitName(unit) })),
    unit_count: ledger.units.unitCountOf(ledger.documents.owners.keyOf(name)),
    mode,
    may_ask: enabled,
    auto_grant: autoGrant && {
      bytes: autoGrant.bytes,
      seconds: autoGrant.forMs / 1000,
      every_seconds: autoGrant.everyMs / 1000,
    },
    contact: contact(),
    warn_at: warnAt,
  };
}

export type Named = Readonly<Partial<Record<'org' | 'id', string>>>;

export type OwnerScope = ReturnType<typeof ownerScopes>[number];

/**
 * The suffix of the operation ids, the path, the parts of routes that read and write, and the owner. `owner`
 * throws `not_found` or `not_permitted`; an organization that does not exist and one that the caller does not
 * belong to give the same error.
 */
export function ownerScopes(services: ApiServices) {
  return [
    {
      of: 'Caller',
      path: '/user/quota',
      ...partsOf('own', 'user'),
      owner: (_named: Named, caller: Caller) => callerAsOwner(services, caller),
    },
    {
      of: 'Organization',
      path: '/orgs/{org}/quota',
      ...partsOf('organizations', 'organization'),
      owner: ({ org = '' }: Named, caller: Caller) => visibleOrganization(services, org, caller),
    },
  ] as const;
}

function partsOf(tag: Tag, area: Area) {
  const faults = [400, 404, 422] as const;
  return {
    read: { tag, faults, access: { area, to: 'read' } },
    write: { tag, faults, access: { area, to: 'write' } },
  } as const;
}

function callerAsOwner({ ledger }: ApiServices, { name }: Caller): KnownOwner {
  const owner = name === null ? null : ledger.ownerUsage(name);
  if (owner !== null && owner.id !== null) return { ...owner, id: owner.id };
  throw new SoftquotaError(
    'not_found',
    "this host's administrator is no user; /admin/users/{user}/quota shows the quota of each user",
  );
}

function visibleOrganization({ ledger }: ApiServices, name: string, caller: Caller): KnownOwner {
  if (caller.mayRead('admin')) {
    const owner = knownOwner(ledger, name);
    mustBeOrganization(owner);
    return owner;
  }
  const { id, ...usage } = ledger.ownerUsage(name);
  const role = id === null || usage.type === 'user' ? null : roleOver(ledger.documents, id, caller);
  if (id !== null && role === 'owner') return { ...usage, id };
  if (role === 'member') {
    throw new SoftquotaError('not_permitted', 'only owners of the organization see its quota');
  }
  // A stranger must not learn whether the organization exists.
  throw new SoftquotaError(
    'not_found',
    `there is no organization ${printable(name)} that you belong to; with the scope read:admin an administrator sees any`,
  );
}

const allowancesPath = '/admin/users/{user}/quota/allowances';

export function userQuotaRoutes(services: ApiServices): readonly Route[] {
  const { documents, ledger, autoCreate } = services;
  const mustBe = (named: { readonly user: string }) => void knownOwner(ledger, named.user);
  return [
    route('get', 'getQuotaOfUser', '/admin/users/{user}/quota', {
      summary: 'The usage of a user or an organization, and its effective groups',
      answer: { status: 200, description: 'Use and groups', schema: wire.quotaInfo },
      handle: named => quotaShown(services, knownOwner(ledger, named.params.user), groupShown),
    }),
    route('post', 'setGroupsOfUser', '/admin/users/{user}/quota/groups', {
      summary: 'Add a user or an organization to these groups, and remove it from all others',
      description: 'With `[users] AUTO_CREATE = true` an unknown user is created.',
      body: wire.ownersGroups,
      mustBe: named => {
        if (!autoCreate) knownOwner(ledger, named.user);
      },
      answer: { status: 204, description: 'The groups are set' },
      handle: (named, { change }) =>
        change(transaction => {
          const { id } = ownerToAssign(transaction, named.params.user, autoCreate);
          policy.setGroups(transaction.changes, id, named.body.groups);
        }),
    }),
    route('get', 'listAllowances', allowancesPath, {
      summary: 'The allowances of a user or an organization that have not ended, the first to end first',
      answer: { status: 200, description: 'Allowances', schema: z.array(wire.allowance) },
      handle: named => {
        const { id } = knownOwner(ledger, named.params.user);
        return policy.allowancesOf(documents.snapshot, id, Date.now()).map(allowanceShown);
      },
    }),
    route('post', 'createAllowance', allowancesPath, {
      summary: 'Give a user or an organization extra bytes for a limited time',
      description:
        'They are on top of each limit above 0 that applies to the owner, and end automatically. Nobody can give them to ' +
        'themselves, or to an organization that they own.',
      body: wire.newAllowance,
      faults: [404, 409],
      mustBe,
      answer: { status: 201, description: 'The allowance', schema: wire.allowance },
      handle: async (named, { caller, change }) => {
        mustNotGiveThemselves(documents, caller, { ownerId: knownOwner(ledger, named.params.user).id });
        const { bytes, until, why } = named.body;
        const created = await change(transaction => {
          const owner = transaction.mustBeOwner(named.params.user);
          const document = policy.createAllowance(transaction.changes, owner.id, {
            bytes,
            until: Date.parse(until),
            why,
            grantedBy: caller.name,
            grantedAt: Date.now(),
            request: null,
            automatic: false,
          });
          transaction.auditAs(policy.auditAllowance(owner, 'granted', document));
          return document;
        });
        return allowanceShown(created);
      },
    }),
    route('delete', 'endAllowance', `${allowancesPath}/{id}`, {
      summary: 'End an allowance now',
      mustBe,
      answer: { status: 204, description: 'It has ended' },
      handle: (named, { change }) =>
        change(transaction => {
          const owner = transaction.mustBeOwner(named.params.user);
          const ended = policy.endAllowance(transaction.changes, owner.id, named.params.id);
          transaction.auditAs(policy.auditAllowance(owner, 'ended', ended));
        }),
    }),
  ];
}
