/** A client and the gate that it asks, for tests. */

import type { Test } from 'tap';
import { type ClientOptions, createClient, type QuotaUnavailableError } from '../../src/client/index.ts';
import { GateStub } from './gate.ts';

export async function open(t: Test, options: ClientOptions = {}) {
  const gate = await GateStub.open(t);
  const faults: QuotaUnavailableError[] = [];
  const client = createClient({
    socket: gate.socket,
    timeoutMs: 30_000,
    onUnavailable: fault => faults.push(fault),
    ...options,
  });
  t.teardown(() => client.close());
  return { gate, client, faults };
}

export const packages = 'size:assets:packages:all';
export const question = { owner: 'jürgen & co', subject: packages, size: 1000, actor: 'bob' } as const;
