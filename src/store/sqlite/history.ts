/**
 * The usage history, as rows with a column for each leaf: SQLite stores a 0 in no byte, and other numbers in
 * few.
 */

import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { leaves, noUsage, type Usage } from '../../quota/index.ts';
import type { HistoryQuery, HourRecord, OwnerUsageRecord, PastUsage, Thinning } from '../store.ts';
import { inTransaction } from './rows.ts';

/** Owners thinned at a time, for which other writes wait. */
const ownersAtOnce = 200;
/** Number of recorded hours before now that thinning does not count, in case the clock is wrong. */
const hoursOfDoubt = 24;
const hoursOfDay = 24;

const columns = leaves.map(leaf => `"${leaf}"`).join(', ');
const places = leaves.map(() => '?').join(', ');

/** Makes the handlers for the history, each in one transaction. Throws if a table or column is missing. */
export function historian(db: DatabaseSync) {
  const put = db.prepare(`REPLACE INTO history (owner_id, hour, ${columns}) VALUES (?, ?, ${places})`);
  const putHour = db.prepare(`REPLACE INTO history_hours (hour, at, ${columns}) VALUES (?, ?, ${places})`);
  const held = db.prepare(
    `SELECT hour, ${columns} FROM history WHERE owner_id = ? AND hour <= ? ORDER BY hour DESC LIMIT 1`,
  );
  const steps = db.prepare(
    `SELECT hour, ${columns} FROM history WHERE owner_id = ? AND hour > ? AND hour <= ? ORDER BY hour`,
  );
  const hours = db.prepare(
    `SELECT hour, at, ${columns} FROM history_hours WHERE hour BETWEEN ? AND ? ORDER BY hour`,
  );
  const nextHour = db.prepare('SELECT min(hour) AS hour FROM history_hours WHERE hour > ?');
  const nextOwners = db.prepare(
    `WITH RECURSIVE some (id, n) AS (
       SELECT min(owner_id), 1 FROM history WHERE owner_id > :after
       UNION ALL
       SELECT (SELECT min(owner_id) FROM history WHERE owner_id > id), n + 1 FROM some
         WHERE id IS NOT NULL AND n < ${ownersAtOnce}
     ) SELECT id FROM some WHERE id IS NOT NULL`,
  );
  const reckoned = db.prepare(
    `SELECT hour FROM history_hours WHERE hour <= ? ORDER BY hour DESC LIMIT 1 OFFSET ${hoursOfDoubt}`,
  );
  const laterOfDay = (table: string, same: string) =>
    `EXISTS (SELECT 1 FROM ${table} later WHERE ${same} later.hour > ${table}.hour
       AND later.hour < (${table}.hour / ${hoursOfDay} + 1) * ${hoursOfDay})`;
  const firstHourly = db.prepare(
    `SELECT min(hour) AS hour FROM history_hours WHERE hour < ? AND ${laterOfDay('history_hours', '')}`,
  );
  const thin = db.prepare(
    `DELETE FROM history WHERE owner_id = ? AND hour >= ? AND hour < ?
       AND ${laterOfDay('history', 'later.owner_id = history.owner_id AND')}`,
  );
  const expire = db.prepare(
    `DELETE FROM history WHERE owner_id = :id AND hour <
       (SELECT max(hour) FROM history WHERE owner_id = :id AND hour <= :from)`,
  );
  const thinHours = db.prepare(
    `DELETE FROM history_hours WHERE hour < ? AND ${laterOfDay('history_hours', '')}`,
  );
  const expireHours = db.prepare('DELETE FROM history_hours WHERE hour < ?');
  const forget = db.prepare('DELETE FROM history WHERE owner_id = ?');

  function recordOwners(hour: number, owners: readonly OwnerUsageRecord[]): void {
    const next = nextHour.get(hour)?.hour ?? null;
    for (const { ownerId, usage } of owners) {
      const before = held.get(ownerId, hour);
      const was = before === undefined ? noUsage : usageIn(before);
      if (usage.every((bytes, index) => bytes === was[index])) continue;
      // The next recorded hour gets the usage that held there so far.
      if (next !== null && held.get(ownerId, next)?.hour === before?.hour) put.run(ownerId, next, ...was);
      put.run(ownerId, hour, ...usage);
    }
  }

  function past({ ownerId, fromHour, toHour, onlySteps = false }: HistoryQuery): PastUsage {
    const found = onlySteps ? [] : hours.all(fromHour, toHour);
    const first = ownerId === null ? undefined : held.get(ownerId, fromHour);
    const rest = ownerId === null ? [] : steps.all(ownerId, fromHour, toHour);
    return {
      hours: found.map(row => ({ hour: Number(row.hour), at: Number(row.at), usage: usageIn(row) })),
      steps: [...(first === undefined ? [] : [first]), ...rest].map(row => ({
        hour: Number(row.hour),
        usage: usageIn(row),
      })),
    };
  }

  function thinned({ afterOwner, nowHour, hourlyDays, dailyDays }: Thinning): readonly number[] {
    const owners = nextOwners.all({ after: afterOwner }).map(({ id }) => Number(id));
    const reckonedFrom = reckoned.get(nowHour)?.hour;
    if (typeof reckonedFrom !== 'number') return owners;
    const daysBefore = (days: number) => (Math.floor(reckonedFrom / hoursOfDay) - days) * hoursOfDay;
    const hourlyFrom = daysBefore(hourlyDays);
    const dailyFrom = daysBefore(dailyDays);
    const begun = firstHourly.get(hourlyFrom)?.hour;
    const thinFrom = typeof begun === 'number' ? Math.floor(begun / hoursOfDay) * hoursOfDay : hourlyFrom;
    for (const id of owners) {
      thin.run(id, thinFrom, hourlyFrom);
      expire.run({ id, from: dailyFrom });
    }
    // The hours come last, since they show what is left to be thinned.
    if (owners.length === 0) {
      thinHours.run(hourlyFrom);
      expireHours.run(dailyFrom);
    }
    return owners;
  }

  return {
    recordOwners: (hour: number, owners: readonly OwnerUsageRecord[]) =>
      inTransaction(db, () => recordOwners(hour, owners)),
    recordHour: ({ hour, at, usage }: HourRecord) => void putHour.run(hour, at, ...usage),
    history: (query: HistoryQuery) => [[past(query)]],
    thinHistory: (thinning: Thinning) => [inTransaction(db, () => thinned(thinning))],
    forgetHistory: (ownerIds: readonly number[]) =>
      inTransaction(db, () => {
        for (const id of ownerIds) forget.run(id);
      }),
  };
}

/** The tables take only whole numbers. */
function usageIn(row: Readonly<Record<string, SQLOutputValue>>): Usage {
  return leaves.map(leaf => Number(row[leaf]));
}
