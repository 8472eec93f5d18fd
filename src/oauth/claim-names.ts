/** Names in a claim: one text with commas between them, or a list. */

import { claimKind } from '../wire/index.ts';

/** Claims as a provider gives them: the payload of an ID token, with what the userinfo endpoint adds. */
export type Claims = Readonly<Record<string, unknown>>;

type ReadNames =
  | {
      readonly is: 'read';
      readonly names: ReadonlySet<string>;
      /** Values that could not be understood, each with its place; at most `mostTold`, and how many more. */
      readonly ignored: readonly string[];
    }
  /** There is no such claim. */
  | { readonly is: 'absent' }
  /** They were too many for the provider to put in; where they are to be fetched from is not followed. */
  | { readonly is: 'overage' };

const mostTold = 10;

/**
 * The names in a claim, which is found by its name as it stands: a dot in it is no path.
 *
 * In a text, spaces around a name do not belong to it; in a list each name is as it stands. Numbers and
 * booleans are their text, null and nothing are no names.
 */
export function namesInClaim(claims: Claims, claimName: string): ReadNames {
  if (isOverage(claims, claimName)) return { is: 'overage' };
  if (!Object.hasOwn(claims, claimName)) return { is: 'absent' };
  const claim = claims[claimName];
  if (claim === null) return { is: 'read', names: new Set(), ignored: [] };
  if (typeof claim === 'string') {
    const names = claim.split(',').map(name => name.trim());
    return { is: 'read', names: new Set(names.filter(name => name !== '')), ignored: [] };
  }
  if (!Array.isArray(claim)) {
    const text = scalarText(claim);
    if (text !== null) return { is: 'read', names: new Set([text]), ignored: [] };
    const why = `expected names with commas between, or a list of them, and it is ${strange(claim)}`;
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

/** A claim that is a text and says something, such as a user's name; null: it is nothing of that. */
export function textClaim(claims: Claims, claimName: string): string | null {
  const claim = Object.hasOwn(claims, claimName) ? claims[claimName] : undefined;
  return typeof claim === 'string' && claim.trim() !== '' ? claim.trim() : null;
}

/** OpenID Connect Core, 5.6.2: the claim is elsewhere. A marker that cannot be read may mean any claim. */
function isOverage(claims: Claims, claimName: string): boolean {
  const marker = Object.hasOwn(claims, '_claim_names') ? claims._claim_names : undefined;
  if (marker === undefined || marker === null) return false;
  return typeof marker !== 'object' || Array.isArray(marker) || Object.hasOwn(marker, claimName);
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
