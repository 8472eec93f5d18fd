/** `/admin/users` and `/admin/orgs/{org}/members`: owners, and members of organizations. */

import { z } from 'zod';
import type { Owners } from '../../documents/index.ts';
import { SoftquotaError } from '../../errors.ts';
import { given } from '../../given.ts';
import * as identity from '../../identity/index.ts';
import type { Ledger } from '../../ledger/index.ts';
import { byText } from '../../sorting.ts';
import type { OwnerRecord } from '../../store/index.ts';
import { printable } from '../../text.ts';
import { filterMapInSlices } from '../../turns.ts';
import * as wire from '../../wire/index.ts';
import { knownOwner } from '../owners.ts';
import { forgivingPage, onePage, tellPage } from '../pages.ts';
import { type Route, route } from '../route.ts';
import type { ApiServices } from '../services.ts';
import { userShown } from './shapes.ts';

const one = '/admin/users/{user}';

const listQuery = z.object({
  q: wire.text.default('').meta({ description: 'Only owners whose names contain this text.' }),
  type: wire.ownerType.optional(),
  ...forgivingPage(50),
});

export function userRoutes({ documents, ledger }: ApiServices): readonly Route[] {
  return [
    route('get', 'listUsers', '/admin/users', {
      summary: 'Users and organizations, by name',
      description:
        'Includes owners that were found on the disk or reported. The one whose whole name is `q` comes first.',
      query: listQuery,
      answer: onePage(wire.user),
      handle: async ({ query }, call) => {
        const part = documents.owners.keyOf(query.q);
        const entries = filterMapInSlices(documents.owners.all, owner => {
          const isMeant = owner.key.includes(part) && (query.type === undefined || owner.type === query.type);
          return isMeant ? owner : undefined;
        });
        const order = (a: OwnerRecord, b: OwnerRecord) =>
          Number(b.key === part) - Number(a.key === part) || byText(a.key, b.key);
        const page = await tellPage(call, entries, order, query);
        return page.map(owner => userShown(documents.snapshot, owner));
      },
    }),
    route('post', 'createUser', '/admin/users', {
      summary: 'Create a user or an organization',
      body: wire.newUser,
      faults: [409],
      mustNotBe: json => mustNotBeOwner(documents.owners, json),
      answer: { status: 201, description: 'The user', schema: wire.user },
      handle: async ({ body }, { change }) => {
        const created = { name: body.username, ...fieldsOf(body) };
        const owner = await change(transaction => identity.createUser(transaction, created));
        return userShown(documents.snapshot, owner);
      },
    }),
    route('get', 'getUser', one, {
      summary: 'One user or organization',
      answer: { status: 200, description: 'The user', schema: wire.user },
      handle: named => userShown(documents.snapshot, recordOf(ledger, named.params.user)),
    }),
    route('patch', 'editUser', one, {
      summary: 'Change or rename a user or an organization',
      description:
        'A renamed owner keeps groups, tokens and memberships. The disk decides who owns the units, so rename the directories, ' +
        'too. The new name can be one that is only known from the disk.',
      body: wire.userEdit,
      faults: [404, 409],
      mustBe: named => void knownOwner(ledger, named.user),
      answer: { status: 200, description: 'The user as it is now', schema: wire.user },
      handle: async (named, { change }) => {
        const edit = { ...fieldsOf(named.body), ...given({ name: named.body.username }) };
        const owner = await change(transaction => identity.editUser(transaction, named.params.user, edit));
        return userShown(documents.snapshot, owner);
      },
    }),
    route('delete', 'deleteUser', one, {
      summary: 'Delete a user or an organization',
      description:
        'Also deletes tokens and memberships, also in groups. An owner who has units cannot be deleted.',
      faults: [404, 409],
      answer: { status: 204, description: 'It is gone' },
      handle: (named, { change }) =>
        change(transaction => identity.deleteUser(transaction, named.params.user)),
    }),
    route('get', 'listMembers', members, {
      summary: 'List the members of an organization, in the order in which they were added',
      answer: { status: 200, description: 'Members', schema: z.array(wire.member) },
      handle: named => {
        const organization = knownOwner(ledger, named.params.org);
        identity.mustBeOrganization(organization);
        return identity.membersOf(documents.snapshot, organization.id).flatMap(({ user, role }) => {
          const owner = documents.owners.byId(user);
          return owner === undefined ? [] : [{ ...userShown(documents.snapshot, owner), role }];
        });
      },
    }),
    route('put', 'setMember', `${members}/{user}`, {
      summary: 'Add a user to an organization, or change the role',
      body: wire.membership,
      mustBe: named => {
        identity.mustBeOrganization(knownOwner(ledger, named.org));
        knownOwner(ledger, named.user);
      },
      answer: { status: 204, description: 'It is so' },
      handle: (named, { change }) =>
        change(transaction => {
          const organization = transaction.mustBeOwner(named.params.org);
          const user = transaction.mustBeOwner(named.params.user);
          identity.setMember(transaction.changes, organization, user, named.body.role);
        }),
    }),
    route('delete', 'removeMember', `${members}/{user}`, {
      summary: 'Remove a user from an organization',
      answer: { status: 204, description: 'It is out' },
      handle: (named, { change }) =>
        change(transaction => {
          const organization = transaction.mustBeOwner(named.params.org);
          identity.removeMember(
            transaction.changes,
            organization,
            transaction.mustBeOwner(named.params.user),
          );
        }),
    }),
  ];
}

/** Throws `not_found`. */
function recordOf(ledger: Ledger, name: string): OwnerRecord {
  const { id } = knownOwner(ledger, name);
  const owner = ledger.documents.owners.byId(id);
  if (owner === undefined) throw new TypeError('an owner with an id has a record');
  return owner;
}

/** Throws `conflict` if the name is taken, before other faults of the body are reported. */
function mustNotBeOwner(owners: Owners, json: unknown): void {
  if (typeof json !== 'object' || json === null || !('username' in json)) return;
  const { username } = json;
  if (typeof username !== 'string' || owners.named(username) === undefined) return;
  throw new SoftquotaError('conflict', `there is an owner ${printable(username)} already`);
}

function fieldsOf({ type, email, full_name, is_admin }: wire.UserEdit): identity.UserFields {
  return given({ type, email, fullName: full_name, isAdmin: is_admin });
}

const members = '/admin/orgs/{org}/members';
