/**
 * A store as a large server's is, made by `softquota restore` of a backup that is made up here: owners with
 * two reported units each, each in one group; and the same as tables for a program without a ledger.
 */

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Backup } from '../src/ledger/index.ts';
import { version } from '../src/version.ts';
import { softquota } from './daemon.ts';
import { numbers } from './ground.ts';
import { timed } from './processes.ts';

export const size = { owners: 100_000, groups: 1000, rules: 10_000 };

/** Number of groups that have the shared rule. */
const groupsSharing = 10;

/** The only rule of the first groups; all others have rules of their own. */
export const sharedRule = 'shared';

export interface MadeStore {
  /** Owners whom the shared rule bears on. */
  readonly sharing: readonly string[];
  /** The others, whose rules leave room. */
  readonly others: readonly string[];
  /** SQLite's. */
  readonly tables: string;
}

const subjects = ['size:git:all', 'size:repos:all', 'size:git:lfs', 'size:assets:all', 'size:assets:wiki'];

export async function makeStore(directory: string, config: string): Promise<MadeStore> {
  const random = numbers();
  const owners = Array.from({ length: size.owners }, (_, owner) => ({
    id: owner + 1,
    name: `owner-${owner}`,
    group: owner % size.groups,
    repositories: 1 + random(5e9),
    lfs: 1 + random(2e9),
  }));
  const reportedUnits = owners.flatMap(({ id, name: owner, repositories, lfs }) => {
    const unit = { host: 'bench', name: 'store', owner, measured_at: 0, seq: id };
    return [
      {
        ...unit,
        id: `${owner}\0size:repos:private\0store`,
        leaf: 'size:repos:private' as const,
        bytes: repositories,
      },
      { ...unit, id: `${owner}\0size:git:lfs\0store`, leaf: 'size:git:lfs' as const, bytes: lfs },
    ];
  });
  const backup: Backup = {
    softquota: 'backup',
    format: 1,
    version,
    host: 'bench',
    taken_at: 0,
    owners: owners.map(({ id, name }) => ({ id, key: name, name, type: 'user', since: 0 })),
    policy: [
      ...rulesOf(),
      ...groupsOf(),
      ...owners.map(({ id, group }) =>
        document('assignment', String(id), [{ group: `group-${group}`, place: id }]),
      ),
    ],
    reported_units: reportedUnits,
    events: [],
    levels: [],
  };
  const file = join(directory, 'backup.json');
  writeFileSync(file, JSON.stringify(backup));
  await timed(process.execPath, [softquota, 'restore', file, '--config', config]);
  rmSync(file);
  const tables = join(directory, 'tables.db');
  makeTables(tables, backup);
  const names = (isSharing: boolean) =>
    owners.filter(({ group }) => group < groupsSharing === isSharing).map(({ name }) => name);
  return { sharing: names(true), others: names(false), tables };
}

function document(kind: string, key: string, content: object): Backup['policy'][number] {
  return { kind, key, text: JSON.stringify(content) };
}

/** Each kind of data once more with more room, so that nobody is refused. */
function rulesOf(): Backup['policy'] {
  const { rules } = size;
  const own = Array.from({ length: rules - 1 }, (_, rule) =>
    document('rule', `rule-${rule}`, {
      place: rule + 1,
      limitBytes: 1e11 * (1 + (rule % 10)),
      subjects: [subjects[rule % subjects.length]],
    }),
  );
  return [...own, document('rule', sharedRule, { place: rules, limitBytes: 1e12, subjects: ['size:all'] })];
}

function groupsOf(): Backup['policy'] {
  const { groups, rules } = size;
  const each = Math.floor((rules - 1) / (groups - groupsSharing));
  return Array.from({ length: groups }, (_, group) => {
    const own = Array.from({ length: each }, (_rule, n) => `rule-${(group - groupsSharing) * each + n}`);
    const content = { place: group + 1, rules: group < groupsSharing ? [sharedRule] : own };
    return document('group', `group-${group}`, content);
  });
}

/** Builds the tables of a program that adds up when it is asked. */
function makeTables(file: string, { reported_units: units }: Backup): void {
  const db = new DatabaseSync(file);
  db.exec(`PRAGMA journal_mode = WAL;
    CREATE TABLE units (owner TEXT NOT NULL, leaf TEXT NOT NULL, bytes INTEGER NOT NULL);
    CREATE INDEX units_by_owner ON units (owner, bytes);
    CREATE TABLE rules (name TEXT NOT NULL PRIMARY KEY, limit_bytes INTEGER NOT NULL);
    BEGIN`);
  const put = db.prepare('INSERT INTO units (owner, leaf, bytes) VALUES (?, ?, ?)');
  for (const { owner, leaf, bytes } of units) put.run(owner, leaf, bytes);
  db.prepare('INSERT INTO rules (name, limit_bytes) VALUES (?, ?)').run(sharedRule, 1e12);
  db.exec('COMMIT');
  db.close();
}
