/**
 * Reads claims: the names in them, the quota groups that follow, and administrator rights.
 *
 * A source takes away only rights that it gave: a user who was made an administrator by hand stays one.
 * Rights from a source end as soon as the claims do not give them any more, even of the last administrator,
 * since this host's administrator can always use ADMIN_SOCKET.
 */

import { claimKind, quotaGroupsIn, type Synchronization } from '../../wire/index.ts';
import type { SourceDocument } from '../kinds.ts';

/** The claims of a provider: the payload of an ID token, together with those of the userinfo endpoint. */
export type Claims = Readonly<Record<string, unknown>>;

type ReadNames =
  | {
      readonly is: 'read';
      readonly names: ReadonlySet<string>;
      /**
       * Faults of invalid values, each with its place: at most `mostTold`, and a line with the number of
       * others.
       */
      readonly ignored: readonly string[];
    }
  | { readonly is: 'absent' }
  /** The provider had too many names to include them. softquota does not fetch them from elsewhere. */
  | { readonly is: 'overage' };

const mostTold = 10;

/**
 * Returns the names in a claim. `claimName` is the name of the claim, or else a path within objects, with
 * dots.
 *
 * A text is split at commas, and spaces around names are removed; names in a list stay unchanged. Numbers and
 * booleans are converted to text; null has no names.
 */
function namesInClaim(claims: Claims, claimName: string): ReadNames {
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

/**
 * Finds a claim by its path. Keys can have dots themselves, such as names of clients, so all splits are
 * tried.
 */
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

/** Returns a claim that is a non-empty text, such as a user's name; null: it is absent or not such a text. */
export function textClaim(claims: Claims, claimName: string): string | null {
  const claim = Object.hasOwn(claims, claimName) ? claims[claimName] : undefined;
  return typeof claim === 'string' && claim.trim() !== '' ? claim.trim() : null;
}

/** Tells whether a claim is elsewhere (OpenID Connect Core, 5.6.2). An invalid marker may mean any claim. */
function isOverage(claims: Claims, claimName: string): boolean {
  const marker = Object.hasOwn(claims, '_claim_names') ? claims._claim_names : undefined;
  if (marker === undefined || marker === null) return false;
  if (!isObject(marker)) return true;
  return Object.keys(marker).some(name => claimName === name || claimName.startsWith(`${name}.`));
}

/**
 * Returns the text of a value; null: not a scalar, or a whole number above 2^53 - 1, which may be rounded.
 */
function scalarText(value: unknown): string | null {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return String(value);
  if (typeof value !== 'number' || (Number.isInteger(value) && !Number.isSafeInteger(value))) return null;
  return Number.isFinite(value) ? String(value) : null;
}

function strange(value: unknown): string {
  return typeof value === 'number' ? 'a number too large to be read exactly' : claimKind(value);
}

type ClaimRules = Pick<SourceDocument, 'groupClaim' | 'mapping' | 'missingClaim' | 'removal'>;

/**
 * Computes the quota groups of a user from the claims. Adds the groups that claimed names map to. With
 * `removal`, removes groups in the mapping that no claimed name maps to, unless a part of the claim is
 * invalid. Groups outside the mapping never change, so nobody loses a group that is removed from the mapping.
 *
 * `current` are the groups of the user; `exists` tells whether a quota group exists.
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
