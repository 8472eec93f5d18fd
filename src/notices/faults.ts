/**
 * Makes a notice when a fault of this host begins, and one when it ends, once each, also across restarts. A
 * fault must last for some seconds, so that a short one, such as a failover, has no notice.
 */

import { z } from 'zod';
import { EventIds } from '../documents/index.ts';
import { isoTime, printable } from '../text.ts';
import { type DeliveryQueue, type NoticeDocument, openFaultKind } from './deliveries.ts';

const faultKinds = [
  'store',
  'shared_store',
  'disk_full',
  'disk_low',
  'disk_hangs',
  'storage_missing',
  'forge',
] as const;

type FaultKind = (typeof faultKinds)[number];

export interface PresentFault {
  readonly what: FaultKind;
  /** A path or an address; empty if there is only one such thing. */
  readonly where: string;
  readonly reason: string;
}

export interface PresentFaults {
  readonly faults: readonly PresentFault[];
  /** Kinds that cannot be checked now. Their open faults count as still present. */
  readonly unknown: readonly FaultKind[];
}

/** Milliseconds for which a fault must last, or be absent, before there is a notice. */
const holdMs = 10_000;

/** Returns a function that makes the notices of faults that have begun or ended since its last call. */
export function faultWatch(
  queue: DeliveryQueue,
  host: string,
  present: () => PresentFaults,
): (now: number) => readonly NoticeDocument[] {
  const ids = new EventIds('f');
  /** Faults that have begun or ended without a notice yet: milliseconds since 1970, by key. */
  const changedAt = new Map<string, number>();
  const hasLasted = (key: string, now: number): boolean => {
    const since = changedAt.get(key) ?? now;
    changedAt.set(key, since);
    return now - since >= holdMs;
  };
  return now => {
    const { faults, unknown } = present();
    const found = new Map(faults.map(fault => [keyOf(host, fault), fault]));
    const open = new Map(
      [...queue.documents.all(openFaultKind)].filter(([key]) => placeIn(key).host === host),
    );
    const notices: NoticeDocument[] = [];
    for (const key of changedAt.keys()) if (found.has(key) === open.has(key)) changedAt.delete(key);
    for (const [key, fault] of found) {
      if (open.has(key) || !hasLasted(key, now)) continue;
      const since = changedAt.get(key) ?? now;
      changedAt.delete(key);
      const id = ids.next();
      queue.documents.put(openFaultKind, key, { id, since, reason: fault.reason });
      notices.push(noticeOfFault({ ...fault, host, id, since, endedAt: null }));
    }
    for (const [key, { id, since, reason }] of open) {
      const { what, where } = placeIn(key);
      if (found.has(key) || unknown.includes(what) || !hasLasted(key, now)) continue;
      const endedAt = changedAt.get(key) ?? now;
      changedAt.delete(key);
      queue.documents.remove(openFaultKind, key);
      notices.push(noticeOfFault({ what, where, reason, host, id: `${id}-end`, since, endedAt }));
    }
    return notices;
  };
}

function keyOf(host: string, { what, where }: Pick<PresentFault, 'what' | 'where'>): string {
  return JSON.stringify([host, what, where]);
}

/** The parts of a key. A newer version may have written an unknown kind. */
const place = z.tuple([z.string(), z.enum(faultKinds).catch('store'), z.string()]);

function placeIn(key: string): Pick<ToldFault, 'host' | 'what' | 'where'> {
  const [host, what, where] = place.parse(JSON.parse(key));
  return { host, what, where };
}

interface ToldFault extends PresentFault {
  readonly host: string;
  readonly id: string;
  readonly since: number;
  readonly endedAt: number | null;
}

const words: Readonly<Record<FaultKind, string>> = {
  store: 'the store',
  shared_store: 'the shared store',
  disk_full: 'too little is free',
  disk_low: 'little is free',
  disk_hangs: 'the disk does not answer',
  storage_missing: 'the storage is missing',
  forge: "the forge's database",
};

function noticeOfFault({ what, where, reason, host, id, since, endedAt }: ToldFault): NoticeDocument {
  const thing = `${words[what]}${where === '' ? '' : ` at ${where}`} (host ${host})`;
  const message = printable(
    endedAt === null ? `Fault: ${thing}: ${reason}` : `The fault is over: ${thing}: ${reason}`,
  ).slice(0, 1000);
  const data = {
    state: endedAt === null ? 'began' : 'ended',
    what,
    where,
    host,
    reason,
    since: isoTime(since),
    until: isoTime(endedAt),
    message,
  };
  return { id, type: 'fault', at: endedAt ?? since, owner: null, message, data };
}
