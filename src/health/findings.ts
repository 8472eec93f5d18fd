/** Everything that an administrator should look at, the worst first. */

import { formatBytes, lint, printable } from '../quota/index.ts';
import type { Finding } from '../wire/index.ts';
import type { Listed, Observed, TroubledPlace } from './observed.ts';
import { notKept } from './observed.ts';

export function findings(observed: Observed): readonly Finding[] {
  return [
    ...answers(observed),
    ...sweeps(observed),
    ...places(observed),
    ...owners(observed),
    ...policy(observed),
  ];
}

function answers({ ledger, rootsAway }: Observed): Finding[] {
  const mends = {
    store: 'make room or give rights under [server] DATA_PATH; it goes on by itself',
    root: 'mount it; if what is there now is meant: softquota scan --accept-moved',
    sweep: 'wait for it, or watch it: softquota scan',
  };
  return [
    ...(ledger.lastSweep === null ? [wrong('never_swept', 'no sweep has ended yet', mends.sweep)] : []),
    ...(ledger.storeAway === null ? [] : [wrong('store_away', notKept(ledger.storeAway), mends.store)]),
    ...rootsAway.map(root =>
      wrong('root_away', `storage root ${printable(root.path)}: ${root.why}`, mends.root),
    ),
  ];
}

/** Missing one sweep is a slow disk; missing three is a fault. */
const sweepsMissed = 3;

function sweeps({ storages, sweptAgoMs, sweepEveryMs }: Observed): Finding[] {
  const found: Finding[] = [];
  if (storages === 0) {
    found.push(
      wrong(
        'no_storage',
        'no storage is configured, so that nothing is measured',
        'set [storage.repos] PATH in app.ini',
      ),
    );
  }
  if (sweptAgoMs !== null && sweptAgoMs > sweepsMissed * sweepEveryMs) {
    const minutes = Math.round(sweptAgoMs / 60_000);
    found.push(
      wrong(
        'sweep_overdue',
        `the last sweep ended ${minutes} minutes ago`,
        'see the log for what holds it up, or run: softquota scan',
      ),
    );
  }
  return found;
}

function places({ unread, faults, leftovers }: Observed): Finding[] {
  return [
    ...listed(unread, place =>
      wrong('unread', trouble(place), 'let the daemon read it; it counts as last known'),
    ),
    ...listed(faults, place =>
      wrong('unit_fault', trouble(place), 'rename it, or mend what names its owner'),
    ),
    ...listed(leftovers, ({ path, bytes, modifiedAt }) =>
      notice(
        'leftover',
        `${printable(path)}: ${formatBytes(bytes)} that git began on ${new Date(modifiedAt).toISOString().slice(0, 10)} and never finished`,
        'remove it, or run git gc in the repository',
      ),
    ),
  ];
}

function listed<Item>({ first, count }: Listed<Item>, tell: (item: Item) => Finding): Finding[] {
  const told = first.map(tell);
  const last = told.at(-1);
  if (last === undefined || count <= first.length) return told;
  return [...told, { ...last, message: `… and ${count - first.length} more like these` }];
}

function trouble({ path, why }: TroubledPlace): string {
  return `${printable(path)}: ${why}`;
}

function owners({ ledger }: Observed): Finding[] {
  return [
    ...ledger
      .ownersTooLarge()
      .map(name =>
        wrong(
          'sum_too_large',
          `${printable(name)}'s units pass 2^53 - 1 bytes together`,
          'see which: softquota usage',
        ),
      ),
    ...ledger
      .spellings()
      .map(names =>
        notice(
          'same_owner',
          `these names are one owner: ${names.map(printable).join(', ')}`,
          'rename a directory, or set [users] CASE = keep if only the case of letters differs',
        ),
      ),
  ];
}

function policy({ ledger, defaultGroups }: Observed): Finding[] {
  const found = lint({ groups: [], defaultGroups, settings: ledger.settings });
  return found.map(({ code, message }) => notice(code, message, 'see [quota] in app.ini'));
}

function wrong(code: string, message: string, mend: string): Finding {
  return { code, severity: 'wrong', message, mend };
}

function notice(code: string, message: string, mend: string): Finding {
  return { code, severity: 'notice', message, mend };
}
