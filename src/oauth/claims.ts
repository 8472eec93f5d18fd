/**
 * Claims: the names in them, the quota groups that they give, and whether they make an administrator.
 *
 * A source takes only what it gave: who was made an administrator by hand stays one. What it gave ends as
 * soon as it does not give it any more, whoever is left: this host's administrator always is, over
 * ADMIN_SOCKET.
 */

import type { Transaction } from '../documents/index.ts';
import { editUser, type LinkDocument, profileOf, setAdministrationBy } from '../identity/index.ts';
import { claimKind, quotaGroupsIn, type Synchronization } from '../wire/index.ts';
import type { SourceDocument } from './kinds.ts';

/** Claims as a provider gives them: the payload of an ID token, with what the userinfo endpoint adds. */
export type Claims = Readonly<Record<string, unknown>>;

type ReadNames =
  | {
      readonly is: 'read';
      readonly names: ReadonlySet<string>;
      /** Values that could not be understood, each with its place; at most `mostTold`, and how many more. */
      readonly ignored: readonly string[];
    }
  | { readonly is: 'absent' }
  /** They were too many for the provider to put in; where they are to be fetched from is not followed. */
  | { readonly is: 'overage' };

const mostTold = 10;

/**
 * The names in a claim, which is found by its name as it stands, or else by its dots as a path within objects.
 *
 * In a text, spaces around a name do not belong to it; in a list each name is as it stands. Numbers and
 * booleans are their text, null and nothing are no names.
 */
export function namesInClaim(claims: Claims, claimName: string): ReadNames {
  if (isOverage(claims, claimName)) return { is: 'overage' };
  const claim = claimAt(claims, claimName);
  if (claim === undefined) return { is: 'absent' };
  if (claim === null) return { is: 'read', names: new Set(), ignored: [] };
  if (typeof claim === 'string') {
    const names = claim.split(',').map(name => name.trim());
    return { is: 'read', names: new Set(names.filter(name => name !== '')), ignored: [] };
  }
  if (!Array.isArray(claim)) {
    const text = scalarText(claim);
    if (text !== null) return { is: 'read', names: new Set([text]), ignored: [] };
    const within = isObject(claim) ? `; a claim within it is named with a dot, as in ${claimName}.roles` : '';
    const why = `expected names with commas between, or a list of them, and it is ${strange(claim)}${within}`;
    return { is: 'read', names: new Set(), ignored: [why] };
  }
  const names = new Set<string>();
  const ignored: string[] = [];
  for (const [index, part] of claim.entries()) {
    const text = scalarText(part);
    if (text === null)
      ignored.push(`number ${index + 1} of the list: expected a name, and it is ${strange(part)}`);
    else if (text !== '') names.add(text);
  }
  const more = ignored.length - mostTold;
  return {
    is: 'read',
    names,
    ignored: more > 0 ? [...ignored.slice(0, mostTold), `and ${more} more like these`] : ignored,
  };
}

