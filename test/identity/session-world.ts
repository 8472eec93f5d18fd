/** Identities with a clock, for tests of sessions and links. */

import type { Test } from 'tap';
import {
  type Authentication,
  createToken,
  createUser,
  Identity,
  identityKinds,
  type NewToken,
  type SignIn,
} from '../../src/identity/index.ts';
import type { Ledger } from '../../src/ledger/index.ts';
import { SetClock, silentLog, World } from '../ledger/world.ts';

const here = '192.0.2.7';

/** May give tokens all scopes, for ever. */
export const unlimitedMaker = { scopes: ['all'], expiresAt: null };

interface Options {
  readonly limits?: { readonly wrongTries: number; readonly perSeconds: number };
  readonly usesEveryMs?: number;
}

export async function world(t: Test, options: Options = {}) {
  const clock = new SetClock();
  const opened = new World(t, { kinds: identityKinds, clock });
  const ledger = await opened.open();
  const warned: string[] = [];
  const log = { ...silentLog, warn: (_: object, words: string) => void warned.push(words) };
  const identity = new Identity({ documents: ledger.documents, now: () => clock.wall(), log, ...options });
  t.teardown(() => identity.close());
  const signIn = async (by: SignIn, held: string | null = null) => {
    const result = await identity.signIn(by, here, held);
    if (result.is !== 'signed in') throw new Error(result.is);
    return result.started;
  };
  return { clock, opened, ledger, identity, signIn, warned };
}

/** Makes a token, and its user where there is none yet. */
export function make(ledger: Ledger, name: string, wanted: Partial<NewToken> = {}) {
  return ledger.documents.transact(transaction => {
    const owner = transaction.owner(name) ?? createUser(transaction, { name });
    const token = { name: 'ci', scopes: ['all'], expiresAt: null, ...wanted };
    return createToken(transaction.changes, owner, token, { maker: unlimitedMaker, now: 0 });
  });
}

export async function tokenOf(...[ledger, name, wanted]: Parameters<typeof make>): Promise<string> {
  return (await make(ledger, name, wanted)).token;
}

export function nameIn(answer: Authentication): string | null {
  return answer.is === 'caller' ? answer.caller.name : `(${answer.is})`;
}

export function renewedIn(answer: Authentication): string {
  if (answer.is !== 'caller' || answer.renewed === null) throw new Error(`not renewed: ${answer.is}`);
  return answer.renewed.value;
}