/** Keys of objects may have dots themselves, such as the names of clients. */
function claimAt(claims: Claims, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  for (let dot = path.indexOf('.'); dot >= 0; dot = path.indexOf('.', dot + 1)) {
    const head = path.slice(0, dot);
    const within = Object.hasOwn(claims, head) ? claims[head] : undefined;
    const found = isObject(within) ? claimAt(within, path.slice(dot + 1)) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

export function isObject(value: unknown): value is Claims {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A claim that is a text and says something, such as a user's name; null: it is nothing of that. */
export function textClaim(claims: Claims, claimName: string): string | null {
  const claim = Object.hasOwn(claims, claimName) ? claims[claimName] : undefined;
  return typeof claim === 'string' && claim.trim() !== '' ? claim.trim() : null;
}

/** OpenID Connect Core, 5.6.2: the claim is elsewhere. A marker that cannot be read may mean any claim. */
function isOverage(claims: Claims, claimName: string): boolean {
  const marker = Object.hasOwn(claims, '_claim_names') ? claims._claim_names : undefined;
  if (marker === undefined || marker === null) return false;
  if (!isObject(marker)) return true;
  return Object.keys(marker).some(name => claimName === name || claimName.startsWith(`${name}.`));
}

/** Null: it has no text, or, as whole numbers beyond 2^53 - 1, not surely the one that the provider wrote. */
function scalarText(value: unknown): string | null {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return String(value);
  if (typeof value !== 'number' || (Number.isInteger(value) && !Number.isSafeInteger(value))) return null;
  return Number.isFinite(value) ? String(value) : null;
}

function strange(value: unknown): string {
  return typeof value === 'number' ? 'a number too large to be read exactly' : claimKind(value);
}

export type ClaimRules = Pick<SourceDocument, 'groupClaim' | 'mapping' | 'missingClaim' | 'removal'>;

/**
 * Adds what is mapped and claimed; with removal on, what the mapping names and no claimed group maps to
 * is removed. Where a part of the claim is not understood, nobody is removed by it. Groups outside the mapping
 * are never touched, so a claimed group that is taken out of the mapping removes nobody.
 *
 * `current` are the groups that the user is in; `exists` tells whether there is such a quota group.
 */
export function synchronize(
  { groupClaim, mapping, removal, missingClaim }: ClaimRules,
  claims: Claims,
  current: readonly string[],
  exists: (quotaGroup: string) => boolean,
): Synchronization {
  const nothing = { claimed: [], added: [], removed: [], skipped: [], ignored: [] };
  const unchanged = { ...nothing, groups: sorted(current) };
  if (groupClaim === null) return { outcome: 'off', ...unchanged };
  const read = namesInClaim(claims, groupClaim);
  if (read.is === 'overage') return { outcome: 'overage', ...unchanged };
  if (read.is === 'absent' && missingClaim === 'keep') return { outcome: 'kept', ...unchanged };
  const { names, ignored } = read.is === 'read' ? read : { names: new Set<string>(), ignored: [] };
  const wanted = quotaGroupsIn(mapping.filter(([claimed]) => names.has(claimed)));
  const here = new Set(current);
  const added = [...wanted].filter(group => !here.has(group) && exists(group));
  const mapped = removal && ignored.length === 0 ? [...quotaGroupsIn(mapping)] : [];
  const removed = mapped.filter(group => here.has(group) && !wanted.has(group));
  const gone = new Set(removed);
  return {
    outcome: 'synchronized',
    claimed: [...names],
    groups: sorted([...current.filter(group => !gone.has(group)), ...added]),
    added: sorted(added),
    removed: sorted(removed),
    skipped: sorted([...wanted].filter(group => !exists(group))),
    ignored: ignored.map(why => `${groupClaim}: ${why}`),
  };
}

function sorted(names: readonly string[]): readonly string[] {
  return [...names].sort();
}

export type Administration = 'given' | 'ended' | 'unchanged';

export function administrationBy(
  source: Pick<SourceDocument, 'id' | 'adminClaim' | 'adminGroup' | 'missingClaim'>,
  claims: Claims,
  { isAdmin, by }: { readonly isAdmin: boolean; readonly by: number | null },
): Administration {
  const { id, adminClaim, adminGroup, missingClaim } = source;
  const ended = by === id ? 'ended' : 'unchanged';
  if (adminClaim === null || adminGroup === null) return ended;
  const read = namesInClaim(claims, adminClaim);
  if (read.is === 'overage' || (read.is === 'absent' && missingClaim === 'keep')) return 'unchanged';
  if (read.is === 'absent') return ended;
  if (!read.names.has(adminGroup)) return read.ignored.length > 0 ? 'unchanged' : ended;
  return isAdmin ? 'unchanged' : 'given';
}

export function applyAdministration(
  transaction: Transaction,
  source: SourceDocument,
  link: LinkDocument,
  claims: Claims,
): Administration {
  const { changes } = transaction;
  const { isAdmin } = profileOf(changes, link.owner);
  const found = administrationBy(source, claims, { isAdmin, by: link.administrationBy });
  if (found === 'unchanged') return found;
  setAdministrator(transaction, link.owner, found === 'given');
  setAdministrationBy(changes, link, found === 'given' ? source.id : null);
  return found;
}

export function endAdministration(transaction: Transaction, ownerId: number): void {
  if (profileOf(transaction.changes, ownerId).isAdmin) setAdministrator(transaction, ownerId, false);
}

function setAdministrator(transaction: Transaction, ownerId: number, isAdmin: boolean): void {
  const owner = transaction.ownerById(ownerId);
  if (owner !== undefined) editUser(transaction, owner.name, { isAdmin });
}
